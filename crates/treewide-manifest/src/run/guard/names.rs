//! Lists whose names are those of the directory above or below.

use crate::error::Error;
use crate::format::manifest::Manifest;
use crate::format::name;
use crate::format::record::Type;
use std::collections::HashMap;
use std::path::Path;

/// Records whose paths are looked for before anything is read.
const LOOKED_FOR: usize = 1000;

/// A name as the list has it, and as the directory has it.
type Names = (Vec<u8>, Vec<u8>);

fn is_there(dir: &Path, name: &[u8]) -> bool {
    !name.is_empty() && dir.join(name::path(name)).symlink_metadata().is_ok()
}

/// The places in a name behind its first parts.
fn shorter(name: &[u8]) -> impl Iterator<Item = usize> {
    (1..name.len()).filter(|at| name[at - 1] == b'/')
}

/// If no listed name is in the directory, and it is there without its first parts, or in a directory there: both names. The list is
/// of another directory then.
pub(super) fn other(old: &Manifest, dir: &Path) -> Result<Option<Names>, Error> {
    let mut names = Vec::new();
    for record in old.records()?.take(LOOKED_FOR) {
        let record = record?;
        if is_there(dir, record.bare()) {
            return Ok(None);
        }
        if record.kind() == Type::File {
            names.push(record.name);
        }
    }
    for listed in &names {
        if let Some(at) = shorter(listed).find(|at| is_there(dir, &listed[*at..])) {
            return Ok(Some((listed.clone(), listed[at..].to_vec())));
        }
    }
    let folders = std::fs::read_dir(dir).into_iter().flatten().flatten().take(LOOKED_FOR);
    for folder in folders.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())) {
        let folder = folder.file_name().into_encoded_bytes();
        let longer =
            |it: &Vec<u8>| Some([&folder[..], b"/", it].concat()).filter(|it| is_there(dir, it));
        if let Some(found) = names.first().and_then(|it| Some((it.clone(), longer(it)?))) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Recorded files that are not there under their names, and are without their first parts: how many for each of these.
#[derive(Debug, Default)]
pub(super) struct Shorter(HashMap<Vec<u8>, (u64, Vec<u8>)>);

impl Shorter {
    pub(super) fn look(&mut self, dir: &Path, name: &[u8]) {
        for at in shorter(name).filter(|at| is_there(dir, &name[*at..])) {
            let first = || (0, name.to_vec());
            self.0.entry(name[..at].to_vec()).or_insert_with(first).0 += 1;
        }
    }

    /// One of them, if the directory is the one below for most of the files that are there.
    pub(super) fn most(&self, there: u64) -> Option<Names> {
        let (begin, (files, listed)) = self.0.iter().max_by_key(|(_, (files, _))| *files)?;
        (files * 2 > there).then(|| (listed.clone(), listed[begin.len()..].to_vec()))
    }
}
