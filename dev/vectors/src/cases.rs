//! The questions: input lengths, places in the output, subtrees.

use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes in a chunk.
pub(crate) const CHUNK: u64 = 1024;

/// Bytes of output where nothing else is said: two output blocks and a few bytes of a third.
pub(crate) const OUTPUT: usize = 131;

/// The key of the official test vectors.
pub(crate) const KEY: &[u8; 32] = b"whats the Elvish word for friend";

/// The context string of the official test vectors.
pub(crate) const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// The input lengths of the official test vectors.
const OFFICIAL: [u64; 35] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 3072, 3073,
    4096, 4097, 5120, 5121, 6144, 6145, 7168, 7169, 8192, 8193, 16384, 31744, 102400,
];

/// Input lengths: the official ones, block edges, and trees of every interesting shape.
pub(crate) fn lengths() -> BTreeSet<u64> {
    let mut lengths = BTreeSet::from(OFFICIAL);
    lengths.extend([9, 31, 32, 33, 191, 192, 193, 959, 960, 961, 1000]);
    // Full trees, trees whose right half is half as deep, and neighbours of the vector widths.
    let full = (0..=7).map(|k| 1 << k);
    let three = (0..=5).map(|k| 3 << k);
    for chunks in full.chain(three).chain([5, 7, 15, 17, 31, 33, 47, 63, 65]) {
        lengths.extend([chunks * CHUNK - 1, chunks * CHUNK, chunks * CHUNK + 1]);
    }
    // A last chunk of exactly one block, and of one block and a byte.
    for chunks in [1, 4, 16, 32] {
        lengths.extend([chunks * CHUNK + 64, chunks * CHUNK + 65]);
    }
    lengths
}

/// Ranges of input lengths that leave none out: to beyond four of the widest passes.
pub(crate) fn ranges() -> Vec<Range<u64>> {
    (0..=70).map(|thousand| thousand * 1000..70_001.min((thousand + 1) * 1000)).collect()
}

/// Input lengths whose extended output is read: a root that is an empty chunk, a chunk of one
/// block, a full chunk, the smallest parent, and the top of a tree.
pub(crate) const XOF_LENGTHS: [u64; 5] = [0, 64, 1024, 1025, 31744];

/// Places in the extended output and the number of bytes read there.
pub(crate) fn reads() -> Vec<(u64, usize)> {
    // The counter of output blocks is the place divided by 64, and passes 2^32 here.
    const COUNTER_2_32: u64 = 1 << 38;
    let mut reads: Vec<(u64, usize)> = [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 1000, 1023, 1024]
        .into_iter()
        .chain([(1 << 32) - 1, 1 << 32, (1 << 32) + 1])
        .chain([COUNTER_2_32 - 1, COUNTER_2_32, COUNTER_2_32 + 1])
        .chain([(1 << 63) - 1, 1 << 63, (1 << 63) + 1])
        // The output ends after 2^64 - 1 bytes.
        .chain([u64::MAX - OUTPUT as u64])
        .map(|seek| (seek, OUTPUT))
        .collect();
    reads.push((0, 1));
    reads.push((0, 1024));
    // 32 blocks side by side, the counter's low half passing zero among them, off the block edge.
    reads.push((COUNTER_2_32 - 9 * 64 - 5, 32 * 64));
    reads.push((u64::MAX - 1024, 1024));
    reads
}

/// Subtrees: the offset of the first byte in the whole input, and lengths that fit there.
pub(crate) fn subtrees() -> Vec<(u64, BTreeSet<u64>)> {
    let last = 1 << 54; // The number of chunks in 2^64 bytes.
    let mut subtrees = vec![(
        0,
        BTreeSet::from([1, 63, 64, 65, 1023, 1024, 1025, 2048, 3073, 8192, 16383, 16384, 31744]),
    )];
    for first in [1, 2, 3, 4, 6, 8, 12, 16, 48, 1 << 20, (1 << 22) - 1, 1 << 22]
        .into_iter()
        .chain([(1 << 32) - 16, (1 << 32) - 1, 1 << 32, (1 << 32) + 1])
        .chain([last / 2, last - 16, last - 2, last - 1])
    {
        // A subtree that starts at chunk `first` has at most as many chunks as the largest power
        // of two that divides `first`. Sixteen chunks are enough to fill a vector.
        let most = (1 << u64::trailing_zeros(first).min(4)) * CHUNK;
        let lengths = [1, 65, CHUNK, most / 2 + 1, most - 1023, most - 1, most];
        subtrees.push((first * CHUNK, BTreeSet::from(lengths)));
    }
    subtrees
}

/// Outboards: the logarithm of the chunks of a group, and lengths of inputs.
pub(crate) const OUTBOARDS: [(u32, &[u64]); 3] = [
    (0, &[0, 1, 1024, 1025, 3072, 4097, 7168, 10_000]),
    (1, &[2048, 2049, 11_000]),
    (4, &[16_384, 16_385, 49_152, 49_153, 100_000]),
];

/// Context strings: empty, the official one, beyond ASCII, and of more than one chunk.
pub(crate) fn contexts() -> Vec<String> {
    let long = "treewide 2026-11-21 vectors, a context of more than one chunk. ".repeat(17);
    vec![String::new(), CONTEXT.into(), "Δένδρον 樹 🌳".into(), long]
}
