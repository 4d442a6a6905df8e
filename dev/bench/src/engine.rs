//! Engines: the libraries that hash, each with the tasks that it can do.
//!
//! A [`Task`] is one side's part of a row, ready to be timed repeatedly. The timed loop is compiled once for each engine
//! and kind of work, around the call itself; nothing is looked up inside it. Two sides of the same engine run the same
//! machine code.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::random::Random;
use crate::work::{Work, stride};

mod blake3;
#[cfg(feature = "gpu")]
pub(crate) mod device;
pub(crate) mod file;
mod operations;
#[cfg(rscrypto)]
mod rscrypto;
mod treewide;

/// A library, or a way of using it.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// The version of the crate in `Cargo.lock`.
    pub(crate) version: &'static str,
    pub(crate) task: NewTask,
    /// The kernel or instruction set that it would use now, if it reports one.
    pub(crate) variant: fn() -> String,
    /// Chooses a kernel by its name, if there is a choice.
    pub(crate) force: fn(&str) -> Result<()>,
}

/// Makes a side's task for this work on the stream, on the threads of the current rayon pool or on one thread; `None` if
/// the engine does not do such work.
pub(crate) type NewTask = fn(&Work, &'static [u8], bool) -> Option<Box<dyn Task>>;

/// Every engine of this build.
static ALL: &[&Engine] = &[
    &treewide::ENGINE,
    &treewide::APART,
    &treewide::INTO,
    &treewide::TASKS,
    &treewide::MAP,
    &blake3::ENGINE,
    #[cfg(rscrypto)]
    &rscrypto::ENGINE,
];

pub(crate) fn all() -> &'static [&'static Engine] {
    ALL
}

/// Finds an engine by its name.
pub(crate) fn find(name: &str) -> Result<&'static Engine> {
    match ALL.iter().find(|engine| engine.name == name) {
        Some(engine) => Ok(engine),
        None if name == "rscrypto" => {
            bail!(
                "this build has no engine '{name}': build treewide-bench by nightly with RUSTFLAGS=\"--cfg {name}\""
            )
        }
        None => {
            let names: Vec<&str> = ALL.iter().map(|engine| engine.name).collect();
            bail!("there is no engine '{name}'; this build has {}", names.join(", "))
        }
    }
}

/// The oracle: computes the digests that others are compared with, also when a report is validated.
pub(crate) static ORACLE: &Engine = &blake3::ENGINE;

/// A side's part of a row.
pub(crate) trait Task: Send {
    /// Makes `calls` calls, and returns the time from before the first to after the last.
    ///
    /// # Errors
    /// If a process or a device failed.
    fn time(&mut self, calls: u64) -> Result<Duration>;

    /// Makes the next call take input number `at`.
    fn begin(&mut self, _at: u64) {}

    /// Calls once for every input, and returns the BLAKE3 digest of all digests or output.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    fn outcome(&mut self) -> Result<::blake3::Hash>;
}

/// The result of a call, as bytes that can be compared.
pub(crate) trait Outcome {
    fn put(&self, out: &mut Vec<u8>);
}

impl<const N: usize> Outcome for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl Outcome for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl<T: Outcome> Outcome for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        for item in self {
            item.put(out);
        }
    }
}

/// The stream that all inputs come from. It starts at a page and stays until the process ends.
pub(crate) fn stream(seed: u64, len: u64) -> &'static [u8] {
    const PAGE: usize = 4096;
    let len = len as usize;
    let memory = vec![0; len + PAGE].leak();
    let at = memory.as_ptr().align_offset(PAGE);
    let stream = &mut memory[at..at + len];
    Random::new(seed).fill(stream);
    stream
}

/// Inputs of one length that calls take in turn.
struct Inputs {
    stream: &'static [u8],
    bytes: usize,
    stride: usize,
    count: usize,
}

impl Inputs {
    fn new(stream: &'static [u8], bytes: u64, count: u64) -> Self {
        Self {
            stream,
            bytes: bytes as usize,
            stride: stride(bytes) as usize,
            count: count as usize,
        }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &'static [u8] {
        let at = index * self.stride;
        &self.stream[at..at + self.bytes]
    }

    fn task<R: Outcome, F: FnMut(&[u8]) -> R + Send + 'static>(
        self,
        f: F,
    ) -> Option<Box<dyn Task>> {
        Some(Box::new(OverInputs { inputs: self, at: 0, f }))
    }
}

/// One call for each input.
struct OverInputs<F> {
    inputs: Inputs,
    /// The next input.
    at: usize,
    f: F,
}

impl<R: Outcome, F: FnMut(&[u8]) -> R + Send> Task for OverInputs<F> {
    #[inline(never)]
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..calls {
            // By reference, as a hasher that is returned need not be copied.
            black_box(&(self.f)(black_box(self.inputs.get(self.at))));
            self.at += 1;
            if self.at == self.inputs.count {
                self.at = 0;
            }
        }
        Ok(start.elapsed())
    }

    fn outcome(&mut self) -> Result<::blake3::Hash> {
        let mut all = vec![];
        for index in 0..self.inputs.count {
            (self.f)(self.inputs.get(index)).put(&mut all);
        }
        Ok(::blake3::hash(&all))
    }

    fn begin(&mut self, at: u64) {
        self.at = (at % self.inputs.count as u64) as usize;
    }
}

