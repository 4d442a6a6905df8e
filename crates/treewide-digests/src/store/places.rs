//! Finding stores: in a directory, in the places below it where programs keep them, or everywhere below it.

use super::markers::read_small;
use super::object::is_absent;
use super::{KINDS, Kind, Store};
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use treewide_files::walk::{Found, Walk};
use treewide_files::{Error, ErrorKind};

/// Places of stores in the directories that users know: a git repository, the folder of a program.
const BELOW: &[&str] = &[
    ".git/lfs",
    ".git/annex",
    "lfs",
    "annex",
    ".dvc/cache/files/md5",
    "files/md5",
    "blobs",
    "models",
    "blake3",
    "_cacache",
    "docker/registry/v2",
];

/// Directories whose entries may be stores of Hugging Face.
const HUBS: &[&str] = &["", "hub"];

/// Something that a search for stores has found.
#[derive(Debug)]
pub enum Place {
    /// A store.
    Store(Store),
    /// A place that may be a store or hold one, and cannot be looked at.
    Hidden(Error),
    /// Links out of the directory, or in usual places of stores. They lead to no store, but may lead to a directory that holds some.
    Links(Vec<PathBuf>),
}

/// Stores that were looked for.
#[derive(Debug, Default)]
struct Search {
    kind: Option<&'static Kind>,
    found: Vec<Place>,
}

impl Search {
    /// Looks whether a directory is a store. What cannot be looked at is said once for a directory.
    fn add(&mut self, root: &Path) {
        let mut failed = None;
        for kind in KINDS.iter().filter(|it| self.kind.is_none_or(|kind| kind.name == it.name)) {
            match (kind.is)(root) {
                Ok(true) => self.found.push(Place::Store(Store { kind, root: root.to_owned() })),
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            let all = root.join(".").metadata().err();
            self.fail(all.map_or(error, |all| Error::new(root, ErrorKind::open(all))));
        }
    }

    fn is_own(&self, place: &Path) -> bool {
        let has = |it: &Store| it.own_places().any(|own| it.root.join(own) == place);
        self.found.iter().any(|it| matches!(it, Place::Store(it) if has(it)))
    }

    /// Looks at places, and takes note of links to other things than stores.
    fn look(&mut self, places: Vec<PathBuf>) {
        let mut links = Vec::new();
        for place in places {
            let known = self.found.len();
            self.add(&place);
            let is_new = self.found.len() > known || self.is_own(&place);
            links.extend((place.is_symlink() && !is_new).then_some(place));
        }
        self.found.extend((!links.is_empty()).then_some(Place::Links(links)));
    }

    /// Takes note of a place that cannot be looked at, unless it is in one that was said just before.
    fn fail(&mut self, error: Error) {
        let is_known =
            |it: &Place| matches!(it, Place::Hidden(it) if error.path().starts_with(it.path()));
        if !self.found.iter().rev().take(32).any(is_known) {
            self.found.push(Place::Hidden(error));
        }
    }
}

/// The stores that `dir` is or holds: only of this `kind`, if one is named. With `everywhere`, all below it, in the order of
/// their paths; a link is followed if it leads to a store. An error is a place that may be a store or hold one, and cannot be looked at.
pub fn find(dir: &Path, kind: Option<&'static Kind>, everywhere: bool) -> Vec<Place> {
    let mut search = Search { kind, found: Vec::new() };
    if everywhere {
        search.add(dir);
        // In the places of a store's own objects, there is no other store.
        let (mut own, mut known) = (HashSet::<PathBuf>::new(), 0);
        let (mut inside, mut links) = (None::<PathBuf>, Vec::new());
        let is_place = |path: &Path, is_dir: bool| is_dir || path.is_symlink();
        for found in Walk::new(dir).directories(true).filter(is_place) {
            for place in &search.found[known..] {
                let Place::Store(store) = place else { continue };
                own.extend(store.own_places().map(|it| store.root.join(it)));
            }
            known = search.found.len();
            let path = match &found {
                Found::Directory(path) => path,
                Found::Link(path) if !path.is_file() => path,
                Found::Failed(error) => error.path(),
                _ => continue,
            };
            if inside.as_ref().is_some_and(|it| path.starts_with(it)) {
                continue;
            }
            if own.contains(path) {
                inside = Some(path.to_owned());
                continue;
            }
            match found {
                Found::Failed(error) => search.fail(error),
                Found::Link(path) => links.push(path),
                _ => search.add(path),
            }
        }
        // Where the others lead, the walk has been.
        let base = dir.canonicalize().unwrap_or_default();
        links.retain(|it| target(it).is_none_or(|it| !it.starts_with(&base)));
        search.look(links);
        return search.found;
    }
    search.add(dir);
    let git = git_folder(dir).unwrap_or_else(|error| {
        search.fail(error);
        None
    });
    let mut places: Vec<_> = BELOW
        .iter()
        .map(|it| match (it.strip_prefix(".git/"), &git) {
            (Some(rest), Some(git)) => git.join(rest),
            _ => dir.join(it),
        })
        .collect();
    for hub in HUBS {
        let hub = if hub.is_empty() { dir.to_owned() } else { dir.join(hub) };
        let mut repositories = repositories(&hub).unwrap_or_else(|error| {
            search.fail(error);
            Vec::new()
        });
        repositories.sort();
        if hub != dir {
            places.push(hub.join("blobs"));
        }
        places.extend(repositories);
    }
    search.look(places);
    search.found
}

/// Where a link leads; if nothing is there, by its text.
fn target(link: &Path) -> Option<PathBuf> {
    let mut place = link.parent()?.canonicalize().ok()?;
    for part in link.read_link().ok()?.components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            part => place.push(part),
        }
    }
    Some(link.canonicalize().unwrap_or(place))
}

/// The entries of a directory that may be repositories of Hugging Face.
fn repositories(hub: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error| Error::new(hub, ErrorKind::read(error));
    let entries = match fs::read_dir(hub) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut repositories = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.file_name().is_some_and(|it| it.to_string_lossy().contains("--")) {
            repositories.push(path);
        }
    }
    Ok(repositories)
}

/// The git directory that all work trees of a repository share, where `.git` is a file that names it.
fn git_folder(dir: &Path) -> Result<Option<PathBuf>, Error> {
    let named = |file: PathBuf, prefix: &str| -> Result<Option<PathBuf>, Error> {
        if !file.is_file() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&read_small(&file)?).into_owned();
        Ok(text.strip_prefix(prefix).map(|it| it.trim_end().into()))
    };
    let Some(git) = named(dir.join(".git"), "gitdir: ")? else { return Ok(None) };
    let git = dir.join(git);
    let common = named(git.join("commondir"), "")?;
    Ok(Some(common.map_or_else(|| git.clone(), |it| git.join(it))))
}
