//! One lane as rows (see `rows.rs`) in 128-bit registers.
//!
//! A chain of twelve operations for each of the fourteen half rounds, as in general registers
//! (`scalar.rs`), but with a third of the instructions. Which of the two is faster depends on how
//! many cycles an operation takes, and on how many a cycle begins: see `cores.rs`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::assembly;
use super::pass::{RowVector, begin, compiled_rounds, fold, loaded_rounds};
use super::zen4::{self, Early};
use crate::kernel::contract::Flags;
use crate::kernel::rows::{Next, Row};
use crate::kernel::vectors::operations;
use crate::kernel::x86_64::cores::{Core, Form, vector};
use crate::kernel::x86_64::scalar::blocks;
use crate::spec::{BLOCK_LEN, Words};

/// A barrier for the compiler: the vectors of some rows, hidden from it (`hidden`, with `pure`). Without `pure` it also
/// keeps the order of all vectors that pass such a barrier (`ordered`, `ordered_pair`, `ordered_triple`).
macro_rules! barrier {
    ($class:ident $features:literal [$vector:ty; $count:literal] $($row:ident)*, $($pure:ident)?) => {{
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn pass($(mut $row: $vector),*) -> [$vector; $count] {
            core::arch::asm!(
                    concat!("/*", $(" {", stringify!($row), "}",)* " */"),
                    $($row = inout($class) $row,)*
                    options($($pure,)? nomem, nostack, preserves_flags),
                );
            [$($row),*]
        }
        // SAFETY: the caller has the instructions.
        unsafe { pass($($row.0),*) }
    }};
}
pub(super) use barrier;

/// [`Row::rotate_words`] by an instruction that puts bytes of two vectors together, both the same. From Ice Lake on Intel's
/// CPUs have one port for it, where they have two for a shuffle; so the chain finds a port for a shuffle free more often: a
/// block takes one lane 175 cycles for 178, and two 174 (`results/gnr-2vcpu/limits.md#one-lane`). Written as an intrinsic, it
/// would be a shuffle again.
macro_rules! turned {
    ($class:ident $features:literal $vector:ty, $row:expr, $pick:ident) => {{
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn turned<const PICK: i32>(mut row: $vector) -> $vector {
            const { assert!(matches!(PICK, 0b10_01_00_11 | 0b01_00_11_10 | 0b00_11_10_01)) };
            // Nothing but this register changes.
            core::arch::asm!(
                    "vpalignr {0}, {0}, {0}, {1}", inout($class) row, const 4 * (PICK & 3),
                    options(pure, nomem, nostack, preserves_flags)
                );
            row
        }
        // SAFETY: the caller has the instructions.
        unsafe { turned::<$pick>($row) }
    }};
}
pub(super) use turned;

/// A table of bytes for each of two lanes.
#[repr(align(32))]
pub(in crate::kernel::x86_64) struct Table(
    #[allow(dead_code, reason = "assembly reads it")] [[u64; 2]; 2],
);

/// Where each byte comes from when every word rotates right by 16, and by 8, for `assembly.rs` and
/// `columns/sse_avx2.rs`.
pub(in crate::kernel::x86_64) static BY_16: Table =
    Table([[0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a]; 2]);
pub(in crate::kernel::x86_64) static BY_8: Table =
    Table([[0x0407_0605_0003_0201, 0x0c0f_0e0d_080b_0a09]; 2]);

/// 16 bytes at any place.
///
/// Instead of intrinsics, in which an unoptimised build checks a hundred instructions long whether pointers are sound.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned(__m128i);

#[inline(always)]
pub(super) unsafe fn load(from: *const u8) -> __m128i {
    (*from.cast::<Unaligned>()).0
}

#[inline(always)]
pub(super) unsafe fn store(to: *mut u8, row: __m128i) {
    *to.cast::<Unaligned>() = Unaligned(row);
}

vector!("A row of one lane.", One(__m128i));

// SAFETY: SSE2; SSSE3 and SSE4.1; with these AVX2, or AVX-512F and VL.
unsafe impl<C: Core> Row for One<C> {
    const NEXT: Next = C::NEXT;
    const NEXT_IN_PAIRS: Next = C::NEXT_IN_PAIRS;

