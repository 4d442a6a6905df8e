//! Knows the files of the old manifest by their numbers, also under another name.
//!
//! A file that rotted and is renamed or gets a hard link afterwards has a new name, and the inode, mtime and size that are recorded of
//! another one. Its content would look new.

use crate::error::Error;
use crate::format::manifest::Manifest;
use crate::format::record::{Facts, FileRecord, Record, What};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use treewide::OUT_LEN;
use treewide_files::Stamp;

/// Beginnings of digests by inode and mtime: few bytes for each file, as all of them are held.
#[derive(Debug)]
pub(crate) struct Known(HashMap<(u64, i64), u64>);

impl Known {
    pub(crate) fn new(old: &Manifest) -> Result<Self, Error> {
        let mut known = HashMap::new();
        for record in old.records()? {
            let What::File(file) = record?.what else { continue };
            let Some(seen) = file.facts.as_ref().and_then(Facts::seen) else { continue };
            let Some(inode) = seen.inode else { continue };
            match known.entry((inode, seen.mtime)) {
                Entry::Vacant(place) => drop(place.insert(begin(&file.digest))),
                Entry::Occupied(_) => {}
            }
        }
        Ok(Self(known))
    }

    /// The record of a file with these numbers and this size, if none of them has this content.
    pub(crate) fn other_content(
        &self,
        old: &Manifest,
        stamp: &Stamp,
        digest: &[u8; OUT_LEN],
    ) -> Result<Option<Record>, Error> {
        let begun = stamp.mtime.and_then(|mtime| self.0.get(&(stamp.inode, mtime)));
        if begun.is_none_or(|begun| *begun == begin(digest)) {
            return Ok(None);
        }
        // This is rare, so the names are looked for only now.
        let mut found = None;
        for record in old.records()? {
            let record = record?;
            let What::File(file) = &record.what else { continue };
            if is_of(file, stamp) {
                if treewide_files::digest::equal(&file.digest, digest) {
                    return Ok(None);
                }
                found = found.or(Some(record));
            }
        }
        Ok(found)
    }
}

fn begin(digest: &[u8; OUT_LEN]) -> u64 {
    digest[..8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Whether the record is of a file with this inode, mtime and size.
pub(crate) fn is_of(file: &FileRecord, stamp: &Stamp) -> bool {
    let Some(facts) = file.facts.as_ref().filter(|facts| facts.bytes == stamp.len) else {
        return false;
    };
    let Some(seen) = facts.seen().filter(|seen| seen.inode.is_some()) else { return false };
    seen.moved(stamp).is_some_and(|moved| moved.iter().all(|it| *it == "ctime"))
}

/// Whether the file still has the inode that is recorded.
pub(crate) fn has_inode(file: &FileRecord, stamp: &Stamp) -> bool {
    file.facts.as_ref().and_then(Facts::seen).and_then(|it| it.inode) == Some(stamp.inode)
}
