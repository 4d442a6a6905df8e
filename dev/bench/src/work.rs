//! Describes the bytes that a row hashes, so that every side and a validator can make it again.
//!
//! All bytes of a report come from one stream of [`Random`]. The inputs of a row follow each other from the beginning of
//! the stream; each begins on a cache line, and calls take them in turn. Blobs follow each other without gaps. The digest of
//! a row is BLAKE3 of the digests of all inputs, one after the other (for a Merkle tree, of its root; for extended output,
//! of the output itself).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::random::Random;
use crate::size;

/// The key and the context of the keyed and derive-key modes.
pub(crate) const KEY: &[u8; 32] = b"treewide-bench: a key, 32 bytes.";
pub(crate) const CONTEXT: &str = "treewide 2026-11-21 treewide-bench";

/// Bytes from one input to the next are a multiple of this.
pub(crate) const LINE: u64 = 64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Work {
    /// Inputs of one length, hashed one after the other.
    Input {
        mode: Mode,
        feed: Feed,
        bytes: u64,
        /// The number of inputs, which calls take in turn.
        buffers: u64,
        /// The cache that the inputs fill.
        fill: Fill,
    },
    /// Extended output of a short input.
    Output { bytes: u64 },
    /// What a hasher or a digest does with one input, in pieces of `piece` bytes where it comes in pieces.
    Operation { operation: Operation, bytes: u64, piece: u64 },
    /// A batch, with all its digests.
    Batch { shape: Shape },
    /// All levels of a tree over digests.
    Merkle { leaves: u64 },
    /// A file, hashed by a program, from its start to its end.
    Program { bytes: u64 },
    /// By a device, and where the bytes are the host's, by the CPU too.
    Device { bytes: u64, place: Place },
    /// By another program, which printed its samples; not in reports.
    #[serde(skip)]
    Sampled { bytes: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Hash,
    Keyed,
    Derive,
}

/// How the hasher gets its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Feed {
    /// By one call of a function.
    OneShot,
    /// By one `update` of a hasher that was used before, and reset.
    Reuse,
    /// By `update`s of 16 KiB of a new hasher.
    Streaming,
}

/// What a hasher or a digest does, in this process and on bytes that are in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Operation {
    /// A new hasher, and an `update` for each piece.
    Update,
    /// The same by a hasher that gathers nothing.
    Unbuffered,
    /// Two `update`s for each piece: its first 512 bytes, and the rest.
    Records,
    /// A digest after each piece.
    Digests,
    /// A clone of a hasher that has 100,000 bytes by pieces, and one `update`.
    Clone,
    /// Extended output of 32 bytes, a `fill` for each piece.
    Read,
    Reader,
    /// An `update`, its digest, `reset`, and the same again.
    Twice,
    Rayon,
    Mmap,
    /// Of a digest for each 32 bytes.
    ToHex,
    Display,
    FromHex,
    Equal,
}

impl Operation {
    /// Whether the pieces are of another input.
    pub(crate) fn is_fed(self) -> bool {
        self == Self::Clone
    }
}

/// Where the bytes are when the clock starts: the timing classes of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// In the device's memory, where the host has put them.
    Resident,
    /// In the device's memory, where it has written them itself.
    Private,
    /// As private, by the device's own clock.
    Device,
    /// In memory that the host and the device share.
    Shared,
    /// In the host's memory, and go through existing buffers.
    Staged,
    /// In the host's memory, which the device reads where it is.
    Wrapped,
    /// In the host's memory, and go to new memory of the device.
    EndToEnd,
    /// In a file that is in the page cache.
    File,
}

impl Place {
    /// Whether the CPU has the bytes too.
    pub(crate) fn is_of_host(self) -> bool {
        matches!(self, Self::Staged | Self::Wrapped | Self::EndToEnd | Self::File)
    }

    /// Whether the bytes are extended output of [`WRITTEN`] instead of a part of the stream.
    pub(crate) fn is_written(self) -> bool {
        matches!(self, Self::Private | Self::Device)
    }

    fn class(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::Private => "private",
            Self::Device => "device",
            Self::Shared => "shared",
            Self::Staged => "staged",
            Self::Wrapped => "wrapped",
            Self::EndToEnd => "end-to-end",
            Self::File => "file",
        }
    }
}

/// The input whose extended output a row measures, or a device writes as its own input.
pub(crate) const WRITTEN: &[u8] = b"treewide-bench";

/// Bytes of a piece of [`Feed::Streaming`].
pub(crate) const PIECE: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fill {
    /// One input, again and again.
    Hot,
    L1,
    L2,
    L3,
    Memory,
}

/// Lengths of the blobs of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "lengths", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Shape {
    /// All lengths are the same.
    Equal { count: u64, bytes: u64 },
    /// Every length from 0 to `max` equally often, in a shuffled order.
    Uniform { count: u64, max: u64 },
    /// Lengths of files: log-normal, with a standard deviation of 1.6 of the logarithm.
    Files { count: u64, median: u64, max: u64 },
    /// Equal lengths, with a huge one in the middle.
    Huge { count: u64, bytes: u64, huge: u64 },
}

