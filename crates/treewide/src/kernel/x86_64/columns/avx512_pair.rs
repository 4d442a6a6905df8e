//! The seven rounds on two 16-lane states, interleaved instruction by instruction.
//!
//! State 0 lives in zmm0 to zmm15 and state 1 in zmm16 to zmm31, so no register is left: messages are
//! memory operands. Runs (see `blocks.rs`) need one to move the next block with, so here word 11 of state 0 lives in
//! memory except for its additions. It waits in the place of word 0 of the output, which is written last; after the
//! rounds it is in its register. Vector `w` of state `s` is at byte `128 * w + 64 * s` of every array, all aligned
//! to 64 bytes.
//!
//! The rounds are a loop, as unrolled they, parents and the root together are more than the first-level
//! instruction cache holds, and another hardware thread of the core may take half of that. What makes it one is that
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
//! registers, and backtraces from inside of them end there.

use core::arch::naked_asm;
use core::arch::x86_64::__m512i;

use crate::kernel::x86_64::assembly::{
    blocks_routine, fold, high_words, interleave, isa, iv, load, pair, routine, store,
};
use crate::spec::IV;

/// The message words in the order in which messages are kept. From round to round each takes the place of the one
/// before it in its half, and the first that of the last.
pub(in crate::kernel::x86_64) const CYCLES: [usize; 16] =
    [0, 2, 3, 10, 12, 9, 11, 5, 1, 6, 4, 7, 13, 14, 15, 8];

/// Where a word of the first round is; in the rounds after it, the next ones of its cycle.
#[rustfmt::skip]
macro_rules! place {
    (0) => { "4*rax" };    (1) => { "4*rax+1024" };
    (2) => { "4*rdx" };    (6) => { "4*rdx+1024" };
    (3) => { "4*r10" };    (4) => { "4*r10+1024" };
    (10) => { "4*r11" };   (7) => { "4*r11+1024" };
    (12) => { "4*rbx" };   (13) => { "4*rbx+1024" };
    (9) => { "4*r12" };    (14) => { "4*r12+1024" };
    (11) => { "4*r13" };   (15) => { "4*r13+1024" };
    (5) => { "4*r14" };    (8) => { "4*r14+1024" };
}

/// A word of the message of a state.
macro_rules! message {
    ($state:literal $word:tt) => {
        concat!("[rsi+", place!($word), "+", $state, "]")
    };
}

/// A quarter of a round; `first` and `second` stand where register 11 is free.
macro_rules! columns {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt; $first:expr, $second:expr) => {
        concat!(
            pair!([zmm] $r1 $r2 [] 0 4 8 12 message!(0 $p), 1 5 9 13 message!(0 $q),),
            pair!([zmm] $r1 $r2 [11] 2 6 10 14 message!(0 $r), 3 7 11 15 message!(0 $s),),
            pair!([zmm] $r1 $r2 [] 16 20 24 28 message!(64 $p), 17 21 25 29 message!(64 $q),),
            $first,
            pair!([zmm] $r1 $r2 [] 18 22 26 30 message!(64 $r), 19 23 27 31 message!(64 $s),),
            $second,
        )
    };
}

macro_rules! diagonals {
    ($r1:literal $r2:literal $p:tt $q:tt $r:tt $s:tt; $first:expr, $second:expr) => {
        concat!(
            pair!([zmm] $r1 $r2 [] 3 4 9 14 message!(0 $s), 0 5 10 15 message!(0 $p),),
            pair!([zmm] $r1 $r2 [11] 1 6 11 12 message!(0 $q), 2 7 8 13 message!(0 $r),),
            pair!([zmm] $r1 $r2 [] 19 20 25 30 message!(64 $s), 16 21 26 31 message!(64 $p),),
            $first,
            pair!([zmm] $r1 $r2 [] 17 22 27 28 message!(64 $q), 18 23 24 29 message!(64 $r),),
            $second,
        )
    };
}

/// A round, with the steps inside it, and the places of the next one. The place in `rdx`, which began one further on, is
/// the first again after seven rounds: counted last, it sets the flag for zero if there is no other round.
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

/// The state before the rounds, except the chaining values.
macro_rules! begin {
    ($tail:literal) => {
        concat!(
            iv!([zmm] 0 8 24, 1 9 25, 2 10 26, 3 11 27,),
            "vmovdqa64 [rcx],zmm11\n",
            load!([zmm] $tail 0 12, 1 28, 2 13, 3 29, 4 14, 5 30, 6 15, 7 31,),
        )
    };
}

/// Chaining values: by `load` to the first eight registers of both states, or by `store` from there.
macro_rules! cvs {
    ($move:ident $place:literal) => {
        $move!([zmm] $place 0 0, 1 16, 2 1, 3 17, 4 2, 5 18, 6 3, 7 19, 8 4, 9 20, 10 5, 11 21, 12 6, 13 22,
            14 7, 15 23,)
    };
}

