//! The digest that a file should have, and finding out whether it has it.

use crate::algorithm::{Algorithm, Digester};
use crate::wording::count;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use treewide_files::check::Verdict;
use treewide_files::digest::{self, Digest};
use treewide_files::{ErrorKind, Hashed, Next, Other, Spare};

/// How an algorithm is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The line names it.
    Tag,
    /// The caller does.
    Option,
    /// The list's name does.
    ListName,
    /// The digest has as many bytes.
    Length,
    /// The store has its objects named by it.
    Store,
}

impl By {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Option => "option",
            Self::ListName => "list-name",
            Self::Length => "length",
            Self::Store => "store",
        }
    }
}

/// The algorithm that lines of a list have shown so far: it is tried first. Only time depends on it.
#[derive(Debug)]
pub(crate) struct Shown(AtomicUsize);

impl Default for Shown {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl Shown {
    fn get(&self) -> Option<Algorithm> {
        Algorithm::ALL.get(self.0.load(Relaxed)).copied()
    }

    fn set(&self, algorithm: Algorithm) {
        let place = Algorithm::ALL.iter().position(|it| *it == algorithm);
        self.0.store(place.unwrap_or(usize::MAX), Relaxed);
    }
}

/// Why a file that has its digest says more than is understood.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) cause: String,
    /// Whether that is usual, so that it fails only what is strict.
    pub(crate) is_usual: bool,
}

/// The digest that a file should have by one of some algorithms, or its length alone, and what was found so far.
pub struct Expected {
    digest: Vec<u8>,
    size: Option<u64>,
    by: By,
    candidates: Vec<Algorithm>,
    shown: Option<Arc<Shown>>,
    /// Something else that is known of the file, such as the name that it has elsewhere.
    pub remark: Option<String>,
    pub(crate) doubt: Option<Doubt>,
    /// The name as a list has it that is read as b3sum reads it.
    pub(crate) listed: Option<String>,
    found: Vec<(Algorithm, Vec<u8>)>,
    at_hand: Vec<(Algorithm, Box<dyn Digester>)>,
    /// Whether there is but one reading.
    is_once: bool,
    /// Whether the length of the file is not the one that is expected, once it is known.
    has_other_size: Option<bool>,
    /// Other digests of the same file, which are found in the same reading.
    others: Vec<Expected>,
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expected")
            .field("digest", &digest::hex(&self.digest))
            .field("candidates", &self.candidates)
            .finish_non_exhaustive()
    }
}

impl Expected {
    /// This digest by one of these algorithms.
    pub(crate) fn new(digest: Vec<u8>, by: By, candidates: Vec<Algorithm>) -> Self {
        Self {
            digest,
            size: None,
            by,
            candidates,
            shown: None,
            remark: None,
            doubt: None,
            listed: None,
            found: Vec::new(),
            at_hand: Vec::new(),
            is_once: false,
            has_other_size: None,
            others: Vec::new(),
        }
    }

    /// And this length.
    pub(crate) fn size(self, size: Option<u64>) -> Self {
        Self { size, ..self }
    }

    pub(crate) fn shown(self, shown: &Arc<Shown>) -> Self {
        Self { shown: Some(Arc::clone(shown)), ..self }
    }

    /// Adds a digest that the same file should also have, so that the file is read once. Returns it if one of the two may be a BLAKE3
    /// digest, which is found in another way.
    pub(crate) fn join(&mut self, other: Self) -> Option<Self> {
        let is_other = |it: &Self| !it.candidates.contains(&Algorithm::BLAKE3);
        if !is_other(self) || !is_other(&other) {
            return Some(other);
        }
        self.others.push(other);
        None
    }

    /// Each digest that the file should have.
    fn each(mut self) -> impl Iterator<Item = Self> {
        let others = std::mem::take(&mut self.others);
        std::iter::once(self).chain(others)
    }