    operations!(add: _mm_add_epi32, xor: _mm_xor_si128, last_two: _mm_unpackhi_epi32);
    #[inline(always)]
    unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
        Self::new({
            match C::AVX512 {
                true => _mm_ror_epi32::<R>(self.0),
                false => _mm_or_si128(_mm_srli_epi32::<R>(self.0), _mm_slli_epi32::<LEFT>(self.0)),
            }
        })
    }
    #[inline(always)]
    unsafe fn shuffle<const PICK: i32>(self) -> Self {
        Self::new(_mm_shuffle_epi32::<PICK>(self.0))
    }
    #[inline(always)]
    unsafe fn rotate_words<const PICK: i32>(self) -> Self {
        match C::ALIGN {
            true => Self::new(turned!(xmm_reg "avx2" __m128i, self.0, PICK)),
            false => self.shuffle::<PICK>(),
        }
    }
    #[inline(always)]
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
        Self::new({
            let [a, b] = [_mm_castsi128_ps(self.0), _mm_castsi128_ps(other.0)];
            _mm_castps_si128(_mm_shuffle_ps::<PICK>(a, b))
        })
    }
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        if !C::SSE41 {
            let last = self.two_of_each::<0b11_11_10_10>(other);
            self.two_of_each::<0b10_00_01_00>(last)
        } else {
            Self::new(_mm_blend_epi16::<0b11_00_00_00>(self.0, other.0))
        }
    }
    #[inline(always)]
    unsafe fn ordered_pair([a, b]: [Self; 2]) -> [Self; 2] {
        let [a, b] = barrier!(xmm_reg "sse2" [__m128i; 2] a b,);
        [Self::new(a), Self::new(b)]
    }
    #[inline(always)]
    unsafe fn hidden(self) -> Self {
        let row = self;
        let [row] = barrier!(xmm_reg "sse2" [__m128i; 1] row, pure);
        Self::new(row)
    }
}

// SAFETY: as for `Row`.
unsafe impl<C: Core> RowVector<1> for One<C> {
    const MASKS: bool = C::AVX512;

    #[inline(always)]
    unsafe fn rounds(v: &mut [Self; 4], inputs: &[*const u8; 1], offset: usize) {
        if C::EARLY_ROTATIONS {
            zen4::rounds(v, inputs, offset)
        } else {
            loaded_rounds(v, inputs, offset)
        }
    }
    #[inline(always)]
    unsafe fn arranged_rounds(v: &mut [Self; 4], m: [Self; 4]) {
        let (state, message) = (v.as_mut_ptr().cast(), (&raw const m).cast());
        if const { matches!(C::ROWS, Form::Sse41) } {
            assembly::rounds_sse41(&mut *state, message)
        } else if const { matches!(C::ROWS, Form::Avx2) } {
            assembly::rounds_avx2(&mut *state, message)
        } else {
            compiled_rounds(v, m)
        }
    }
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        Self::new(load(words.as_ptr().cast()))
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 1], offset: usize) -> Self {
        Self::new(load(inputs[0].wrapping_add(offset)))
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 1], high: &[u32; 1], lens: &[u32; 1], flags: &[u32; 1]) -> Self {
        let (counter, rest) = ([low[0] as i32, high[0] as i32], [lens[0] as i32, flags[0] as i32]);
        Self::new(_mm_setr_epi32(counter[0], counter[1], rest[0], rest[1]))
    }
    #[inline(always)]
    unsafe fn replace(self, live: &[u32; 1], new: Self) -> Self {
        if live[0] == 0 { self } else { new }
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, _stride: usize, _count: usize) {
        store(out, self.0)
    }
}

/// Compresses the blocks of a node; see [`crate::kernel::Kernel`].
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions of `C`.
#[inline(always)]
pub(in crate::kernel::x86_64) unsafe fn compress<C: Core>(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = MaybeUninit::uninit();
    // SAFETY: the same contract.
    let (blocks, last, last_len) = blocks(input, len, flags.padded, C::AVX512, &mut padded);
    let words: *mut __m128i = cv.as_mut_ptr().cast();
    let (mut row0, mut row1) =
        (One::new(_mm_loadu_si128(words)), One::new(_mm_loadu_si128(words.add(1))));
    let mut now = flags.each | flags.first;
    for block in 0..blocks {
        let (mut from, mut len) = (input.wrapping_add(block * BLOCK_LEN), BLOCK_LEN);
        if block == blocks - 1 {
            (from, len, now) = (last, last_len, now | flags.last);
        }
        let rest = len as i64 | i64::from(now) << 32;
        let tail = One::new(_mm_set_epi64x(rest, counter as i64));
        let mut v = begin([row0, row1], tail);
        One::<C>::rounds(&mut v, &[from], 0);
        [row0, row1] = fold(v);
        now = flags.each;
    }
    _mm_storeu_si128(words, row0.0);
    _mm_storeu_si128(words.add(1), row1.0);
}

// SAFETY: AVX-512F and VL.
unsafe impl<C: Core> Early<1> for One<C> {
    #[inline(always)]
    unsafe fn ordered_triple([a, b, c]: [Self; 3]) -> [Self; 3] {
        let [a, b, c] = barrier!(xmm_reg "sse2" [__m128i; 3] a b c,);
        [Self::new(a), Self::new(b), Self::new(c)]
    }
    #[inline(always)]
    unsafe fn xor_rotated<const R: i32, const LEFT: i32>(self, late: Self) -> Self {
        Self::new({
            let (right, left) = (_mm_srli_epi32::<R>(late.0), _mm_slli_epi32::<LEFT>(late.0));
            _mm_ternarylogic_epi32::<0b1001_0110>(self.0, left, right)
        })
    }
    #[inline(always)]
    unsafe fn pick([block]: &[__m512i; 1], order: __m512i) -> __m512i {
        _mm512_permutexvar_epi32(order, *block)
    }
}
