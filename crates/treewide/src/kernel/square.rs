//! Vectors that are transposed by the compiler's code: their loads of blocks, and their stores.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![allow(dead_code, unused_imports, unused_macros, reason = "only some targets have kernels of it")]

use core::mem::MaybeUninit;

use super::columns::Vector;

/// Vectors that can be transposed: as many of them as they have lanes.
///
/// # Safety
/// As for [`Vector`].
pub(super) unsafe trait Square<const N: usize>: Copy {
    /// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
    unsafe fn transpose(rows: [Self; N]) -> [Self; N];
    unsafe fn load_row(from: *const u8) -> Self;
    unsafe fn store_row(self, to: *mut u8);
}

/// [`Vector::load_blocks`]: rows, transposed.
#[inline(always)]
pub(super) unsafe fn load_blocks<V: Vector<N> + Square<N>, const N: usize>(
    inputs: &[*const u8; N],
    offset: usize,
    message: &mut [MaybeUninit<V>; 16],
) {
    for part in 0..16 / N {
        let words: [V; N] = load_words(inputs, offset + 4 * N * part);
        for (to, word) in message[N * part..].iter_mut().zip(words) {
            to.write(word);
        }
    }
}

/// As many words of the blocks as there are lanes, from an offset on.
#[inline(always)]
pub(super) unsafe fn load_words<V: Vector<N> + Square<N>, const N: usize>(
    inputs: &[*const u8; N],
    offset: usize,
) -> [V; N] {
    let mut rows = [V::splat(0); N];
    for (row, input) in rows.iter_mut().zip(inputs) {
        *row = V::load_row(input.add(offset));
    }
    V::transpose(rows)
}

/// Stores rows of `WORDS` words, the first `count` of the lanes.
#[inline(always)]
pub(super) unsafe fn store_rows<V: Square<N>, const N: usize, const WORDS: usize>(
    words: &[V; WORDS],
    out: *mut u8,
    count: usize,
) {
    for part in 0..WORDS / N {
        let rows = V::transpose(*words[N * part..].first_chunk().expect("a square"));
        for (lane, row) in rows.into_iter().enumerate().take(count) {
            row.store_row(out.add(4 * (lane * WORDS + N * part)));
        }
    }
}

/// Implements [`Square`] by a function for the vectors inside, and by intrinsics.
macro_rules! square {
    ($vector:ident $(<$core:ident: $bound:path>)? $([$flag:ident])?, $lanes:literal: $transpose:ident, $load:ident, $store:ident) => {
        // SAFETY: as for `Vector`.
        unsafe impl$(<$core: $bound>)? $(<const $flag: bool>)? crate::kernel::square::Square<$lanes>
            for $vector$(<$core>)? $(<$flag>)?
        {
            #[inline(always)]
            #[allow(unused_unsafe, reason = "as for operations")]
            unsafe fn transpose(rows: [Self; $lanes]) -> [Self; $lanes] {
                $transpose(rows.map(|row| row.0)).map(Self::new)
            }
            #[inline(always)]
            unsafe fn load_row(from: *const u8) -> Self {
                Self::new($load(from.cast()))
            }
            #[inline(always)]
            unsafe fn store_row(self, to: *mut u8) {
                $store(to.cast(), self.0)
            }
        }
    };
}
pub(super) use square;

/// [`Vector`]'s loads of blocks by this function, and its stores of a [`Square`].
macro_rules! by_rows {
    ($lanes:literal: $load_blocks:ident) => {
        #[inline(always)]
        unsafe fn load_blocks(
            inputs: &[*const u8; $lanes],
            offset: usize,
            message: &mut [core::mem::MaybeUninit<Self>; 16],
        ) {
            $load_blocks(inputs, offset, message)
        }
        #[inline(always)]
        unsafe fn store_cvs(cv: &[Self; 8], out: *mut crate::spec::ChainingValue, count: usize) {
            crate::kernel::square::store_rows(cv, out.cast(), count)
        }
        #[inline(always)]
        unsafe fn store_blocks(
            words: &[Self; 16],
            out: *mut [u8; crate::spec::BLOCK_LEN],
            count: usize,
        ) {
            crate::kernel::square::store_rows(words, out.cast(), count)
        }
    };
}
pub(super) use by_rows;
