//! The kernel contract, the kernels of this build, and the choice among them.
//!
//! A [`Kernel`] compresses many independent nodes of the tree side by side; everything else in
//! this crate is a way of feeding it. Which one runs is decided once, at the first use, from what
//! the CPU and the operating system offer. The variable `TREEWIDE_KERNEL` (feature `std`) or
//! [`force`] overrides the choice. Digests never depend on it.
//!
//! ```
//! println!("{}", treewide::kernel::detected().name());
//! for kernel in treewide::kernel::all() {
//!     println!("{} {} lanes, supported: {}", kernel.name(), kernel.degree(), kernel.is_supported());
//! }
//! ```

use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::spec::flags::{CHUNK_END, PARENT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, Words};

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod aarch64;
mod array;
mod cpu;
mod entries;
mod explain;
mod group;
mod lanes;
mod latency;
mod portable;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod rows;
mod share;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
))]
mod twice;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod vectors;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
// Programs without an operating system may be compiled without SSE, and then have no vectors at all.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86_64;

use entries::entry_points;
pub use explain::{Explanation, Passes, explain};

/// Every kernel of this build, best first; the first that the CPU runs, and that suits it, is the one
/// detected.
static ALL: &[&Kernel] = &[
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::avx512::KERNEL,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::avx512::ROW,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::avx512::SPLIT,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::avx2::KERNEL,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::avx2::ROW,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::sse41::KERNEL,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::sse41::ROW,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    &x86_64::sse2::KERNEL,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    &aarch64::sve2::KERNEL,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    &aarch64::neon::EIGHT,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    &aarch64::neon::FOUR,
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    &wasm::KERNEL,
    // Without vectors lanes of arrays are one after the other, and what puts them there comes on top.
    if array::HAS_VECTORS { &array::KERNEL } else { &portable::KERNEL },
    if array::HAS_VECTORS { &portable::KERNEL } else { &array::KERNEL },
];

/// One implementation of BLAKE3's compression, one lane and many lanes wide.
///
/// The entries are private: a kernel may only run where [`is_supported`](Self::is_supported), and
/// the safe functions of this crate see to that.
pub struct Kernel {
    name: &'static str,
    degree: usize,
    widths: &'static [share::Width],
    plan: &'static share::Plan,
    supported: fn(&cpu::Cpu) -> bool,
    /// Those it is made for, if there are other kernels for its instruction set.
    latencies: &'static [latency::Latency],
    /// The blocks of one node on one lane: `(cv, input, len, counter, flags)`.
    compress: share::Compress,
    /// The chunks of one input: `(input, len, key, counter, flags, end, out)`, where `end` is added to the
    /// flags of the last block of the last chunk.
    chunks: unsafe fn(*const u8, usize, &Words, u64, u8, u8, *mut ChainingValue),
    /// Pairs of chaining values as one block each: `(children, pairs, key, flags, out)`, where `out`
    /// may overlap `children` if it does not lie above it by more than one.
    parents: unsafe fn(*const ChainingValue, usize, &Words, u8, *mut ChainingValue),
    /// Unequal nodes.
    lanes: unsafe fn(group::Lanes<'_>, &Words, *mut ChainingValue),
    /// Blocks of extended output: `(root, counter, out, count)`.
    xof: unsafe fn(lanes::Root<'_>, u64, *mut [u8; BLOCK_LEN], usize),
}

/// Flags of every block of a node, and those added to the first and to the last.
#[derive(Clone, Copy)]
pub(crate) struct Flags {
    pub(crate) each: u8,
    pub(crate) first: u8,
    pub(crate) last: u8,
    /// Whether all 64 bytes of the last block are there, zeros behind its end.
    pub(crate) padded: bool,
}

/// What goes into the compressions of nodes beside their bytes, for [`Kernel::lanes`]: array by
/// array, as a pass reads whole vectors of them.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Marks<'a> {
    /// Flags of every block.
    pub(crate) each: u8,
    pub(crate) own: Own<'a>,
    /// Those added to the first; not beside `each`, as both would be loaded at once, and wait in the cache for
    /// what was stored one by one.
    pub(crate) first: u8,
}

/// What nodes do not share.
#[derive(Clone, Copy)]
pub(crate) enum Own<'a> {
    /// Nothing: all have the counter 0 and add these flags to the last block.
    Nothing { last: u8 },
    /// Node by node the counter, and the flags added to the last block.
    Each { counters: &'a [u64], last: &'a [u8] },
}

