//! The other entries: parents, unequal nodes, one-lane compression, extended output.

use super::*;

/// Of how many counts one is tested: all, but few by Miri.
const MIRI_STEP: usize = if cfg!(miri) { 5 } else { 1 };

fn parent(key: &Words, children: &[ChainingValue; 2], each: u8) -> ChainingValue {
    let each = each | flags::PARENT;
    node(key, Lane { input: children.as_flattened(), counter: 0, each, first: 0, last: 0 })
}

/// Where parents may go: elsewhere, below their children, over them, and one place above the first.
#[test]
fn parents_of_every_count_in_place() {
    let mut random = Random::new(11);
    for kernel in supported() {
        let mut tally = tally(kernel, "parents_of_every_count_in_place");
        for pairs in (0..=2 * kernel.degree() + 1).step_by(MIRI_STEP) {
            for (from, to) in sample([(0, 0), (0, 1), (1, 0), (3, 0), (3, 3), (3, 4)]) {
                let (key, each) = (any_key(&mut random), random.next() as u8);
                let before: Vec<ChainingValue> = (0..from + 2 * pairs + 3)
                    .map(|_| random.bytes(32).try_into().unwrap())
                    .collect();
                let mut expected = before.clone();
                let children = before[from..from + 2 * pairs].as_chunks::<2>().0;
                for (parent_cv, children) in expected[to..].iter_mut().zip(children) {
                    *parent_cv = parent(&key, children, each);
                }
                let mut cvs = before;
                kernel.parents(&mut cvs, from, pairs, to, &key, each);
                // Also that nothing but the parents has changed.
                assert_eq!(cvs, expected, "{} {pairs} pairs {from} to {to}", kernel.name());
                tally.case();
            }
        }
    }
}

#[test]
fn parents_as_in_the_blake3_crate() {
    use blake3::hazmat::{Mode, merge_subtrees_non_root};
    let mut random = Random::new(12);
    for kernel in supported() {
        let pairs = kernel.degree() + 3;
        let secret: [u8; 32] = random.bytes(32).try_into().unwrap();
        let key = crate::spec::words(&secret);
        for (mode, key, each) in [
            (Mode::Hash, crate::spec::IV, 0),
            (Mode::KeyedHash(&secret), key, flags::KEYED_HASH),
            (Mode::DeriveKeyMaterial(&secret), key, flags::DERIVE_KEY_MATERIAL),
        ] {
            let bytes = random.bytes(64 * pairs);
            let children = bytes.as_chunks::<32>().0;
            let mut cvs = children.to_vec();
            kernel.parents(&mut cvs, 0, pairs, 0, &key, each);
            for (actual, [left, right]) in cvs.iter().zip(children.as_chunks::<2>().0) {
                assert_eq!(
                    *actual,
                    merge_subtrees_non_root(left, right, mode),
                    "{}",
                    kernel.name()
                );
            }
        }
    }
}

/// Anything next to anything: empty nodes next to whole chunks, each with its counter and flags.
#[test]
fn unequal_nodes() {
    let mut random = Random::new(13);
    let bytes = random.bytes(3 * CHUNK_LEN);
    for kernel in supported() {
        let mut tally = tally(kernel, "unequal_nodes");
        for round in 0..rounds(6 * kernel.degree() + 60) {
            let count = match round {
                // Every size of a group first.
                _ if round <= 2 * kernel.degree() + 1 => round,
                _ => random.below(3 * kernel.degree() + 1),
            };
            // Some groups of short nodes, some of chunks, some of both; and some that run for several blocks
            // before the first node ends.
            let (least, most) =
                [(0, 64), (0, 200), (0, CHUNK_LEN), (CHUNK_LEN / 2, CHUNK_LEN)][random.below(4)];
            let [each, first, ..] = random.next().to_le_bytes();
            let nodes: Vec<Lane<'_>> = (0..count)
                .map(|_| {
                    let len = least + random.length(most - least);
                    let start = random.below(bytes.len() - len + 1);
                    let last = random.next() as u8;
                    // As in BLAKE3, where a flag stands for one thing.
                    let last = last & !(each | first);
                    let counter = random.next() >> random.below(64);
                    Lane { input: &bytes[start..start + len], counter, each, first, last }
                })
                .collect();
            let key = any_key(&mut random);
            let expected: Vec<_> = nodes.iter().map(|lane| node(&key, *lane)).collect();
            let mut lanes = Lanes::new(&nodes);
            // What comes next is fetched, or not, and never hashed.
            let next = (0..random.below(80)).map(|_| &bytes[random.below(bytes.len())..]);
            lanes.inputs.extend(next);
            let actual = within_bounds(count, |out, count| {
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, &mut out[..count]);
            });
            let lens = || nodes.iter().map(|lane| lane.input.len()).collect::<Vec<_>>();
            assert_eq!(actual, expected, "{} lengths {:?}", kernel.name(), lens());
            tally.case();
        }
    }
}

