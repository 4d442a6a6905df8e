//! Where something was mounted, for an index: its last line names these places, as far as it has room, and records name the others.

use crate::format::index::Mount;
use std::collections::HashSet;

/// Bytes for them in the last line.
const ROOM: usize = 60 << 10;

/// Notes them while an index is written.
pub(crate) struct Mounts {
    pub(crate) last_line: Vec<Mount>,
    /// Bytes that are left there.
    room: usize,
    /// Mounts that have no room there: the next record names them.
    pub(crate) next_record: Vec<Mount>,
    pub(crate) has_more: bool,
    names: HashSet<Vec<u8>>,
}

impl Mounts {
    pub(crate) fn new() -> Self {
        let (last_line, next_record) = (Vec::new(), Vec::new());
        Self { last_line, room: ROOM, next_record, has_more: false, names: HashSet::new() }
    }

    pub(crate) fn add(&mut self, name: &[u8]) {
        if !self.names.insert(name.into()) {
            return;
        }
        let mount = Mount::new(name);
        // With a comma.
        let len = serde_json::to_string(&mount).unwrap_or_default().len() + 1;
        match self.room.checked_sub(len) {
            Some(room) => {
                self.room = room;
                self.last_line.push(mount);
            }
            None => {
                self.has_more = true;
                self.next_record.push(mount);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::index::{Lines, parse};
    use crate::format::record::{Record, What};
    use crate::format::rules::Rules;
    use treewide::Hasher;

    /// Names of few letters take more room for their keys, control characters for their escapes, and other bytes for their digits.
    #[test]
    fn last_line_stays_short_and_no_place_is_forgotten() {
        for part in [&b"a"[..], &[b'x'; 200], &[1; 200], &[0xff; 200]] {
            let (mut lines, mut text) = (Lines::new(&Rules::default()), Vec::new());
            let names = (0..9000).map(|it| [part, it.to_string().as_bytes()].concat());
            let names: Vec<_> = names.collect();
            for name in &names {
                lines.mount(name);
                lines.mount(name);
                let record = Record::new([&name[..], b"/"].concat(), What::Directory(None));
                lines.push(&mut text, &record);
            }
            let trailer = lines.trailer(&Hasher::new().finalize());
            assert!(trailer.more_mounts);
            // And the hash of all bytes.
            assert!(serde_json::to_string(&trailer).unwrap().len() + 80 < 64 << 10);
            let records = text.split_inclusive(|it| *it == b'\n').map(|it| parse(it).unwrap());
            let more = records.flat_map(|it| it.mounts);
            let found: Vec<_> = trailer.mounts.iter().cloned().chain(more).collect();
            assert_eq!(found.iter().map(Mount::name).collect::<Vec<_>>(), names);
        }
    }
}