impl Kernel {
    /// The name by which [`force`] and `TREEWIDE_KERNEL` know it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where there is another kernel for the same instructions, and this one suits this CPU better: the
    /// record, in the repository of this crate, that says so.
    pub fn record(&self) -> Option<&'static str> {
        let cpu = cpu::Cpu::detect();
        (!self.latencies.is_empty() && latency::suits(self.latencies, &cpu))
            .then(|| latency::record(&cpu))
    }

    /// Nodes that its widest pass hashes side by side.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Whether this CPU, and its operating system, can run it.
    pub fn is_supported(&self) -> bool {
        (self.supported)(&cpu::Cpu::detect())
    }

    /// Compresses the blocks of `input` into `cv`, on one lane: one block at least, zeros after the
    /// end of the last.
    #[inline(always)]
    pub(crate) fn compress(&self, cv: &mut Words, input: &[u8], counter: u64, flags: Flags) {
        let (from, len) = (input.as_ptr(), input.len());
        // SAFETY: readable bytes; the CPU runs every kernel that is handed out.
        unsafe {
            // All kernels of WebAssembly have this one, and a call takes V8 as long as a fourteenth of a block.
            #[cfg(target_arch = "wasm32")]
            return portable::compress_in_place(cv, from, len, counter, flags);
            #[cfg(not(target_arch = "wasm32"))]
            (self.compress)(cv, from, len, counter, flags)
        }
    }

    /// Compresses a block of `len` bytes, 64 at most, with zeros behind them, into `cv`.
    pub(crate) fn compress_block(
        &self,
        cv: &mut Words,
        block: &[u8; BLOCK_LEN],
        len: u8,
        counter: u64,
        flags: u8,
    ) {
        let (len, flags) =
            (usize::from(len), Flags { each: flags, first: 0, last: 0, padded: true });
        assert!(len <= BLOCK_LEN, "one block");
        debug_assert!(block[len..].iter().all(|&byte| byte == 0), "zeros behind the end");
        // SAFETY: a whole block is readable; the CPU runs every kernel that is handed out.
        unsafe { (self.compress)(cv, block.as_ptr(), len, counter, flags) }
    }

    /// Hashes the chunks of `input`, the first of which has number `counter`, to `out`; returns how
    /// many there are. The empty input has no chunk here. `end` is the flag of the last block of the last
    /// chunk: `CHUNK_END`, or nothing where more of that chunk is to come, of which all blocks here are whole.
    ///
    /// # Panics
    /// If `out` has no room for them.
    pub(crate) fn chunks(
        &self,
        input: &[u8],
        key: &Words,
        counter: u64,
        flags: u8,
        end: u8,
        out: &mut [ChainingValue],
    ) -> usize {
        let (from, len) = (input.as_ptr(), input.len());
        let count = len.div_ceil(CHUNK_LEN);
        debug_assert!(end & CHUNK_END != 0 || len.is_multiple_of(BLOCK_LEN), "whole blocks");
        assert!(count <= out.len(), "room for every chaining value");
        // SAFETY: just checked; the CPU runs every kernel that is handed out.
        unsafe { (self.chunks)(from, len, key, counter, flags, end, out.as_mut_ptr()) }
        count
    }

    /// Replaces `pairs` pairs of chaining values, from `cvs[from]` on, by their parents, which go
    /// to `cvs[to]` on. `to` is at most one more than `from`.
    ///
    /// # Panics
    /// If a pair or a parent lies outside `cvs`, or `to` is too large.
    pub(crate) fn parents(
        &self,
        cvs: &mut [ChainingValue],
        from: usize,
        pairs: usize,
        to: usize,
        key: &Words,
        flags: u8,
    ) {
        assert!(from + 2 * pairs <= cvs.len() && to + pairs <= cvs.len() && to <= from + 1);
        let cvs = cvs.as_mut_ptr();
        // SAFETY: within `cvs`; a pass reads its children before it writes their parents, and what
        // it writes ends at or before the children of the next pass.
        unsafe { (self.parents)(cvs.add(from), pairs, key, flags | PARENT, cvs.add(to)) }
    }

    /// Compresses each pair of `children` as one block with these flags, to `out`.
    ///
    /// # Panics
    /// If `out` has no room for all of them.
    pub(crate) fn pairs(
        &self,
        children: &[ChainingValue],
        key: &Words,
        flags: u8,
        out: &mut [ChainingValue],
    ) {
        let pairs = children.len() / 2;
        assert!(pairs <= out.len(), "room for every chaining value");
        // SAFETY: just checked; the CPU runs every kernel that is handed out.
        unsafe { (self.parents)(children.as_ptr(), pairs, key, flags, out.as_mut_ptr()) }
    }

    /// Hashes unequal nodes, one for each place of `out`: chunks, or any other runs of blocks of
    /// at most [`CHUNK_LEN`] bytes. Inputs beyond those are what comes next, and are fetched early.
    ///
    /// # Panics
    /// If there are fewer inputs or marks than places, or a node that is longer in a pass whose lanes go on behind their
    /// nodes.
    pub(crate) fn lanes(
        &self,
        inputs: &[&[u8]],
        marks: Marks<'_>,
        key: &Words,
        out: &mut [ChainingValue],
    ) {
        let count = out.len();
        let nodes = match marks.own {
            Own::Nothing { .. } => inputs.len(),
            Own::Each { counters, last } => inputs.len().min(counters.len()).min(last.len()),
        };
        assert!(count <= nodes, "a node for every chaining value");
        // SAFETY: just checked, and no node is read beyond its length; where a lane reads on behind that,
        // lengths are checked; the CPU runs every kernel that is handed out.
        unsafe { (self.lanes)(group::Lanes { inputs, count, marks }, key, out.as_mut_ptr()) }
    }

    /// Whether `count` nodes of so many blocks in `all`, and so many in the `longest`, take less time one
    /// after the other than side by side, where they are `gathered` in the time of so many blocks.
    #[inline(always)]
    pub(crate) fn is_faster_one_by_one(
        &self,
        count: usize,
        all: usize,
        longest: usize,
        gathered: usize,
    ) -> bool {
        let alone = |blocks| blocks * self.widths[0].step;
        match self.widths[1..].iter().find(|width| width.lanes >= count) {
            Some(width) => alone(all) <= width.cost(all, longest) + alone(gathered),
            None => self.degree == 1,
        }
    }

    /// Blocks of extended output from block `counter` on, from the root's last compression.
    pub(crate) fn xof(
        &self,
        cv: &Words,
        block: &[u8; BLOCK_LEN],
        block_len: u8,
        flags: u8,
        counter: u64,
        out: &mut [[u8; BLOCK_LEN]],
    ) {
        let long = out.len() >= LONG_OUTPUT;
        let root = lanes::Root { cv, block, block_len: u32::from(block_len), flags, long };
        // SAFETY: room for all of `out`; the CPU runs every kernel that is handed out.
        unsafe { (self.xof)(root, counter, out.as_mut_ptr(), out.len()) }
    }
}

