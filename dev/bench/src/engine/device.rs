//! Devices of `treewide-gpu`, each timing class as a task.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use treewide_gpu::{Device, Mode, Ring, SharedBuffer, Slice, Staged};

use super::Task;
use crate::size;
use crate::work::{Place, WRITTEN};

/// What is shorter is hashed by the CPU in any case.
const SHORT: u64 = 256 << 10;

struct OnDevice {
    device: Device,
    place: Place,
    host: &'static [u8],
    /// The file with the same bytes, if it is that which is hashed.
    path: Option<PathBuf>,
    /// The buffer in the device's memory before the clock starts.
    memory: Option<Slice>,
    /// That memory, if it is the host's too.
    _shared: Option<SharedBuffer>,
}

/// The task of a class, or why this device has none.
pub(crate) fn task(
    device: &Device,
    place: Place,
    host: &'static [u8],
    path: Option<&Path>,
) -> Result<Box<dyn Task>> {
    // The CPU hashes an input as short as this: its time would have another name.
    if matches!(place, Place::Staged | Place::Wrapped | Place::File) && (host.len() as u64) < SHORT
    {
        bail!("the CPU hashes what is shorter than {}", size::show(SHORT));
    }
    let mut shared = None;
    let memory = match place {
        Place::Resident => Some((&device.upload(host)?).into()),
        Place::Private | Place::Device => Some(written(device, host.len() as u64)?),
        Place::Shared => {
            let mut buffer = device.allocate_shared(host.len() as u64)?;
            buffer.bytes()?.copy_from_slice(host);
            let slice = buffer.to_device()?;
            shared = Some(buffer);
            Some(slice)
        }
        Place::Staged | Place::Wrapped | Place::EndToEnd | Place::File => None,
    };
    let device = if place == Place::Device { device.timed() } else { device.clone() };
    let path = path.map(Path::to_owned);
    let mut task = OnDevice { device, place, host, path, memory, _shared: shared };
    // What it cannot do, it says here.
    if task.once()?.0.is_zero() {
        bail!("{} has no clock to measure this", task.device.name());
    }
    Ok(Box::new(task))
}

/// Extended output that the device writes to its own memory.
fn written(device: &Device, len: u64) -> Result<Slice> {
    let buffer = device.allocate(len.next_multiple_of(64).max(64))?;
    let input = (&device.upload(WRITTEN)?).into();
    let blocks = u32::try_from(len.div_ceil(64)).context("more output than one call writes")?;
    device.xof_to(&Mode::PLAIN, &[input], 0, blocks, &(&buffer).into()).wait()?;
    Ok(buffer.slice(..len)?)
}

impl OnDevice {
    fn once(&mut self) -> Result<(Duration, treewide::Hash)> {
        let start = Instant::now();
        if let Some(path) = &self.path {
            let hash = by_ring(&self.device, path, self.host.len() as u64)?;
            return Ok((start.elapsed(), hash));
        }
        let hash = match (self.place, &self.memory) {
            (Place::Staged, _) => self.device.hash_bytes(&Mode::PLAIN, self.host)?,
            (Place::Wrapped, _) => self.device.hash_wrapped(&Mode::PLAIN, self.host)?,
            (Place::Device, Some(memory)) => {
                let (hash, time) = self.device.hash(&Mode::PLAIN, memory).wait_timed()?;
                return Ok((time.unwrap_or_default(), hash));
            }
            (_, Some(memory)) => self.device.hash(&Mode::PLAIN, memory).wait()?,
            (_, None) => {
                let memory = self.device.upload(self.host)?;
                self.device.hash(&Mode::PLAIN, &memory).wait()?
            }
        };
        Ok((start.elapsed(), hash))
    }
}

/// A file through a ring with no more memory than it needs, as the command line does.
fn by_ring(device: &Device, path: &Path, len: u64) -> Result<treewide::Hash> {
    let part = len.next_power_of_two().clamp(1 << 20, 16 << 20) as usize;
    let ring = Ring { part, ..Ring::default() };
    let mut staged = Staged::new(device, &Mode::PLAIN).ring(ring)?;
    staged.update_file(&File::open(path)?, 0, len)?;
    Ok(staged.finalize()?)
}

impl Task for OnDevice {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        (0..calls).map(|_| Ok(self.once()?.0)).sum()
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        Ok(blake3::hash(self.once()?.1.as_bytes()))
    }
}

/// Checks digests before anything is timed: in every mode, for lengths where trees differ, and from first bytes that are
/// not multiples of a word.
pub(crate) fn check(device: &Device, stream: &[u8]) -> Result<()> {
    const KEY: &[u8; 32] = crate::work::KEY;
    const CONTEXT: &str = crate::work::CONTEXT;
    let buffer = device.upload(stream)?;
    let longest = stream.len() - 15;
    for len in [0, 1, 64, 65, 1024, 1025, 131_072, 131_073, longest] {
        for start in [0, 1, 15] {
            let input = &stream[start..start + len];
            let slice = buffer.slice(start as u64..(start + len) as u64)?;
            for (mode, right) in [
                (Mode::PLAIN, blake3::hash(input)),
                (Mode::keyed(KEY), blake3::keyed_hash(KEY, input)),
                (Mode::derive_key(CONTEXT), blake3::derive_key(CONTEXT, input).into()),
            ] {
                let hash = device.hash(&mode, &slice).wait()?;
                if hash.as_bytes() != right.as_bytes() {
                    bail!(
                        "WRONG DIGEST: {} gives {hash} for {len} bytes from byte {start}, not {right}",
                        device.name()
                    );
                }
            }
        }
    }
    Ok(())
}
