//! The seven rounds on two 16-lane states, interleaved instruction by instruction.
//!
//! State 0 lives in zmm0 to zmm15 and state 1 in zmm16 to zmm31, so there is no register left:
//! messages are memory operands. Vector `w` of state `s` is at byte `128 * w + 64 * s` of every array,
//! all aligned to 64 bytes.
//!
//! The rounds are a loop, as unrolled they, parents and the root together are more than the first-level
//! instruction cache holds, of which another hardware thread of the core takes half. What makes it one is that
//! the permutation of message words between rounds (table 2 of the paper) is two cycles of eight: a message is
//! kept in the order of the [`CYCLES`], so a round finds each word one place further on than the round before, and
//! after the last place of a cycle comes its first. Eight registers count those places, for both cycles: their
//! lowest bytes, as they wrap around.
//!
//! Columns are issued two by two, step by step, and diagonals in the order in which their `b` comes
//! out of the columns: rotations have two ports of four, and eight columns in step would wait for
//! each other there (113 ns against 120 for all lanes; one column after the other takes 120 too).
//!
//! The functions are naked, with the System V calling convention on every platform: there all
//! vector registers belong to the callee, and where callers expect otherwise the compiler saves.

use core::arch::naked_asm;

use super::avx512::X32;
use crate::spec::IV;

/// The message words in the order in which messages are kept: each takes the place of the one before it from
/// round to round, in each half.
pub(super) const CYCLES: [usize; 16] = [0, 2, 3, 10, 12, 9, 11, 5, 1, 6, 4, 7, 13, 14, 15, 8];

/// Where a word of the first round is; in the rounds after it, the next ones of its cycle.
#[rustfmt::skip]
macro_rules! message {
    (0) => { "4*rax" };    (1) => { "4*rax+1024" };
    (2) => { "4*rdx" };    (6) => { "4*rdx+1024" };
    (3) => { "4*r10" };    (4) => { "4*r10+1024" };
    (10) => { "4*r11" };   (7) => { "4*r11+1024" };
    (12) => { "4*rbx" };   (13) => { "4*rbx+1024" };
    (9) => { "4*r12" };    (14) => { "4*r12+1024" };
    (11) => { "4*r13" };   (15) => { "4*r13+1024" };
    (5) => { "4*r14" };    (8) => { "4*r14+1024" };
}

/// One message addition and what follows it in G, up to the second rotation, for two columns or diagonals:
/// registers a, b, c, d, then the byte offset of the state, then the message word.
macro_rules! half_g {
    ($r1:literal $r2:literal $($a:literal $b:literal $c:literal $d:literal $s:literal $m:tt,)*) => {
        concat!(
            $("vpaddd zmm", $a, ",zmm", $a, ",[rsi+", message!($m), "+", $s, "]\n",)*
            $("vpaddd zmm", $a, ",zmm", $a, ",zmm", $b, "\n",)*
            $("vpxord zmm", $d, ",zmm", $d, ",zmm", $a, "\n",)*
            $("vprord zmm", $d, ",zmm", $d, ",", $r1, "\n",)*
            $("vpaddd zmm", $c, ",zmm", $c, ",zmm", $d, "\n",)*
            $("vpxord zmm", $b, ",zmm", $b, ",zmm", $c, "\n",)*
            $("vprord zmm", $b, ",zmm", $b, ",", $r2, "\n",)*
        )
    };
}

macro_rules! columns {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt) => {
        concat!(
            half_g!($r1 $r2 0 4 8 12 0 $p, 1 5 9 13 0 $q,),
            half_g!($r1 $r2 2 6 10 14 0 $r, 3 7 11 15 0 $s,),
            half_g!($r1 $r2 16 20 24 28 64 $p, 17 21 25 29 64 $q,),
            half_g!($r1 $r2 18 22 26 30 64 $r, 19 23 27 31 64 $s,),
        )
    };
}

macro_rules! diagonals {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt) => {
        concat!(
            half_g!($r1 $r2 3 4 9 14 0 $s, 0 5 10 15 0 $p,),
            half_g!($r1 $r2 1 6 11 12 0 $q, 2 7 8 13 0 $r,),
            half_g!($r1 $r2 19 20 25 30 64 $s, 16 21 26 31 64 $p,),
            half_g!($r1 $r2 17 22 27 28 64 $q, 18 23 24 29 64 $r,),
        )
    };
}

