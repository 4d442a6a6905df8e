//! Pages that may not be touched right before and right behind what a kernel reads and writes.

use super::*;
use crate::spec::bytes as bytes_of;

#[cfg_attr(unix, path = "pages/unix.rs")]
#[cfg_attr(target_arch = "wasm32", path = "pages/wasm.rs")]
mod guarded;

use guarded::{Guarded, SIDES};

#[derive(Clone, Copy, Debug)]
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "memory begins where it does"))]
enum Side {
    /// The bytes start right behind a guard.
    First,
    /// The bytes end right before a guard.
    Last,
}

#[test]
fn chunks_between_guards() {
    let mut random = Random::new(21);
    for kernel in supported() {
        let mut tally = tally(kernel, "chunks_between_guards");
        let degree = kernel.degree();
        let most = degree + 3;
        let (mut memory, mut out_memory) =
            (Guarded::new(most * CHUNK_LEN), Guarded::output(most * 32));
        let bytes = random.bytes(most * CHUNK_LEN);
        let tails = [1, 2, 31, 32, 63, 64, 65, 100, 511, 640, 641, 960, 961, 1000, 1023, 1024];
        for whole in 0..=degree + 1 {
            for tail in sample(tails) {
                for side in SIDES {
                    let len = whole * CHUNK_LEN + tail;
                    let key = any_key(&mut random);
                    let expected = reference_chunks(&bytes[..len], &key, 7, 0);
                    let input = memory.put(side, len, &bytes);
                    let out = out_memory.put(side, 32 * expected.len(), &[]);
                    let out = out.as_chunks_mut::<32>().0;
                    kernel.chunks(input, &key, 7, 0, flags::CHUNK_END, out);
                    assert_eq!(out, expected, "{} length {len} {side:?}", kernel.name());
                    tally.case();
                }
            }
        }
    }
}

/// Every node ends, or starts, at the guard: those of different lengths overlap.
#[test]
fn unequal_nodes_between_guards() {
    let mut random = Random::new(22);
    for kernel in supported() {
        let mut tally = tally(kernel, "unequal_nodes_between_guards");
        let (mut memory, mut out_memory) =
            (Guarded::new(CHUNK_LEN), Guarded::output(32 * 2 * kernel.degree()));
        let bytes = random.bytes(CHUNK_LEN);
        for _ in 0..rounds(150) {
            let most = [64, 200, CHUNK_LEN][random.below(3)];
            for side in SIDES {
                let all = &*memory.put(side, CHUNK_LEN, &bytes);
                let count = 1 + random.below(2 * kernel.degree());
                let nodes: Vec<Lane<'_>> = (0..count as u64)
                    .map(|counter| {
                        let len = random.length(most);
                        let input = match side {
                            Side::First => &all[..len],
                            Side::Last => &all[CHUNK_LEN - len..],
                        };
                        chunk(input, counter, 0)
                    })
                    .collect();
                let key = any_key(&mut random);
                let out = out_memory.put(side, 32 * count, &[]).as_chunks_mut::<32>().0;
                let lanes = Lanes::new(&nodes);
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, out);
                for (actual, lane) in out.iter().zip(&nodes) {
                    assert_eq!(*actual, node(&key, *lane), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}

#[test]
fn parents_between_guards() {
    let mut random = Random::new(23);
    for kernel in supported() {
        let mut tally = tally(kernel, "parents_between_guards");
        let degree = kernel.degree();
        let mut memory = Guarded::new(64 * (2 * degree + 1));
        for pairs in 0..=2 * degree + 1 {
            for side in SIDES {
                let bytes = random.bytes(64 * pairs);
                let key = any_key(&mut random);
                let children = memory.put(side, bytes.len(), &bytes).as_chunks_mut::<32>().0;
                kernel.parents(children, 0, pairs, 0, &key, 0);
                for (actual, children) in children.iter().zip(bytes.chunks(64)) {
                    let (counter, each) = (0, flags::PARENT);
                    let lane = Lane { input: children, counter, each, first: 0, last: 0 };
                    assert_eq!(*actual, node(&key, lane), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}

#[test]
fn one_lane_and_output_between_guards() {
    let mut random = Random::new(24);
    for kernel in supported() {
        let mut tally = tally(kernel, "one_lane_and_output_between_guards");
        let most = 2 * kernel.degree() + 1;
        let mut memory = Guarded::new(BLOCK_LEN * most.max(16));
        for len in sample(0..=CHUNK_LEN) {
            for side in SIDES {
                let bytes = random.bytes(len);
                let before = any_key(&mut random);
                let mut cv = before;
                let flags = Flags { each: 0, first: 0, last: 0, padded: false };
                kernel.compress(&mut cv, memory.put(side, len, &bytes), 5, flags);
                let lane = Lane { input: &bytes, counter: 5, each: 0, first: 0, last: 0 };
                assert_eq!(bytes_of(&cv), node(&before, lane), "{} {side:?}", kernel.name());
                tally.case();
            }
        }
        let cv = any_key(&mut random);
        let block = random.bytes(BLOCK_LEN).try_into().unwrap();
        for count in 0..=most {
            for side in SIDES {
                let out = memory.put(side, BLOCK_LEN * count, &[]).as_chunks_mut::<64>().0;
                kernel.xof(&cv, &block, 64, flags::ROOT, 3, out);
                for (actual, t) in out.iter().zip(3..) {
                    let m = message(&block);
                    let expected = reference::compress(&cv, &m, t, 64, flags::ROOT.into());
                    let expected = expected.map(u32::to_le_bytes);
                    assert_eq!(actual, expected.as_flattened(), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}
