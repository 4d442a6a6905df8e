//! The objects of a store, found by a walk of the places where they are.

use super::object::{NOT_AN_OBJECT, Object, Said, below, object};
use super::pattern;
use super::{Layout, Store, annex, bag, hugging_face};
use crate::algorithm::Algorithm;
use crate::expected::Shown;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

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
            Layout::Names { objects, passed, references, .. } => {
                let mut references = references(&root);
                let mut objects = named(root, objects, passed, references.bases.clone());
                let wrong = std::mem::take(&mut references.wrong).into_iter();
                Box::new(wrong.chain(std::iter::from_fn(move || {
                    let object = objects.find_map(|it| references.remark(it));
                    object.or_else(|| references.next_doubt())
                })))
            }
            Layout::HuggingFaceFolder => Box::new(hugging_face::folder(root)),
            Layout::Annex => Box::new(annex::objects(root)),
            Layout::Bag => Box::new(bag::objects(&root).into_iter()),
        })
    }

    /// The folders in it that hold its objects and records, and nothing else.
    pub(super) fn own_places(&self) -> impl Iterator<Item = &'static str> {
        let (tops, records) = match &self.kind.layout {
            Layout::Names { objects, records, .. } => (tops(objects), *records),
            Layout::Annex => (vec!["objects"], &[][..]),
            Layout::HuggingFaceFolder | Layout::Bag => (Vec::new(), &[][..]),
        };
        tops.into_iter().filter(|it| !it.is_empty()).chain(records.iter().copied())
    }

    /// The folders of its layout that are links, which are followed, and where they lead.
    pub fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let bag = matches!(self.kind.layout, Layout::Bag).then_some("data");
        let places = self.own_places().chain(bag).map(|it| self.root.join(it));
        let links = places.filter(|it| it.is_symlink());
        // One that leads to nothing is said by the walk.
        links.filter_map(|it| it.canonicalize().ok().map(|to| (it, to))).collect()
    }
}

type Rows = &'static [(Algorithm, &'static str)];

fn tops(objects: Rows) -> Vec<&'static str> {
    pattern::tops(objects.iter().map(|(_, pattern)| *pattern))
}

/// Objects that are recognised by their paths. A link in the place of one is followed if it stays in these folders.
fn named(
    root: PathBuf,
    objects: Rows,
    passed: &'static [(&'static str, &'static str)],
    bases: Vec<PathBuf>,
) -> impl Iterator<Item = Object> {
    let shown = Arc::<Shown>::default();
    let found = tops(objects).into_iter().flat_map(move |top| below(&root, top));
    found.filter_map(move |(entry, inside)| {
        let mut digits = None;
        let mut algorithms = Vec::new();
        for (algorithm, pattern) in objects {
            if let Some(found) = pattern::digest(pattern, &inside) {
                digits = Some(found);
                algorithms.push(*algorithm);
            }
        }
        let has_choice = algorithms.len() > 1;
        let said = match digits {
            Some(digits) => match Said::object(&digits, algorithms) {
                Said::Object(about) if has_choice => Said::Object(Box::new(about.shown(&shown))),
                said => said,
            },
            None if objects.iter().any(|(_, it)| pattern::is_folder(it, &inside)) => Said::Folder,
            None => match passed.iter().find(|(pattern, _)| pattern::matches(pattern, &inside)) {
                Some((_, what)) => Said::Passed(what),
                None => Said::Other(NOT_AN_OBJECT.into()),
            },
        };
        object(entry, said, &bases)
    })
}
