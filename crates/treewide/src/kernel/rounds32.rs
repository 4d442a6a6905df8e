//! The seven rounds on two 16-lane states, interleaved instruction by instruction.
//!
//! State 0 lives in zmm0 to zmm15 and state 1 in zmm16 to zmm31, so there is no register left: messages are
//! memory operands. Runs (see `run.rs`) need one to move the next block with, so here word 11 of state 0 lives in
//! memory but for its additions. It waits in the place of word 0 of the output, which is written last; after the
//! rounds it is in its register. Vector `w` of state `s` is at byte `128 * w + 64 * s` of every array, all aligned
//! to 64 bytes.
//!
//! The rounds are a loop, as unrolled they, parents and the root together are more than the first-level
//! instruction cache holds, of which another hardware thread of the core may take half. What makes it one is that
//! the permutation of message words between rounds (table 2 of the paper) is two cycles of eight: a message is
//! kept in the order of the [`CYCLES`], so a round finds each word one place further on than the round before, and
//! after the last place of a cycle comes its first. Eight registers count those places, for both cycles: their
//! lowest bytes, as those wrap around.
//!
//! Columns are issued two by two, step by step, and diagonals in the order in which their `b` comes
//! out of the columns: rotations have two ports of four, and eight columns in step would wait for
//! each other there (unrolled, 113 ns against 120 for all lanes; one column after the other takes 120 too).
//!
//! The functions are naked, with the System V calling convention on every platform: there all
//! vector registers belong to the callee, and where callers expect otherwise the compiler saves. They push
//! registers, and backtraces from inside of them end there, as of runs.

use core::arch::naked_asm;

use super::avx512::X32;
use crate::spec::IV;

/// The message words in the order in which messages are kept. From round to round each takes the place of the one
/// before it in its half, and the first that of the last.
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
/// registers a, b, c, d, then the byte offset of the state, then the message word. `kept` says that word 11 of
/// state 0 is among them.
macro_rules! half_g {
    ($r1:literal $r2:literal [$($kept:literal)?]
     $($a:literal $b:literal $c:literal $d:literal $s:literal $m:tt,)*) => {
        concat!(
            $("vpaddd zmm", $a, ",zmm", $a, ",[rsi+", message!($m), "+", $s, "]\n",)*
            $("vpaddd zmm", $a, ",zmm", $a, ",zmm", $b, "\n",)*
            $("vpxord zmm", $d, ",zmm", $d, ",zmm", $a, "\n",)*
            $("vprord zmm", $d, ",zmm", $d, ",", $r1, "\n",)*
            $("vmovdqa64 zmm", $kept, ",[rcx]\n",)?
            $("vpaddd zmm", $c, ",zmm", $c, ",zmm", $d, "\n",)*
            $("vpxord zmm", $b, ",zmm", $b, ",zmm", $c, "\n",)*
            $("vmovdqa64 [rcx],zmm", $kept, "\n",)?
            $("vprord zmm", $b, ",zmm", $b, ",", $r2, "\n",)*
        )
    };
}

/// A quarter of a round; `first` and `second` stand where register 11 is free.
macro_rules! columns {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt; $first:expr, $second:expr) => {
        concat!(
            half_g!($r1 $r2 [] 0 4 8 12 0 $p, 1 5 9 13 0 $q,),
            half_g!($r1 $r2 [11] 2 6 10 14 0 $r, 3 7 11 15 0 $s,),
            half_g!($r1 $r2 [] 16 20 24 28 64 $p, 17 21 25 29 64 $q,),
            $first,
            half_g!($r1 $r2 [] 18 22 26 30 64 $r, 19 23 27 31 64 $s,),
            $second,
        )
    };
}

macro_rules! diagonals {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt; $first:expr, $second:expr) => {
        concat!(
            half_g!($r1 $r2 [] 3 4 9 14 0 $s, 0 5 10 15 0 $p,),
            half_g!($r1 $r2 [11] 1 6 11 12 0 $q, 2 7 8 13 0 $r,),
            half_g!($r1 $r2 [] 19 20 25 30 64 $s, 16 21 26 31 64 $p,),
            $first,
            half_g!($r1 $r2 [] 17 22 27 28 64 $q, 18 23 24 29 64 $r,),
            $second,
        )
    };
}