impl Shape {
    fn count(&self) -> u64 {
        match *self {
            Self::Equal { count, .. } | Self::Uniform { count, .. } | Self::Files { count, .. } => {
                count
            }
            Self::Huge { count, .. } => count.saturating_add(1),
        }
    }

    pub(crate) fn lengths(&self) -> Vec<usize> {
        let mut random = Random::new(4);
        match *self {
            Self::Equal { count, bytes } => vec![bytes as usize; count as usize],
            Self::Uniform { count, max } => {
                let mut lengths: Vec<usize> =
                    (0..count).map(|i| (i % max.saturating_add(1)) as usize).collect();
                random.shuffle(&mut lengths);
                lengths
            }
            Self::Files { count, median, max } => (0..count)
                .map(|_| {
                    ((median as f64 * (1.6 * random.normal()).exp()) as usize).min(max as usize)
                })
                .collect(),
            Self::Huge { count, bytes, huge } => {
                let mut lengths = vec![bytes as usize; count as usize];
                lengths.insert(lengths.len() / 2, huge as usize);
                lengths
            }
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Equal { count, bytes } => write!(f, "{count} x {}", size::show(bytes)),
            Self::Uniform { count, max } => write!(f, "{count} x 0..={}", size::show(max)),
            Self::Files { count, median, max } => {
                write!(
                    f,
                    "{count} like files, median {}, up to {}",
                    size::show(median),
                    size::show(max)
                )
            }
            Self::Huge { count, bytes, huge } => {
                write!(f, "{count} x {} and one of {}", size::show(bytes), size::show(huge))
            }
        }
    }
}

impl Work {
    /// The timing class of `dev/bench/README.md`.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Input { feed: Feed::OneShot, .. } => "one-shot",
            Self::Input { feed: Feed::Reuse, .. } => "reuse",
            Self::Input { feed: Feed::Streaming, .. } => "streaming",
            Self::Output { .. } => "xof",
            Self::Operation { .. } => "operation",
            Self::Batch { .. } => "batch",
            Self::Merkle { .. } => "merkle",
            Self::Program { .. } => "program-warm",
            Self::Device { place, .. } => place.class(),
            Self::Sampled { .. } => "sampled",
        }
    }

    /// Bytes that one call hashes or outputs.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Input { bytes, .. }
            | Self::Output { bytes }
            | Self::Operation { bytes, .. }
            | Self::Program { bytes }
            | Self::Device { bytes, .. }
            | Self::Sampled { bytes } => *bytes,
            Self::Batch { shape } => {
                shape.lengths().iter().fold(0, |sum, &len| sum.saturating_add(len as u64))
            }
            Self::Merkle { leaves } => leaves * 32,
        }
    }

    /// Whether everything that it needs fits into `memory` bytes. Ask this first for a report from elsewhere, which may
    /// contain anything.
    pub(crate) fn fits(&self, memory: u64) -> bool {
        let needs = match self {
            Self::Input { bytes, buffers, .. } => bytes
                .checked_next_multiple_of(LINE)
                .and_then(|stride| stride.max(LINE).checked_mul(*buffers)),
            // A slice and a digest for each; how long they are is asked below.
            Self::Batch { shape } => shape.count().checked_mul(64),
            Self::Merkle { leaves } => leaves.checked_mul(96),
            Self::Output { bytes }
            | Self::Operation { bytes, .. }
            | Self::Program { bytes }
            | Self::Device { bytes, .. }
            | Self::Sampled { bytes } => Some(*bytes),
        };
        needs.is_some_and(|needs| needs <= memory) && self.bytes() <= memory
    }

    /// The number of bytes of the stream that it uses.
    pub(crate) fn stream_len(&self) -> u64 {
        match self {
            Self::Input { bytes, buffers, .. } => stride(*bytes) * buffers,
            Self::Output { .. } => 0,
            _ => self.bytes(),
        }
    }
}

/// Bytes from the beginning of one input to that of the next.
pub(crate) fn stride(bytes: u64) -> u64 {
    bytes.next_multiple_of(LINE)
}

/// The name of a row: unique among the rows of one command, which all have one mode and class.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { mode, feed, bytes, .. } => {
                let mode = match mode {
                    Mode::Hash => "hash",
                    Mode::Keyed => "keyed",
                    Mode::Derive => "derive",
                };
                let feed = match feed {
                    Feed::OneShot => "",
                    Feed::Reuse => ", reused",
                    Feed::Streaming => ", streamed",
                };
                write!(f, "{mode} {}{feed}", size::show(*bytes))
            }
            Self::Output { bytes } => write!(f, "xof {}", size::show(*bytes)),
            Self::Operation { operation, bytes, piece } => {
                write!(f, "{operation:?} {}", size::show(*bytes))?;
                if *piece > 0 { write!(f, " by {piece}") } else { Ok(()) }
            }
            Self::Batch { shape } => write!(f, "batch {shape}"),
            Self::Merkle { leaves } => write!(f, "merkle {leaves} leaves"),
            Self::Program { bytes } => write!(f, "program {}", size::show(*bytes)),
            Self::Device { bytes, .. } | Self::Sampled { bytes } => {
                write!(f, "{} {}", self.class(), size::show(*bytes))
            }
        }
    }
}
