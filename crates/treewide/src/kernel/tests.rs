//! Every kernel as a value, against the reference and against the `blake3` crate.
//!
//! Nothing here goes through the choice of a kernel: what the CPU supports is tested in one run,
//! and what it does not is named. Each test loops over the kernels and over one dimension of the
//! contract, and lets the others (alignment, key, counter, flags) vary with it.

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little", not(miri)))]
mod abi_aarch64;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
mod abi_x86_64;
mod alignment;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
))]
mod calls;
mod chunks;
mod nodes;
#[cfg(all(any(unix, target_arch = "wasm32"), not(miri)))]
mod pages;

#[path = "../../tests/common/amount.rs"]
mod amount;
#[path = "../../tests/common/random.rs"]
#[allow(dead_code, reason = "integration tests use the rest")]
mod random;
#[path = "../../tests/reference/mod.rs"]
mod reference;

use amount::{Tally, rounds, sample};
use random::Random;

use super::choice::{all, running};
use super::contract::{Flags, Marks, Own};
use super::runnable::Runnable;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, Words, bytes, flags};

/// The kernels that this CPU runs; the others are named.
fn supported() -> impl Iterator<Item = Runnable> {
    all().iter().filter_map(|kernel| {
        // Miri runs plain Rust only, and takes a fifth of a second for a compression: it runs the one
        // kernel that it is given, and of chunks side by side no more than
        // `every_entry_at_every_alignment`.
        let runnable = match cfg!(miri) {
            true => Some(running()).filter(|running| running.name() == kernel.name()),
            false => Runnable::new(kernel),
        };
        if runnable.is_none() {
            println!("SKIPPED: kernel {}: this CPU does not run it", kernel.name());
        }
        runnable
    })
}

/// Counts the cases of a test for one kernel.
fn tally(kernel: Runnable, test: &str) -> Tally {
    Tally::new(format!("{} {test}", kernel.name()))
}

/// A node.
#[derive(Clone, Copy)]
struct Lane<'a> {
    input: &'a [u8],
    counter: u64,
    each: u8,
    first: u8,
    last: u8,
}

/// Nodes as `Kernel::lanes` takes them; `each` and `first` are those of all.
struct Lanes<'a> {
    inputs: Vec<&'a [u8]>,
    counters: Vec<u64>,
    last: Vec<u8>,
    each: u8,
    first: u8,
}

impl<'a> Lanes<'a> {
    fn new(nodes: &[Lane<'a>]) -> Self {
        let (each, first) = nodes.first().map_or((0, 0), |node| (node.each, node.first));
        assert!(nodes.iter().all(|node| (node.each, node.first) == (each, first)));
        Self {
            inputs: nodes.iter().map(|node| node.input).collect(),
            counters: nodes.iter().map(|node| node.counter).collect(),
            last: nodes.iter().map(|node| node.last).collect(),
            each,
            first,
        }
    }

    fn marks(&self) -> Marks<'_> {
        let Self { counters, last, each, first, .. } = self;
        Marks { each: *each, first: *first, own: Own::Each { counters, last } }
    }
}

/// What a byte has that no one may write.
const POISON: u8 = 0xc5;

/// Runs `f` on room for `count` items inside a larger buffer, and checks that it wrote to nothing
/// else; returns the items.
fn within_bounds<const N: usize>(
    count: usize,
    f: impl FnOnce(&mut [[u8; N]], usize),
) -> Vec<[u8; N]> {
    let mut buffer = vec![[POISON; N]; count + 4];
    // The kernel gets one item more than it should fill, so that also the bounds that the safe
    // methods check are not the ones that are tested.
    f(&mut buffer[2..count + 3], count);
    let (before, rest) = buffer.split_at(2);
    let (items, after) = rest.split_at(count);
    assert!(before.as_flattened().iter().all(|&byte| byte == POISON), "written before the output");
    assert!(after.as_flattened().iter().all(|&byte| byte == POISON), "written behind the output");
    items.to_vec()
}

/// Chaining values of chunks from `kernel`, bounds checked.
fn chunks(kernel: Runnable, input: &[u8], key: &Words, counter: u64, flags: u8) -> Vec<[u8; 32]> {
    within_bounds(input.len().div_ceil(CHUNK_LEN), |out, count| {
        assert_eq!(kernel.chunks(input, key, counter, flags, flags::CHUNK_END, out), count);
    })
}

/// A node by the reference: its blocks one by one, the last with zeros after it.
fn node(key: &Words, lane: Lane<'_>) -> ChainingValue {
    let blocks = lane.input.len().div_ceil(BLOCK_LEN).max(1);
    let mut h = *key;
    for i in 0..blocks {
        let block = &lane.input[i * BLOCK_LEN..lane.input.len().min((i + 1) * BLOCK_LEN)];
        let mut d = lane.each;
        if i == 0 {
            d |= lane.first;
        }
        if i == blocks - 1 {
            d |= lane.last;
        }
        let out =
            reference::compress(&h, &message(block), lane.counter, block.len() as u32, d.into());
        h.copy_from_slice(&out[..8]);
    }
    bytes(&h)
}

/// Up to 64 bytes as message words.
fn message(block: &[u8]) -> [u32; 16] {
    let mut padded = [0; BLOCK_LEN];
    padded[..block.len()].copy_from_slice(block);
    std::array::from_fn(|i| u32::from_le_bytes(padded[4 * i..4 * i + 4].try_into().unwrap()))
}

/// A chunk as a node.
fn chunk(input: &[u8], counter: u64, each: u8) -> Lane<'_> {
    Lane { input, counter, each, first: flags::CHUNK_START, last: flags::CHUNK_END }
}

/// The chunks of an input by the reference.
fn reference_chunks(input: &[u8], key: &Words, counter: u64, flags: u8) -> Vec<ChainingValue> {
    let chunks = input.chunks(CHUNK_LEN).zip(counter..=u64::MAX);
    chunks.map(|(input, counter)| node(key, chunk(input, counter, flags))).collect()
}

fn any_key(random: &mut Random) -> Words {
    std::array::from_fn(|_| random.next() as u32)
}

/// Counters whose low or high words are about to turn over within `count` nodes, and others.
fn counters(count: usize, random: &mut Random) -> Vec<u64> {
    let count = count as u64;
    let turn = 1 << 32;
    vec![
        0,
        1,
        turn - 1,
        turn - count,
        turn - count / 2,
        turn,
        (random.next() << 32) - count / 2,
        // The last chunks of the longest input, and of the contract.
        (1 << 54) - count,
        u64::MAX - count,
        u64::MAX - count.saturating_sub(1),
        random.next() >> 1,
    ]
}

/// Room for bytes at any alignment.
struct Aligned(Vec<u8>);

impl Aligned {
    fn new(most: usize) -> Self {
        Self(vec![POISON; most + 128])
    }

    /// A copy of `bytes` that lies `align` bytes behind a multiple of 64.
    fn put(&mut self, bytes: &[u8], align: usize) -> &[u8] {
        let start = self.0.as_ptr().align_offset(64) + align;
        let place = &mut self.0[start..start + bytes.len()];
        place.copy_from_slice(bytes);
        place
    }
}
