//! The contract between everything that is the same on all devices and the backends, which are
//! `cuda`, `wgpu`, and [`twin`](crate::backend::twin) that runs on the CPU.
//!
//! A backend gives memory ([`Memory`], [`Staging`]) and runs [`Work`]: a list of copies and of
//! [`Stage`]s, in order. What to launch, with which spans, is decided in [`plan`](crate::plan), once
//! for all of them.
//!
//! # Slots and tiles
//!
//! The stages [`Tiles`](Stage::Tiles) and [`Parents`](Stage::Parents) reduce many trees at once. One
//! thread has one *slot*, one workgroup a *tile* of [`TILE`] slots, and a slot is a chunk (`Tiles`)
//! or a pair of chaining values (`Parents`). A [`Span`] is what lies side by side in memory and
//! belongs to one tree. Each span starts at a slot that is a multiple of its own number of slots,
//! rounded up to a power of two (at most `TILE`). So pairs of nodes never cross spans, small trees
//! share a tile, and large ones fill many:
//!
//! ```text
//! slots  0 1 2 3 4 5 6 7 8 9 ...          TILE
//!        a a a - b c d d e e e e e - - -  f f f f f f ...
//! ```
//!
//! A tile first computes one node for each of its slots, then pairs them level by level in shared
//! memory: on level `l`, counted from 0, the node of slot `s` (a multiple of `2 << l`) takes in that
//! of slot `s + (1 << l)` if that one is a slot of the same span, and stays as it is otherwise. What
//! is left at the first slot that a span has in a tile is written to memory.
//!
//! Where a launch does a whole tree, these are the slots of tiles of the next level, and so on.

// The twins run at once, and take spans as they are.
#![cfg_attr(not(any(feature = "cuda", feature = "wgpu")), allow(dead_code))]

use crate::error::{Error, ErrorKind};
use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;
use treewide::Mode;

/// Threads in a workgroup, and slots in a tile.
pub(crate) const TILE: u32 = 128;

/// Bytes of a chaining value and a digest.
pub(crate) const CV: u64 = 32;

/// Bytes of a root node, see [`Kind::Node`].
pub(crate) const NODE: u64 = 128;

/// The interface through which a device is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The twins of the kernels on the CPU, for tests.
    Twin,
    /// NVIDIA's driver.
    Cuda,
    /// Vulkan, Metal or DX12.
    Wgpu,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twin => "twin",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
        })
    }
}

/// A device that was found, usable or not.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The interface that it was found by.
    pub backend: Backend,
    /// Its number among the devices of this backend.
    pub index: usize,
    /// The name that the driver gives it, or that of the interface if there is no device.
    pub name: String,
    /// Bytes of memory, if the driver reports it.
    pub memory: Option<u64>,
    /// Whether it is a program on the CPU that passes for a GPU, such as lavapipe.
    pub is_software: bool,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<Error>,
}

/// One device.
pub(crate) trait Driver: Any + Send + Sync + Debug {
    fn info(&self) -> &Info;

    /// New memory of the device, of a multiple of 16 bytes and not cleared.
    fn allocate(&self, len: u64) -> Result<Handle, Error>;

    /// Memory of the host from where the device copies best (pinned, or a mapped buffer).
    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error>;

    /// Pins memory of the caller where it lies, so that the device copies from it by itself.
    ///
    /// # Safety
    /// The memory stays where it is and is not written to until the result is dropped, which is
    /// after all work with it is done.
    unsafe fn pin(&self, bytes: *const [u8]) -> Result<Box<dyn Pinned>, Error> {
        let _ = bytes;
        Err(self.unsupported("memory of the caller cannot be pinned"))
    }

    /// Memory that both the host and the device use where it lies, on devices with unified memory.
    fn shared(&self, len: u64) -> Result<Box<dyn Shared>, Error> {
        let _ = len;
        Err(self.unsupported("device and host have no memory in common"))
    }

    fn unsupported(&self, what: &str) -> Error {
        Error::new(ErrorKind::Unsupported, what).on(&self.info().name)
    }

    /// An empty list of work.
    fn work(&self, order: Order) -> Result<Box<dyn Work>, Error>;
}

