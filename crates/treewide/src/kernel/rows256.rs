//! Four lanes as rows (see `rows.rs`) in AVX2 registers: two lanes side by side in each of four
//! vectors, a *set*, and the same once more for lanes 2 and 3.
//!
//! What AVX-512 does in one permutation of two vectors takes shuffles and blends here, but nothing
//! waits for them: the message of the next round is put in order, in memory, in the shadow of the
//! chain of this one. In assembly, as compilers move shuffles into the
//! chain; naked, and with that calling convention, for the reasons in `rounds32.rs`.

use core::arch::naked_asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use core::ptr;

use super::group::Group;
use super::lanes::{Pass, Root};
use crate::spec::{BLOCK_LEN, ChainingValue, IV as WORDS, Words};

/// Four lanes.
pub(super) struct Rows;

/// The rows, or the message of a round, of two lanes.
type Set = [__m256i; 4];

static IV: [u32; 8] = WORDS;

/// Where each byte of a vector comes from when every word of it rotates right by 16, and by 8.
#[repr(C, align(32))]
struct Rotations([[u8; 16]; 4]);

static ROTATIONS: Rotations = {
    const BY_16: [u8; 16] = [2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13];
    const BY_8: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
    Rotations([BY_16, BY_16, BY_8, BY_8])
};

/// Vector `i` (0 to 3) of the message of a set in a round.
macro_rules! message {
    ($round:tt $set:literal $i:literal) => {
        concat!("[rsi+256*", $round, "+128*", $set, "+32*", $i, "]")
    };
}

/// The message words of two lanes in the order of the first round: for the columns the first and
/// the second word of each G, then the same for the diagonals, as row 1 sees them.
macro_rules! arrange {
    ($set:literal $low:literal $high:literal) => {
        concat!(
            "mov rax,[rdx+", $low, "]\n mov r10,[rdx+", $high, "]\n",
            "vmovdqu xmm8,[rax+rcx]\n vinserti128 ymm8,ymm8,[r10+rcx],1\n",
            "vmovdqu xmm9,[rax+rcx+16]\n vinserti128 ymm9,ymm9,[r10+rcx+16],1\n",
            "vmovdqu xmm10,[rax+rcx+32]\n vinserti128 ymm10,ymm10,[r10+rcx+32],1\n",
            "vmovdqu xmm11,[rax+rcx+48]\n vinserti128 ymm11,ymm11,[r10+rcx+48],1\n",
            "vshufps ymm12,ymm8,ymm9,0x88\n vmovdqa ", message!(0 $set 0), ",ymm12\n",
            "vshufps ymm13,ymm8,ymm9,0xdd\n vmovdqa ", message!(0 $set 1), ",ymm13\n",
            "vshufps ymm14,ymm10,ymm11,0x88\n vpshufd ymm14,ymm14,0x93\n",
            "vmovdqa ", message!(0 $set 2), ",ymm14\n",
            "vshufps ymm15,ymm10,ymm11,0xdd\n vpshufd ymm15,ymm15,0x93\n",
            "vmovdqa ", message!(0 $set 3), ",ymm15\n",
        )
    };
}

/// The arranged message of the next round (table 2 of the paper). Of
/// 0 2 4 6, 1 3 5 7, 14 8 10 12, 15 9 11 13 it makes 2 3 7 4, 6 10 0 13, 15 1 12 9, 8 11 5 14.
macro_rules! permute {
    ($set:literal $round:tt $next:tt) => {
        concat!(
            "vpshufd ymm10,", message!($round $set 0), ",0x81\n",
            "vpshufd ymm11,", message!($round $set 1), ",0x34\n",
            "vpblendd ymm10,ymm10,ymm11,0x66\n",
            "vmovdqa ", message!($next $set 0), ",ymm10\n",
            "vmovdqa ymm12,", message!($round $set 2), "\n",
            "vpblendd ymm13,ymm12,", message!($round $set 3), ",0x88\n",
            "vpshufd ymm13,ymm13,0xc8\n",
            "vpshufd ymm14,", message!($round $set 0), ",0x03\n",
            "vpblendd ymm14,ymm14,ymm13,0xaa\n",
            "vmovdqa ", message!($next $set 1), ",ymm14\n",
            "vpblendd ymm10,ymm12,", message!($round $set 1), ",0x77\n",
            "vpshufd ymm10,ymm10,0x30\n",
            "vpshufd ymm11,", message!($round $set 3), ",0x40\n",
            "vpblendd ymm11,ymm11,ymm10,0x66\n",
            "vmovdqa ", message!($next $set 2), ",ymm11\n",
            "vpshufd ymm13,", message!($round $set 3), ",0x08\n",
            "vpshufd ymm12,ymm12,0x01\n",
            "vpblendd ymm12,ymm12,ymm13,0x22\n",
            "vpblendd ymm12,ymm12,", message!($round $set 1), ",0x44\n",
            "vmovdqa ", message!($next $set 3), ",ymm12\n",
        )
    };
}

