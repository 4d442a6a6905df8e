//! Many blobs in one buffer of the device, with offsets.
//!
//! Blobs of at most a chunk take one thread each, straight from the offsets: a million of them is one
//! launch, and nothing is sorted or listed on the host. Larger ones are trees like any other, side by
//! side. Where only the device knows the offsets, its first launch says whether there are larger ones,
//! and only then the host asks for the offsets.

use crate::device::Device;
use crate::driver::{CV, Kind, Region, Work};
use crate::error::{Error, ErrorKind};
use crate::memory::{Slice, check_words};
use crate::pending::Pending;
use crate::plan::{self, Input};
use crate::pool::Scratch;
use crate::resident::hash::{Reduced, check_room, hashes, tree};
use treewide::{CHUNK_LEN, Hash, Mode};

const CHUNK: u64 = CHUNK_LEN as u64;

/// Up to this number of blobs with offsets on the host, all are trees. Above it the small ones are hashed
/// from the offsets, whose upload is a sixth of the tables of the same number of trees.
const FEW: usize = 4096;

/// Where blobs start and end: blob `i` is bytes `offsets[i]` to `offsets[i + 1]` of the input, so
/// there is one offset more than blobs.
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// On the host. They are checked before anything starts.
    Host(&'a [u64]),
    /// On the device: integers of 64 bits, low bytes first, from a multiple of 4 bytes on. They are
    /// checked as blobs are hashed.
    Device(&'a Slice),
}

impl Offsets<'_> {
    /// How many blobs there are.
    fn blobs(&self) -> Result<u64, Error> {
        let count = match self {
            Self::Host(offsets) => offsets.len() as u64,
            Self::Device(slice) if slice.len() % 8 == 0 => slice.len() / 8,
            Self::Device(slice) => {
                let len = slice.len();
                return Err(Error::invalid(format_args!("offsets of 8 bytes each in {len} bytes")));
            }
        };
        count.checked_sub(1).ok_or_else(|| Error::invalid("no offsets: even no blobs have one"))
    }
}

impl Device {
    /// The digests of blobs in one buffer, in their order.
    ///
    /// Offsets that decrease, or lie outside `input`, are an error that names the blob.
    pub fn batch(
        &self,
        mode: &Mode,
        input: impl Into<Slice>,
        offsets: Offsets<'_>,
    ) -> Pending<Vec<Hash>> {
        let (mode, input) = (*mode, input.into());
        let started = offsets.blobs().and_then(|count| {
            if count == 0 {
                // Nothing to wait for, but its one offset may be wrong.
                if let Offsets::Host(offsets) = offsets {
                    check(offsets, input.len())?;
                }
                return Ok(Pending::ready(Ok(Vec::new())));
            }
            let out = self.scratch(CV * count)?;
            let region = out.region.clone();
            let batch = Batch { device: self.clone(), mode, input, out: region };
            batch.start(offsets, count, Some(out))
        });
        started.unwrap_or_else(|error| Pending::ready(Err(error)))
    }

    /// Hashes as [`batch`](Self::batch), but the digests stay on the device: 32 bytes each, side by side
    /// from the start of `out`, which must start at a multiple of 4 bytes.
    ///
    /// If blobs larger than a chunk have their offsets on the device, they are hashed when the result
    /// is waited for.
    pub fn batch_to(
        &self,
        mode: &Mode,
        input: impl Into<Slice>,
        offsets: Offsets<'_>,
        out: &Slice,
    ) -> Pending<()> {
        let (mode, input) = (*mode, input.into());
        let started = offsets.blobs().and_then(|count| {
            check_words(&out.region, "the place for the digests")?;
            let len = CV.saturating_mul(count);
            check_room(out, len)?;
            if count == 0 {
                return Ok(Pending::ready(Ok(())));
            }
            let out = Region { len, ..out.region.clone() };
            let batch = Batch { device: self.clone(), mode, input, out };
            batch.start(offsets, count, None)
        });
        started.unwrap_or_else(|error| Pending::ready(Err(error)))
    }
}

/// What becomes of the digests.
trait Fetch: Sized + Send + 'static {
    /// Whether they are read.
    const READ: bool;

    fn of(read: &[u8]) -> Result<Self, Error>;
}

impl Fetch for Vec<Hash> {
    const READ: bool = true;

    fn of(read: &[u8]) -> Result<Self, Error> {
        hashes(read)
    }
}

impl Fetch for () {
    const READ: bool = false;

    fn of(_: &[u8]) -> Result<Self, Error> {
        Ok(())
    }
}

struct Batch {
    device: Device,
    mode: Mode,
    input: Slice,
    out: Region,
}

impl Batch {
    fn start<T: Fetch>(
        self,
        offsets: Offsets<'_>,
        count: u64,
        out: Option<Scratch>,
    ) -> Result<Pending<T>, Error> {
        match offsets {
            Offsets::Host(offsets) => self.known(offsets, out),
            Offsets::Device(offsets) => self.unknown(offsets, count, out),
        }
    }

