//! Lanes as columns: the pass that hashes many nodes side by side, one in each lane of a vector.
//!
//! The state is *transposed*: vector `w` of the chaining value holds word `w` of every lane.
//!
//! ```text
//!            lane 0    lane 1    lane 2   ...  lane N-1
//! cv[0]    [ word 0  | word 0  | word 0  | ... | word 0 ]     N = lanes of the vector
//! ...
//! cv[7]    [ word 7  | word 7  | word 7  | ... | word 7 ]
//! ```
//!
//! One *step* compresses block `s` of every lane. Lanes may differ in length, counter and flags.
//! Where one ends, the block of each has its own length and flags; a lane that has ended continues with
//! zeros, and gets its chaining value back by a mask when the next one ends, or all. Lanes that a group
//! does not fill repeat its first ones, so that partial groups load whole vectors and need no mask; what
//! they compute is not stored.
//!
//! An instruction set implements [`Vector`] (or, with a state of another shape, [`Pass`]); [`hash`]
//! and [`xof`] are the rest. Which nodes go into a pass says [`passes`](super::passes).

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ptr;

use super::contract::Root;
use super::inputs::{Contiguous, PARENTS_AHEAD, PassInputs};
use crate::spec::{BLOCK_LEN, ChainingValue, IV, SCHEDULE, Words};

/// `N` lanes of 32 bits.
///
/// # Safety
/// Every method may use the instructions of its instruction set: callers run inside a
/// function with these target features, on a CPU that has them.
pub(super) unsafe trait Vector<const N: usize>: Copy {
    /// `word` in every lane.
    unsafe fn splat(word: u32) -> Self;
    unsafe fn load(words: &[u32; N]) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;

    /// Only the default [`compress`](Self::compress) and [`compress_xof`](Self::compress_xof) use this and `rotate`.
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        let _ = other;
        unreachable!("it has other compressions");
    }

    /// Rotates right by `R`, one of 16, 12, 8 and 7.
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        unreachable!("it has other compressions");
    }

    /// The order of messages: what follows has word `ORDER[i]` at place `i`. The compressions that are given here
    /// are for this order; another one needs its own.
    const ORDER: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    /// The 64 bytes at `inputs[lane] + offset` of every lane, transposed into message words.
    unsafe fn load_blocks(
        inputs: &[*const u8; N],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    );

    /// Like [`load_blocks`](Self::load_blocks), but reads `lens[lane]` (0 to 64) bytes and no byte
    /// more, as the input may end there; zeros follow.
    #[cfg_attr(not(unoptimised), inline(always))]
    unsafe fn load_ragged(
        inputs: &[*const u8; N],
        offset: usize,
        lens: &[u32; N],
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        let mut padded = [[0; BLOCK_LEN]; N];
        let mut blocks = [ptr::null(); N];
        let mut lane = 0;
        while lane < N {
            let len = lens[lane] as usize;
            let padded = &mut padded[lane];
            if len > 0 && len < BLOCK_LEN {
                ptr::copy_nonoverlapping(inputs[lane].add(offset), padded.as_mut_ptr(), len);
            }
            // Taken when all is written: writing by another way would end a pointer's validity.
            blocks[lane] =
                if len == BLOCK_LEN { inputs[lane].add(offset) } else { padded.as_ptr() };
            lane += 1;
        }
        Self::load_blocks(&blocks, 0, message)
    }

    /// Stores the first `count` lanes as chaining values in byte form.
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize);

    /// Stores the first `count` lanes as whole blocks of output.
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize);

    /// One compression in every lane; `cv` becomes the next chaining value.
    #[inline(always)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        compress(cv, message, tail)
    }

    /// All sixteen words of output in every lane (section 2.6): the root's compression, with this `tail`.
    #[inline(always)]
    unsafe fn output(root: Root<'_>, tail: &[Self; 4]) -> [Self; 16] {
        output(root, tail)
    }

    /// One compression in every lane with all sixteen words.
    #[inline(always)]
    unsafe fn compress_xof(cv: &[Self; 8], message: &[Self; 16], tail: &[Self; 4]) -> [Self; 16] {
        let mut v = rounds(cv, message, tail);
        for i in 0..8 {
            v[i] = v[i].xor(v[i + 8]);
            v[i + 8] = v[i + 8].xor(cv[i]);
        }
        v
    }

    /// From how many blocks on [`blocks`](Self::blocks) is worth it: none, if it is not there.
    const BLOCKS_FROM: usize = usize::MAX;

    /// Compresses blocks `from .. to` of nodes, two at least and all of them whole, into `cv`: up to where all
    /// end, or none. May fetch as many lines of each of the nodes ahead, where there are `N`.
    #[inline(always)]
    unsafe fn blocks(cv: &mut [Self; 8], nodes: &PassInputs<N>, from: usize, to: usize) {
        let _ = (cv, nodes, from, to);
        unreachable!("no node is long enough");
    }

    /// Asks for the cache line at `address`, which need not exist.
    #[inline(always)]
    unsafe fn prefetch(address: *const u8) {
        let _ = address;
    }
}

