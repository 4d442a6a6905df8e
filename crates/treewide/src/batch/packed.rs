//! Blobs in one buffer, with offsets.

use core::fmt;

use super::Blobs;

/// Blobs in one buffer: blob `i` is the bytes from `offsets[i]` up to `offsets[i + 1]`, as in the
/// binary and string arrays of Apache Arrow.
///
/// `n` blobs have `n + 1` offsets; no offsets mean no blobs. The first offset need not be 0, and the last need
/// not be the end of the buffer. Checking the offsets reads them once, and does not read the data.
///
/// ```
/// use treewide::{Batch, batch::Packed};
///
/// let blobs = Packed::new(b"onetwothree", &[0_i32, 3, 6, 11])?;
/// let mut hashes = [treewide::Hash::from_bytes([0; 32]); 3];
/// Batch::new().hash_into(&blobs, &mut hashes);
/// assert_eq!(hashes[2], treewide::hash(b"three"));
///
/// let error = Packed::new(b"onetwothree", &[0_i32, 6, 3, 11]).unwrap_err();
/// assert_eq!(error.index(), 2);
/// # Ok::<(), treewide::batch::OffsetError>(())
/// ```
pub struct Packed<'a, O> {
    data: &'a [u8],
    offsets: &'a [O],
}

impl<'a, O: Offset> Packed<'a, O> {
    /// Makes a list of the blobs of `data` between `offsets`.
    ///
    /// # Errors
    /// If an offset is negative, less than the one before it, or beyond the end of `data`. The error names the
    /// first such offset.
    pub fn new(data: &'a [u8], offsets: &'a [O]) -> Result<Self, OffsetError> {
        let in_order = offsets.windows(2).fold(true, |all, pair| all & (pair[0] <= pair[1]));
        let ends = offsets.first().zip(offsets.last());
        if ends.is_some_and(|(first, last)| {
            !in_order || first.place().is_err() || !last.place().is_ok_and(|at| at <= data.len())
        }) {
            return Err(OffsetError::first(data.len(), offsets));
        }
        Ok(Self { data, offsets })
    }
}

impl<O: Offset> Blobs for Packed<'_, O> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &[u8] {
        let place = |index: usize| self.offsets[index].place().expect("checked");
        &self.data[place(index)..place(index + 1)]
    }
}

impl<O> super::sealed::Sealed for Packed<'_, O> {}

impl<O> Clone for Packed<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for Packed<'_, O> {}

impl<O> fmt::Debug for Packed<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blobs = self.offsets.len().saturating_sub(1);
        f.debug_struct("Packed").field("blobs", &blobs).finish_non_exhaustive()
    }
}

/// The types of offsets in [`Packed`]: `u32`, `u64`, `usize`, `i32` and `i64`.
pub trait Offset: Copy + Ord + fmt::Debug + Send + Sync + super::sealed::Sealed {
    /// Returns the offset as an index.
    #[doc(hidden)]
    fn place(self) -> Result<usize, OffsetProblem>;
}

macro_rules! offsets {
    ($($integer:ty),*) => {$(
        impl super::sealed::Sealed for $integer {}
        impl Offset for $integer {
            #[inline(always)]
            #[allow(unused_comparisons, reason = "some of the types have a sign")]
            fn place(self) -> Result<usize, OffsetProblem> {
                usize::try_from(self).map_err(|_| {
                    if self < 0 { OffsetProblem::Negative } else { OffsetProblem::OutOfRange }
                })
            }
        }
    )*};
}
offsets!(u32, u64, usize, i32, i64);

/// Why [`Packed::new`] refused its offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetError {
    index: usize,
    problem: OffsetProblem,
}

/// Faults of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffsetProblem {
    /// It is less than 0.
    Negative,
    /// It is less than the one before it.
    Decreasing,
    /// It is beyond the end of the buffer.
    OutOfRange,
}

impl OffsetError {
    #[cold]
    fn first<O: Offset>(len: usize, offsets: &[O]) -> Self {
        let mut before = 0;
        for (index, offset) in offsets.iter().enumerate() {
            let problem = match offset.place() {
                Err(problem) => problem,
                Ok(at) if at < before => OffsetProblem::Decreasing,
                Ok(at) if at > len => OffsetProblem::OutOfRange,
                Ok(at) => {
                    before = at;
                    continue;
                }
            };
            return Self { index, problem };
        }
        unreachable!("only offsets with a problem are searched for it")
    }

    /// Returns the index of the first wrong offset.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns what is wrong with it.
    pub fn problem(&self) -> OffsetProblem {
        self.problem
    }
}

impl fmt::Display for OffsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            OffsetProblem::Negative => "is negative",
            OffsetProblem::Decreasing => "is less than the one before it",
            OffsetProblem::OutOfRange => "lies beyond the end of the buffer",
        };
        write!(f, "offset number {} {problem}", self.index)
    }
}

impl core::error::Error for OffsetError {}
