//! One lane in the general registers of x86-64.
//!
//! A compression is a chain of 168 dependent operations, which general registers do in one cycle
//! each, where vector registers may need two (Zen 5). Compilers come to about 220 cycles, and this to 187: sixteen
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
//! A column or diagonal step leaves `c` in the shared register and `a` on the stack.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use core::ptr;

use super::cores::{Avx2, Core};
use crate::kernel::contract::Flags;
use crate::spec::{BLOCK_LEN, Words};

/// Four times G. `a`, `b`, `c`, `d` of three of them; the shared register, `b` and `d` of the fourth, and where its `c`
/// waits; the message words.
///
/// Two to four operations of one, then as many of the next: three in the order in which their `b` comes out of the half
/// round before, and last the one with the shared register. One operation of each alternately, which asks for four
/// rotations at once, takes 3.5 % longer, and most other orders 1 to 2 % (`results/zen5-2vcpu/limits.md#one-lane`).
macro_rules! half_round {
    ($a0:literal $b0:literal $c0:literal $d0:literal, $a1:literal $b1:literal $c1:literal $d1:literal,
     $a2:literal $b2:literal $c2:literal $d2:literal, $s:literal $b3:literal $d3:literal $slot:literal,
     $p0:literal $p1:literal $p2:literal $p3:literal $q0:literal $q1:literal $q2:literal $q3:literal) => {
        concat!(
            sum!($a0 $b0 $p0), sum!($a1 $b1 $p1), sum!($a2 $b2 $p2),
            swap!($s 64 for $slot), sum!($s $b3 $p3),
            xor_rotate!($d0 $a0 16), add!($c0 $d0), xor_rotate!($d1 $a1 16), add!($c1 $d1), xor_rotate!($d2 $a2 16), add!($c2 $d2),
            xor_rotate!($d3 $s 16, swap!($s $slot for 64)), add!($s $d3),
            xor_rotate!($b0 $c0 12), sum!($a0 $b0 $q0), xor_rotate!($b1 $c1 12), sum!($a1 $b1 $q1),
            xor_rotate!($b2 $c2 12), sum!($a2 $b2 $q2),
            xor_rotate!($b3 $s 12, swap!($s 64 for $slot)), sum!($s $b3 $q3),
            xor_rotate!($d0 $a0 8), add!($c0 $d0), xor_rotate!($d1 $a1 8), add!($c1 $d1), xor_rotate!($d2 $a2 8), add!($c2 $d2),
            xor_rotate!($d3 $s 8, swap!($s $slot for 64)), add!($s $d3),
            xor_rotate!($b0 $c0 7), xor_rotate!($b1 $c1 7), xor_rotate!($b2 $c2 7), xor_rotate!($b3 $s 7),
        )
    };
}

macro_rules! add {
    ($to:literal $from:literal) => {
        concat!("add ", $to, ",", $from, "\n")
    };
}

/// A message word and `b`, which comes last, to `a`.
macro_rules! sum {
    ($a:literal $b:literal $word:literal) => {
        concat!("add ", $a, ",[rsp+4*", $word, "]\n", add!($a $b))
    };
}

/// The exclusive or with a word that is not needed after that, rotated.
macro_rules! xor_rotate {
    ($to:literal $from:literal $by:literal $(, $more:expr)?) => {
        concat!("xor ", $to, ",", $from, "\n", $($more,)? "ror ", $to, ",", $by, "\n")
    };
}

/// The value that waits at one place for the one in the shared register, which waits at another.
macro_rules! swap {
    ($s:literal $from:literal for $to:literal) => {
        concat!("mov [rsp+", $to, "],", $s, "\n mov ", $s, ",[rsp+", $from, "]\n")
    };
}

macro_rules! each {
    ($op:literal $($to:literal $from:literal),+) => {
        concat!($($op, " ", $to, ",", $from, "\n",)+)
    };
}

