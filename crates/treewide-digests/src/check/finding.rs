//! The verdict on a listed file, or on something in a store.

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected};
use crate::store::Kind;
use std::io::ErrorKind;
use std::path::PathBuf;
use treewide_files::check::Verdict;

/// The outcome for a file or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has the digest.
    Ok,
    /// It has another, or is wrong in another way.
    Failed,
    /// It could not be read, which includes listed files that do not exist.
    Unreadable,
    /// There is no digest to verify it by, or no name to look for.
    Unverified,
    /// It does not exist: a listed file where that is allowed, or an object that is named.
    Missing,
    /// It has no digest, as is usual for such a file: it is listed, or in the place of an object.
    Skipped,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Failed, Self::Unreadable, Self::Unverified, Self::Missing, Self::Skipped];

    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
            Self::Unverified => "unverified",
            Self::Missing => "missing",
            Self::Skipped => "skipped",
        }
    }
}

/// Numbers of files and objects by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(super) of: [u64; Status::ALL.len()],
    /// Lines of lists that are not understood.
    pub malformed: u64,
}

impl Counts {
    /// How many have this status.
    pub fn of(&self, status: Status) -> u64 {
        self.of[status as usize]
    }

    /// All but missing and skipped ones.
    pub fn checked(&self) -> u64 {
        self.of.iter().sum::<u64>() - self.of(Status::Missing) - self.of(Status::Skipped)
    }

    pub(super) fn at(&mut self, status: Status) -> &mut u64 {
        &mut self.of[status as usize]
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.of.iter_mut().zip(other.of).for_each(|(it, more)| *it += more);
        self.malformed += other.malformed;
    }
}

/// A file or object, and the verdict on it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The name as the list has it, if that is read as b3sum reads it.
    pub listed: Option<String>,
    /// The verdict.
    pub status: Status,
    /// The digest that was found.
    pub digest: Option<Vec<u8>>,
    /// The one that it should have. `None` if a line has none, or a length alone.
    pub expected: Option<Vec<u8>>,
    /// The algorithm by which it has the digest, or the only one by which it may have it.
    pub algorithm: Option<Algorithm>,
    /// The algorithms by which it may have it.
    pub candidates: Vec<Algorithm>,
    /// How they are known.
    pub by: Option<By>,
    /// Its length.
    pub bytes: Option<u64>,
    /// The length that it should have.
    pub expected_bytes: Option<u64>,
    /// Why it is not OK; or what else is known of an object that is.
    pub cause: Option<String>,
    /// Whether nothing has this path, although that is not allowed.
    pub is_absent: bool,
    /// The kind of the store that it is in.
    pub store: Option<&'static Kind>,
}

impl Finding {
    /// About something that was not read. A line without a file has the path of its list.
    pub fn unread(
        path: PathBuf,
        status: Status,
        cause: String,
        store: Option<&'static Kind>,
    ) -> Self {
        Self {
            path,
            listed: None,
            status,
            digest: None,
            expected: None,
            algorithm: None,
            candidates: Vec::new(),
            by: store.map(|_| By::Store),
            bytes: None,
            expected_bytes: None,
            cause: Some(cause),
            is_absent: false,
            store,
        }
    }

    /// Makes a finding of the verdict on a listed file.
    pub fn of(path: PathBuf, about: &Expected, verdict: Verdict) -> Self {
        Self::new(path, verdict, Some(about.digest().to_vec()), Some(about), None)
    }

    /// From the verdict on a file that should have one of these digests.
    pub(super) fn new(
        path: PathBuf,
        verdict: Verdict,
        expected: Option<Vec<u8>>,
        about: Option<&Expected>,
        store: Option<&'static Kind>,
    ) -> Self {
        let is_absent = matches!(&verdict, Verdict::Unreadable(cause) if cause.io_kind() == Some(ErrorKind::NotFound));
        let listed = about.and_then(|it| it.listed.clone());
        // A length alone has no digest.
        let expected = expected.filter(|it| about.is_none() || !it.is_empty());
        let (status, bytes, digest, cause) = match verdict {
            Verdict::Ok { bytes } => {
                let remark = about.and_then(|it| it.remark.clone());
                (Status::Ok, Some(bytes), expected.clone(), remark)
            }
            Verdict::Failed { bytes, found } => {
                let cause = about.and_then(|it| it.cause(bytes));
                (Status::Failed, Some(bytes), Some(found).filter(|it| !it.is_empty()), cause)
            }
            // b3sum says only what the system says.
            Verdict::Unreadable(cause) => {
                let of_system = cause.io_error().filter(|_| listed.is_some());
                let cause = of_system.map_or_else(|| cause.to_string(), ToString::to_string);
                (Status::Unreadable, None, None, Some(cause))
            }
            Verdict::Unverified(cause) => (Status::Unverified, None, None, Some(cause)),
            Verdict::Missing => (Status::Missing, None, None, None),
            Verdict::Skipped(cause) => (Status::Skipped, None, None, Some(cause)),
        };
        Self {
            listed,
            digest,
            expected,
            algorithm: about.and_then(Expected::algorithm),
            candidates: about.map_or_else(Vec::new, |it| it.candidates().to_vec()),
            by: about.map(Expected::by),
            bytes,
            expected_bytes: about.and_then(Expected::size_wanted),
            cause,
            is_absent,
            ..Self::unread(path, status, String::new(), store)
        }
    }
}
