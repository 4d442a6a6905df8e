//! Short pieces of input, gathered until they fill the lanes of the kernel.
//!
//! ```text
//! input    | whole chunks: Subtrees    | gathered                               |
//!          | 1 lane  | side by side    | up to 32 KiB                            |
//! ```
//!
//! The buffer is allocated when a stream has passed [`FROM`] bytes and continues with a short piece. Without an allocator
//! nothing is ever gathered.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::kernel::Runnable;
use crate::spec::CHUNK_LEN;
#[cfg(feature = "alloc")]
use crate::tree::WIDE;

/// Bytes of a stream before the first one that is gathered. With them the first chunk, which may be the root, is closed
/// (`results/zen5-2vcpu/streams.md#when-to-begin`).
pub(super) const FROM: u64 = CHUNK_LEN as u64;

/// The bytes of a buffer. Fewer lanes take several passes (`results/zen5-2vcpu/streams.md#the-buffer`).
#[cfg(feature = "alloc")]
const ROOM: usize = WIDE * CHUNK_LEN;

/// The least chunks of a piece that is hashed where it lies, for kernels of fewer lanes (the same record).
pub(super) const LEAST: usize = 16;

/// The bytes behind the whole chunks. If there are any, no chunk is being filled.
#[derive(Default)]
pub(super) struct Gathered {
    #[cfg(feature = "alloc")]
    bytes: Vec<u8>,
}

#[cfg(feature = "alloc")]
impl Gathered {
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that there is room for: 0 if there is no buffer.
    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Allocates the buffer, where none is. Without lanes, or without memory, there is none.
    pub(super) fn open(&mut self, kernel: Runnable) {
        if self.capacity() == 0 && kernel.degree() > 1 {
            // Pieces are hashed as they come if that fails.
            _ = self.bytes.try_reserve_exact(ROOM);
        }
    }

    /// Appends `input`, which there is room for.
    #[inline(always)]
    pub(super) fn push(&mut self, input: &[u8]) {
        debug_assert!(input.len() <= self.capacity() - self.bytes.len(), "no growing");
        self.bytes.extend_from_slice(input);
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(not(feature = "alloc"))]
impl Gathered {
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &[]
    }

    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        0
    }

    pub(super) fn open(&mut self, _: Runnable) {}

    #[inline(always)]
    pub(super) fn push(&mut self, _: &[u8]) {}

    pub(super) fn clear(&mut self) {}
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Gathered {
    /// Also wipes what was gathered before.
    fn zeroize(&mut self) {
        #[cfg(feature = "alloc")]
        {
            self.bytes.clear();
            self.bytes.spare_capacity_mut().zeroize();
        }
    }
}

#[cfg(all(test, feature = "zeroize", feature = "std"))]
mod tests {
    use super::*;
    use crate::kernel::running;
    use zeroize::Zeroize;

    #[test]
    fn gathered_zeroize_reaches_what_was_hashed() {
        let mut gathered = Gathered::default();
        gathered.open(running());
        let len = gathered.capacity().min(100);
        gathered.push(&[7; 100][..len]);
        gathered.clear();
        gathered.push(&[8; 10][..len.min(10)]);
        gathered.zeroize();
        assert!(gathered.bytes().is_empty());
        for byte in &mut gathered.bytes.spare_capacity_mut()[..len] {
            // SAFETY: these bytes were written.
            assert_eq!(unsafe { byte.assume_init() }, 0);
        }
    }
}
