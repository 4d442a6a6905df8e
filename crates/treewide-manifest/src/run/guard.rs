//! Whether a new manifest is at least as good a record as the one that it is to replace.
//!
//! A disk that is not mounted looks like a directory that someone emptied, and a damaged index like one that was never there.
//! What such a run would write hides for ever what was lost. So nothing is written, unless the caller names the loss.

use crate::error::Error;
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::loss::Loss;
use crate::run::verdict::{Class, Finding};
use crate::tree::mounts;
use std::collections::{BTreeSet, HashMap};
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
    /// Recorded files in whose place something else is.
    replaced: u64,
    mounts: Vec<Place>,
    follows: bool,
    /// Where links are followed: of each recorded device, a file, and how its files are there.
    disks: HashMap<u64, (Vec<u8>, Found)>,
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

/// How a file at a recorded name is like the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// It is the one: its content is as recorded, and so is its inode or device, or neither was recorded.
    Itself,
    /// It has its content, and is elsewhere: a copy, or one of many files with that content (`README`).
    Copy,
    /// It has other content under the recorded inode and device, as a file that someone edited.
    Edited,
    /// It has other content on the disk that was recorded, or cannot be looked at.
    Here,
    /// It has other content on another disk.
    Other,
    /// It has other content, and no inode or device was recorded.
    Unnumbered,
}

/// Recorded paths that are there, and that are gone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    there: u64,
    pub(crate) gone: u64,
    /// How many of the paths there have the recorded content.
    copies: u64,
    /// Whether one of them is on the disk that was recorded.
    is_here: bool,
    is_edited: bool,
    has_numbers: bool,
    /// Whether one of them is known again by more than its name, as other directories may have that name.
    is_known: bool,
}

impl Found {
    pub(crate) fn add(&mut self, files: u64, like: Like) {
        self.there += files;
        self.copies += if matches!(like, Like::Itself | Like::Copy) { files } else { 0 };
        self.is_here |= matches!(like, Like::Itself | Like::Edited | Like::Here);
        self.is_edited |= like == Like::Edited;
        self.has_numbers |= like != Like::Unnumbered;
        self.is_known |= like == Like::Itself;
    }

    /// Whether the tree is another one: most of it is gone, or all that is there is elsewhere, and is not a copy of most.
    pub(crate) fn is_other(self) -> bool {
        let all = self.there + self.gone;
        // One file that has no number may be the one that someone edited.
        let is_enough = all > 1 || all > 0 && self.has_numbers;
        let is_elsewhere = is_enough && !self.is_here && self.copies <= self.gone;
        !self.is_known && (self.gone > self.there || is_elsewhere)
    }

    /// The same below a place where something was mounted and is not, or the reverse: only a whole copy counts as the tree, or one with
    /// a file that has both numbers.
    fn is_hidden(self) -> bool {
        let is_known = self.is_known || self.is_edited;
        !is_known && self.there + self.gone > 0 && (self.gone > 0 || self.copies == 0)
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
        let mut guard = Self {
            old,
            dir,
            accepted,
            all: Default::default(),
            replaced: 0,
            mounts: Vec::new(),
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
        let was = |it: Vec<u8>| Place::was([&it[..], b"/"].concat());
        guard.mounts = old.mounts().into_iter().map(was).collect();
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
        // The system does not list the ends of links that are followed.
        for place in guard.mounts.iter_mut().filter(|it| !it.is_mounted) {
            place.is_mounted = is_on_another_device(dir, &place.name);
        }
        if !accepted.empty
            && let Some((listed, there)) = other_names(old, dir)?
        {
            return Err(Error::refused(dir, Loss::Names(name::path(&listed), name::path(&there))));
        }
        Ok(guard)
    }

    /// A record whose path is there, or cannot be looked at, and how it is [like](like) what was recorded.
    pub(crate) fn found(&mut self, record: &Record, like: Like) {
        let at = usize::from(record.kind() != Type::File);
        // The numbers are in the index that is damaged.
        let is_accepted = self.accepted.damage && like == Like::Unnumbered;
        let like = if is_accepted { Like::Here } else { like };
        self.all[at].add(1, like);
        // A directory is known by its name alone.
        let like = if record.kind() == Type::Directory { Like::Here } else { like };
        for place in self.mounts.iter_mut().filter(|it| it.has(&record.name)) {
            place.found[at].add(1, like);
        }
        if let What::File(FileRecord { facts: Some(facts), .. }) = &record.what
            && let Some(device) = facts.seen().and_then(|it| it.device)
            && self.follows
        {
            let first = || (record.name.clone(), Found::default());
            self.disks.entry(device).or_insert_with(first).1.add(1, like);
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

    /// A record in whose place there is something of another type.
    pub(crate) fn replaced(&mut self, record: &Record) {
        self.replaced += u64::from(record.kind() == Type::File);
    }

    /// Files that are there under other names.
    pub(crate) fn moved(&mut self, files: u64, like: Like) {
        self.all[0].add(files, like);
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
                Class::Moved | Class::Renamed if is_file => {
                    self.moved(1, if by_content { Like::Itself } else { Like::Copy });
                }
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
                return refused(Loss::Everything((files.there + files.gone).max(others.gone)));
            }
            if let Some(place) = self.mounts.iter().find(|it| it.is_other()) {
                let at = name::path(&place.name);
                let is_mounted = !place.was_mounted;
                return refused(if is_mounted { Loss::Hidden(at) } else { Loss::Mount(at) });
            }
        }
        let off = self.disks.values().find(|(_, found)| found.is_other());
        if let Some((name, _)) = off.filter(|_| !self.accepted.empty) {
            return refused(Loss::Mount(name::path(name)));
        }
        match self.accepted.removed {
            Some(limit) => {
                let (lost, rest) = (files.gone + self.replaced, files.there);
                let is_allowed = limit.allows(lost, lost + rest);
                if is_allowed { Ok(()) } else { refused(Loss::Removed(lost, lost + rest)) }
            }
            None => Ok(()),
        }
    }

    /// Whether a recorded path that is on another device than the directory is under a mount that was not there: rules for one file
    /// system do not leave it out then.
    pub(crate) fn hides(&self, record: &Record) -> bool {
        let places = || self.mounts.iter().filter(|it| it.has(&record.name));
        let was_not_mounted = || places().next().is_some() && places().all(|it| !it.was_mounted);
        self.old.is_some_and(|it| it.rules().one_file_system) || was_not_mounted()
    }

    /// The places of the old manifest where something is mounted still, and those where something is now, with a `/`.
    pub(crate) fn mounts(&self) -> BTreeSet<Vec<u8>> {
        let was = self.mounts.iter().filter(|it| it.was_mounted);
        let still = was.filter(|it| is_on_another_device(self.dir, &it.name));
        mounts::below(self.dir).into_iter().chain(still.map(|it| it.name.clone())).collect()
    }
}

impl Place {
    fn was(name: Vec<u8>) -> Self {
        Self { name, was_mounted: true, is_mounted: false, found: Default::default() }
    }

