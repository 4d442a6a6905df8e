//! The alarm: whether most of the recorded files are gone, as where a disk is off.
//!
//! A disk that is not mounted looks like a directory that someone emptied. Nothing would be lost, as the [past](crate::past_path) keeps
//! every record; but the manifest would be wrong for a night, and no one would hear of the disk. So nothing is written.

use crate::error::Error;
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name;
use crate::format::record::{FileRecord, Record, What};
use crate::loss::Loss;
use crate::tree::mounts;
use std::collections::BTreeSet;
use std::path::Path;

/// How many recorded files may be gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A part of all recorded files, in percent.
    Percent(f64),
    /// This many.
    Files(u64),
}

/// Files that may be gone whatever percentage they are: small folders turn over.
const FEW: u64 = 10;

impl Default for Limit {
    fn default() -> Self {
        Self::Percent(50.0)
    }
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

    fn allows(self, gone: u64, files: u64) -> bool {
        match self {
            Self::Files(most) => gone <= most,
            Self::Percent(percent) => gone <= FEW || gone as f64 <= files as f64 * percent / 100.0,
        }
    }
}

/// Counts of the recorded files that are not empty.
#[derive(Debug, Default)]
struct Counts {
    files: u64,
    gone: u64,
    /// Files that have their content, or are in doubt.
    as_was: u64,
    /// Whether there is a file whose content is not recorded.
    has_new: bool,
    first_gone: Option<Vec<u8>>,
}

impl Counts {
    /// Whether none is as it was and most are gone. A small folder that has something new was turned over.
    fn has_none(&self) -> bool {
        let is_turned_over = self.gone <= FEW && self.has_new;
        self.as_was == 0 && self.gone * 2 > self.files && !is_turned_over
    }
}

/// A place where something was mounted, or is.
#[derive(Debug)]
struct Place {
    /// With a `/`, also if it is a file.
    name: Vec<u8>,
    was_mounted: bool,
    is_mounted: bool,
    counts: Counts,
}

impl Place {
    /// Whether it is this file, or the directory that the file is in.
    fn has(&self, name: &[u8]) -> bool {
        self.name.strip_suffix(b"/") == Some(name) || name.starts_with(&self.name)
    }
}

/// Counts what is recorded of a tree, and below each of its places.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) old: Option<&'a Manifest>,
    pub(crate) dir: &'a Path,
    limit: Limit,
    all: Counts,
    places: Vec<Place>,
    /// Where something was mounted when the run began.
    at_begin: Vec<Vec<u8>>,
}

impl<'a> Guard<'a> {
    pub(crate) fn new(old: Option<&'a Manifest>, dir: &'a Path, limit: Limit) -> Self {
        let at_begin = mounts::below(dir);
        let was = old.map_or_else(Vec::new, Manifest::mounts);
        let was: BTreeSet<_> = was.into_iter().map(|it| [&it[..], b"/"].concat()).collect();
        let all: BTreeSet<_> = at_begin.iter().chain(&was).cloned().collect();
        let place = |name: Vec<u8>| Place {
            was_mounted: was.contains(&name),
            is_mounted: at_begin.contains(&name),
            counts: Counts::default(),
            name,
        };
        let places = all.into_iter().map(place).collect();
        Self { old, dir, limit, all: Counts::default(), places, at_begin }
    }

    fn count(&mut self, name: &[u8], add: impl Fn(&mut Counts)) {
        add(&mut self.all);
        let places = self.places.iter_mut().filter(|it| it.has(name));
        places.for_each(|it| add(&mut it.counts));
    }

    /// A recorded file that is there, or cannot be looked at, and whether it has its content or is in doubt.
    pub(crate) fn found(&mut self, name: &[u8], was: &FileRecord, is_as_was: bool) {
        if has_content(was) {
            self.count(name, |it| {
                it.files += 1;
                it.as_was += u64::from(is_as_was);
            });
        }
    }

    /// A recorded path that is gone, or in whose place there is something of another type.
    pub(crate) fn gone(&mut self, record: &Record) {
        if let What::File(was) = &record.what
            && has_content(was)
        {
            self.count(&record.name, |it| {
                it.files += 1;
                it.gone += 1;
                it.first_gone.get_or_insert_with(|| record.name.clone());
            });
        }
    }

    /// A file whose content is not recorded.
    pub(crate) fn new_file(&mut self, name: &[u8]) {
        self.count(name, |it| it.has_new = true);
    }

