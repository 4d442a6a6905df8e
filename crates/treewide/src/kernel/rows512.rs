//! Two lanes and four as rows (see `rows.rs`), with AVX-512, in vectors of 256 bits and of 512.

use core::arch::asm;
use core::arch::x86_64::*;
use core::ptr;

use super::group::{Contiguous, Group};
use super::lanes::{Pass, Root};
use super::rows::{Row, rounds};
use crate::spec::{BLOCK_LEN, ChainingValue, IV, Words};

/// Implements [`Row`] by these intrinsics.
macro_rules! row {
    ($row:ty, $reg:ident, $add:ident $xor:ident $rotate:ident $shuffle:ident $two:ident
     $from_float:ident $to_float:ident $last_two:ident, $with_last:expr) => {
        // SAFETY: AVX-512F and, for vectors of fewer than 512 bits, AVX-512VL.
        unsafe impl Row for $row {
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $xor(self, other) }
            }
            #[inline(always)]
            unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
                // SAFETY: as above.
                unsafe { $rotate::<R>(self) }
            }
            #[inline(always)]
            unsafe fn shuffle<const PICK: i32>(self) -> Self {
                // SAFETY: as above.
                unsafe { $shuffle::<PICK>(self) }
            }
            #[inline(always)]
            unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $from_float($two::<PICK>($to_float(self), $to_float(other))) }
            }
            #[inline(always)]
            unsafe fn last_two(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $last_two(self, other) }
            }
            #[inline(always)]
            unsafe fn with_last(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $with_last(self, other) }
            }
            #[inline(always)]
            unsafe fn hidden(self) -> Self {
                #[inline]
                #[target_feature(enable = "avx512f")]
                unsafe fn pass(mut row: $row) -> $row {
                    // SAFETY: nothing happens.
                    unsafe {
                        asm!(
                            "/* {0} */",
                            inout($reg) row,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    row
                }
                // SAFETY: as above.
                unsafe { pass(self) }
            }
        }
    };
}

row!(
    __m256i, ymm_reg,
    _mm256_add_epi32 _mm256_xor_si256 _mm256_ror_epi32 _mm256_shuffle_epi32 _mm256_shuffle_ps
    _mm256_castps_si256 _mm256_castsi256_ps _mm256_unpackhi_epi32,
    |a, b| _mm256_blend_epi32::<0x88>(a, b)
);
row!(
    __m512i, zmm_reg,
    _mm512_add_epi32 _mm512_xor_si512 _mm512_ror_epi32 _mm512_shuffle_epi32 _mm512_shuffle_ps
    _mm512_castps_si512 _mm512_castsi512_ps _mm512_unpackhi_epi32,
    |a, b| _mm512_mask_blend_epi32(0x8888, a, b)
);

/// A row of `N` lanes, and how it gets into its vector and out of it.
///
/// # Safety
/// As for [`Row`].
pub(super) unsafe trait Lanes<const N: usize>: Row {
    /// The same four words for every lane.
    unsafe fn broadcast(words: &[u32; 4]) -> Self;
    /// The 16 bytes at `inputs[lane] + offset` of every lane.
    unsafe fn load(inputs: &[*const u8; N], offset: usize) -> Self;
    /// Row 3 before the rounds, of these counters (low and high words), lengths and flags.
    unsafe fn row_3(low: &[u32; N], high: &[u32; N], lens: &[u32; N], flags: &[u32; N]) -> Self;
    /// The parts of `new` where `active` has ones, four for a lane, else of `self`.
    unsafe fn replace(self, active: u16, new: Self) -> Self;
    /// Writes 16 bytes of each of the first `count` lanes to `out` and on, `stride` bytes apart.
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize);
}

/// `a` below `b`.
#[inline(always)]
unsafe fn joined(a: __m128i, b: __m128i) -> __m256i {
    // SAFETY: AVX2.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b) }
}

#[inline(always)]
pub(super) unsafe fn load(words: &[u32; 4]) -> __m128i {
    // SAFETY: sixteen readable bytes.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

// SAFETY: AVX-512F and VL.
unsafe impl Lanes<2> for __m256i {
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        // SAFETY: AVX2.
        unsafe { _mm256_broadcastsi128_si256(load(words)) }
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 2], offset: usize) -> Self {
        // SAFETY: the caller has the bytes.
        unsafe {
            let part = |lane: usize| _mm_loadu_si128(inputs[lane].add(offset).cast());
            joined(part(0), part(1))
        }
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 2], high: &[u32; 2], lens: &[u32; 2], flags: &[u32; 2]) -> Self {
        // SAFETY: AVX2.
        unsafe {
            let part = |lane: usize| {
                let words = [low, high, lens, flags].map(|words| words[lane] as i32);
                _mm_setr_epi32(words[0], words[1], words[2], words[3])
            };
            joined(part(0), part(1))
        }
    }
    #[inline(always)]
    unsafe fn replace(self, active: u16, new: Self) -> Self {
        // SAFETY: AVX-512VL.
        unsafe { _mm256_mask_mov_epi32(self, active as u8, new) }
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
        // SAFETY: the caller has room.
        unsafe {
            _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(self));
            if count > 1 {
                _mm_storeu_si128(out.add(stride).cast(), _mm256_extracti128_si256::<1>(self));
            }
        }
    }
}