    /// With offsets that the host knows.
    fn known<T: Fetch>(self, offsets: &[u64], out: Option<Scratch>) -> Result<Pending<T>, Error> {
        check(offsets, self.input.len())?;
        let count = offsets.len() as u64 - 1;
        let few = offsets.len() <= FEW;
        let mut trees = Vec::new();
        for (to, pair) in (0..).zip(offsets.windows(2)) {
            if few || pair[1] - pair[0] > CHUNK {
                trees.push(self.blob(pair[0], pair[1], to));
            }
        }
        let (mode, device) = (&self.mode, &self.device);
        let reduced = device.reduce(mode, Kind::Digest, &trees, Some(self.out.clone()))?;
        let Reduced { mut work, mut scratch, .. } = reduced;
        if (trees.len() as u64) < count {
            let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
            let table = device.scratch(bytes.len() as u64)?;
            let left = device.scratch(4)?;
            work.write(&bytes, &table.region)?;
            work.write(&[0; 4], &left.region)?;
            self.launch(&mut *work, &table.region, count, &left.region)?;
            scratch.extend([table, left]);
        }
        if T::READ {
            work.read(&self.out)?;
        }
        scratch.extend(out);
        let job = device.job(work, scratch, |read| T::of(read.first().map_or(&[], |read| read)));
        Ok(Pending::of(job))
    }

    /// With offsets that only the device knows.
    fn unknown<T: Fetch>(
        self,
        offsets: &Slice,
        count: u64,
        out: Option<Scratch>,
    ) -> Result<Pending<T>, Error> {
        check_words(&offsets.region, "the offsets")?;
        let left = self.device.scratch(4)?;
        let mut work = self.device.work()?;
        work.write(&[0; 4], &left.region)?;
        self.launch(&mut *work, &offsets.region, count, &left.region)?;
        work.read(&left.region)?;
        if T::READ {
            work.read(&self.out)?;
        }
        let offsets = offsets.region.clone();
        let device = self.device.clone();
        let job = device.job(work, vec![left], move |read| {
            let result = match word(&read[0], 0) {
                0 => T::of(read.get(1).map_or(&[], |read| read)),
                _ => self.rest(&offsets),
            };
            // Not before: the second half needs it.
            out.into_iter().for_each(Scratch::done);
            result
        });
        Ok(Pending::of(job))
    }

    /// The blobs that the first launch left, by their offsets.
    fn rest<T: Fetch>(self, offsets: &Region) -> Result<T, Error> {
        let mut work = self.device.work()?;
        work.read(offsets)?;
        let read = Pending::of(self.device.job(work, Vec::new(), Ok)).wait()?;
        let offset = |word: &[u8; 8]| u64::from_le_bytes(*word);
        let offsets: Vec<u64> = read[0].as_chunks().0.iter().map(offset).collect();
        check(&offsets, self.input.len())?;
        let large = (0..).zip(offsets.windows(2)).filter(|(_, pair)| pair[1] - pair[0] > CHUNK);
        let trees: Vec<_> = large.map(|(to, pair)| self.blob(pair[0], pair[1], to)).collect();
        let Reduced { mut work, scratch, .. } =
            self.device.reduce(&self.mode, Kind::Digest, &trees, Some(self.out.clone()))?;
        if T::READ {
            work.read(&self.out)?;
        }
        let job = self.device.job(work, scratch, |read| T::of(read.first().map_or(&[], |r| r)));
        Pending::of(job).wait()
    }

    fn launch(
        &self,
        work: &mut dyn Work,
        offsets: &Region,
        count: u64,
        left: &Region,
    ) -> Result<(), Error> {
        let (info, input) = (self.device.info(), &self.input.region);
        for launch in plan::blobs(info, &self.mode, input, offsets, count, &self.out, left) {
            work.launch(&launch)?;
        }
        Ok(())
    }

    fn blob(&self, start: u64, end: u64, to: u32) -> Input {
        let Region { memory, at, .. } = &self.input.region;
        let region = Region { memory: memory.clone(), at: at + start, len: end - start };
        tree(Slice { region }, 0, to)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = &bytes[4 * at..][..4];
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn check(offsets: &[u64], len: u64) -> Result<(), Error> {
    if u32::try_from(offsets.len()).is_err() {
        return Err(Error::new(ErrorKind::TooLarge, "more than 2^32 blobs in one call"));
    }
    if let [only] = offsets {
        return check_blob(0, *only, *only, len);
    }
    (0..).zip(offsets.windows(2)).try_for_each(|(i, pair)| check_blob(i, pair[0], pair[1], len))
}

fn check_blob(blob: u64, start: u64, end: u64, len: u64) -> Result<(), Error> {
    if start > end {
        return Err(Error::invalid(format_args!(
            "blob {blob} starts at {start} and ends at {end}"
        )));
    }
    if end > len {
        return Err(Error::invalid(format_args!(
            "blob {blob} ends at {end}, but there are {len} bytes"
        )));
    }
    Ok(())
}
