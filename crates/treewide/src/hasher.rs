//! The incremental state: input that arrives in pieces.
//!
//! All whole chunks of a piece are hashed together, wherever the piece begins, and in the same pass the chunk
//! that the piece begins but does not fill, except for that chunk's last block. Between pieces the hasher
//! keeps the tree of the whole chunks ([`Subtrees`]) and the chunk that is not full.
//!
//! A lone first chunk stays in its buffered form, as it may be the root. After it, where there is an allocator, short pieces are
//! [gathered](gather) and hashed when they fill the lanes.

pub(crate) mod chunk;
mod gather;
mod parts;
pub(crate) mod shared;

use core::cell::UnsafeCell;
use core::fmt;
use core::mem;
use core::sync::atomic::AtomicU8;

use crate::hash::Hash;
use crate::kernel::running;
use crate::mode::Mode;
#[cfg(feature = "rayon")]
use crate::spec::ChainingValue;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, KEY_LEN};
use crate::subtrees::Subtrees;
use crate::tree::{self, Node};
use crate::xof::OutputReader;
use chunk::PartialChunk;
use gather::Gathered;
use shared::{ASKED, GATHERED, PACKED, Parts, SETTLED, Settled};

/// Input that arrives in pieces, in any of the three modes.
///
/// ```
/// let mut hasher = treewide::Hasher::new();
/// hasher.update(b"foo").update(b"bar");
/// assert_eq!(hasher.finalize(), treewide::hash(b"foobar"));
/// ```
///
/// Finalising does not change the hasher: more input may follow. A clone continues independently from the
/// same point. For input that is complete, [`hash`](crate::hash()) is a little faster.
///
/// # The length of pieces
/// Pieces may be short. With the feature `std` or `alloc`, a hasher that has passed 1 KiB in short pieces allocates a buffer
/// of 32 KiB. It gathers pieces there until they fill it. Pieces of 16 KiB or more, with 32 lanes those of 32 KiB or more, are
/// hashed where they lie. How many times as fast as `blake3` 1.8 an input of 1 MiB is hashed (Zen 5,
/// `results/zen5-2vcpu/streams.md`):
///
/// | pieces of bytes | 16 | 64 | 1,024 | 4,096 | 8,192 | 16,384 | 65,536 |
/// |---|---|---|---|---|---|---|---|
/// | AVX-512 | 5.6 | 10.3 | 14.7 | 4.0 | 2.4 | 1.3 | 1.4 |
/// | AVX2 | 4.1 | 5.6 | 6.4 | 1.8 | 1.08 | 1.03 | 1.04 |
///
/// The buffer is freed with the first digest, and with the first clone. 10,000 hashers in the middle of long streams take up
/// to 350 MB; [`without_buffer`](Self::without_buffer) makes it 19 MB.
pub struct Hasher {
    /// The whole chunks.
    subtrees: UnsafeCell<Subtrees>,
    chunk: UnsafeCell<PartialChunk>,
    /// What follows the whole chunks, where no chunk is being filled.
    gathered: UnsafeCell<Gathered>,
    gathers: bool,
    /// Whether something is gathered, and whether there was a digest since the last piece.
    state: AtomicU8,
}

// C programs keep a hasher in a `blake3_hasher` (`bindings/c`).
const _: () = assert!(size_of::<Hasher>() <= 1912 && align_of::<Hasher>() <= 8);

impl Hasher {
    /// Makes a hasher for the given mode.
    #[inline(always)]
    pub fn with_mode(mode: Mode) -> Self {
        Self {
            subtrees: UnsafeCell::new(Subtrees::new(mode)),
            chunk: UnsafeCell::new(PartialChunk::new(&mode)),
            gathered: UnsafeCell::new(Gathered::default()),
            gathers: true,
            state: AtomicU8::new(SETTLED),
        }
    }

    /// Makes it gather short pieces, as a new hasher does.
    #[inline(always)]
    #[must_use]
    pub fn with_buffer(mut self) -> Self {
        self.gathers = true;
        self
    }

    /// Makes it hash pieces as they come, however short. It never allocates, and never holds more than a block of the input.
    ///
    /// This is for many hashers at once, and for programs that must not allocate.
    #[inline(always)]
    #[must_use]
    pub fn without_buffer(mut self) -> Self {
        self.settle();
        *self.gathered.get_mut() = Gathered::default();
        self.gathers = false;
        self
    }

    /// Makes a hasher for the plain mode, [`hash`](crate::hash()).
    pub fn new() -> Self {
        Self::with_mode(Mode::PLAIN)
    }

    /// Makes a hasher for the keyed mode, [`keyed_hash`](crate::keyed_hash()).
    pub fn new_keyed(key: &[u8; KEY_LEN]) -> Self {
        Self::with_mode(Mode::keyed(key))
    }

