//! Compares the outputs of a run with its inputs before anything is read: an output is never an input.

use crate::error::Error;
use crate::format::manifest::{Manifest, index_path};
use crate::format::name;
use crate::format::regular;
use crate::keep::draft::is_index;
use crate::keep::journal::journal_path;
use crate::keep::past::past_path;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use treewide_files::Stamp;
use treewide_files::name::shown;

/// The files that a run reads and writes.
#[derive(Debug, Default)]
pub struct Places {
    reads: Vec<Place>,
    /// Folders whose files are read.
    folders: Vec<PathBuf>,
    writes: Vec<Place>,
}

/// A file by its numbers, if it is there, and by its folder and its name.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    numbers: Option<(u64, u64)>,
    at: Option<(PathBuf, OsString)>,
}

impl Place {
    fn new(path: &Path) -> Self {
        let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok();
        let at = folder.zip(path.file_name().map(OsString::from));
        let there = Stamp::at(path, true).ok().filter(|it| it.is_file && it.inode != 0);
        let numbers = there.map(|it| (it.device, it.inode));
        Self { path: path.to_owned(), numbers, at }
    }

    fn is(&self, other: &Self) -> bool {
        self.numbers.is_some() && self.numbers == other.numbers
            || self.at.is_some() && self.at == other.at
    }
}

impl Places {
    /// Knows no place.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run reads this file.
    pub fn reads(mut self, path: &Path) -> Self {
        self.reads.push(Place::new(path));
        self
    }

    /// The run reads this list, or keeps it: with its index, its journal and its past.
    pub fn reads_manifest(self, list: &Path) -> Self {
        files(list).iter().fold(self.reads(list), |all, it| all.reads(it))
    }

    /// The run reads outboards in this folder.
    pub fn reads_folder(mut self, folder: &Path) -> Self {
        self.folders.extend(folder.canonicalize());
        self
    }

    /// The run writes this file.
    pub fn writes(mut self, path: &Path) -> Self {
        self.writes.push(Place::new(path));
        self
    }

    /// The run writes this list, with its index, its journal and its past.
    pub fn writes_manifest(self, list: &Path) -> Self {
        files(list).iter().fold(self.writes(list), |all, it| all.writes(it))
    }

    /// Compares all of them, and what is written with the files that `manifest` lists below `dir`.
    ///
    /// # Errors
    /// If a file would be written that is read, or twice, or if the list cannot be read.
    pub fn check(&self, manifest: Option<(&Manifest, &Path)>) -> Result<(), Error> {
        for (at, write) in self.writes.iter().enumerate() {
            let refused = |cause: &str| {
                let path = shown(&write.path);
                Err(Error::usage(format!("{path}: {cause}; name another file")))
            };
            let folder = write.at.as_ref().map(|(folder, _)| folder);
            if self.reads.iter().any(|it| it.is(write))
                || folder.is_some_and(|it| self.folders.contains(it))
            {
                return refused("is an input, and the output would replace it");
            }
            if self.writes[..at].iter().any(|it| it.is(write)) {
                return refused("would be written twice");
            }
            if let Some((manifest, dir)) = manifest
                && is_listed(write, manifest, dir)?
            {
                return refused("is in the list, and the output would replace it");
            }
        }
        Ok(())
    }
}

/// What is next to a list.
fn files(list: &Path) -> [PathBuf; 3] {
    [index_path(list), journal_path(list), past_path(list)]
}

/// The list of the manifest that loses a part if this file is replaced: it is an index, or a list with its index next to it.
pub fn manifest_at(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    if let Some((_, list)) = regular::part_of(&path) {
        return Some(list.unwrap_or(path));
    }
    is_index(&index_path(&path))?.then_some(path)
}

fn is_listed(place: &Place, manifest: &Manifest, dir: &Path) -> Result<bool, Error> {
    let Ok(dir) = dir.canonicalize() else { return Ok(false) };
    let named = place.at.as_ref().map(|(folder, file)| folder.join(file));
    // What is written to a link goes to the file that it leads to.
    let paths = [named, place.path.canonicalize().ok()];
    let below = paths.iter().flatten().filter(|it| it.starts_with(&dir));
    let names: Vec<_> = below.map(|it| name::relative(it, &dir)).collect();
    if names.is_empty() {
        return Ok(false);
    }
    // Also names that a list cannot have.
    for record in manifest.records()? {
        let record = record?;
        if names.iter().any(|name| *record.bare() == **name) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::list::List;
    use std::fs;

    #[test]
    fn manifest_at_finds_both_parts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for (name, content) in [
            ("a.b3", ""),
            ("a.b3.tw", "{\"treewide\":\"manifest 1\"}\n"),
            ("alone", "{\"treewide\":\"manifest 2\"}\n"),
            ("old.past", "{\"treewide\":\"past 1\"}\n"),
            ("game", ""),
            ("game.tw", "own"),
            ("empty", ""),
            ("empty.tw", ""),
        ] {
            fs::write(at(name), content).unwrap();
        }
        for (name, list) in
            [("a.b3.tw", "a.b3"), ("a.b3", "a.b3"), ("alone", "alone"), ("old.past", "old")]
                .map(|it| (it.0, Some(it.1)))
                .into_iter()
                .chain(["game", "game.tw", "empty", "empty.tw", "new"].map(|it| (it, None)))
        {
            assert_eq!(manifest_at(&at(name)), list.map(at), "{name}");
        }
    }

    #[test]
    fn places_are_refused_where_one_would_be_lost() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("t")).unwrap();
        for name in ["a.b3", "a.b3.tw", "t/f"] {
            fs::write(at(name), "").unwrap();
        }
        fs::hard_link(at("a.b3"), at("other name")).unwrap();
        let refused = |places: Places| places.check(None).is_err();
        let read = || Places::new().reads_manifest(&at("a.b3"));
        for name in ["a.b3", "a.b3.tw", "a.b3.part", "a.b3.past", "t/../a.b3", "other name"] {
            assert!(refused(read().writes(&at(name))), "{name}");
        }
        assert!(!refused(read().writes(&at("new"))));
        assert!(refused(Places::new().writes(&at("x")).writes(&at("t/../x"))));
        assert!(!refused(Places::new().writes(&at("x")).writes(&at("t/x"))));
        assert!(refused(Places::new().reads_folder(&at("t")).writes(&at("t/new"))));
        let line = format!("{}  f\n", treewide::hash(b""));
        fs::write(at("list"), line).unwrap();
        let list = Manifest::of_list(List::open(&at("list")).unwrap());
        let listed =
            |name: &str| Places::new().writes(&at(name)).check(Some((&list, &at("t")))).is_err();
        assert!(listed("t/f") && !listed("t/g") && !listed("f"));
    }
}
