//! Which digests of a batch are nulls.

use std::sync::Arc;

/// Which digests there are: a bit for each, the lowest first, as Arrow has it. Without nulls there are no bits.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) bits: Arc<Vec<u8>>,
    pub(crate) nulls: usize,
}

impl Validity {
    /// States that the digest with this index is null. Each index is passed once.
    pub(crate) fn set_null(&mut self, at: usize) {
        self.grow_to(at + 1);
        self.nulls += 1;
        self.grow_to(at + 1);
        Arc::make_mut(&mut self.bits)[at / 8] &= !(1 << (at % 8));
    }

    /// States that there are `len` digests, at least.
    pub(crate) fn grow_to(&mut self, len: usize) {
        if self.nulls > 0 && len.div_ceil(8) > self.bits.len() {
            Arc::make_mut(&mut self.bits).resize(len.div_ceil(8), 0xff);
        }
    }

    /// Whether the digest with this index is there.
    pub(crate) fn has(&self, at: usize) -> bool {
        self.nulls == 0 || self.bits[at / 8] >> (at % 8) & 1 != 0
    }

    /// Puts bytes 0 into the places of nulls, of `length` bytes each.
    pub(crate) fn clear_nulls(&self, digests: &mut [u8], length: usize) {
        if self.nulls == 0 {
            return;
        }
        for (at, place) in digests.chunks_exact_mut(length).enumerate() {
            if !self.has(at) {
                place.fill(0);
            }
        }
    }
}