    /// The verdict on each digest that the file should have, from the result of a run.
    pub fn verdicts(
        self,
        result: Result<Hashed, ErrorKind>,
        ignore_missing: bool,
    ) -> Vec<(Self, Verdict)> {
        let again = |_: &Self| result.as_ref().map(Clone::clone).map_err(ErrorKind::again);
        let again: Vec<_> = self.others.iter().map(again).collect();
        let results = std::iter::once(result).chain(again);
        let each = self.each().zip(results).map(|(mut it, result)| {
            let verdict = match result {
                Ok(hashed) => {
                    if it.is_blake3_alone() {
                        Self::found(&mut it, Algorithm::BLAKE3, hashed.digest.clone().into_bytes());
                    }
                    it.settled(hashed.bytes)
                }
                Err(error)
                    if ignore_missing && error.io_kind() == Some(io::ErrorKind::NotFound) =>
                {
                    Verdict::Missing
                }
                Err(error) => Verdict::Unreadable(error),
            };
            (it, verdict)
        });
        each.collect()
    }

    /// The verdict on a file with this many bytes, with the digests that were found.
    fn settled(&self, bytes: u64) -> Verdict {
        let has_digest = self.found.iter().any(|(_, found)| self.is(found));
        match has_digest && self.size.is_none_or(|it| it == bytes) {
            true => Verdict::Ok { bytes },
            false => {
                let found = self.found.first().map(|(_, found)| found.clone());
                Verdict::Failed { bytes, found: found.unwrap_or_default() }
            }
        }
    }

    /// The algorithms by which digests are to be found so that [`judge`](Self::judge) has a verdict. Empty if there can be none, as for a
    /// BLAKE3 digest that does not have 32 bytes.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let mut all: Vec<_> = self.of_its_length().collect();
        all.extend(self.others.iter().flat_map(Self::algorithms));
        all
    }

    fn of_its_length(&self) -> impl Iterator<Item = Algorithm> {
        self.candidates.iter().copied().filter(|it| it.digest_len() == self.digest.len())
    }

    /// The verdict on each digest that the file should have, from digests of the file that were found by a [`Wanted`](crate::Wanted).
    pub fn judge(self, bytes: u64, found: &[(Algorithm, Vec<u8>)]) -> Vec<(Self, Verdict)> {
        let each = self.each().filter_map(|mut it| {
            let has_other_size = it.size.is_some_and(|size| size != bytes);
            // A length alone, which is right: the digest is in another line.
            if it.candidates.is_empty() && !has_other_size {
                return None;
            }
            let of_it = |algorithm| found.iter().find(|(found, _)| *found == algorithm).cloned();
            it.found = it.of_its_length().filter_map(of_it).collect();
            let verdict = match it.found.is_empty() && !has_other_size {
                true => Verdict::Unverified(format!(
                    "digest of {} bytes, which only `treewide check` compares",
                    it.digest.len()
                )),
                false => it.settled(bytes),
            };
            Some((it, verdict))
        });
        each.collect()
    }

    /// Finds the digests by all candidates in one reading, because the file is a stream.
    pub fn read_once(&mut self) {
        self.is_once = true;
    }

    /// The digest. Empty for a length alone.
    pub fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// The length, if that is also known.
    pub fn size_wanted(&self) -> Option<u64> {
        self.size
    }

    /// How the algorithm is known.
    pub fn by(&self) -> By {
        self.by
    }

    /// The algorithm by which the file has the digest, or the only one by which it may have it.
    pub fn algorithm(&self) -> Option<Algorithm> {
        match self.candidates[..] {
            [only] => Some(only),
            _ => {
                self.found.iter().find(|(_, found)| self.is(found)).map(|(algorithm, _)| *algorithm)
            }
        }
    }

    /// The algorithms by which the file may have the digest.
    pub fn candidates(&self) -> &[Algorithm] {
        &self.candidates
    }

    /// Why a file that is different is, if that can be said.
    pub fn cause(&self, bytes: u64) -> Option<String> {
        let cause = match self.size {
            Some(size) if size != bytes => {
                Some(format!("{} instead of {size}", count(bytes, "byte")))
            }
            _ if bytes == 0 => Some("empty: 0 bytes".into()),
            _ => None,
        };
        let texts: Vec<_> = cause.into_iter().chain(self.remark.clone()).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    fn is(&self, found: &[u8]) -> bool {
        digest::equal(found, &self.digest)
    }

    /// Whether the run can do all of it by itself.
    fn is_blake3_alone(&self) -> bool {
        self.candidates == [Algorithm::BLAKE3] && self.size.is_none()
    }

    /// Returns what [`treewide_files::Source::other`] does.
    pub fn other(&mut self) -> Option<&mut dyn Other> {
        if self.is_blake3_alone() { None } else { Some(self) }
    }

    pub(crate) fn bytes(&self) -> usize {
        let others: usize = self.others.iter().map(Self::bytes).sum();
        let texts = [&self.remark, &self.listed].into_iter().flatten().map(String::len);
        self.digest.len() + texts.sum::<usize>() + others
    }

    /// The algorithms that are next.
    fn to_try(&self) -> Vec<Algorithm> {
        if self.has_other_size == Some(true) || self.found.iter().any(|(_, found)| self.is(found)) {
            return Vec::new();
        }
        let is_left = |it: &&Algorithm| self.found.iter().all(|(found, _)| found != *it);
        let mut left: Vec<_> = self.candidates.iter().filter(is_left).copied().collect();
        let shown = self.shown.as_ref().and_then(|shown| shown.get());
        left.sort_by_key(|it| Some(*it) != shown);
        left.truncate(if self.is_once { left.len() } else { 1 });
        left
    }

    fn found(&mut self, algorithm: Algorithm, digest: Vec<u8>) {
        if self.is(&digest)
            && let Some(shown) = &self.shown
        {
            shown.set(algorithm);
        }
        self.found.push((algorithm, digest));
    }

    /// The bytes have ended.
    fn end(&mut self) {
        for (algorithm, digester) in std::mem::take(&mut self.at_hand) {
            self.found(algorithm, digester.finish());
        }
    }
}

