//! Bags (BagIt, RFC 8493): the files that manifests list, and files that are not listed.

use super::object::{Object, Said, below, object, outside};
use crate::list::title::{Bag, Title};
use crate::list::{List, Reading};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use treewide_files::check::{ListedFiles, Note, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::shown;
use treewide_files::walk::Found;
use treewide_files::{Error, ErrorKind, Item, Source};

/// A manifest, and the files that it lists.
type Listed = (PathBuf, HashSet<PathBuf>);

pub(super) fn objects(root: PathBuf) -> Box<dyn Iterator<Item = Object>> {
    let one = |object| Box::new(std::iter::once(object));
    if Bag::at(&root).is_none() {
        let cause = "there is no version of BagIt in it that this program knows";
        return one(Object::Unverified(root.join("bagit.txt"), cause.into()));
    }
    let (manifests, base) = match (manifests(&root), root.canonicalize()) {
        (Ok(manifests), Ok(base)) => (manifests, base),
        (Err(error), _) | (_, Err(error)) => {
            return one(Object::Unreadable(Error::new(root, ErrorKind::read(error))));
        }
    };
    // Of each manifest of the payload; every one of them must list all of it.
    let listed: Arc<Mutex<Vec<Listed>>> = Arc::default();
    let seen = Arc::clone(&listed);
    let data = root.join("data").canonicalize();
    // The folder itself may be a link. No file below it may lead out of it.
    let bases: Vec<_> = [Ok(base), data].into_iter().flatten().collect();
    let files = manifests.into_iter().flat_map(move |manifest| {
        let is_payload =
            !manifest.file_name().is_some_and(|it| it.to_string_lossy().starts_with("tag"));
        let mut names = HashSet::new();
        let wrong = match outside(&bases, &manifest) {
            None if !manifest.is_file() => {
                Some(Object::Unverified(manifest.clone(), "not a regular file".into()))
            }
            None if Title::of(&manifest).algorithm.is_none() => {
                let cause = "its name says no algorithm that is supported";
                Some(Object::Unverified(manifest.clone(), cause.into()))
            }
            wrong => wrong,
        };
        if let Some(wrong) = wrong {
            return VecDeque::from([wrong]);
        }
        let lines = match Lines::open(&manifest) {
            Ok(lines) => lines,
            Err(error) => {
                let error = Error::new(&manifest, ErrorKind::open(error));
                return [Object::Unreadable(error)].into();
            }
        };
        let forms = List::new(&manifest, Reading::default());
        let mut files = ListedFiles::new(lines, forms, false);
        let mut is_whole = true;
        let objects = std::iter::from_fn(|| files.next()).map(|item| {
            match &item {
                Item::File(task) => drop(names.insert(task.path.clone())),
                Item::Note(_) => is_whole = false,
            }
            listed_object(&manifest, item, &bases)
        });
        let objects = objects.collect();
        // Of one that was not read to its end, it is not known what it does not list.
        if is_payload && is_whole {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((manifest, names));
        }
        objects
    });
    let payload = std::iter::once_with(move || below(&root, "data")).flatten();
    Box::new(files.chain(payload.filter_map(move |(entry, _)| {
        let path = match &entry {
            Found::File { path, .. } | Found::Special { path, .. } | Found::Link(path) => path,
            _ => return object(entry, Said::Passed(""), |_| false),
        };
        let listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
        let cause = match listed.iter().find(|(_, names)| !names.contains(path)) {
            Some((manifest, _)) => {
                let name = manifest.file_name().map_or(manifest.as_path(), Path::new);
                format!("is not listed in {}", shown(name))
            }
            None if listed.is_empty() => "no manifest of the payload was read".into(),
            None => return None,
        };
        Some(Object::Wrong(path.clone(), cause))
    })))
}

fn manifests(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut manifests = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_prefix("tag").unwrap_or(&name);
        if name.starts_with("manifest-") && name.ends_with(".txt") {
            manifests.push(path);
        }
    }
    manifests.sort();
    Ok(manifests)
}

fn listed_object(manifest: &Path, item: Item<crate::Expected, Note>, bases: &[PathBuf]) -> Object {
    match item {
        // What is not there is said when it is to be read.
        Item::File(task) => match outside(bases, &task.path) {
            Some(wrong @ Object::Wrong(..)) => wrong,
            _ => Object::File(Box::new(task)),
        },
        Item::Note(Note::Settled { path, verdict: Verdict::Unverified(cause), .. }) => {
            Object::Unverified(path, cause)
        }
        Item::Note(Note::Settled { path, .. }) => {
            Object::Unverified(path, "cannot be looked for".into())
        }
        Item::Note(Note::Malformed(line)) => {
            Object::Wrong(manifest.to_owned(), format!("line {}: {}", line.number, line.cause))
        }
        Item::Note(Note::Unreadable(error)) => {
            Object::Unreadable(Error::new(manifest, ErrorKind::read(error)))
        }
    }
}
