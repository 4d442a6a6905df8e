//! The counts of all lists and stores, the verdict on them, and the line that says them.

use super::Check;
use super::finding::{Counts, Finding, Status};
use super::stores::StoreTally;
use crate::algorithm::Algorithm;
use crate::wording::{by, count};
use std::fmt;

/// The counts of all lists and stores.
#[derive(Clone, Debug, Default)]
pub struct Total {
    check: Check,
    /// Counts of all lists.
    pub lines: Counts,
    /// Listed files that could not be read because they do not exist.
    pub absent: u64,
    /// Whether some files may count more than once, because a list names too many.
    pub(super) has_lines: bool,
    /// Lists that could not be read, seem to be cut off, or by which nothing was verified.
    bad_lists: u64,
    /// Lists that were read to their end, or were to be.
    lists: u64,
    /// Of all stores, and of directories that are not stores.
    in_stores: Counts,
    stores: u64,
    /// Stores in which nothing is wrong, and something was skipped that counts.
    undetermined_stores: u64,
    /// The algorithms by which files are as listed.
    pub(super) algorithms: Vec<Algorithm>,
}

impl Total {
    pub(super) fn new(check: Check) -> Self {
        Self { check, ..Self::default() }
    }

    pub(super) fn add(&mut self, list: &Counts, is_bad: bool) {
        self.lines.add(list);
        self.bad_lists += u64::from(is_bad);
        self.lists += 1;
    }

    /// The total of listed files: `ok` are as listed by these algorithms, and the others are not. Findings about a file follow
    /// each other, and the first counts.
    pub fn of(ok: u64, algorithms: &[Algorithm], others: &[Finding]) -> Self {
        let mut total = Self { algorithms: algorithms.to_vec(), ..Self::new(Check::default()) };
        let mut counts = Counts::default();
        *counts.at(Status::Ok) = ok;
        for finding in others.chunk_by(|a, b| a.path == b.path).filter_map(<[_]>::first) {
            *counts.at(finding.status) += 1;
            total.absent += u64::from(finding.is_absent);
        }
        total.add(&counts, counts.checked() == 0);
        total
    }

    /// A store was checked.
    pub(super) fn add_store(&mut self, store: &StoreTally) {
        self.in_stores.add(&store.counts);
        self.stores += 1;
        self.undetermined_stores += u64::from(store.differ() == 0 && store.is_undetermined());
    }

    /// A directory was not a store, or could not be looked at.
    pub(super) fn add_place(&mut self, status: Status) {
        *self.in_stores.at(status) += 1;
    }

    /// How many files and objects have each status. A file with several digests counts once.
    pub fn counts(&self) -> Counts {
        let mut counts = self.lines;
        counts.add(&self.in_stores);
        counts
    }

    /// Whether there were stores, and no object in them that could be checked.
    pub fn is_nothing_known(&self) -> bool {
        self.stores > 0 && self.in_stores.of(Status::Ok) + self.wrong_in_stores() == 0
    }

    /// Listed files, and places, that were skipped, which counts if that is strict.
    fn skipped(&self) -> u64 {
        if self.check.strict { self.counts().of(Status::Skipped) } else { 0 }
    }

    fn wrong_in_stores(&self) -> u64 {
        let missing = self.in_stores.of(Status::Missing);
        let missing = if self.check.ignore_missing { 0 } else { missing };
        self.in_stores.of(Status::Failed) + missing
    }

    /// Whether there was a list.
    pub fn has_lists(&self) -> bool {
        self.lists > 0
    }

    /// Whether it is known of everything if it is as recorded. As `verify` has it for the same event: a file that is gone differs, and
    /// one that cannot be read is undetermined.
    pub fn is_certain(&self) -> bool {
        let lines = &self.lines;
        let undetermined = u64::from(self.is_nothing_known()) + lines.of(Status::Unreadable)
            - self.absent
            + lines.of(Status::Unverified)
            + lines.malformed
            + self.bad_lists
            + self.in_stores.of(Status::Unreadable)
            + self.in_stores.of(Status::Unverified)
            + self.undetermined_stores
            + self.skipped();
        let has_checked = self.lists + self.stores > 0;
        has_checked && undetermined == 0
    }

    /// Whether something is not as recorded.
    pub fn differs(&self) -> bool {
        self.lines.of(Status::Failed) + self.absent + self.wrong_in_stores() > 0
    }

    /// Whether everything is as recorded, and that is certain.
    pub fn is_good(&self) -> bool {
        self.is_certain() && !self.differs()
    }
}

/// Of lists, such as `4 files checked: 1 OK, 1 FAILED, 1 missing, 1 could not be read; 2 lines not understood; 1 list failed`.
impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = &self.lines;
        let noun = if self.has_lines { "line" } else { "file" };
        write!(f, "{} checked: {} OK", count(lines.checked(), noun), lines.of(Status::Ok))?;
        if lines.of(Status::Ok) > 0 {
            f.write_str(&by(&self.algorithms))?;
        }
        for (number, what) in [
            (lines.of(Status::Failed), "FAILED"),
            (self.absent, "missing"),
            (lines.of(Status::Unreadable) - self.absent, "could not be read"),
            (lines.of(Status::Unverified), "not verified"),
        ] {
            if number > 0 {
                write!(f, ", {number} {what}")?;
            }
        }
        let (missing, skipped) = (lines.of(Status::Missing), lines.of(Status::Skipped));
        if missing > 0 {
            write!(f, "; {} ignored", count(missing, "missing file"))?;
        }
        if skipped > 0 {
            write!(f, "; {skipped} skipped")?;
        }
        if lines.malformed > 0 {
            write!(f, "; {} not understood", count(lines.malformed, "line"))?;
        }
        if self.bad_lists > 0 {
            write!(f, "; {} failed", count(self.bad_lists, "list"))?;
        }
        Ok(())
    }
}
