//! Knows the files of the old manifest by their numbers, also under another name.
//!
//! A file that rotted and is renamed or gets a hard link afterwards has a new name, and the inode, mtime and size that are recorded of
//! another one. Its content would look new.

use crate::error::Error;
use crate::format::manifest::Manifest;
use crate::format::record::{Facts, FileRecord, Record, What};
use crate::format::trust::is_kept;
use crate::run::verdict::Verdict;
use std::collections::BTreeMap;
use treewide::OUT_LEN;
use treewide_files::Stamp;

/// The files of an old manifest by their numbers, read from it once they are needed.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    old: Option<&'a Manifest>,
    numbers: Option<Numbers>,
}

/// Beginnings of digests and lengths by inode and mtime: few bytes for each file, as all of them are held.
/// In order, as an mtime may be cut since.
type Numbers = BTreeMap<(u64, i64), Content>;

#[derive(Debug)]
struct Content {
    begun: u64,
    /// `None` if files on several devices have these numbers, or its content was in doubt.
    bytes: Option<u64>,
}

impl Content {
    /// Whether a file of this length may be one with these numbers.
    fn has(&self, bytes: u64) -> bool {
        self.bytes.is_none_or(|it| it == bytes)
    }
}

impl<'a> Known<'a> {
    pub(crate) fn new(old: Option<&'a Manifest>) -> Self {
        Self { old: old.filter(|it| it.has_index()), numbers: None }
    }

    /// The content of a file with these numbers that fits, with the manifest.
    fn find(
        &mut self,
        inode: Option<u64>,
        mtime: Option<i64>,
        fits: impl Fn(&Content) -> bool,
    ) -> Result<Option<(&'a Manifest, &mut Content)>, Error> {
        let (Some(old), Some(inode), Some(mtime)) = (self.old, inode, mtime) else {
            return Ok(None);
        };
        let numbers = match self.numbers.take() {
            Some(numbers) => numbers,
            None => numbers_of(old)?,
        };
        let of_inode = (inode, i64::MIN)..=(inode, i64::MAX);
        let mut found = self.numbers.insert(numbers).range_mut(of_inode);
        let found = found.find(|((_, was), it)| is_kept(*was, mtime) && fits(it));
        Ok(found.map(|(_, found)| (old, found)))
    }

    /// Whether a file has these numbers, so that the content matters.
    pub(crate) fn has(&mut self, stamp: &Stamp) -> Result<bool, Error> {
        Ok(self.find(Some(stamp.inode), stamp.mtime, |it| it.has(stamp.len))?.is_some())
    }

    /// The verdict on a file, if another name is recorded with its numbers and other content: it rotted and was renamed, or got
    /// another name. With the record of that name.
    pub(crate) fn of_another(
        &mut self,
        name: &[u8],
        stamp: &Stamp,
        digest: &[u8; OUT_LEN],
    ) -> Result<Option<(Verdict, Record)>, Error> {
        let is_other = |it: &Content| it.begun != begin(digest) && it.has(stamp.len);
        let Some((old, _)) = self.find(Some(stamp.inode), stamp.mtime, is_other)? else {
            return Ok(None);
        };
        // This is rare, so the names are looked for only now.
        let mut found = None;
        for record in old.records()? {
            let record = record?;
            let What::File(file) = &record.what else { continue };
            if let Some(moved) = moved(file, stamp) {
                if treewide_files::digest::equal(&file.digest, digest) {
                    return Ok(None);
                }
                found = found.or(Some((moved, record)));
            }
        }
        let suspect = |(moved, record): (_, Record)| {
            (Verdict::Suspect { moved, from: Some(record.name.clone()) }, record)
        };
        Ok(found.filter(|it| it.1.name != name).map(suspect))
    }

    /// The same of a file that another manifest records.
    pub(crate) fn of_record(&mut self, new: &Record) -> Result<Option<(Verdict, Record)>, Error> {
        let What::File(FileRecord { digest, facts: Some(facts) }) = &new.what else {
            return Ok(None);
        };
        let Some((key, inode)) = facts.seen().and_then(|it| Some((it, it.inode?))) else {
            return Ok(None);
        };
        let (mtime, ctime, len) = (Some(key.mtime), Some(key.ctime), facts.bytes);
        let device = key.device.unwrap_or(0);
        let stamp = Stamp { len, mtime, ctime, inode, device, mode: 0, links: 1, is_file: true };
        self.of_another(&new.name, &stamp, digest)
    }
}

fn numbers_of(old: &Manifest) -> Result<Numbers, Error> {
    let mut numbers = BTreeMap::new();
    for record in old.records()? {
        let What::File(file) = record?.what else { continue };
        let Some(facts) = &file.facts else { continue };
        let Some((inode, mtime)) = facts.seen().and_then(|it| Some((it.inode?, it.mtime))) else {
            continue;
        };
        // Of a file whose content was in doubt, another length may be so as well.
        let bytes = facts.read.map(|_| facts.bytes);
        let content: &mut Content = numbers
            .entry((inode, mtime))
            .or_insert_with(|| Content { begun: begin(&file.digest), bytes });
        if content.bytes != bytes {
            content.bytes = None;
        }
    }
    Ok(numbers)
}

fn begin(digest: &[u8; OUT_LEN]) -> u64 {
    digest[..8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// What moved since the record was made, if that is of a file with this inode, mtime and size, or one that was in doubt.
fn moved(file: &FileRecord, stamp: &Stamp) -> Option<Vec<&'static str>> {
    let facts = file.facts.as_ref().filter(|it| it.read.is_none() || it.bytes == stamp.len)?;
    let seen = facts.seen().filter(|seen| seen.inode.is_some())?;
    seen.moved(stamp).filter(|moved| moved.iter().all(|it| !matches!(*it, "inode" | "device")))
}

/// Whether the file still has the inode that is recorded.
pub(crate) fn has_inode(file: &FileRecord, stamp: &Stamp) -> bool {
    file.facts.as_ref().and_then(Facts::seen).and_then(|it| it.inode) == Some(stamp.inode)
}
