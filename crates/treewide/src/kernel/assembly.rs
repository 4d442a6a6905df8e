//! What the assembly of transposed states shares: how instruction sets call things, and what stands between
//! the rounds of two blocks.

/// What an instruction set calls its registers, the bytes of one, and its forms of operations: `to = a op b`, where
/// `to` is not `b`; `to op= from`, and `to = from op count` where `to op= from` is all that SSE has. There are
/// `[zmm]` and `[ymm]` with AVX-512, `[avx2]` and `[sse41]`.
macro_rules! isa {
    ([zmm] size) => { "64" };
    ([ymm] size) => { "32" };
    ([avx2] size) => { "32" };
    ([sse41] size) => { "16" };
    ([zmm] register $n:literal) => { concat!("zmm", $n) };
    ([sse41] register $n:literal) => { concat!("xmm", $n) };
    ($isa:tt register $n:literal) => { concat!("ymm", $n) };
    ([avx2] move $to:expr, $from:expr) => { concat!("vmovdqa ", $to, ",", $from, "\n") };
    ([sse41] move $to:expr, $from:expr) => { concat!("movdqa ", $to, ",", $from, "\n") };
    ($isa:tt move $to:expr, $from:expr) => { concat!("vmovdqa32 ", $to, ",", $from, "\n") };
    ([avx2] $op:literal $to:literal $from:expr) => {
        concat!("v", $op, " ymm", $to, ",ymm", $to, ",", $from, "\n")
    };
    ([sse41] $op:literal $to:literal $from:expr) => { concat!($op, " xmm", $to, ",", $from, "\n") };
    ([avx2] $op:literal $to:literal $from:literal by $count:literal) => {
        concat!("v", $op, " ymm", $to, ",ymm", $from, ",", $count, "\n")
    };
    ([sse41] $op:literal $to:literal $from:literal by $count:literal) => {
        concat!("movdqa xmm", $to, ",xmm", $from, "\n", $op, " xmm", $to, ",", $count, "\n")
    };
    ([avx2] $op:literal $to:literal $a:literal $b:expr) => {
        concat!("v", $op, " ymm", $to, ",ymm", $a, ",", $b, "\n")
    };
    ([sse41] $op:literal $to:literal $a:literal $b:expr) => {
        concat!("movdqa xmm", $to, ",xmm", $a, "\n", $op, " xmm", $to, ",", $b, "\n")
    };
    ($isa:tt $op:literal $to:literal $a:literal $b:expr) => {
        concat!($op, " ", isa!($isa register $to), ",", isa!($isa register $a), ",", $b, "\n")
    };
    ([avx2] xor $to:literal $from:literal) => { isa!([avx2] "pxor" $to isa!([avx2] register $from)) };
    ([sse41] xor $to:literal $from:literal) => { isa!([sse41] "pxor" $to isa!([sse41] register $from)) };
    ($isa:tt xor $to:literal $from:literal) => { isa!($isa "vpxord" $to $to isa!($isa register $from)) };
    // A word in every lane.
    ([avx2] splat $to:literal $from:literal) => {
        concat!("vpbroadcastd ymm", $to, ",dword ptr ", $from, "\n")
    };
    ([sse41] splat $to:literal $from:literal) => {
        concat!("movd xmm", $to, ",dword ptr ", $from, "\n pshufd xmm", $to, ",xmm", $to, ",0\n")
    };
    ([sse41] end) => { "" };
    ($isa:tt end) => { "vzeroupper" };
}
pub(super) use isa;

/// Words `w` at `base` to registers.
macro_rules! load {
    ($isa:tt $base:literal $($w:literal $to:literal,)*) => {
        concat!($(
            isa!($isa move isa!($isa register $to), concat!("[", $base, "+", isa!($isa size), "*", $w, "]")),
        )*)
    };
}
pub(super) use load;

/// Registers to the words of the same numbers at `base`.
macro_rules! store {
    ($isa:tt $base:literal $($w:literal)*) => {
        concat!($(
            isa!($isa move concat!("[", $base, "+", isa!($isa size), "*", $w, "]"), isa!($isa register $w)),
        )*)
    };
}
pub(super) use store;

/// The chaining value, from the state after the rounds, both in registers.
macro_rules! fold {
    ($isa:tt) => {
        fold!($isa 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,)
    };
    ($isa:tt $($to:literal $from:literal,)*) => { concat!($(isa!($isa xor $to $from),)*) };
}
pub(super) use fold;

/// In a run (see `run.rs`) the flags of the next block, which are those of the last if `r8` says that two
/// blocks are left. `rdx` points to `Operands::tail`; a register to spare.
macro_rules! next_flags {
    ($isa:tt $spare:literal) => {
        concat!(
            "xor eax,eax\n cmp r8,2\n sete al\n imul eax,eax,", isa!($isa size), "\n",
            isa!($isa move isa!($isa register $spare), concat!("[rdx+rax+", isa!($isa size), "*4]")),
            isa!($isa move concat!("[rdx+", isa!($isa size), "*3]"), isa!($isa register $spare)),
        )
    };
}
pub(super) use next_flags;