impl Other for Expected {
    fn next(&mut self) -> Next {
        self.end();
        let of_others = self.others.iter_mut().map(Self::next);
        let wants_more = of_others.fold(false, |found, it| found | (it != Next::Nothing));
        // No candidates: a length alone.
        let wants_size = self.candidates.is_empty() && self.has_other_size.is_none();
        let next = self.to_try();
        let wants_bytes = next.iter().any(|it| *it != Algorithm::BLAKE3);
        match (next.contains(&Algorithm::BLAKE3), wants_bytes || wants_more || wants_size) {
            (true, true) => Next::Both,
            (true, false) => Next::Blake3,
            (false, true) => Next::Bytes,
            (false, false) => Next::Nothing,
        }
    }

    fn blake3(&mut self, digest: &Digest) {
        self.found(Algorithm::BLAKE3, digest.clone().into_bytes());
    }

    fn begin(&mut self, size: u64) -> bool {
        let of_others = self.others.iter_mut().map(|it| it.begin(size));
        let others_begin = of_others.fold(false, |found, it| found | it);
        self.has_other_size = Some(self.size.is_some_and(|it| it != size));
        let begun = self.to_try().into_iter().filter_map(|it| Some((it, it.begin(size)?)));
        self.at_hand = begun.collect();
        !self.at_hand.is_empty() || others_begin
    }

    fn lend(&mut self, spare: &Spare) {
        self.others.iter_mut().for_each(|it| it.lend(spare));
        self.at_hand.iter_mut().for_each(|(_, it)| it.lend(spare));
    }

    fn update(&mut self, bytes: &[u8]) {
        self.others.iter_mut().for_each(|it| it.update(bytes));
        self.at_hand.iter_mut().for_each(|(_, it)| it.update(bytes));
    }
}
