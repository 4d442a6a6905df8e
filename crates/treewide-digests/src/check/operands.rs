//! The operands of a check: the files that lists name and the objects of stores, one list or store after the other.

use super::Check;
use super::finding::{Finding, Status};
use crate::algorithm::Algorithm;
use crate::expected::Expected;
use crate::list::List;
use crate::store::{self, Kind, Object, Objects, Place, Store};
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use treewide_files::check::{self, Forms, ListedFiles, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::shown;
use treewide_files::{self as files, ErrorKind, Item, Other, Source, Whole};

/// The events of a run over [`Operands`].
pub type Ran = files::Event<Expected, Note>;

/// Something in operands that is not a file to hash. [`Results`](super::Results) takes it.
#[derive(Debug)]
pub struct Note(pub(super) Said);

#[derive(Debug)]
pub(super) enum Said {
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
    /// A directory that is not a store, may be one or hold one and cannot be looked at, or has links that were not followed.
    Place(Finding),
}

/// The knowledge of a list as a whole.
#[derive(Debug, Default)]
pub struct Learnt {
    /// Whether it is signed.
    pub is_signed: bool,
}

/// The files of one list or store after the other.
pub struct Operands<'a> {
    check: Check,
    /// Opens standard input. `-` is its name then.
    stdin: Option<Box<dyn FnMut() -> Result<Lines, ErrorKind> + 'a>>,
    paths: std::vec::IntoIter<PathBuf>,
    /// The list that is being read.
    list: Option<(PathBuf, ListedFiles<List>)>,
    /// The stores of the directory at hand that are still to be checked, and the objects of the first one.
    stores: VecDeque<Place>,
    dir: PathBuf,
    objects: Option<Objects>,
}

impl fmt::Debug for Operands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operands").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl<'a> Operands<'a> {
    /// Lists, and directories with stores.
    pub fn new(check: Check, paths: Vec<PathBuf>) -> Self {
        let (paths, stores, dir) = (paths.into_iter(), VecDeque::new(), PathBuf::new());
        Self { check, stdin: None, paths, list: None, stores, dir, objects: None }
    }

    /// Makes `-` the name of standard input: as a list, which `open` opens, and in lists, where the run must read it.
    pub fn stdin(self, open: impl FnMut() -> Result<Lines, ErrorKind> + 'a) -> Self {
        Self { stdin: Some(Box::new(open)), ..self }
    }

    /// Opens the list at `path`.
    fn open(&mut self, path: &Path) -> Result<ListedFiles<List>, ErrorKind> {
        let (lines, name) = match &mut self.stdin {
            Some(open) if is_stdin(path) => (open()?, Path::new("")),
            _ if self.check.reading.b3sum.is_some() => {
                let file = Whole::open(path).map_err(ErrorKind::open)?;
                let is_stream = !file.is_regular();
                (Lines::utf8(file, is_stream), path)
            }
            _ => (Lines::open(path).map_err(ErrorKind::open)?, path),
        };
        let forms = List::new(name, self.check.reading);
        Ok(ListedFiles::new(lines, forms, self.check.ignore_missing))
    }
}

