//! SHA-256 of ring: another algorithm, on one thread, as a baseline.

use ring::digest::{Context, SHA256, digest};

use super::{Engine, Inputs, Outcome, Task, blobs, no_choice, repeated};
use crate::report::Family;
use crate::work::{Feed, Mode, PIECE, Work};

pub(super) static ENGINE: Engine = Engine {
    name: "ring",
    version: env!("TREEWIDE_BENCH_RING"),
    family: Family::Sha256,
    task,
    variant: String::new,
    force: no_choice,
};

impl Outcome for ring::digest::Digest {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_ref());
    }
}

fn task(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    if threads {
        return None;
    }
    match *work {
        Work::Input { mode: Mode::Hash, feed, bytes, buffers, .. } => {
            let inputs = Inputs::new(stream, bytes, buffers);
            match feed {
                Feed::OneShot => inputs.task(|input| digest(&SHA256, input)),
                Feed::Streaming => inputs.task(|input| {
                    let mut context = Context::new(&SHA256);
                    for piece in input.chunks(PIECE) {
                        context.update(piece);
                    }
                    context.finish()
                }),
                _ => None,
            }
        }
        Work::Batch { ref shape } => {
            let blobs = blobs(stream, &shape.lengths());
            repeated(move || -> Vec<_> { blobs.iter().map(|blob| digest(&SHA256, blob)).collect() })
        }
        _ => None,
    }
}
