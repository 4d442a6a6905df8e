//! One lane as rows (see `rows.rs`) in 128-bit registers.
//!
//! A chain of twelve operations for each of the fourteen half rounds, as in general registers
//! (`scalar.rs`), but with a third of the instructions. Which of the two is faster depends on how
//! many cycles an operation takes, and on how many a cycle begins: see `few_lanes.rs`.

use core::arch::asm;
use core::arch::x86_64::*;
use core::ptr;

use super::Flags;
use crate::spec::{BLOCK_LEN, IV, Words};

/// Where each byte comes from when every word rotates right by 16, and by 8.
const BY_16: [u64; 2] = [0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a];
const BY_8: [u64; 2] = [0x0407_0605_0003_0201, 0x0c0f_0e0d_080b_0a09];

/// The same vector, of which the compiler knows nothing any more.
#[inline(always)]
fn hidden(mut vector: __m128i) -> __m128i {
    // SAFETY: nothing happens.
    unsafe {
        asm!("/* {0} */", inout(xmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}

/// How words rotate right by `R`: by an instruction, or by a table of bytes or two shifts.
#[derive(Clone, Copy)]
struct Rotations<const ROTATES: bool>([__m128i; 2]);

impl<const ROTATES: bool> Rotations<ROTATES> {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: SSE2.
        unsafe {
            if ROTATES {
                return Self([_mm_setzero_si128(); 2]);
            }
            // Of a constant the compiler would make two shuffles, one after the other.
            let bytes = |words: [u64; 2]| _mm_loadu_si128(words.as_ptr().cast());
            Self([hidden(bytes(BY_16)), hidden(bytes(BY_8))])
        }
    }

    #[inline(always)]
    unsafe fn right<const R: i32, const LEFT: i32>(self, v: __m128i) -> __m128i {
        // SAFETY: AVX-512F and VL, or SSE4.1.
        unsafe {
            match R {
                _ if ROTATES => _mm_ror_epi32::<R>(v),
                16 => _mm_shuffle_epi8(v, self.0[0]),
                8 => _mm_shuffle_epi8(v, self.0[1]),
                _ => _mm_or_si128(_mm_srli_epi32::<R>(v), _mm_slli_epi32::<LEFT>(v)),
            }
        }
    }
}

/// Half of G on the four columns or diagonals; row 3 rotates by `D`, row 1 by `B`.
#[inline(always)]
unsafe fn half_g<const ROTATES: bool, const D: i32, const B: i32, const B_LEFT: i32>(
    v: &mut [__m128i; 4],
    m: __m128i,
    rotations: Rotations<ROTATES>,
) {
    // SAFETY: the same contract.
    unsafe {
        // In this order: row 1 is what is waited for.
        v[0] = _mm_add_epi32(hidden(_mm_add_epi32(v[0], m)), v[1]);
        v[3] = rotations.right::<D, D>(_mm_xor_si128(v[3], v[0]));
        v[2] = _mm_add_epi32(v[2], v[3]);
        v[1] = rotations.right::<B, B_LEFT>(_mm_xor_si128(v[1], v[2]));
    }
}

/// Words 0 and 1 picked from one vector, 2 and 3 from another.
#[inline(always)]
unsafe fn two_of_each<const PICK: i32>(a: __m128i, b: __m128i) -> __m128i {
    // SAFETY: SSE.
    unsafe { _mm_castps_si128(_mm_shuffle_ps::<PICK>(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
}

/// The message words of a block in the order of the first round: for the columns the first and the
/// second word of each G, then the same for the diagonals, as row 1 sees them.
#[inline(always)]
unsafe fn arrange(block: *const u8) -> [__m128i; 4] {
    // SAFETY: SSE2; 64 readable bytes.
    unsafe {
        let load = |word: usize| _mm_loadu_si128(block.add(4 * word).cast());
        let (w0, w4, w8, w12) = (load(0), load(4), load(8), load(12));
        [
            two_of_each::<0b10_00_10_00>(w0, w4),
            two_of_each::<0b11_01_11_01>(w0, w4),
            _mm_shuffle_epi32::<0b10_01_00_11>(two_of_each::<0b10_00_10_00>(w8, w12)),
            _mm_shuffle_epi32::<0b10_01_00_11>(two_of_each::<0b11_01_11_01>(w8, w12)),
        ]
    }
}

/// The arranged message of the next round (table 2 of the paper). Of a = 0 2 4 6, b = 1 3 5 7,
/// c = 14 8 10 12, d = 15 9 11 13 it makes 2 3 7 4, 6 10 0 13, 15 1 12 9, 8 11 5 14.
#[inline(always)]
unsafe fn permute([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    // A blend takes the words of its second vector where the mask has two bits.
    // SAFETY: SSE4.1.
    unsafe {
        [
            _mm_blend_epi16::<0b00_11_11_00>(
                _mm_shuffle_epi32::<0b10_00_00_01>(a),
                _mm_shuffle_epi32::<0b00_11_01_00>(b),
            ),
            _mm_blend_epi16::<0b11_00_11_00>(
                _mm_shuffle_epi32::<0b00_00_00_11>(a),
                _mm_shuffle_epi32::<0b11_00_10_00>(_mm_blend_epi16::<0b11_00_00_00>(c, d)),
            ),
            _mm_blend_epi16::<0b00_11_11_00>(
                _mm_shuffle_epi32::<0b01_00_00_00>(d),
                _mm_shuffle_epi32::<0b00_11_00_00>(_mm_blend_epi16::<0b00_11_11_11>(c, b)),
            ),
            _mm_blend_epi16::<0b00_11_00_00>(
                _mm_blend_epi16::<0b00_00_11_00>(
                    _mm_shuffle_epi32::<0b00_00_00_01>(c),
                    _mm_shuffle_epi32::<0b00_00_10_00>(d),
                ),
                b,
            ),
        ]
    }
}

/// The seven rounds. Rows 0 and 1 of `v` are the chaining value.
#[inline(always)]
unsafe fn rounds<const ROTATES: bool>(v: &mut [__m128i; 4], mut m: [__m128i; 4]) {
    // SAFETY: the same contract.
    unsafe {
        let rotations = Rotations::<ROTATES>::new();
        for _ in 0..7 {
            half_g::<ROTATES, 16, 12, 20>(v, m[0], rotations);
            half_g::<ROTATES, 8, 7, 25>(v, m[1], rotations);
            v[0] = _mm_shuffle_epi32::<0b10_01_00_11>(v[0]);
            v[3] = _mm_shuffle_epi32::<0b01_00_11_10>(v[3]);
            v[2] = _mm_shuffle_epi32::<0b00_11_10_01>(v[2]);
            half_g::<ROTATES, 16, 12, 20>(v, m[2], rotations);
            half_g::<ROTATES, 8, 7, 25>(v, m[3], rotations);
            v[0] = _mm_shuffle_epi32::<0b00_11_10_01>(v[0]);
            v[3] = _mm_shuffle_epi32::<0b01_00_11_10>(v[3]);
            v[2] = _mm_shuffle_epi32::<0b10_01_00_11>(v[2]);
            m = permute(m);
        }
    }
}

/// Compresses the blocks of a node; see [`super::Kernel`].
///
/// # Safety
/// `input` points to `len` readable bytes; SSE4.1.
#[inline(always)]
pub(super) unsafe fn compress(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = [0; BLOCK_LEN];
    // SAFETY: the caller vouches for the input.
    unsafe {
        padded_by::<false>(cv, input, len, counter, flags, |from, len| {
            ptr::copy_nonoverlapping(from, padded.as_mut_ptr(), len);
            padded.as_ptr()
        });
    }
}

/// [`compress`] with a way to pad: `pad(from, len)` returns a block of these bytes and zeros.
///
/// # Safety
/// As for [`compress`]; `pad` reads no further than the input. With `ROTATES` AVX-512F and VL, too.
#[inline(always)]
pub(super) unsafe fn padded_by<const ROTATES: bool>(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
    pad: impl FnOnce(*const u8, usize) -> *const u8,
) {
    let blocks = len.div_ceil(BLOCK_LEN).max(1);
    let last = input.wrapping_add((blocks - 1) * BLOCK_LEN);
    let last_len = len - (blocks - 1) * BLOCK_LEN;
    let padded = if last_len == BLOCK_LEN { last } else { pad(last, last_len) };
    // SAFETY: reads and writes `cv`, reads blocks of the input and the padded one.
    unsafe {
        let words: *mut __m128i = cv.as_mut_ptr().cast();
        let (mut row0, mut row1) = (_mm_loadu_si128(words), _mm_loadu_si128(words.add(1)));
        let iv = _mm_loadu_si128(IV.as_ptr().cast());
        let mut now = flags.each | flags.first;
        for block in 0..blocks {
            let (mut from, mut len) = (input.wrapping_add(block * BLOCK_LEN), BLOCK_LEN);
            if block == blocks - 1 {
                (from, len, now) = (padded, last_len, now | flags.last);
            }
            let rest = len as i64 | i64::from(now) << 32;
            let mut v = [row0, row1, iv, _mm_set_epi64x(rest, counter as i64)];
            rounds::<ROTATES>(&mut v, arrange(from));
            (row0, row1) = (_mm_xor_si128(v[0], v[2]), _mm_xor_si128(v[1], v[3]));
            now = flags.each;
        }
        _mm_storeu_si128(words, row0);
        _mm_storeu_si128(words.add(1), row1);
    }
}
