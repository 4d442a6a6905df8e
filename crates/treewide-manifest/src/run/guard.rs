//! Whether a new manifest is at least as good a record as the one that it is to replace.
//!
//! A disk that is not mounted looks like a directory that someone emptied, and a damaged index like one that was never there.
//! What such a run would write hides for ever what was lost. So nothing is written, unless the caller names the loss.

pub(crate) mod like;
pub(crate) mod mounts;
mod names;

use crate::error::Error;
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name;
use crate::format::record::{FileRecord, Record, Type, What};
use crate::loss::Loss;
use crate::run::guard::like::{Found, Like};
use crate::run::guard::mounts::Mounts;
use crate::run::guard::names::Shorter;
use crate::run::verdict::{Class, Finding};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
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
            Self::Percent(percent) => {
                removed <= FEW || removed as f64 <= files as f64 * percent / 100.0
            }
        }
    }
}

/// Files that may be gone whatever percentage they are: small folders turn over.
const FEW: u64 = 10;

impl Default for Limit {
    fn default() -> Self {
        Self::Percent(50.0)
    }
}

/// What the caller accepts to lose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepted {
    pub(crate) empty: bool,
    pub(crate) damage: bool,
    pub(crate) removed: Limit,
}

/// Files that are asked for their other names, before only some are.
const ASKED: u64 = 1000;