/// The next chaining values, after the rounds.
macro_rules! fold_both {
    () => {
        fold!([zmm] 0 8, 16 24, 1 9, 17 25, 2 10, 18 26, 3 11, 19 27, 4 12, 20 28, 5 13, 21 29, 6 14, 22 30,
            7 15, 23 31,)
    };
}

macro_rules! body {
    ([zmm] $($high:expr)?) => {
        naked_asm!(
            "push rbx\n push r12\n push r13\n push r14",
            cvs!(load "rdi"),
            begin!("rdx"),
            places!(),
            ".p2align 6\n 2:",
            round!(),
            "jnz 2b",
            fold_both!(),
            cvs!(store "rcx"),
            $($high,)?
            "pop r14\n pop r13\n pop r12\n pop rbx\n vzeroupper\n ret",
            iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
        )
    };
}

// The message is in the order of `CYCLES`.
routine!([zmm] "AVX-512F, and the OS saves its registers": compress);
routine!([zmm] "AVX-512F, and the OS saves its registers": compress_xof
    high_words!([zmm] 0 8 16, 1 24 17, 2 9 18, 3 25 19, 4 10 20, 5 26 21, 6 11 22, 7 27 23, 8 12 24,
        9 28 25, 10 13 26, 11 29 27, 12 14 28, 13 30 29, 14 15 30, 15 31 31,));

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

/// The rows in registers 0 to 15 become the words in registers 16 to 31.
macro_rules! transpose {
    () => {
        concat!(
            // 128-bit parts of a register, before: words 0 to 3 of row i, words 4 to 7 of it, the
            // same of row i + 4; or words 8 to 15. Here: word w of rows i to i + 3, word w + 4 of
            // them, the same of the next four.
            interleave!([zmm] 1: 16 17 0 1, 18 19 2 3, 20 21 4 5, 22 23 6 7,
                24 25 8 9, 26 27 10 11, 28 29 12 13, 30 31 14 15),
            interleave!([zmm] 2: 0 1 16 18, 2 3 17 19, 4 5 20 22, 6 7 21 23,
                8 9 24 26, 10 11 25 27, 12 13 28 30, 14 15 29 31),
            // The even parts of eight rows and of the other eight are a word; so are the odd ones.
            interleave!([zmm] 4: 16 20 0 4, 17 21 1 5, 18 22 2 6,
                19 23 3 7, 24 28 8 12, 25 29 9 13, 26 30 10 14, 27 31 11 15),
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
/// The upper halves of registers stay in use, as [`compress`] or the rest of [`blocks_32`] follows and ends that.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; the bytes are readable.
#[unsafe(naked)]
pub(in crate::kernel) unsafe extern "sysv64" fn load(
    inputs: *const [*const u8; 32],
    offset: usize,
    message: *mut [[__m512i; 2]; 16],
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
            interleave!([zmm] 2: $e $f $a $c, $g $h $b $d),
            store_words!($state "rsi": $w0 $e $w1 $f $w2 $g $w3 $h),
        )
    };
}

blocks_routine!(
    /// Compresses whole blocks of 32 lanes, one after the other, as `Blocks` says.
    ///
    /// The first message is transposed by [`load()`]. Of the others, half of the transposition is moving, which takes none
    /// of the ports that the rounds keep busy: sixteen bytes of four lanes at a time become a row, during the first four
    /// rounds of the block before. Later rounds would do as well, except for the stores: rows are read right after the last.
    blocks_32 ahead:
    // rdi inputs, rbp ahead, rsi the message and after it the rows of the next one, rcx chaining values, r8 where the
    // block is, r9 where the rows get what this round moves, r15 a lane's input; steps that are left on the stack. What
    // rax counts, 32 a round, is also the place of the pointers to four lanes, for the four rounds that move.
    "push rbx\n push rbp\n push r12\n push r13\n push r14\n push r15\n push r8",
    "mov rbp,rcx\n mov rcx,rdi\n mov rdi,rdx\n mov rdx,rsi\n mov rsi,r9",
    "call {load}",
    "mov rsi,rdx\n mov r8,r9",
    cvs!(load "rcx"),
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
    fold_both!(),
    "dec qword ptr [rsp]\n jz 5f",
    // The flags of the next block, which may be the last.
    "lea rax,[rsi+4096+128*4]\n lea rdx,[rsi+4096+128*5]\n cmp qword ptr [rsp],1\n cmove rax,rdx",
    load!([zmm] "rax" 0 8, 1 24,), store!([zmm] "rsi+4096+128*3" 0 8, 1 24,),
    // Where the words are in `CYCLES`.
    quarter!(0: 0 8 1 2), quarter!(1: 10 7 9 11), quarter!(2: 15 5 3 6), quarter!(3: 4 12 13 14),
    "add r8,64\n jmp 3b",
    "5:",
    cvs!(store "rcx"),
    "add rsp,8\n pop r15\n pop r14\n pop r13\n pop r12\n pop rbp\n pop rbx\n vzeroupper\n ret",
    load = sym load,
    iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
);
