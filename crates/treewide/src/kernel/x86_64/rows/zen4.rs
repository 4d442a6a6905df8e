//! Rows for Zen 4: rotations are taken off the critical path.
//!
//! On Zen 4 rotations take two cycles, and shifts and exclusive ors of three operands one. Each half of G (two in
//! the columns of a round and two in its diagonals, 28 in a block) has two rotations, each of some x ^ y, where y
//! is what the chain of operations waits for, and x has been there for some time. The exclusive or of both rotated
//! is as good: x is rotated before y is there, and y is shifted to both sides and put to it by one operation, two
//! cycles after it is there, not three. So a half of G is a chain of six cycles for eight.
//!
//! That makes 185 to 199 cycles a block for 227, not 168: the chain still waits for operations outside it.
//! Rotations, shifts and byte shuffles have two pipes of four, and no operation of one cycle can begin there a
//! cycle after one of two, as both would end at once. So messages are not shuffled from round to round (220
//! cycles): each is one permutation of the block, to memory, from where additions take it. And the order of
//! instructions matters; with rotations before the additions compilers make the best of all orders that were tried
//! (`results/zen4-2vcpu/limits.md#one-lane`).

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::vector::RowVector;
use crate::kernel::rows::{arrange, to_columns, to_diagonals};
use crate::spec::SCHEDULE;

/// A row of `N` lanes that has what this takes.
///
/// # Safety
/// As for [`RowVector`]; it is four words of each lane and nothing else.
pub(super) unsafe trait Early<const N: usize>: RowVector<N> {
    /// The same rows; the compiler computes all of them before anything that uses one.
    unsafe fn ordered_triple(rows: [Self; 3]) -> [Self; 3];
    /// The exclusive or with the words of another row, those rotated right by `R`; `LEFT` is 32 less that.
    unsafe fn xor_rotated<const R: i32, const LEFT: i32>(self, late: Self) -> Self;
    /// Sixteen words of the blocks of all lanes, by an order of [`Orders`].
    unsafe fn pick(blocks: &[__m512i; N], order: __m512i) -> __m512i;
}

/// Rounds after the first.
const REST: usize = 6;

/// The messages of the rounds after the first.
#[repr(C, align(64))]
struct Messages<R>([[R; 4]; REST]);

/// Where the words of the message of each round after the first are, in vectors of 512 bits: the four rows of it, of
/// each its lanes, of each four words. Those of lane 1 count from 16 on.
#[repr(C, align(64))]
struct Orders<const N: usize>([[[u32; 16]; N]; REST]);

impl<const N: usize> Orders<N> {
    const ALL: Self = {
        // As `arrange` has them: where in the schedule of a round.
        const PLACES: [usize; 16] = [0, 2, 4, 6, 1, 3, 5, 7, 14, 8, 10, 12, 15, 9, 11, 13];
        let mut all = [[[0; 16]; N]; REST];
        let mut i = 0;
        while i < REST * 16 * N {
            let (round, at) = (i / (16 * N), i % (16 * N));
            let (row, lane, word) = (at / (4 * N), at / 4 % N, at % 4);
            let word = SCHEDULE[1 + round][PLACES[4 * row + word]];
            all[round][at / 16][at % 16] = (16 * lane + word) as u32;
            i += 1;
        }
        Self(all)
    };
}

/// Half of G on the four columns or diagonals.
#[inline(always)]
unsafe fn half_g<
    R: Early<N>,
    const N: usize,
    const D: i32,
    const D_LEFT: i32,
    const B: i32,
    const B_LEFT: i32,
>(
    v: &mut [R; 4],
    m: R,
) {
    let early = [v[0].add(m), v[3].rotate::<D, D_LEFT>(), v[1].rotate::<B, B_LEFT>()];
    let [a, d, b] = R::ordered_triple(early);
    v[0] = a.add(v[1]);
    v[3] = d.xor_rotated::<D, D_LEFT>(v[0]);
    v[2] = v[2].add(v[3]);
    v[1] = b.xor_rotated::<B, B_LEFT>(v[2]);
}

#[inline(always)]
unsafe fn round<R: Early<N>, const N: usize>(v: &mut [R; 4], m: [R; 4]) {
    half_g::<R, N, 16, 16, 12, 20>(v, m[0]);
    half_g::<R, N, 8, 24, 7, 25>(v, m[1]);
    to_diagonals(v);
    half_g::<R, N, 16, 16, 12, 20>(v, m[2]);
    half_g::<R, N, 8, 24, 7, 25>(v, m[3]);
    to_columns(v);
}

/// The seven rounds; see [`RowVector::rounds`].
#[inline(always)]
pub(super) unsafe fn rounds<R: Early<N>, const N: usize>(
    v: &mut [R; 4],
    inputs: &[*const u8; N],
    offset: usize,
) {
    const { assert!(size_of::<Messages<R>>() == REST * N * size_of::<__m512i>()) };
    let mut blocks = [_mm512_setzero_si512(); N];
    for (block, input) in blocks.iter_mut().zip(inputs) {
        *block = _mm512_loadu_si512(input.add(offset).cast());
    }
    let mut messages = MaybeUninit::<Messages<R>>::uninit();
    let to: *mut [__m512i; N] = messages.as_mut_ptr().cast();
    for round in 0..REST {
        for part in 0..N {
            let order = const { &Orders::<N>::ALL }.0[round][part].as_ptr();
            let words = R::pick(&blocks, _mm512_load_si512(order.cast()));
            (*to.add(round))[part] = words;
        }
    }
    let load = |part: usize| R::load(inputs, offset + 16 * part);
    round(v, arrange([load(0), load(1), load(2), load(3)]));
    // What was stored is loaded as it is needed; the compiler would cut registers into pieces.
    let mut messages = messages.as_ptr();
    asm!("/* {0} */", inout(reg) messages, options(nostack, preserves_flags));
    for message in &(*messages).0 {
        round(v, *message);
    }
}
