//! One object of a store, and how the entries of a walk become objects. Nothing that a walk finds is left out without a reason.

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected};
use std::io;
use std::path::{Path, PathBuf};
use treewide_files::digest::{self, Extent};
use treewide_files::walk::{Found, Walk};
use treewide_files::{Error, ErrorKind, Kind, Task};

pub(super) const NOT_AN_OBJECT: &str = "not the name of an object";
pub(super) const LEADS_OUT: &str = "leads out of the store";
const LINK_TO_DIRECTORY: &str = "a link to a directory, which is not followed";
const NOT_A_FOLDER: &str = "not a folder of objects";
pub(super) const DANGLES: &str = "a link to nothing";
pub(super) const TEMPORARY: &str = "temporary files";

/// Something in the place of objects.
#[derive(Debug)]
pub enum Object {
    /// An object to hash.
    File(Box<Task<Expected>>),
    /// An object that is wrong, as can be said without reading it.
    Wrong(PathBuf, String),
    /// Something is not there.
    Missing(PathBuf, String),
    /// A place that could not be looked at.
    Unreadable(Error),
    /// An object that could not be verified, and why.
    Unverified(PathBuf, String),
    /// An object that has no digest, and why.
    Skipped(PathBuf, String),
    /// Something in the place of objects or records that is not understood, and why.
    Unknown(PathBuf, String),
    /// Something that belongs to the store and is not an object: what it is. Empty for marks and locks.
    Passed(&'static str),
}

/// What the path of something in the place of objects says.
pub(super) enum Said {
    /// It is an object that should have this digest.
    Object(Box<Expected>),
    /// It is a folder of objects.
    Folder,
    /// It belongs to the store, and is this.
    Passed(&'static str),
    /// It is an object without a digest, and why.
    Without(String),
    /// It is not an object, and why.
    Other(String),
}

impl Said {
    /// An object with this digest by one of these algorithms.
    pub(super) fn object(digits: &str, algorithms: Vec<Algorithm>) -> Self {
        match digest::unhex(digits.as_bytes()) {
            Some(digest) => Self::Object(Box::new(Expected::new(digest, By::Store, algorithms))),
            None => Self::Other(NOT_AN_OBJECT.into()),
        }
    }
}

/// The task of an object.
pub(super) fn task(path: PathBuf, kind: Kind, about: Expected) -> Object {
    let has_blake3 = about.candidates().contains(&Algorithm::BLAKE3);
    let extent = if has_blake3 { Extent::HASH } else { Extent::NONE };
    Object::File(Box::new(Task { path, kind, extent, about }))
}

/// The file in the place of an object or a record, or the thing that is there instead. A link is followed if it stays in one of the folders.
pub(super) fn file(found: Found, bases: &[PathBuf]) -> Result<(PathBuf, Kind), Object> {
    Err(match found {
        Found::File { path, identity, .. } => return Ok((path, Kind::Found(identity))),
        Found::Directory(path) => Object::Wrong(path, "a directory, not a file".into()),
        Found::Special { path, kind } => Object::Wrong(path, format!("{kind}, not a file")),
        Found::Link(path) => match path.metadata() {
            Ok(of) if of.is_dir() => Object::Wrong(path, LINK_TO_DIRECTORY.into()),
            Ok(of) if of.is_file() && outside(bases, &path).is_none() => {
                return Ok((path, Kind::Regular));
            }
            Ok(_) => Object::Wrong(path, LEADS_OUT.into()),
            Err(error) if is_absent(&error) => Object::Missing(path, DANGLES.into()),
            Err(error) => Object::Unreadable(Error::new(path, ErrorKind::open(error))),
        },
        Found::Failed(error) => Object::Unreadable(error),
        Found::Temporary(_) => Object::Passed(TEMPORARY),
        other => Object::Unknown(path_of(&other), "is of an unknown kind".into()),
    })
}

/// What an entry of a walk is. `None` for a directory, whose entries come next.
pub(super) fn object(found: Found, said: Said, bases: &[PathBuf]) -> Option<Object> {
    Some(match (found, said) {
        (found @ (Found::Failed(_) | Found::Temporary(_)), _) => file(found, bases).err()?,
        (found, Said::Object(about)) => match file(found, bases) {
            Ok((path, kind)) => task(path, kind, *about),
            Err(wrong) => wrong,
        },
        (Found::Directory(_), _) => return None,
        (_, Said::Passed(what)) => Object::Passed(what),
        // In the place of a folder.
        (found @ Found::Link(_), Said::Folder) => file(found, &[]).err()?,
        (other, Said::Folder) => Object::Wrong(path_of(&other), NOT_A_FOLDER.into()),
        (Found::Link(path), _) if path.is_dir() => Object::Wrong(path, LINK_TO_DIRECTORY.into()),
        (Found::Link(path), _) => Object::Unknown(path, "a link".into()),
        (Found::Special { path, kind }, _) => Object::Unknown(path, kind.into()),
        (found, Said::Without(why)) => Object::Skipped(path_of(&found), why),
        (found, Said::Other(why)) => Object::Unknown(path_of(&found), why),
    })
}

/// Everything below a directory of a store, with the path from there as text. Nothing if the directory does not exist.
pub(super) fn below(root: &Path, top: &str) -> impl Iterator<Item = (Found, String)> + use<> {
    let (base, top) =
        (root.to_owned(), if top.is_empty() { root.to_owned() } else { root.join(top) });
    // A walk says nothing of a link that leads to nothing.
    let (walk, failed) = match top.metadata() {
        Err(error)
            if is_absent(&error) && top.symlink_metadata().is_err_and(|it| is_absent(&it)) =>
        {
            (None, None)
        }
        Err(error) => (None, Some(Found::Failed(Error::new(top, ErrorKind::open(error))))),
        Ok(_) => (Some(Walk::new(top).directories(true)), None),
    };
    failed.into_iter().chain(walk.into_iter().flatten()).map(move |found| {
        let path = path_of(&found);
        let mut inside = path.strip_prefix(&base).unwrap_or(&path).to_string_lossy().into_owned();
        if cfg!(windows) {
            inside = inside.replace('\\', "/");
        }
        (found, inside)
    })
}

fn path_of(found: &Found) -> PathBuf {
    match found {
        Found::File { path, .. } | Found::Special { path, .. } => path.clone(),
        Found::Link(path) | Found::Directory(path) | Found::Temporary(path) => path.clone(),
        Found::Failed(error) => error.path().to_owned(),
        _ => PathBuf::new(),
    }
}

/// Whether an error says that nothing has this path.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What is wrong with a file that a record of the store names, and that may be reached through links: they must stay in one of these
/// folders, whose paths are without links.
pub(super) fn outside(bases: &[PathBuf], file: &Path) -> Option<Object> {
    match file.canonicalize() {
        Ok(path) if bases.iter().any(|it| path.starts_with(it)) => None,
        Ok(_) => Some(Object::Wrong(file.to_owned(), LEADS_OUT.into())),
        Err(error) if is_absent(&error) => {
            Some(Object::Missing(file.to_owned(), "it is not there".into()))
        }
        Err(error) => Some(Object::Unreadable(Error::new(file, ErrorKind::open(error)))),
    }
}
