//! Hashing what is in the memory of the device.

use crate::device::Device;
use crate::driver::{CV, Kind, NODE, Region, Work};
use crate::error::{Error, ErrorKind};
use crate::memory::{Slice, check_words};
use crate::pending::Pending;
use crate::plan::{self, Input};
use crate::pool::Scratch;
use crate::root::Root;
use treewide::hazmat;
use treewide::{BLOCK_LEN, CHUNK_LEN, Hash, Hasher, Mode, OUT_LEN, OutputReader};

/// Work whose results are in a region, and what is to be kept until it is done.
pub(crate) struct Reduced {
    pub(crate) work: Box<dyn Work>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) out: Region,
}

impl Device {
    /// The digest of a buffer, or of a part of it that may start at any byte. Of any length; nothing
    /// but the digest comes to the host.
    ///
    /// ```
    /// # fn main() -> Result<(), treewide_gpu::Error> {
    /// use treewide_gpu::{Device, Mode, TwinLimits};
    ///
    /// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
    /// let buffer = device.upload(b"foobarbaz")?;
    /// let hash = device.hash(&Mode::PLAIN, &buffer).wait()?;
    /// assert_eq!(hash, treewide::hash(b"foobarbaz"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn hash(&self, mode: &Mode, input: impl Into<Slice>) -> Pending<Hash> {
        let input = input.into();
        Pending::of((|| {
            let Reduced { mut work, scratch, out } =
                self.reduce(mode, Kind::Digest, &[tree(input, 0, 0)], None)?;
            work.read(&out)?;
            self.job(work, scratch, |read| hash(&read[0]))
        })())
    }

    /// Hashes as [`hash`](Self::hash), but the digest stays on the device: 32 bytes at the start of `out`.
    ///
    /// `out` must start at a multiple of 4 bytes.
    pub fn hash_to(&self, mode: &Mode, input: impl Into<Slice>, out: &Slice) -> Pending<()> {
        self.list_to(mode, &[input.into()], out)
    }

    /// The chaining value of a subtree, for a tree whose other parts are hashed elsewhere:
    /// [`treewide::hazmat`] says what a subtree is and how two are merged. `input` is the bytes of the
    /// subtree, and `chunk` the number of its first chunk in the whole input.
    ///
    /// An empty input, or one that is too long to be a subtree there, is an error.
    pub fn subtree(
        &self,
        mode: &Mode,
        input: impl Into<Slice>,
        chunk: u64,
    ) -> Pending<[u8; OUT_LEN]> {
        let input = input.into();
        Pending::of((|| {
            check_subtree(input.len(), chunk)?;
            let Reduced { mut work, scratch, out } =
                self.reduce(mode, Kind::Subtree, &[tree(input, chunk, 0)], None)?;
            work.read(&out)?;
            self.job(work, scratch, |read| digest(&read[0]))
        })())
    }

    /// `len` bytes of extended output from byte `position` on.
    pub fn xof(
        &self,
        mode: &Mode,
        input: impl Into<Slice>,
        position: u64,
        len: usize,
    ) -> Pending<Vec<u8>> {
        let input = input.into();
        Pending::of((|| {
            let block = BLOCK_LEN as u64;
            let skip = position % block;
            let blocks = (skip + len as u64).div_ceil(block).max(1);
            let out = self.scratch(blocks * block)?;
            let region = out.region.clone();
            let (mut work, mut scratch) =
                self.extend(mode, &[input], position / block, blocks, &region)?;
            work.read(&region)?;
            scratch.push(out);
            let range = skip as usize..skip as usize + len;
            self.job(work, scratch, move |read| Ok(read[0][range].to_vec()))
        })())
    }

    /// Extended output of many inputs, which stays on the device: `blocks` blocks of 64 bytes of each
    /// from block `first` on, side by side from the start of `out`, which must start at a multiple of
    /// 4 bytes.
    pub fn xof_to(
        &self,
        mode: &Mode,
        inputs: &[Slice],
        first: u64,
        blocks: u32,
        out: &Slice,
    ) -> Pending<()> {
        Pending::of((|| {
            check_words(&out.region, "the place for the output")?;
            let len = inputs.len() as u64 * u64::from(blocks) * BLOCK_LEN as u64;
            check_room(out, len)?;
            let region = Region { len, ..out.region.clone() };
            if len == 0 {
                return self.job(self.work()?, Vec::new(), |_| Ok(()));
            }
            let (work, scratch) = self.extend(mode, inputs, first, u64::from(blocks), &region)?;
            self.job(work, scratch, |_| Ok(()))
        })())
    }

    /// A reader of extended output of any length, which the CPU makes: of an input of more than one
    /// chunk only the root's 64 bytes come to the host, of a shorter one all of it.
    pub fn output_reader(&self, mode: &Mode, input: impl Into<Slice>) -> Pending<OutputReader> {
        let (input, mode) = (input.into(), *mode);
        Pending::of((|| {
            if input.len() <= CHUNK_LEN as u64 {
                let mut work = self.work()?;
                if !input.is_empty() {
                    work.read(&input.region)?;
                }
                return self.job(work, Vec::new(), move |read| {
                    let bytes = read.first().map_or(&[][..], |read| read);
                    Ok(Hasher::with_mode(mode).update(bytes).finalize_xof())
                });
            }
            let len = input.len();
            let Reduced { mut work, scratch, out } =
                self.reduce(&mode, Kind::Node, &[tree(input, 0, 0)], None)?;
            work.read(&out)?;
            self.job(work, scratch, move |read| {
                let (left, right) = (digest(&read[0][32..64])?, digest(&read[0][64..96])?);
                Ok(Root::of_halves(&mode, len, left, right).output())
            })
        })())
    }

    /// The digests of many inputs, wherever they lie, in few launches: side by side, small ones and
    /// large ones.
    pub fn list(&self, mode: &Mode, inputs: &[Slice]) -> Pending<Vec<Hash>> {
        if inputs.is_empty() {
            return Pending::ready(Ok(Vec::new()));
        }
        Pending::of((|| {
            let Reduced { mut work, scratch, out } =
                self.reduce(mode, Kind::Digest, &trees(inputs)?, None)?;
            work.read(&out)?;
            self.job(work, scratch, |read| hashes(&read[0]))
        })())
    }

    /// Hashes as [`list`](Self::list), but the digests stay on the device: 32 bytes each, side by side from
    /// the start of `out`, which must start at a multiple of 4 bytes.
    pub fn list_to(&self, mode: &Mode, inputs: &[Slice], out: &Slice) -> Pending<()> {
        Pending::of((|| {
            check_words(&out.region, "the place for the digests")?;
            check_room(out, CV * inputs.len() as u64)?;
            if inputs.is_empty() {
                return self.job(self.work()?, Vec::new(), |_| Ok(()));
            }
            let region = Region { len: CV * inputs.len() as u64, ..out.region.clone() };
            let Reduced { work, scratch, .. } =
                self.reduce(mode, Kind::Digest, &trees(inputs)?, Some(region))?;
            self.job(work, scratch, |_| Ok(()))
        })())
    }

    /// Work that reduces each input to a result of that kind, in `out` or in scratch memory.
    pub(crate) fn reduce(
        &self,
        mode: &Mode,
        kind: Kind,
        inputs: &[Input],
        out: Option<Region>,
    ) -> Result<Reduced, Error> {
        let mut work = self.work()?;
        let (scratch, out) = self.reduce_in(&mut *work, mode, kind, inputs, out)?;
        Ok(Reduced { work, scratch, out })
    }

    /// As [`reduce`](Self::reduce), after what is in `work`.
    pub(crate) fn reduce_in(
        &self,
        work: &mut dyn Work,
        mode: &Mode,
        kind: Kind,
        inputs: &[Input],
        out: Option<Region>,
    ) -> Result<(Vec<Scratch>, Region), Error> {
        let [first, second] = plan::scratch(inputs);
        let mut scratch = vec![self.scratch(first)?, self.scratch(second)?];
        let out = match out {
            Some(out) => out,
            None => {
                let len = if kind == Kind::Node { NODE } else { CV } * inputs.len() as u64;
                let out = self.scratch(len)?;
                let region = out.region.clone();
                scratch.push(out);
                region
            }
        };
        let values = [&scratch[0].region, &scratch[1].region];
        for launch in plan::reduce(self.info(), self.one_launch, mode, kind, inputs, values, &out)?
        {
            work.launch(&launch)?;
        }
        Ok((scratch, out))
    }

    /// Work that writes extended output of all inputs.
    fn extend(
        &self,
        mode: &Mode,
        inputs: &[Slice],
        position: u64,
        blocks: u64,
        out: &Region,
    ) -> Result<(Box<dyn Work>, Vec<Scratch>), Error> {
        let Reduced { mut work, scratch, out: nodes } =
            self.reduce(mode, Kind::Node, &trees(inputs)?, None)?;
        for launch in plan::xof(self.info(), mode, &nodes, position, blocks, out) {
            work.launch(&launch)?;
        }
        Ok((work, scratch))
    }
}

