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

use core::fmt;
use core::mem;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::hash::Hash;
use crate::kernel::{Runnable, running};
use crate::mode::Mode;
#[cfg(feature = "rayon")]
use crate::spec::ChainingValue;
use crate::spec::flags::CHUNK_END;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, KEY_LEN, words};
use crate::subtrees::Subtrees;
use crate::tree::{self, LEAF, Node, SMALL, WIDE};
use crate::xof::OutputReader;
use chunk::PartialChunk;
use gather::Gathered;

/// Fewer chunks than this use the small stack buffer (`results/zen5-2vcpu/limits.md#hasher`).
const FEW: usize = 16;

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
/// 10,000 hashers of long streams take up to 350 MB; [`without_buffer`](Self::without_buffer) makes it 19 MB. A digest or a
/// clone in the middle of a stream hashes what is gathered, at full width. To clone one hasher very often, clone its clone,
/// in which nothing is gathered.
pub struct Hasher {
    /// The whole chunks.
    pub(crate) subtrees: Subtrees,
    pub(crate) chunk: PartialChunk,
    /// What follows the whole chunks, where no chunk is being filled.
    gathered: Gathered,
    gathers: bool,
    /// Whether there was a digest or a clone since the last piece.
    is_asked: AtomicBool,
}

// C programs keep a hasher in a `blake3_hasher` (`bindings/c`).
const _: () = assert!(size_of::<Hasher>() <= 1912 && align_of::<Hasher>() <= 8);

