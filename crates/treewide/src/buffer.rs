//! Buffers of input. With the feature `zeroize` they are wiped before they are freed.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

#[derive(Default)]
pub(crate) struct Buffer(pub(crate) Vec<u8>);

impl Deref for Buffer {
    type Target = Vec<u8>;

    #[inline(always)]
    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

#[cfg(feature = "zeroize")]
impl Drop for Buffer {
    fn drop(&mut self) {
        // Also what was in it before.
        self.0.clear();
        zeroize::Zeroize::zeroize(self.0.spare_capacity_mut());
    }
}