    /// Makes a hasher for the derive-key mode, [`derive_key`](crate::derive_key()), whose documentation says
    /// what a context must be.
    pub fn new_derive_key(context: &str) -> Self {
        Self::with_mode(Mode::derive_key(context))
    }

    /// Returns to the state after construction: the mode and its key stay; the input and an input offset are
    /// forgotten.
    pub fn reset(&mut self) -> &mut Self {
        let parts = self.parts();
        *parts.chunk = PartialChunk::new(&parts.subtrees.mode);
        parts.subtrees.clear();
        *parts.gathered = Gathered::default();
        *self.state.get_mut() = SETTLED;
        self
    }

    /// Appends `input`, on the calling thread.
    ///
    /// # Panics
    /// If an input offset is set (`hazmat`) and a subtree at that offset cannot be so long, or if the whole
    /// input would have 2^64 bytes or more (only a saved state can come close to that).
    #[inline]
    pub fn update(&mut self, input: &[u8]) -> &mut Self {
        let Parts { subtrees, chunk, .. } = self.parts();
        if input.len() <= BLOCK_LEN && subtrees.is_empty() && chunk.len() == 0 {
            // Most short inputs come at once, and there is room for a block.
            chunk.begin(input);
            return self;
        }
        self.update_any(input)
    }

    #[inline(never)]
    fn update_any(&mut self, input: &[u8]) -> &mut Self {
        let state = *self.state.get_mut();
        let parts = self.parts();
        if state == GATHERED {
            if input.len() < parts.gathered.capacity() - parts.gathered.bytes().len() {
                parts.gathered.push(input);
                return self;
            }
        } else if (parts.chunk.len() > 0 || parts.subtrees.is_empty())
            && input.len() < CHUNK_LEN - parts.chunk.len()
        {
            // There is room in the chunk, so there is in the input.
            parts.chunk.append(running(), input, parts.subtrees.next_chunk(), &parts.subtrees.mode);
            return self;
        }
        self.update_beyond(input)
    }

    /// Apart, as its registers and its frame would slow down what is gathered.
    #[inline(never)]
    fn update_beyond(&mut self, input: &[u8]) -> &mut Self {
        self.check_room(input.len() as u64);
        let state = *self.state.get_mut();
        // A digest after each piece would hash the same bytes again and again.
        let gathers = self.gathers && !matches!(state, ASKED | PACKED);
        if !gathers {
            self.settle();
        }
        let mut parts = self.parts();
        parts.append(input, gathers);
        let is_gathered = !parts.gathered.bytes().is_empty();
        *self.state.get_mut() = if is_gathered { GATHERED } else { SETTLED };
        self
    }

    /// Hashes what is gathered.
    pub(crate) fn settle(&mut self) {
        let state = mem::replace(self.state.get_mut(), SETTLED);
        self.parts().settle(state);
    }

    /// # Panics
    /// If the input would have 2^64 bytes or more, or if an input offset is set and the bytes do not belong to
    /// the subtree there.
    pub(crate) fn check_room(&mut self, more: u64) {
        let (count, first_chunk) = (self.count(), self.parts().subtrees.first_chunk);
        assert!(count.checked_add(more).is_some(), "an input has fewer than 2^64 bytes");
        let offset = first_chunk * CHUNK_LEN as u64;
        if let Some(max) = tree::max_subtree_len(offset) {
            assert!(
                more <= max - count,
                "the subtree starting at {offset} contains at most {max} bytes",
            );
        }
    }

    /// Appends subtrees of `2^level` chunks each, where such a one may begin.
    #[cfg(feature = "rayon")]
    pub(crate) fn append_subtrees(&mut self, cvs: &[ChainingValue], level: u32) {
        if !cvs.is_empty() {
            self.settle();
            let mut parts = self.parts();
            parts.close_chunk();
            debug_assert_eq!(parts.chunk.len(), 0);
            parts.subtrees.push(cvs, level);
        }
    }

    /// The top node of everything so far.
    pub(crate) fn node(&self) -> Node {
        match self.try_settled() {
            Some(settled) => {
                self.ask();
                settled.node()
            }
            None => self.gathered_node(),
        }
    }

    /// The first digest makes chaining values of the gathered bytes, and the second makes them part of the tree.
    #[inline(never)]
    fn gathered_node(&self) -> Node {
        let mut node = None;
        self.enter(|state, mut parts| {
            if state == PACKED {
                return state;
            }
            node = Some(parts.gathered_node());
            PACKED
        });
        node.unwrap_or_else(|| self.settled().node())
    }

