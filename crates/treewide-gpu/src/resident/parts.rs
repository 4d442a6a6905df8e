//! Parts of inputs whose other parts are elsewhere, such as the shards of tensors: many ranges of many inputs in few
//! launches.
//!
//! ```text
//! chunks          |       |       |       |       |       |
//! a run               [===:=======:=======:==]
//!                     end   subtree(s)      end
//! ```
//!
//! The values of subtrees come to the host, and the bytes of the ends.

use super::hash::{Reduced, check_count, check_subtree, tree};
use crate::device::Device;
use crate::driver::{Kind, NODE};
use crate::error::Error;
use crate::memory::Slice;
use crate::pending::Pending;
use crate::plan::Input;
use std::ops::Range;
use treewide::parts::{AbsorbError, Part, Parts, subtrees};
use treewide::{BLOCK_LEN, CHUNK_LEN, Mode, OUT_LEN};

const CHUNK: u64 = CHUNK_LEN as u64;
const BLOCK: u64 = BLOCK_LEN as u64;

/// The runs of bytes of one input that are on a device.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Bytes of the whole input.
    pub total: u64,
    /// The bytes of each run, and at which byte of the input it begins. Runs may begin and end anywhere.
    pub runs: Vec<(Slice, u64)>,
}

/// The ranges of an input that its runs consist of.
#[derive(Default)]
struct Cut {
    total: u64,
    nodes: Vec<Range<u64>>,
    ends: Vec<Range<u64>>,
}

impl Device {
    /// The chaining values of many subtrees, of one tree or of several, in few launches. Each is its bytes, and the number of
    /// its first chunk in the whole input, as for [`subtree`](Self::subtree).
    pub fn subtrees(&self, mode: &Mode, inputs: &[(Slice, u64)]) -> Pending<Vec<[u8; OUT_LEN]>> {
        if inputs.is_empty() {
            return Pending::ready(Ok(Vec::new()));
        }
        Pending::of((|| {
            let Reduced { mut work, scratch, out } =
                self.reduce(mode, Kind::Subtree, &nodes(inputs)?, None)?;
            work.read(&out)?;
            self.job(work, scratch, |read| Ok(read[0].as_chunks().0.to_vec()))
        })())
    }

    /// Hashes runs of bytes of many inputs, in few launches, and returns the [`Parts`] of each input.
    ///
    /// 32 bytes come to the host for each [subtree](treewide::parts::subtrees) of a run, by one copy for all. By another one come
    /// the bytes of chunks that a run does not have whole: at most 1,023 at each end, in blocks of 64 bytes with as many bytes
    /// next to each. An input of at most one chunk comes as it is.
    ///
    /// A run that reaches beyond the end of its input is an error. The result of an input is
    /// [`AbsorbError::Clash`] if two of its runs have other bytes of the same place.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use treewide_gpu::{Device, Mode, Runs, TwinLimits};
    ///
    /// let input = vec![7; 100_000];
    /// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
    /// let (left, right) = (device.upload(&input[..30_001])?, device.upload(&input[30_001..])?);
    /// let runs = vec![((&left).into(), 0), ((&right).into(), 30_001)];
    /// let parts = device.hash_parts(&Mode::PLAIN, &[Runs { total: 100_000, runs }]).wait()?;
    /// assert_eq!(parts[0].as_ref().unwrap().finish()?, treewide::hash(&input));
    /// # Ok(())
    /// # }
    /// ```
    pub fn hash_parts(
        &self,
        mode: &Mode,
        inputs: &[Runs],
    ) -> Pending<Vec<Result<Parts, AbsorbError>>> {
        Pending::of((|| {
            let (mut nodes, mut blocks) = (Vec::new(), Vec::new());
            let cut = inputs.iter().map(|input| cut(input, &mut nodes, &mut blocks));
            let cuts: Vec<Cut> = cut.collect::<Result<_, _>>()?;
            check_count(nodes.len().max(blocks.len()))?;
            let (mut work, mut scratch) = (self.work()?, Vec::new());
            // The node of a lone block has its bytes, so the kernel that hashes also gathers the ends. In the plain mode, as the
            // node has the key as well.
            for (mode, kind, trees) in
                [(mode, Kind::Subtree, &nodes), (&Mode::PLAIN, Kind::Node, &blocks)]
            {
                if !trees.is_empty() {
                    let (used, out) = self.reduce_in(&mut *work, mode, kind, trees, None)?;
                    work.read(&out)?;
                    scratch.extend(used);
                }
            }
            let (mode, has_nodes) = (*mode, !nodes.is_empty());
            self.job(work, scratch, move |read| {
                let mut read = read.into_iter().peekable();
                let values = read.next_if(|_| has_nodes).unwrap_or_default();
                let blocks = read.next().unwrap_or_default();
                let (mut values, mut blocks) =
                    (values.as_chunks().0.iter(), blocks.as_chunks().0.iter());
                Ok(cuts.iter().map(|cut| cut.parts(mode, &mut values, &mut blocks)).collect())
            })
        })())
    }
}

