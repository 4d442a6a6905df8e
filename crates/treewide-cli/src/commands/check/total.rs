//! The counts of all lists and stores, and the line that says them.

use super::algorithms::by;
use super::stores::Checked;
use crate::shell::outcome::Outcome;
use crate::shell::wording::count;
use treewide_digests::Algorithm;
use treewide_files::check::Tally;

/// What became of all lists.
#[derive(Default)]
pub(super) struct Total {
    pub(super) lines: Tally,
    /// Files that could not be read because they do not exist.
    pub(super) absent: u64,
    /// Lists that could not be read, seem to be cut off, or by which nothing was verified.
    bad_lists: u64,
    /// Lists that were read to their end, or were to be.
    lists: u64,
    /// Of stores: what is wrong or not there, and what makes it undetermined.
    wrong_in_stores: u64,
    undetermined_in_stores: u64,
    ok_in_stores: u64,
    stores: u64,
    /// The algorithms by which files are as listed.
    algorithms: Vec<Algorithm>,
}

impl Total {
    pub(super) fn add(&mut self, list: &Tally, is_bad: bool) {
        self.lines.ok += list.ok;
        self.lines.failed += list.failed;
        self.lines.unreadable += list.unreadable;
        self.lines.unverified += list.unverified;
        self.lines.missing += list.missing;
        self.lines.malformed += list.malformed;
        self.bad_lists += u64::from(is_bad);
        self.lists += 1;
    }

    /// A store was checked.
    pub(super) fn add_store(&mut self, store: &Checked, strict: bool) {
        let wrong = store.differ();
        self.wrong_in_stores += wrong;
        self.undetermined_in_stores += store.are_unknown();
        self.ok_in_stores += store.ok;
        self.stores += 1;
        self.undetermined_in_stores += u64::from(wrong == 0 && store.is_undetermined(strict));
    }

    /// A directory was not a store.
    pub(super) fn add_no_store(&mut self) {
        self.undetermined_in_stores += 1;
    }

    /// Whether there were stores, and no object in them that could be checked.
    pub(super) fn is_nothing_known(&self) -> bool {
        self.stores > 0 && self.ok_in_stores + self.wrong_in_stores == 0
    }

    /// Whether there was a list.
    pub(super) fn has_lists(&self) -> bool {
        self.lists > 0
    }

    /// A file is as listed by this algorithm.
    pub(super) fn shown_by(&mut self, algorithm: Option<Algorithm>) {
        if let Some(algorithm) = algorithm
            && !self.algorithms.contains(&algorithm)
        {
            self.algorithms.push(algorithm);
        }
    }

    /// As `verify` has it for the same event: a file that is gone differs, and one that cannot be read is undetermined.
    pub(super) fn outcome(&self, strict: bool) -> Outcome {
        let lines = &self.lines;
        let undetermined = u64::from(self.is_nothing_known()) + lines.unreadable - self.absent
            + lines.unverified
            + self.bad_lists
            + self.undetermined_in_stores;
        if undetermined > 0 || strict && lines.malformed > 0 {
            Outcome::CannotTell
        } else {
            Outcome::of(lines.failed + self.absent + self.wrong_in_stores)
        }
    }

    /// Such as `4 files checked: 1 OK, 1 FAILED, 1 missing, 1 could not be read; 2 malformed lines; 1 list
    /// failed`.
    pub(super) fn summary(&self) -> String {
        let lines = &self.lines;
        let mut text = format!("{} checked: {} OK", count(lines.checked(), "file"), lines.ok);
        if lines.ok > 0 {
            text += &by(&self.algorithms);
        }
        if lines.failed > 0 {
            text += &format!(", {} FAILED", lines.failed);
        }
        if self.absent > 0 {
            text += &format!(", {} missing", self.absent);
        }
        if lines.unreadable > self.absent {
            text += &format!(", {} could not be read", lines.unreadable - self.absent);
        }
        if lines.unverified > 0 {
            text += &format!(", {} not verified", lines.unverified);
        }
        if lines.missing > 0 {
            text += &format!("; {} ignored", count(lines.missing, "missing file"));
        }
        if lines.malformed > 0 {
            text += &format!("; {}", count(lines.malformed, "malformed line"));
        }
        if self.bad_lists > 0 {
            text += &format!("; {} failed", count(self.bad_lists, "list"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_names_algorithms_and_their_weakness() {
        use Algorithm as A;
        for (algorithms, text) in [
            (&[][..], ""),
            (&[A::BLAKE3], ""),
            (&[A::SHA256], ", by SHA-256"),
            (&[A::BLAKE3, A::SHA256], ", by BLAKE3 and SHA-256"),
            (&[A::MD5], ", by MD5, which proves nothing against intent"),
            (&[A::BLAKE3, A::SHA256, A::SHA512], ", by BLAKE3, SHA-256 and SHA-512"),
            (&[A::MD5, A::SHA1], ", by MD5 and SHA-1, which prove nothing against intent"),
            (&[A::SHA256, A::MD5], ", by SHA-256 and MD5 (MD5 proves nothing against intent)"),
        ] {
            assert_eq!(by(algorithms), text);
        }
    }
}
