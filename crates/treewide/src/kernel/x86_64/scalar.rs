//! One lane in the general registers of x86-64.
//!
//! A compression is a chain of 168 dependent operations, which general registers do in one cycle
//! each, where vector registers may need two (Zen 5). Compilers come to about 220 cycles: sixteen
//! words of state do not fit fifteen registers. Here the message lies on the stack, so that all
//! fifteen hold state, and words 3 and 11 (or 9, on diagonals) share one: within a G the additions
//! to `a` and to `c` alternate, and each waits on the stack while it is the other's turn, long
//! enough for the way through memory not to be waited for.
//!
//! ```text
//! word       0   1   2   3/11  4   5   6   7   8   3/9  10  12   13   14   15
//! register  eax ecx edx  esi  edi r8d r9d r10d r11d ebx ebp r12d r13d r14d r15d
//! ```
//!
//! A column or diagonal step leaves `c` in the shared register and `a` on the stack, at `SLOT_A`.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::{MaybeUninit, offset_of};
use core::ptr;

use crate::kernel::Flags;
use crate::spec::{BLOCK_LEN, Words};

/// Four times G, the operations of the four interleaved. `a`, `b`, `c`, `d` of three of them and
/// the shared register, `b` and `d` of the fourth; where its `c` waits; the message words.
macro_rules! half_round {
    ($a0:literal $b0:literal $c0:literal $d0:literal, $a1:literal $b1:literal $c1:literal $d1:literal,
     $a2:literal $b2:literal $c2:literal $d2:literal, $s:literal $b3:literal $d3:literal $slot:literal,
     $p0:literal $p1:literal $p2:literal $p3:literal $q0:literal $q1:literal $q2:literal $q3:literal) => {
        concat!(
            "mov [rsp+", $slot, "],", $s, "\n mov ", $s, ",[rsp+64]\n",
            add_message!($a0 $p0, $a1 $p1, $a2 $p2, $s $p3),
            each!("add" $a0 $b0, $a1 $b1, $a2 $b2, $s $b3),
            each!("xor" $d0 $a0, $d1 $a1, $d2 $a2, $d3 $s),
            "mov [rsp+64],", $s, "\n mov ", $s, ",[rsp+", $slot, "]\n",
            each!("ror" $d0 16, $d1 16, $d2 16, $d3 16),
            each!("add" $c0 $d0, $c1 $d1, $c2 $d2, $s $d3),
            each!("xor" $b0 $c0, $b1 $c1, $b2 $c2, $b3 $s),
            "mov [rsp+", $slot, "],", $s, "\n mov ", $s, ",[rsp+64]\n",
            each!("ror" $b0 12, $b1 12, $b2 12, $b3 12),
            add_message!($a0 $q0, $a1 $q1, $a2 $q2, $s $q3),
            each!("add" $a0 $b0, $a1 $b1, $a2 $b2, $s $b3),
            each!("xor" $d0 $a0, $d1 $a1, $d2 $a2, $d3 $s),
            "mov [rsp+64],", $s, "\n mov ", $s, ",[rsp+", $slot, "]\n",
            each!("ror" $d0 8, $d1 8, $d2 8, $d3 8),
            each!("add" $c0 $d0, $c1 $d1, $c2 $d2, $s $d3),
            each!("xor" $b0 $c0, $b1 $c1, $b2 $c2, $b3 $s),
            each!("ror" $b0 7, $b1 7, $b2 7, $b3 7),
        )
    };
}

macro_rules! each {
    ($op:literal $($to:literal $from:literal),+) => {
        concat!($($op, " ", $to, ",", $from, "\n",)+)
    };
}

macro_rules! add_message {
    ($($to:literal $word:literal),+) => { concat!($("add ", $to, ",[rsp+4*", $word, "]\n",)+) };
}