/// Nodes that all end together, with a whole block, as random lengths hardly ever do: each with its own
/// counter and last flags.
#[test]
fn nodes_of_one_whole_length() {
    let mut random = Random::new(19);
    let bytes = random.bytes(2 * CHUNK_LEN);
    for kernel in supported() {
        let mut tally = tally(kernel, "nodes_of_one_whole_length");
        for blocks in sample([1, 2, 3, 12, 15, 16]) {
            for count in (1..=kernel.degree() + 1).step_by(MIRI_STEP) {
                let [each, first, ..] = random.next().to_le_bytes();
                let nodes: Vec<_> = (0..count)
                    .map(|_| {
                        let start = random.below(CHUNK_LEN);
                        let input = &bytes[start..start + blocks * BLOCK_LEN];
                        let last = random.next() as u8 & !(each | first);
                        Lane { input, counter: random.next(), each, first, last }
                    })
                    .collect();
                let key = any_key(&mut random);
                let expected: Vec<_> = nodes.iter().map(|lane| node(&key, *lane)).collect();
                let lanes = Lanes::new(&nodes);
                let mut out = vec![[0; 32]; count];
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, &mut out);
                assert_eq!(out, expected, "{} {count} of {blocks} blocks", kernel.name());
                tally.case();
            }
        }
    }
}

/// Blocks that are whole, short and missing in one step: few enough for any scale, as Miri's.
#[test]
fn lanes_that_end_in_every_way() {
    let mut random = Random::new(18);
    let bytes = random.bytes(3 * BLOCK_LEN);
    let key = any_key(&mut random);
    let nodes: Vec<_> = [130, 64, 0, 65, 1, 128, 129].map(|len| chunk(&bytes[..len], 9, 0)).into();
    let expected: Vec<_> = nodes.iter().map(|lane| node(&key, *lane)).collect();
    let lanes = Lanes::new(&nodes);
    for kernel in supported() {
        let mut tally = tally(kernel, "lanes_that_end_in_every_way");
        let mut out = vec![[0; 32]; nodes.len()];
        kernel.lanes(&lanes.inputs, lanes.marks(), &key, &mut out);
        assert_eq!(out, expected, "{}", kernel.name());
        tally.case();
    }
}

/// Lanes that have ended read zeros, as many as a chunk has bytes.
#[test]
#[should_panic(expected = "longer than a chunk")]
fn no_node_is_longer_than_a_chunk() {
    let bytes = [0; CHUNK_LEN + 1];
    let mut nodes = [chunk(&bytes[..BLOCK_LEN], 0, 0); 8];
    nodes[7].input = &bytes;
    let lanes = Lanes::new(&nodes);
    let array = crate::kernel::choice::find("array").expect("everywhere");
    array.lanes(&lanes.inputs, lanes.marks(), &crate::spec::IV, &mut [[0; 32]; 8]);
}

/// One node of each length between two others, first, in the middle and last.
#[test]
fn every_length_of_a_node() {
    let mut random = Random::new(14);
    let bytes = random.bytes(CHUNK_LEN);
    let key = any_key(&mut random);
    let lane = |len, flag| Lane {
        input: &bytes[..len],
        counter: u64::MAX - len as u64,
        each: flags::KEYED_HASH,
        first: flags::CHUNK_START,
        last: flags::CHUNK_END | flag,
    };
    let near = [0, 64, 65, CHUNK_LEN];
    let beside: Vec<_> = near.iter().map(|len| node(&key, lane(*len, 0x80))).collect();
    for kernel in supported() {
        let mut tally = tally(kernel, "every_length_of_a_node");
        for len in sample(0..=CHUNK_LEN) {
            let at = len % 3;
            let other = len / 3 % near.len();
            let mut nodes = vec![lane(near[other], 0x80); 3];
            nodes[at] = lane(len, 0);
            let mut wanted = vec![beside[other]; 3];
            wanted[at] = node(&key, nodes[at]);
            let lanes = Lanes::new(&nodes);
            let actual = within_bounds(3, |out, count| {
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, &mut out[..count]);
            });
            assert_eq!(actual, wanted, "{} length {len} next to {}", kernel.name(), near[other]);
            tally.case();
        }
    }
}

/// Room for a chaining value at any multiple of four bytes.
#[repr(align(16))]
struct Places([u32; 11]);

