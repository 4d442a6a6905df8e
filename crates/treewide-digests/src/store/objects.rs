//! The objects of a store, found by a walk of the places where they are.

use super::object::{LEADS_OUT, NOT_AN_OBJECT, Object, below, found, not_a_file};
use super::pattern;
use super::{Layout, Store, annex, bag, flatfs, hugging_face};
use crate::algorithm::Algorithm;
use crate::expected::{By, Expected};
use std::fmt;
use std::path::{Path, PathBuf};
use treewide_files::digest::{self, Extent};
use treewide_files::walk::Found;
use treewide_files::{Kind, Task};

/// The objects of a store, in the order of their paths.
pub struct Objects(Box<dyn Iterator<Item = Object>>);

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl Iterator for Objects {
    type Item = Object;

    fn next(&mut self) -> Option<Object> {
        self.0.next()
    }
}

impl Store {
    /// Its objects. Nothing is read of them before the caller does.
    pub fn objects(&self) -> Objects {
        let root = self.root.clone();
        Objects(match &self.kind.layout {
            Layout::Names { objects, passed } => {
                Box::new(named(root, objects, passed, |_, _| None))
            }
            Layout::HuggingFace { objects, passed } => {
                let (missing, files) = hugging_face::snapshots(&root);
                let cache = root.clone();
                let shared = move |path: &Path, about: Expected| {
                    hugging_face::is_shared(&cache, path).then(|| linked(path.to_owned(), about))
                };
                let objects = named(root, objects, passed, shared);
                Box::new(missing.into_iter().chain(objects.map(move |it| files.remark(it))))
            }
            Layout::HuggingFaceFolder => Box::new(hugging_face::folder(root)),
            Layout::Annex => Box::new(annex::objects(root)),
            Layout::FlatFs => Box::new(flatfs::objects(root)),
            Layout::Bag => Box::new(bag::objects(root)),
        })
    }
}

fn linked(path: PathBuf, about: Expected) -> Object {
    Object::File(Task { path, kind: Kind::Regular, extent: Extent::NONE, about })
}

/// Objects that are recognised by their paths. `link` says whether a link in the place of one may be followed.
fn named(
    root: PathBuf,
    objects: &'static [(Algorithm, &'static str)],
    passed: &'static [(&'static str, &'static str)],
    link: impl Fn(&Path, Expected) -> Option<Object> + 'static,
) -> impl Iterator<Item = Object> {
    let tops = pattern::tops(objects.iter().map(|(_, pattern)| *pattern));
    let found = tops.into_iter().flat_map(move |top| below(&root, top));
    found.filter_map(move |(entry, inside)| {
        if let Some((_, what)) =
            passed.iter().find(|(pattern, _)| pattern::matches(pattern, &inside))
        {
            return Some(Object::Passed(what));
        }
        let object = objects.iter().find_map(|(algorithm, pattern)| {
            Some((*algorithm, pattern::digest(pattern, &inside)?))
        });
        match (entry, object) {
            (Found::File { path, identity, .. }, Some((algorithm, digits))) => {
                Some(found_object(path, identity, algorithm, &digits))
            }
            (Found::Link(path), Some((algorithm, digits))) => {
                let digest = digest::unhex(digits.as_bytes())?;
                let about = Expected::new(digest, By::Store, vec![algorithm]);
                if path.metadata().is_err() {
                    return Some(Object::Missing(
                        path,
                        "it is a link, and nothing is there".into(),
                    ));
                }
                link(&path, about).or_else(|| Some(Object::Wrong(path, LEADS_OUT.into())))
            }
            (Found::File { path, .. }, None) => Some(Object::Skipped(path, NOT_AN_OBJECT.into())),
            (other, _) => not_a_file(other),
        }
    })
}

fn found_object(
    path: PathBuf,
    identity: treewide_files::Identity,
    algorithm: Algorithm,
    digits: &str,
) -> Object {
    found(path, Kind::Found(identity), algorithm, digits)
}
