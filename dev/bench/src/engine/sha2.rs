//! SHA-256 of RustCrypto: another algorithm, on one thread, as a baseline.

use sha2::{Digest as _, Sha256};

use super::{Engine, Inputs, Task, blobs, no_choice, repeated};
use crate::report::Family;
use crate::work::{Feed, Mode, PIECE, Work};

pub(super) static ENGINE: Engine = Engine {
    name: "sha2",
    version: env!("TREEWIDE_BENCH_SHA2"),
    family: Family::Sha256,
    task,
    variant: String::new,
    force: no_choice,
};

fn digest(input: &[u8]) -> [u8; 32] {
    Sha256::digest(input).into()
}

fn task(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    if threads {
        return None;
    }
    match *work {
        Work::Input { mode: Mode::Hash, feed, bytes, buffers, .. } => {
            let inputs = Inputs::new(stream, bytes, buffers);
            match feed {
                Feed::OneShot => inputs.task(digest),
                Feed::Streaming => inputs.task(|input| -> [u8; 32] {
                    let mut hasher = Sha256::new();
                    for piece in input.chunks(PIECE) {
                        hasher.update(piece);
                    }
                    hasher.finalize().into()
                }),
                _ => None,
            }
        }
        Work::Batch { ref shape } => {
            let blobs = blobs(stream, &shape.lengths());
            repeated(move || -> Vec<_> { blobs.iter().map(|blob| digest(blob)).collect() })
        }
        _ => None,
    }
}
