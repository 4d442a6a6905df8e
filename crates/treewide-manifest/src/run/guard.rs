//! Whether a new manifest is at least as good a record as the one that it is to replace.
//!
//! A disk that is not mounted looks like a directory that someone emptied, and a damaged index like one that was never there.
//! What such a run would write hides for ever what was lost. So nothing is written, unless the caller names the loss.

use crate::error::Error;
use crate::format::index::Mount;
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, Type};
use crate::loss::Loss;
use crate::run::verdict::{Class, Finding};
use crate::tree::mounts;
use std::path::Path;
use treewide_files::Stamp;

/// How many recorded files may be gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A part of all recorded files, in percent.
    Percent(f64),
    /// This many.
    Files(u64),
}

impl Limit {
    /// Parses `10%` or `1000`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = match text.strip_suffix('%') {
            Some(number) => {
                number.parse().ok().filter(|it| (0.0..=100.0).contains(it)).map(Self::Percent)
            }
            None => text.parse().ok().map(Self::Files),
        };
        found.ok_or_else(|| format!("{text:?} is neither a percentage (10%) nor a number of files"))
    }

    fn allows(self, removed: u64, files: u64) -> bool {
        match self {
            Self::Files(most) => removed <= most,
            Self::Percent(percent) => removed as f64 <= files as f64 * percent / 100.0,
        }
    }
}

/// What the caller accepts to lose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepted {
    pub(crate) empty: bool,
    pub(crate) damage: bool,
    pub(crate) removed: Option<Limit>,
}

/// Records whose paths are looked for before anything is read.
const LOOKED_FOR: usize = 1000;

/// Counts of recorded files that were found.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) old: Option<&'a Manifest>,
    pub(crate) dir: &'a Path,
    accepted: Accepted,
    /// Files and others.
    all: [Found; 2],
    mounts: Vec<Place>,
}

/// A place where something was or is mounted.
#[derive(Debug)]
struct Place {
    /// With a `/`, also if it is a file.
    name: Vec<u8>,
    was_mounted: bool,
    is_mounted: bool,
    /// The files and others below it.
    found: [Found; 2],
}

/// Recorded paths that are there, and that are gone.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    there: u64,
    gone: u64,
    /// Whether one of them is known again by more than its name, as other directories may have that name (`README`).
    is_known: bool,
}

impl Found {
    fn add(&mut self, there: u64, is_known: bool) {
        self.there += there;
        self.is_known |= is_known;
    }

    /// Whether the tree is another one.
    fn is_other(self) -> bool {
        self.gone > self.there && !self.is_known
    }
}

impl<'a> Guard<'a> {
    /// Looks at the old manifest before anything is read.
    ///
    /// # Errors
    /// If no run could compare it with the directory.
    pub(crate) fn new(
        old: Option<&'a Manifest>,
        dir: &'a Path,
        accepted: Accepted,
    ) -> Result<Self, Error> {
        let mut guard = Self { old, dir, accepted, all: Default::default(), mounts: Vec::new() };
        let Some(old) = old else { return Ok(guard) };
        let list = old.list();
        match old.index() {
            Index::Ignored(cause) if !accepted.damage => {
                return Err(damage(list.path(), cause.clone()));
            }
            Index::Absent if list.is_empty() && !accepted.empty => {
                return Err(Error::refused(list.path(), Loss::NoRecord));
            }
            Index::Bound(ends) => {
                let name = |it: &Mount| [&it.name()[..], b"/"].concat();
                guard.mounts = ends.1.mounts.iter().map(|it| Place::was(name(it))).collect();
            }
            _ => {}
        }
        // What is mounted now hides what was recorded below it.
        for name in mounts::below(dir) {
            match guard.mounts.iter_mut().find(|it| it.name == name) {
                Some(place) => place.is_mounted = true,
                None => guard.mounts.push(Place {
                    was_mounted: false,
                    is_mounted: true,
                    ..Place::was(name)
                }),
            }
        }
        if !accepted.empty
            && let Some((listed, there)) = other_names(old, dir)?
        {
            return Err(Error::refused(dir, Loss::Names(name::path(&listed), name::path(&there))));
        }
        Ok(guard)
    }

    /// A record whose path is there, or cannot be looked at. `is_known` says whether it is [the one](is_as_it_was) that was recorded.
    pub(crate) fn found(&mut self, record: &Record, is_known: bool) {
        let at = usize::from(record.kind() != Type::File);
        self.all[at].add(1, is_known);
        // A directory is known by its name alone.
        let is_known = is_known && record.kind() != Type::Directory;
        for place in self.mounts.iter_mut().filter(|it| it.has(&record.name)) {
            place.found[at].add(1, is_known);
        }
        // What is in the place of a file whose disk is off is another file.
        for place in self.mounts.iter_mut().filter(|it| it.is(&record.name)) {
            let is_other = !is_known && place.was_mounted && !place.is_mounted;
            place.found[0].gone += u64::from(is_other);
        }
    }

    /// A recorded path that is gone.
    pub(crate) fn gone(&mut self, name: &[u8], is_file: bool) {
        let at = usize::from(!is_file);
        self.all[at].gone += 1;
        for place in self.mounts.iter_mut().filter(|it| it.has(name)) {
            place.found[at].gone += 1;
        }
    }

    /// Files that are there under other names. `is_known` says whether one of them is the one that was recorded.
    pub(crate) fn moved(&mut self, files: u64, is_known: bool) {
        self.all[0].add(files, is_known);
    }

    /// The index turned out to be damaged.
    pub(crate) fn damaged(&self, cause: &str) -> Result<(), Error> {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        if self.accepted.damage { Ok(()) } else { Err(damage(list, cause.to_owned())) }
    }