/// Blocks of output that may not stay in the caches of one core.
const LONG_OUTPUT: usize = (256 << 10) / BLOCK_LEN;

/// Digests as the chaining values that kernels write.
pub(crate) fn as_chaining_values(hashes: &mut [crate::hash::Hash]) -> &mut [ChainingValue] {
    // SAFETY: a `Hash` is a chaining value in memory, and any bytes are one.
    unsafe { core::slice::from_raw_parts_mut(hashes.as_mut_ptr().cast(), hashes.len()) }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("degree", &self.degree).finish()
    }
}

/// Every kernel of this build, best first, whether this CPU runs it or not.
pub fn all() -> &'static [&'static Kernel] {
    ALL
}

/// The kernel in use, or null before the first use.
static CURRENT: AtomicPtr<Kernel> = AtomicPtr::new(core::ptr::null_mut());

/// The kernel that hashing uses: the forced one, else the best that this CPU runs.
///
/// # Panics
/// At the first use, if `TREEWIDE_KERNEL` names a kernel that this build or this CPU lacks; the
/// message lists those that are there. Or if `TREEWIDE_PROFILE` names a file that cannot be used.
#[inline(always)]
pub fn detected() -> &'static Kernel {
    let current = CURRENT.load(Ordering::Relaxed);
    // SAFETY: null, or a reference to a static that `set` stored; statics need no ordering.
    match unsafe { current.as_ref() } {
        Some(kernel) => kernel,
        None => detect(),
    }
}

