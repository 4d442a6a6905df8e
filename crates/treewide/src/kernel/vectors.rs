//! Shared by vectors of real registers.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![allow(dead_code, unused_imports, unused_macros, reason = "only some targets have kernels of it")]

/// Implements `splat` and `load` for this number of lanes, and operations on two vectors, each by its intrinsic.
macro_rules! operations {
    ($lanes:literal: $splat:ident, $load:ident; $($name:ident: $intrinsic:ident),*) => {
        #[inline(always)]
        #[allow(unused_unsafe, reason = "as below")]
        unsafe fn splat(word: u32) -> Self {
            Self::new($splat(word as _))
        }
        #[inline(always)]
        unsafe fn load(words: &[u32; $lanes]) -> Self {
            Self::new($load(words.as_ptr().cast()))
        }
        operations!($($name: $intrinsic),*);
    };
    ($($name:ident: $intrinsic:ident),*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe, reason = "safe where a whole module has the instructions, or none")]
        unsafe fn $name(self, other: Self) -> Self {
            Self::new($intrinsic(self.0, other.0))
        }
    )*};
}
pub(super) use operations;

/// [`Vector`]'s compressions by routines of assembly: `(cv, message, tail, out)`, where arrays are vectors.
macro_rules! compressions {
    ($compress:expr, $compress_xof:expr) => {
        #[inline(always)]
        unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
            let (cv, message, tail) = (cv.as_mut_ptr(), message.as_ptr(), tail.as_ptr());
            ($compress)(cv.cast(), message.cast(), tail.cast(), cv.cast())
        }
        #[inline(always)]
        unsafe fn compress_xof(
            cv: &[Self; 8],
            message: &[Self; 16],
            tail: &[Self; 4],
        ) -> [Self; 16] {
            let (cv, message, tail) = (cv.as_ptr(), message.as_ptr(), tail.as_ptr());
            let mut out = core::mem::MaybeUninit::<[Self; 16]>::uninit();
            ($compress_xof)(cv.cast(), message.cast(), tail.cast(), out.as_mut_ptr().cast());
            out.assume_init()
        }
    };
}
pub(super) use compressions;