    /// The top node of everything so far, if that is the whole input.
    fn root(&self) -> Node {
        // Nothing is gathered behind an offset.
        let first_chunk = self.try_settled().map_or(0, |settled| settled.subtrees.first_chunk);
        assert_eq!(first_chunk, 0, "set_input_offset must be used with finalize_non_root");
        self.node()
    }

    /// Returns the digest of everything so far.
    ///
    /// # Panics
    /// If an input offset is set (`hazmat`): a subtree is not the root.
    #[inline]
    pub fn finalize(&self) -> Hash {
        if let Some(Settled { subtrees, chunk }) = self.try_settled()
            && subtrees.is_empty()
        {
            return Hash::from_bytes(chunk.root_hash(running(), &subtrees.mode));
        }
        self.finalize_tree()
    }

    #[inline(never)]
    fn finalize_tree(&self) -> Hash {
        Hash::from_bytes(self.root().root_hash(running()))
    }

    /// Returns extended output for everything so far. Its first 32 bytes are [`finalize`](Self::finalize).
    ///
    /// # Panics
    /// If an input offset is set (`hazmat`): a subtree is not the root.
    pub fn finalize_xof(&self) -> OutputReader {
        OutputReader::new(self.root())
    }

    /// Returns the number of bytes appended so far.
    pub fn count(&self) -> u64 {
        let mut count = None;
        let settled = self.enter(|state, parts| {
            count = Some(parts.count(state));
            state
        });
        count.unwrap_or_else(|| settled.expect("nothing is gathered").count())
    }
}

/// Copies what is used, and no more. What is gathered is hashed before, once for all copies, and its buffer is freed.
impl Clone for Hasher {
    #[inline]
    fn clone(&self) -> Self {
        let Settled { subtrees, chunk } = self.settled();
        // Made where it is wanted: moving a hasher takes as long as half a block.
        let mut copy = Self::with_mode(subtrees.mode);
        copy.gathers = self.gathers;
        copy.subtrees.get_mut().clone_from(subtrees);
        *copy.chunk.get_mut() = chunk.clone();
        copy
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the flags of the mode, but no key, input or state.
impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("flags", &self.settled().subtrees.mode.flags)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
mod io {
    use super::Hasher;
    use crate::buffer::Buffer;
    use std::io::{self, ErrorKind, Read, Write};

    /// Bytes of one read: a pass of 32 lanes. Twice as many take longer to make than they save below 128 KiB, and save 1.5 % above
    /// (`results/zen1-2vcpu/operations.txt`).
    const BUFFER: usize = 32 * 1024;

    impl Hasher {
        /// Reads `reader` to its end and appends the bytes, on the calling thread.
        ///
        /// A reader that ends early without an error, as a file on a network may, has ended. The module `file` compares the
        /// end of a file with its length.
        ///
        /// # Errors
        /// The first error of the reader, except for interruptions. Bytes that were read before it are appended.
        pub fn update_reader(&mut self, mut reader: impl Read) -> io::Result<&mut Self> {
            let mut buffer = Buffer(vec![0; BUFFER]);
            loop {
                match reader.read(&mut buffer) {
                    Ok(0) => return Ok(self),
                    Ok(n) => self.update(&buffer[..n]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
            }
        }
    }

    /// Cannot fail.
    impl Write for Hasher {
        fn write(&mut self, input: &[u8]) -> io::Result<usize> {
            self.update(input);
            Ok(input.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Hasher {
    fn zeroize(&mut self) {
        let Parts { subtrees, chunk, gathered } = self.parts();
        subtrees.zeroize();
        chunk.cv.zeroize();
        chunk.block.zeroize();
        chunk.block_len.zeroize();
        chunk.blocks.zeroize();
        *gathered = Gathered::default();
        *self.state.get_mut() = SETTLED;
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn hash(input: &[u8]) -> Hash {
        Hash::from_bytes(tree::hash(running(), input, &Mode::PLAIN))
    }

    /// Small enough for Miri.
    #[test]
    fn hasher_of_a_few_chunks() {
        let input: [u8; 3 * CHUNK_LEN + 200] = core::array::from_fn(|i| (i % 251) as u8);
        for pieces in [
            &[1, 3271][..],
            &[CHUNK_LEN, CHUNK_LEN, 1224],
            &[2248, 1000, 24],
            &[1020, 200, 1000, 4, 1000, 48],
        ] {
            let mut hasher = Hasher::new();
            let mut at = 0;
            for len in pieces {
                hasher.update(&input[at..at + len]);
                at += len;
                hasher = Hasher::from_state(hasher.clone().to_state().as_bytes()).expect("sound");
                assert_eq!(hasher.finalize(), hash(&input[..at]));
            }
            assert_eq!(at, input.len());
            assert_eq!(hasher.reset().update(b"abc").finalize(), hash(b"abc"));
        }
    }
}