/// What a device is, and what its kernels can reach.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) name: String,
    pub(crate) backend: Backend,
    /// Bytes of memory, if the driver reports it.
    pub(crate) memory: Option<u64>,
    /// Whether device and host share one memory.
    pub(crate) unified: bool,
    /// The most bytes of one [`Memory`].
    pub(crate) most_bytes: u64,
    /// The most bytes of a region that a launch can read or write; `u64::MAX` where a launch reaches
    /// all memory by its address.
    pub(crate) window: u64,
    /// A region that does not start at a multiple of this many bytes loses a part of its window; 1 if none does. Regions may start anywhere ([`Stage::Tiles`] and [`Stage::Blobs`]' inputs) or at
    /// any multiple of 4 bytes (all others).
    pub(crate) alignment: u64,
    /// The most tiles (workgroups) of one launch.
    pub(crate) most_tiles: u32,
    /// The longest input that takes one launch for its whole tree if it is alone, and the longest that could;
    /// 0 if there is no kernel for it.
    pub(crate) one_launch: u64,
    pub(crate) most_in_one_launch: u64,
}

impl Info {
    /// The most bytes of a region that a launch reaches, wherever it starts.
    pub(crate) fn reach(&self) -> u64 {
        self.window - (self.alignment - 1)
    }
}

/// Works of one queue run in their order; works of different queues may overlap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    /// 0 is the queue of resident data, the caller's stream if there is one.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "wgpu has one queue"))]
    pub(crate) queue: usize,
    /// Whether [`Running::device_time`] is wanted.
    pub(crate) timed: bool,
}

pub(crate) type Handle = Arc<dyn Memory>;

/// A buffer of the device. Freed when dropped; a [`Work`] that uses it holds a handle until it is
/// done.
pub(crate) trait Memory: Any + Send + Sync + Debug {
    fn len(&self) -> u64;

    /// Where it lies, if kernels can read there by address alone, whatever buffer it is (CUDA).
    fn address(&self) -> Option<u64>;
}

/// A part of a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) memory: Handle,
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// A reused buffer of the host, from which the device copies.
pub(crate) trait Staging: Any + Send + Debug {
    /// The bytes, to be filled; waits until the device has copied the bytes before.
    fn bytes(&mut self) -> Result<&mut [u8], Error>;
}

/// Memory of the caller that is pinned while this lives.
pub(crate) trait Pinned: Any + Send + Debug {}

/// Memory of both host and device.
pub(crate) trait Shared: Any + Send + Debug {
    /// The bytes, for the host; waits until the device is done with them.
    fn bytes(&mut self) -> Result<&mut [u8], Error>;

    /// The same bytes, for the device, until [`bytes`](Self::bytes) is called again.
    fn memory(&mut self) -> Result<Handle, Error>;
}

/// Copies and stages to be run in order. Nothing needs to happen before [`submit`](Self::submit),
/// so a backend may look at the whole list first, and run several launches as one.
pub(crate) trait Work: Send {
    /// Copies a few bytes (tables, keys, small inputs), which may be changed once this returns. Memory
    /// without an address gets whole words: up to three bytes more, of any value.
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error>;

    /// Copies the first `to.len` bytes of `from`, which may be any number, as [`write`](Self::write)
    /// does.
    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error>;

    /// Copies `to.len` bytes from byte `at` of memory that was pinned.
    fn copy_pinned(&mut self, from: &dyn Pinned, at: u64, to: &Region) -> Result<(), Error> {
        let _ = (from, at, to);
        Err(Error::new(ErrorKind::Unsupported, "memory of the caller cannot be pinned"))
    }

    /// Runs a stage.
    fn launch(&mut self, launch: &Launch) -> Result<(), Error>;

    /// Copies a region, which may start and end anywhere, back to the host: one of the results of
    /// [`Running::wait`].
    fn read(&mut self, from: &Region) -> Result<(), Error>;

    /// Starts it. `self` keeps all that it uses alive until it is done, also where the result is
    /// dropped without being waited for.
    fn submit(self: Box<Self>) -> Result<Box<dyn Running>, Error>;
}

/// Work that the device was given.
pub(crate) trait Running: Send {
    fn is_done(&mut self) -> Result<bool, Error>;

    /// Waits, and returns what was read, in the order of the calls of [`Work::read`]. At most once.
    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error>;

    /// How long the device worked, by its own clock, after [`wait`](Self::wait).
    fn device_time(&self) -> Option<Duration>;
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) stage: Stage,
    /// Key words and mode flag of all nodes.
    pub(crate) mode: Mode,
}