/// Half of G on four columns or diagonals of both sets: rows 0 to 3 of one are registers 0 to 3, of
/// the other 4 to 7. They take turns, as each is one chain and waits for itself.
macro_rules! half_g {
    ($round:literal $part:literal $table:literal $right:literal $left:literal) => {
        concat!(
            "vpaddd ymm0,ymm0,[rsi+256*",
            $round,
            "+32*",
            $part,
            "]\n",
            "vpaddd ymm4,ymm4,[rsi+256*",
            $round,
            "+32*",
            $part,
            "+128]\n",
            "vpaddd ymm0,ymm0,ymm1\n vpaddd ymm4,ymm4,ymm5\n",
            "vpxor ymm3,ymm3,ymm0\n vpxor ymm7,ymm7,ymm4\n",
            "vpshufb ymm3,ymm3,[rip+{rotations}+",
            $table,
            "]\n vpshufb ymm7,ymm7,[rip+{rotations}+",
            $table,
            "]\n",
            "vpaddd ymm2,ymm2,ymm3\n vpaddd ymm6,ymm6,ymm7\n",
            "vpxor ymm1,ymm1,ymm2\n vpxor ymm5,ymm5,ymm6\n",
            "vpsrld ymm8,ymm1,",
            $right,
            "\n vpslld ymm1,ymm1,",
            $left,
            "\n",
            "vpsrld ymm9,ymm5,",
            $right,
            "\n vpslld ymm5,ymm5,",
            $left,
            "\n",
            "vpor ymm1,ymm1,ymm8\n vpor ymm5,ymm5,ymm9\n",
        )
    };
}

/// Rotates rows 0, 3 and 2 by whole words.
macro_rules! turn {
    ($by0:literal $by3:literal $by2:literal) => {
        concat!(
            "vpshufd ymm0,ymm0,",
            $by0,
            "\n vpshufd ymm4,ymm4,",
            $by0,
            "\n",
            "vpshufd ymm3,ymm3,",
            $by3,
            "\n vpshufd ymm7,ymm7,",
            $by3,
            "\n",
            "vpshufd ymm2,ymm2,",
            $by2,
            "\n vpshufd ymm6,ymm6,",
            $by2,
            "\n",
        )
    };
}

/// A round, and in its shadow the message of the next.
macro_rules! round {
    ($round:literal $($next:literal)?) => {
        concat!(
            half_g!($round 0 0 12 20),
            $(permute!(0 $round $next),)?
            half_g!($round 1 32 7 25),
            turn!(0x93 0x4e 0x39),
            half_g!($round 2 0 12 20),
            $(permute!(1 $round $next),)?
            half_g!($round 3 32 7 25),
            turn!(0x39 0x4e 0x93),
        )
    };
}

