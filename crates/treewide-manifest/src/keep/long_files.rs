//! Long files, read in pieces that the journal keeps, so that a run which continues begins in the middle of one.

use crate::format::name;
use crate::format::trust::{Moment, Moments};
use crate::keep::journal::{Adder, Begun, Pieces};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use treewide::outboard::Group;
use treewide_files::{ErrorKind, Hashed, Options, Stamp};

/// Files of at least this many bytes are read in pieces, which have this many bytes. A guess: a few seconds of reading are lost.
pub(crate) const USUAL: (u64, Group) = (8 << 30, Group::MOST);

/// Reads the long files of a run.
pub(crate) struct LongFiles<'a> {
    pub(crate) options: &'a Options,
    pub(crate) root: PathBuf,
    pub(crate) from: u64,
    pub(crate) piece: Group,
    pub(crate) moments: Shared,
    pub(crate) adder: Adder,
    /// What a run before this one has read.
    pub(crate) begun: RefCell<Vec<(Vec<u8>, Begun)>>,
    /// Bytes that were not read again.
    pub(crate) resumed: Cell<u64>,
}

impl LongFiles<'_> {
    /// Hashes a long file that has a key. `None` leaves it to the run.
    pub(crate) fn hash_found(&self, file: &File, path: &Path) -> Option<Result<Hashed, ErrorKind>> {
        let before = Stamp::of(file).ok()?;
        if before.len < self.from {
            return None;
        }
        let key = self.moments.clone().moment(before.device, path).key(&before)?;
        let name = name::relative(path, &self.root);
        let (bytes, piece) = (before.len, self.piece.bytes());
        let mut all = self.begun.borrow_mut();
        let known = all.iter().position(|(it, _)| **it == *name).map(|at| all.swap_remove(at).1);
        let known = known.filter(|known| {
            (known.bytes, known.piece) == (bytes, piece) && known.key.is_of(&before)
        });
        drop(all);
        let cvs = known.map(|known| known.cvs).unwrap_or_default();
        let mut begun = Begun { bytes, key, piece, cvs: cvs.clone() };
        // What was read in the first second is added after it, all at once.
        let (mut kept, adder) = (cvs.len(), &self.adder);
        let each = |cv| {
            begun.cvs.push(cv);
            if adder.is_kept() {
                adder.add(Pieces::new(&name, &begun, kept));
                kept = begun.cvs.len();
            }
        };
        let hashed = self.options.hash_pieces(file, path, self.piece, &cvs, each);
        if let Ok((_, read)) = &hashed {
            self.resumed.set(self.resumed.get() + (bytes - read.min(&bytes)));
        }
        Some(hashed.map(|(hashed, _)| hashed))
    }
}

/// What is known of file systems, for two that ask.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Box<dyn Moments>>>);

impl Shared {
    pub(crate) fn new(moments: Box<dyn Moments>) -> Self {
        Self(Arc::new(Mutex::new(moments)))
    }
}

impl Moments for Shared {
    fn moment(&mut self, device: u64, near: &Path) -> Moment {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).moment(device, near)
    }
}