// SAFETY: AVX-512F.
unsafe impl Lanes<4> for __m512i {
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        // SAFETY: AVX-512F.
        unsafe { _mm512_broadcast_i32x4(load(words)) }
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 4], offset: usize) -> Self {
        // SAFETY: the caller has the bytes.
        unsafe {
            let part = |lane: usize| _mm_loadu_si128(inputs[lane].add(offset).cast());
            let row = _mm512_castsi128_si512(part(0));
            let row = _mm512_inserti32x4::<1>(row, part(1));
            let row = _mm512_inserti32x4::<2>(row, part(2));
            _mm512_inserti32x4::<3>(row, part(3))
        }
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 4], high: &[u32; 4], lens: &[u32; 4], flags: &[u32; 4]) -> Self {
        // SAFETY: AVX-512F.
        unsafe { row_3(load(low), load(high), load(lens), load(flags)) }
    }
    #[inline(always)]
    unsafe fn replace(self, active: u16, new: Self) -> Self {
        // SAFETY: AVX-512F.
        unsafe { _mm512_mask_mov_epi32(self, active, new) }
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
        // SAFETY: the caller has room.
        unsafe {
            let parts = [
                _mm512_extracti32x4_epi32::<0>(self),
                _mm512_extracti32x4_epi32::<1>(self),
                _mm512_extracti32x4_epi32::<2>(self),
                _mm512_extracti32x4_epi32::<3>(self),
            ];
            for (lane, part) in parts.into_iter().enumerate().take(count) {
                _mm_storeu_si128(out.add(lane * stride).cast(), part);
            }
        }
    }
}

/// Rows 0 and 1 before the rounds: the same chaining value in every lane.
#[inline(always)]
pub(super) unsafe fn rows_0_1<R: Lanes<N>, const N: usize>(cv: &Words) -> [R; 2] {
    let (low, high) = (cv.first_chunk(), cv.last_chunk());
    // SAFETY: the same contract.
    unsafe { [R::broadcast(low.expect("four words")), R::broadcast(high.expect("four words"))] }
}

/// Row 2 before the rounds.
#[inline(always)]
unsafe fn row_2<R: Lanes<N>, const N: usize>() -> R {
    // SAFETY: the same contract.
    unsafe { R::broadcast(IV.first_chunk().expect("four words")) }
}

/// Row 3 of four lanes. By shuffles, as a load of what was stored word by word would wait.
#[inline(always)]
pub(super) unsafe fn row_3(low: __m128i, high: __m128i, lens: __m128i, flags: __m128i) -> __m512i {
    // SAFETY: AVX-512F.
    unsafe {
        let two = |counters, rest| {
            joined(_mm_unpacklo_epi64(counters, rest), _mm_unpackhi_epi64(counters, rest))
        };
        let first = two(_mm_unpacklo_epi32(low, high), _mm_unpacklo_epi32(lens, flags));
        let second = two(_mm_unpackhi_epi32(low, high), _mm_unpackhi_epi32(lens, flags));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
    }
}

/// Transposes the 128-bit parts of four vectors.
#[inline(always)]
pub(super) unsafe fn transpose_parts(v: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: AVX-512F.
    unsafe {
        let [a, b, c, d] = v;
        let (ab_even, ab_odd) =
            (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (cd_even, cd_odd) =
            (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
        [
            _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even),
            _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even),
            _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd),
        ]
    }
}

/// As many lanes as vectors of this type have parts.
pub(super) struct Rows<R>(R);

/// Blocks that are fetched ahead of each lane, should they be in no cache.
pub(super) const AHEAD: usize = 4;

/// Stores the chaining values of the first `count` lanes.
#[inline(always)]
unsafe fn store<R: Lanes<N>, const N: usize>(cv: [R; 2], out: *mut ChainingValue, count: usize) {
    for (half, row) in cv.into_iter().enumerate() {
        // SAFETY: the caller has room.
        unsafe { row.store(out.cast::<u8>().add(16 * half), size_of::<ChainingValue>(), count) }
    }
}

