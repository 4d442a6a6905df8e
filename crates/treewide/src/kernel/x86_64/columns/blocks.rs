//! Several blocks in one call: whole blocks of every lane, one after the other, as columns, in one piece of assembly.
//!
//! Where operations take one cycle, one state keeps the ports busy in whatever order they come: on Intel's cores the
//! 784 operations of the rounds of sixteen lanes take the 392 cycles that two ports for 512 bits need. What is left to gain
//! lies between the rounds of one block and those of the next, there and, most with two states, on Zen 5. Here the
//! chaining value stays in registers, and nothing is decided from block to block.

use core::mem::MaybeUninit;

use crate::kernel::columns::Vector;
use crate::kernel::inputs::PassInputs;
use crate::spec::BLOCK_LEN;

/// Fewer blocks than this are compressed step by step; the routines need two. As good as 2 or 6 on Zen 5
/// (`results/zen5-2vcpu/limits.md#runs-of-blocks`).
pub(in crate::kernel::x86_64) const FROM: usize = 4;

/// What a routine reads and writes in addition to its inputs.
#[repr(C, align(64))]
struct Operands<V> {
    /// The message of the block that is compressed, and the next block, in the order of the routine.
    messages: MaybeUninit<[[V; 16]; 2]>,
    /// Counters, low and high words, and the length of a block.
    tail: [V; 3],
    /// The flags of the first block; changed to those of the next, block by block.
    flags: V,
    /// The flags of the blocks between, and of the last.
    each: V,
    last: V,
}

/// Compresses `blocks` blocks of every lane, two at least, one behind the other from an offset on, into a chaining
/// value: `(cv, operands, inputs, ahead, blocks, offset)`. It may fetch as many cache lines of `ahead[lane]`; those
/// addresses need not exist. Word `w` of every array is one vector, aligned to its size. Backtraces from inside of
/// routines that push registers end there.
pub(in crate::kernel::x86_64) type Blocks =
    unsafe extern "sysv64" fn(*mut u8, *mut u8, *const *const u8, *const *const u8, usize, usize);

/// [`Vector::blocks`] by this routine.
#[inline(always)]
pub(in crate::kernel::x86_64) unsafe fn blocks<V: Vector<N>, const N: usize>(
    routine: Blocks,
    cv: &mut [V; 8],
    nodes: &PassInputs<N>,
    from: usize,
    to: usize,
) {
    // Where nothing comes next, the same bytes are fetched once more.
    let ahead = if nodes.fetch == N { &nodes.ahead } else { &nodes.inputs };
    let each = V::splat(nodes.each);
    let mut operands = Operands {
        messages: MaybeUninit::uninit(),
        tail: [V::load(&nodes.low), V::load(&nodes.high), V::splat(BLOCK_LEN as u32)],
        flags: if from == 0 { V::splat(nodes.first) } else { each },
        each,
        // The flags of a last block are others.
        last: if to == nodes.steps() { each.xor(V::load(&nodes.last)) } else { each },
    };
    let (cv, operands) = (cv.as_mut_ptr().cast(), (&raw mut operands).cast());
    let (inputs, ahead) = (nodes.inputs.as_ptr(), ahead.as_ptr());
    routine(cv, operands, inputs, ahead, to - from, from * BLOCK_LEN);
}

/// Implements what a [`Vector`] does by assembly: several blocks by a routine, before that perhaps its compressions by two;
/// and fetching, by the instruction of x86-64.
macro_rules! in_assembly {
    ($lanes:literal: $compress:expr, $compress_xof:expr, $blocks:expr) => {
        crate::kernel::vectors::compressions!($compress, $compress_xof);
        in_assembly!($lanes: $blocks);
    };
    ($lanes:literal: $blocks:expr) => {
        const BLOCKS_FROM: usize = crate::kernel::x86_64::columns::blocks::FROM;

        #[inline(always)]
        unsafe fn blocks(
            cv: &mut [Self; 8],
            nodes: &crate::kernel::inputs::PassInputs<$lanes>,
            from: usize,
            to: usize,
        ) {
            crate::kernel::x86_64::columns::blocks::blocks($blocks, cv, nodes, from, to)
        }
        #[inline(always)]
        unsafe fn prefetch(address: *const u8) {
            _mm_prefetch::<_MM_HINT_T1>(address.cast())
        }
    };
}
pub(in crate::kernel::x86_64) use in_assembly;

/// Implements [`Vector`]'s loads of blocks and its stores by routines, the stores of `$lanes` words at a time.
macro_rules! transposed {
    ($lanes:literal: $load:path, $store:path) => {
        #[inline(always)]
        unsafe fn load_blocks(
            inputs: &[*const u8; $lanes],
            offset: usize,
            message: &mut [core::mem::MaybeUninit<Self>; 16],
        ) {
            $load(inputs, offset, message.as_mut_ptr().cast())
        }
        #[inline(always)]
        unsafe fn store_cvs(cv: &[Self; 8], out: *mut crate::spec::ChainingValue, count: usize) {
            let mut word = 0;
            while word < 8 {
                $store((&raw const cv[word]).cast(), out.cast::<u8>().add(4 * word), 32, count);
                word += $lanes;
            }
        }
        #[inline(always)]
        unsafe fn store_blocks(
            words: &[Self; 16],
            out: *mut [u8; crate::spec::BLOCK_LEN],
            count: usize,
        ) {
            let mut word = 0;
            while word < 16 {
                $store((&raw const words[word]).cast(), out.cast::<u8>().add(4 * word), 64, count);
                word += $lanes;
            }
        }
    };
}
pub(in crate::kernel::x86_64) use transposed;
