//! Merkle trees over 32-byte leaves in the memory of the device: those of [`treewide::merkle`].

use crate::device::Device;
use crate::driver::{CV, Region, Work};
use crate::error::Error;
use crate::memory::{Slice, check_words};
use crate::pending::Pending;
use crate::plan;
use crate::resident::hash::{check_room, digest};
use treewide::{Hash, Mode};

impl Device {
    /// The root over leaves of 32 bytes each: the same as [`treewide::merkle::root`].
    ///
    /// `leaves` must start at a multiple of 4 bytes.
    pub fn merkle_root(&self, leaves: impl Into<Slice>) -> Pending<Hash> {
        let leaves = leaves.into();
        Pending::of((|| {
            let count = count(&leaves)?;
            let mut work = self.work()?;
            if count == 0 {
                return self.job(work, Vec::new(), |_| Ok(treewide::hash(&[])));
            }
            // Levels in turn to two places.
            let one = self.scratch(CV * count.div_ceil(2))?;
            let two = self.scratch(CV * count.div_ceil(4))?;
            let mut from = leaves.region.clone();
            let (mut onto, mut next) = (&one.region, &two.region);
            while from.len > CV {
                let above = Region { len: CV * (from.len / CV).div_ceil(2), ..onto.clone() };
                self.level(&mut *work, &from, &above)?;
                from = above;
                std::mem::swap(&mut onto, &mut next);
            }
            work.read(&from)?;
            self.job(work, vec![one, two], |read| digest(&read[0]).map(Hash::from_bytes))
        })())
    }

    /// All levels above the leaves, one after the other, to the start of `nodes`: the same as
    /// [`treewide::merkle::fill_nodes`], with [`treewide::merkle::node_count`] nodes.
    ///
    /// `leaves` and `nodes` must start at multiples of 4 bytes, and share no byte.
    pub fn merkle_nodes(&self, leaves: impl Into<Slice>, nodes: &Slice) -> Pending<()> {
        let leaves = leaves.into();
        Pending::of((|| {
            let count = count(&leaves)?;
            check_words(&nodes.region, "the place for the nodes")?;
            let most = usize::try_from(count).map_err(Error::invalid)?;
            check_room(nodes, CV * treewide::merkle::node_count(most) as u64)?;
            let mut work = self.work()?;
            let mut from = leaves.region.clone();
            let mut at = nodes.region.at;
            while from.len > CV {
                let len = CV * (from.len / CV).div_ceil(2);
                let above = Region { memory: nodes.region.memory.clone(), at, len };
                self.level(&mut *work, &from, &above)?;
                at += len;
                from = above;
            }
            self.job(work, Vec::new(), |_| Ok(()))
        })())
    }

    fn level(&self, work: &mut dyn Work, from: &Region, above: &Region) -> Result<(), Error> {
        for launch in plan::pairs(self.info(), &Mode::PLAIN, from, above) {
            work.launch(&launch)?;
        }
        Ok(())
    }
}

fn count(leaves: &Slice) -> Result<u64, Error> {
    check_words(&leaves.region, "the first leaf")?;
    let len = leaves.len();
    if !len.is_multiple_of(CV) {
        return Err(Error::invalid(format_args!("leaves of 32 bytes each in {len} bytes")));
    }
    Ok(len / CV)
}
