//! A pass over a few lanes as rows (see `kernel/rows.rs`), in vectors of one lane or more, or in pairs of those.

use core::mem::MaybeUninit;

use super::assembly;
use super::vector::{
    AHEAD, RowOperands, RowVector, begin, compiled_blocks, compiled_rounds, fetch, fold, rows_0_1,
};
use super::x1::One;
use super::x2::Two;
use crate::kernel::columns::{Pass, counters};
use crate::kernel::contract::Root;
use crate::kernel::inputs::{Contiguous, PassInputs};
use crate::kernel::pair::{Pair, half};
use crate::kernel::rows::arrange;
use crate::kernel::x86_64::cores::{Core, Form};
use crate::kernel::x86_64::scalar::pad;
use crate::spec::{BLOCK_LEN, ChainingValue, Words};

/// A pass over as many lanes as rows of this type have. Parents and extended output, one block each, are made by the
/// compiler's rounds.
pub(in crate::kernel::x86_64) struct Rows<R>(R);

/// Stores the chaining values of the first `count` lanes.
#[inline(always)]
unsafe fn store<R: RowVector<N>, const N: usize>(
    cv: [R; 2],
    out: *mut ChainingValue,
    count: usize,
) {
    cv[0].store(out.cast(), size_of::<ChainingValue>(), count);
    cv[1].store(out.cast::<u8>().add(16), size_of::<ChainingValue>(), count);
}

// SAFETY: what `R` says.
unsafe impl<R: RowVector<N>, const N: usize> Pass<N> for Rows<R> {
    // Not the loop of `columns.rs`: with one for both, passes of three and four lanes are slower
    // (`results/zen3-2vcpu/limits.md#one-loop-for-columns-and-rows`).
    #[inline(always)]
    unsafe fn hash(nodes: &mut PassInputs<N>, key: &Words, out: *mut ChainingValue, count: usize) {
        let steps = nodes.steps();
        if steps > 1 {
            let mut block = 1;
            while block < AHEAD {
                fetch(&nodes.inputs, block * BLOCK_LEN);
                block += 1;
            }
        }
        let (low, high) = (one_by_one(&nodes.low), one_by_one(&nodes.high));
        let row = |lens: &[u32; N], flags: &[u32; N]| R::row_3(&low, &high, lens, flags);
        let whole = [BLOCK_LEN as u32; N];
        let first = row(&whole, &[nodes.first; N]);
        let each = first.xor(R::broadcast(&[0, 0, 0, nodes.first ^ nodes.each]));
        let mut rows = RowOperands { cv: rows_0_1(key), tails: [first, each, each] };
        // Which lanes have not ended, and chaining values as they were when one last did.
        let (mut live, mut ended) = ([u32::MAX; N], None::<[R; 2]>);
        let mut step = 0;
        loop {
            // Blocks before the one with which the next lane ends, or all.
            let together = nodes.whole_blocks() - step;
            let (mut padded, mut inputs) = ([MaybeUninit::uninit(); N], nodes.inputs);
            let (mut offset, mut blocks) = (step * BLOCK_LEN, together);
            if together > 0 {
                let now = if step == 0 { first } else { each };
                rows.tails = [now, each, each];
                if nodes.ends_whole() {
                    let last = R::row_3(&[0; N], &[0; N], &[0; N], &nodes.last);
                    if together == 1 {
                        rows.tails[0] = now.xor(last);
                    } else {
                        rows.tails[2] = each.xor(last);
                    }
                }
            } else {
                let block = nodes.block(step);
                let mut lane = 0;
                while lane < N {
                    let (input, len) = (inputs[lane].wrapping_add(offset), block.lens[lane]);
                    inputs[lane] = pad(input, len as usize, R::MASKS, &mut padded[lane]);
                    lane += 1;
                }
                rows.tails[0] = row(&block.lens, &block.flags);
                (offset, blocks) = (0, 1);
            }
            R::blocks(&mut rows, &inputs, offset, blocks);
            step += blocks;
            if together > 0 && step < steps {
                continue;
            }
            // Some lane has ended, or all.
            if let Some([a, b]) = ended {
                rows.cv = [a.replace(&live, rows.cv[0]), b.replace(&live, rows.cv[1])];
            }
            if step == steps {
                break;
            }
            nodes.retire(step, &mut live);
            ended = Some(rows.cv);
        }
        store(rows.cv, out, count);
    }

