//! Neighbouring subtrees, merged from left to right.
//!
//! A [`Subtrees`] is a binary counter: it holds one chaining value for each bit that is set in the number of
//! chunks so far, the highest level first.
//!
//! ```text
//! 13 chunks = 0b1101:   [0..8] [8..12] [12]
//! ```
//!
//! Subtrees are merged as soon as both halves are complete, except for the merge that may be the root: when
//! the number of chunks is a power of two, its two halves stay separate until more subtrees arrive.

use core::fmt;

use crate::hash::Hash;
use crate::kernel::{Runnable, running};
use crate::mode::Mode;
use crate::spec::{CHUNK_LEN, ChainingValue, MAX_HEIGHT};
use crate::stack::Stack;
use crate::tree::{self, LEAF, Node};
use crate::xof::OutputReader;

/// Merges the chaining values of neighbouring subtrees, from left to right, up to the root.
///
/// Each chaining value is of a subtree of `2^level` chunks and comes from anywhere: another thread,
/// another machine, a GPU, an outboard. Only the rightmost subtree may have another number of chunks.
///
/// ```
/// use treewide::hazmat::{HasherExt, Subtrees};
/// use treewide::{CHUNK_LEN, Hasher, Mode};
///
/// let input = [7; 23 * CHUNK_LEN + 100];
/// let mut subtrees = Subtrees::new(Mode::PLAIN);
/// for (i, part) in input.chunks(8 * CHUNK_LEN).enumerate() {
///     let offset = (i * 8 * CHUNK_LEN) as u64;
///     let cv = Hasher::new().set_input_offset(offset).update(part).finalize_non_root();
///     match part.len().div_ceil(CHUNK_LEN) {
///         8 => subtrees.push(&[cv], 3),
///         chunks => subtrees.push_last(&cv, chunks as u64),
///     }
/// }
/// assert_eq!(subtrees.finalize(), treewide::hash(&input));
/// ```
///
/// It needs 1.8 KB, however many subtrees there are.
pub struct Subtrees {
    pub(crate) mode: Mode,
    /// The number of the chunk with which the first subtree begins.
    pub(crate) first_chunk: u64,
    pub(crate) chunks: u64,
    /// A chaining value for each bit of `chunks` from the highest on, or the two halves, and the last subtree.
    pub(crate) stack: Stack<ChainingValue, MAX_HEIGHT>,
    /// Whether the last subtree is there.
    has_last: bool,
}

/// Copies the subtrees, and not the room for others.
impl Clone for Subtrees {
    #[inline(always)]
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.mode);
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.mode = other.mode;
        (self.first_chunk, self.chunks, self.has_last) =
            (other.first_chunk, other.chunks, other.has_last);
        self.stack.clone_from(&other.stack);
    }
}

/// Whether the halves of a tree of that many chunks wait for their merge, if they came apart.
pub(crate) fn halves_apart(chunks: u64) -> bool {
    chunks > 1 && chunks.is_power_of_two()
}

impl Subtrees {
    /// Subtrees from the start of an input on.
    #[inline(always)]
    pub fn new(mode: Mode) -> Self {
        Self::starting_at(mode, 0)
    }

    /// Subtrees from chunk `first_chunk` of an input on, which are all below one node: only
    /// [`finalize_non_root`](Self::finalize_non_root) makes sense then.
    #[inline(always)]
    pub fn starting_at(mode: Mode, first_chunk: u64) -> Self {
        Self { mode, first_chunk, chunks: 0, stack: Stack::new(), has_last: false }
    }

    /// The number of the chunk that follows.
    #[inline(always)]
    pub(crate) fn next_chunk(&self) -> u64 {
        self.first_chunk + self.chunks
    }

