//! A plan: the work of a row, and its sides.

use anyhow::{Result, bail};

use crate::engine;
use crate::report::{Caches, Machine, Pool, Varies};
use crate::size;
use crate::spec::Spec;
use crate::work::{Feed, Fill, Mode, Work, stride};

/// A row to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) work: Work,
    /// The others are compared with the first.
    pub(crate) sides: Vec<Spec>,
    pub(crate) varies: Varies,
    pub(crate) busy: bool,
    pub(crate) pool: Option<Pool>,
}

impl Plan {
    pub(crate) fn new(work: Work, sides: &[Spec]) -> Self {
        Self {
            id: work.to_string(),
            work,
            sides: sides.to_vec(),
            varies: Varies::Engine,
            busy: false,
            pool: None,
        }
    }

    /// Returns why it cannot be measured, if it cannot. Inputs must fit into memory, and into the cache that they fill.
    /// Sides may differ in one thing only, and in threads only where threads are compared.
    pub(crate) fn refusal(&self, machine: &Machine) -> Option<String> {
        if !self.work.fits(machine.memory_bytes / 2) {
            let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
            return Some(format!("more than half of the {gib:.0} GiB of memory of this machine"));
        }
        if let Work::Input { bytes, buffers, fill, .. } = self.work {
            let cache = size_of_cache(fill, &machine.caches);
            if cache.is_some_and(|cache| stride(bytes) * buffers > cache) {
                return Some(format!("inputs of {} fill more than {fill:?}", size::show(bytes)));
            }
        }
        let sides = || self.sides.iter();
        let names = || sides().map(Spec::to_string).collect::<Vec<_>>().join(", ");
        let same = |what: fn(&Spec) -> (Option<&str>, usize)| {
            sides().all(|side| what(side) == what(&self.sides[0]))
        };
        let same_engine = same(|side| (Some(&side.engine), 0));
        match self.varies {
            Varies::Engine | Varies::Kernel if !same(|side| (None, side.threads())) => {
                Some(format!("{}: sides on different numbers of threads", names()))
            }
            Varies::Kernel | Varies::Threads if !same_engine => {
                Some(format!("{}: different engines, where only one thing may differ", names()))
            }
            Varies::Threads if !same(|side| (side.kernel.as_deref(), 0)) => {
                Some(format!("{}: different kernels, where only threads may differ", names()))
            }
            _ => None,
        }
    }
}

/// Inputs that fill a cache of this machine.
pub(crate) fn inputs(
    mode: Mode,
    feed: Feed,
    bytes: u64,
    fill: Option<Fill>,
    caches: &Caches,
) -> Work {
    let fill = fill.unwrap_or_else(|| smallest(bytes, caches));
    let buffers = match fill {
        Fill::Hot => 1,
        Fill::Memory => {
            (2 * caches.l3.max(caches.l2).max(1)).div_ceil(stride(bytes).max(64)).max(2)
        }
        _ => (capacity(fill, caches) / stride(bytes).max(64)).max(1),
    };
    Work::Input { mode, feed, bytes, buffers, fill }
}

/// Bytes of inputs that stay in a cache: three quarters of it, because other data needs room too.
fn capacity(fill: Fill, caches: &Caches) -> u64 {
    size_of_cache(fill, caches).unwrap_or(0) / 4 * 3
}

fn size_of_cache(fill: Fill, caches: &Caches) -> Option<u64> {
    match fill {
        Fill::Hot | Fill::Memory => None,
        Fill::L1 => Some(caches.l1),
        Fill::L2 => Some(caches.l2),
        Fill::L3 => Some(caches.l3),
    }
}

/// The smallest cache that holds two inputs.
fn smallest(bytes: u64, caches: &Caches) -> Fill {
    let holds = |fill: &Fill| 2 * stride(bytes) <= capacity(*fill, caches);
    [Fill::L1, Fill::L2, Fill::L3].into_iter().find(holds).unwrap_or(Fill::Memory)
}

/// Sizes for a table: each kind of length where trees differ, and where caches end.
pub(crate) fn table_sizes() -> Vec<u64> {
    const KIB: u64 = 1024;
    let mut sizes = vec![0, 1, 31, 63, 64, 128, 192, 256, 512, 960, 1000, 1024, 1536];
    sizes.extend((2..=17).map(|n| n * KIB));
    sizes.extend([20, 24, 28, 31, 32, 48, 64, 128, 256, 512].map(|n| n * KIB));
    sizes.extend([1 << 20, 4 << 20, 16 << 20, 64 << 20]);
    sizes
}

/// Parses at least two sides, all with engines of this build.
pub(crate) fn specs(texts: &[String], threads: usize) -> Result<Vec<Spec>> {
    let specs = texts
        .iter()
        .map(|text| {
            let spec = text.parse::<Spec>()?.on(threads);
            engine::find(&spec.engine).map(|_| spec)
        })
        .collect::<Result<Vec<_>>>()?;
    if specs.len() < 2 {
        bail!("a comparison needs at least two engines, such as: treewide blake3");
    }
    Ok(specs)
}
