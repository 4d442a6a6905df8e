//! Bags (BagIt, RFC 8493): the files that manifests list, and files that are not listed.

use super::object::{Object, Said, below, object, outside};
use super::references::References;
use crate::list::title::{Bag, Title};
use crate::list::{List, Reading};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use treewide_files::check::{ListedFiles, Note, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::shown;
use treewide_files::walk::Found;
use treewide_files::{Error, ErrorKind, Item, Source};

pub(super) fn objects(root: &Path) -> Vec<Object> {
    if Bag::at(root).is_none() {
        let cause = "names no version of BagIt that is known";
        return vec![Object::Unverified(root.join("bagit.txt"), cause.into())];
    }
    let manifests = match manifests(root) {
        Ok(manifests) => manifests,
        Err(error) => return vec![Object::Unreadable(Error::new(root, ErrorKind::read(error)))],
    };
    // The folder itself may be a link. No file below it may lead out of it.
    let bases = References::of(&[root.to_owned(), root.join("data")]).bases;
    // The manifests of the payload, and what they list. Every one of them must list all of it.
    let (mut objects, mut listed) = (Vec::new(), Vec::new());
    for manifest in manifests {
        let mut files = match open(&manifest, &bases) {
            Ok(files) => files,
            Err(wrong) => {
                objects.push(wrong);
                continue;
            }
        };
        let (mut names, mut is_whole) = (HashSet::new(), true);
        while let Some(item) = files.next() {
            match &item {
                Item::File(task) => drop(names.insert(task.path.clone())),
                Item::Note(_) => is_whole = false,
            }
            objects.push(listed_object(&manifest, item, &bases));
        }
        let name = manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Of one that was not read to its end, it is not known what it does not list.
        if !name.starts_with("tag") && is_whole {
            listed.push((name, names));
        }
    }
    for (entry, _) in below(root, "data") {
        let path = match entry {
            Found::File { path, .. } | Found::Special { path, .. } | Found::Link(path) => path,
            other => {
                objects.extend(object(other, Said::Passed(""), &[]));
                continue;
            }
        };
        let cause = match listed.iter().find(|(_, names)| !names.contains(&path)) {
            Some((manifest, _)) => format!("is not listed in {}", shown(Path::new(manifest))),
            None if listed.is_empty() => "no manifest of the payload was read".into(),
            None => continue,
        };
        objects.push(Object::Wrong(path, cause));
    }
    objects
}

/// The files that a manifest lists.
fn open(manifest: &Path, bases: &[PathBuf]) -> Result<ListedFiles<List>, Object> {
    let unverified = |cause: &str| Object::Unverified(manifest.to_owned(), cause.into());
    match outside(bases, manifest) {
        Some(wrong) => Err(wrong),
        None if !manifest.is_file() => Err(unverified("not a regular file")),
        None if Title::of(manifest).algorithm.is_none() => {
            Err(unverified("the algorithm in its name is not supported"))
        }
        None => match Lines::open(manifest) {
            Ok(lines) => {
                Ok(ListedFiles::new(lines, List::new(manifest, Reading::default()), false))
            }
            Err(error) => Err(Object::Unreadable(Error::new(manifest, ErrorKind::open(error)))),
        },
    }
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