/// The nodes that `subtrees` returns of them.
fn nodes(inputs: &[(Slice, u64)]) -> Result<Vec<Input>, Error> {
    check_count(inputs.len())?;
    let node = |((input, chunk), to): (&(Slice, u64), u32)| {
        check_subtree(input.len(), *chunk)?;
        Ok(tree(input.clone(), *chunk, to))
    };
    inputs.iter().zip(0..).map(node).collect()
}

/// Cuts the runs of an input: appends the subtrees to `nodes`, and the blocks of their ends to `blocks`.
fn cut(input: &Runs, nodes: &mut Vec<Input>, blocks: &mut Vec<Input>) -> Result<Cut, Error> {
    let total = input.total;
    let mut cut = Cut { total, ..Cut::default() };
    for (bytes, at) in &input.runs {
        let (at, len) = (*at, bytes.len());
        let Some(end) = at.checked_add(len).filter(|end| *end <= total) else {
            return Err(Error::invalid(format_args!(
                "a run of {len} bytes from byte {at} on is not in an input of {total} bytes: check its length"
            )));
        };
        // The only chunk is a root: the host hashes it.
        let first = if total <= CHUNK {
            end
        } else {
            at.checked_next_multiple_of(CHUNK).map_or(end, |chunk| end.min(chunk))
        };
        let last = if end == total { end } else { first.max(end - end % CHUNK) };
        let part = |range: &Range<u64>| bytes.slice(range.start - at..range.end - at);
        if first < last {
            for node in subtrees(first..last, total).map_err(Error::invalid)? {
                nodes.push(tree(part(&node)?, node.start / CHUNK, nodes.len() as u32));
                cut.nodes.push(node);
            }
        }
        for end in [at..first, last..end] {
            for start in end.clone().step_by(BLOCK_LEN) {
                let block = part(&(start..end.end.min(start + BLOCK)))?;
                blocks.push(tree(block, 0, blocks.len() as u32));
            }
            if !end.is_empty() {
                cut.ends.push(end);
            }
        }
    }
    Ok(cut)
}

impl Cut {
    /// Takes the next values and blocks.
    fn parts<'a>(
        &self,
        mode: Mode,
        values: &mut impl Iterator<Item = &'a [u8; OUT_LEN]>,
        blocks: &mut impl Iterator<Item = &'a [u8; NODE as usize]>,
    ) -> Result<Parts, AbsorbError> {
        // All of them, also if the parts clash.
        let values: Vec<_> = values.by_ref().take(self.nodes.len()).collect();
        let mut ends = Vec::new();
        for end in &self.ends {
            let len = (end.end - end.start) as usize;
            let start = ends.len();
            let of_end = blocks.by_ref().take(len.div_ceil(BLOCK_LEN));
            ends.extend(of_end.flat_map(|node| &node[OUT_LEN..OUT_LEN + BLOCK_LEN]));
            ends.truncate(start + len);
        }
        let mut parts = Parts::new(self.total, mode);
        let nodes = self.nodes.iter().cloned().zip(values);
        parts.extend(nodes.map(|(range, cv)| Part { range, cv: *cv }))?;
        parts.hash_runs(&ends, self.ends.iter().cloned())?;
        Ok(parts)
    }
}
