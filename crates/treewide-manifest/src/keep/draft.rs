//! Writing a list and its index so that no one ever trusts a half of them.
//!
//! ```text
//! begin      two temporary files next to the final places
//! add        a line to each
//! complete   both on the disk; the index ends with the hash of the list
//! appear     first what the past gets, then the list, then the index
//! ```
//!
//! If the program is killed between list and index, the old index is next to the new list. It belongs to another
//! list, so it is not used, and every file is read once.

use crate::error::Error;
use crate::format::day;
use crate::format::index::lines;
use crate::format::index::{self, Mount};
use crate::format::list::List;
use crate::format::manifest::{Manifest, index_path};
use crate::format::name;
use crate::format::record::Record;
use crate::format::regular;
use crate::format::rules::Rules;
use crate::keep::journal::{self, Found, Journal, journal_path};
use crate::keep::past::{Additions, Past, past_path};
use crate::loss::Loss;
use crate::tree::scan::Own;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use treewide::Hash;
use treewide_digests::Algorithm;
use treewide_files::list::{Fault, Lines};
use treewide_files::name::shown;
use treewide_files::{Locked, Replacement, Stamp, is_temporary};

/// A manifest that is being written. Dropping it removes the temporary files.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    list: Replacement,
    index: Option<Replacement>,
    totals: Option<Totals>,
    /// Whether a journal is kept: whether one that is there is gone on with, and from which time on it is added to.
    keeps: Option<(bool, Duration)>,
    journal: Option<Journal>,
    /// The past of the manifest in its place, and when the walk began.
    pub(crate) past: Option<Past>,
    /// The last file that had its turn.
    pub(crate) turn: Option<Mount>,
    began: String,
    /// Why it must not appear.
    withheld: Option<&'static str>,
    /// Whether it takes the place of no other manifest.
    is_new: bool,
    /// The old list, locked: no one else writes a new one at the same time.
    lock: Option<Locked>,
}

/// Last line of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The BLAKE3 hash of the list: what is signed.
    pub list: Hash,
    /// The hash of all facts.
    pub facts: Hash,
}

impl Draft {
    /// Begins to write a list at `path`, and its index with it unless `has_index` is false.
    ///
    /// # Errors
    /// As [`Replacement::begin`], if another program is also writing a manifest there, and if there is a file that is neither a list
    /// nor an index.
    pub fn begin(path: &Path, has_index: bool) -> Result<Self, Error> {
        Self::begin_over(path, has_index, false)
    }