    /// Whether there are none, at the start of an input.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first_chunk | self.chunks == 0
    }

    /// Back to none, in the same mode, at the start of an input.
    pub(crate) fn clear(&mut self) {
        #[cfg(feature = "zeroize")]
        zeroize::Zeroize::zeroize(&mut self.stack);
        (self.first_chunk, self.chunks, self.has_last) = (0, 0, false);
        self.stack.clear();
    }

    /// Chunks in all subtrees so far.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The most chunks that there may be: 2^54, or as many as the largest subtree at the first chunk has.
    fn most_chunks(&self) -> u64 {
        match tree::max_subtree_len(self.first_chunk) {
            Some(most) => most.min(1 << MAX_HEIGHT),
            None => 1 << MAX_HEIGHT,
        }
    }

    /// # Panics
    /// If `more` chunks may not follow.
    fn check_room(&self, more: u64) {
        assert!(!self.has_last, "nothing follows the last subtree");
        let (chunks, most) = (self.chunks, self.most_chunks());
        assert!(
            more <= most - chunks,
            "a tree of {most} chunks has no room for {more} more than {chunks}"
        );
    }

    /// Appends the neighbouring subtrees with these chaining values, `2^level` chunks each.
    ///
    /// # Panics
    /// - If a subtree of `2^level` chunks may not begin after the subtrees so far: their chunks must
    ///   be a multiple of `2^level`.
    /// - If there are more chunks than an input may have (2^54), or than the subtree that starts at `first_chunk`.
    /// - If [`push_last`](Self::push_last) was called.
    pub fn push(&mut self, cvs: &[ChainingValue], level: u32) {
        if cvs.is_empty() {
            return;
        }
        assert!(level as usize <= MAX_HEIGHT, "no tree has a level {level}");
        let more = (cvs.len() as u64).saturating_mul(1 << level);
        self.check_room(more);
        assert!(
            self.chunks.is_multiple_of(1 << level),
            "a subtree of 2^{level} chunks cannot follow {} chunks",
            self.chunks,
        );
        let kernel = running();
        for cvs in cvs.chunks(LEAF) {
            let mut nodes = [[0; 32]; 1 + LEAF];
            nodes[1..=cvs.len()].copy_from_slice(cvs);
            self.insert(kernel, &mut nodes, cvs.len(), level);
        }
    }

    /// Appends the last subtree, on the right edge of the tree, by its chaining value and its number of chunks. The last
    /// chunk may be short.
    ///
    /// # Panics
    /// - If `chunks` is 0, or such a subtree may not begin after the subtrees so far: it has at
    ///   most as many chunks as the largest power of two that divides the chunks so far.
    /// - If there are more chunks than an input may have, or than the subtree that starts at `first_chunk`.
    /// - If it was called before.
    pub fn push_last(&mut self, cv: &ChainingValue, chunks: u64) {
        assert!(chunks > 0, "no subtree is empty");
        self.check_room(chunks);
        assert!(
            self.chunks == 0 || chunks <= 1 << self.chunks.trailing_zeros(),
            "a subtree of {chunks} chunks cannot follow {} chunks",
            self.chunks,
        );
        let kernel = running();
        self.merge_halves(kernel);
        let mut last = *cv;
        if self.stack.is_full() {
            // 2^54 - 1 chunks are there: the last one is the right sibling of the one before, and others are above.
            let left = self.stack.pop().expect("it is full");
            last = Node::parent(&left, &last, &self.mode).chaining_value(kernel);
        }
        self.stack.push(last);
        self.chunks += chunks;
        self.has_last = true;
    }

    /// Merges halves that are apart, as more follows, so that they are not below the root.
    fn merge_halves(&mut self, kernel: Runnable) {
        if self.stack.len() == 2 && self.chunks.is_power_of_two() {
            kernel.parents(&mut self.stack, 0, 1, 0, &self.mode.key, self.mode.flags);
            self.stack.pop();
        }
    }

    /// Appends `count` subtrees of `2^level` chunks each, where such a one may begin. Their chaining
    /// values are in `nodes[1..]`; `nodes[0]` is room for the left sibling of the first one.
    pub(crate) fn insert(
        &mut self,
        kernel: Runnable,
        nodes: &mut [ChainingValue],
        count: usize,
        level: u32,
    ) {
        debug_assert!(!self.has_last && self.chunks.trailing_zeros() >= level);
        self.merge_halves(kernel);
        let total = self.chunks + ((count as u64) << level);
        self.carry(kernel, nodes, count, level, total);
        self.chunks = total;
    }

    /// One level of the binary addition that `insert` is; the level above is pushed first.
    fn carry(
        &mut self,
        kernel: Runnable,
        nodes: &mut [ChainingValue],
        mut count: usize,
        level: u32,
        total: u64,
    ) {
        if count == 0 {
            return;
        }
        let mut from = 1;
        if self.chunks >> level & 1 == 1 {
            nodes[0] = self.stack.pop().expect("a node for each bit");
            from = 0;
            count += 1;
        }
        if total == 2 << level {
            // These two halves may be the whole input.
            debug_assert_eq!((count, self.stack.len()), (2, 0));
            self.stack.push(nodes[from]);
            self.stack.push(nodes[from + 1]);
            return;
        }
        let odd = (count % 2 == 1).then(|| nodes[from + count - 1]);
        let pairs = count / 2;
        let (key, flags) = (self.mode.key, self.mode.flags);
        kernel.parents(nodes, from, pairs, 1, &key, flags);
        self.carry(kernel, nodes, pairs, level + 1, total);
        if let Some(node) = odd {
            self.stack.push(node);
        }
    }

    /// The node on top of at least two subtrees.
    pub(crate) fn top(&self) -> Option<Node> {
        let [below @ .., left, right] = &self.stack[..] else { return None };
        Some(self.fold(below, Node::parent(left, right, &self.mode)))
    }

    /// The node on top of all subtrees and of `last`, which follows them.
    pub(crate) fn top_with(&self, last: Node) -> Node {
        if self.stack.len() == 2 && self.chunks.is_power_of_two() {
            let halves = Node::parent(&self.stack[0], &self.stack[1], &self.mode);
            return self.fold(&[halves.chaining_value(running())], last);
        }
        self.fold(&self.stack, last)
    }

    /// The top node of `node` and its left neighbours. The nearest neighbour is the last one.
    fn fold(&self, left: &[ChainingValue], mut node: Node) -> Node {
        let kernel = running();
        for left in left.iter().rev() {
            node = Node::parent(left, &node.chaining_value(kernel), &self.mode);
        }
        node
    }

    fn root(&self) -> Node {
        assert_eq!(self.first_chunk, 0, "subtrees from chunk 0 on have a root, others do not");
        self.top().expect("the root has two children: push at least two subtrees")
    }

    /// The digest of the whole input.
    ///
    /// # Panics
    /// If there are fewer than two subtrees, or they do not start with chunk 0. A lone subtree is the whole
    /// input, which only [`Hasher::finalize`](crate::Hasher::finalize) can hash as its root.
    pub fn finalize(&self) -> Hash {
        Hash::from_bytes(self.root().root_hash(running()))
    }

    /// Output of any length for the whole input.
    ///
    /// # Panics
    /// As [`finalize`](Self::finalize) does.
    pub fn finalize_xof(&self) -> OutputReader {
        OutputReader::new(self.root())
    }

    /// The chaining value of the subtree that all of them make, below a root that comes later.
    ///
    /// # Panics
    /// If there are none.
    pub fn finalize_non_root(&self) -> ChainingValue {
        match self.top() {
            Some(node) => node.chaining_value(running()),
            None => *self.stack.first().expect("no subtree is empty: push at least one"),
        }
    }

    /// Bytes in whole chunks so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks * CHUNK_LEN as u64
    }
}

/// Shows the mode and how many chunks there are, and no key and no chaining value.
impl fmt::Debug for Subtrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Subtrees");
        debug.field("mode", &self.mode).field("first_chunk", &self.first_chunk);
        debug.field("chunks", &self.chunks).finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Subtrees {
    fn zeroize(&mut self) {
        self.mode.zeroize();
        self.first_chunk.zeroize();
        self.chunks.zeroize();
        self.stack.zeroize();
        self.has_last.zeroize();
    }
}
