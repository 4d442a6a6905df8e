//! Treewide: any kernel, batches, trees, threads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use rayon::prelude::*;
use treewide::{Batch, Hash, kernel, merkle};

use super::operations::operations;
use super::{Engine, Inputs, Outcome, Task, blobs, leaves, no_choice, repeated, shared_tasks};
use crate::work::{Shape, Work};

pub(super) static ENGINE: Engine = Engine {
    name: "treewide",
    version: env!("CARGO_PKG_VERSION"),
    task,
    variant: || kernel::detected().name().to_owned(),
    force: |name| -> Result<()> { Ok(kernel::force(name).map(|_| ())?) },
};

/// A batch with a huge blob as two jobs, the tiny blobs and the huge one, to compare with one batch of both.
pub(super) static APART: Engine = Engine {
    name: "treewide-apart",
    version: env!("CARGO_PKG_VERSION"),
    task: apart,
    variant: || kernel::detected().name().to_owned(),
    force: no_choice,
};

/// A batch whose digests go to existing memory, so that its time does not include new memory.
pub(super) static INTO: Engine = Engine {
    name: "treewide-into",
    version: env!("CARGO_PKG_VERSION"),
    task: into,
    variant: || kernel::detected().name().to_owned(),
    force: no_choice,
};

/// A batch as one task of the pool for each blob, and each task asks for more threads, as a server does that hashes
/// several large objects at once.
pub(super) static TASKS: Engine = Engine {
    name: "treewide-tasks",
    version: env!("CARGO_PKG_VERSION"),
    task: |work, stream, threads| map(work, stream, threads, treewide::hash_parallel),
    variant: || kernel::detected().name().to_owned(),
    force: no_choice,
};

/// The same with one thread for each blob: what [`TASKS`] is compared with.
pub(super) static MAP: Engine = Engine {
    name: "treewide-map",
    version: env!("CARGO_PKG_VERSION"),
    task: |work, stream, threads| map(work, stream, threads, treewide::hash),
    variant: || kernel::detected().name().to_owned(),
    force: no_choice,
};

operations!(treewide, unbuffered: treewide::Hasher::without_buffer);
shared_tasks!(treewide, parallel: treewide::hash_parallel);

fn task(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    match work {
        Work::Batch { shape } => {
            let blobs = blobs(stream, &shape.lengths());
            if threads {
                let batch = Batch::new().threads(usize::MAX);
                repeated(move || batch.hash(&blobs))
            } else {
                repeated(move || treewide::hash_many(&blobs))
            }
        }
        Work::Merkle { leaves: count } => {
            let leaves = leaves(stream, *count);
            let mut nodes = vec![[0; 32]; merkle::node_count(leaves.len())];
            if threads {
                repeated(move || {
                    merkle::fill_nodes_parallel(&leaves, &mut nodes);
                    nodes[nodes.len() - 1]
                })
            } else {
                repeated(move || {
                    merkle::fill_nodes(&leaves, &mut nodes);
                    nodes[nodes.len() - 1]
                })
            }
        }
        // The CPU side next to a device, for bytes of the host.
        Work::Device { bytes, place } if place.is_of_host() => {
            let hash = if threads { treewide::hash_parallel } else { treewide::hash };
            Inputs::new(stream, *bytes, 1).task(hash)
        }
        _ => shared(work, stream, threads),
    }
}

fn apart(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    let Work::Batch { shape: shape @ Shape::Huge { count, .. } } = work else { return None };
    let mut tiny = blobs(stream, &shape.lengths());
    let middle = *count as usize / 2;
    let huge = tiny.remove(middle);
    let batch = Batch::new().threads(if threads { usize::MAX } else { 1 });
    repeated(move || {
        let mut hashes = batch.hash(&tiny);
        let hash = if threads { treewide::hash_parallel(huge) } else { treewide::hash(huge) };
        hashes.insert(middle, hash);
        hashes
    })
}

fn into(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    let Work::Batch { shape } = work else { return None };
    let blobs = blobs(stream, &shape.lengths());
    let hashes = vec![Hash::from_bytes([0; 32]); blobs.len()];
    Some(Box::new(Into {
        batch: Batch::new().threads(if threads { usize::MAX } else { 1 }),
        blobs,
        hashes,
    }))
}

struct Into {
    batch: Batch,
    blobs: Vec<&'static [u8]>,
    hashes: Vec<Hash>,
}

impl Task for Into {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..calls {
            self.batch.hash_into(&self.blobs, black_box(&mut self.hashes));
        }
        Ok(start.elapsed())
    }

    fn outcome(&mut self) -> Result<::blake3::Hash> {
        self.batch.hash_into(&self.blobs, &mut self.hashes);
        let mut all = vec![];
        self.hashes.put(&mut all);
        Ok(::blake3::hash(&all))
    }
}

fn map(
    work: &Work,
    stream: &'static [u8],
    threads: bool,
    hash: fn(&[u8]) -> Hash,
) -> Option<Box<dyn Task>> {
    let Work::Batch { shape } = work else { return None };
    let blobs = blobs(stream, &shape.lengths());
    if !threads {
        return None;
    }
    repeated(move || -> Vec<_> { blobs.par_iter().map(|blob| hash(blob)).collect() })
}