impl Hasher {
    /// Makes a hasher for the given mode.
    #[inline(always)]
    pub fn with_mode(mode: Mode) -> Self {
        Self {
            subtrees: Subtrees::new(mode),
            chunk: PartialChunk::new(&mode),
            gathered: Gathered::default(),
            gathers: true,
            is_asked: AtomicBool::new(false),
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
    /// This is for many hashers at once, and for programs that must not allocate. A buffer that the hasher has is freed, and not
    /// wiped.
    #[inline(always)]
    #[must_use]
    pub fn without_buffer(mut self) -> Self {
        self.settle();
        self.gathered = Gathered::default();
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
        self.chunk = PartialChunk::new(&self.subtrees.mode);
        self.subtrees.clear();
        self.gathered.clear();
        *self.is_asked.get_mut() = false;
        self
    }

    /// Appends `input`, on the calling thread.
    ///
    /// # Panics
    /// If an input offset is set (`hazmat`) and a subtree at that offset cannot be so long, or if the whole
    /// input would have 2^64 bytes or more (only a saved state can come close to that).
    #[inline]
    pub fn update(&mut self, input: &[u8]) -> &mut Self {
        if input.len() <= BLOCK_LEN && self.is_one_chunk() && self.chunk.len() == 0 {
            // Most short inputs come at once, and there is room for a block.
            self.chunk.begin(input);
            return self;
        }
        self.update_any(input)
    }

    #[inline(never)]
    fn update_any(&mut self, input: &[u8]) -> &mut Self {
        let gathered = self.gathered.bytes().len();
        if gathered > 0 {
            if input.len() < self.gathered.capacity() - gathered && !*self.is_asked.get_mut() {
                self.gathered.push(input);
                return self;
            }
        } else if self.chunk.len() > 0 && input.len() < CHUNK_LEN - self.chunk.len() {
            // There is room in the chunk, so there is in the input.
            self.chunk.append(running(), input, self.counter(), &self.subtrees.mode);
            return self;
        }
        self.check_room(input.len() as u64);
        self.append(input)
    }

    /// Whether the input so far, from its first byte on, is at most the chunk that is being filled.
    #[inline(always)]
    fn is_one_chunk(&self) -> bool {
        self.subtrees.chunks | self.subtrees.first_chunk == 0
    }

    /// # Panics
    /// If the input would have 2^64 bytes or more, or if an input offset is set and the bytes do not belong to
    /// the subtree there.
    pub(crate) fn check_room(&self, more: u64) {
        assert!(self.count().checked_add(more).is_some(), "an input has fewer than 2^64 bytes");
        let offset = self.subtrees.first_chunk * CHUNK_LEN as u64;
        if let Some(max) = tree::max_subtree_len(offset) {
            assert!(
                more <= max - self.count(),
                "the subtree starting at {offset} contains at most {max} bytes",
            );
        }
    }

    fn append(&mut self, input: &[u8]) -> &mut Self {
        // A digest after each piece would hash the same bytes again and again.
        let gathers = self.gathers && !mem::take(self.is_asked.get_mut());
        if !gathers {
            self.settle();
        }
        let is_ready = gathers && self.subtrees.chunks > 0 && self.gathered.capacity() > 0;
        if input.len() < CHUNK_LEN && self.chunk.len() == 0 && !is_ready {
            self.chunk.fill(running(), input, self.counter(), &self.subtrees.mode);
            return self;
        }
        self.append_chunks(input, gathers)
    }

    /// [`append`](Self::append) beyond the chunk that is being filled. Not inlined, because its large stack frame
    /// would slow down appending a few bytes.
    #[inline(never)]
    fn append_chunks(&mut self, mut input: &[u8], gathers: bool) -> &mut Self {
        let kernel = running();
        // A short piece behind a header is hashed where it lies.
        let is_stream = self.count() >= gather::FROM || input.len() < CHUNK_LEN;
        // Fill the chunk that is begun first.
        if self.chunk.len() > 0 {
            input = self.chunk.fill(kernel, input, self.counter(), &self.subtrees.mode);
            if input.is_empty() {
                return self;
            }
            self.close_chunk();
        }
        if gathers && is_stream && self.subtrees.chunks > 0 {
            input = self.gather(kernel, input);
            if input.is_empty() {
                return self;
            }
        }
        while input.len() >= CHUNK_LEN {
            let whole = input.len() / CHUNK_LEN;
            if self.subtrees.chunks == 0 && input.len() == CHUNK_LEN {
                // It may be the root.
                break;
            }
            // A subtree must begin at a multiple of its size.
            let most = 1_usize << whole.ilog2();
            let size = match self.subtrees.chunks.trailing_zeros() {
                zeros if zeros < most.ilog2() => 1_usize << zeros,
                _ => most,
            };
            if size >= LEAF && !SMALL {
                let (head, rest) = input.split_at(size * CHUNK_LEN);
                let mut nodes = [[0; 32]; 1 + WIDE];
                let out = &mut nodes[1..];
                let count = tree::subtree(kernel, head, self.counter(), &self.subtrees.mode, out);
                self.subtrees.insert(kernel, &mut nodes, count, size.ilog2() - WIDE.ilog2());
                input = rest;
            } else {
                // Up to the next place where a larger subtree may begin. The room is cleared, which takes time
                // worth saving where chunks are few.
                let room = LEAF - (self.subtrees.chunks % LEAF as u64) as usize;
                input = match whole {
                    _ if SMALL => {
                        self.append_side_by_side::<{ 1 + FEW }>(kernel, input, room.min(FEW - 1))
                    }
                    0..FEW => self.append_side_by_side::<{ 1 + FEW }>(kernel, input, room),
                    _ => self.append_side_by_side::<{ 1 + LEAF }>(kernel, input, room),
                };
            }
        }
        self.chunk.fill(kernel, input, self.counter(), &self.subtrees.mode);
        self
    }

    /// Gathers `input`, if it is too short to fill the lanes. Else completes what is gathered to whole chunks and hashes them.
    /// Returns what is left, which is to be hashed where it lies.
    fn gather<'a>(&mut self, kernel: Runnable, input: &'a [u8]) -> &'a [u8] {
        // Subtrees of `hazmat` end at any chunk; the length of others has long to go up to 2^64. Nothing is gathered then.
        if self.subtrees.first_chunk > 0 || self.subtrees.chunks >> 50 > 0 {
            return input;
        }
        self.gathered.open(kernel);
        let (len, capacity) = (self.gathered.bytes().len(), self.gathered.capacity());
        if input.len() >= capacity.min(kernel.degree().max(gather::LEAST) * CHUNK_LEN) {
            let missing = len.next_multiple_of(CHUNK_LEN) - len;
            let (head, rest) = input.split_at(missing);
            self.gathered.push(head);
            self.settle();
            return rest;
        }
        let (head, rest) = input.split_at(input.len().min(capacity - len));
        self.gathered.push(head);
        if head.len() == capacity - len {
            self.settle();
            return self.gather(kernel, rest);
        }
        &[]
    }