#[cold]
#[inline(never)]
fn detect() -> &'static Kernel {
    #[cfg(feature = "std")]
    if let Some(name) = std::env::var_os(VARIABLE)
        && !name.is_empty()
    {
        return match find(&name.to_string_lossy()) {
            Ok(kernel) => set(kernel),
            Err(error) => panic!("{VARIABLE}={}: {error}", name.display()),
        };
    }
    #[cfg(feature = "std")]
    if let Some(name) = &crate::profile::current().kernel
        && let Ok(kernel) = find(name)
    {
        return set(kernel);
    }
    set(best(&cpu::Cpu::detect()))
}

/// The environment variable that forces a kernel.
#[cfg(feature = "std")]
const VARIABLE: &str = "TREEWIDE_KERNEL";

fn best(cpu: &cpu::Cpu) -> &'static Kernel {
    let fits = |kernel: &&&Kernel| (kernel.supported)(cpu) && latency::suits(kernel.latencies, cpu);
    ALL.iter().find(fits).expect("portable runs everywhere")
}

fn set(kernel: &'static Kernel) -> &'static Kernel {
    CURRENT.store(core::ptr::from_ref(kernel).cast_mut(), Ordering::Relaxed);
    kernel
}

pub(crate) fn find(name: &str) -> Result<&'static Kernel, ForceError> {
    let cpu = cpu::Cpu::detect();
    // Of several for the same instructions, `avx2-general` and `avx2-row`, `avx2` is the one for this CPU.
    let is_it = |kernel: &&&Kernel| {
        let set = kernel.name.split('-').next();
        kernel.name == name || (set == Some(name) && latency::suits(kernel.latencies, &cpu))
    };
    match ALL.iter().find(is_it) {
        None if name == "auto" => Ok(best(&cpu)),
        Some(kernel) if kernel.is_supported() => Ok(kernel),
        Some(kernel) => Err(ForceError(Some(kernel))),
        None => Err(ForceError(None)),
    }
}

/// Makes all hashing of this process use the kernel of that name from now on; `"auto"` goes back to
/// the best one. Where there are several for the same instructions, `"avx2-general"` and `"avx2-row"`, `"avx2"` is
/// the one that suits this CPU. Objects that exist switch too: results never depend on the kernel.
///
/// # Errors
/// If there is no such kernel in this build, or this CPU cannot run it; nothing changes then.
pub fn force(name: &str) -> Result<&'static Kernel, ForceError> {
    Ok(set(find(name)?))
}

/// Why a kernel could not be forced; its text lists the kernels that this CPU runs.
#[derive(Clone, Copy, Debug)]
pub struct ForceError(Option<&'static Kernel>);

impl fmt::Display for ForceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kernel) => write!(f, "this CPU cannot run the kernel '{}'", kernel.name)?,
            None => write!(f, "there is no such kernel")?,
        }
        write!(f, "; use one of:")?;
        for kernel in ALL.iter().filter(|kernel| kernel.is_supported()) {
            write!(f, " {}", kernel.name)?;
        }
        write!(f, ", or auto")
    }
}

impl core::error::Error for ForceError {}
