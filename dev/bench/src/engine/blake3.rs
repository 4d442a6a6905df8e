//! The `blake3` crate, which is also the oracle. Batches are a loop, and with threads a parallel loop.

use anyhow::{Result, bail};
use rayon::prelude::*;

use super::operations::operations;
use super::{Engine, Task, blobs, leaves, repeated, shared_tasks};
use crate::work::{WRITTEN, Work};

pub(super) static ENGINE: Engine =
    Engine { name: "blake3", version: env!("TREEWIDE_BENCH_BLAKE3"), task, variant, force };

/// The instruction set that it has detected, in treewide's names.
fn variant() -> String {
    format!("{:?}", blake3::platform::Platform::detect()).to_lowercase()
}

/// It cannot choose at run time. Naming the instruction set that it uses anyway makes sure of it.
fn force(name: &str) -> Result<()> {
    let variant = variant();
    if name != variant {
        let features = match name {
            "avx2" => "blake3/no_avx512",
            "sse41" => "blake3/no_avx512,blake3/no_avx2",
            "sse2" => "blake3/no_avx512,blake3/no_avx2,blake3/no_sse41",
            "portable" => "blake3/no_avx512,blake3/no_avx2,blake3/no_sse41,blake3/no_sse2",
            _ => bail!("blake3 uses '{variant}' here, and has no '{name}'"),
        };
        bail!("blake3 uses '{variant}' in this build: build with --features {features}");
    }
    Ok(())
}

operations!(blake3, unbuffered: |hasher| hasher);
shared_tasks!(blake3, parallel: |input| blake3::Hasher::new().update_rayon(input).finalize());

fn task(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    match work {
        Work::Batch { shape } => {
            let blobs = blobs(stream, &shape.lengths());
            if threads {
                repeated(move || -> Vec<_> {
                    blobs.par_iter().map(|it| blake3::hash(it)).collect()
                })
            } else {
                repeated(move || -> Vec<_> { blobs.iter().map(|it| blake3::hash(it)).collect() })
            }
        }
        Work::Merkle { leaves: count } if count.is_power_of_two() && *count > 1 && !threads => {
            let leaves = leaves(stream, *count);
            let mut nodes = vec![[0; 32]; leaves.len() - 1];
            repeated(move || {
                merkle(&leaves, &mut nodes);
                nodes[nodes.len() - 1]
            })
        }
        Work::Device { bytes, place } if place.is_written() => {
            let mut written = vec![0; *bytes as usize];
            blake3::Hasher::new().update(WRITTEN).finalize_xof().fill(&mut written);
            repeated(move || blake3::hash(&written))
        }
        // As the oracle: what a file or a device holds is the beginning of the stream.
        Work::Program { bytes } | Work::Device { bytes, .. } => {
            let content = &stream[..*bytes as usize];
            repeated(move || blake3::hash(content))
        }
        _ => shared(work, stream, threads),
    }
}

/// All levels above a power of two of leaves, one after the other.
fn merkle(leaves: &[[u8; 32]], nodes: &mut [[u8; 32]]) {
    let parent = |pair: &[[u8; 32]; 2]| *blake3::hash(pair.as_flattened()).as_bytes();
    let (mut level, mut above) = nodes.split_at_mut(leaves.len() / 2);
    for (pair, node) in leaves.as_chunks().0.iter().zip(level.iter_mut()) {
        *node = parent(pair);
    }
    while !above.is_empty() {
        let (next, rest) = above.split_at_mut(level.len() / 2);
        for (pair, node) in level.as_chunks().0.iter().zip(next.iter_mut()) {
            *node = parent(pair);
        }
        (level, above) = (next, rest);
    }
}