    #[inline(always)]
    unsafe fn hash_contiguous(
        blocks: &Contiguous,
        key: &Words,
        out: *mut ChainingValue,
        count: usize,
    ) {
        let last = R::broadcast(&[0, 0, BLOCK_LEN as u32, blocks.flags]);
        let inputs = blocks.inputs(count);
        if const { R::ASSEMBLED } {
            let mut rows = RowOperands { cv: rows_0_1(key), tails: [last; 3] };
            R::blocks(&mut rows, &inputs, 0, 1);
            return store(rows.cv, out, count);
        }
        let mut v = begin(rows_0_1(key), last);
        R::rounds(&mut v, &inputs, 0);
        store(fold(v), out, count);
    }

    #[inline(always)]
    unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
        let cv: [R; 2] = rows_0_1(root.cv);
        let (low, high) = counters(counter);
        let (len, flags) = ([root.block_len; N], [u32::from(root.flags); N]);
        let tail = R::row_3(&low, &high, &len, &flags);
        // Hidden, so that the compiler does not load two at once, which would wait for two that were just stored.
        let load = |part: usize| R::load(&[root.block.as_ptr(); N], 16 * part).hidden();
        let mut v = begin(cv, tail);
        R::arranged_rounds(&mut v, arrange([load(0), load(1), load(2), load(3)]));
        let ([a, b], [_, _, c, d]) = (fold(v), v);
        for (part, row) in [a, b, c.xor(cv[0]), d.xor(cv[1])].into_iter().enumerate() {
            row.store(out.cast::<u8>().add(16 * part), BLOCK_LEN, count);
        }
    }
}

/// Loads words one by one, as they were just stored: of several at once the CPU would wait until all are in the
/// cache.
#[inline(always)]
fn one_by_one<const N: usize>(words: &[u32; N]) -> [u32; N] {
    let mut loaded = [0; N];
    let mut lane = 0;
    while lane < N {
        // SAFETY: a word of an array.
        loaded[lane] = unsafe { (&raw const words[lane]).read_volatile() };
        lane += 1;
    }
    loaded
}

/// Implements [`RowVector`] for pairs of rows, each of half as many lanes; with assembly where a core says so.
macro_rules! pairs {
    ($row:ident: $half:literal, $lanes:literal, $when:expr => $blocks:path, $rounds:path) => {
        // SAFETY: as the row says.
        unsafe impl<C: Core> RowVector<$lanes> for Pair<$row<C>> {
            const ASSEMBLED: bool = $when;

            #[inline(always)]
            unsafe fn arranged_rounds(v: &mut [Self; 4], m: [Self; 4]) {
                if const { $when } {
                    $rounds(&mut *v.as_mut_ptr().cast(), (&raw const m).cast())
                } else {
                    compiled_rounds(v, m)
                }
            }
            #[inline(always)]
            unsafe fn blocks(
                rows: &mut RowOperands<Self>,
                inputs: &[*const u8; $lanes],
                offset: usize,
                count: usize,
            ) {
                if const { $when } {
                    let cv = &mut *rows.cv.as_mut_ptr().cast();
                    $blocks(cv, rows.tails.as_ptr().cast(), inputs, offset, count)
                } else {
                    compiled_blocks(rows, inputs, offset, count)
                }
            }
            #[inline(always)]
            unsafe fn broadcast(words: &[u32; 4]) -> Self {
                Self([<$row<C>>::broadcast(words); 2])
            }
            #[inline(always)]
            unsafe fn load(inputs: &[*const u8; $lanes], offset: usize) -> Self {
                Self([
                    <$row<C>>::load(half(inputs, 0), offset),
                    <$row<C>>::load(half(inputs, 1), offset),
                ])
            }
            #[inline(always)]
            unsafe fn row_3(
                low: &[u32; $lanes],
                high: &[u32; $lanes],
                lens: &[u32; $lanes],
                flags: &[u32; $lanes],
            ) -> Self {
                let row = |i| {
                    <$row<C>>::row_3(half(low, i), half(high, i), half(lens, i), half(flags, i))
                };
                Self([row(0), row(1)])
            }
            #[inline(always)]
            unsafe fn replace(self, live: &[u32; $lanes], new: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, new.0);
                Self([a.replace(half(live, 0), c), b.replace(half(live, 1), d)])
            }
            #[inline(always)]
            unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
                self.0[0].store(out, stride, count.min($half));
                if count > $half {
                    self.0[1].store(out.add($half * stride), stride, count - $half);
                }
            }
        }
    };
}

pairs!(One: 1, 2, matches!(C::ROWS, Form::Sse41) => assembly::blocks_sse41_pair, assembly::rounds_sse41_pair);
pairs!(Two: 2, 4, matches!(C::ROWS, Form::Avx2) => assembly::blocks_avx2_pair, assembly::rounds_avx2_pair);
