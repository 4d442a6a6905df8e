//! The operands of `check`: the files that lists name, one list after the other.

use crate::args::input::task;
use crate::shell::progress::Progress;
use crate::shell::stdin::{Stdin, is_stdin};
use std::path::{Path, PathBuf};
use treewide_digests::{Algorithm, Expected, List, Reading};
use treewide_files::check::{self, Forms, ListedFiles, Verdict};
use treewide_files::list::{self, Lines};
use treewide_files::{ErrorKind, Item, Other, Source};

/// A list of at most this many bytes is read twice, to know how many bytes there will be.
const READ_TWICE: u64 = 64 << 10;

/// What lists hold in addition to files to hash.
pub(super) enum Note {
    /// Something in this list.
    In(PathBuf, check::Note),
    /// The end of a list, or why no more of it can be read.
    End(PathBuf, Result<Learnt, ErrorKind>),
}

/// What was learnt of a list as a whole.
#[derive(Default)]
pub(super) struct Learnt {
    /// The algorithm that its name says, by which lines were read.
    pub(super) by_name: Option<Algorithm>,
    pub(super) is_signed: bool,
}

/// The files of one list after the other.
pub(super) struct Lists<'a> {
    reading: Reading,
    ignore_missing: bool,
    stdin: &'a Stdin,
    paths: std::vec::IntoIter<PathBuf>,
    progress: &'a Progress,
    /// The list that is being read.
    list: Option<(PathBuf, ListedFiles<List>)>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(
        reading: Reading,
        ignore_missing: bool,
        stdin: &'a Stdin,
        paths: Vec<PathBuf>,
        progress: &'a Progress,
    ) -> Self {
        let paths = paths.into_iter();
        Self { reading, ignore_missing, stdin, paths, progress, list: None }
    }

    /// Open the list at `path`, or standard input for `-`.
    fn open(&self, path: &Path) -> Result<ListedFiles<List>, ErrorKind> {
        let (lines, name) = if is_stdin(path) {
            (Lines::new(self.stdin.claim("a list")?, true)?, Path::new(""))
        } else {
            (Lines::open(path).map_err(ErrorKind::open)?, path)
        };
        Ok(ListedFiles::new(lines, List::new(name, self.reading), self.ignore_missing))
    }
}

impl Source for Lists<'_> {
    type About = Expected;
    type Note = Note;

    fn next(&mut self) -> Option<Item<Expected, Note>> {
        loop {
            let Some((path, list)) = &mut self.list else {
                let Some(path) = self.paths.next() else {
                    self.progress.has_found_all();
                    return None;
                };
                match self.open(&path) {
                    Ok(list) => self.list = Some((path, list)),
                    Err(error) => return Some(Item::Note(Note::End(path, Err(error)))),
                }
                continue;
            };
            let list_path = &*path;
            let note = match list.next() {
                // Which of them the list means no one knows.
                Some(Item::File(file)) if is_stdin(&file.path) && is_there(&file.path) => {
                    let cause = "could be standard input or the file of this name; list it as ./-";
                    let (path, expected) = (file.path, Some(file.about.digest().to_vec()));
                    let verdict = Verdict::Unverified(cause.into());
                    let note = check::Note::Settled { path, expected, verdict };
                    let list = list_path.clone();
                    return Some(Item::Note(Note::In(list, note)));
                }
                Some(Item::File(mut file)) => {
                    self.progress.found();
                    if is_stdin(&file.path) {
                        file.about.read_once();
                    }
                    return Some(Item::File(task(file.path, file.extent, file.about)));
                }
                Some(Item::Note(check::Note::Unreadable(error))) => Err(ErrorKind::from(error)),
                Some(Item::Note(note)) => {
                    return Some(Item::Note(Note::In(path.clone(), note)));
                }
                None => Ok(()),
            };
            let (path, list) = self.list.take()?;
            let (by_name, is_signed) = (list.forms().by_name(), list.forms().is_signed());
            let learnt = Learnt { by_name, is_signed };
            return Some(Item::Note(Note::End(path, note.map(|()| learnt))));
        }
    }

    fn may_wait(&self) -> bool {
        match &self.list {
            Some((_, list)) => list.may_wait(),
            // What is not a regular file, standard input above all, may wait to be opened.
            None => self.paths.as_slice().first().is_some_and(|list| !list.is_file()),
        }
    }

    fn bytes(item: &Item<Expected, Note>) -> usize {
        match item {
            Item::File(file) => List::bytes(&file.about),
            Item::Note(Note::In(_, note)) => note.bytes(),
            Item::Note(Note::End(..)) => 0,
        }
    }
    fn other(about: &mut Expected) -> Option<&mut dyn Other> {
        List::other(about)
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The bytes that there are to hash, as far as the lengths of files say.
///
/// `None` if a list is standard input or a pipe, which can be read only once, and not here; or if it is so long that reading
/// it twice would cost time.
pub(super) fn total_len(lists: &[PathBuf], length: Option<u64>) -> Option<u64> {
    let mut total = 0;
    for path in lists {
        if is_stdin(path) {
            return None;
        }
        let Ok(metadata) = path.metadata() else { continue };
        if !metadata.is_file() || metadata.len() > READ_TWICE {
            return None;
        }
        let mut list = Lines::open(path).ok()?;
        while let Ok(Some((_, line))) = list.next() {
            if let Ok(Some(entry)) = list::parse(line, length)
                && let Ok(path) = entry.find()
                && let Ok(metadata) = path.metadata()
                && metadata.is_file()
            {
                total += metadata.len();
            }
        }
    }
    Some(total)
}
