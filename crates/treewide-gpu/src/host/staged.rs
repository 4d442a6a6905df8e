//! Bytes of the host, files and streams: like a hasher, on a device.

use crate::device::Device;
use crate::error::{Error, ErrorKind};
use crate::host::ring::{Places, Ring, TAIL};
use crate::root::{CHUNK, Root};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use treewide::{Hash, Hasher, Mode, OutputReader};

/// Bytes that one thread copies, or reads, at a time.
const PIECE: usize = 1 << 20;

/// Hashes bytes of the host as they come: like [`treewide::Hasher`], on a device.
///
/// ```
/// # fn main() -> Result<(), treewide_gpu::Error> {
/// use treewide_gpu::{Device, Mode, Staged, TwinLimits};
///
/// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
/// let mut staged = Staged::new(&device, &Mode::PLAIN);
/// staged.update(b"foo")?;
/// staged.update(b"barbaz")?;
/// assert_eq!(staged.finalize()?, treewide::hash(b"foobarbaz"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Staged {
    places: Box<Places>,
    /// What went wrong first: nothing can be added after it.
    failed: Option<Error>,
}

impl Staged {
    /// Nothing hashed yet.
    pub fn new(device: &Device, mode: &Mode) -> Self {
        Self { places: Box::new(Places::new(device, mode, Ring::default())), failed: None }
    }

    /// Uses another ring than the default.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if [`Ring`] does not allow it, or something was hashed already.
    pub fn ring(mut self, ring: Ring) -> Result<Self, Error> {
        ring.check()?;
        if self.count() > 0 {
            return Err(Error::invalid("a ring is set before anything is hashed"));
        }
        self.places.set_ring(ring);
        Ok(self)
    }

    /// Bytes so far.
    pub fn count(&self) -> u64 {
        self.places.count()
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// If the device failed, now or before.
    pub fn update(&mut self, bytes: &[u8]) -> Result<&mut Self, Error> {
        self.attempt(|places| add(places, bytes))
    }

    /// Adds all bytes that a reader gives, and returns their number. It reads straight into the ring.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if it cannot be read.
    pub fn update_reader(&mut self, mut reader: impl Read) -> Result<u64, Error> {
        let before = self.count();
        self.attempt(|places| {
            add_by(places, |to| {
                let mut filled = 0;
                while filled < to.len() {
                    match reader.read(&mut to[filled..]) {
                        Ok(0) => break,
                        Ok(read) => filled += read,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(Error::new(ErrorKind::Io, error)),
                    }
                }
                Ok(filled)
            })
        })?;
        Ok(self.count() - before)
    }

    /// Adds `len` bytes of a file from byte `start` on. Many threads read them into the ring.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if the file cannot be read, or ends before.
    pub fn update_file(&mut self, file: &File, start: u64, len: u64) -> Result<&mut Self, Error> {
        let mut done = 0;
        let mut fill = |to: &mut [u8]| {
            let take = usize::try_from(len - done).map_or(to.len(), |left| left.min(to.len()));
            let at = start + done;
            to[..take]
                .par_chunks_mut(PIECE)
                .enumerate()
                .try_for_each(|(i, to)| read_at(file, to, at + (i * PIECE) as u64))
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        format!("it has become shorter: it ends before byte {}", start + len)
                    }
                    _ => error.to_string(),
                })
                .map_err(|cause| Error::new(ErrorKind::Io, cause))?;
            done += take as u64;
            Ok(take)
        };
        self.attempt(|places| add_by(places, &mut fill))
    }

    /// The digest of all bytes.
    ///
    /// # Errors
    /// As of [`update`](Self::update).
    pub fn finalize(self) -> Result<Hash, Error> {
        self.finish().map(|root| root.hash())
    }

    /// A reader of extended output.
    ///
    /// # Errors
    /// As of [`update`](Self::update).
    pub fn finalize_xof(self) -> Result<OutputReader, Error> {
        self.finish().map(|root| root.output())
    }

    fn finish(self) -> Result<Root, Error> {
        self.failed.map_or(Ok(()), Err)?;
        self.places.finish()
    }

    /// Adds something, unless that failed before.
    fn attempt(
        &mut self,
        add: impl FnOnce(&mut Places) -> Result<(), Error>,
    ) -> Result<&mut Self, Error> {
        if self.failed.is_none() {
            self.failed = add(&mut self.places).err();
        }
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(self),
        }
    }
}

fn add(places: &mut Places, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let to = places.room()?;
        let (now, later) = bytes.split_at(to.len().min(bytes.len()));
        to.par_chunks_mut(PIECE)
            .zip(now.par_chunks(PIECE))
            .for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
        places.fill(now.len());
        bytes = later;
    }
    Ok(())
}

/// Adds all bytes that `fill` gives: it fills what it is given, and at the end less than that.
fn add_by(
    places: &mut Places,
    mut fill: impl FnMut(&mut [u8]) -> Result<usize, Error>,
) -> Result<(), Error> {
    loop {
        // Whether a full part is the root shows only when more comes.
        if places.is_one_part() {
            let mut more = [0; CHUNK as usize];
            let filled = fill(&mut more)?;
            add(places, &more[..filled])?;
            if filled < more.len() {
                return Ok(());
            }
            continue;
        }
        let to = places.room()?;
        let wanted = to.len();
        let filled = fill(to)?;
        places.fill(filled);
        if filled < wanted {
            return Ok(());
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, to, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut to: &mut [u8], mut at: u64) -> io::Result<()> {
    while !to.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, to, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                to = &mut to[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Device {
    /// The digest of bytes of the host, through the ring: see [`Staged`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn hash_bytes(&self, mode: &Mode, bytes: &[u8]) -> Result<Hash, Error> {
        if (bytes.len() as u64) < TAIL {
            // It would be the tail, and needs no ring.
            return Ok(Hasher::with_mode(*mode).update(bytes).finalize());
        }
        let mut staged = Staged::new(self, mode);
        staged.update(bytes)?;
        staged.finalize()
    }
}
