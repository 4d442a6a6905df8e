//! Many independent inputs at once.

mod window;

use crate::Hash;
use crate::kernel::detected;
use crate::tree::{Mode, Serial};

/// Blobs by number.
pub trait Blobs {
    /// How many.
    fn count(&self) -> usize;
    /// One of them.
    fn get(&self, index: usize) -> &[u8];
}

impl<T: AsRef<[u8]>> Blobs for [T] {
    fn count(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn get(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

/// Digests.
pub fn hash_many<T: AsRef<[u8]>>(blobs: &[T]) -> Vec<Hash> {
    let mut out = Vec::with_capacity(blobs.len());
    window::digests::<Serial, _>(detected(), &Mode::PLAIN, blobs, 0..blobs.len(), |cvs| {
        out.extend(cvs.iter().map(|cv| Hash::from_bytes(*cv)));
    });
    out
}
