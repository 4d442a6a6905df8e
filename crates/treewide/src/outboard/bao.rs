//! The outboard files of `bao`: the length of the data in 8 bytes, little-endian, and after it the pairs in pre-order, of groups of
//! one chunk.

use super::error::{Error, IoError};
use super::io::{ReadAt, WriteAt};
use super::layout::{Group, Layout, Order};

/// Bytes in front of the pairs.
const HEADER: u64 = 8;

/// The pairs of an outboard file of bao, as a store for the functions of this module.
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, BaoFile};
///
/// let data = vec![7; 10_000];
/// let mut file = Vec::new();
/// let (layout, mut pairs) = BaoFile::create(&mut file, data.len() as u64)?;
/// let digest = outboard::create_at(&data, &layout, Mode::PLAIN, &mut pairs)?;
/// assert_eq!(file.len(), 8 + 9 * 64);
/// let (read, pairs) = BaoFile::open(&file)?;
/// assert_eq!(read, layout);
/// # Ok::<(), outboard::Error>(())
/// ```
///
/// The length in the file is a claim until the last group is verified.
#[derive(Clone, Debug)]
pub struct BaoFile<S>(S);

impl<S: ReadAt> BaoFile<S> {
    /// Reads the length of the data from `file`.
    ///
    /// # Errors
    /// If the file cannot be read, or has another length than an outboard of such data.
    pub fn open(file: S) -> Result<(Layout, Self), Error> {
        let mut len = [0; HEADER as usize];
        file.read_exact_at(&mut len, 0).map_err(Error::Outboard)?;
        let layout = Layout::new(u64::from_le_bytes(len), Group::BAO, Order::Pre);
        match file.size().map_err(Error::Outboard)? {
            Some(size) if size != HEADER + layout.bytes() => Err(Error::Outboard(IoError::new(
                "the length of the file does not fit the length of the data in its first 8 bytes; it is cut off, or not an outboard of bao",
            ))),
            _ => Ok((layout, Self(file))),
        }
    }
}

impl<S: WriteAt> BaoFile<S> {
    /// Writes the length of the data to `file`. Its pairs are still to be written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(mut file: S, len: u64) -> Result<(Layout, Self), Error> {
        file.write_all_at(&len.to_le_bytes(), 0).map_err(Error::Outboard)?;
        Ok((Layout::new(len, Group::BAO, Order::Pre), Self(file)))
    }

    /// Writes another length of the data. `Outboard::update` writes pairs only: call this after it if the length has changed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_data_len(&mut self, len: u64) -> Result<(), Error> {
        self.0.write_all_at(&len.to_le_bytes(), 0).map_err(Error::Outboard)
    }
}

fn behind_header(at: u64) -> Result<u64, IoError> {
    at.checked_add(HEADER).ok_or(IoError::end(at))
}

impl<S: ReadAt> ReadAt for BaoFile<S> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.0.read_exact_at(buf, behind_header(at)?)
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        Ok(self.0.size()?.map(|size| size.saturating_sub(HEADER)))
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.0.as_slice()?.get(HEADER as usize..)
    }
}

impl<S: WriteAt> WriteAt for BaoFile<S> {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        self.0.write_all_at(buf, behind_header(at)?)
    }

    fn set_size(&mut self, size: u64) -> Result<(), IoError> {
        self.0.set_size(behind_header(size)?)
    }

    fn sync(&mut self) -> Result<(), IoError> {
        self.0.sync()
    }
}
