//! The counts of one store, and the line that says them.

use super::Check;
use super::finding::{Counts, Status};
use crate::algorithm::Algorithm;
use crate::store::Store;
use crate::wording::{by, count, size};
use std::collections::BTreeMap;
use std::fmt;
use treewide_files::name::shown;

/// The counts of a store.
#[derive(Clone, Debug)]
pub struct StoreTally {
    /// The store.
    pub store: Store,
    check: Check,
    pub(super) counts: Counts,
    pub(super) bytes: u64,
    /// Files in it that are not understood. They count as not verified.
    unknown: u64,
    pub(super) algorithms: Vec<Algorithm>,
    /// What was passed over, and how often.
    passed: BTreeMap<&'static str, u64>,
}

impl StoreTally {
    pub(super) fn new(store: Store, check: Check) -> Self {
        Self {
            store,
            check,
            counts: Counts::default(),
            bytes: 0,
            unknown: 0,
            algorithms: Vec::new(),
            passed: BTreeMap::new(),
        }
    }

    /// Counts something that is not understood.
    pub(super) fn not_understood(&mut self, cause: &str) -> (Status, String) {
        self.unknown += 1;
        (Status::Unverified, format!("not understood: {cause}"))
    }

    /// Counts something that was passed over.
    pub(super) fn pass(&mut self, what: &'static str) {
        *self.passed.entry(what).or_default() += 1;
    }

    /// How many are not what their names say, or are missing and should not be.
    pub(super) fn differ(&self) -> u64 {
        self.wrong() + self.missing()
    }

    /// How many are not what their names say.
    pub(super) fn wrong(&self) -> u64 {
        self.counts.of(Status::Failed)
    }

    /// How many are missing and should not be.
    pub fn missing(&self) -> u64 {
        if self.check.ignore_missing { 0 } else { self.counts.of(Status::Missing) }
    }

    /// Whether nothing is wrong; if that is strict, nothing was skipped either.
    pub fn is_good(&self) -> bool {
        let unknown = self.counts.of(Status::Unreadable) + self.counts.of(Status::Unverified);
        self.differ() + unknown == 0 && !self.is_undetermined()
    }

    /// Advice about objects that are not what their names say.
    pub fn advice(&self) -> Option<String> {
        let (root, advice) = (shown(&self.store.root), self.store.kind.advice);
        (self.wrong() > 0).then(|| format!("{root}: nothing was changed; {advice}"))
    }

    /// Whether something that was skipped is all there is, or counts.
    pub(super) fn is_undetermined(&self) -> bool {
        let is_all = self.counts.of(Status::Ok) == 0;
        self.counts.of(Status::Skipped) > 0 && (self.check.strict || is_all)
    }
}

/// Such as `models: an Ollama store: 214 objects (96.3 GiB), 213 are what their names say, 1 FAILED; 2 unfinished downloads passed
/// over; not checked: whether all objects are there`.
impl fmt::Display for StoreTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bag = self.store.kind.is_complete();
        let [ok, unreadable, unverified, skipped] =
            [Status::Ok, Status::Unreadable, Status::Unverified, Status::Skipped]
                .map(|it| self.counts.of(it));
        let objects = ok + self.wrong();
        let noun = if is_bag { "file" } else { "object" };
        write!(f, "{}: {}", shown(&self.store.root), self.store.kind.shown)?;
        if objects == 0 {
            f.write_str(": nothing to check")?;
        } else {
            let counted = count(objects, noun);
            let ok_of_all = if ok == objects { String::new() } else { format!(", {ok}") };
            let are = if ok == 1 { "is" } else { "are" };
            let named = match (is_bag, ok) {
                (false, 1) => "what its name says",
                (false, _) => "what their names say",
                (true, _) => "as the manifests say",
            };
            let by = match self.algorithms == [Algorithm::BLAKE3] {
                true => ", by BLAKE3".into(),
                false => by(&self.algorithms),
            };
            let bytes = size(self.bytes);
            write!(f, ": {counted} ({bytes}){ok_of_all} {are} {named}{by}")?;
        }
        for (number, word) in [
            (self.wrong(), "FAILED"),
            (self.missing(), "MISSING"),
            (unreadable, "could not be read"),
            (unverified - self.unknown, "not verified"),
            (self.unknown, "not understood"),
            (skipped, "skipped"),
        ] {
            if number > 0 {
                write!(f, ", {number} {word}")?;
            }
        }
        let missing = self.counts.of(Status::Missing);
        if missing > self.missing() {
            write!(f, "; {} ignored", count(missing, &format!("missing {noun}")))?;
        }
        for (what, number) in self.passed.iter().filter(|(what, _)| !what.is_empty()) {
            write!(f, "; {what} passed over: {number}")?;
        }
        for (place, to) in self.store.links() {
            write!(f, "; {} leads to {}", shown(&place), shown(&to))?;
        }
        match self.store.kind.followed {
            _ if is_bag || objects == 0 => Ok(()),
            "" => f.write_str("; not checked: whether all objects are there"),
            followed => {
                // What is damaged, or not understood, may name more.
                let is_all = self.wrong() + unverified + skipped + unreadable == 0;
                let all = if is_all { " all" } else { "" };
                write!(f, "; looked for{all} objects named in {followed}")
            }
        }
    }
}
