//! A place of a ring: pinned memory, memory of the device for as many bytes, and the work with it.

use crate::device::Device;
use crate::driver::{CV, Kind, Order, Pinned, Region, Running};
use crate::error::Error;
use crate::plan::{self, Input};
use crate::pool::{Pinnable, Scratch};
use treewide::Mode;

/// From where a part of the input comes.
pub(crate) enum Origin<'a> {
    /// From the place's own pinned memory.
    Staging,
    /// From byte `at` of memory of the caller.
    Pinned { memory: &'a dyn Pinned, at: u64 },
}

/// One tree or subtree within the part: its first byte there, bytes, and first chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) counter: u64,
}

#[derive(Debug)]
pub(crate) struct Place {
    /// Made with the first part that is staged.
    staging: Option<Pinnable>,
    input: Scratch,
    values: [Scratch; 2],
    results: Scratch,
    queue: usize,
    len: u64,
    running: Option<Box<dyn Running>>,
}

impl std::fmt::Debug for dyn Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

/// The most trees of one part.
const TREES: u64 = 2;

impl Place {
    /// A place for `len` bytes. Works of different queues may overlap.
    pub(crate) fn new(device: &Device, len: u64, queue: usize) -> Result<Self, Error> {
        let values = plan::values(len.div_ceil(plan::TILE_LEN)) + TREES;
        Ok(Self {
            staging: None,
            input: device.scratch(len.next_multiple_of(16))?,
            values: [device.scratch(CV * values)?, device.scratch(CV * values)?],
            results: device.scratch(CV * TREES)?,
            queue,
            len,
            running: None,
        })
    }

    /// The pinned memory, to be filled.
    pub(crate) fn bytes(&mut self, device: &Device) -> Result<&mut [u8], Error> {
        let staging = match &mut self.staging {
            Some(staging) => staging,
            none => none.insert(device.staging(self.len.next_multiple_of(16))?),
        };
        Ok(&mut staging.staging.bytes()?[..self.len as usize])
    }

    /// Starts to hash `len` bytes: one result of that kind for each tree.
    pub(crate) fn start(
        &mut self,
        device: &Device,
        mode: &Mode,
        kind: Kind,
        source: Origin<'_>,
        len: u64,
        trees: &[Tree],
    ) -> Result<(), Error> {
        debug_assert!(self.running.is_none() && trees.len() as u64 <= TREES, "one at a time");
        let mut work = device.driver().work(Order { queue: self.queue, timed: false })?;
        let region = &self.input.region;
        if len > 0 {
            let to = Region { len, ..region.clone() };
            match source {
                Origin::Staging => {
                    let staging = self.staging.as_mut().expect("filled before");
                    work.copy_in(&mut *staging.staging, &to)?;
                }
                Origin::Pinned { memory, at } => work.copy_pinned(memory, at, &to)?,
            }
        }
        let input = |(to, tree): (u32, &Tree)| Input {
            memory: region.memory.clone(),
            at: region.at + tree.at,
            len: tree.len,
            counter: tree.counter,
            to,
        };
        let inputs: Vec<Input> = (0..).zip(trees).map(input).collect();
        let values = [&self.values[0].region, &self.values[1].region];
        let results = &self.results.region;
        for launch in
            plan::reduce(device.info(), device.one_launch, mode, kind, &inputs, values, results)?
        {
            work.launch(&launch)?;
        }
        work.read(&Region { len: CV * trees.len() as u64, ..results.clone() })?;
        self.running = Some(work.submit()?);
        Ok(())
    }

    /// Waits for the results of the started work; none if nothing was started.
    pub(crate) fn wait(&mut self) -> Result<Vec<[u8; 32]>, Error> {
        let Some(mut running) = self.running.take() else { return Ok(Vec::new()) };
        let read = running.wait()?;
        Ok(read.first().map_or(&[][..], |read| read).as_chunks().0.to_vec())
    }

    /// Gives its memory back.
    pub(crate) fn done(mut self) {
        // The device may still use the memory of failed work: it is freed then, and not used again.
        if self.wait().is_ok() {
            let [one, two] = self.values;
            [self.input, one, two, self.results].into_iter().for_each(Scratch::done);
            self.staging.into_iter().for_each(Pinnable::done);
        }
    }
}
