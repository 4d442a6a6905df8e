//! The operands of `check`: the files that lists name and the objects of stores, one list or store after the other.

use crate::args::input::task;
use crate::shell::progress::Progress;
use crate::shell::stdin::{Stdin, is_stdin};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use treewide_digests::store::{self, Kind, Object, Objects, Store};
use treewide_digests::{Algorithm, Expected, List, Reading};
use treewide_files::check::{self, Forms, ListedFiles, Verdict};
use treewide_files::list::{self, Lines};
use treewide_files::{Error, ErrorKind, Item, Other, Source};

/// A list of at most this many bytes is read twice, to know how many bytes there will be.
const READ_TWICE: u64 = 64 << 10;

/// What lists hold in addition to files to hash.
pub(super) enum Note {
    /// Something in this list.
    In(PathBuf, check::Note),
    /// The end of a list, or why no more of it can be read.
    End(PathBuf, Result<Learnt, ErrorKind>),
    /// The next files are objects of this store.
    Store(Store),
    /// Something in the place of an object.
    Object(Object),
    /// The end of that store.
    StoreEnd,
    /// A directory that is not a store.
    NoStore(PathBuf),
    /// A place that may be a store or hold one, and cannot be looked at.
    Hidden(Error),
}

/// What was learnt of a list as a whole.
#[derive(Default)]
pub(super) struct Learnt {
    /// The algorithm that its name says, by which lines were read.
    pub(super) by_name: Option<Algorithm>,
    /// If it is signed, the number of its lines outside of the signed text.
    pub(super) signed: Option<u64>,
}

/// How stores are looked for.
#[derive(Clone, Copy)]
pub(super) struct Finding {
    /// Of this kind alone.
    pub(super) kind: Option<&'static Kind>,
    /// Everywhere below.
    pub(super) everywhere: bool,
}

/// The files of one list or store after the other.
pub(super) struct Lists<'a> {
    reading: Reading,
    ignore_missing: bool,
    stdin: &'a Stdin,
    paths: std::vec::IntoIter<PathBuf>,
    progress: &'a Progress,
    /// The list that is being read.
    list: Option<(PathBuf, ListedFiles<List>)>,
    finding: Finding,
    /// The stores of the directory at hand that are still to be checked, and the objects of the first one.
    stores: VecDeque<Result<Store, Error>>,
    objects: Option<Objects>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(
        reading: Reading,
        ignore_missing: bool,
        stdin: &'a Stdin,
        paths: Vec<PathBuf>,
        progress: &'a Progress,
        finding: Finding,
    ) -> Self {
        let (paths, stores, objects) = (paths.into_iter(), VecDeque::new(), None);
        Self {
            reading,
            ignore_missing,
            stdin,
            paths,
            progress,
            list: None,
            finding,
            stores,
            objects,
        }
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
            if let Some(objects) = &mut self.objects {
                let strong = self.reading.strong;
                return Some(match objects.next() {
                    Some(Object::File(task)) => match weak(&task.about).filter(|_| strong) {
                        Some(weak) => {
                            let cause = format!("{weak} is not accepted with --strong");
                            Item::Note(Note::Object(Object::Unverified(task.path, cause)))
                        }
                        None => {
                            self.progress.found();
                            Item::File(task)
                        }
                    },
                    Some(other) => Item::Note(Note::Object(other)),
                    None => {
                        self.objects = None;
                        Item::Note(Note::StoreEnd)
                    }
                });
            }
            if let Some(store) = self.stores.pop_front() {
                return Some(Item::Note(match store {
                    Ok(store) => {
                        self.objects = Some(store.objects());
                        Note::Store(store)
                    }
                    Err(error) => Note::Hidden(error),
                }));
            }
            let Some((path, list)) = &mut self.list else {
                let Some(path) = self.paths.next() else {
                    self.progress.has_found_all();
                    return None;
                };
                if path.is_dir() {
                    let Finding { kind, everywhere } = self.finding;
                    self.stores = store::find(&path, kind, everywhere).into();
                    if self.stores.is_empty() {
                        return Some(Item::Note(Note::NoStore(path)));
                    }
                    continue;
                }
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
            let learnt = Learnt { by_name: list.forms().by_name(), signed: list.forms().signed() };
            return Some(Item::Note(Note::End(path, note.map(|()| learnt))));
        }
    }

    fn may_wait(&self) -> bool {
        if self.objects.is_some() || !self.stores.is_empty() {
            return false;
        }
        match &self.list {
            Some((_, list)) => list.may_wait(),
            // What is not a regular file, standard input above all, may wait to be opened.
            None => self.paths.as_slice().first().is_some_and(|it| !it.is_file() && !it.is_dir()),
        }
    }

    fn bytes(item: &Item<Expected, Note>) -> usize {
        match item {
            Item::File(file) => List::bytes(&file.about),
            Item::Note(Note::In(_, note)) => note.bytes(),
            Item::Note(_) => 0,
        }
    }
    fn other(about: &mut Expected) -> Option<&mut dyn Other> {
        List::other(about)
    }
}

fn weak(expected: &Expected) -> Option<Algorithm> {
    expected.candidates().iter().copied().find(|it| it.is_weak())
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