/// Before each quarter of a round a cache line for later is fetched: all at once would make the rounds wait. The
/// place that began one further on is the first one again after seven rounds.
macro_rules! rounds {
    () => {
        concat!(
            "push rbx\n push r12\n push r13\n push r14\n",
            "mov eax,0\n mov edx,32\n mov r10d,64\n mov r11d,96\n",
            "mov ebx,128\n mov r12d,160\n mov r13d,192\n mov r14d,224\n",
            ".p2align 6\n 2:\n",
            "prefetcht1 [r8]\n",
            columns!(16 12 0 2 4 6),
            "prefetcht1 [r8+64]\n",
            columns!(8 7 1 3 5 7),
            "prefetcht1 [r9]\n",
            diagonals!(16 12 8 10 12 14),
            "prefetcht1 [r9+64]\n",
            diagonals!(8 7 9 11 13 15),
            "sub r8,-128\n sub r9,-128\n",
            "add al,32\n add r10b,32\n add r11b,32\n add bl,32\n",
            "add r12b,32\n add r13b,32\n add r14b,32\n add dl,32\n jnz 2b\n",
            "prefetcht1 [r8]\n prefetcht1 [r8+64]\n prefetcht1 [r9]\n prefetcht1 [r9+64]\n",
            "pop r14\n pop r13\n pop r12\n pop rbx\n",
        )
    };
}

/// Words `w` of both states, to registers.
macro_rules! load {
    ($base:literal: $($w:literal $r0:literal $r1:literal,)*) => {
        concat!($(
            "vmovdqa64 zmm", $r0, ",[", $base, "+128*", $w, "]\n",
            "vmovdqa64 zmm", $r1, ",[", $base, "+128*", $w, "+64]\n",
        )*)
    };
}

/// The first words of the initialisation vector. Not loaded, as a load may wait for one of the message
/// words that were just stored: one whose address has the same last twelve bits.
macro_rules! load_iv {
    ($($iv:literal $r0:literal $r1:literal,)*) => {
        concat!($(
            "mov eax,{iv", $iv, "}\n vpbroadcastd zmm", $r0, ",eax\n",
            "vmovdqa64 zmm", $r1, ",zmm", $r0, "\n",
        )*)
    };
}

/// Words of output, of both states: of a register of each the exclusive or with what follows it.
macro_rules! store {
    ($($w:literal $r0:literal $with0:expr, $r1:literal $with1:expr;)*) => {
        concat!($(
            "vpxord zmm", $r0, ",zmm", $r0, ",", $with0, "\n vpxord zmm", $r1, ",zmm", $r1, ",", $with1, "\n",
            "vmovdqa64 [rcx+128*", $w, "],zmm", $r0, "\n vmovdqa64 [rcx+128*", $w, "+64],zmm", $r1, "\n",
        )*)
    };
    // The first eight words, and the last.
    (low) => {
        store!(0 0 "zmm8", 16 "zmm24"; 1 1 "zmm9", 17 "zmm25"; 2 2 "zmm10", 18 "zmm26"; 3 3 "zmm11", 19 "zmm27";
            4 4 "zmm12", 20 "zmm28"; 5 5 "zmm13", 21 "zmm29"; 6 6 "zmm14", 22 "zmm30"; 7 7 "zmm15", 23 "zmm31";)
    };
    (high) => {
        store!(8 8 "[rdi]", 24 "[rdi+64]"; 9 9 "[rdi+128]", 25 "[rdi+192]";
            10 10 "[rdi+256]", 26 "[rdi+320]"; 11 11 "[rdi+384]", 27 "[rdi+448]";
            12 12 "[rdi+512]", 28 "[rdi+576]"; 13 13 "[rdi+640]", 29 "[rdi+704]";
            14 14 "[rdi+768]", 30 "[rdi+832]"; 15 15 "[rdi+896]", 31 "[rdi+960]";)
    };
}

macro_rules! body {
    ($($store:expr),+) => {
        naked_asm!(
            load!("rdi": 0 0 16, 1 1 17, 2 2 18, 3 3 19, 4 4 20, 5 5 21, 6 6 22, 7 7 23,),
            load_iv!(0 8 24, 1 9 25, 2 10 26, 3 11 27,),
            load!("rdx": 0 12 28, 1 13 29, 2 14 30, 3 15 31,),
            rounds!(),
            $($store,)+
            "vzeroupper\n ret",
            iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
        )
    };
}

/// One compression in each of 32 lanes; `out`, which may be `cv`, gets the next chaining value.
/// Meanwhile the 1 KiB at `ahead` and the one at `also` are fetched; no address need exist.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn compress(
    cv: *const [X32; 8],
    message: *const [X32; 16],
    tail: *const [X32; 4],
    out: *mut [X32; 8],
    ahead: *const u8,
    also: *const u8,
) {
    body!(store!(low))
}