    /// Begins a draft although a file that is not an index, such as a damaged one, is in the place of the index.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_over(path: &Path, has_index: bool, accepts_damage: bool) -> Result<Self, Error> {
        let index = index_path(path);
        let foreign = |path: &Path, cause: &str| {
            let cause = format!(
                "{cause}, and would be replaced; move it away, or write the list elsewhere"
            );
            Err(Error::write(path, io::Error::other(cause)))
        };
        if let Some((what, _)) = regular::part_of(path) {
            return foreign(path, &format!("is the {what} of a manifest"));
        }
        if is_foreign(path) {
            return foreign(path, "is not a list of digests");
        }
        if !accepts_damage {
            match is_index(&index) {
                Some(false) => return foreign(&index, "is not the index of a list"),
                Some(true) if path.symlink_metadata().is_err() => {
                    return Err(Error::refused(&index, Loss::NoList));
                }
                _ => {}
            }
        }
        let target = path.canonicalize().ok().filter(|_| path.is_symlink());
        if let Some(target) = target.filter(|it| is_index(&index_path(it)).is_some()) {
            let cause = format!(
                "is a link to {}, which has an index of its own; name that file",
                shown(&target)
            );
            return Err(Error::write(path, io::Error::other(cause)));
        }
        let lock = lock(path)?;
        finish_renaming(path);
        // Files next to a list are no more readable than the list.
        let there = fs::metadata(path).ok();
        let begin = |path: &Path, model| {
            let begun = Replacement::begin_next_to(path, model, None);
            // What was read is in the journal.
            begun.map(Replacement::spare).map_err(|error| Error::write(path, error))
        };
        let list = begin(path, None)?;
        let index = if has_index { Some(begin(&index, there.as_ref())?) } else { None };
        Ok(Self {
            path: path.into(),
            list,
            index,
            totals: None,
            keeps: None,
            journal: None,
            past: None,
            turn: None,
            began: day::now(),
            withheld: None,
            is_new: false,
            lock,
        })
    }

    /// Keeps a [journal](crate::keep::journal) of the files that were read, from the first second on until the manifest appears. With `resumes`,
    /// what is in a journal that is there already is not read again.
    pub fn with_journal(self, resumes: bool) -> Self {
        self.with_journal_from(resumes, journal::FROM)
    }

    /// Keeps a journal like [`with_journal`](Self::with_journal), from another time on.
    pub fn with_journal_from(self, resumes: bool, from: Duration) -> Self {
        Self { keeps: Some((resumes, from)), ..self }
    }

    /// Looks at the past of the manifest in its place, which is made from `old`. A list alone adds nothing to it.
    pub(crate) fn open_past(&self, old: Option<&Manifest>) -> Result<Option<Past>, Error> {
        match (&self.index, old) {
            (Some(_), old) => Past::open(&self.path, old).map(Some),
            (None, Some(old)) => Past::of(old),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn begin_journal(&mut self, root: &Path) -> Result<Found, Error> {
        let Some((resumes, from)) = self.keeps else { return Ok(Found::default()) };
        let (journal, found) = Journal::begin(&self.path, root, resumes, from)?;
        self.journal = Some(journal);
        Ok(found)
    }

    /// The journal, if what is read is to be added to it.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref().filter(|it| it.is_kept())
    }

    /// Where the list will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The temporary files, which a program that is ended by a signal removes.
    pub fn temporaries(&self) -> Vec<PathBuf> {
        let all = [Some(&self.list), self.index.as_ref()].into_iter().flatten();
        all.map(|it| it.temporary().to_owned()).collect()
    }

    pub(crate) fn own(&self, own: &mut Own) {
        for path in self.temporaries() {
            own.add(&path);
        }
        own.add(&self.path);
        own.add(&index_path(&self.path));
        if self.index.is_some() {
            own.add(&past_path(&self.path));
        }
        for signature in signatures(&self.path) {
            own.add(&signature);
        }
        // Any other file of this name is a part of the tree.
        let (journal, is_left) = (journal_path(&self.path), journal::is_left(&self.path));
        if self.journal.as_ref().map_or(is_left, Journal::is_ours) {
            own.add_later(&journal);
        }
    }

    pub(crate) fn start(&self, rules: &Rules, root: &Path, also: &[Algorithm]) -> lines::Lines {
        lines::Lines::new(&lines::Lines::header(rules, root, also, &self.began))
    }

    pub(crate) fn add(&mut self, record: &Record, lines: &mut lines::Lines) -> Result<(), Error> {
        if lines.add(record) >= index::LINE {
            let name = shown(&name::path(&record.name));
            let text = format!(
                "the attributes of {name} are too long for a line of it; leave them out, or exclude the path"
            );
            return Err(Error::write(index_path(&self.path), io::Error::other(text)));
        }
        if lines.is_enough() { self.write(lines) } else { Ok(()) }
    }

    fn write(&mut self, lines: &mut lines::Lines) -> Result<(), Error> {
        let index = self.index.as_mut().map(|it| it as &mut dyn Write);
        let [list, index] = lines.write(&mut self.list, index);
        list.map_err(|error| Error::write(&self.path, error))?;
        index.map_err(|error| Error::write(index_path(&self.path), error))
    }

    pub(crate) fn complete(
        &mut self,
        lines: &mut lines::Lines,
        (past, additions): (Option<Past>, Additions),
        accepts_damage: bool,
    ) -> Result<Totals, Error> {
        self.write(lines)?;
        let mut trailer = lines.trailer();
        self.past = past.filter(|_| self.index.is_some());
        if let Some(past) = &mut self.past {
            let run = (&*self.began, &*trailer.facts);
            trailer.past = past.complete(run, additions, accepts_damage)?;
        }
        trailer.turn = self.turn.take();
        lines.end(&trailer);
        self.write(lines)?;
        // Next to each other, as each waits for the disk.
        let (list, index) = (&mut self.list, &mut self.index);
        let (list, index) = std::thread::scope(|scope| {
            let index = scope.spawn(|| index.as_mut().map_or(Ok(()), Replacement::complete));
            let list = list.complete();
            let panicked = |_| Err(io::Error::other("writing the index panicked"));
            (list, index.join().unwrap_or_else(panicked))
        });
        list.map_err(|error| Error::write(&self.path, error))?;
        index.map_err(|error| Error::write(index_path(&self.path), error))?;
        let hash = |hex: &str| {
            Hash::from_hex(hex).map_err(|error| Error::write(&self.path, io::Error::other(error)))
        };
        let (list, facts) = (hash(&trailer.list)?, hash(&trailer.facts)?);
        let totals = Totals { files: trailer.files, bytes: trailer.bytes, list, facts };
        self.totals = Some(totals);
        Ok(totals)
    }

    /// An error if a list or an index is in its place, now or when it is to appear. An empty file is neither.
    pub(crate) fn replaces_nothing(&mut self) -> Result<(), Error> {
        self.is_new = true;
        self.check_place()
    }

    fn check_place(&self) -> Result<(), Error> {
        let index = index_path(&self.path);
        let is_there = fs::metadata(&self.path).is_ok_and(|it| it.len() > 0)
            || fs::symlink_metadata(&index).is_ok_and(|it| it.len() > 0);
        let is_refused = self.is_new && is_there;
        if is_refused { Err(Error::refused(&self.path, Loss::There)) } else { Ok(()) }
    }

    /// Keeps it from appearing. What was read stays in the journal, for the next run.
    pub(crate) fn withhold(&mut self, cause: &'static str) {
        self.withheld = Some(cause);
    }

    /// Lets both appear.
    ///
    /// # Errors
    /// If nothing was written to it ([`Update::run`](crate::machine::Update::run) does), and as [`Replacement::appear`].
    pub fn appear(self) -> Result<Totals, Error> {
        if let Some(cause) = self.withheld {
            return Err(Error::write(&self.path, io::Error::other(cause)));
        }
        self.check_place()?;
        let index = index_path(&self.path);
        let totals = self.totals.ok_or_else(|| {
            Error::write(
                &self.path,
                io::Error::other("is not complete: the run did not come to its end"),
            )
        })?;
        // A replaced file is deleted when no one has it open any more, which takes milliseconds.
        let has_old = cfg!(unix) && self.index.is_some();
        let old = if has_old { regular::open(&index).ok() } else { None };
        if let Some(past) = self.past {
            past.appear(&self.path)?;
        }
        let mut left = self.list.appear().map_err(|error| Error::write(&self.path, error))?;
        if let Some(new) = self.index {
            let also = new.appear().map_err(|error| Error::write(&index, error))?;
            left = left.or(also);
        }
        if let Some(journal) = self.journal {
            journal.remove();
        }
        std::thread::scope(|scope| {
            if old.is_some() {
                scope.spawn(|| drop(old));
            }
            drop(self.lock);
        });
        if let Some((temporary, error)) = left {
            let text =
                format!("this temporary file cannot be removed: {error}; the manifest is complete");
            return Err(Error::write(temporary, io::Error::new(error.kind(), text)));
        }
        Ok(totals)
    }
}

