//! Two lanes as rows (see `rows.rs`), as far as both nodes go; what one has beyond that is hashed on one lane.
//!
//! A block takes one lane 58 ns on Granite Rapids, two side by side 75, and four, transposed, 104
//! (`results/gnr-2vcpu/peers.txt`).

use core::arch::wasm32::*;
use core::mem::MaybeUninit;
use core::ptr;

use super::W4;
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::contract::Root;
use crate::kernel::inputs::{Contiguous, Node, Nodes};
use crate::kernel::pair::Pair;
use crate::kernel::portable::compress;
use crate::kernel::rows::{Row, arrange, round};
use crate::kernel::square::Square;
use crate::kernel::vectors::operations;
use crate::spec::{BLOCK_LEN, ChainingValue, IV, Words};

/// A shuffle by those of these places that are `$pick`, two bits each: two of the first vector, then two of the
/// second, which is another or the same.
macro_rules! shuffle {
    ($pick:ident, $a:ident, $b:ident: $($w:literal $x:literal $y:literal $z:literal),+) => {
        match $pick {
            $(_ if $pick == $w | $x << 2 | $y << 4 | $z << 6 => {
                i32x4_shuffle::<$w, $x, { $y + 4 }, { $z + 4 }>($a.0, $b.0)
            })+
            _ => unreachable!("rows need no other"),
        }
    };
}