/// [`Vector::compress`] where the compiler does well.
#[inline(always)]
pub(super) unsafe fn compress<V: Vector<N>, const N: usize>(
    cv: &mut [V; 8],
    message: &[V; 16],
    tail: &[V; 4],
) {
    let v = rounds(cv, message, tail);
    for i in 0..8 {
        cv[i] = v[i].xor(v[i + 8]);
    }
}

/// The seven rounds (section 2.2). `tail` is counter low, counter high, block length, flags.
#[cfg_attr(not(target_os = "none"), inline(always))]
#[cfg_attr(target_os = "none", inline(never))] // Once, for the sake of flash.
unsafe fn rounds<V: Vector<N>, const N: usize>(cv: &[V; 8], m: &[V; 16], tail: &[V; 4]) -> [V; 16] {
    #[rustfmt::skip]
        let mut v = [
            cv[0], cv[1], cv[2], cv[3],
            cv[4], cv[5], cv[6], cv[7],
            V::splat(IV[0]), V::splat(IV[1]), V::splat(IV[2]), V::splat(IV[3]),
            tail[0], tail[1], tail[2], tail[3],
        ];
    round::<V, N, 0>(&mut v, m);
    round::<V, N, 1>(&mut v, m);
    round::<V, N, 2>(&mut v, m);
    round::<V, N, 3>(&mut v, m);
    round::<V, N, 4>(&mut v, m);
    round::<V, N, 5>(&mut v, m);
    round::<V, N, 6>(&mut v, m);
    v
}

/// The G function on four columns or diagonals, step by step across all four: each step depends
/// on the one before it, so the other three fill the waiting.
macro_rules! half_round {
    ($v:ident, $([$a:literal $b:literal $c:literal $d:literal] $x:ident $y:ident),+) => {
        // The message first: it does not wait for anything, v[b] may.
        $($v[$a] = $v[$a].add($x);)+
        $($v[$a] = $v[$a].add($v[$b]);)+
        $($v[$d] = $v[$d].xor($v[$a]);)+
        $($v[$d] = $v[$d].rotate::<16>();)+
        $($v[$c] = $v[$c].add($v[$d]);)+
        $($v[$b] = $v[$b].xor($v[$c]);)+
        $($v[$b] = $v[$b].rotate::<12>();)+
        $($v[$a] = $v[$a].add($y);)+
        $($v[$a] = $v[$a].add($v[$b]);)+
        $($v[$d] = $v[$d].xor($v[$a]);)+
        $($v[$d] = $v[$d].rotate::<8>();)+
        $($v[$c] = $v[$c].add($v[$d]);)+
        $($v[$b] = $v[$b].xor($v[$c]);)+
        $($v[$b] = $v[$b].rotate::<7>();)+
    };
}

/// Round `R`. A parameter, as in a loop the compiler would look message words up at run time.
///
/// Statement by statement, where loops over columns would be shorter: the compiler unrolls those late, and takes a fifth
/// longer for the whole library (`results/zen4-2vcpu/weight.txt`).
#[inline(always)]
unsafe fn round<V: Vector<N>, const N: usize, const R: usize>(v: &mut [V; 16], m: &[V; 16]) {
    macro_rules! message {
        ($($i:literal)+) => { [$(m[const { SCHEDULE[R][$i] }]),+] };
    }
    let ([x0, x1, x2, x3], [y0, y1, y2, y3]) = (message!(0 2 4 6), message!(1 3 5 7));
    half_round!(v, [0 4 8 12] x0 y0, [1 5 9 13] x1 y1, [2 6 10 14] x2 y2, [3 7 11 15] x3 y3);
    let ([x0, x1, x2, x3], [y0, y1, y2, y3]) = (message!(8 10 12 14), message!(9 11 13 15));
    half_round!(v, [0 5 10 15] x0 y0, [1 6 11 12] x1 y1, [2 7 8 13] x2 y2, [3 4 9 14] x3 y3);
}

/// The same chaining value in every lane.
///
/// Word by word and no closure: a closure has none of the target features of the function around it once
/// that function is generic, and may stay a call. (Those in the kernels that only load do not, but in
/// builds with debug assertions.)
#[inline(always)]
unsafe fn splat<V: Vector<N>, const N: usize>([a, b, c, d, e, f, g, h]: &Words) -> [V; 8] {
    [
        V::splat(*a),
        V::splat(*b),
        V::splat(*c),
        V::splat(*d),
        V::splat(*e),
        V::splat(*f),
        V::splat(*g),
        V::splat(*h),
    ]
}

