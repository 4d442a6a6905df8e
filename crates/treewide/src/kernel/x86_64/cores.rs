//! The cores that kernels of x86-64 are written for, and what differs among them: a row of facts for each.
//!
//! Vectors, rows and passes are generic over a [`Core`]. Which CPU gets which kernel is in `kernel/cores.rs`.

use super::assembly::Routine;
use super::columns::blocks::Blocks;
use super::columns::{avx512, sse_avx2};
use crate::kernel::rows::Next;

/// How few lanes are hashed, as rows. Matched in `const` blocks: an unoptimised build would otherwise reserve stack for every
/// branch, which costs more than the hash.
pub(super) enum Form {
    /// By the compiler's code.
    Compiled,
    /// By assembly (`rows/assembly.rs`).
    Sse41,
    Avx2,
}

/// A core: its instructions, and the order of instructions that is fastest on it.
pub(super) trait Core: Copy {
    /// Whether there are shuffles of bytes (SSSE3), by which words rotate by 16 and 8, and blends (SSE4.1).
    const SSE41: bool = true;
    /// Whether there are rotations and masked loads (AVX-512F, BW and VL, and BMI2).
    const AVX512: bool = false;
    /// Whether words of a row move by `vpalignr` (with AVX2); see `turned!`.
    const ALIGN: bool = false;
    /// Whose rounds of rows these are.
    const ROWS: Form = Form::Compiled;
    /// Where the compiler's rows make the message of the next round.
    const NEXT: Next = Next::Between;
    /// The same where two rows are worked side by side.
    const NEXT_IN_PAIRS: Next = Next::Split;
    /// Whether rotations of rows are taken off the critical path (`rows/zen4.rs`).
    const EARLY_ROTATIONS: bool = false;
    /// Whether rows of four lanes keep the order of the source. On Intel's CPUs four lanes use both ports for 512
    /// bits nearly all of the time, so an operation that is computed early delays the chain: in the compiler's
    /// order a step takes 200 cycles, in this one 184 (`results/gnr-2vcpu/limits.md#four-lanes`).
    const IN_ORDER: bool = false;
    /// Whole blocks of four lanes, of eight and of sixteen, as columns.
    const BLOCKS_4: Blocks = sse_avx2::blocks_4;
    const BLOCKS_8: Blocks = sse_avx2::blocks_8;
    const BLOCKS_16: Blocks = avx512::blocks_16;
    /// One compression of four lanes and of eight, as columns, and the same with all sixteen words of output.
    const COMPRESS_4: [Routine; 2] = [sse_avx2::compress_4, sse_avx2::compress_xof_4];
    const COMPRESS_8: [Routine; 2] = [sse_avx2::compress_8, sse_avx2::compress_xof_8];
    /// Whether sixteen columns hold the message in registers.
    const HELD: bool = false;
}

/// Defines the marker of a core by its differences from the defaults.
macro_rules! core {
    ($(#[$doc:meta])* $name:ident: $($fact:ident: $type:ty = $value:expr),*) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Core for $name {
            $(const $fact: $type = $value;)*
        }
    };
}

core!(
    /// Any core, with SSE2 only: words rotate by shifts.
    Sse2: SSE41: bool = false, BLOCKS_4: Blocks = sse_avx2::blocks_sse2_4,
    COMPRESS_4: [Routine; 2] = [sse_avx2::compress_sse2_4, sse_avx2::compress_xof_sse2_4]
);
core!(
    /// Any core, with SSE4.1.
    Sse41: ROWS: Form = Form::Sse41
);
core!(
    /// Any core, with AVX2.
    Avx2: ROWS: Form = Form::Avx2
);
core!(
    /// Intel's cores with AVX-512, and unknown cores: vector operations take one cycle, rotations too.
    Intel: AVX512: bool = true, ALIGN: bool = true, IN_ORDER: bool = true, NEXT_IN_PAIRS: Next = Next::Behind,
    BLOCKS_8: Blocks = avx512::blocks_8, COMPRESS_8: [Routine; 2] = [avx512::compress_8, avx512::compress_xof_8],
    BLOCKS_16: Blocks = avx512::blocks_16_held, HELD: bool = true
);
core!(
    /// Zen 4: rotations take two cycles. No one has measured `ALIGN` and `Next::Between` there. These are facts of rows;
    /// its columns are those of other cores.
    Zen4: AVX512: bool = true, EARLY_ROTATIONS: bool = true, NEXT: Next = Next::Behind,
    NEXT_IN_PAIRS: Next = Next::Behind
);
core!(
    /// Zen 5: an operation of one cycle takes two where it waits for its operands.
    Zen5: AVX512: bool = true
);

/// Defines a vector type that is generic over the core.
macro_rules! vector {
    ($doc:literal, $name:ident($register:ty)) => {
        #[doc = $doc]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(in crate::kernel::x86_64) struct $name<C: Core>(
            $register,
            core::marker::PhantomData<C>,
        );

        impl<C: Core> $name<C> {
            #[inline(always)]
            fn new(register: $register) -> Self {
                Self(register, core::marker::PhantomData)
            }
        }
    };
}
pub(super) use vector;
