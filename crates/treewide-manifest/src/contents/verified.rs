//! Looks again at files whose digests are only recorded, before they are called the same.

use crate::contents::entry::split;
use crate::contents::facts::Facts;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, runs};
use crate::contents::sorter::Sorter;
use crate::contents::stages::read_all;
use crate::error::Error;
use crate::format::name::checked;
use crate::run::verdict::Evidence;
use std::collections::HashMap;
use std::path::PathBuf;
use treewide::OUT_LEN;
use treewide_files::{Kind, Options, Stamp};

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
        roots.are_here("so nothing can be verified")?;
        let follows: Vec<_> = roots.all.iter().map(Root::follows).collect();
        let (mut verified, mut to_read) = (Self::default(), Vec::new());
        runs(&mut files.finish()?, (OUT_LEN, 2), options, &mut |run| {
            let digest = run.key::<OUT_LEN>();
            for mut record in run.iter() {
                let facts = Facts::take(&mut record);
                let path = &record[OUT_LEN..record.len() - 1];
                if facts.evidence <= least {
                    continue;
                }
                let (root, name) = split(path);
                let Some(place) = roots.path(root, name).filter(|_| checked(name).is_ok()) else {
                    let shown = crate::format::name::path(name);
                    verified.change(path, shown, "has a name that leads out of the directory");
                    continue;
                };
                match Stamp::at(&place, follows[root]) {
                    Err(error) => verified.change(path, place, &error.to_string()),
                    Ok(now) if !now.is_file => verified.change(path, place, "is not a file now"),
                    Ok(now) if facts.size.is_some_and(|size| size != now.len) => {
                        verified.change(path, place, "has another length than recorded");
                    }
                    Ok(now) if least == Evidence::Metadata && facts.is_of(&now) => {
                        verified.files.insert(path.into(), Some(Evidence::Metadata));
                    }
                    Ok(_) => to_read.push((place, Kind::Regular, (path.to_vec(), digest))),
                }
            }
            Ok(())
        })?;
        let (results, read) = read_all(to_read.into_iter(), options)?;
        verified.read = read;
        for ((name, digest), path, result) in results {
            match result {
                Ok((found, _)) if found == digest => {
                    verified.files.insert(name, Some(Evidence::Read));
                }
                Ok(_) => verified.change(&name, path, "has another content than recorded"),
                Err(cause) => verified.change(&name, path, &cause),
            }
        }
        Ok(verified)
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