/// One pass over up to `N` nodes, whatever the shape of the state.
///
/// # Safety
/// As for [`Vector`].
pub(super) unsafe trait Pass<const N: usize> {
    /// Hashes the nodes of a group side by side and stores the first `count` chaining values. Overwrites
    /// the inputs and lengths of lanes that end early.
    ///
    /// # Safety
    /// The nodes are readable and `out` has room for `count` chaining values.
    unsafe fn hash(group: &mut PassInputs<N>, key: &Words, out: *mut ChainingValue, count: usize);

    /// The same of blocks that lie one behind another.
    unsafe fn hash_contiguous(
        blocks: &Contiguous,
        key: &Words,
        out: *mut ChainingValue,
        count: usize,
    );

    /// `count` blocks of output (at most `N`) from block `counter` on.
    ///
    /// # Safety
    /// `out` has room for `count` blocks.
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize);
}

/// Transposed vectors.
// SAFETY: the contract of `Vector` is that of `Pass`.
unsafe impl<V: Vector<N>, const N: usize> Pass<N> for V {
    #[inline(always)]
    unsafe fn hash(nodes: &mut PassInputs<N>, key: &Words, out: *mut ChainingValue, count: usize) {
        hash::<V, N>(nodes, key, out, count)
    }

    #[inline(always)]
    unsafe fn hash_contiguous(
        blocks: &Contiguous,
        key: &Words,
        out: *mut ChainingValue,
        count: usize,
    ) {
        contiguous::<V, N>(blocks, key, out, count)
    }

    #[inline(always)]
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
        xof::<V, N>(root, counter, out, count)
    }
}

/// How far ahead in its own node a lane fetches: for inputs that are in no cache, and too short for the pass before to have
/// fetched anything. Not with 32 lanes, which do it as they load, nor where several blocks are compressed in one call.
const LANE_AHEAD: usize = 256;

/// What a compression reads, in one piece of less than 4 KiB at 32 lanes: loads wait for earlier
/// stores whose addresses have the same last twelve bits, so the parts must not lie where the
/// stack happens to have room.
#[repr(C)]
struct StepOperands<V, const N: usize> {
    inputs: [*const u8; N],
    cv: [V; 8],
    message: [MaybeUninit<V>; 16],
    tail: [V; 4],
}

/// [`Pass::hash`] of a transposed state. `x86_64/rows/pass.rs` has a loop of its own, as one for both is slower there
/// (`results/zen3-2vcpu/limits.md#one-loop-for-columns-and-rows`).
#[inline(always)]
pub(super) unsafe fn hash<V: Vector<N>, const N: usize>(
    nodes: &mut PassInputs<N>,
    key: &Words,
    out: *mut ChainingValue,
    count: usize,
) {
    const BLOCK: u32 = BLOCK_LEN as u32;
    let steps = nodes.steps();
    // Blocks before the one with which the next lane ends.
    let mut whole = nodes.whole_blocks();
    // As many lines a step as the group itself reads, in the order of the addresses; for nodes of
    // one block at once, as the bookkeeping would take longer.
    let single = steps == 1 && nodes.fetch == N;
    let fetch = if single || whole >= V::BLOCKS_FROM { 0 } else { nodes.fetch };
    let lines = if fetch == 0 { 1 } else { fetch.div_ceil(steps) };
    let ahead = nodes.ahead;
    let mut ahead = ahead[..fetch].chunks(lines);
    if single {
        for node in nodes.ahead {
            V::prefetch(node);
        }
    }
    let zero = V::splat(0);
    let mut operands = StepOperands {
        inputs: nodes.inputs,
        cv: splat(key),
        message: [MaybeUninit::uninit(); 16],
        tail: [V::load(&nodes.low), V::load(&nodes.high), V::splat(BLOCK), zero],
    };
    let StepOperands { inputs, cv, message, tail } = &mut operands;
    // Which lanes have not ended, and chaining values as they were when one last did.
    let (mut live, mut ended) = ([u32::MAX; N], None);
    let mut step = 0;
    loop {
        if whole - step >= V::BLOCKS_FROM {
            V::blocks(cv, nodes, step, whole);
            step = whole;
        } else {
            let done = step * BLOCK_LEN;
            for node in ahead.next().unwrap_or_default() {
                let mut line = 0;
                while line < steps {
                    V::prefetch(node.wrapping_add(line * BLOCK_LEN));
                    line += 1;
                }
            }
            if N < 32 && steps > 1 {
                for input in *inputs {
                    V::prefetch(input.wrapping_add(done + LANE_AHEAD));
                }
            }
            if step == whole {
                let block = nodes.block(step);
                tail[2] = V::load(&block.lens);
                tail[3] = V::load(&block.flags);
                // Hidden, so that the compiler does not read all inputs for it before the first step.
                V::load_ragged(inputs, black_box(done), &block.lens, message);
            } else {
                // Lengths are as they were: 64 bytes in all lanes that have not ended.
                tail[3] = V::splat(if step == 0 { nodes.first } else { nodes.each });
                if step + 1 == steps {
                    // All lanes end here. (The flags of a last block are others.)
                    tail[3] = tail[3].xor(V::load(&nodes.last));
                }
                V::load_blocks(inputs, done, message);
            }
            V::compress(cv, words(message), tail);
            step += 1;
        }
        if step <= whole && step < steps {
            continue;
        }
        // Some lane has ended with this step, or all.
        if let Some(before) = ended {
            let live = V::load(&live);
            for (cv, before) in cv.iter_mut().zip::<[V; 8]>(before) {
                *cv = before.xor(before.xor(*cv).and(live));
            }
        }
        if step == steps {
            break;
        }
        nodes.retire(step, &mut live);
        (whole, *inputs, ended) = (nodes.whole_blocks(), nodes.inputs, Some(*cv));
    }
    V::store_cvs(cv, out, count);
}