    /// Decides after everything was looked at, from the findings about missing files. `told` more files are gone.
    /// `by_content` says that a file under another name is known by its content alone.
    pub(crate) fn check_findings(
        &mut self,
        findings: &[Finding],
        told: u64,
        by_content: bool,
    ) -> Result<(), Error> {
        self.all[0].gone += told;
        for finding in findings {
            let is_file = finding.kind == Type::File;
            match finding.verdict.class() {
                Class::Removed => self.gone(&finding.name, is_file),
                Class::Moved | Class::Renamed if is_file => self.moved(1, by_content),
                _ => {}
            }
        }
        self.check()
    }

    /// Decides after everything was looked at.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let [files, others] = self.all;
        let refused = |loss| Err(Error::refused(self.dir, loss));
        if !self.accepted.empty {
            let has_none = files.gone + files.there + others.there == 0 && others.gone > 0;
            if files.is_other() || has_none {
                return refused(Loss::Everything(files.gone.max(others.gone)));
            }
            if let Some(place) = self.mounts.iter().find(|it| it.is_other()) {
                let at = name::path(&place.name);
                let is_mounted = !place.was_mounted;
                return refused(if is_mounted { Loss::Hidden(at) } else { Loss::Mount(at) });
            }
        }
        match self.accepted.removed {
            Some(limit) if !limit.allows(files.gone, files.there + files.gone) => {
                refused(Loss::Removed(files.gone, files.there + files.gone))
            }
            _ => Ok(()),
        }
    }

    /// The places of the old manifest where something is mounted still.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &[u8]> {
        let is_mount = |it: &&Place| {
            let path = self.dir.join(name::path(&it.name));
            let device = |path: &Path| Stamp::at(path, true).ok().map(|it| it.device);
            let is_mounted = || path.parent().is_some_and(|parent| device(parent) != device(&path));
            it.was_mounted && it.found[0].there > 0 && is_mounted()
        };
        self.mounts.iter().filter(is_mount).map(|it| &it.name[..it.name.len() - 1])
    }
}

impl Place {
    fn was(name: Vec<u8>) -> Self {
        Self { name, was_mounted: true, is_mounted: false, found: Default::default() }
    }

    /// Whether it is this file.
    fn is(&self, name: &[u8]) -> bool {
        self.name.strip_suffix(b"/") == Some(name)
    }

    fn has(&self, name: &[u8]) -> bool {
        name.starts_with(&self.name) && *name != self.name
    }

    fn is_other(&self) -> bool {
        let [files, others] = self.found;
        if files.there + files.gone > 0 { files.is_other() } else { others.is_other() }
    }
}

/// Whether a file is the one that was recorded, and not another one of its name. Inode and device say so, or one of them and the
/// content: where a disk is off, there may be a file of the same content in its place (`README`). Empty files are all alike.
pub(crate) fn is_as_it_was(
    was: &FileRecord,
    digest: &[u8; treewide::OUT_LEN],
    bytes: u64,
    [inode, device]: [Option<u64>; 2],
) -> bool {
    let has_content = bytes > 0 && treewide_files::digest::equal(&was.digest, digest);
    let Some(seen) = was.facts.as_ref().and_then(Facts::seen) else { return has_content };
    let same = |was: Option<u64>, is: Option<u64>| was.zip(is).map(|(was, is)| was == is);
    match [same(seen.inode, inode), same(seen.device, device)] {
        [Some(true), Some(true)] => true,
        [Some(true), _] | [_, Some(true)] | [None, None] => has_content,
        _ => false,
    }
}

fn damage(list: &Path, cause: String) -> Error {
    Error::refused(index_path(list), Loss::Damage(cause))
}

/// A name as the list has it, and as the directory has it.
type Names = (Vec<u8>, Vec<u8>);

/// If no listed name is in the directory, and it is there without its first part, or in a directory there: both names. The list is
/// of another directory then.
fn other_names(old: &Manifest, dir: &Path) -> Result<Option<Names>, Error> {
    let is_there =
        |it: &[u8]| !it.is_empty() && dir.join(name::path(it)).symlink_metadata().is_ok();
    let mut names = Vec::new();
    for record in old.records()?.take(LOOKED_FOR) {
        let record = record?;
        if is_there(record.bare()) {
            return Ok(None);
        }
        if record.kind() == Type::File {
            names.push(record.name);
        }
    }
    let shorter = |it: &[u8]| {
        let slash = it.iter().position(|byte| *byte == b'/')?;
        Some(it[slash + 1..].to_vec()).filter(|it| is_there(it))
    };
    if let Some(found) = names.iter().find_map(|it| Some((it.clone(), shorter(it)?))) {
        return Ok(Some(found));
    }
    let folders = std::fs::read_dir(dir).into_iter().flatten().flatten().take(LOOKED_FOR);
    for folder in folders.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())) {
        let folder = folder.file_name().into_encoded_bytes();
        let longer =
            |it: &Vec<u8>| Some([&folder[..], b"/", it].concat()).filter(|it| is_there(it));
        if let Some(found) = names.first().and_then(|it| Some((it.clone(), longer(it)?))) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_a_percentage_or_a_number() {
        assert_eq!(Limit::parse("10%"), Ok(Limit::Percent(10.0)));
        assert_eq!(Limit::parse("7"), Ok(Limit::Files(7)));
        for wrong in ["", "%", "101%", "-1%", "1K", "NaN%"] {
            assert!(Limit::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Limit::Percent(10.0).allows(1, 10) && !Limit::Percent(10.0).allows(2, 10));
        assert!(Limit::Files(0).allows(0, 10) && !Limit::Files(0).allows(1, 10));
    }
}
