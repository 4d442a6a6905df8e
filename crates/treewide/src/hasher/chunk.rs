//! The chunk that is being filled: its blocks are compressed as soon as more input follows.

use crate::block;
use crate::kernel::{Flags, Runnable};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, OUT_LEN, bytes};
use crate::tree::Node;

/// The chunk that is being filled.
#[derive(Clone)]
pub(crate) struct PartialChunk {
    pub(crate) cv: [u32; 8],
    /// The last block, which waits for more input or for the end; zeros follow it.
    pub(crate) block: [u8; BLOCK_LEN],
    pub(crate) block_len: u8,
    /// The number of blocks that are compressed into `cv`.
    pub(crate) blocks: u8,
}

impl PartialChunk {
    #[inline(always)]
    pub(crate) fn new(mode: &Mode) -> Self {
        Self { cv: mode.key, block: [0; BLOCK_LEN], block_len: 0, blocks: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.blocks) * BLOCK_LEN + usize::from(self.block_len)
    }

    /// Appends at most a block to a chunk without any bytes.
    #[inline(always)]
    pub(crate) fn begin(&mut self, input: &[u8]) {
        debug_assert!(self.len() == 0 && self.block == [0; BLOCK_LEN]);
        block::copy_short(&mut self.block, input);
        self.block_len = input.len() as u8;
    }

    /// The digest, if this is the whole input: straight from the buffer, as a copy of it takes an eighth of a block.
    #[inline(always)]
    pub(crate) fn root_hash(&self, kernel: Runnable, mode: &Mode) -> [u8; OUT_LEN] {
        let mut cv = self.cv;
        let flags = mode.flags | self.start_flag() | CHUNK_END | ROOT;
        kernel.compress_block(&mut cv, &self.block, self.block_len, 0, flags);
        bytes(&cv)
    }

    #[inline(always)]
    fn start_flag(&self) -> u8 {
        if self.blocks == 0 { CHUNK_START } else { 0 }
    }

    /// Appends as much of `input` as the chunk has room for; returns the rest.
    pub(crate) fn fill<'a>(
        &mut self,
        kernel: Runnable,
        input: &'a [u8],
        counter: u64,
        mode: &Mode,
    ) -> &'a [u8] {
        let (input, rest) = input.split_at(input.len().min(CHUNK_LEN - self.len()));
        self.append(kernel, input, counter, mode);
        rest
    }

    /// Appends `input`, which there is room for.
    #[inline(always)]
    pub(super) fn append(&mut self, kernel: Runnable, mut input: &[u8], counter: u64, mode: &Mode) {
        let at = usize::from(self.block_len);
        if at > 0 {
            if at < BLOCK_LEN {
                let take = input.len().min(BLOCK_LEN - at);
                self.block[at..at + take].copy_from_slice(&input[..take]);
                self.block_len += take as u8;
                input = &input[take..];
            }
            if input.is_empty() {
                return;
            }
            self.compress(kernel, None, counter, mode);
        }
        // The last block stays in the buffer, full or not: it may need the flags of the chunk's end.
        if input.len() > BLOCK_LEN {
            let (blocks, more) = input.split_at((input.len() - 1) / BLOCK_LEN * BLOCK_LEN);
            self.compress(kernel, Some(blocks), counter, mode);
            input = more;
        }
        self.block = [0; BLOCK_LEN];
        block::copy_short(&mut self.block, input);
        self.block_len = input.len() as u8;
    }

    /// Compresses whole blocks, or the one in the buffer.
    #[inline(always)]
    fn compress(&mut self, kernel: Runnable, blocks: Option<&[u8]>, counter: u64, mode: &Mode) {
        let flags = Flags { each: mode.flags, first: self.start_flag(), last: 0, padded: false };
        let blocks = blocks.unwrap_or(&self.block);
        kernel.compress(&mut self.cv, blocks, counter, flags);
        self.blocks += (blocks.len() / BLOCK_LEN) as u8;
    }

    pub(crate) fn node(&self, counter: u64, mode: &Mode) -> Node {
        Node {
            cv: self.cv,
            block: self.block,
            block_len: self.block_len,
            counter,
            flags: mode.flags | self.start_flag() | CHUNK_END,
        }
    }
}