// SAFETY: simd128, which this file is compiled for.
unsafe impl Row for W4 {
    operations!(add: u32x4_add, xor: v128_xor);
    #[inline(always)]
    unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
        Vector::rotate::<R>(self)
    }
    #[inline(always)]
    unsafe fn shuffle<const PICK: i32>(self) -> Self {
        Self(shuffle!(PICK, self, self: 3 0 1 2, 2 3 0 1, 1 2 3 0, 0 2 3 1, 0 2 1 3))
    }
    #[inline(always)]
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
        Self(shuffle!(PICK, self, other: 0 2 0 2, 1 3 1 3, 1 2 1 3, 3 0 2 3, 0 1 0 3, 1 0 0 1))
    }
    #[inline(always)]
    unsafe fn last_two(self, other: Self) -> Self {
        Self(i32x4_shuffle::<2, 6, 3, 7>(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        Self(i32x4_shuffle::<0, 1, 2, 7>(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn hidden(self) -> Self {
        // There is no way to do that here that costs nothing.
        self
    }
}

/// A row of each of two lanes.
type Rows = Pair<W4>;

/// First halves of two rows, and second halves; of two of these, the rows again.
#[inline(always)]
fn halves(Pair([a, b]): Rows) -> Rows {
    Pair([W4(i64x2_shuffle::<0, 2>(a.0, b.0)), W4(i64x2_shuffle::<1, 3>(a.0, b.0))])
}

/// Compresses a block of each lane into chaining values, given as [`halves`].
///
/// V8 puts an operation without an effect just before its user: it would compute all of one lane, which waits for itself,
/// and then the other, if what is stored were not of both (92 ns for 75).
///
/// # Safety
/// Each input has a block.
#[inline(never)]
unsafe fn block(cv: &mut [Rows; 2], inputs: &[*const u8; 2], row_3: &Rows) {
    let load = |part: usize| Pair(inputs.map(|input| W4::load_row(input.add(16 * part))));
    let row_2 = Pair([W4(u32x4(IV[0], IV[1], IV[2], IV[3])); 2]);
    let mut v = [halves(cv[0]), halves(cv[1]), row_2, *row_3];
    let m = arrange([load(0), load(1), load(2), load(3)]);
    // A loop would move rows to the stack and back in each round.
    let m = round::<_, false>(&mut v, m);
    let m = round::<_, false>(&mut v, m);
    let m = round::<_, false>(&mut v, m);
    let m = round::<_, false>(&mut v, m);
    let m = round::<_, false>(&mut v, m);
    let m = round::<_, false>(&mut v, m);
    round::<_, true>(&mut v, m);
    let [a, b, c, d] = v;
    *cv = [halves(a.xor(c)), halves(b.xor(d))];
}

/// Hashes two nodes.
///
/// # Safety
/// They are readable, and `out` has room; it may overlap nodes of one block each, as both are read before anything is
/// stored.
#[inline(never)]
unsafe fn hash(nodes: &[Node; 2], key: &Words, out: *mut ChainingValue) {
    let together = nodes[0].blocks().min(nodes[1].blocks());
    let mut padded = [MaybeUninit::<[u8; BLOCK_LEN]>::uninit(); 2];
    let row = |word: usize| halves(Pair([W4::load_row(key[word..].as_ptr().cast()); 2]));
    let mut cv = [row(0), row(4)];
    let mut inputs = nodes.map(|node| node.input);
    let mut flags = nodes.map(|node| node.flags.each | node.flags.first);
    for done in (0..together).map(|block| block * BLOCK_LEN) {
        let lens = nodes.map(|node| (node.len as usize - done).min(BLOCK_LEN));
        for (lane, node) in nodes.iter().enumerate() {
            if lens[lane] < BLOCK_LEN {
                let to = padded[lane].write([0; BLOCK_LEN]).as_mut_ptr();
                ptr::copy_nonoverlapping(inputs[lane], to, lens[lane]);
                inputs[lane] = to;
            }
            if done + lens[lane] == node.len as usize {
                flags[lane] |= node.flags.last;
            }
        }
        let row_3 = |lane: usize| {
            let rest = lens[lane] as u64 | u64::from(flags[lane]) << 32;
            W4(u64x2(nodes[lane].counter, rest))
        };
        block(&mut cv, &inputs, &Pair([row_3(0), row_3(1)]));
        inputs = inputs.map(|input| input.wrapping_add(BLOCK_LEN));
        flags = nodes.map(|node| node.flags.each);
    }
    let ([Pair(low), Pair(high)], done) = (cv.map(halves), together * BLOCK_LEN);
    for (lane, node) in nodes.iter().enumerate() {
        let mut cv = [0; 8];
        low[lane].store_row(cv.as_mut_ptr().cast());
        high[lane].store_row(cv[4..].as_mut_ptr().cast());
        if node.len as usize > done {
            let (rest, flags) = (node.len as usize - done, Flags { first: 0, ..node.flags });
            compress(&mut cv, node.input.add(done), rest, node.counter, flags);
        }
        *out.add(lane) = crate::spec::bytes(&cv);
    }
}

/// Gathers two nodes and hashes them; as `kernels` has it for other passes.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "those of other passes")]
pub(super) unsafe fn gather<V, const N: usize>(
    source: &impl Nodes,
    at: usize,
    count: usize,
    key: &Words,
    out: *mut ChainingValue,
) {
    debug_assert_eq!(count, N, "one node is compressed by itself");
    hash(&[source.node(at), source.node(at + 1)], key, out)
}

/// The same for parents.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "those of other passes")]
pub(super) unsafe fn contiguous_pass<V, const N: usize>(
    blocks: &Contiguous,
    key: &Words,
    out: *mut ChainingValue,
    count: usize,
) {
    debug_assert_eq!(count, N, "one node is compressed by itself");
    let flags = Flags { each: blocks.flags as u8, first: 0, last: 0, padded: false };
    let node =
        |index| Node { input: blocks.block(index), len: BLOCK_LEN as u32, counter: 0, flags };
    hash(&[node(0), node(1)], key, out)
}

/// Two of four lanes, which takes no longer than two blocks one after the other.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "those of other passes")]
pub(super) unsafe fn xof_pass<V, const N: usize>(
    root: Root<'_>,
    counter: u64,
    out: *mut [u8; BLOCK_LEN],
    count: usize,
) {
    super::xof_pass::<W4, 4>(root, counter, out, count)
}
