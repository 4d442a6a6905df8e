//! Explains the hashing of an input of some length: the same decisions as in `kernel::passes` and `tree`,
//! counted instead of carried out.

use core::fmt;

use crate::kernel::contract::{Kernel, MOST_WIDTHS};
use crate::kernel::passes::next_pass;
use crate::kernel::{is_passed_over, running};
use crate::spec::{BLOCK_LEN, CHUNK_LEN};
use crate::tree::{LEAF, MOST, WIDE, left_len};

/// Passes that hash a number of lanes side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Lanes of the pass; 1 is the one-lane compression, for one node after the other.
    pub lanes: usize,
    /// How many there are.
    pub count: u64,
    /// Chunks that they hash.
    pub chunks: u64,
    /// Parents that they hash, the root among them.
    pub parents: u64,
}

/// How an input of a certain length is hashed; see [`explain`].
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    kernel: &'static Kernel,
    bytes: u64,
    threads: usize,
    passes: [Passes; MOST_WIDTHS],
}

/// How [`hash`](crate::hash()) does an input of `bytes` bytes with the kernel in use: the passes on
/// one thread, and the threads that `hash_parallel` would use (feature
/// `rayon`, else 1). As text it also says what `TREEWIDE_KERNEL` asks for and cannot have, and whether a build without
/// optimisation does without a kernel.
///
/// ```
/// let short = treewide::explain(100);
/// assert_eq!(short.passes().map(|passes| passes.count).sum::<u64>(), 1);
/// println!("{}", treewide::explain(1 << 20));
/// ```
pub fn explain(bytes: u64) -> Explanation {
    #[cfg(feature = "rayon")]
    let threads = crate::parallel::policy::threads(usize::try_from(bytes).unwrap_or(usize::MAX));
    #[cfg(not(feature = "rayon"))]
    let threads = 1;
    Explanation::new(running().kernel(), bytes, threads)
}

/// Bytes of a part of a long input.
const PART: u64 = (MOST * CHUNK_LEN) as u64;

impl Explanation {
    fn new(kernel: &'static Kernel, bytes: u64, threads: usize) -> Self {
        let mut passes = [Passes::default(); MOST_WIDTHS];
        for (passes, width) in passes.iter_mut().zip(kernel.widths) {
            passes.lanes = width.lanes;
        }
        let mut explanation = Self { kernel, bytes, threads, passes };
        explanation.count();
        explanation
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Chunks of the input; the empty input also has one.
    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(CHUNK_LEN as u64).max(1)
    }

