//! Four lanes as rows: each lane's state is a 4 by 4 square, one row in each of four
//! vectors, one lane in each 128-bit part of them.
//!
//! ```text
//!            lane 0           lane 1     lane 2     lane 3
//! row 0    [ v0  v1  v2  v3 | v0 ...   | v0 ...   | v0 ... ]
//! row 1    [ v4  v5  v6  v7 | v4 ...
//! row 2    [ v8  v9 v10 v11 | v8 ...
//! row 3    [ v12 v13 v14 v15| v12 ...
//! ```
//!
//! A transposed state of sixteen vectors keeps four chains of operations going, and where vector
//! operations that wait in a crowd take longer (Zen 5) each link of the chains does. Rows need a
//! quarter of the operations and one chain, which for few lanes is what the time depends on.
//!
//! For the diagonals the rows are rotated against each other: all but row 1, which is the one that
//! is computed last, so no rotation is waited for.

use core::arch::asm;
use core::arch::x86_64::*;

use super::group::Group;
use super::lanes::{Pass, Root};
use crate::spec::{BLOCK_LEN, ChainingValue, IV, Words};

/// Four lanes.
pub(super) struct Rows;

/// Blocks that are fetched ahead of each lane, should they be in no cache.
pub(super) const AHEAD: usize = 4;

