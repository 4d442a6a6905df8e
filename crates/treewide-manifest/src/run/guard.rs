//! Whether a new manifest is at least as good a record as the one that it is to replace.
//!
//! A disk that is not mounted looks like a directory that someone emptied, and a damaged index like one that was never there.
//! What such a run would write hides for ever what was lost. So nothing is written, unless the caller names the loss.

use crate::error::Error;
use crate::format::index::Mount;
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name;
use crate::format::record::{Record, Type};
use crate::loss::Loss;
use crate::run::verdict::{Class, Finding};
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
    all: Found,
    others: u64,
    /// Names of places where something was mounted, with a `/`, and the files and others that were found below.
    mounts: Vec<(Vec<u8>, [Found; 2])>,
}

/// Recorded files that are there.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    files: u64,
    /// Whether one of them is known again by more than its name, as other directories may have that name (`README`).
    is_known: bool,
}

impl Found {
    fn add(&mut self, files: u64, is_known: bool) {
        self.files += files;
        self.is_known |= is_known;
    }

    /// Whether the tree is another one, if this many recorded files are gone.
    fn is_other(self, removed: u64) -> bool {
        removed > self.files && !self.is_known
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
        let mut guard =
            Self { old, dir, accepted, all: Found::default(), others: 0, mounts: Vec::new() };
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
                guard.mounts =
                    ends.1.mounts.iter().map(|it| (name(it), Default::default())).collect();
            }
            _ => {}
        }
        if !accepted.empty
            && let Some((listed, there)) = other_names(old, dir)?
        {
            return Err(Error::refused(dir, Loss::Names(name::path(&listed), name::path(&there))));
        }
        Ok(guard)
    }

    /// A record whose path is there, or cannot be looked at. `is_known` says whether it has the recorded content or key.
    pub(crate) fn found(&mut self, record: &Record, is_known: bool) {
        let is_file = record.kind() == Type::File;
        match is_file {
            true => self.all.add(1, is_known),
            false => self.others += 1,
        }
        // A directory is known by its name alone.
        let is_known = is_known && record.kind() != Type::Directory;
        let is_below = |mount: &[u8]| record.name.starts_with(mount) && record.name != mount;
        for (_, found) in self.mounts.iter_mut().filter(|it| is_below(&it.0)) {
            found[usize::from(!is_file)].add(1, is_known);
        }
    }

    /// The index turned out to be damaged.
    pub(crate) fn damaged(&self, cause: &str) -> Result<(), Error> {
        let list = self.old.map_or(Path::new(""), |old| old.list().path());
        if self.accepted.damage { Ok(()) } else { Err(damage(list, cause.to_owned())) }
    }

    /// Decides after everything was looked at, from the findings about missing files.
    pub(crate) fn check(&self, findings: &[Finding], told: u64) -> Result<(), Error> {
        let of = |class: Class, is_file: bool| {
            let is =
                |it: &&Finding| it.verdict.class() == class && (it.kind == Type::File) == is_file;
            findings.iter().filter(is).count() as u64
        };
        let (removed, others) = (of(Class::Removed, true) + told, of(Class::Removed, false));
        let (mut all, moved) = (self.all, of(Class::Moved, true) + of(Class::Renamed, true));
        all.add(moved, moved > 0);
        let files = all.files;
        let refused = |loss| Err(Error::refused(self.dir, loss));
        if !self.accepted.empty {
            if all.is_other(removed) || removed + files + self.others == 0 && others > 0 {
                return refused(Loss::Everything(removed.max(others)));
            }
            for (mount, [files, others]) in &self.mounts {
                let gone = |is_file: bool| {
                    let is_below = |it: &&Finding| {
                        it.verdict.class() == Class::Removed
                            && (it.kind == Type::File) == is_file
                            && it.name.starts_with(mount)
                    };
                    findings.iter().filter(is_below).count() as u64
                };
                let is_other = match files.files + gone(true) {
                    0 => others.is_other(gone(false)),
                    _ => files.is_other(gone(true)),
                };
                if is_other {
                    return refused(Loss::Mount(name::path(mount)));
                }
            }
        }
        match self.accepted.removed {
            Some(limit) if !limit.allows(removed, files + removed) => {
                refused(Loss::Removed(removed, files + removed))
            }
            _ => Ok(()),
        }
    }

    /// The places of the old manifest where something is mounted still.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &[u8]> {
        let is_mount = |it: &&(Vec<u8>, [Found; 2])| {
            let path = self.dir.join(name::path(&it.0));
            let device = |path: &Path| Stamp::at(path, true).ok().map(|it| it.device);
            it.1[0].files > 0 && path.parent().is_some_and(|parent| device(parent) != device(&path))
        };
        self.mounts.iter().filter(is_mount).map(|(name, _)| &name[..name.len() - 1])
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
