//! One object of a store, and how a walk becomes objects.

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected};
use std::path::{Path, PathBuf};
use treewide_files::digest::{self, Extent};
use treewide_files::walk::{Found, Walk};
use treewide_files::{Error, Kind, Task};

pub(super) const NOT_AN_OBJECT: &str = "not the name of an object";
pub(super) const LEADS_OUT: &str = "leads out of the store";

/// Something in the place of objects.
#[derive(Debug)]
pub enum Object {
    /// An object to hash.
    File(Task<Expected>),
    /// An object that is wrong, as can be said without reading it.
    Wrong(PathBuf, String),
    /// Something is not there.
    Missing(PathBuf, String),
    /// A place that could not be looked at.
    Unreadable(Error),
    /// Something in the place of objects that cannot be checked, and why.
    Skipped(PathBuf, String),
    /// Something that belongs to the store and is not an object: what it is. Empty for marks and locks.
    Passed(&'static str),
}

/// A file that a walk has found, and its digest.
pub(super) fn found(path: PathBuf, kind: Kind, algorithm: Algorithm, digits: &str) -> Object {
    match digest::unhex(digits.as_bytes()) {
        Some(digest) => {
            let about = Expected::new(digest, By::Store, vec![algorithm]);
            Object::File(Task { path, kind, extent: extent(algorithm), about })
        }
        None => Object::Skipped(path, NOT_AN_OBJECT.into()),
    }
}

/// The part of the BLAKE3 digest that is wanted.
pub(super) fn extent(algorithm: Algorithm) -> Extent {
    if algorithm == Algorithm::BLAKE3 { Extent::HASH } else { Extent::NONE }
}

/// Everything below a directory that is in it, with the path from there.
pub(super) fn below(root: &Path, top: &str) -> impl Iterator<Item = (Found, String)> + use<> {
    let (base, root) =
        (root.to_owned(), if top.is_empty() { root.to_owned() } else { root.join(top) });
    let walk = root.symlink_metadata().is_ok().then(|| Walk::new(root).into_iter());
    walk.into_iter().flatten().map(move |found| {
        let path = match &found {
            Found::File { path, .. } | Found::Special { path, .. } => path,
            Found::Link(path) | Found::Directory(path) | Found::Temporary(path) => path,
            Found::Failed(error) => error.path(),
            _ => Path::new(""),
        };
        let inside = path.strip_prefix(&base).unwrap_or(path).to_string_lossy().replace('\\', "/");
        (found, inside)
    })
}

/// The object for something that is not a regular file.
pub(super) fn not_a_file(found: Found) -> Option<Object> {
    match found {
        Found::Link(path) => Some(Object::Skipped(path, "a link".into())),
        Found::Special { path, kind } => Some(Object::Skipped(path, kind.into())),
        Found::Failed(error) => Some(Object::Unreadable(error)),
        Found::Temporary(path) => Some(Object::Skipped(path, NOT_AN_OBJECT.into())),
        _ => None,
    }
}