impl Source for Operands<'_> {
    type About = Expected;
    type Note = Note;

    fn next(&mut self) -> Option<Item<Expected, Note>> {
        loop {
            if let Some(objects) = &mut self.objects {
                let strong = self.check.reading.strong;
                return Some(match objects.next() {
                    Some(Object::File(task)) => match weak(&task.about).filter(|_| strong) {
                        Some(weak) => {
                            let cause = format!("{weak} is not accepted with --strong");
                            note(Said::Object(Object::Unverified(task.path, cause)))
                        }
                        None => Item::File(*task),
                    },
                    Some(other) => note(Said::Object(other)),
                    None => {
                        self.objects = None;
                        note(Said::StoreEnd)
                    }
                });
            }
            if let Some(store) = self.stores.pop_front() {
                return Some(note(match store {
                    Place::Store(store) => {
                        self.objects = Some(store.objects());
                        Said::Store(store)
                    }
                    Place::Hidden(error) => {
                        let (path, cause) = error.into_parts();
                        place(path, Status::Unreadable, cause.to_string())
                    }
                    Place::Links(links) => {
                        let more = match links.len() {
                            1 => String::new(),
                            all => format!(" and {} more", all - 1),
                        };
                        let first = shown(&links[0]);
                        let cause = format!("links out of it are not followed: {first}{more}");
                        place(self.dir.clone(), Status::Skipped, cause)
                    }
                }));
            }
            let Some((path, list)) = &mut self.list else {
                let path = self.paths.next()?;
                let is_b3sum = self.check.reading.b3sum.is_some();
                let is_stdin = self.stdin.is_some() && is_stdin(&path);
                if !is_b3sum && !is_stdin && path.is_dir() {
                    let Check { kind, recursive, .. } = self.check;
                    self.stores = store::find(&path, kind, recursive).into();
                    self.dir.clone_from(&path);
                    if self.stores.iter().all(|it| matches!(it, Place::Links(_))) {
                        let why = no_store(&path, kind, recursive);
                        return Some(note(place(path, Status::Unverified, why)));
                    }
                    continue;
                }
                match self.open(&path) {
                    Ok(list) => self.list = Some((path, list)),
                    Err(error) => return Some(note(Said::End(path, Err(error)))),
                }
                continue;
            };
            let (list_path, has_stdin) = (&*path, self.stdin.is_some());
            let is_either = |path: &Path| {
                is_stdin(path)
                    && path.symlink_metadata().is_ok()
                    && self.check.reading.b3sum.is_none()
            };
            let end = match list.next() {
                // Which of them the list means no one knows.
                Some(Item::File(file)) if is_either(&file.path) => {
                    let cause = "could be standard input or the file of this name; list it as ./-";
                    let (path, expected) = (file.path, Some(file.about.digest().to_vec()));
                    let verdict = Verdict::Unverified(cause.into());
                    let settled = check::Note::Settled { path, expected, verdict };
                    return Some(note(Said::In(list_path.clone(), settled)));
                }
                Some(Item::File(mut file)) => {
                    if has_stdin && is_stdin(&file.path) {
                        file.kind = files::Kind::Alone;
                        file.about.read_once();
                    }
                    return Some(Item::File(file));
                }
                Some(Item::Note(check::Note::Unreadable(error))) => Err(ErrorKind::from(error)),
                Some(Item::Note(other)) => return Some(note(Said::In(path.clone(), other))),
                None => Ok(()),
            };
            let (path, list) = self.list.take()?;
            let learnt = Learnt { is_signed: list.forms().is_signed() };
            return Some(note(Said::End(path, end.map(|()| learnt))));
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
            Item::Note(Note(Said::In(_, note))) => note.bytes(),
            Item::Note(_) => 0,
        }
    }

    fn other(about: &mut Expected) -> Option<&mut dyn Other> {
        List::other(about)
    }
}

fn note(said: Said) -> Item<Expected, Note> {
    Item::Note(Note(said))
}

fn place(path: PathBuf, status: Status, why: String) -> Said {
    Said::Place(Finding::unread(path, status, why, None))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn weak(expected: &Expected) -> Option<Algorithm> {
    expected.candidates().iter().copied().find(|it| it.is_weak())
}

/// What a directory is in which no store was found.
fn no_store(path: &Path, kind: Option<&Kind>, recursive: bool) -> String {
    // Programs of Hugging Face print `models--a--b/snapshots/REVISION`.
    let is_repository = |it: &&Path| it.join("blobs").is_dir() && it.join("snapshots").is_dir();
    if let Some(whole) = path.ancestors().skip(1).take(2).find(is_repository) {
        return format!("a part of a repository of Hugging Face; check {}", shown(whole));
    }
    match kind {
        Some(kind) => format!("not {}", kind.shown),
        None if path.join(".git").exists() => {
            "holds no store that this program knows; git fsck checks objects of git itself".into()
        }
        None => {
            let what = if recursive { "there is none below it" } else { "no list" };
            format!("not a store that this program knows, and {what}")
        }
    }
}
