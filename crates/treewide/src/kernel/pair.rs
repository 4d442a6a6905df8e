//! Two vectors side by side: each fills the time in which the other waits.
//!
//! Columns and rows are both made of pairs: 32 lanes as two columns of sixteen, four lanes as two rows of two.
//! Where the order of instructions matters, it is fixed: in assembly for columns, by [`Row::ordered_pair`](super::rows::Row)
//! for rows.

#![allow(dead_code, unused_imports, unused_macros, reason = "only some targets have kernels of it")]

/// Two vectors as one of twice the lanes: those of the first come first.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Pair<V>(pub(super) [V; 2]);

/// The words of one of the two.
#[inline(always)]
pub(super) fn state<V: Copy, const W: usize>(words: &[Pair<V>; W], index: usize) -> [V; W] {
    let mut state = [words[0].0[index]; W];
    for (word, both) in state.iter_mut().zip(words) {
        *word = both.0[index];
    }
    state
}

/// The first half of an array, or the second.
#[inline(always)]
pub(super) fn half<T, const N: usize, const M: usize>(array: &[T; N], second: usize) -> &[T; M] {
    const { assert!(2 * M == N) };
    assert!(second < 2, "there are two");
    // SAFETY: just checked.
    unsafe { &*array.as_ptr().add(second * M).cast() }
}

/// Implements a [`Vector`](crate::kernel::columns::Vector) by two vectors with half of its lanes, except for rounds and loads
/// of blocks.
macro_rules! by_halves {
    ($lanes:literal: $half:ty, $of_half:literal) => {
        #[inline(always)]
        unsafe fn splat(word: u32) -> Self {
            Self([<$half>::splat(word); 2])
        }
        #[inline(always)]
        unsafe fn load(words: &[u32; $lanes]) -> Self {
            Self([<$half>::load(half(words, 0)), <$half>::load(half(words, 1))])
        }
        crate::kernel::pair::both!(xor, and);
        #[inline(always)]
        unsafe fn store_cvs(cv: &[Self; 8], out: *mut crate::spec::ChainingValue, count: usize) {
            const HALF: usize = $of_half;
            let [low, high] = [state(cv, 0), state(cv, 1)];
            if count == $lanes {
                // Of known number: the compiler stores two lanes at once.
                <$half>::store_cvs(&low, out, HALF);
                <$half>::store_cvs(&high, out.add(HALF), HALF);
            } else {
                <$half>::store_cvs(&low, out, count.min(HALF));
                <$half>::store_cvs(&high, out.wrapping_add(HALF), count.saturating_sub(HALF));
            }
        }
        #[inline(always)]
        unsafe fn store_blocks(
            words: &[Self; 16],
            out: *mut [u8; crate::spec::BLOCK_LEN],
            count: usize,
        ) {
            const HALF: usize = $of_half;
            <$half>::store_blocks(&state(words, 0), out, count.min(HALF));
            if count > HALF {
                <$half>::store_blocks(&state(words, 1), out.add(HALF), count - HALF);
            }
        }
    };
}
pub(super) use by_halves;

/// Implements operations on pairs of vectors, by twice the same.
macro_rules! both {
    ($($name:ident),*) => {$(
        #[inline(always)]
        unsafe fn $name(self, other: Self) -> Self {
            Self([self.0[0].$name(other.0[0]), self.0[1].$name(other.0[1])])
        }
    )*};
}
pub(super) use both;