/// The stages: one kernel each, with a file of that name in `kernels/cuda/` and in `kernels/wgsl/`, and a twin
/// in `backend/twin/`.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Hashes chunks and reduces each tile. A span is bytes of an input, from any byte on.
    Tiles {
        /// Where the starts of the spans count from: see [`Span::start`].
        input: Region,
        /// What else the spans reach by address; to be kept alive.
        others: Vec<Handle>,
        spans: Vec<Span>,
        /// One more than the last slot of the last span.
        slots: u32,
        /// Whether the only span is a whole tree: this launch does all its levels, and its kind is not
        /// [`Kind::Cv`]. That is the stage `whole`. The span is not longer than [`Info`] allows.
        whole: bool,
        /// Chaining values on the way ([`Kind::Cv`]) go here, 32 bytes each; of a whole tree those of
        /// all levels, one level after the other.
        cvs: Region,
        /// All other results go here. Not read, and not the same buffer as `input` or `cvs`.
        out: Region,
    },
    /// Reduces chaining values, two to a slot and up to `2 * TILE` of a span to one. A span is a run
    /// of them. An odd last one is alone in its slot and rises.
    Parents {
        /// Chaining values, 32 bytes each; starts of spans count in these from the start of it.
        input: Region,
        spans: Vec<Span>,
        slots: u32,
        cvs: Region,
        out: Region,
    },
    /// Hashes blobs of at most one chunk, one thread each: blob `i` is `input[offsets[i]..
    /// offsets[i + 1]]`, its digest goes to `out[32 * i..]`. All others (longer ones, and blobs that end
    /// before they start or after the end of `input`) are left and counted.
    Blobs {
        /// Byte 0 of it is the byte with the offset `base`.
        input: Region,
        /// `count + 1` integers of 64 bits, low word first.
        offsets: Region,
        count: u32,
        base: u64,
        /// Only blobs that start from `base` on and not after this offset are hashed, or left and
        /// counted, by this launch.
        last: u64,
        out: Region,
        /// A 32-bit word, to which the number of blobs that are left is added.
        left: Region,
    },
    /// Extended output: of each of `count` nodes, `blocks` blocks of 64 bytes from block `position`
    /// on. Output of node `i` goes to `out[64 * blocks * i..]`.
    Xof { nodes: Region, count: u32, out: Region, position: u64, blocks: u32 },
}

/// What lies side by side in memory and is part of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// `Tiles`: the first byte; counted from the start of the launch's `input` region, or the
    /// address where [`Memory::address`] gives one. `Parents`: the number of the first value.
    pub(crate) start: u64,
    /// Bytes (0 only for the empty input), or chaining values (at least 2).
    pub(crate) len: u64,
    /// `Tiles`: the number of the first chunk in its tree.
    pub(crate) counter: u64,
    /// Its first slot.
    pub(crate) slot: u32,
    /// Where its results go: the number of a chaining value in `cvs`, and one more for each further
    /// tile; or of a digest (32 bytes) or node (128 bytes) in `out`.
    pub(crate) to: u32,
    /// What its last node becomes. Other than [`Kind::Cv`] only where all of a tree is in one tile, or
    /// in one launch.
    pub(crate) kind: Kind,
}

/// What becomes of the node on top of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A chaining value on the way, to `cvs`.
    Cv = 0,
    /// Its digest, with the root flag, to `out`. A lone chunk has the flag in its last block.
    Digest = 1,
    /// What its last compression takes, not yet done, to `out`: 8 words of chaining value, 16 of the
    /// block, the block's length, flags without ROOT, and 6 words of 0.
    Node = 2,
    /// The chaining value of a whole subtree, which is not a root, to `out`: 32 bytes, like a digest.
    Subtree = 3,
}

impl Span {
    /// Words of a span in the kernels' tables.
    pub(crate) const WORDS: usize = 12;

    /// As the kernels read it: start, len, counter (64 bits each, low word first), slot, to, kind,
    /// and 3 words of 0.
    pub(crate) fn words(&self) -> [u32; Self::WORDS] {
        let low = |value: u64| value as u32;
        let high = |value: u64| (value >> 32) as u32;
        [
            low(self.start),
            high(self.start),
            low(self.len),
            high(self.len),
            low(self.counter),
            high(self.counter),
            self.slot,
            self.to,
            self.kind as u32,
            0,
            0,
            0,
        ]
    }
}
