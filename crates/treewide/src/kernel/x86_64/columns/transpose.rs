//! Four lanes and eight between rows and columns: blocks to a message, words to chaining values or to output.
//!
//! In assembly, as a build without optimisation makes a call of every intrinsic; inlined, as a call would take 3 % of the
//! time of a pass over blocks. The rows of lanes 4 to 7 lie in the upper halves of the registers of lanes 0 to 3.

use core::arch::asm;

use crate::kernel::x86_64::assembly::{interleave_two, isa, load};

/// Words `a` to `d` of four lanes, in each half of the registers, to rows of four words: of lane 0 in `b`, then in `e`,
/// `g` and `a`. The inverse is the same.
macro_rules! transpose {
    ($isa:tt $a:literal $b:literal $c:literal $d:literal, $e:literal $f:literal $g:literal) => {
        concat!(
            interleave_two!($isa "punpckldq" "punpckhdq": $e $a $b),
            interleave_two!($isa "punpckldq" "punpckhdq": $f $c $d),
            interleave_two!($isa "punpcklqdq" "punpckhqdq": $g $a $c),
            interleave_two!($isa "punpcklqdq" "punpckhqdq": $b $e $f),
        )
    };
}

/// A quarter of the blocks of lanes: of two in a register where there are eight.
macro_rules! part {
    ([avx2] $to:literal $lane:literal $other:literal $quarter:literal) => {
        concat!(
            "v", part!([sse] $to $lane $other $quarter),
            "vinserti128 ymm", $to, ",ymm", $to, ",[", $other, "+16*", $quarter, "],1\n",
        )
    };
    ([sse] $to:literal $lane:literal $other:literal $quarter:literal) => {
        concat!("movdqu xmm", $to, ",[", $lane, "+16*", $quarter, "]\n")
    };
}

/// Four words of the message. Loads are put together from halves, which any port does; of shuffles two ports do, or one.
macro_rules! words {
    ($isa:tt $($quarter:literal)*) => {
        concat!($(
            part!($isa 0 "{a}" "{e}" $quarter), part!($isa 1 "{b}" "{f}" $quarter),
            part!($isa 2 "{c}" "{g}" $quarter), part!($isa 3 "{d}" "{h}" $quarter),
            transpose!($isa 0 1 2 3, 4 5 6),
            word!($isa $quarter 0 1), word!($isa $quarter 1 4), word!($isa $quarter 2 6), word!($isa $quarter 3 0),
        )*)
    };
}

macro_rules! word {
    ($isa:tt $quarter:literal $word:literal $from:literal) => {
        isa!($isa move
            concat!("[{message}+4*", isa!($isa size), "*", $quarter, "+", isa!($isa size), "*", $word, "]"),
            isa!($isa register $from))
    };
}

/// The message of the blocks at these addresses. The upper halves of registers stay in use: a compression comes next.
///
/// # Safety
/// 64 bytes are readable at each; `message` has room for sixteen vectors, aligned.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel::x86_64) unsafe fn load_8(
    inputs: &[*const u8; 8],
    offset: usize,
    message: *mut u8,
) {
    asm!(
        words!([avx2] 0 1 2 3),
        a = in(reg) inputs[0].add(offset), b = in(reg) inputs[1].add(offset),
        c = in(reg) inputs[2].add(offset), d = in(reg) inputs[3].add(offset),
        e = in(reg) inputs[4].add(offset), f = in(reg) inputs[5].add(offset),
        g = in(reg) inputs[6].add(offset), h = in(reg) inputs[7].add(offset),
        message = in(reg) message,
        out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _,
        options(nostack, preserves_flags),
    )
}

/// The same of four lanes.
///
/// # Safety
/// The same.
#[inline(always)]
pub(in crate::kernel::x86_64) unsafe fn load_4(
    inputs: &[*const u8; 4],
    offset: usize,
    message: *mut u8,
) {
    asm!(
        words!([sse] 0 1 2 3),
        "/* {e}{f}{g}{h} */",
        a = in(reg) inputs[0].add(offset), b = in(reg) inputs[1].add(offset),
        c = in(reg) inputs[2].add(offset), d = in(reg) inputs[3].add(offset),
        e = const 0, f = const 0, g = const 0, h = const 0,
        message = in(reg) message,
        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
        options(nostack, preserves_flags),
    )
}

/// Rows one after the other, as long as there are more lanes.
macro_rules! rows {
    ($first:expr; $($n:literal: $row:expr),*) => {
        concat!($first, $("cmp {count},", $n, "\n je 2f\n add {out},{stride}\n", $row,)* "2:\n")
    };
}

/// A row, of words 0 to 3 in one register and of words 4 to 7 in another where there are eight.
macro_rules! row {
    (low $a:literal $b:literal) => {
        concat!("vinserti128 ymm11,ymm", $a, ",xmm", $b, ",1\n vmovdqu [{out}],ymm11\n")
    };
    (high $a:literal $b:literal) => {
        concat!("vperm2i128 ymm11,ymm", $a, ",ymm", $b, ",0x31\n vmovdqu [{out}],ymm11\n")
    };
    ($a:literal) => {
        concat!("movdqu [{out}],xmm", $a, "\n")
    };
}

/// Eight words of eight lanes, as rows: to the first `count` lanes, `stride` bytes apart.
///
/// # Safety
/// The words are aligned vectors, and `out` has room for 32 bytes of each of the `count` lanes, 1 to 8.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel::x86_64) unsafe fn store_8(
    words: *const u8,
    out: *mut u8,
    stride: usize,
    count: usize,
) {
    asm!(
        load!([avx2] "{words}"),
        transpose!([avx2] 0 1 2 3, 8 9 10),
        transpose!([avx2] 4 5 6 7, 9 11 12),
        rows!(row!(low 1 5); 1: row!(low 8 9), 2: row!(low 10 12), 3: row!(low 0 4),
            4: row!(high 1 5), 5: row!(high 8 9), 6: row!(high 10 12), 7: row!(high 0 4)),
        // The compiler does not do it for registers that only assembly uses.
        "vzeroupper",
        words = in(reg) words, out = inout(reg) out => _, stride = in(reg) stride, count = in(reg) count,
        out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _,
        out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _, out("ymm13") _,
        out("ymm14") _, out("ymm15") _,
        options(nostack),
    )
}

/// Four words of four lanes likewise.
///
/// # Safety
/// The words are aligned vectors, and `out` has room for 16 bytes of each of the `count` lanes, 1 to 4.
#[inline(always)]
pub(in crate::kernel::x86_64) unsafe fn store_4(
    words: *const u8,
    out: *mut u8,
    stride: usize,
    count: usize,
) {
    asm!(
        load!([sse] "{words}" 0 0, 1 1, 2 2, 3 3,),
        transpose!([sse] 0 1 2 3, 4 5 6),
        rows!(row!(1); 1: row!(4), 2: row!(6), 3: row!(0)),
        words = in(reg) words, out = inout(reg) out => _, stride = in(reg) stride, count = in(reg) count,
        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
        options(nostack),
    )
}