    /// Hashes what is gathered: whole chunks side by side; a chunk that is begun is being filled then.
    pub(crate) fn settle(&mut self) {
        if self.gathered.bytes().is_empty() {
            return;
        }
        let mut gathered = mem::take(&mut self.gathered);
        self.append_gathered(gathered.bytes());
        gathered.clear();
        self.gathered = gathered;
    }

    fn append_gathered(&mut self, mut input: &[u8]) {
        let kernel = running();
        while input.len() >= CHUNK_LEN {
            input = self.append_side_by_side::<{ 1 + WIDE }>(kernel, input, WIDE);
        }
        self.chunk.fill(kernel, input, self.counter(), &self.subtrees.mode);
    }

    /// A copy in which nothing is gathered, made where it is wanted: moving a hasher takes as long as half a block.
    #[inline(always)]
    pub(crate) fn settled(&self) -> Self {
        let mut copy = Self::with_mode(self.subtrees.mode);
        self.settle_to(&mut copy);
        copy
    }

    #[inline(never)]
    fn settle_to(&self, copy: &mut Self) {
        copy.subtrees.clone_from(&self.subtrees);
        copy.chunk = self.chunk.clone();
        copy.gathers = self.gathers;
        if !self.gathered.bytes().is_empty() {
            copy.append_gathered(self.gathered.bytes());
        }
    }

