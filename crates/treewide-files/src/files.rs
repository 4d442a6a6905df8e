//! Hashing many files, or all files below a directory, in one call.

use crate::error::{Error, ErrorKind};
use crate::options::{Hashed, Options};
use crate::run::Event;
use crate::task::{Item, Kind, Source, Task};
use crate::walk::{Found, Walk};
use std::path::PathBuf;

impl Options {
    /// Hashes the files at these paths, many at a time. Results come in the order of the paths.
    ///
    /// A file that fails does not stop the others. If the run is cancelled, the last result is
    /// [`ErrorKind::Cancelled`], which names no path.
    pub fn hash_files<P: Into<PathBuf>, I: IntoIterator<Item = P>>(
        &self,
        paths: I,
    ) -> impl Iterator<Item = Result<(PathBuf, Hashed), Error>> + use<P, I> {
        self.hash_found(paths.into_iter().map(|path| Ok((path.into(), Kind::Unknown))))
    }

    /// Hashes the regular files that a walk finds, in the order of the walk.
    ///
    /// A place that cannot be looked at is an error among the results. Symbolic links that are not followed,
    /// pipes, sockets and devices are passed over; [`Walk`] reports them.
    pub fn hash_tree(
        &self,
        walk: Walk,
    ) -> impl Iterator<Item = Result<(PathBuf, Hashed), Error>> + use<> {
        self.hash_found(walk.into_iter().filter_map(|found| match found {
            Found::File { path, identity, .. } => Some(Ok((path, Kind::Found(identity)))),
            Found::Failed(error) => Some(Err(error)),
            Found::Special { .. } | Found::Link(_) | Found::Directory(_) | Found::Temporary(_) => {
                None
            }
        }))
    }

    fn hash_found<I: Iterator<Item = Result<(PathBuf, Kind), Error>>>(
        &self,
        found: I,
    ) -> impl Iterator<Item = Result<(PathBuf, Hashed), Error>> + use<I> {
        let files = Files { found, options: self.clone() };
        self.run(files).filter_map(|event| match event {
            Event::File(Task { path, .. }, Ok(hashed)) => Some(Ok((path, hashed))),
            Event::File(Task { path, .. }, Err(kind)) => Some(Err(Error::new(path, kind))),
            Event::Note(error) => Some(Err(error)),
            Event::Pause => None,
            Event::Cancelled => Some(Err(Error::new("", ErrorKind::Cancelled))),
        })
    }
}

struct Files<I> {
    found: I,
    options: Options,
}

impl<I: Iterator<Item = Result<(PathBuf, Kind), Error>>> Source for Files<I> {
    type About = ();
    type Note = Error;

    fn next(&mut self) -> Option<Item<(), Error>> {
        Some(match self.found.next()? {
            Ok((path, kind)) => {
                let extent = self.options.chosen_extent();
                Item::File(Task { path, kind, extent, about: () })
            }
            Err(error) => Item::Note(error),
        })
    }
}
