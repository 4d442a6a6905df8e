//! Kit for the vectors of rows: barriers for the compiler, operations by their intrinsics, and how words get
//! into 128-bit registers and out of them.

use core::arch::x86_64::*;

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

/// What rows of one register share, each by its intrinsic: with AVX-512 there are rotations.
macro_rules! row_operations {
    ($class:ident $features:literal $vector:ident; rotate: $ror:ident, $srli:ident, $slli:ident, $or:ident;
     shuffle: $shuffle:ident; two_of_each: $to_floats:ident, $shuffle_floats:ident, $from_floats:ident) => {
        #[inline(always)]
        unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
            Self::new({
                match C::AVX512 {
                    true => $ror::<R>(self.0),
                    false => $or($srli::<R>(self.0), $slli::<LEFT>(self.0)),
                }
            })
        }
        #[inline(always)]
        unsafe fn shuffle<const PICK: i32>(self) -> Self {
            Self::new($shuffle::<PICK>(self.0))
        }
        #[inline(always)]
        unsafe fn rotate_words<const PICK: i32>(self) -> Self {
            match C::ALIGN {
                true => Self::new(turned!($class "avx2" $vector, self.0, PICK)),
                false => self.shuffle::<PICK>(),
            }
        }
        #[inline(always)]
        unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
            Self::new({
                let [a, b] = [$to_floats(self.0), $to_floats(other.0)];
                $from_floats($shuffle_floats::<PICK>(a, b))
            })
        }
        #[inline(always)]
        unsafe fn ordered_pair([a, b]: [Self; 2]) -> [Self; 2] {
            let [a, b] = barrier!($class $features [$vector; 2] a b,);
            [Self::new(a), Self::new(b)]
        }
        #[inline(always)]
        unsafe fn hidden(self) -> Self {
            let row = self;
            let [row] = barrier!($class $features [$vector; 1] row, pure);
            Self::new(row)
        }
    };
}
pub(super) use row_operations;

/// The same of [`Early`](super::zen4::Early).
macro_rules! early_operations {
    ($class:ident $features:literal $vector:ident; $srli:ident, $slli:ident, $ternary:ident) => {
        #[inline(always)]
        unsafe fn ordered_triple([a, b, c]: [Self; 3]) -> [Self; 3] {
            let [a, b, c] = barrier!($class $features [$vector; 3] a b c,);
            [Self::new(a), Self::new(b), Self::new(c)]
        }
        #[inline(always)]
        unsafe fn xor_rotated<const R: i32, const LEFT: i32>(self, late: Self) -> Self {
            Self::new({
                let (right, left) = ($srli::<R>(late.0), $slli::<LEFT>(late.0));
                $ternary::<0b1001_0110>(self.0, left, right)
            })
        }
    };
}
pub(super) use early_operations;

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

/// `a` below `b`.
#[inline(always)]
pub(super) unsafe fn joined(a: __m128i, b: __m128i) -> __m256i {
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
}

/// A bit for each word of the lanes that have not ended.
#[inline(always)]
pub(super) fn active(live: &[u32]) -> u16 {
    live.iter()
        .enumerate()
        .fold(0, |mask, (lane, live)| mask | (*live as u16 & 0b1111) << (4 * lane))
}