/// Compresses `count` blocks, one at least, of every lane, from `offset` behind `inputs` on. Rows 0
/// and 1 of `v` are the chaining value before and after, row 3 is the same for all blocks, and what
/// the last block leaves in rows 2 and 3 goes to `high`. There is room in `message` to work.
///
/// # Safety
/// The CPU has AVX2, and the OS saves its registers; the blocks are readable and the arrays aligned.
#[unsafe(naked)]
unsafe extern "sysv64" fn blocks(
    v: *mut [Set; 2],
    message: *mut [[Set; 2]; 7],
    inputs: *const [*const u8; 4],
    offset: usize,
    count: usize,
    high: *mut [[__m256i; 2]; 2],
) {
    naked_asm!(
        "vmovdqa ymm0,[rdi]",
        "vmovdqa ymm1,[rdi+32]",
        "vmovdqa ymm4,[rdi+128]",
        "vmovdqa ymm5,[rdi+160]",
        "2:",
        arrange!(0 0 8),
        arrange!(1 16 24),
        "vbroadcasti128 ymm2,[rip+{iv}]",
        "vmovdqa ymm6,ymm2",
        // Lane by lane, as it was stored: two stores are not forwarded to one load.
        "vmovdqa xmm3,[rdi+96]",
        "vinserti128 ymm3,ymm3,[rdi+112],1",
        "vmovdqa xmm7,[rdi+224]",
        "vinserti128 ymm7,ymm7,[rdi+240],1",
        round!(0 1),
        round!(1 2),
        round!(2 3),
        round!(3 4),
        round!(4 5),
        round!(5 6),
        round!(6),
        "vpxor ymm0,ymm0,ymm2",
        "vpxor ymm1,ymm1,ymm3",
        "vpxor ymm4,ymm4,ymm6",
        "vpxor ymm5,ymm5,ymm7",
        "add rcx,64",
        "dec r8",
        "jnz 2b",
        "vmovdqa [rdi],ymm0",
        "vmovdqa [rdi+32],ymm1",
        "vmovdqa [rdi+128],ymm4",
        "vmovdqa [rdi+160],ymm5",
        "vmovdqa [r9],ymm2",
        "vmovdqa [r9+32],ymm3",
        "vmovdqa [r9+64],ymm6",
        "vmovdqa [r9+96],ymm7",
        "vzeroupper",
        "ret",
        rotations = sym ROTATIONS,
        iv = sym IV,
    )
}

/// What the assembly works on.
#[repr(C, align(64))]
struct Operands {
    v: [Set; 2],
    message: MaybeUninit<[[Set; 2]; 7]>,
    high: [[__m256i; 2]; 2],
}

impl Operands {
    /// The same chaining value in every lane.
    #[inline(always)]
    unsafe fn new(cv: &Words) -> Self {
        // SAFETY: AVX2; sixteen readable bytes each.
        unsafe {
            let half = |i: usize| _mm_loadu_si128(cv[i..i + 4].as_ptr().cast());
            let (low, high) =
                (_mm256_broadcastsi128_si256(half(0)), _mm256_broadcastsi128_si256(half(4)));
            let v = [[low, high, low, low]; 2];
            Self { v, message: MaybeUninit::uninit(), high: [[low, high]; 2] }
        }
    }

    /// What goes into row 3 of a lane.
    #[inline(always)]
    unsafe fn set_tail(&mut self, lane: usize, counter: [u32; 2], len: u32, flags: u32) {
        // SAFETY: SSE2; half of a row of the lane's set.
        unsafe {
            let words =
                _mm_setr_epi32(counter[0] as i32, counter[1] as i32, len as i32, flags as i32);
            let row: *mut __m256i = &raw mut self.v[lane / 2][3];
            row.cast::<__m128i>().add(lane % 2).write(words);
        }
    }

    /// `count` blocks of every lane, one at least, with the same tails.
    #[inline(always)]
    unsafe fn compress(&mut self, inputs: &[*const u8; 4], offset: usize, count: usize) {
        let Self { v, message, high } = self;
        // SAFETY: AVX2; the caller has these blocks.
        unsafe { blocks(v, message.as_mut_ptr(), inputs, offset, count, high) }
    }
}

