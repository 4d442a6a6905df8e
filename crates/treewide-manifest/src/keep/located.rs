//! Which bytes of a file are not as recorded, by its outboard.

use crate::format::record::FileRecord;
use crate::format::regular;
use crate::keep::outboards::{GROUP, Outboards, begins_with, layout};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use treewide::outboard::{self, Flaw, FlawKind, IoError, Outboard, PAIR_LEN, ReadAt};
use treewide::{Hash, Mode};
use treewide_files::name::shown;
use treewide_files::{Identity, Options, Stamp};

/// The most ranges of a file that are held.
const MOST: usize = 100;
/// The most that a line of text names.
const NAMED: usize = 3;

/// Which bytes of a file are not as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// These, and no others.
    Bytes(Bad),
    /// The outboard does not say it, and why.
    Unknown(String),
}

/// Bytes that are not as recorded. Ranges are whole groups of 16 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bad {
    /// The recorded length of the file.
    pub len: u64,
    /// The first 100 ranges, in order.
    pub first: Vec<Flaw>,
    /// The number of other ranges.
    pub more: u64,
    /// Bytes that differ, or are missing.
    pub bad: u64,
    /// Bytes that may be anything, because the outboard is broken above them.
    pub unknown: u64,
    /// Bytes past the end.
    pub extra: u64,
}

impl Bad {
    fn add(&mut self, found: Flaw) {
        let bytes = found.range.end - found.range.start;
        *match found.kind {
            FlawKind::Bad => &mut self.bad,
            FlawKind::Extra => &mut self.extra,
            _ => &mut self.unknown,
        } += bytes;
        match self.first.len() < MOST {
            true => self.first.push(found),
            false => self.more += 1,
        }
    }
}

/// Such as `bad: bytes 16384..32768 (16384 of 1000000)`.
impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bad = match self {
            Self::Unknown(cause) => return f.write_str(cause),
            Self::Bytes(bad) => bad,
        };
        if bad.first.is_empty() {
            return f.write_str(
                "read again, every byte is as recorded: memory or disk do not return the same bytes each time",
            );
        }
        let mut sign = "";
        for (word, is, bytes, after) in [
            ("bad", FlawKind::Bad, bad.bad, ""),
            ("unknown", FlawKind::Unknown, bad.unknown, ", as the outboard is broken above them"),
            ("too many", FlawKind::Extra, bad.extra, ""),
        ] {
            if bytes == 0 && !bad.first.iter().any(|found| found.kind == is) {
                continue;
            }
            let mut named = bad.first.iter().filter(|found| found.kind == is);
            let text = |found: &Flaw| format!("{}..{}", found.range.start, found.range.end);
            let ranges: Vec<_> = named.by_ref().take(NAMED).map(text).collect();
            let more = if named.next().is_some() || bad.more > 0 { " and more" } else { "" };
            let ranges = ranges.join(", ");
            write!(f, "{sign}{word}: bytes {ranges}{more} ({bytes} of {}){after}", bad.len)?;
            sign = "; ";
        }
        Ok(())
    }
}

/// A file whose content is not as recorded.
pub(crate) struct Differs<'a> {
    pub(crate) path: &'a Path,
    pub(crate) identity: Identity,
    pub(crate) was: &'a FileRecord,
    /// What it was like when it was read.
    pub(crate) stamp: &'a Stamp,
}

impl Outboards {
    /// Reads the file a second time, and finds the bytes that differ. `None` if such a file has no outboard.
    pub(crate) fn locate(&self, file: &Differs<'_>, options: &Options) -> Option<Located> {
        let recorded = file.was.facts.as_ref().map(|facts| facts.bytes);
        if recorded.is_some_and(|bytes| bytes <= GROUP.bytes()) {
            return None;
        }
        let path = self.path_of(&file.was.digest);
        let pairs = match regular::open(&path) {
            Ok(pairs) => pairs,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Without an index, no one knows whether it was long enough for one.
                let folder = shown(self.folder());
                return recorded.filter(|&bytes| bytes >= self.least()).map(|_| {
                    Located::Unknown(format!("{folder} has no outboard of the recorded content"))
                });
            }
            Err(error) => return Some(Located::Unknown(format!("{}: {error}", shown(&path)))),
        };
        Some(
            by(pairs, file, recorded, options)
                .unwrap_or_else(|cause| Located::Unknown(format!("{}: {cause}", shown(&path)))),
        )
    }
}

fn by(
    pairs: File,
    file: &Differs<'_>,
    recorded: Option<u64>,
    options: &Options,
) -> Result<Located, String> {
    let digest = Hash::from_bytes(file.was.digest);
    let size = pairs.metadata().map_err(|error| error.to_string())?.len();
    let len = recorded.unwrap_or_else(|| {
        let now = file.stamp.len;
        // If not even that is known, the last group counts as a whole one.
        let groups = size / PAIR_LEN as u64 + 1;
        if layout(now).bytes() == size { now } else { groups.saturating_mul(GROUP.bytes()) }
    });
    let layout = layout(len);
    let other = "is not the outboard of the recorded content; remove it, and make it again with --outboards";
    if layout.bytes() != size {
        return Err(other.into());
    }
    if !begins_with(&pairs, &file.was.digest).map_err(|error| error.to_string())? {
        return Err(other.into());
    }
    let (data, now) = file.identity.open_stamped(file.path).map_err(|error| error.to_string())?;
    if now != *file.stamp {
        return Err("the file changed again before its bytes were compared".into());
    }
    let data = Cancellable { data, options };
    let mut bad = Bad { len, ..Bad::default() };
    for found in Outboard::new(&digest, layout, Mode::PLAIN, pairs).damage(&data, ..) {
        bad.add(found.map_err(|error: outboard::Error| error.to_string())?);
    }
    if Stamp::of(&data.data).map_err(|error| error.to_string())? != now {
        return Err("the file changed again while its bytes were compared".into());
    }
    Ok(Located::Bytes(bad))
}

/// A file whose reading ends when the run is cancelled.
struct Cancellable<'a> {
    data: File,
    options: &'a Options,
}

impl ReadAt for Cancellable<'_> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        if self.options.is_cancelled() {
            return Err(IoError::new("cancelled before the end"));
        }
        self.data.read_exact_at(buf, at)
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        ReadAt::size(&self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    #[test]
    fn located_says_what_it_knows() {
        let mut bad = Bad { len: 100_000, ..Bad::default() };
        let text = |bad: &Bad| Located::Bytes(bad.clone()).to_string();
        assert!(text(&bad).starts_with("read again, every byte is as recorded"));
        let mut add = |kind, range: Range<u64>| {
            bad.add(Flaw { range, kind });
            text(&bad)
        };
        assert_eq!(add(FlawKind::Bad, 0..16_384), "bad: bytes 0..16384 (16384 of 100000)");
        add(FlawKind::Unknown, 32_768..65_536);
        let said = add(FlawKind::Extra, 100_000..100_007);
        let expected = "bad: bytes 0..16384 (16384 of 100000); unknown: bytes 32768..65536 (32768 of 100000), as the \
                        outboard is broken above them; too many: bytes 100000..100007 (7 of 100000)";
        assert_eq!(said, expected);
        for _ in 0..200 {
            add(FlawKind::Bad, 0..1);
        }
        assert_eq!((bad.first.len(), bad.more, bad.bad), (100, 103, 16_584));
        assert!(text(&bad).starts_with("bad: bytes 0..16384, 0..1, 0..1 and more (16584 of"));
    }
}