/// Word indices for a permutation of two vectors that is the same in every 128-bit part: 0 to 3
/// are the part's words of the first vector, 4 to 7 those of the second.
#[inline(always)]
unsafe fn permute2(a: __m512i, b: __m512i, pick: [i32; 4]) -> __m512i {
    // SAFETY: AVX-512F.
    unsafe {
        let at = |part: i32, i: usize| 4 * part + (pick[i] & 3) + (pick[i] >> 2) * 16;
        let index = _mm512_setr_epi32(
            at(0, 0),
            at(0, 1),
            at(0, 2),
            at(0, 3),
            at(1, 0),
            at(1, 1),
            at(1, 2),
            at(1, 3),
            at(2, 0),
            at(2, 1),
            at(2, 2),
            at(2, 3),
            at(3, 0),
            at(3, 1),
            at(3, 2),
            at(3, 3),
        );
        _mm512_permutex2var_epi32(a, index, b)
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

/// The message words of four lanes in the order of the first round: for the columns the first and
/// the second word of each G, then the same for the diagonals, as row 1 sees them.
///
/// `blocks[i]` is the block of lane `i`.
#[inline(always)]
unsafe fn arrange(blocks: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: AVX-512F.
    unsafe {
        let [w0, w4, w8, w12] = transpose_parts(blocks);
        [
            permute2(w0, w4, [0, 2, 4, 6]),
            permute2(w0, w4, [1, 3, 5, 7]),
            permute2(w8, w12, [6, 0, 2, 4]),
            permute2(w8, w12, [7, 1, 3, 5]),
        ]
    }
}

/// The arranged message of the next round (table 2 of the paper).
#[inline(always)]
unsafe fn permute([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // In `arrange`d order: a = 0 2 4 6, b = 1 3 5 7, c = 14 8 10 12, d = 15 9 11 13.
    // SAFETY: AVX-512F.
    unsafe {
        let next_a = permute2(a, b, [1, 5, 7, 2]); // 2 3 7 4
        let next_b = permute2(permute2(a, c, [3, 6, 0, 0]), d, [0, 1, 2, 7]); // 6 10 0 13
        let next_c = permute2(permute2(d, c, [0, 0, 7, 1]), b, [0, 4, 2, 3]); // 15 1 12 9
        let next_d = permute2(permute2(c, d, [1, 6, 0, 0]), b, [0, 1, 6, 2]); // 8 11 5 14
        [next_a, next_b, next_c, next_d]
    }
}

/// The same vector, of which the compiler knows nothing any more.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn hidden(mut vector: __m512i) -> __m512i {
    // SAFETY: nothing happens; AVX-512F.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}

/// Half of G on four columns or diagonals of all lanes.
#[inline(always)]
unsafe fn half_g<const R1: i32, const R2: i32>(v: &mut [__m512i; 4], m: __m512i) {
    // SAFETY: AVX-512F.
    unsafe {
        // In this order, which the compiler would change: row 1 is what is waited for.
        v[0] = _mm512_add_epi32(hidden(_mm512_add_epi32(v[0], m)), v[1]);
        v[3] = _mm512_ror_epi32::<R1>(_mm512_xor_si512(v[3], v[0]));
        v[2] = _mm512_add_epi32(v[2], v[3]);
        v[1] = _mm512_ror_epi32::<R2>(_mm512_xor_si512(v[1], v[2]));
    }
}

/// The seven rounds. Rows 0 and 1 of `v` are the chaining value.
#[inline(always)]
unsafe fn rounds(v: &mut [__m512i; 4], mut m: [__m512i; 4]) {
    // SAFETY: AVX-512F.
    unsafe {
        for _ in 0..7 {
            half_g::<16, 12>(v, m[0]);
            half_g::<8, 7>(v, m[1]);
            v[0] = _mm512_shuffle_epi32::<0b10_01_00_11>(v[0]);
            v[3] = _mm512_shuffle_epi32::<0b01_00_11_10>(v[3]);
            v[2] = _mm512_shuffle_epi32::<0b00_11_10_01>(v[2]);
            half_g::<16, 12>(v, m[2]);
            half_g::<8, 7>(v, m[3]);
            v[0] = _mm512_shuffle_epi32::<0b00_11_10_01>(v[0]);
            v[3] = _mm512_shuffle_epi32::<0b01_00_11_10>(v[3]);
            v[2] = _mm512_shuffle_epi32::<0b10_01_00_11>(v[2]);
            m = permute(m);
        }
    }
}

/// The same four words for every lane.
#[inline(always)]
pub(super) unsafe fn broadcast(words: &[u32]) -> __m512i {
    let words: &[u32; 4] = words.first_chunk().expect("four words");
    // SAFETY: AVX-512F; sixteen readable bytes.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(words.as_ptr().cast())) }
}

#[inline(always)]
pub(super) unsafe fn load(words: &[u32; 4]) -> __m128i {
    // SAFETY: sixteen readable bytes.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

/// Row 3 of four lanes. By shuffles, as a load of what was stored word by word would wait.
#[inline(always)]
pub(super) unsafe fn row_3(low: __m128i, high: __m128i, lens: __m128i, flags: __m128i) -> __m512i {
    // SAFETY: AVX-512F.
    unsafe {
        let two = |counters, rest| {
            let first = _mm256_castsi128_si256(_mm_unpacklo_epi64(counters, rest));
            _mm256_inserti128_si256::<1>(first, _mm_unpackhi_epi64(counters, rest))
        };
        let first = two(_mm_unpacklo_epi32(low, high), _mm_unpacklo_epi32(lens, flags));
        let second = two(_mm_unpackhi_epi32(low, high), _mm_unpackhi_epi32(lens, flags));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
    }
}

// SAFETY: AVX-512F and, for the byte masks, AVX-512BW.
unsafe impl Pass<4> for Rows {
    #[inline(always)]
    unsafe fn hash(group: &Group<4>, key: &Words, out: *mut ChainingValue, count: usize) {
        // SAFETY: the caller vouches for the instruction set and the pointers; bytes outside the
        // masks are not read.
        unsafe {
            let mut cv = [broadcast(&key[..4]), broadcast(&key[4..])];
            let row = |lens, flags| row_3(load(&group.low), load(&group.high), lens, flags);
            let all = |word: u32| _mm_set1_epi32(word as i32);
            let whole = BLOCK_LEN as u32;
            let (mut now, each) =
                (row(all(whole), all(group.first)), row(all(whole), all(group.each)));
            let fetch = |line: usize| {
                for input in group.inputs {
                    _mm_prefetch::<_MM_HINT_T0>(input.wrapping_add(line * BLOCK_LEN).cast());
                }
            };
            if group.steps() > 1 {
                (1..AHEAD).for_each(fetch);
            }
            for step in 0..group.steps() {
                let mut v = [cv[0], cv[1], broadcast(&IV[..4]), now];
                let mut blocks = [_mm512_setzero_si512(); 4];
                let mut active = u16::MAX;
                if (step + 1) * BLOCK_LEN < group.shortest as usize {
                    fetch(step + AHEAD);
                    for (block, input) in blocks.iter_mut().zip(group.inputs) {
                        *block = _mm512_loadu_si512(input.add(step * BLOCK_LEN).cast());
                    }
                } else {
                    // Some lane ends here or has ended.
                    let block = group.block(step);
                    active = 0;
                    for (lane, words) in blocks.iter_mut().enumerate() {
                        let input = group.inputs[lane].wrapping_add(step * BLOCK_LEN).cast();
                        let mask = _bzhi_u64(u64::MAX, block.lens[lane]);
                        *words = _mm512_maskz_loadu_epi8(mask, input);
                        active |= (block.runs[lane] as u16 & 0b1111) << (4 * lane);
                    }
                    v[3] = row(load(&block.lens), load(&block.flags));
                }
                now = each;
                rounds(&mut v, arrange(blocks));
                for row in 0..2 {
                    cv[row] = match active {
                        u16::MAX => _mm512_xor_si512(v[row], v[row + 2]),
                        _ => _mm512_mask_xor_epi32(cv[row], active, v[row], v[row + 2]),
                    };
                }
            }
            let zero = _mm512_setzero_si512();
            let lanes = transpose_parts([cv[0], cv[1], zero, zero]);
            for (lane, row) in lanes.into_iter().enumerate().take(count) {
                _mm256_storeu_si256(out.add(lane).cast(), _mm512_castsi512_si256(row));
            }
        }
    }

    #[inline(always)]
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
        // SAFETY: the caller vouches for the instruction set and has room for `count` blocks.
        unsafe {
            let cv = [broadcast(&root.cv[..4]), broadcast(&root.cv[4..])];
            let (mut low, mut high) = ([0; 4], [0; 4]);
            for lane in 0..4 {
                let counter = counter.wrapping_add(lane as u64);
                low[lane] = counter as u32;
                high[lane] = (counter >> 32) as u32;
            }
            let (len, flags) = ([root.block_len; 4], [u32::from(root.flags); 4]);
            let row = row_3(load(&low), load(&high), load(&len), load(&flags));
            let mut v = [cv[0], cv[1], broadcast(&IV[..4]), row];
            rounds(&mut v, arrange([_mm512_loadu_si512(root.block.as_ptr().cast()); 4]));
            let blocks = transpose_parts([
                _mm512_xor_si512(v[0], v[2]),
                _mm512_xor_si512(v[1], v[3]),
                _mm512_xor_si512(v[2], cv[0]),
                _mm512_xor_si512(v[3], cv[1]),
            ]);
            for (lane, block) in blocks.into_iter().enumerate().take(count) {
                _mm512_storeu_si512(out.add(lane).cast(), block);
            }
        }
    }
}