// SAFETY: AVX-512F and VL and, for the byte masks, AVX-512BW.
unsafe impl<R: Lanes<N>, const N: usize> Pass<N> for Rows<R> {
    #[inline(always)]
    unsafe fn hash(group: &Group<N>, key: &Words, out: *mut ChainingValue, count: usize) {
        // SAFETY: the caller vouches for the instruction set and the pointers; bytes outside the
        // masks are not read.
        unsafe {
            let mut cv: [R; 2] = rows_0_1(key);
            let row =
                |lens: &[u32; N], flags: &[u32; N]| R::row_3(&group.low, &group.high, lens, flags);
            let whole = [BLOCK_LEN as u32; N];
            let (mut now, each) = (row(&whole, &[group.first; N]), row(&whole, &[group.each; N]));
            let fetch = |line: usize| {
                for input in group.inputs {
                    _mm_prefetch::<_MM_HINT_T0>(input.wrapping_add(line * BLOCK_LEN).cast());
                }
            };
            if group.steps() > 1 {
                (1..AHEAD).for_each(fetch);
            }
            // Blocks up to the first that is the last one of some lane; and that too if it is of all, and
            // whole.
            let runs = group.whole_blocks();
            for step in 0..runs {
                fetch(step + AHEAD);
                if group.ends_whole() && step == runs - 1 {
                    now = now.xor(R::row_3(&[0; N], &[0; N], &[0; N], &group.last));
                }
                let load = |part: usize| R::load(&group.inputs, step * BLOCK_LEN + 16 * part);
                let mut v = [cv[0], cv[1], row_2(), now];
                rounds(&mut v, [load(0), load(1), load(2), load(3)]);
                cv = [v[0].xor(v[2]), v[1].xor(v[3])];
                now = each;
            }
            for step in runs..group.steps() {
                let block = group.block(step);
                // As a masked load of what the lane has left, and zeros.
                let mut padded = [_mm512_setzero_si512(); N];
                let (mut inputs, mut active) = ([ptr::null(); N], 0);
                for (lane, padded) in padded.iter_mut().enumerate() {
                    let input = group.inputs[lane].wrapping_add(step * BLOCK_LEN).cast();
                    let mask = _bzhi_u64(u64::MAX, block.lens[lane]);
                    *padded = _mm512_maskz_loadu_epi8(mask, input);
                    inputs[lane] = (&raw const *padded).cast();
                    active |= (block.runs[lane] as u16 & 0b1111) << (4 * lane);
                }
                let load = |part: usize| R::load(&inputs, 16 * part);
                let mut v = [cv[0], cv[1], row_2(), row(&block.lens, &block.flags)];
                rounds(&mut v, [load(0), load(1), load(2), load(3)]);
                cv = [cv[0].replace(active, v[0].xor(v[2])), cv[1].replace(active, v[1].xor(v[3]))];
            }
            store(cv, out, count);
        }
    }

    #[inline(always)]
    unsafe fn hash_contiguous(
        blocks: &Contiguous,
        key: &Words,
        out: *mut ChainingValue,
        count: usize,
    ) {
        // SAFETY: the same contract.
        unsafe {
            let cv: [R; 2] = rows_0_1(key);
            let last = R::broadcast(&[0, 0, BLOCK_LEN as u32, blocks.flags()]);
            let inputs = blocks.inputs(count);
            let load = |part: usize| R::load(&inputs, 16 * part);
            let mut v = [cv[0], cv[1], row_2(), last];
            rounds(&mut v, [load(0), load(1), load(2), load(3)]);
            store([v[0].xor(v[2]), v[1].xor(v[3])], out, count);
        }
    }

    #[inline(always)]
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
        // SAFETY: the caller vouches for the instruction set and has room for `count` blocks.
        unsafe {
            let cv: [R; 2] = rows_0_1(root.cv);
            let (mut low, mut high) = ([0; N], [0; N]);
            for lane in 0..N {
                let counter = counter.wrapping_add(lane as u64);
                low[lane] = counter as u32;
                high[lane] = (counter >> 32) as u32;
            }
            let (len, flags) = ([root.block_len; N], [u32::from(root.flags); N]);
            let mut v = [cv[0], cv[1], row_2(), R::row_3(&low, &high, &len, &flags)];
            let load = |part: usize| R::load(&[root.block.as_ptr(); N], 16 * part);
            rounds(&mut v, [load(0), load(1), load(2), load(3)]);
            let rows = [v[0].xor(v[2]), v[1].xor(v[3]), v[2].xor(cv[0]), v[3].xor(cv[1])];
            for (part, row) in rows.into_iter().enumerate() {
                row.store(out.cast::<u8>().add(16 * part), BLOCK_LEN, count);
            }
        }
    }
}
