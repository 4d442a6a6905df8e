//! Compares data with a digest, by the outboard between them.

use core::fmt;
use core::ops::{Bound, RangeBounds};

use super::error::Error;
use super::flaw::{Flaw, FlawKind};
use super::io::ReadAt;
use super::stored::Outboard;
use super::walk::Walk;

impl<S: ReadAt> Outboard<S> {
    /// Verifies the bytes of `data` in `range`: the groups that they are in, and no others. Of the outboard it reads the pairs above
    /// them. Up to the end of the data (`..`), it also verifies that there are no bytes past the end: if the size of `data` is not known, it
    /// reads a byte there.
    /// A range that begins past the end stands for the last group, which proves where the end is.
    ///
    /// Long ranges are verified by all threads of the current rayon pool, with the feature `rayon`.
    ///
    /// # Errors
    /// [`Error::Bad`], [`Error::Unknown`] or [`Error::Extra`] with the first bytes that are not verified; an error of reading.
    pub fn verify(
        &self,
        data: &(impl ReadAt + ?Sized),
        range: impl RangeBounds<u64>,
    ) -> Result<(), Error> {
        match self.damage(data, range).next() {
            None => Ok(()),
            Some(found) => Err(found?.error()),
        }
    }

    /// Finds everything in `range` that is not verified, in order. Neighbouring groups in the same state are one item. It reads what
    /// [`verify`](Self::verify) reads.
    ///
    /// # Errors
    /// An item is an error if data or outboard cannot be read, and is the last item then. Bytes that are missing at the end
    /// of either are damage, not an error.
    pub fn damage<'a, D: ReadAt + ?Sized>(
        &'a self,
        data: &'a D,
        range: impl RangeBounds<u64>,
    ) -> Damage<'a, D, S> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        let layout = &self.layout;
        let mut groups = layout.groups_of(&(start..end));
        let to_the_end = matches!(range.end_bound(), Bound::Unbounded) || end > layout.len();
        if groups.is_empty() && to_the_end && (start < end || start == u64::MAX) {
            // That there is nothing is true if the last group ends there. No data is one group, without bytes.
            groups = layout.groups() - 1..layout.groups();
        }
        Damage { walk: Walk::new(self, data, groups), pending: None, look_behind: to_the_end, data }
    }
}

/// Everything that is not verified: [`Outboard::damage`].
pub struct Damage<'a, D: ?Sized, S> {
    walk: Walk<'a, D, S>,
    data: &'a D,
    /// What was found last; the next may continue it.
    pending: Option<Flaw>,
    look_behind: bool,
}

impl<D: ReadAt + ?Sized, S: ReadAt> Damage<'_, D, S> {
    fn next_part(&mut self) -> Option<Result<Flaw, Error>> {
        if let Some(found) = self.walk.next() {
            return Some(found);
        }
        if !core::mem::take(&mut self.look_behind) {
            return None;
        }
        let end = self.walk.len();
        let range = match self.data.size() {
            Ok(Some(size)) if size > end => end..size,
            // Files of `/proc` say that they have no bytes.
            Ok(_) => match self.data.read_exact_at(&mut [0], end) {
                Ok(()) => end..end.saturating_add(1),
                Err(error) if error.is_end() => return None,
                Err(error) => return Some(Err(Error::Data(error))),
            },
            Err(error) => return Some(Err(Error::Data(error))),
        };
        Some(Ok(Flaw { range, kind: FlawKind::Extra }))
    }
}

impl<D: ReadAt + ?Sized, S: ReadAt> Iterator for Damage<'_, D, S> {
    type Item = Result<Flaw, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match (self.next_part(), &mut self.pending) {
                (Some(Ok(next)), Some(found))
                    if next.kind == found.kind && next.range.start == found.range.end =>
                {
                    found.range.end = next.range.end;
                }
                (Some(Ok(next)), _) => {
                    if let Some(found) = self.pending.replace(next) {
                        return Some(Ok(found));
                    }
                }
                (Some(Err(error)), _) => {
                    self.walk.stop();
                    self.look_behind = false;
                    // What was found before comes first, and the error stays for the next call.
                    let Some(found) = self.pending.take() else { return Some(Err(error)) };
                    self.walk.fail(error);
                    return Some(Ok(found));
                }
                (None, _) => return self.pending.take().map(Ok),
            }
        }
    }
}

impl<D: ?Sized, S> fmt::Debug for Damage<'_, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Damage").field("pending", &self.pending).finish_non_exhaustive()
    }
}