    /// Threads that take part where the caller allows several, the calling one included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The passes on one thread, by their lanes, narrowest first.
    pub fn passes(&self) -> impl Iterator<Item = Passes> + '_ {
        self.passes.iter().copied().filter(|passes| passes.count > 0)
    }

    fn count(&mut self) {
        // Long inputs are the same part again and again, each a node of its own, and a last part.
        let parts = self.bytes.saturating_sub(1) / PART;
        if parts > 0 {
            self.part(PART);
            for Passes { count, chunks, parents, .. } in &mut self.passes {
                (*count, *chunks, *parents) = (*count * parts, *chunks * parts, *parents * parts);
            }
            self.passes[0].count += parts;
            self.passes[0].parents += parts;
        }
        self.part(self.bytes - parts * PART);
    }

    /// A part of an input, or all of it, reduced to its top node.
    fn part(&mut self, bytes: u64) {
        let mut nodes = self.subtree(bytes);
        while nodes > 1 {
            nodes = self.level(nodes);
        }
    }

    /// The chunks of a short input or of a part of a long one; returns how many.
    fn leaf(&mut self, bytes: u64) -> u64 {
        let chunks = bytes.div_ceil(CHUNK_LEN as u64).max(1);
        let last = bytes - (chunks - 1) * CHUNK_LEN as u64;
        let blocks = last.div_ceil(BLOCK_LEN as u64).max(1) as usize;
        let whole = CHUNK_LEN / BLOCK_LEN;
        self.nodes(chunks, (whole, blocks), |passes| &mut passes.chunks);
        chunks
    }

    /// Parents over `nodes` nodes; returns how many nodes are left.
    fn level(&mut self, nodes: u64) -> u64 {
        self.nodes(nodes / 2, (1, 1), |passes| &mut passes.parents);
        nodes.div_ceil(2)
    }

    fn nodes(&mut self, count: u64, blocks: (usize, usize), of: impl Fn(&mut Passes) -> &mut u64) {
        let Kernel { widths, plan, .. } = *self.kernel;
        let mut rest = count as usize;
        while rest > 0 {
            let take = next_pass(widths, plan, rest, || blocks);
            let width = widths.iter().position(|width| width.lanes >= take).expect("one holds it");
            self.passes[width].count += 1;
            *of(&mut self.passes[width]) += take as u64;
            rest -= take;
        }
    }

    /// The same reduced to at most [`WIDE`] nodes; returns how many.
    fn subtree(&mut self, bytes: u64) -> u64 {
        if bytes <= (LEAF * CHUNK_LEN) as u64 {
            let mut nodes = self.leaf(bytes);
            while nodes > WIDE as u64 {
                nodes = self.level(nodes);
            }
            return nodes;
        }
        let left = left_len(bytes);
        self.subtree(left);
        let right = self.subtree(bytes - left);
        self.level(WIDE as u64 + right)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let (bytes, chunks, threads) = (self.bytes, self.chunks(), self.threads);
        write!(f, "{bytes} byte{} in {chunks} chunk{}, ", s(bytes), s(chunks))?;
        write!(f, "kernel {}, {threads} thread{}", self.kernel.name(), s(threads as u64))?;
        for Passes { lanes, count, chunks, parents } in self.passes() {
            let es = if count == 1 { "" } else { "es" };
            write!(f, "\n{count} pass{es} of {lanes} lane{}: ", s(lanes as u64))?;
            write!(f, "{chunks} chunk{}, {parents} parent{}", s(chunks), s(parents))?;
        }
        if is_passed_over() {
            write!(
                f,
                "\nno AVX-512, which is slow in a build without optimisation: opt-level = 1"
            )?;
            write!(f, " or more for the package treewide chooses it")?;
        }
        #[cfg(feature = "std")]
        if let Err(error) = crate::environment::check_environment() {
            write!(f, "\nignored: {error}")?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_hashed_once() {
        // Few for Miri, which takes minutes instead of milliseconds.
        let (most, powers, lengths) = if cfg!(miri) { (20, 9, 100_003) } else { (64, 1, 509) };
        let edges = (0..most).step_by(powers).map(|k| 1_u64 << k).flat_map(|n| [n - 1, n, n + 1]);
        let lengths = (0..300 * CHUNK_LEN as u64).step_by(lengths).chain(edges);
        for bytes in lengths {
            for kernel in crate::kernel::all() {
                let explanation = Explanation::new(kernel, bytes, 1);
                let all = |of: fn(Passes) -> u64| explanation.passes().map(of).sum::<u64>();
                assert_eq!(all(|passes| passes.chunks), explanation.chunks(), "{explanation}");
                assert_eq!(all(|passes| passes.parents), explanation.chunks() - 1, "{explanation}");
                for Passes { lanes, count, chunks, parents } in explanation.passes() {
                    assert!(count.max(1) <= chunks + parents, "{explanation}");
                    assert!(chunks + parents <= count * lanes as u64, "{explanation}");
                }
            }
        }
    }

    #[test]
    fn explain_says_what_a_build_does_without() {
        assert_eq!(crate::explain(100).to_string().contains("\nno AVX-512"), is_passed_over());
    }

    #[test]
    fn a_full_pass_of_chunks_is_one() {
        for kernel in crate::kernel::all() {
            let degree = kernel.degree();
            let explanation = Explanation::new(kernel, (degree * CHUNK_LEN) as u64, 1);
            let widest = explanation.passes().last().expect("some pass");
            assert_eq!((widest.lanes, widest.chunks), (degree, degree as u64), "{explanation}");
        }
    }
}
