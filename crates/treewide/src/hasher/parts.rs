//! How pieces become subtrees.

use core::mem;

use super::chunk::PartialChunk;
use super::gather;
use super::shared::{GATHERED, PACKED, Parts, Settled};
use crate::kernel::{Runnable, running};
use crate::spec::flags::CHUNK_END;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, words};
use crate::tree::{self, LEAF, MOST, Node, ROOM, SMALL, WIDE};

/// Fewer chunks than this use the small stack buffer (`results/zen5-2vcpu/limits.md#hasher`).
const FEW: usize = 16;

impl Settled<'_> {
    /// Bytes so far.
    pub(crate) fn count(&self) -> u64 {
        self.subtrees.bytes() + self.chunk.len() as u64
    }

    /// The top node of everything so far.
    #[inline(always)]
    pub(super) fn node(&self) -> Node {
        let Self { subtrees, chunk } = self;
        if subtrees.stack.is_empty() {
            // Made in place: extended output would wait for a copy.
            return chunk.node(subtrees.next_chunk(), &subtrees.mode);
        }
        if chunk.len() > 0 {
            return subtrees.top_with(chunk.node(subtrees.next_chunk(), &subtrees.mode));
        }
        subtrees.top().expect("two chunks or more")
    }
}

impl Parts<'_> {
    /// Bytes so far, in this state.
    pub(super) fn count(&self, state: u8) -> u64 {
        let gathered = match state {
            PACKED => {
                let (cvs, last) = self.gathered.packed();
                cvs.len() * CHUNK_LEN + last.len()
            }
            _ => self.gathered.bytes().len(),
        };
        self.subtrees.bytes() + (self.chunk.len() + gathered) as u64
    }

    /// Hashes what is gathered, in this state: whole chunks side by side; a chunk that is begun is being filled then.
    pub(super) fn settle(&mut self, state: u8) {
        let gathered = match state {
            GATHERED | PACKED => mem::take(self.gathered),
            _ => return,
        };
        if state == PACKED {
            let (kernel, (cvs, last)) = (running(), gathered.packed());
            let mut nodes = [[0; 32]; 1 + WIDE];
            nodes[1..=cvs.len()].copy_from_slice(cvs);
            self.subtrees.insert(kernel, &mut nodes, cvs.len(), 0);
            self.chunk.fill(kernel, last, self.subtrees.next_chunk(), &self.subtrees.mode);
            return;
        }
        self.append_gathered(gathered.bytes());
        *self.gathered = gathered;
        self.gathered.clear();
    }

    /// The top node of everything so far, with the gathered bytes: its last chunk, short or not, is in the same pass as the others.
    /// Packs these.
    #[inline(never)]
    pub(super) fn gathered_node(&mut self) -> Node {
        let (kernel, mode) = (running(), &self.subtrees.mode);
        let (input, counter) = (self.gathered.bytes(), self.subtrees.next_chunk());
        if input.len() <= CHUNK_LEN {
            let last = Node::chunk(kernel, input, counter, mode);
            self.gathered.pack(&[]);
            return self.subtrees.top_with(last);
        }
        let mut nodes = [[0; 32]; 1 + WIDE];
        let count =
            kernel.chunks(input, &mode.key, counter, mode.flags, CHUNK_END, &mut nodes[1..]);
        self.gathered.pack(&nodes[1..count]);
        let mut all = self.subtrees.clone();
        all.insert(kernel, &mut nodes, count, 0);
        all.top().expect("two chunks or more")
    }

    /// Appends `input`, which there is room for. What is gathered stays so, or there is nothing.
    pub(super) fn append(&mut self, input: &[u8], gathers: bool) {
        let is_ready = gathers && self.subtrees.chunks > 0 && self.gathered.capacity() > 0;
        if input.len() < CHUNK_LEN && self.chunk.len() == 0 && !is_ready {
            self.chunk.fill(running(), input, self.subtrees.next_chunk(), &self.subtrees.mode);
            return;
        }
        self.append_chunks(input, gathers)
    }

    /// [`append`](Self::append) beyond the chunk that is being filled. Not inlined, because its large stack frame
    /// would slow down appending a few bytes.
    #[inline(never)]
    fn append_chunks(&mut self, mut input: &[u8], gathers: bool) {
        let kernel = running();
        // A short piece behind a header is hashed where it lies.
        let is_stream = self.count(GATHERED) >= gather::FROM || input.len() < CHUNK_LEN;
        // Fill the chunk that is begun first.
        if self.chunk.len() > 0 {
            input = self.chunk.fill(kernel, input, self.subtrees.next_chunk(), &self.subtrees.mode);
            if input.is_empty() {
                return;
            }
            self.close_chunk();
        }
        if gathers && is_stream && self.subtrees.chunks > 0 {
            input = self.gather(kernel, input);
            if input.is_empty() {
                return;
            }
        }
        while input.len() >= CHUNK_LEN {
            let whole = input.len() / CHUNK_LEN;
            if self.subtrees.chunks == 0 && input.len() == CHUNK_LEN {
                // It may be the root.
                break;
            }
            // A subtree must begin at a multiple of its size.
            let most = 1_usize << whole.min(MOST).ilog2();
            let size = match self.subtrees.chunks.trailing_zeros() {
                zeros if zeros < most.ilog2() => 1_usize << zeros,
                _ => most,
            };
            if size >= LEAF && !SMALL {
                let (head, rest) = input.split_at(size * CHUNK_LEN);
                self.append_subtree(kernel, head);
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
                    FEW..WIDE => self.append_side_by_side::<{ 1 + WIDE }>(kernel, input, room),
                    _ => self.append_side_by_side::<{ 1 + LEAF }>(kernel, input, room),
                };
            }
        }
        self.chunk.fill(kernel, input, self.subtrees.next_chunk(), &self.subtrees.mode);
    }

    /// Appends a subtree, where one of its size may begin. Not inlined, so that its buffer is not part of other frames.
    #[inline(never)]
    fn append_subtree(&mut self, kernel: Runnable, input: &[u8]) {
        let mut nodes = [[0; 32]; 1 + ROOM];
        let (counter, mode) = (self.subtrees.next_chunk(), self.subtrees.mode);
        let count = tree::reduce(kernel, input, counter, &mode, &mut nodes[1..]);
        let level = (input.len() / CHUNK_LEN / WIDE).ilog2();
        self.subtrees.insert(kernel, &mut nodes, count, level);
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
            self.settle(GATHERED);
            return rest;
        }
        let (head, rest) = input.split_at(input.len().min(capacity - len));
        self.gathered.push(head);
        if head.len() == capacity - len {
            self.settle(GATHERED);
            return self.gather(kernel, rest);
        }
        &[]
    }

    fn append_gathered(&mut self, mut input: &[u8]) {
        let kernel = running();
        while input.len() >= CHUNK_LEN {
            input = self.append_side_by_side::<{ 1 + WIDE }>(kernel, input, WIDE);
        }
        self.chunk.fill(kernel, input, self.subtrees.next_chunk(), &self.subtrees.mode);
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
        let mut count = kernel.chunks(head, key, self.subtrees.next_chunk(), flags, end, out);
        if begun > 0 {
            count -= 1;
            (self.chunk.cv, self.chunk.blocks) = (words(&out[count]), begun as u8);
        }
        self.subtrees.insert(kernel, &mut nodes, count, 0);
        rest
    }

    /// Makes a full chunk part of the tree. Call this when more input follows.
    pub(super) fn close_chunk(&mut self) {
        if self.chunk.len() == CHUNK_LEN {
            let kernel = running();
            let cv = self
                .chunk
                .node(self.subtrees.next_chunk(), &self.subtrees.mode)
                .chaining_value(kernel);
            *self.chunk = PartialChunk::new(&self.subtrees.mode);
            self.subtrees.insert(kernel, &mut [[0; 32], cv], 1, 0);
        }
    }
}