    /// Whether it is this file, or it is a directory with this path.
    fn has(&self, name: &[u8]) -> bool {
        let is_it = self.name.strip_suffix(b"/") == Some(name);
        is_it || name.starts_with(&self.name) && *name != self.name
    }

    fn is_other(&self) -> bool {
        let [files, others] = self.found;
        match files.there + files.gone {
            0 => others.is_other(),
            _ if self.was_mounted != self.is_mounted => files.is_hidden(),
            _ => files.is_other(),
        }
    }
}

fn is_on_another_device(dir: &Path, name: &[u8]) -> bool {
    let path = dir.join(name::path(name.strip_suffix(b"/").unwrap_or(name)));
    let device = |path: &Path| Stamp::at(path, true).ok().map(|it| it.device);
    let parent = path.parent().and_then(device);
    device(&path).zip(parent).is_some_and(|(it, parent)| it != parent)
}

/// How a file is like the one that was recorded. Its inode and device alone say nothing: another disk in the same slot has the same ones.
pub(crate) fn like(was: &FileRecord, has_content: bool, [inode, device]: [Option<u64>; 2]) -> Like {
    let seen = was.facts.as_ref().and_then(Facts::seen);
    let same = |was: Option<u64>, is: Option<u64>| was.zip(is).map(|(was, is)| was == is);
    let same_inode = seen.and_then(|seen| same(seen.inode, inode));
    let same_device = seen.and_then(|seen| same(seen.device, device));
    let has_one = same_inode == Some(true) || same_device == Some(true);
    match (has_content, same_inode.or(same_device)) {
        (true, None) => Like::Itself,
        (true, _) if has_one => Like::Itself,
        (true, _) => Like::Copy,
        // An update has found it like this before, and kept its digest.
        (false, None) if was.facts.is_some() && seen.is_none() => Like::Here,
        (false, None) => Like::Unnumbered,
        (false, Some(true)) if same_device == Some(true) => Like::Edited,
        // Where devices do not last, any may be the one.
        (false, _) if same_device != Some(false) => Like::Here,
        (false, _) => Like::Other,
    }
}

/// The same of a file that was read.
pub(crate) fn like_read(
    was: &FileRecord,
    digest: &[u8; treewide::OUT_LEN],
    bytes: u64,
    numbers: [Option<u64>; 2],
) -> Like {
    match like(was, treewide_files::digest::equal(&was.digest, digest), numbers) {
        // Empty files are all alike.
        Like::Itself if bytes == 0 => match like(was, false, numbers) {
            Like::Edited | Like::Here => Like::Here,
            _ => Like::Copy,
        },
        like => like,
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
    fn tree_is_another_one_by_what_is_there() {
        use Like::{Copy, Edited, Here, Itself, Other, Unnumbered};
        for (there, gone, is_other, is_hidden) in [
            (&[Itself][..], 9, false, false),
            (&[Here], 9, true, true),
            (&[Edited], 9, true, false),
            (&[Edited, Edited], 0, false, false),
            (&[Here], 1, false, true),
            (&[Here, Here], 0, false, true),
            // Copies on another disk, as long as more of them are there than gone.
            (&[Copy, Copy, Other], 1, false, true),
            (&[Copy, Other], 0, false, false),
            (&[Copy], 1, true, true),
            (&[Other], 0, true, true),
            (&[Other, Other, Here], 1, false, true),
            // One file without a number may be edited.
            (&[Unnumbered], 0, false, true),
            (&[Unnumbered, Unnumbered], 0, true, true),
            (&[Unnumbered], 1, true, true),
            (&[], 1, true, true),
            (&[], 0, false, false),
        ] {
            let mut found = Found { gone, ..Found::default() };
            there.iter().for_each(|like| found.add(1, *like));
            assert_eq!((found.is_other(), found.is_hidden()), (is_other, is_hidden), "{found:?}");
        }
    }

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