pub(crate) fn tree(input: Slice, counter: u64, to: u32) -> Input {
    let Region { memory, at, len } = input.region;
    Input { memory, at, len, counter, to }
}

fn trees(inputs: &[Slice]) -> Result<Vec<Input>, Error> {
    check_count(inputs.len())?;
    Ok(inputs.iter().zip(0..).map(|(input, to)| tree(input.clone(), 0, to)).collect())
}

/// Places of results have 32 bits.
pub(crate) fn check_count(inputs: usize) -> Result<(), Error> {
    match u32::try_from(inputs) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::new(ErrorKind::TooLarge, "more than 2^32 inputs in one call")),
    }
}

/// Checks that there are `len` bytes at `out`.
pub(crate) fn check_room(out: &Slice, len: u64) -> Result<(), Error> {
    if out.len() >= len {
        return Ok(());
    }
    let has = out.len();
    Err(Error::invalid(format_args!("{len} bytes of results, but the place has {has}")))
}

pub(super) fn check_subtree(len: u64, chunk: u64) -> Result<(), Error> {
    if len == 0 {
        return Err(Error::invalid("an empty input is not a subtree"));
    }
    let Some(offset) = chunk.checked_mul(CHUNK_LEN as u64) else {
        return Err(Error::invalid(format_args!("chunk {chunk} is beyond any input")));
    };
    match hazmat::max_subtree_len(offset) {
        Some(most) if len > most => Err(Error::invalid(format_args!(
            "{len} bytes from chunk {chunk} on are not a subtree: at most {most} are"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn digest(bytes: &[u8]) -> Result<[u8; OUT_LEN], Error> {
    bytes.try_into().map_err(|_| Error::new(ErrorKind::Lost, "a result of the wrong length"))
}

fn hash(bytes: &[u8]) -> Result<Hash, Error> {
    digest(bytes).map(Hash::from_bytes)
}

pub(crate) fn hashes(bytes: &[u8]) -> Result<Vec<Hash>, Error> {
    Ok(bytes.as_chunks().0.iter().map(|bytes| Hash::from_bytes(*bytes)).collect())
}