    /// Appends at most `most` whole chunks of `input`. If `input` has no more whole chunks, also appends the blocks of
    /// the chunk that follows, except for the last one. Returns the rest. `N` is one more than the number of chunks.
    /// Not inlined: with both sizes in one frame, 20,000 and 31,000 bytes take 1.07 times as long.
    #[inline(never)]
    fn append_side_by_side<'a, const N: usize>(
        &mut self,
        kernel: Runnable,
        input: &'a [u8],
        most: usize,
    ) -> &'a [u8] {
        let whole = input.len() / CHUNK_LEN;
        let begun = if whole <= most { input.len() % CHUNK_LEN } else { 0 };
        let begun = begun.saturating_sub(1) / BLOCK_LEN;
        let (head, rest) = input.split_at(whole.min(most) * CHUNK_LEN + begun * BLOCK_LEN);
        let mut nodes = [[0; 32]; N];
        let (out, key, flags) =
            (&mut nodes[1..], &self.subtrees.mode.key, self.subtrees.mode.flags);
        let end = if begun > 0 { 0 } else { CHUNK_END };
        let mut count = kernel.chunks(head, key, self.counter(), flags, end, out);
        if begun > 0 {
            count -= 1;
            (self.chunk.cv, self.chunk.blocks) = (words(&out[count]), begun as u8);
        }
        self.subtrees.insert(kernel, &mut nodes, count, 0);
        rest
    }

    /// Makes a full chunk part of the tree. Call this when more input follows.
    fn close_chunk(&mut self) {
        if self.chunk.len() == CHUNK_LEN {
            let kernel = running();
            let cv = self.chunk.node(self.counter(), &self.subtrees.mode).chaining_value(kernel);
            self.chunk = PartialChunk::new(&self.subtrees.mode);
            self.subtrees.insert(kernel, &mut [[0; 32], cv], 1, 0);
        }
    }

    /// Appends subtrees of `2^level` chunks each, where such a one may begin.
    #[cfg(feature = "rayon")]
    pub(crate) fn append_subtrees(&mut self, cvs: &[ChainingValue], level: u32) {
        if !cvs.is_empty() {
            self.settle();
            self.close_chunk();
            debug_assert_eq!(self.chunk.len(), 0);
            self.subtrees.push(cvs, level);
        }
    }

    /// The number, in the whole tree, of the chunk that is being filled.
    fn counter(&self) -> u64 {
        self.subtrees.first_chunk + self.subtrees.chunks
    }

    /// The top node of everything so far.
    pub(crate) fn node(&self) -> Node {
        self.is_asked.store(true, Relaxed);
        if !self.gathered.bytes().is_empty() {
            return self.gathered_node();
        }
        if self.subtrees.stack.is_empty() {
            // Made in place: extended output would wait for a copy.
            return self.chunk.node(self.counter(), &self.subtrees.mode);
        }
        if self.chunk.len() > 0 {
            return self.subtrees.top_with(self.chunk.node(self.counter(), &self.subtrees.mode));
        }
        self.subtrees.top().expect("two chunks or more")
    }

    /// [`node`](Self::node) with the gathered bytes: its last chunk, short or not, is in the same pass as the others.
    #[inline(never)]
    fn gathered_node(&self) -> Node {
        let (kernel, mode) = (running(), &self.subtrees.mode);
        if self.gathered.bytes().len() <= CHUNK_LEN {
            let last = Node::chunk(kernel, self.gathered.bytes(), self.counter(), mode);
            return self.subtrees.top_with(last);
        }
        let mut nodes = [[0; 32]; 1 + WIDE];
        let (input, out) = (self.gathered.bytes(), &mut nodes[1..]);
        let count = kernel.chunks(input, &mode.key, self.counter(), mode.flags, CHUNK_END, out);
        let mut all = self.subtrees.clone();
        all.insert(kernel, &mut nodes, count, 0);
        all.top().expect("two chunks or more")
    }

    /// The top node of everything so far, if that is the whole input.
    fn root(&self) -> Node {
        assert_eq!(
            self.subtrees.first_chunk, 0,
            "set_input_offset must be used with finalize_non_root"
        );
        self.node()
    }

    /// Returns the digest of everything so far.
    ///
    /// # Panics
    /// If an input offset is set (`hazmat`): a subtree is not the root.
    #[inline]
    pub fn finalize(&self) -> Hash {
        if self.is_one_chunk() {
            return Hash::from_bytes(self.chunk.root_hash(running(), &self.subtrees.mode));
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
        self.subtrees.bytes() + (self.chunk.len() + self.gathered.bytes().len()) as u64
    }
}

/// Copies what is used, and no more. What is gathered is hashed, and the copy has no buffer yet.
impl Clone for Hasher {
    #[inline]
    fn clone(&self) -> Self {
        self.is_asked.store(true, Relaxed);
        self.settled()
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
        f.debug_struct("Hasher").field("flags", &self.subtrees.mode.flags).finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
mod io {
    use super::Hasher;
    use std::io::{self, ErrorKind, Read, Write};

    /// Bytes of one read: two passes of 32 lanes. A guess: the buffer is on the stack.
    const BUFFER: usize = 64 * 1024;

    impl Hasher {
        /// Reads `reader` to its end and appends the bytes, on the calling thread.
        ///
        /// A reader that ends early without an error, as a file on a network may, has ended. The module `file` compares the
        /// end of a file with its length.
        ///
        /// # Errors
        /// The first error of the reader, except for interruptions. Bytes that were read before it are appended.
        pub fn update_reader(&mut self, mut reader: impl Read) -> io::Result<&mut Self> {
            let mut buffer = vec![0; BUFFER];
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
        self.subtrees.zeroize();
        self.chunk.cv.zeroize();
        self.chunk.block.zeroize();
        self.chunk.block_len.zeroize();
        self.chunk.blocks.zeroize();
        self.gathered.zeroize();
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
