//! Looks again at files whose digests are only recorded, before they are called the same.

use crate::contents::facts::{Facts, first};
use crate::contents::root::Root;
use crate::contents::roots::{Roots, runs};
use crate::contents::sorter::Sorter;
use crate::contents::stages::Tasks;
use crate::error::Error;
use crate::format::name::checked;
use crate::run::verdict::Evidence;
use std::collections::HashMap;
use std::path::PathBuf;
use treewide::OUT_LEN;
use treewide_files::digest::Extent;
use treewide_files::name::shown;
use treewide_files::{Event, Item, Kind, Options, Stamp, Task};

/// What is known of recorded files now.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    /// By operand and name, the evidence; `None` if the file is not as recorded.
    files: HashMap<Vec<u8>, Option<Evidence>>,
    pub(crate) changed: Vec<(PathBuf, String)>,
    /// Files and bytes that were read.
    pub(crate) read: (u64, u64),
}

impl Verified {
    /// Looks at all files of `files` that have the digest of another. With evidence `least`, a file that the system says is as
    /// recorded is not read.
    pub(crate) fn new(
        files: Sorter,
        least: Evidence,
        roots: &Roots,
        options: &Options,
    ) -> Result<Self, Error> {
        if let Some(root) = roots.all.iter().find(|root| root.dir().is_none()) {
            let list = shown(root.path());
            let cause = "the directory that it is of is not here, so nothing can be verified; leave out --verify";
            return Err(Error::usage(format!("{list}: {cause}")));
        }
        let follows: Vec<_> = roots.all.iter().map(Root::follows).collect();
        let (mut verified, mut to_read) = (Self::default(), Vec::new());
        runs(&mut files.finish()?, (OUT_LEN, 2), options, &mut |run| {
            for record in run {
                let mut rest = &record[..];
                let facts = Facts::take(&mut rest);
                let digest: [u8; OUT_LEN] = first(&mut rest);
                let path = &rest[..rest.len() - 1];
                if facts.evidence <= least {
                    continue;
                }
                let root = u32::from_be_bytes(first(&mut rest)) as usize;
                let name = &path[4..];
                let Some(place) = roots.path(root, name).filter(|_| checked(name).is_ok()) else {
                    let shown = crate::format::name::path(name);
                    verified.change(path, shown, "has a name that leads out of the directory");
                    continue;
                };
                let now = Stamp::at(&place, follows[root]);
                match now {
                    Err(error) => verified.change(path, place, &error.to_string()),
                    Ok(now) if !now.is_file => verified.change(path, place, "is not a file now"),
                    Ok(now) if facts.size.is_some_and(|size| size != now.len) => {
                        verified.change(path, place, "has another length than recorded");
                    }
                    Ok(now) if least == Evidence::Metadata && facts.is_of(&now) => {
                        verified.files.insert(path.into(), Some(Evidence::Metadata));
                    }
                    Ok(_) => to_read.push((path.to_vec(), place, digest)),
                }
            }
            Ok(())
        })?;
        verified.read(to_read, options)?;
        Ok(verified)
    }

    fn read(
        &mut self,
        files: Vec<(Vec<u8>, PathBuf, [u8; OUT_LEN])>,
        options: &Options,
    ) -> Result<(), Error> {
        let tasks = files.into_iter().map(|(path, place, digest)| {
            let (kind, extent, about) = (Kind::Regular, Extent::HASH, (path, digest));
            Item::File(Task { path: place, kind, extent, about })
        });
        for event in options.run(Tasks(tasks)) {
            match event {
                Event::File(Task { path, about: (name, digest), .. }, Ok(hashed)) => {
                    self.read = (self.read.0 + 1, self.read.1 + hashed.bytes);
                    match hashed.digest.into_bytes() == digest {
                        true => drop(self.files.insert(name, Some(Evidence::Read))),
                        false => self.change(&name, path, "has another content than recorded"),
                    }
                }
                Event::File(Task { path, about: (name, _), .. }, Err(cause)) => {
                    self.change(&name, path, &cause.to_string());
                }
                Event::Cancelled => return Err(Error::cancelled()),
                Event::Note(()) | Event::Pause => {}
            }
        }
        Ok(())
    }

    fn change(&mut self, name: &[u8], path: impl Into<PathBuf>, cause: &str) {
        self.files.insert(name.into(), None);
        self.changed.push((path.into(), cause.into()));
    }

    /// Whether the file of this operand and name is as recorded, and how that is known now.
    pub(crate) fn evidence(&self, path: &[u8], recorded: Evidence) -> Option<Evidence> {
        self.files.get(path).copied().unwrap_or(Some(recorded))
    }
}
