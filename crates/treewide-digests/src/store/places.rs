//! Finding stores: in a directory, in the places below it where programs keep them, or everywhere below it.

use super::{KINDS, Kind, Store};
use std::fs;
use std::path::{Path, PathBuf};
use treewide_files::walk::{Found, Walk};

/// Places of stores in the directories that users know: a git repository, the folder of a program.
const BELOW: &[&str] = &[
    "",
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

/// The stores that `dir` is or holds: only of this `kind`, if one is named. With `everywhere`, all below it, in the order of
/// their paths; links are not followed.
pub fn find(dir: &Path, kind: Option<&'static Kind>, everywhere: bool) -> Vec<Store> {
    let mut stores = Vec::new();
    let mut add = |root: &Path| {
        let kinds = KINDS.iter().filter(|it| kind.is_none_or(|kind| kind.name == it.name));
        stores.extend(
            kinds.filter(|it| (it.is)(root)).map(|kind| Store { kind, root: root.to_owned() }),
        );
        stores.last().filter(|it| it.root == root).is_some_and(|it| it.kind.is_closed)
    };
    if everywhere {
        let mut closed: Option<PathBuf> = add(dir).then(|| dir.to_owned());
        let walk = Walk::new(dir).directories(true).filter(|_, is_dir| is_dir);
        for found in walk {
            let Found::Directory(path) = found else { continue };
            if closed.as_ref().is_none_or(|it| !path.starts_with(it)) && add(&path) {
                closed = Some(path);
            }
        }
        return stores;
    }
    let below = BELOW.iter().map(|it| if it.is_empty() { dir.to_owned() } else { dir.join(it) });
    let mut places: Vec<_> = below.collect();
    for hub in HUBS {
        let hub = if hub.is_empty() { dir.to_owned() } else { dir.join(hub) };
        let mut repositories: Vec<_> = fs::read_dir(&hub)
            .into_iter()
            .flatten()
            .flatten()
            .map(|it| it.path())
            .filter(|it| it.file_name().is_some_and(|it| it.to_string_lossy().contains("--")))
            .collect();
        repositories.sort();
        if hub != dir {
            places.push(hub.join("blobs"));
        }
        places.extend(repositories);
    }
    for place in places {
        add(&place);
    }
    stores
}
