//! rscrypto's BLAKE3, on one thread.

use rscrypto::{Blake3, Digest as _, Xof as _};

use super::{Engine, Inputs, Output, Task, blobs, no_choice, repeated};
use crate::work::{CONTEXT, Feed, KEY, Mode, PIECE, WRITTEN, Work};

pub(super) static ENGINE: Engine = Engine {
    name: "rscrypto",
    version: env!("TREEWIDE_BENCH_RSCRYPTO"),
    task,
    variant: String::new,
    force: no_choice,
};

fn task(work: &Work, stream: &'static [u8], threads: bool) -> Option<Box<dyn Task>> {
    if threads {
        return None;
    }
    match *work {
        Work::Input { mode, feed, bytes, buffers, .. } => {
            let inputs = Inputs::new(stream, bytes, buffers);
            match (feed, mode) {
                (Feed::OneShot, Mode::Hash) => inputs.task(Blake3::digest),
                (Feed::OneShot, Mode::Keyed) => {
                    inputs.task(|input| *Blake3::keyed_digest(KEY, input).as_bytes())
                }
                (Feed::OneShot, Mode::Derive) => {
                    inputs.task(|input| Blake3::derive_key(CONTEXT, input))
                }
                (Feed::Reuse, Mode::Hash) => {
                    let mut hasher = Blake3::new();
                    inputs.task(move |input| {
                        hasher.reset();
                        hasher.update(input);
                        hasher.finalize()
                    })
                }
                (Feed::Streaming, Mode::Hash) => inputs.task(|input| {
                    let mut hasher = Blake3::new();
                    for piece in input.chunks(PIECE) {
                        hasher.update(piece);
                    }
                    hasher.finalize()
                }),
                _ => None,
            }
        }
        Work::Output { bytes } => {
            let mut output = vec![0; bytes as usize];
            let mut hasher = Blake3::new();
            hasher.update(WRITTEN);
            let reader = hasher.finalize_xof();
            Some(Box::new(Output(move |give: bool| {
                reader.clone().squeeze(&mut output);
                if give { output.clone() } else { vec![] }
            })))
        }
        Work::Batch { ref shape } => {
            let blobs = blobs(stream, &shape.lengths());
            repeated(move || -> Vec<_> { blobs.iter().map(|blob| Blake3::digest(blob)).collect() })
        }
        _ => None,
    }
}