/// Counts of recorded files that were found.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) old: Option<&'a Manifest>,
    pub(crate) dir: &'a Path,
    accepted: Accepted,
    /// Files and others.
    all: [Found; 2],
    mounts: Mounts,
    shorter: Shorter,
    /// Files that were asked for their other names.
    asked: u64,
    follows: bool,
    /// Where links are followed: of each recorded device, a file, and how its files are there.
    disks: HashMap<u64, (Vec<u8>, Found)>,
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
        let mut guard = Self {
            old,
            dir,
            accepted,
            all: Default::default(),
            mounts: Mounts::default(),
            shorter: Shorter::default(),
            asked: 0,
            follows: old.is_some_and(|it| it.rules().follow),
            disks: HashMap::new(),
        };
        let Some(old) = old else { return Ok(guard) };
        let list = old.list();
        match old.index() {
            Index::Ignored(cause) if !accepted.damage => {
                return Err(damage(list.path(), cause.clone()));
            }
            Index::Absent if list.is_empty() && !accepted.empty => {
                return Err(Error::refused(list.path(), Loss::NoRecord));
            }
            _ => {}
        }
        guard.mounts = Mounts::new(old, dir);
        if !accepted.empty
            && let Some(found) = names::other(old, dir)?
        {
            return Err(other_names(dir, found));
        }
        Ok(guard)
    }

    /// A record whose path is there, or cannot be looked at, and how it is [like](like) what was recorded.
    pub(crate) fn found(&mut self, record: &Record, like: Like) {
        let is_file = record.kind() == Type::File;
        // The numbers are in the index that is damaged.
        let is_accepted = self.accepted.damage && like == Like::Unnumbered;
        let like = if is_accepted { Like::Here } else { like };
        let proves = is_file && like == Like::Itself && self.lacks_proof(&record.name);
        let like = if proves && self.has_links(&record.name) { Like::Touched } else { like };
        self.all[usize::from(!is_file)].add(1, like);
        // A directory is known by its name alone.
        let like = if record.kind() == Type::Directory { Like::Here } else { like };
        self.mounts.found(&record.name, is_file, like);
        if let What::File(FileRecord { facts: Some(facts), .. }) = &record.what
            && let Some(device) = facts.seen().and_then(|it| it.device)
            && self.follows
        {
            let first = || (record.name.clone(), Found::default());
            self.disks.entry(device).or_insert_with(first).1.add(1, like);
        }
    }

    fn lacks_proof(&self, name: &[u8]) -> bool {
        !self.all[0].is_known || !self.mounts.is_known(name)
    }

    /// Whether the file may be one of another directory as well. Where many are, few are looked at.
    fn has_links(&mut self, name: &[u8]) -> bool {
        self.asked += 1;
        if self.asked > ASKED && !self.asked.is_multiple_of(16) {
            return true;
        }
        Stamp::at(&self.dir.join(name::path(name)), self.follows).is_ok_and(|it| it.links > 1)
    }

    /// A recorded path that is gone, or in whose place there is something of another type.
    pub(crate) fn gone(&mut self, name: &[u8], is_file: bool) {
        self.all[usize::from(!is_file)].gone += 1;
        self.mounts.gone(name, is_file);
        self.look_for_shorter(name, is_file);
    }

    fn look_for_shorter(&mut self, name: &[u8], is_file: bool) {
        if is_file && !self.all[0].is_known && !self.accepted.empty {
            self.shorter.look(self.dir, name);
        }
    }

    /// A new file has inode, mtime and content of a recorded one: it is on the same disk.
    pub(crate) fn is_here(&mut self) {
        self.all[0].add(0, Like::Restored);
    }

    /// A record of no one knows which path, for this reason. It cannot be kept.
    pub(crate) fn unmatched(&self, record: &Record, cause: &str) -> Result<(), Error> {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        let loss = || Loss::Unmatched(name::path(record.bare()), cause.to_owned());
        if self.accepted.damage { Ok(()) } else { Err(Error::refused(list, loss())) }
    }

    /// The index turned out to be damaged.
    pub(crate) fn damaged(&self, cause: &str) -> Result<(), Error> {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        if self.accepted.damage { Ok(()) } else { Err(damage(list, cause.to_owned())) }
    }

    /// Decides after everything was looked at, from the findings about missing files. `told` more files are gone.
    /// `by_content` says that files have no lasting inodes, by which they are known under another name.
    pub(crate) fn check_findings(
        &mut self,
        findings: &[Finding],
        told: u64,
        by_content: bool,
    ) -> Result<(), Error> {
        self.all[0].gone += told;
        let moved = if by_content { Like::Restored } else { Like::Copy };
        for finding in findings {
            let is_file = finding.kind == Type::File;
            match (finding.verdict.class(), finding.verdict.from()) {
                (Class::Removed, _) => self.gone(&finding.name, is_file),
                (Class::Moved | Class::Renamed, Some(from)) if is_file => {
                    self.all[0].add(1, moved);
                    self.mounts.moved(from, &finding.name, moved);
                    self.look_for_shorter(from, true);
                }
                _ => {}
            }
        }
        self.check()
    }

    /// A place with records where something was mounted or unmounted during the run, so that it saw the files of two disks.
    fn changed(&self) -> Result<Option<(PathBuf, bool)>, Error> {
        let (changed, Some(old)) = (self.mounts.changed(self.dir), self.old) else {
            return Ok(None);
        };
        if changed.is_empty() {
            return Ok(None);
        }
        for record in old.records()? {
            let name = record?.name;
            if let Some((at, is_new)) =
                changed.iter().find(|(at, _)| name.starts_with(at) && name != *at)
            {
                return Ok(Some((name::path(at), *is_new)));
            }
        }
        Ok(None)
    }

    /// Decides after everything was looked at.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let [files, others] = self.all;
        let refused = |loss| Err(Error::refused(self.dir, loss));
        if !self.accepted.empty {
            let has_none = files.gone + files.there + others.there == 0 && others.gone > 0;
            if files.is_other() || has_none {
                return refused(Loss::Everything((files.there + files.gone).max(others.gone)));
            }
            if let Some((at, is_hidden)) =
                self.mounts.off().map_or_else(|| self.changed(), |it| Ok(Some(it)))?
            {
                return refused(if is_hidden { Loss::Hidden(at) } else { Loss::Mount(at) });
            }
            if let Some(found) = self.shorter.most(files.there).filter(|_| !files.is_known) {
                return Err(other_names(self.dir, found));
            }
        }
        let off = self.disks.values().find(|(_, found)| found.is_other());
        if let Some((name, _)) = off.filter(|_| !self.accepted.empty) {
            return refused(Loss::Mount(name::path(name)));
        }
        let (lost, all) = (files.gone, files.gone + files.there);
        let is_allowed = self.accepted.removed.allows(lost, all);
        if is_allowed { Ok(()) } else { refused(Loss::Removed(lost, all)) }
    }

    /// Whether a recorded path that is on another device than the directory is under a mount that was not there: rules for one file
    /// system do not leave it out then.
    pub(crate) fn hides(&self, record: &Record) -> bool {
        self.old.is_some_and(|it| it.rules().one_file_system) || self.mounts.is_new(&record.name)
    }

    /// The places of the old manifest where something is mounted still, and those where something is now, with a `/`.
    pub(crate) fn mounts(&self) -> BTreeSet<Vec<u8>> {
        self.mounts.kept(self.dir)
    }
}

fn damage(list: &Path, cause: String) -> Error {
    Error::refused(index_path(list), Loss::Damage(cause))
}

/// The names of the list are those of the directory above or below.
fn other_names(dir: &Path, (listed, there): (Vec<u8>, Vec<u8>)) -> Error {
    Error::refused(dir, Loss::Names(name::path(&listed), name::path(&there)))
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
        assert!(Limit::Percent(10.0).allows(11, 110) && !Limit::Percent(10.0).allows(12, 110));
        assert!(Limit::Percent(0.0).allows(10, 10) && !Limit::Percent(0.0).allows(11, 11));
        assert!(Limit::Files(0).allows(0, 10) && !Limit::Files(0).allows(1, 10));
    }
}
