//! A row of a few lanes, how it gets into its vector and out of it, and the rounds and blocks of it that the compiler makes.

use core::arch::x86_64::*;

use crate::kernel::pair::half;
use crate::kernel::rows::{Row, arrange, round};
use crate::spec::{BLOCK_LEN, IV, Words};

/// A row of `N` lanes, and how it gets into its vector and out of it.
///
/// # Safety
/// As for [`Row`].
pub(super) unsafe trait RowVector<const N: usize>: Row {
    /// The same four words for every lane.
    unsafe fn broadcast(words: &[u32; 4]) -> Self;
    /// The 16 bytes at `inputs[lane] + offset` of every lane.
    unsafe fn load(inputs: &[*const u8; N], offset: usize) -> Self;
    /// Row 3 before the rounds, of these counters (low and high words), lengths and flags.
    unsafe fn row_3(low: &[u32; N], high: &[u32; N], lens: &[u32; N], flags: &[u32; N]) -> Self;
    /// The lanes of `new` for which `live` has ones, the others of `self`.
    unsafe fn replace(self, live: &[u32; N], new: Self) -> Self;
    /// Writes 16 bytes of each of the first `count` lanes to `out` and on, `stride` bytes apart.
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize);

    /// Whether there are masked loads (AVX-512BW and VL, and BMI2).
    const MASKS: bool = false;

    /// Whether [`blocks`](Self::blocks) is assembly, which takes a single block too.
    const ASSEMBLED: bool = false;

    /// The seven rounds with the message of the first, as [`arrange`] has it.
    #[inline(always)]
    unsafe fn arranged_rounds(v: &mut [Self; 4], m: [Self; 4]) {
        compiled_rounds(v, m)
    }

    /// The same with the message at `inputs[lane] + offset` of every lane.
    #[inline(always)]
    unsafe fn rounds(v: &mut [Self; 4], inputs: &[*const u8; N], offset: usize) {
        loaded_rounds(v, inputs, offset)
    }

    /// Compresses `count` blocks of each lane, one at least, one behind the other from `offset` on.
    #[inline(always)]
    unsafe fn blocks(
        rows: &mut RowOperands<Self>,
        inputs: &[*const u8; N],
        offset: usize,
        count: usize,
    ) {
        compiled_blocks(rows, inputs, offset, count)
    }
}

/// Rows 0 and 1 before the rounds: the same chaining value in every lane.
#[inline(always)]
pub(super) unsafe fn rows_0_1<R: RowVector<N>, const N: usize>(cv: &Words) -> [R; 2] {
    [R::broadcast(half(cv, 0)), R::broadcast(half(cv, 1))]
}

/// Row 2 before the rounds.
#[inline(always)]
unsafe fn row_2<R: RowVector<N>, const N: usize>() -> R {
    R::broadcast(IV.first_chunk().expect("four words"))
}

/// [`RowVector::rounds`] by the arranged message.
#[inline(always)]
pub(super) unsafe fn loaded_rounds<R: RowVector<N>, const N: usize>(
    v: &mut [R; 4],
    inputs: &[*const u8; N],
    offset: usize,
) {
    let load = |part: usize| R::load(inputs, offset + 16 * part);
    R::arranged_rounds(v, arrange([load(0), load(1), load(2), load(3)]))
}

/// [`RowVector::arranged_rounds`] by the compiler.
#[inline(always)]
pub(super) unsafe fn compiled_rounds<R: Row>(v: &mut [R; 4], mut m: [R; 4]) {
    for _ in 0..6 {
        m = round::<R, false>(v, m);
    }
    round::<R, true>(v, m);
}

/// What [`RowVector::blocks`] reads and writes in addition to its inputs.
pub(in crate::kernel::x86_64) struct RowOperands<R> {
    /// Rows 0 and 1: the chaining values.
    pub(super) cv: [R; 2],
    /// Rows 3 before the first block, before those between, and before the last if that is not the first.
    pub(super) tails: [R; 3],
}

/// [`RowVector::blocks`] by its rounds.
#[inline(always)]
pub(super) unsafe fn compiled_blocks<R: RowVector<N>, const N: usize>(
    rows: &mut RowOperands<R>,
    inputs: &[*const u8; N],
    offset: usize,
    count: usize,
) {
    let (mut cv, [mut tail, each, last]) = (rows.cv, rows.tails);
    let mut block = 0;
    while block < count {
        let offset = offset + block * BLOCK_LEN;
        if count > 1 {
            fetch(inputs, offset + AHEAD * BLOCK_LEN);
        }
        let mut v = begin(cv, tail);
        R::rounds(&mut v, inputs, offset);
        cv = fold(v);
        tail = if block + 2 == count { last } else { each };
        block += 1;
    }
    rows.cv = cv;
}

/// Asks for the cache line at this place of each lane, which need not exist.
#[inline(always)]
pub(super) fn fetch<const N: usize>(inputs: &[*const u8; N], offset: usize) {
    let mut lane = 0;
    while lane < N {
        // SAFETY: a hint.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(inputs[lane].wrapping_add(offset).cast()) }
        lane += 1;
    }
}

/// Blocks that are fetched ahead of each lane, should they be in no cache.
pub(super) const AHEAD: usize = 4;

/// The rows before the rounds of a compression.
#[inline(always)]
pub(super) unsafe fn begin<R: RowVector<N>, const N: usize>([a, b]: [R; 2], tail: R) -> [R; 4] {
    [a, b, row_2(), tail]
}

/// After them the next chaining value.
#[inline(always)]
pub(super) unsafe fn fold<R: Row>([a, b, c, d]: [R; 4]) -> [R; 2] {
    [a.xor(c), b.xor(d)]
}
