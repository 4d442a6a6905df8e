//! Short pieces of input, gathered until they fill the lanes of the kernel.
//!
//! ```text
//! input    | whole chunks: Subtrees    | gathered                               |
//!          | 1 lane  | side by side    | up to 32 KiB                            |
//! ```
//!
//! The buffer is allocated when a stream has passed [`FROM`] bytes and continues with a short piece. Without an allocator
//! nothing is ever gathered. The first digest replaces the bytes by the chaining values of their whole
//! chunks, and the last chunk: the next digest needs no more. Those are 2 KiB at most.

#[cfg(feature = "alloc")]
use crate::buffer::Buffer;
use crate::kernel::Runnable;
use crate::spec::{CHUNK_LEN, ChainingValue};
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
    /// The bytes; once [packed](Gathered::pack) chaining values, the last chunk, and the number of chaining values.
    #[cfg(feature = "alloc")]
    bytes: Buffer,
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

    /// What was in it stays until it is freed.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Replaces the bytes by the chaining values of their whole chunks, which are these, and the last chunk, and frees the rest of
    /// the buffer.
    pub(super) fn pack(&mut self, cvs: &[ChainingValue]) {
        let (from, to) = (cvs.len() * CHUNK_LEN, 32 * cvs.len());
        let last = self.bytes.len() - from;
        self.bytes.copy_within(from.., to);
        self.bytes[..to].copy_from_slice(cvs.as_flattened());
        self.bytes.truncate(to + last);
        self.bytes.push(cvs.len() as u8);
        #[cfg(not(feature = "zeroize"))]
        self.bytes.shrink_to_fit();
        // An allocator that moves a block to shrink it does not wipe the old one.
        #[cfg(feature = "zeroize")]
        {
            self.bytes = Buffer(self.bytes.to_vec());
        }
    }

    /// What [`pack`](Self::pack) left.
    pub(super) fn packed(&self) -> (&[ChainingValue], &[u8]) {
        let (count, bytes) = self.bytes.split_last().expect("it is packed");
        let (cvs, last) = bytes.split_at(32 * usize::from(*count));
        (cvs.as_chunks().0, last)
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

    pub(super) fn pack(&mut self, _: &[ChainingValue]) {}

    pub(super) fn packed(&self) -> (&[ChainingValue], &[u8]) {
        (&[], &[])
    }
}