macro_rules! rounds {
    // One round for each `x`, the message words permuted between rounds (table 2 of the paper).
    ([]; $($m:literal)*) => { "" };
    ([x $($more:tt)*]; $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal
     $m6:literal $m7:literal $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal
     $m13:literal $m14:literal $m15:literal) => {
        concat!(
            half_round!("eax" "edi" "r11d" "r12d", "ecx" "r8d" "ebx" "r13d",
                "edx" "r9d" "ebp" "r14d", "esi" "r10d" "r15d" 68,
                $m0 $m2 $m4 $m6 $m1 $m3 $m5 $m7),
            half_round!("eax" "r8d" "ebp" "r15d", "ecx" "r9d" "esi" "r12d",
                "edx" "r10d" "r11d" "r13d", "ebx" "edi" "r14d" 72,
                $m8 $m10 $m12 $m14 $m9 $m11 $m13 $m15),
            rounds!([$($more)*]; $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

/// Parts of the block, of eight bytes, to the stack. By general registers, as Zen 5 then has the words
/// sooner than of a vector that was stored: 193 cycles a block for 199.
macro_rules! copy {
    ($($at:literal $by:literal),+) => {
        concat!(
            $("mov ", $by, ",[rsi+", $at, "]\n",)+
            $("mov [rsp+", $at, "],", $by, "\n",)+
        )
    };
}

/// The block of the empty input.
static ZEROS: [u8; BLOCK_LEN] = [0; BLOCK_LEN];

/// What the assembly reads, and counts in.
#[repr(C)]
struct Job {
    /// The next block, and how many there are.
    input: *const u8,
    blocks: usize,
    /// The last block, all 64 bytes of it, and how many of them are input.
    last: *const u8,
    last_len: u32,
    /// Flags of the next block, and of those after it; what the last block adds. (Bytes, or the
    /// compiler would widen them side by side in a vector, which everything then waits for.)
    now: u8,
    each: u8,
    added: u8,
    counter: [u32; 2],
}

/// The offsets by which the assembly knows them, which are others where pointers have 32 bits.
const _: () = assert!(
    offset_of!(Job, blocks) == 8
        && offset_of!(Job, last) == 16
        && offset_of!(Job, last_len) == 24
        && offset_of!(Job, now) == 28
        && offset_of!(Job, each) == 29
        && offset_of!(Job, added) == 30
        && offset_of!(Job, counter) == 32
);

/// The blocks of a node on one lane: how many there are, the last one with zeros behind its end, and how many bytes of
/// that are input. `zeros_follow` says that those zeros are there already, `masks` that there are masked loads.
///
/// # Safety
/// `input` points to `len` readable bytes, with `zeros_follow` to whole blocks; with `masks` AVX-512BW, and BMI2.
#[inline(always)]
pub(super) unsafe fn blocks(
    input: *const u8,
    len: usize,
    zeros_follow: bool,
    masks: bool,
    padded: &mut MaybeUninit<Padded>,
) -> (usize, *const u8, usize) {
    let count = len.div_ceil(BLOCK_LEN).max(1);
    let last = input.wrapping_add((count - 1) * BLOCK_LEN);
    let last_len = len - (count - 1) * BLOCK_LEN;
    let last = match last_len {
        _ if zeros_follow => last,
        BLOCK_LEN => last,
        // To read nothing from where nothing is, as a mask would have it, takes Intel's CPUs a hundred cycles.
        0 => ZEROS.as_ptr(),
        // SAFETY: the same contract.
        _ => unsafe { pad(last, last_len, masks, padded) },
    };
    (count, last, last_len)
}

/// A block in a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Padded([u8; BLOCK_LEN]);

/// A block of so many bytes, and zeros.
///
/// # Safety
/// `input` points to `len` readable bytes, 64 at most; with `masks` AVX-512BW, and BMI2.
#[inline(always)]
pub(super) unsafe fn pad(
    input: *const u8,
    len: usize,
    masks: bool,
    padded: &mut MaybeUninit<Padded>,
) -> *const u8 {
    // SAFETY: the caller vouches for the input; bytes outside the mask are not read.
    unsafe {
        if masks {
            let mask = _bzhi_u64(u64::MAX, len as u32);
            let block = _mm512_maskz_loadu_epi8(mask, input.cast());
            _mm512_storeu_si512(padded.as_mut_ptr().cast(), block);
        } else {
            ptr::copy_nonoverlapping(
                input,
                padded.write(Padded([0; BLOCK_LEN])).0.as_mut_ptr(),
                len,
            );
        }
    }
    padded.as_ptr().cast()
}

/// Compresses the blocks of a node; see [`crate::kernel::Kernel`].
///
/// # Safety
/// `input` points to `len` readable bytes.
pub(super) unsafe fn compress(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    // SAFETY: the same contract.
    unsafe { compress_by::<false>(cv, input, len, counter, flags) }
}

/// The same with masks or without.
///
/// # Safety
/// As for [`blocks`].
#[inline(always)]
pub(super) unsafe fn compress_by<const MASKS: bool>(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = MaybeUninit::uninit();
    // SAFETY: the same contract.
    let (blocks, last, last_len) = unsafe { blocks(input, len, flags.padded, MASKS, &mut padded) };
    let mut job = Job {
        input,
        blocks,
        last,
        last_len: last_len as u32,
        now: flags.each | flags.first,
        each: flags.each,
        added: flags.last,
        counter: [counter as u32, (counter >> 32) as u32],
    };
    // SAFETY: reads the blocks, reads and writes `job` and `cv`, pushes what it pops; rbx and rbp,
    // which cannot be declared, are restored.
    unsafe {
        asm!(
            // 0 message, 64 word 3, 68 word 11, 72 word 9, 80 cv, 88 job
            "push rbx\n push rbp\n sub rsp,96",
            each!("mov" "[rsp+80]" "rsi", "[rsp+88]" "rdi", "rbx" "rdi", "eax" "[rsi+12]", "[rsp+64]" "eax"),
            each!("mov" "eax" "[rsi]", "ecx" "[rsi+4]", "edx" "[rsi+8]", "edi" "[rsi+16]"),
            each!("mov" "r8d" "[rsi+20]", "r9d" "[rsi+24]", "r10d" "[rsi+28]"),
            "2:",
            "mov rsi,[rbx]\n mov r14d,64",
            "movzx r15d,byte ptr [rbx+28]\n movzx r12d,byte ptr [rbx+29]\n mov [rbx+28],r12b",
            "dec qword ptr [rbx+8]\n jnz 3f",
            "mov rsi,[rbx+16]\n mov r14d,[rbx+24]\n movzx r12d,byte ptr [rbx+30]\n or r15d,r12d",
            "3:",
            copy!(0 "r11", 8 "r12", 16 "r13", 24 "rbp"),
            copy!(32 "r11", 40 "r12", 48 "r13", 56 "rbp"),
            "add rsi,64\n mov [rbx],rsi\n mov r12d,[rbx+32]\n mov r13d,[rbx+36]",
            each!("mov" "r11d" 0x6a09e667, "ebx" 0xbb67ae85, "ebp" 0x3c6ef372, "esi" 0xa54ff53a),
            rounds!([x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            each!("xor" "eax" "r11d", "ecx" "ebx", "edx" "ebp", "[rsp+64]" "esi"),
            each!("xor" "edi" "r12d", "r8d" "r13d", "r9d" "r14d", "r10d" "r15d"),
            "mov rbx,[rsp+88]\n cmp qword ptr [rbx+8],0\n jne 2b",
            each!("mov" "rsi" "[rsp+80]", "ebx" "[rsp+64]"),
            each!("mov" "[rsi]" "eax", "[rsi+4]" "ecx", "[rsi+8]" "edx", "[rsi+12]" "ebx"),
            each!("mov" "[rsi+16]" "edi", "[rsi+20]" "r8d", "[rsi+24]" "r9d", "[rsi+28]" "r10d"),
            "add rsp,96\n pop rbp\n pop rbx",
            inout("rdi") &raw mut job => _,
            inout("rsi") cv.as_mut_ptr() => _,
            out("rax") _, out("rcx") _, out("rdx") _, out("r8") _, out("r9") _, out("r10") _,
            out("r11") _, out("r12") _, out("r13") _, out("r14") _, out("r15") _,
        );
    }
}
