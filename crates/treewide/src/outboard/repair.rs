//! Puts the bad groups of the data right, from a copy.

use core::ops::{Range, RangeBounds};

use super::find::Finder;
use super::nodes::hash_group;
use super::verify::{Found, State};
use super::{Error, IoError, Outboard, ReadAt, WriteAt};

/// What came of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The bytes that are right again.
    pub repaired: Vec<Range<u64>>,
    /// What is still not verified: groups that are bad in the copy too, groups that are unknown because the outboard is broken, and
    /// bytes behind the end.
    pub left: Vec<Found>,
}

impl<S: ReadAt> Outboard<S> {
    /// Finds the bad groups of `data` in `range`, and writes them from `copy`. Each group of the copy is verified before it is written,
    /// and read and verified again afterwards. Nothing else is written, and of the copy nothing else is read.
    ///
    /// If it is interrupted, call it again. Bytes behind the end stay; they are in [`Repair::left`].
    ///
    /// ```
    /// use treewide::Mode;
    /// use treewide::outboard::{self, Group, Layout, Order, Outboard};
    ///
    /// let copy = vec![7; 1_000_000];
    /// let (digest, pairs) = outboard::create(&copy, Group::IROH, Order::Pre, Mode::PLAIN);
    /// let layout = Layout::new(1_000_000, Group::IROH, Order::Pre);
    /// let outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
    /// let mut data = copy.clone();
    /// data[500_000] ^= 1;
    /// let repair = outboard.repair(&mut data, &copy, ..)?;
    /// assert_eq!(repair.repaired, [491_520..507_904]);
    /// assert!(repair.left.is_empty() && data == copy);
    /// # Ok::<(), outboard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Data`] if the data cannot be read or written, [`Error::Copy`] if the copy cannot be read, except where it ends early;
    /// [`Error::Outboard`].
    pub fn repair(
        &self,
        data: &mut (impl ReadAt + WriteAt),
        copy: &(impl ReadAt + ?Sized),
        range: impl RangeBounds<u64>,
    ) -> Result<Repair, Error> {
        let found: Vec<Found> = self.damage(&*data, range).collect::<Result<_, _>>()?;
        let mut finder = Finder::new(self);
        let mut repair = Repair::default();
        let mut buffer = Vec::new();
        for found in found {
            if found.state != State::Bad {
                repair.left.push(found);
                continue;
            }
            for group in self.layout.groups_of(&found.range) {
                let span = self.layout.group_range(group);
                let (node, hash) = finder.find(group, 1)?.expect("a group is a node");
                buffer.resize((span.end - span.start) as usize, 0);
                let is_right =
                    |buffer: &[u8]| hash_group(buffer, &self.layout, node, &self.mode) == hash;
                let mut is_repaired = false;
                if read(copy, &mut buffer, span.start).map_err(Error::Copy)? && is_right(&buffer) {
                    data.write_all_at(&buffer, span.start).map_err(Error::Data)?;
                    buffer.fill(0);
                    is_repaired = read(&*data, &mut buffer, span.start).map_err(Error::Data)?
                        && is_right(&buffer);
                }
                match is_repaired {
                    true => push(&mut repair.repaired, span),
                    false => repair.left.push(Found { range: span, state: State::Bad }),
                }
            }
        }
        if !repair.repaired.is_empty() {
            data.sync().map_err(Error::Data)?;
        }
        Ok(repair)
    }
}

/// Fills `buffer`, or says that the bytes end before that.
fn read(bytes: &(impl ReadAt + ?Sized), buffer: &mut [u8], at: u64) -> Result<bool, IoError> {
    match bytes.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.is_end() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds a range, or makes the last one longer.
fn push(ranges: &mut Vec<Range<u64>>, next: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}