/// [`hash`] for blocks that lie one behind another: nothing differs from lane to lane, and there
/// is one step.
#[inline(always)]
unsafe fn contiguous<V: Vector<N>, const N: usize>(
    blocks: &Contiguous,
    key: &Words,
    out: *mut ChainingValue,
    count: usize,
) {
    // What is read or replaced far behind this pass is in no cache.
    if blocks.long {
        let mut lane = 0;
        while lane < N {
            V::prefetch(blocks.block(PARENTS_AHEAD + lane));
            lane += 1;
        }
        let out = out.wrapping_add(PARENTS_AHEAD).cast::<u8>();
        for line in 0..N * size_of::<ChainingValue>() / BLOCK_LEN {
            V::prefetch(out.wrapping_add(line * BLOCK_LEN));
        }
    }
    let zero = V::splat(0);
    let mut operands = StepOperands {
        inputs: blocks.inputs(count),
        cv: splat(key),
        message: [MaybeUninit::uninit(); 16],
        tail: [zero, zero, V::splat(BLOCK_LEN as u32), V::splat(blocks.flags)],
    };
    let StepOperands { inputs, cv, message, tail } = &mut operands;
    V::load_blocks(inputs, 0, message);
    V::compress(cv, words(message), tail);
    V::store_cvs(cv, out, count);
}

/// A message that [`Vector::load_blocks`] has written.
#[inline(always)]
pub(super) unsafe fn words<V>(message: &[MaybeUninit<V>; 16]) -> &[V; 16] {
    &*message.as_ptr().cast()
}

/// The numbers of lanes.
#[rustfmt::skip]
static LANES: [u32; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
];

/// The low and the high words of the counters of a pass of output, from this one on.
#[inline(always)]
pub(super) fn counters<const N: usize>(first: u64) -> ([u32; N], [u32; N]) {
    // Hidden: compilers make vectors of known words one by one, not by adding (a 16-lane pass took 3 % longer).
    let lanes: &[u32; 32] = if N < 8 { &LANES } else { black_box(&LANES) };
    let (mut low, mut high) = ([0; N], [0; N]);
    let mut lane = 0;
    while lane < N {
        low[lane] = (first as u32).wrapping_add(lanes[lane]);
        // Compilers make vectors of 32 bits of that, not of 64.
        let carry = low[lane] < lanes[lane];
        high[lane] = ((first >> 32) as u32).wrapping_add(u32::from(carry));
        lane += 1;
    }
    (low, high)
}

/// [`Vector::output`] by vectors.
#[inline(always)]
pub(super) unsafe fn output<V: Vector<N>, const N: usize>(
    root: Root<'_>,
    tail: &[V; 4],
) -> [V; 16] {
    let (words, _) = root.block.as_chunks::<4>();
    // Word by word: at `opt-level = "z"` each step of an iterator is a call.
    macro_rules! message {
        ($($at:literal)*) => {
            [$(V::splat(u32::from_le_bytes(words[const { V::ORDER[$at] }]))),*]
        };
    }
    let message = message!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    V::compress_xof(&splat(root.cv), &message, tail)
}

/// `count` blocks of output (at most `N`) from block `counter` on.
#[inline(always)]
pub(super) unsafe fn xof<V: Vector<N>, const N: usize>(
    root: Root<'_>,
    counter: u64,
    out: *mut [u8; BLOCK_LEN],
    count: usize,
) {
    let (low, high) = counters(counter);
    let tail =
        [V::load(&low), V::load(&high), V::splat(root.block_len), V::splat(u32::from(root.flags))];
    if root.long {
        let mut line = 0;
        while line < N {
            V::prefetch(out.wrapping_add(2 * N + line).cast());
            line += 1;
        }
    }
    let words = V::output(root, &tail);
    V::store_blocks(&words, out, count);
}