/// Whether there is a file at the path that has something else than digests. What cannot be opened is for others to say.
fn is_foreign(path: &Path) -> bool {
    let lines = regular::open(path).and_then(|file| Lines::new(file, false));
    let (Ok(mut lines), mut has_comment) = (lines, false) else { return false };
    loop {
        let Ok(next) = lines.next() else { return true };
        let Some((_, line)) = next else { return has_comment };
        match treewide_files::list::parse(line, None) {
            Ok(None) => has_comment |= !line.trim_ascii().is_empty(),
            Ok(Some(_)) | Err(Fault::Digest { .. }) => return false,
            Err(Fault::Line(_) | Fault::Skipped { .. }) => return true,
        }
    }
}

/// Whether the file at the path is the index of some list, of any version; `None` if there is none, or an empty one.
pub(crate) fn is_index(path: &Path) -> Option<bool> {
    regular::begins(path, regular::INDEX)
}

/// If a run was killed between its two renames, also lets its index appear.
fn finish_renaming(path: &Path) {
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left: Vec<_> = entries.filter(|it| is_temporary(&it.file_name())).collect();
    if left.is_empty() {
        return;
    }
    let Ok(list) = List::open(path) else { return };
    let belongs = |path: &Path| {
        regular::open(path).is_ok_and(|it| index::IndexFile::open(it, &list.hash()).is_ok())
    };
    let index = index_path(path);
    if !belongs(&index)
        && let Some(left) = left.iter().find(|it| belongs(&it.path()))
        // Otherwise the run is still there, and does it.
        && is_free(&left.path())
    {
        // If it fails, the index is one of another list, as before.
        let _ = fs::rename(left.path(), index);
    }
}

/// Whether no run holds a file.
fn is_free(path: &Path) -> bool {
    let held = |it: File| matches!(it.try_lock(), Err(TryLockError::WouldBlock));
    !regular::open(path).is_ok_and(held)
}

/// Where signatures of a list are: they are made after it, and may be in its tree.
fn signatures(list: &Path) -> impl Iterator<Item = PathBuf> {
    [".sig", ".minisig", ".asc"].into_iter().map(|end| regular::with_end(list, end))
}

/// The files of a manifest, which a walk leaves out.
pub(crate) fn files_of(manifest: &Manifest) -> Vec<PathBuf> {
    let list = manifest.list().path();
    let mut files = vec![list.to_owned(), index_path(list)];
    files.extend(signatures(list));
    // Any other file of this name is a part of the tree.
    if journal::is_left(list) {
        files.push(journal_path(list));
    }
    if regular::begins(&past_path(list), regular::PAST) == Some(true) {
        files.push(past_path(list));
    }
    files
}

/// Locks the list at `path`, if there is one, until the new one has appeared.
fn lock(path: &Path) -> Result<Option<Locked>, Error> {
    let busy = || {
        let cause =
            "another program is writing a new manifest in its place; wait until that is done";
        Error::write(path, io::Error::other(cause))
    };
    // On Windows a locked file cannot be read.
    if cfg!(windows) {
        return Ok(None);
    }
    // What is not a regular file is refused when the new list begins.
    let Ok(file) = regular::open(path) else { return Ok(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(busy()),
        // Some file systems have no locks.
        Err(TryLockError::Error(_)) => Ok(None),
        // It was replaced between opening and locking.
        Ok(()) if !is_still_at(&file, path) => Err(busy()),
        Ok(()) => Ok(Some(Locked(file))),
    }
}

fn is_still_at(file: &File, path: &Path) -> bool {
    let numbers = |it: Stamp| (it.device, it.inode);
    let is = Stamp::of(file).map(numbers);
    is.is_ok_and(|is| Stamp::at(path, true).map(numbers).is_ok_and(|there| there == is))
}
