//! Puts the bad groups of the data right, from a copy.

use core::ops::{Bound, Range, RangeBounds};

use super::error::{Error, IoError};
use super::find::Finder;
use super::flaw::{Flaw, FlawKind};
use super::io::{ReadAt, WriteAt};
use super::nodes::hash_group;
use super::stored::Outboard;

/// Result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The bytes that are right again.
    pub repaired: Vec<Range<u64>>,
    /// Bytes that are still not verified: groups that are bad in the copy too, groups that are unknown because the outboard is broken, and
    /// bytes past the end.
    pub left: Vec<Flaw>,
}

/// Result for a group, or for some neighbours: [`Outboard::repair_each`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mended {
    /// These bytes are right again.
    Repaired(Range<u64>),
    /// This is still not verified, as in [`Repair::left`].
    Left(Flaw),
}

impl<S: ReadAt> Outboard<S> {
    /// Finds the bad groups of `data` in `range`, and writes them from `copy`. Each group of the copy is verified before it is written,
    /// and read and verified again afterwards. Nothing else is written, and of the copy nothing else is read.
    ///
    /// If it is interrupted, call it again. Bytes past the end stay; they are in [`Repair::left`].
    ///
    /// ```
    /// use treewide::Mode;
    /// use treewide::outboard::{self, Group, Layout, Outboard};
    ///
    /// let copy = vec![7; 1_000_000];
    /// let (digest, pairs) = outboard::create(&copy, Group::IROH, Mode::PLAIN);
    /// let layout = Layout::new(1_000_000, Group::IROH);
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
        let mut repair = Repair::default();
        self.repair_each(data, copy, range, |mended| match mended {
            Mended::Repaired(range) => repair.repaired.push(range),
            Mended::Left(found) => repair.left.push(found),
        })?;
        Ok(repair)
    }

    /// Repairs like [`repair`](Self::repair), in bounded memory: results go to `each`, in order.
    ///
    /// # Errors
    /// As [`repair`](Self::repair).
    pub fn repair_each(
        &self,
        data: &mut (impl ReadAt + WriteAt),
        copy: &(impl ReadAt + ?Sized),
        range: impl RangeBounds<u64>,
        mut each: impl FnMut(Mended),
    ) -> Result<(), Error> {
        let mut start = range.start_bound().cloned();
        let mut finder = Finder::new(self);
        let mut repaired: Option<Range<u64>> = None;
        let (mut buffer, mut has_written, mut done) = (Vec::new(), false, 0);
        loop {
            let bounds = (start, range.end_bound().cloned());
            // Past the end, the last group is looked at once more.
            let is_new = |found: &Result<Flaw, Error>| {
                found.as_ref().map_or(true, |found| found.range.end > done)
            };
            let some = self.damage(&*data, bounds).filter(is_new).take(TOGETHER);
            let some: Vec<Flaw> = some.collect::<Result<_, _>>()?;
            for found in &some {
                if found.kind != FlawKind::Bad {
                    repaired.take().into_iter().for_each(|range| each(Mended::Repaired(range)));
                    each(Mended::Left(found.clone()));
                    continue;
                }
                for group in self.layout.groups_of(&found.range) {
                    let span = self.layout.group_range(group);
                    let (node, hash) = finder.find(group, 1)?.expect("a group is a node");
                    buffer.resize((span.end - span.start) as usize, 0);
                    let is_right =
                        |buffer: &[u8]| hash_group(buffer, &self.layout, node, &self.mode) == hash;
                    let mut is_repaired = false;
                    if read(copy, &mut buffer, span.start).map_err(Error::Copy)?
                        && is_right(&buffer)
                    {
                        data.write_all_at(&buffer, span.start).map_err(Error::Data)?;
                        has_written = true;
                        buffer.fill(0);
                        is_repaired = read(&*data, &mut buffer, span.start).map_err(Error::Data)?
                            && is_right(&buffer);
                    }
                    match &mut repaired {
                        Some(range) if is_repaired && range.end == span.start => {
                            range.end = span.end
                        }
                        _ => {
                            repaired.take().into_iter().for_each(|it| each(Mended::Repaired(it)));
                            match is_repaired {
                                true => repaired = Some(span),
                                false => {
                                    each(Mended::Left(Flaw { range: span, kind: FlawKind::Bad }))
                                }
                            }
                        }
                    }
                }
            }
            match some.last() {
                Some(last) if some.len() == TOGETHER => done = last.range.end,
                _ => break,
            }
            start = Bound::Included(done);
        }
        repaired.into_iter().for_each(|range| each(Mended::Repaired(range)));
        if has_written {
            data.sync().map_err(Error::Data)?;
        }
        Ok(())
    }
}

/// Ranges that are found before they are repaired, at most. A guess: little memory, and few ways from the root down.
const TOGETHER: usize = 1024;

/// Fills `buffer`, or says that the bytes end before that.
fn read(bytes: &(impl ReadAt + ?Sized), buffer: &mut [u8], at: u64) -> Result<bool, IoError> {
    match bytes.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.is_end() => Ok(false),
        Err(error) => Err(error),
    }
}