#[test]
fn runs_of_blocks_on_one_lane() {
    let mut random = Random::new(15);
    for kernel in supported() {
        let mut tally = tally(kernel, "runs_of_blocks_on_one_lane");
        for count in (1..=17).step_by(MIRI_STEP) {
            for align in sample(0..64) {
                let bytes = random.bytes(count * BLOCK_LEN);
                let mut room = Aligned::new(bytes.len());
                let blocks = room.put(&bytes, align);
                let (before, counter) = (any_key(&mut random), random.next());
                let each = random.next() as u8;
                let mut expected = before;
                for block in blocks.chunks(BLOCK_LEN) {
                    let out =
                        reference::compress(&expected, &message(block), counter, 64, each.into());
                    expected.copy_from_slice(&out[..8]);
                }
                let mut places = Places([0; 11]);
                let cv: &mut Words =
                    (&mut places.0[align % 4..][..8]).try_into().expect("eight words");
                *cv = before;
                let flags = Flags { each, first: 0, last: 0, padded: false };
                kernel.compress(cv, blocks, counter, flags);
                assert_eq!(*cv, expected, "{} {count} blocks alignment {align}", kernel.name());
                tally.case();
            }
        }
        for len in sample(0..=CHUNK_LEN) {
            let mut room = Aligned::new(len);
            let bytes = random.bytes(len);
            let input = room.put(&bytes, random.below(64));
            let (before, counter) = (any_key(&mut random), random.next());
            let [each, first, last] = [1, 2, 3].map(|_| random.next() as u8);
            let expected = node(&before, Lane { input, counter, each, first, last });
            let mut cv = before;
            kernel.compress(&mut cv, input, counter, Flags { each, first, last, padded: false });
            assert_eq!(crate::spec::bytes(&cv), expected, "{} {len} bytes", kernel.name());
            tally.case();
        }
        for len in sample(0..=BLOCK_LEN) {
            let mut block = [0; BLOCK_LEN];
            block[..len].copy_from_slice(&random.bytes(len));
            let (before, counter, each) =
                (any_key(&mut random), random.next(), random.next() as u8);
            let input = &block[..len];
            let expected = node(&before, Lane { input, counter, each, first: 0, last: 0 });
            let mut cv = before;
            kernel.compress_block(&mut cv, &block, len as u8, counter, each);
            assert_eq!(crate::spec::bytes(&cv), expected, "{} block of {len}", kernel.name());
            tally.case();
        }
    }
}

#[test]
fn output_of_every_count() {
    let mut random = Random::new(16);
    for kernel in supported() {
        let mut tally = tally(kernel, "output_of_every_count");
        for count in (0..=2 * kernel.degree() + 1).step_by(MIRI_STEP) {
            for counter in sample(counters(count, &mut random)) {
                let cv = any_key(&mut random);
                let block: [u8; BLOCK_LEN] = random.bytes(BLOCK_LEN).try_into().unwrap();
                let (len, each) = (random.below(65) as u8, random.next() as u8);
                let m = message(&block);
                let expected: Vec<_> = (0..count as u64)
                    .map(|i| {
                        let t = counter.wrapping_add(i);
                        reference::compress(&cv, &m, t, len.into(), each.into())
                            .map(u32::to_le_bytes)
                    })
                    .collect();
                let actual = within_bounds(count, |out, count| {
                    kernel.xof(&cv, &block, len, each, counter, &mut out[..count]);
                });
                assert_eq!(
                    actual.as_flattened(),
                    expected.as_flattened().as_flattened(),
                    "{} {count} blocks from {counter}",
                    kernel.name()
                );
                tally.case();
            }
        }
    }
}

/// Extended output of a keyed input of one block, up to the last block that the paper defines.
#[test]
fn output_as_in_the_blake3_crate() {
    let mut random = Random::new(17);
    for kernel in supported() {
        let mut tally = tally(kernel, "output_as_in_the_blake3_crate");
        for _ in 0..rounds(100) {
            let secret: [u8; 32] = random.bytes(32).try_into().unwrap();
            let len = random.below(65);
            let mut block = [0; BLOCK_LEN];
            block[..len].copy_from_slice(&random.bytes(len));
            let count = 1 + random.below(2 * kernel.degree());
            let last = (1 << 58) - 1 - count as u64;
            let counter = (random.next() >> (6 + random.below(50))).min(last);
            let mut expected = vec![0; count * BLOCK_LEN];
            let mut reader =
                blake3::Hasher::new_keyed(&secret).update(&block[..len]).finalize_xof();
            reader.set_position(counter * BLOCK_LEN as u64);
            reader.fill(&mut expected);
            let each = flags::CHUNK_START | flags::CHUNK_END | flags::ROOT | flags::KEYED_HASH;
            let actual = within_bounds(count, |out, count| {
                let key = crate::spec::words(&secret);
                kernel.xof(&key, &block, len as u8, each, counter, &mut out[..count]);
            });
            assert_eq!(actual.as_flattened(), expected, "{} {count} from {counter}", kernel.name());
            tally.case();
        }
    }
}