/// Stores the halves of two rows of both sets as 32 bytes for each lane, to `out` and every
/// `step` bytes behind it, for the first `count` lanes.
#[inline(always)]
unsafe fn store(rows: [[__m256i; 2]; 2], out: *mut u8, step: usize, count: usize) {
    for (set, [a, b]) in rows.into_iter().enumerate() {
        // SAFETY: AVX2; the caller has room for `count` lanes.
        unsafe {
            let lanes =
                [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)];
            for (i, lane) in lanes.into_iter().enumerate() {
                if 2 * set + i < count {
                    _mm256_storeu_si256(out.add((2 * set + i) * step).cast(), lane);
                }
            }
        }
    }
}

/// Rows 0 and 1 of both sets.
#[inline(always)]
fn low_rows(v: &[Set; 2]) -> [[__m256i; 2]; 2] {
    [[v[0][0], v[0][1]], [v[1][0], v[1][1]]]
}

// SAFETY: AVX2 and what it implies.
unsafe impl Pass<4> for Rows {
    #[inline(always)]
    unsafe fn hash(group: &Group<4>, key: &Words, out: *mut ChainingValue, count: usize) {
        const BLOCK: u32 = BLOCK_LEN as u32;
        // Blocks that are whole and not the last of any lane.
        let whole = (group.shortest.saturating_sub(1) / BLOCK) as usize;
        // SAFETY: the caller vouches for the instruction set and the pointers; of a block that is
        // not whole only what there is of it is read.
        unsafe {
            let mut operands = Operands::new(key);
            for (step, run, flags) in
                [(0, whole.min(1), group.first), (1, whole.saturating_sub(1), group.each)]
            {
                if run > 0 {
                    for lane in 0..4 {
                        let counter = [group.low[lane], group.high[lane]];
                        operands.set_tail(lane, counter, BLOCK, flags);
                    }
                    operands.compress(&group.inputs, step * BLOCK_LEN, run);
                }
            }
            for step in whole..group.steps() {
                let block = group.block(step);
                let before = operands.v;
                let mut padded = [[0; BLOCK_LEN]; 4];
                let mut inputs = [ptr::null(); 4];
                for lane in 0..4 {
                    let len = block.lens[lane];
                    inputs[lane] = group.inputs[lane].wrapping_add(step * BLOCK_LEN);
                    if len < BLOCK {
                        let padded = &mut padded[lane];
                        ptr::copy_nonoverlapping(inputs[lane], padded.as_mut_ptr(), len as usize);
                        inputs[lane] = padded.as_ptr();
                    }
                    let counter = [group.low[lane], group.high[lane]];
                    operands.set_tail(lane, counter, len, block.flags[lane]);
                }
                operands.compress(&inputs, 0, 1);
                for lane in 0..4 {
                    if block.runs[lane] == 0 {
                        // It has ended and keeps its chaining value: half of each row.
                        let rows = operands.v[lane / 2].iter_mut().zip(before[lane / 2]);
                        for (now, then) in rows.take(2) {
                            *now = match lane % 2 {
                                0 => _mm256_blend_epi32::<0x0f>(*now, then),
                                _ => _mm256_blend_epi32::<0xf0>(*now, then),
                            };
                        }
                    }
                }
            }
            store(low_rows(&operands.v), out.cast(), size_of::<ChainingValue>(), count);
        }
    }

    #[inline(always)]
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
        // SAFETY: the caller vouches for the instruction set and has room for `count` blocks.
        unsafe {
            let mut operands = Operands::new(root.cv);
            for lane in 0..4 {
                let counter = counter.wrapping_add(lane as u64);
                let counter = [counter as u32, (counter >> 32) as u32];
                operands.set_tail(lane, counter, root.block_len, u32::from(root.flags));
            }
            let cv = low_rows(&operands.v);
            operands.compress(&[root.block.as_ptr(); 4], 0, 1);
            for (rows, cv) in operands.high.iter_mut().zip(cv) {
                for (row, cv) in rows.iter_mut().zip(cv) {
                    *row = _mm256_xor_si256(*row, cv);
                }
            }
            let out: *mut u8 = out.cast();
            store(low_rows(&operands.v), out, BLOCK_LEN, count);
            store(operands.high, out.add(BLOCK_LEN / 2), BLOCK_LEN, count);
        }
    }
}
