//! Bags (BagIt, RFC 8493): the files that manifests list, and files that are not listed.

use super::object::{Object, below};
use crate::list::{List, Reading};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use treewide_files::check::{ListedFiles, Note, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::shown;
use treewide_files::walk::Found;
use treewide_files::{ErrorKind, Item, Source};

/// A manifest, and the files that it lists.
type Listed = (PathBuf, HashSet<PathBuf>);

pub(super) fn objects(root: PathBuf) -> impl Iterator<Item = Object> {
    let mut manifests: Vec<_> = fs::read_dir(&root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|it| it.path())
        .filter(|it| {
            let name = it.file_name().unwrap_or_default().to_string_lossy();
            let name = name.strip_prefix("tag").unwrap_or(&name);
            name.starts_with("manifest-") && name.ends_with(".txt")
        })
        .collect();
    manifests.sort();
    // Of each manifest of the payload; every one of them must list all of it.
    let listed: Arc<Mutex<Vec<Listed>>> = Arc::default();
    let seen = Arc::clone(&listed);
    let files = manifests.into_iter().flat_map(move |manifest| {
        let is_payload =
            !manifest.file_name().is_some_and(|it| it.to_string_lossy().starts_with("tag"));
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = HashSet::new();
        let objects: VecDeque<_> = match Lines::open(&manifest) {
            Err(error) => {
                [Object::Missing(manifest.clone(), ErrorKind::open(error).to_string())].into()
            }
            Ok(lines) => {
                let forms = List::new(&manifest, Reading::default());
                let mut files = ListedFiles::new(lines, forms, false);
                std::iter::from_fn(|| files.next())
                    .map(|item| {
                        if let Item::File(task) = &item {
                            names.insert(task.path.clone());
                        }
                        object(&manifest, item)
                    })
                    .collect()
            }
        };
        if is_payload {
            seen.push((manifest, names));
        }
        objects
    });
    let payload = std::iter::once_with(move || below(&root, "data")).flatten();
    files.chain(payload.filter_map(move |(entry, _)| {
        let path = match entry {
            Found::File { path, .. } | Found::Link(path) => path,
            Found::Failed(error) => return Some(Object::Unreadable(error)),
            _ => return None,
        };
        let listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
        let without = listed.iter().find(|(_, names)| !names.contains(&path));
        let name = |manifest: &PathBuf| {
            shown(manifest.file_name().map(std::path::Path::new).unwrap_or(manifest))
        };
        match without {
            Some((manifest, _)) => {
                let cause = format!("is not listed in {}", name(manifest));
                Some(Object::Wrong(path, cause))
            }
            None if listed.is_empty() => Some(Object::Wrong(path, "there is no manifest".into())),
            None => None,
        }
    }))
}

fn object(manifest: &std::path::Path, item: Item<crate::Expected, Note>) -> Object {
    match item {
        Item::File(task) => Object::File(task),
        Item::Note(Note::Settled { path, verdict: Verdict::Unverified(cause), .. }) => {
            Object::Wrong(path, cause)
        }
        Item::Note(Note::Settled { path, .. }) => {
            Object::Wrong(path, "cannot be looked for".into())
        }
        Item::Note(Note::Malformed(line)) => {
            Object::Wrong(manifest.to_owned(), format!("line {}: {}", line.number, line.cause))
        }
        Item::Note(Note::Unreadable(error)) => {
            Object::Wrong(manifest.to_owned(), format!("cannot be read: {error}"))
        }
    }
}