/// The same call again and again.
struct Repeated<F>(F);

impl<R: Outcome, F: FnMut() -> R + Send> Task for Repeated<F> {
    #[inline(never)]
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(&(self.0)());
        }
        Ok(start.elapsed())
    }

    fn outcome(&mut self) -> Result<::blake3::Hash> {
        let mut all = vec![];
        (self.0)().put(&mut all);
        Ok(::blake3::hash(&all))
    }
}

fn repeated<R: Outcome, F: FnMut() -> R + Send + 'static>(f: F) -> Option<Box<dyn Task>> {
    Some(Box::new(Repeated(f)))
}

/// The blobs of a batch, one after the other in the stream.
fn blobs(stream: &'static [u8], lengths: &[usize]) -> Vec<&'static [u8]> {
    let mut at = 0;
    let blob = |&len: &usize| {
        at += len;
        &stream[at - len..at]
    };
    lengths.iter().map(blob).collect()
}

/// The leaves of a Merkle tree.
fn leaves(stream: &'static [u8], count: u64) -> Vec<[u8; 32]> {
    let bytes = &stream[..count as usize * 32];
    bytes.as_chunks().0.to_vec()
}

/// An engine without a choice of kernels.
fn no_choice(kernel: &str) -> Result<()> {
    bail!("the kernel '{kernel}' cannot be chosen: only treewide's can, and blake3's at build time")
}

/// The tasks of treewide and `blake3`, written once for both interfaces, so that both sides do the same.
macro_rules! shared_tasks {
    ($lib:ident, parallel: $parallel:expr) => {
        impl $crate::engine::Outcome for $lib::Hash {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_bytes());
            }
        }

        fn hasher(mode: $crate::work::Mode) -> $lib::Hasher {
            match mode {
                $crate::work::Mode::Hash => $lib::Hasher::new(),
                $crate::work::Mode::Keyed => $lib::Hasher::new_keyed($crate::work::KEY),
                $crate::work::Mode::Derive => $lib::Hasher::new_derive_key($crate::work::CONTEXT),
            }
        }

        fn shared(
            work: &$crate::work::Work,
            stream: &'static [u8],
            threads: bool,
        ) -> Option<Box<dyn $crate::engine::Task>> {
            use $crate::work::{CONTEXT, Feed, KEY, Mode, Operation, PIECE, Work};
            match *work {
                Work::Input { mode, feed, bytes, buffers, .. } => {
                    let inputs = $crate::engine::Inputs::new(stream, bytes, buffers);
                    match (feed, mode, threads) {
                        (Feed::OneShot, Mode::Hash, false) => inputs.task($lib::hash),
                        (Feed::OneShot, Mode::Keyed, false) => {
                            inputs.task(|input| $lib::keyed_hash(KEY, input))
                        }
                        (Feed::OneShot, Mode::Derive, false) => {
                            inputs.task(|input| $lib::derive_key(CONTEXT, input))
                        }
                        (Feed::OneShot, Mode::Hash, true) => inputs.task($parallel),
                        (Feed::OneShot, _, true) => {
                            inputs.task(move |input| hasher(mode).update_rayon(input).finalize())
                        }
                        (Feed::Reuse, _, false) => {
                            let mut hasher = hasher(mode);
                            inputs.task(move |input| hasher.reset().update(input).finalize())
                        }
                        (Feed::Reuse, _, true) => {
                            let mut hasher = hasher(mode);
                            inputs.task(move |input| hasher.reset().update_rayon(input).finalize())
                        }
                        (Feed::Streaming, _, false) => inputs.task(move |input| {
                            let mut hasher = hasher(mode);
                            for piece in input.chunks(PIECE) {
                                hasher.update(piece);
                            }
                            hasher.finalize()
                        }),
                        _ => None,
                    }
                }
                Work::Output { bytes } if !threads => {
                    let reader = $lib::Hasher::new().update($crate::work::WRITTEN).finalize_xof();
                    let mut output = vec![0; bytes as usize];
                    Some(Box::new($crate::engine::Output(move |give: bool| {
                        reader.clone().fill(&mut output);
                        if give { output.clone() } else { vec![] }
                    })))
                }
                Work::Operation { operation: Operation::Rayon, bytes, .. } if threads => {
                    operation(Operation::Rayon, &stream[..bytes as usize], 0)
                }
                Work::Operation { operation: it, bytes, piece } if !threads => {
                    operation(it, &stream[..bytes as usize], piece as usize)
                }
                _ => None,
            }
        }
    };
}
use shared_tasks;

/// Extended output to an existing buffer; a call returns a copy of it on request.
struct Output<F>(F);

impl<F: FnMut(bool) -> Vec<u8> + Send> Task for Output<F> {
    #[inline(never)]
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(&(self.0)(black_box(false)));
        }
        Ok(start.elapsed())
    }

    fn outcome(&mut self) -> Result<::blake3::Hash> {
        Ok(::blake3::hash(&(self.0)(true)))
    }
}
