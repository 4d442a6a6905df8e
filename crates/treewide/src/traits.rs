//! The traits of the `digest` crate: `Digest`, `Mac`, `ExtendableOutput` and their parts.

pub use digest;

use digest::array::Array;
use digest::common::{self, BlockSizeUser, KeySizeUser};
use digest::typenum::{U32, U64};
use digest::{
    ExtendableOutput, ExtendableOutputReset, FixedOutput, FixedOutputReset, HashMarker, KeyInit,
    MacMarker, OutputSizeUser, Reset, Update, XofReader,
};

use crate::hasher::Hasher;
use crate::xof::OutputReader;

impl HashMarker for Hasher {}

impl MacMarker for Hasher {}

impl Update for Hasher {
    #[inline]
    fn update(&mut self, data: &[u8]) {
        Hasher::update(self, data);
    }
}

impl Reset for Hasher {
    #[inline]
    fn reset(&mut self) {
        Hasher::reset(self);
    }
}

impl OutputSizeUser for Hasher {
    type OutputSize = U32;
}

impl FixedOutput for Hasher {
    #[inline]
    fn finalize_into(self, out: &mut Array<u8, U32>) {
        out.copy_from_slice(self.finalize().as_bytes());
    }
}

impl FixedOutputReset for Hasher {
    #[inline]
    fn finalize_into_reset(&mut self, out: &mut Array<u8, U32>) {
        out.copy_from_slice(self.finalize().as_bytes());
        Hasher::reset(self);
    }
}

impl ExtendableOutput for Hasher {
    type Reader = OutputReader;

    #[inline]
    fn finalize_xof(self) -> OutputReader {
        Hasher::finalize_xof(&self)
    }
}

impl ExtendableOutputReset for Hasher {
    #[inline]
    fn finalize_xof_reset(&mut self) -> OutputReader {
        let reader = Hasher::finalize_xof(self);
        Hasher::reset(self);
        reader
    }
}

impl XofReader for OutputReader {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) {
        self.fill(buffer);
    }
}

impl KeySizeUser for Hasher {
    type KeySize = U32;
}

impl BlockSizeUser for Hasher {
    type BlockSize = U64;
}

impl KeyInit for Hasher {
    #[inline]
    fn new(key: &common::Key<Self>) -> Self {
        Hasher::new_keyed(&(*key).into())
    }
}
