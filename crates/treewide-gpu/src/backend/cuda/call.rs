//! The call of a kernel for a launch: which one, its threads and its arguments.
//!
//! The arguments are laid out as the structures of the same names in `kernels/shared/` are.

use crate::driver::{Launch, Region, Span, Stage, TILE};
use crate::error::Error;
use crate::plan;
use std::ffi::CStr;
use treewide::Mode;

/// Threads in a block of the kernels that have no tiles.
const THREADS: u32 = 128;

/// Tiles in a block of the kernel for large launches.
const TILES: u32 = 4;

/// Blocks of that kernel that a multiprocessor should have at least before it is used: with fewer,
/// some would have nothing to do while others have two to do. A guess.
const ENOUGH: u32 = 4;

/// Tiles for each multiprocessor up to which an input that is alone is hashed by one launch: one for
/// each of its schedulers. With more of them launches are a small part of the time, and warps hide each
/// other's loads. Estimated, not measured: README.md has the reasons.
pub(super) const WHOLE: u64 = 4;

/// Bytes of counters for an input that is hashed by one launch, and the most tiles that they serve.
pub(super) const COUNTERS: usize = 64 << 10;
pub(super) const MOST_WHOLE: u64 = 1 << 20;

/// A call of a kernel.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) kernel: &'static CStr,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    /// One for each parameter, at multiples of 8 bytes as structures of C want it.
    pub(super) arguments: Vec<Box<[u64]>>,
}

/// The call that a launch stands for, or none if there is nothing to do. `upload` puts a table where
/// kernels can read it in this launch, and returns its address. `counters` are those of a whole tree.
pub(super) fn call(
    launch: &Launch,
    multiprocessors: u32,
    counters: u64,
    upload: &mut dyn FnMut(&[u32]) -> Result<u64, Error>,
) -> Result<Option<Call>, Error> {
    let mode = argument(&mode(&launch.mode));
    let mut spans = |spans: &[Span], cvs: &Region, out: &Region| -> Result<_, Error> {
        let (table, only) = match spans {
            [only] => (0, only.words()),
            _ => {
                let words: Vec<u32> = spans.iter().flat_map(Span::words).collect();
                (upload(&words)?, [0; Span::WORDS])
            }
        };
        let mut words = Vec::new();
        words.extend([table, address(cvs)?, address(out)?].into_iter().flat_map(halves));
        words.extend([spans.len() as u32, 0]);
        words.extend(only);
        Ok(argument(&words))
    };
    let call = match &launch.stage {
        Stage::Tiles { spans: all, slots, whole: true, cvs, out, .. } => {
            let blocks = slots.div_ceil(TILE);
            // One for each tile but those of chunks, and for each level a value for each of its tiles.
            let used = plan::values(u64::from(blocks)) - u64::from(blocks);
            debug_assert!(4 * used <= COUNTERS as u64 && all.len() == 1, "as many as there are");
            let arguments = vec![mode, spans(all, cvs, out)?, argument(&halves(counters))];
            Call { kernel: c"whole", blocks, threads: TILE, arguments }
        }
        Stage::Tiles { spans: all, slots, cvs, out, .. } => {
            let by_four = slots.div_ceil(TILE) / TILES >= ENOUGH * multiprocessors;
            let (kernel, threads) =
                if by_four { (c"tiles_by_four", TILES * TILE) } else { (c"tiles", TILE) };
            let arguments = vec![mode, spans(all, cvs, out)?];
            Call { kernel, blocks: slots.div_ceil(threads), threads, arguments }
        }
        Stage::Parents { input, spans: all, slots, cvs, out } => Call {
            kernel: c"parents",
            blocks: slots.div_ceil(TILE),
            threads: TILE,
            arguments: vec![mode, argument(&halves(address(input)?)), spans(all, cvs, out)?],
        },
        Stage::Blobs { input, offsets, count, base, last, out, left } => {
            let mut words = Vec::new();
            let (from, table) = (address(input)?, address(offsets)?);
            let numbers = [from, input.len, table, address(out)?, address(left)?, *base, *last];
            words.extend(numbers.into_iter().flat_map(halves));
            words.extend([*count, 0]);
            Call {
                kernel: c"blobs",
                blocks: count.div_ceil(THREADS),
                threads: THREADS,
                arguments: vec![mode, argument(&words)],
            }
        }
        Stage::Xof { nodes, count, out, position, blocks } => {
            let mut words = Vec::new();
            words.extend([address(nodes)?, address(out)?, *position].into_iter().flat_map(halves));
            words.extend([*count, *blocks]);
            let threads = u64::from(*count) * u64::from(*blocks);
            let all = u32::try_from(threads.div_ceil(u64::from(THREADS)));
            let all = all.ok().filter(|all| *all <= MOST_BLOCKS);
            let blocks = all.ok_or_else(|| Error::invalid("too much output for one launch"))?;
            let arguments = vec![argument(&words)];
            Call { kernel: c"xof", blocks, threads: THREADS, arguments }
        }
    };
    Ok((call.blocks > 0).then_some(call))
}

/// The most blocks of a launch that the driver takes.
const MOST_BLOCKS: u32 = i32::MAX as u32;

/// Where a region lies.
pub(super) fn address(region: &Region) -> Result<u64, Error> {
    let start = region.memory.address();
    let start = start.ok_or_else(|| Error::invalid("the buffer is not one of a CUDA device"))?;
    Ok(start + region.at)
}

fn mode(mode: &Mode) -> [u32; 9] {
    let mut words = [0; 9];
    words[..8].copy_from_slice(&mode.key_words());
    words[8] = mode.flags().into();
    words
}

/// A number of 64 bits as a structure's two words.
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Words as they follow each other in memory.
fn argument(words: &[u32]) -> Box<[u64]> {
    let pair = |pair: &[u32]| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32;
    words.chunks(2).map(pair).collect()
}