    /// A file that is gone under one name is there under another one. What was moved out of a place is gone there.
    pub(crate) fn moved(&mut self, from: &[u8], to: &[u8]) {
        let both = self.places.iter_mut().filter(|it| it.has(from) && it.has(to));
        for counts in both.map(|it| &mut it.counts).chain([&mut self.all]) {
            counts.gone = counts.gone.saturating_sub(1);
            counts.as_was += 1;
        }
    }

    /// Whether something is mounted above this name, and nothing was.
    pub(crate) fn is_hidden(&self, name: &[u8]) -> bool {
        let mut places = self.places.iter().filter(|it| it.has(name)).peekable();
        places.peek().is_some() && places.all(|it| !it.was_mounted)
    }

    /// The places that a new manifest names if anything below them is recorded, with a `/`.
    pub(crate) fn mounts(&self) -> Vec<Vec<u8>> {
        self.places.iter().map(|it| it.name.clone()).collect()
    }

    /// What is lost for a night, after everything was looked at.
    pub(crate) fn loss(&self) -> Option<Loss> {
        let passes_all = matches!(self.limit, Limit::Percent(percent) if percent >= 100.0);
        let nothing = |at: Option<&Place>, counts: &Counts| {
            let at = at.map(|it| (name::path(&it.name), it.was_mounted, it.is_mounted));
            // A disk that is known to be off was not turned over.
            let is_off = at.as_ref().is_some_and(|(_, was, is)| *was && !is);
            let has_none = counts.has_none() || (is_off && counts.as_was == 0 && counts.gone > 0);
            (has_none && !passes_all).then_some(Loss::Nothing { at, files: counts.files })
        };
        let gone = |at: Option<&Place>, counts: &Counts| {
            let is_allowed = self.limit.allows(counts.gone, counts.files);
            (!is_allowed).then(|| Loss::Gone {
                at: at.map(|it| name::path(&it.name)),
                gone: counts.gone,
                files: counts.files,
                first: counts.first_gone.as_deref().map(name::path).unwrap_or_default(),
                most: counts.gone.max(self.all.gone),
            })
        };
        // A place says more than the whole tree.
        let places = || self.places.iter().map(|it| (Some(it), &it.counts));
        let all = || [(None, &self.all)].into_iter();
        let mut nothing = places().chain(all()).filter_map(|(at, counts)| nothing(at, counts));
        let mut gone = all().chain(places()).filter_map(|(at, counts)| gone(at, counts));
        nothing.next().or_else(|| gone.next())
    }

    /// An error if too much is gone, or if something was mounted or unmounted during the run, so that it saw the files of two disks.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(loss) = self.loss() {
            return Err(Error::refused(self.dir, loss));
        }
        let now = mounts::below(self.dir);
        let is_in = |a: &[Vec<u8>], b: &[Vec<u8>]| {
            a.iter().filter(|it| !b.contains(it)).cloned().collect::<Vec<_>>()
        };
        let changed = [is_in(&now, &self.at_begin), is_in(&self.at_begin, &now)].concat();
        let Some(old) = self.old.filter(|_| !changed.is_empty()) else { return Ok(()) };
        for record in old.records()? {
            let record = record?;
            if let Some(at) = changed.iter().find(|at| record.name.starts_with(at)) {
                return Err(Error::refused(self.dir, Loss::Mount(name::path(at))));
            }
        }
        Ok(())
    }

    /// An error if the old manifest cannot be relied on, and no one accepts that.
    pub(crate) fn check_old(&self, accepts_damage: bool) -> Result<(), Error> {
        let Some(old) = self.old.filter(|_| !accepts_damage) else { return Ok(()) };
        match old.index() {
            Index::Ignored(cause) => Err(self.damaged(cause)),
            Index::Absent if old.list().is_empty() => {
                Err(Error::refused(old.list().path(), Loss::NoRecord))
            }
            _ => Ok(()),
        }
    }

    /// The index turned out to be damaged.
    pub(crate) fn damaged(&self, cause: &str) -> Error {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        Error::refused(index_path(list), Loss::Damage(cause.to_owned()))
    }

    /// A record of no one knows which path, for this reason. It cannot be kept.
    pub(crate) fn unmatched(&self, record: &Record, cause: &str) -> Error {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        Error::refused(list, Loss::Unmatched(name::path(record.bare()), cause.to_owned()))
    }
}

/// Whether the file is not empty.
fn has_content(FileRecord { digest, facts }: &FileRecord) -> bool {
    facts.as_ref().map_or_else(|| *digest != *treewide::hash(b"").as_bytes(), |it| it.bytes > 0)
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