macro_rules! rounds {
    // One round for each `x`, the message words permuted between rounds (table 2 of the paper).
    ([]; $($m:literal)*) => { "" };
    ([x $($more:tt)*]; $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal
     $m6:literal $m7:literal $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal
     $m13:literal $m14:literal $m15:literal) => {
        concat!(
            half_round!("ecx" "r8d" "ebx" "r13d", "edx" "r9d" "ebp" "r14d",
                "eax" "edi" "r11d" "r12d", "esi" "r10d" "r15d" 68,
                $m2 $m4 $m0 $m6 $m3 $m5 $m1 $m7),
            half_round!("eax" "r8d" "ebp" "r15d", "ecx" "r9d" "esi" "r12d",
                "edx" "r10d" "r11d" "r13d", "ebx" "edi" "r14d" 72,
                $m8 $m10 $m12 $m14 $m9 $m11 $m13 $m15),
            rounds!([$($more)*]; $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

/// Parts of the block, of eight bytes, to the stack. By general registers, as Zen 5 then has the words
/// sooner than of a vector that was stored: 3 % less time.
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

/// The blocks of a node on one lane: how many there are, the last one with zeros behind its end, and how many bytes of
/// that are input. `zeros_follow` says that those zeros are there already, `masks` that there are masked loads.
///
/// # Safety
/// `input` points to `len` readable bytes, with `zeros_follow` to whole blocks, one at least; with `masks` AVX-512BW
/// and VL, and BMI2.
#[inline(always)]
pub(super) unsafe fn blocks(
    input: *const u8,
    len: usize,
    zeros_follow: bool,
    masks: bool,
    padded: &mut MaybeUninit<Padded>,
) -> (usize, *const u8, usize) {
    let before = (len.max(1) - 1) / BLOCK_LEN;
    let last = input.wrapping_add(before * BLOCK_LEN);
    let last_len = len - before * BLOCK_LEN;
    let last = match last_len {
        _ if zeros_follow => last,
        BLOCK_LEN => last,
        0 => ZEROS.as_ptr(),
        _ => pad(last, last_len, masks, padded),
    };
    (before + 1, last, last_len)
}

/// A block in a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Padded([u8; BLOCK_LEN]);

/// A block of `len` bytes, and zeros.
///
/// # Safety
/// `input` points to `len` readable bytes, 64 at most; with `masks` AVX-512BW and VL, and BMI2.
#[inline(always)]
pub(super) unsafe fn pad(
    input: *const u8,
    len: usize,
    masks: bool,
    padded: &mut MaybeUninit<Padded>,
) -> *const u8 {
    if masks {
        let mask = _bzhi_u64(u64::MAX, len as u32);
        // By halves: a single vector of 512 bits among narrower ones takes Intel's CPUs 30 cycles. If one is empty,
        // it is read from elsewhere: to read nothing from a page that is not there takes 70.
        let input = if len == 0 { ZEROS.as_ptr() } else { input };
        let more = input.wrapping_add(usize::from(len > 32) * 32);
        let halves = [
            _mm256_maskz_loadu_epi8(mask as u32, input.cast()),
            _mm256_maskz_loadu_epi8((mask >> 32) as u32, more.cast()),
        ];
        padded.as_mut_ptr().cast::<[__m256i; 2]>().write(halves);
    } else {
        ptr::copy_nonoverlapping(input, padded.write(Padded([0; BLOCK_LEN])).0.as_mut_ptr(), len);
    }
    padded.as_ptr().cast()
}

/// Compresses the blocks of a node; see [`crate::kernel::Kernel`].
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says.
pub(super) unsafe fn compress(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    compress_for::<Avx2>(cv, input, len, counter, flags)
}

/// The same with the instructions of a core.
#[inline(always)]
pub(super) unsafe fn compress_for<C: Core>(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = MaybeUninit::uninit();
    // SAFETY: the same contract.
    let (blocks, last, last_len) = blocks(input, len, flags.padded, C::AVX512, &mut padded);
    let [each, first, added] = [flags.each, flags.each | flags.first, flags.last].map(u32::from);
    asm!(
        // 0 message, 64 word 3, 68 word 11, 72 word 9, 76 the length of the last block, 80 cv, 88 the next block,
        // 96 how many there are, 104 the last, 112 counter, 120 flags of the next block, 124 of those after it,
        // 128 what the last adds
        "push rbx\n push rbp\n sub rsp,136",
        each!("mov" "[rsp+80]" "rsi", "[rsp+88]" "rdi", "[rsp+96]" "rdx", "[rsp+104]" "rcx", "[rsp+76]" "r8d"),
        each!("mov" "[rsp+112]" "r9", "[rsp+120]" "r10d", "[rsp+124]" "r11d", "[rsp+128]" "eax"),
        each!("mov" "eax" "[rsi+12]", "[rsp+64]" "eax"),
        each!("mov" "eax" "[rsi]", "ecx" "[rsi+4]", "edx" "[rsi+8]", "edi" "[rsi+16]"),
        each!("mov" "r8d" "[rsi+20]", "r9d" "[rsi+24]", "r10d" "[rsi+28]"),
        "2:",
        "mov rsi,[rsp+88]\n mov r14d,64",
        "mov r15d,[rsp+120]\n mov r12d,[rsp+124]\n mov [rsp+120],r12d",
        "dec qword ptr [rsp+96]\n jnz 3f",
        "mov rsi,[rsp+104]\n mov r14d,[rsp+76]\n or r15d,[rsp+128]",
        "3:",
        copy!(0 "r11", 8 "r12", 16 "r13", 24 "rbp"),
        copy!(32 "r11", 40 "r12", 48 "r13", 56 "rbp"),
        "add rsi,64\n mov [rsp+88],rsi\n mov r12d,[rsp+112]\n mov r13d,[rsp+116]",
        each!("mov" "r11d" 0x6a09e667, "ebx" 0xbb67ae85, "ebp" 0x3c6ef372, "esi" 0xa54ff53a),
        rounds!([x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        each!("xor" "eax" "r11d", "ecx" "ebx", "edx" "ebp", "[rsp+64]" "esi"),
        each!("xor" "edi" "r12d", "r8d" "r13d", "r9d" "r14d", "r10d" "r15d"),
        "cmp qword ptr [rsp+96],0\n jne 2b",
        each!("mov" "rsi" "[rsp+80]", "ebx" "[rsp+64]"),
        each!("mov" "[rsi]" "eax", "[rsi+4]" "ecx", "[rsi+8]" "edx", "[rsi+12]" "ebx"),
        each!("mov" "[rsi+16]" "edi", "[rsi+20]" "r8d", "[rsi+24]" "r9d", "[rsi+28]" "r10d"),
        "add rsp,136\n pop rbp\n pop rbx",
        inout("rsi") cv.as_mut_ptr() => _,
        inout("rdi") input => _,
        inout("rdx") blocks => _,
        inout("rcx") last => _,
        inout("r8") last_len => _,
        inout("r9") counter => _,
        inout("r10") first => _,
        inout("r11") each => _,
        inout("rax") added => _,
        out("r12") _, out("r13") _, out("r14") _, out("r15") _,
    );
}