/// A round, with what stands in it, and the places of the next one. The place in `rdx`, which began one further on, is
/// the first again after seven rounds: counted last, it tells by the flag for zero whether there is another round.
macro_rules! round {
    ($b0:expr, $b1:expr, $b2:expr, $b3:expr, $b4:expr, $b5:expr, $b6:expr, $b7:expr) => {
        concat!(
            columns!(16 12 0 2 4 6; $b0, $b1),
            columns!(8 7 1 3 5 7; $b2, $b3),
            diagonals!(16 12 8 10 12 14; $b4, $b5),
            diagonals!(8 7 9 11 13 15; $b6, $b7),
            "add al,32\n add r10b,32\n add r11b,32\n add bl,32\n",
            "add r12b,32\n add r13b,32\n add r14b,32\n add dl,32\n",
        )
    };
    () => {
        round!("", "", "", "", "", "", "", "")
    };
}

/// The places of the first round.
macro_rules! places {
    () => {
        concat!(
            "mov eax,0\n mov edx,32\n mov r10d,64\n mov r11d,96\n",
            "mov ebx,128\n mov r12d,160\n mov r13d,192\n mov r14d,224\n",
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

/// The state before the rounds, but for the chaining values.
macro_rules! begin {
    ($tail:literal) => {
        concat!(
            load_iv!(0 8 24, 1 9 25, 2 10 26, 3 11 27,),
            "vmovdqa64 [rcx],zmm11\n",
            load!($tail: 0 12 28, 1 13 29, 2 14 30, 3 15 31,),
        )
    };
}

/// The chaining values.
macro_rules! load_cv {
    ($from:literal) => {
        load!($from: 0 0 16, 1 1 17, 2 2 18, 3 3 19, 4 4 20, 5 5 21, 6 6 22, 7 7 23,)
    };
}

/// The first eight words of output, of both states, which are the next chaining values.
macro_rules! fold {
    () => {
        fold!(0 8 16 24, 1 9 17 25, 2 10 18 26, 3 11 19 27, 4 12 20 28, 5 13 21 29, 6 14 22 30, 7 15 23 31,)
    };
    ($($low0:literal $high0:literal $low1:literal $high1:literal,)*) => {
        concat!($(
            "vpxord zmm", $low0, ",zmm", $low0, ",zmm", $high0, "\n",
            "vpxord zmm", $low1, ",zmm", $low1, ",zmm", $high1, "\n",
        )*)
    };
}

/// Registers of both states to words `w` of output.
macro_rules! store {
    () => {
        store!(0 0 16, 1 1 17, 2 2 18, 3 3 19, 4 4 20, 5 5 21, 6 6 22, 7 7 23,)
    };
    ($($w:literal $r0:literal $r1:literal,)*) => {
        concat!($(
            "vmovdqa64 [rcx+128*", $w, "],zmm", $r0, "\n vmovdqa64 [rcx+128*", $w, "+64],zmm", $r1, "\n",
        )*)
    };
}

/// The last eight words of output.
macro_rules! high_words {
    () => {
        high_words!(8 8 24, 9 9 25, 10 10 26, 11 11 27, 12 12 28, 13 13 29, 14 14 30, 15 15 31,)
    };
    ($($w:literal $r0:literal $r1:literal,)*) => {
        concat!(
            $(
                "vpxord zmm", $r0, ",zmm", $r0, ",[rdi+128*", $w, "-1024]\n",
                "vpxord zmm", $r1, ",zmm", $r1, ",[rdi+128*", $w, "-960]\n",
            )*
            store!($($w $r0 $r1,)*)
        )
    };
}

macro_rules! body {
    ($($high:expr)?) => {
        naked_asm!(
            "push rbx\n push r12\n push r13\n push r14",
            load_cv!("rdi"),
            begin!("rdx"),
            places!(),
            ".p2align 6\n 2:",
            round!(),
            "jnz 2b",
            fold!(),
            store!(),
            $($high,)?
            "pop r14\n pop r13\n pop r12\n pop rbx\n vzeroupper\n ret",
            iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
        )
    };
}

/// One compression in each of 32 lanes; `out`, which may be `cv`, gets the next chaining value. The message is in the
/// order of [`CYCLES`].
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn compress(
    cv: *const [X32; 8],
    message: *const [X32; 16],
    tail: *const [X32; 4],
    out: *mut [X32; 8],
) {
    body!()
}

/// One compression in each of 32 lanes, with all sixteen words of output; of such a message too.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; `out` is not `cv`.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn compress_xof(
    cv: *const [X32; 8],
    message: *const [X32; 16],
    tail: *const [X32; 4],
    out: *mut [X32; 16],
) {
    body!(high_words!())
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
    ($state:literal $message:literal: $($word:literal $register:literal)*) => {
        concat!($("vmovdqa64 [", $message, "+128*", $word, "+64*", $state, "],zmm", $register, "\n",)*)
    };
    // The words, from register 16 on, in the order of the cycles.
    ($state:literal) => {
        store_words!($state "rdx": 0 16 1 18 2 19 3 26 4 28 5 25 6 27 7 21 8 17 9 22 10 20 11 23 12 29 13 30
            14 31 15 24)
    };
}

/// Transposes the 64 bytes at `inputs[lane] + offset` of 32 lanes into message words, in the order of [`CYCLES`]. In
/// assembly as the compiler holds the stores back until both states are transposed, and runs out of
/// registers.
///
/// Rows are read by halves, as registers are put together from halves by any port, where shuffles
/// have only two; and half as many reads cross a cache line, if the input is not aligned.
///
/// The rows of state 1 are read before the words of state 0 are stored: a load waits for earlier
/// stores whose addresses have the same last twelve bits, and chunks are 1024 bytes apart.
///
/// The upper halves of registers stay in use, as [`compress`] or the rest of [`run`] follows and ends that.
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

/// Where a quarter of the next block of lanes `row`, `row + 4`, `row + 8` and `row + 12` of a state is, once moved.
macro_rules! row {
    ($rows:literal $quarter:literal $state:literal $row:literal) => {
        concat!("[", $rows, "+512*", $quarter, "+256*", $state, "+64*", $row, "]")
    };
}

/// Moves the next block of lane `row + 4 * round` of a state, sixteen bytes at a time, to its place in four rows; and
/// fetches the lane's line three blocks later, and one of a node for later.
macro_rules! move_block {
    ($row:literal $state:literal) => {
        concat!(
            "mov r15,[rdi+rax+8*", $row, "+128*", $state, "]\n prefetcht0 [r15+r8+256]\n",
            move_block!($row $state: 0 1 2 3),
            "mov r15,[rbp+rax+8*", $row, "+128*", $state, "]\n prefetcht1 [r15+r8]\n",
        )
    };
    ($row:literal $state:literal: $($quarter:literal)*) => {
        concat!($(
            "vmovdqu xmm11,[r15+r8+64+16*", $quarter, "]\n",
            "vmovdqa ", row!("r9" $quarter $state $row), ",xmm11\n",
        )*)
    };
}

/// Four words of the next message from a quarter of the block in four rows; of a state, by way of eight registers.
macro_rules! quarter {
    ($quarter:literal: $w0:literal $w1:literal $w2:literal $w3:literal) => {
        concat!(
            quarter!($quarter 0 [8 9 10 11 12 13 14 15]: $w0 $w1 $w2 $w3),
            quarter!($quarter 1 [24 25 26 27 28 29 30 31]: $w0 $w1 $w2 $w3),
        )
    };
    ($quarter:literal $state:literal [$a:literal $b:literal $c:literal $d:literal
     $e:literal $f:literal $g:literal $h:literal]: $w0:literal $w1:literal $w2:literal $w3:literal) => {
        concat!(
            "vmovdqa64 zmm", $a, ",", row!("rsi+2048" $quarter $state 0), "\n",
            "vmovdqa64 zmm", $c, ",", row!("rsi+2048" $quarter $state 2), "\n",
            "vpunpckhdq zmm", $b, ",zmm", $a, ",", row!("rsi+2048" $quarter $state 1), "\n",
            "vpunpckhdq zmm", $d, ",zmm", $c, ",", row!("rsi+2048" $quarter $state 3), "\n",
            "vpunpckldq zmm", $a, ",zmm", $a, ",", row!("rsi+2048" $quarter $state 1), "\n",
            "vpunpckldq zmm", $c, ",zmm", $c, ",", row!("rsi+2048" $quarter $state 3), "\n",
            shuffle!("vpunpcklqdq" "vpunpckhqdq" "" "": $e $f $a $c, $g $h $b $d,),
            store_words!($state "rsi": $w0 $e $w1 $f $w2 $g $w3 $h),
        )
    };
}

/// Compresses whole blocks of 32 lanes, one after the other, as `run::Run` says.
///
/// The first message is transposed by [`load()`]. Of the others, half of the transposition is moving, which takes none
/// of the ports that the rounds keep busy: sixteen bytes of four lanes at a time become a row, during the first four
/// rounds of the block before. Later rounds would do as well, but for the stores: rows are read at once after the last.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; the blocks are readable; `cv` and `operands` are vectors of
/// 32 lanes, as [`run`](super::run::run) has them.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn run(
    cv: *mut u8,
    operands: *mut u8,
    inputs: *const *const u8,
    ahead: *const *const u8,
    steps: usize,
    offset: usize,
) {
    // rdi inputs, rbp ahead, rsi the message and behind it the rows of the next one, rcx chaining values, r8 where the
    // block is, r9 where the rows get what this round moves, r15 a lane's input; steps that are left on the stack. What
    // rax counts, 32 a round, is also the place of the pointers to four lanes, for the four rounds that move.
    naked_asm!(
        "push rbx\n push rbp\n push r12\n push r13\n push r14\n push r15\n push r8",
        "mov rbp,rcx\n mov rcx,rdi\n mov rdi,rdx\n mov rdx,rsi\n mov rsi,r9",
        "call {load}",
        "mov rsi,rdx\n mov r8,r9",
        load_cv!("rcx"),
        "3:",
        begin!("rsi+4096"),
        places!(),
        "cmp qword ptr [rsp],1\n je 2f",
        "lea r9,[rsi+2048]\n .p2align 6\n 4:",
        round!(move_block!(0 0), move_block!(0 1), move_block!(1 0), move_block!(1 1),
            move_block!(2 0), move_block!(2 1), move_block!(3 0), move_block!(3 1)),
        "add r9,16\n cmp al,128\n jne 4b",
        ".p2align 6\n 2:",
        round!(),
        "jnz 2b",
        fold!(),
        "dec qword ptr [rsp]\n jz 5f",
        // The flags of the next block, which may be the last.
        "lea rax,[rsi+4096+128*4]\n lea rdx,[rsi+4096+128*5]\n cmp qword ptr [rsp],1\n cmove rax,rdx",
        load!("rax": 0 8 24,),
        "vmovdqa64 [rsi+4096+128*3],zmm8\n vmovdqa64 [rsi+4096+128*3+64],zmm24",
        // Where the words are in `CYCLES`.
        quarter!(0: 0 8 1 2), quarter!(1: 10 7 9 11), quarter!(2: 15 5 3 6), quarter!(3: 4 12 13 14),
        "add r8,64\n jmp 3b",
        "5:",
        store!(),
        "add rsp,8\n pop r15\n pop r14\n pop r13\n pop r12\n pop rbp\n pop rbx\n vzeroupper\n ret",
        load = sym load,
        iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
    )
}