/// One compression in each of 32 lanes, with all sixteen words of output; fetches as [`compress`].
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; `out` is not `cv`.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn compress_xof(
    cv: *const [X32; 8],
    message: *const [X32; 16],
    tail: *const [X32; 4],
    out: *mut [X32; 16],
    ahead: *const u8,
    also: *const u8,
) {
    body!(store!(low), store!(high))
}

/// Rows of 64 bytes, four apart, two by two: their first halves in one register, their second
/// halves in another.
macro_rules! load_rows {
    ($first:literal: $($row:literal $other:literal $low:literal $high:literal,)*) => {
        concat!($(
            "mov rax,[rdi+8*", $first, "+8*", $row, "]\n mov r10,[rdi+8*", $first, "+8*", $other, "]\n",
            "vmovdqu ymm", $low, ",[rax+rsi]\n",
            "vinserti64x4 zmm", $low, ",zmm", $low, ",[r10+rsi],1\n",
            "vmovdqu ymm", $high, ",[rax+rsi+32]\n",
            "vinserti64x4 zmm", $high, ",zmm", $high, ",[r10+rsi+32],1\n",
            "prefetcht0 [rax+rsi+192]\n prefetcht0 [r10+rsi+192]\n",
        )*)
    };
    ($first:literal) => {
        load_rows!($first: 0 4 0 8, 1 5 1 9, 2 6 2 10, 3 7 3 11, 8 12 4 12, 9 13 5 13, 10 14 6 14, 11 15 7 15,)
    };
}

/// Two registers from two others: `op_low` gives the first, `op_high` the second.
macro_rules! shuffle {
    ($op_low:literal $op_high:literal $imm_low:literal $imm_high:literal:
     $($low:literal $high:literal $a:literal $b:literal,)*) => {
        concat!($(
            $op_low, " zmm", $low, ",zmm", $a, ",zmm", $b, $imm_low, "\n",
            $op_high, " zmm", $high, ",zmm", $a, ",zmm", $b, $imm_high, "\n",
        )*)
    };
}

/// The rows in registers 0 to 15 become the words in registers 16 to 31.
macro_rules! transpose {
    () => {
        concat!(
            // 128-bit parts of a register, before: words 0 to 3 of row i, words 4 to 7 of it, the
            // same of row i + 4; or words 8 to 15. Here: word w of rows i to i + 3, word w + 4 of
            // them, the same of the next four.
            shuffle!("vpunpckldq" "vpunpckhdq" "" "": 16 17 0 1, 18 19 2 3, 20 21 4 5, 22 23 6 7,
                24 25 8 9, 26 27 10 11, 28 29 12 13, 30 31 14 15,),
            shuffle!("vpunpcklqdq" "vpunpckhqdq" "" "": 0 1 16 18, 2 3 17 19, 4 5 20 22, 6 7 21 23,
                8 9 24 26, 10 11 25 27, 12 13 28 30, 14 15 29 31,),
            // The even parts of eight rows and of the other eight are a word; so are the odd ones.
            shuffle!("vshufi32x4" "vshufi32x4" ",0x88" ",0xdd": 16 20 0 4, 17 21 1 5, 18 22 2 6,
                19 23 3 7, 24 28 8 12, 25 29 9 13, 26 30 10 14, 27 31 11 15,),
        )
    };
}

macro_rules! store_words {
    ($state:literal: $($word:literal $register:literal)*) => {
        concat!($("vmovdqa64 [rdx+128*", $word, "+64*", $state, "],zmm", $register, "\n",)*)
    };
    // The words, from register 16 on, in the order of the cycles.
    ($state:literal) => {
        store_words!($state: 0 16 1 18 2 19 3 26 4 28 5 25 6 27 7 21 8 17 9 22 10 20 11 23 12 29 13 30
            14 31 15 24)
    };
}

/// Transposes the 64 bytes at `inputs[lane] + offset` of 32 lanes into message words. In assembly
/// as the compiler holds the stores back until both states are transposed, and runs out of
/// registers.
///
/// Rows are read by halves, as registers are put together from halves by any port, where shuffles
/// have only two; and half as many reads cross a cache line, if the input is not aligned.
///
/// The rows of state 1 are read before the words of state 0 are stored: a load waits for earlier
/// stores whose addresses have the same last twelve bits, and chunks are 1024 bytes apart.
///
/// The upper halves of registers stay in use, as [`compress`] follows and ends that.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; the bytes are readable.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn load(
    inputs: *const [*const u8; 32],
    offset: usize,
    message: *mut [X32; 16],
) {
    naked_asm!(
        load_rows!(0),
        transpose!(),
        load_rows!(16),
        store_words!(0),
        transpose!(),
        store_words!(1),
        "ret",
    )
}
