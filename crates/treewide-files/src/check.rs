//! Checking files against a list of their digests.
//!
//! A verdict errs on the side of failure. A name is that name, byte for byte; one that could mean another file is
//! not looked for; a digest
//! too short to be trusted must be asked for; a file that is listed without a digest fails; a list that seems to
//! have lost its end fails; and so does a list by which nothing was verified.

use crate::digest::{self, Extent};
use crate::error::{Error, ErrorKind};
use crate::list::{self, Entry, Fault, Lines, NameIs};
use crate::name;
use crate::options::{Hashed, Options};
use crate::run::Event;
use crate::task::{Item, Kind, Other, Source, Task};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is said where a list stops within a line.
const CUT_OFF: &str = "the list may be cut off here: no line end";

/// Digests of one file that are held together, in bytes. If it has more, it is read again.
const MOST_JOINED: usize = 64 << 10;

/// How a list is checked.
///
/// ```
/// # let dir = std::env::temp_dir().join("treewide-files-doc-check");
/// # std::fs::create_dir_all(&dir).unwrap();
/// # std::fs::write(dir.join("a"), "content").unwrap();
/// # let line = format!("{}  {}\n", treewide::hash(b"content"), dir.join("a").display());
/// # std::fs::write(dir.join("SUMS"), line).unwrap();
/// use treewide_files::check::{Check, Checked, Tally};
/// use treewide_files::{Options, list::Lines};
///
/// let mut tally = Tally::default();
/// for checked in Check::new().run(Lines::open(&dir.join("SUMS"))?, &Options::new()) {
///     let checked = checked?;
///     if let Checked::File { path, verdict, .. } = &checked {
///         println!("{}: {verdict:?}", path.display());
///     }
///     tally.add(&checked);
/// }
/// assert!(tally.is_success());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    digest_len: Option<u64>,
    ignore_missing: bool,
}

/// Verdict on one listed file.
#[derive(Debug)]
pub enum Verdict {
    /// It has the listed digest.
    Ok {
        /// Its length.
        bytes: u64,
    },
    /// It has another digest.
    Failed {
        /// Its length.
        bytes: u64,
        /// Its digest.
        found: Vec<u8>,
    },
    /// It could not be hashed.
    Unreadable(ErrorKind),
    /// It is listed, but without a digest to verify it by or a name to look for. The text says why.
    Unverified(String),
    /// It does not exist, and [`Check::ignore_missing`] allows that.
    Missing,
}

/// Result of a check for a line of the list, other than comments.
#[derive(Debug)]
pub enum Checked {
    /// A line that names a file.
    File {
        /// The file.
        path: PathBuf,
        /// The listed digest, if there is one.
        expected: Option<Vec<u8>>,
        /// Whether the file has it.
        verdict: Verdict,
    },
    /// A line that is not a checksum line, or whose digest is cut off.
    Malformed(Malformed),
}

/// A line of a list that cannot be used.
#[derive(Debug)]
pub struct Malformed {
    /// Its number, counted from 1.
    pub number: u64,
    /// The file that it names all the same.
    pub named: Option<PathBuf>,
    /// The reason.
    pub cause: String,
    /// Whether the list may have been cut off there.
    pub is_cut: bool,
    /// Whether it holds a digest, by which nothing was verified.
    pub has_digest: bool,
}

/// Something in a list that is not a file to hash.
#[derive(Debug)]
pub enum Note {
    /// A listed file that is not looked for, and why.
    Settled {
        /// The file.
        path: PathBuf,
        /// The listed digest, if there is one.
        expected: Option<Vec<u8>>,
        /// [`Verdict::Unverified`] or [`Verdict::Unreadable`].
        verdict: Verdict,
    },
    /// A line that cannot be used.
    Malformed(Malformed),
    /// The list cannot be read any further.
    Unreadable(io::Error),
}

impl Check {
    /// A check of digests of 32 bytes or more, from the start of the extended output.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes that every digest in the list must have. Without this every digest of 32 bytes or more will do.
    pub fn digest_len(self, len: u64) -> Self {
        Self { digest_len: Some(len), ..self }
    }

    /// Whether listed files that do not exist are [passed over](Verdict::Missing).
    pub fn ignore_missing(self, ignore: bool) -> Self {
        Self { ignore_missing: ignore, ..self }
    }

    /// Hashes the files of a list and compares them, in the order of the list.
    ///
    /// Names are relative to the current directory. An error ends the check: the list could not be read
    /// any further, or the run was cancelled.
    pub fn run(
        self,
        list: Lines,
        options: &Options,
    ) -> impl Iterator<Item = Result<Checked, Error>> + use<> {
        let hash_alone = |path: &Path, _: Extent| refuse_stream(path);
        options.run_with(self.source(list), hash_alone).filter_map(move |event| match event {
            Event::File(Task { path, about: expected, .. }, result) => {
                let verdict = self.verdict(result, &expected);
                Some(Ok(Checked::File { path, expected: Some(expected), verdict }))
            }
            Event::Note(Note::Settled { path, expected, verdict }) => {
                Some(Ok(Checked::File { path, expected, verdict }))
            }
            Event::Note(Note::Malformed(line)) => Some(Ok(Checked::Malformed(line))),
            Event::Note(Note::Unreadable(error)) => Some(Err(Error::new("", error.into()))),
            Event::Pause => None,
            Event::Cancelled => Some(Err(Error::new("", ErrorKind::Cancelled))),
        })
    }

    /// The files of a list, for [`Options::run`]. The digest that is listed comes back with each.
    pub fn source(self, list: Lines) -> ListedFiles {
        ListedFiles::new(list, self, self.ignore_missing)
    }

    /// The verdict on a file with this listed digest, from the result of hashing it.
    pub fn verdict(&self, result: Result<Hashed, ErrorKind>, expected: &[u8]) -> Verdict {
        match result {
            Ok(Hashed { digest, bytes, .. }) => {
                let found = digest.into_bytes();
                if digest::equal(&found, expected) {
                    Verdict::Ok { bytes }
                } else {
                    Verdict::Failed { bytes, found }
                }
            }
            Err(error) => {
                let is_missing = error.io_kind() == Some(io::ErrorKind::NotFound);
                if is_missing && self.ignore_missing {
                    Verdict::Missing
                } else {
                    Verdict::Unreadable(error)
                }
            }
        }
    }
}

/// The forms that lines of a list have, and what they say.
pub trait Forms {
    /// The thing that comes back with the result of hashing a file.
    type About: Send + 'static;

    /// What a line says, without its end; `None` if nothing, or nothing yet.
    ///
    /// # Errors
    /// If it cannot be used.
    fn line(&mut self, line: &[u8]) -> Result<Option<Line<Self::About>>, Fault>;

    /// Something more that the last line has said, or all lines together if the list `is_over`.
    fn more(&mut self, is_over: bool) -> Option<Result<Line<Self::About>, Fault>> {
        let _ = is_over;
        None
    }

    /// Whether the list may end within the last line, if that has said nothing, as within a comment.
    fn may_end(&self) -> bool {
        true
    }

    /// Adds `other`, which is known of the same file, to `about`, so that the file is read once. Returns it if that cannot be.
    fn join(about: &mut Self::About, other: Self::About) -> Option<Self::About> {
        let _ = about;
        Some(other)
    }

    /// The bytes of memory that `about` holds.
    fn bytes(about: &Self::About) -> usize;

    /// As [`Source::other`].
    fn other(about: &mut Self::About) -> Option<&mut dyn Other> {
        let _ = about;
        None
    }
}

/// A file that a line names, and its digest.
#[derive(Debug)]
pub struct Line<A> {
    /// Both of them.
    pub entry: Entry,
    /// The bytes of the file's BLAKE3 digest that are to be found.
    pub extent: Extent,
    /// The thing that comes back with the result.
    pub about: A,
    /// Whether the digest may have any length, so that one that is cut off is not seen at the line alone.
    pub has_free_length: bool,
}

/// Lines with BLAKE3 digests. What comes back is the digest.
impl Forms for Check {
    type About = Vec<u8>;

    fn line(&mut self, line: &[u8]) -> Result<Option<Line<Vec<u8>>>, Fault> {
        let Some(entry) = list::parse(line, self.digest_len)? else { return Ok(None) };
        let about = entry.digest.clone();
        Line::blake3(entry, about).map(Some)
    }

    fn bytes(digest: &Vec<u8>) -> usize {
        digest.len()
    }
}

impl<A> Line<A> {
    /// A line with a BLAKE3 digest.
    ///
    /// # Errors
    /// If there is no digest of that length.
    pub fn blake3(entry: Entry, about: A) -> Result<Self, Fault> {
        match Extent::new(0, entry.digest.len() as u64) {
            Ok(extent) => Ok(Self { entry, extent, about, has_free_length: true }),
            Err(error) => Err(Fault::Digest {
                name: entry.name,
                digest: Some(entry.digest),
                cause: error.to_string(),
            }),
        }
    }
}

/// The files of a list, found line by line.
pub struct ListedFiles<F: Forms = Check> {
    forms: F,
    /// What names are relative to; empty for the current directory.
    folder: PathBuf,
    ignore_missing: bool,
    lines: Lines,
    /// The number of the line that was read last, and whether it has no end.
    at: (u64, bool),
    /// Bytes of the digest in the line before.
    previous_len: usize,
    is_over: bool,
    /// What comes after the file that was returned last, which was looked at already.
    ahead: Option<Item<F::About, Note>>,
}

impl<F: Forms> fmt::Debug for ListedFiles<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedFiles").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl<F: Forms> ListedFiles<F> {
    /// The files of a list whose lines have these forms. `ignore_missing` is as in [`Check::ignore_missing`].
    pub fn new(lines: Lines, forms: F, ignore_missing: bool) -> Self {
        Self {
            forms,
            folder: PathBuf::new(),
            ignore_missing,
            lines,
            at: (0, false),
            previous_len: 0,
            is_over: false,
            ahead: None,
        }
    }

    /// Lets names be relative to this folder, with which their paths begin then.
    pub fn relative_to(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// The forms of its lines, and their knowledge of the list so far.
    pub fn forms(&self) -> &F {
        &self.forms
    }

    fn file(&self, line: Line<F::About>, is_endless: bool) -> Item<F::About, Note> {
        let Line { entry, extent, about, .. } = line;
        let found = entry.find_in(&self.folder);
        let Entry { name, digest: expected, .. } = entry;
        match found {
            // A name that is cut off is another name, as a rule that of a file that does not exist.
            Ok(path) if is_endless && self.ignore_missing && list::is_missing(&path) => {
                let cause = format!("no such file; {CUT_OFF}");
                let verdict = Verdict::Unreadable(ErrorKind::Other(cause.into()));
                Item::Note(Note::Settled { path, expected: Some(expected), verdict })
            }
            Ok(path) if self.ignore_missing && holds_line(&name) && list::is_missing(&path) => {
                let cause = String::from("no such file; there may be two lines in one here");
                let verdict = Verdict::Unverified(cause);
                Item::Note(Note::Settled { path, expected: Some(expected), verdict })
            }
            Ok(path) => Item::File(Task { path, kind: Kind::Unknown, extent, about }),
            Err(cause) => {
                let (path, verdict) = (shown_path(&name), Verdict::Unverified(cause.into()));
                Item::Note(Note::Settled { path, expected: Some(expected), verdict })
            }
        }
    }
}

impl<F: Forms> ListedFiles<F> {
    /// The work that a line asks for; `None` if nothing.
    fn item(
        &mut self,
        parsed: Result<Option<Line<F::About>>, Fault>,
    ) -> Option<Item<F::About, Note>> {
        let (number, is_cut) = self.at;
        let malformed = |cause, named, has_digest| {
            let line = Malformed { number, named, cause, is_cut, has_digest };
            Item::Note(Note::Malformed(line))
        };
        let with_cut = |cause| if is_cut { format!("{cause}; {CUT_OFF}") } else { cause };
        Some(match parsed {
            Ok(None) if is_cut && !self.forms.may_end() => malformed(CUT_OFF.into(), None, false),
            Ok(None) => return None,
            // Half of a digest is a digest where it ends the line.
            Ok(Some(Line { entry, has_free_length: true, .. }))
                if is_cut && entry.digest.len() < self.previous_len =>
            {
                let (len, before) = (entry.digest.len(), self.previous_len);
                let cause = format!("digest of {len} bytes after one of {before}; {CUT_OFF}");
                malformed(cause, Some(shown_path(&entry.name)), false)
            }
            Ok(Some(mut line)) => {
                let entry = &mut line.entry;
                self.previous_len = entry.digest.len();
                if self.lines.ends_in_null() {
                    entry.name_is = NameIs::Exact;
                }
                // Windows has no such names.
                if cfg!(unix) && self.lines.had_return() && entry.name_is == NameIs::Loose {
                    entry.others.push([&entry.name[..], b"\r"].concat());
                }
                self.file(line, is_cut)
            }
            Err(Fault::Digest { name, cause, .. }) if name.is_empty() => {
                malformed(with_cut(cause), None, true)
            }
            Err(Fault::Digest { name, digest, cause }) => {
                let (path, verdict) = (shown_path(&name), Verdict::Unverified(cause));
                Item::Note(Note::Settled { path, expected: digest, verdict })
            }
            // What is lost may have been the name of a file, and the names of more.
            Err(Fault::Line(cause)) => malformed(with_cut(cause), None, false),
        })
    }

    fn next_item(&mut self) -> Option<Item<F::About, Note>> {
        loop {
            if let Some(more) = self.forms.more(self.is_over) {
                return self.item(more.map(Some));
            }
            if self.is_over {
                return None;
            }
            let parsed = match self.lines.next() {
                Ok(Some((number, line))) => {
                    self.at.0 = number;
                    self.forms.line(line)
                }
                Ok(None) => {
                    self.is_over = true;
                    continue;
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Item::Note(Note::Unreadable(error)));
                }
            };
            self.at.1 = self.lines.is_endless();
            if let Some(item) = self.item(parsed) {
                return Some(item);
            }
        }
    }
}

impl<F: Forms> Source for ListedFiles<F> {
    type About = F::About;
    type Note = Note;

    fn next(&mut self) -> Option<Item<F::About, Note>> {
        let mut item = self.ahead.take().or_else(|| self.next_item())?;
        // The next lines may be about the same file.
        while let Item::File(task) = &mut item
            && F::bytes(&task.about) < MOST_JOINED
            && !self.lines.may_wait()
            && let Some(next) = self.next_item()
        {
            let Item::File(Task { path, kind, extent, about }) = next else {
                self.ahead = Some(next);
                break;
            };
            let about = match path == task.path && extent == task.extent {
                true => F::join(&mut task.about, about),
                false => Some(about),
            };
            if let Some(about) = about {
                self.ahead = Some(Item::File(Task { path, kind, extent, about }));
                break;
            }
        }
        Some(item)
    }

    fn may_wait(&self) -> bool {
        self.ahead.is_none() && self.lines.may_wait()
    }

    fn bytes(item: &Item<F::About, Note>) -> usize {
        match item {
            Item::File(task) => F::bytes(&task.about),
            Item::Note(note) => note.bytes(),
        }
    }

    fn other(about: &mut F::About) -> Option<&mut dyn Other> {
        F::other(about)
    }
}

impl Note {
    /// The bytes of memory that it holds, for [`Source::bytes`].
    pub fn bytes(&self) -> usize {
        match self {
            Self::Settled { path, verdict, expected } => {
                let cause = if let Verdict::Unverified(cause) = verdict { cause.len() } else { 0 };
                path.as_os_str().len() + cause + expected.as_ref().map_or(0, Vec::len)
            }
            Self::Malformed(line) => line.cause.len(),
            Self::Unreadable(_) => 0,
        }
    }
}

/// An error if `path` is a named pipe, a character device or a socket, for a [`HashAlone`](crate::HashAlone): no list can
/// say what comes out of it, and reading it may have no end (`/dev/zero`). A disk (a block device) has an end, and is read.
pub fn refuse_stream(path: &Path) -> Option<Result<Hashed, ErrorKind>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = std::fs::metadata(path).ok()?.file_type();
        let what = match () {
            _ if kind.is_fifo() => "pipe",
            _ if kind.is_char_device() => "character device",
            _ if kind.is_socket() => "socket",
            _ => return None,
        };
        Some(Err(ErrorKind::Other(format!("is a {what}, which a list cannot vouch for").into())))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Whether a name seems to hold the next line of a list, as after `cat` of lists without a last line end.
fn holds_line(name: &[u8]) -> bool {
    let digits = name.split(|byte| !byte.is_ascii_hexdigit());
    digits.into_iter().any(|digits| digits.len() >= 2 * treewide::OUT_LEN)
}

/// A name as a path, only to be shown: it need not be the right one.
fn shown_path(name: &[u8]) -> PathBuf {
    name::os_path(name).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned().into())
}

/// Counts of the lines of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files that have the listed digest.
    pub ok: u64,
    /// Files that have another.
    pub failed: u64,
    /// Files that could not be hashed.
    pub unreadable: u64,
    /// Files listed without a digest to verify them by, or a name to look for, and lines with a digest alone.
    pub unverified: u64,
    /// Files that do not exist, where that is allowed.
    pub missing: u64,
    /// Lines that cannot be used.
    pub malformed: u64,
    /// Whether the list seems to be cut off.
    pub is_cut: bool,
}

impl Tally {
    /// Counts what a check returned.
    pub fn add(&mut self, checked: &Checked) {
        match checked {
            Checked::File { verdict, .. } => self.add_verdict(verdict),
            Checked::Malformed(line) => self.add_malformed(line),
        }
    }

    /// Counts the verdict on a file.
    pub fn add_verdict(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Ok { .. } => &mut self.ok,
            Verdict::Failed { .. } => &mut self.failed,
            Verdict::Unreadable(_) => &mut self.unreadable,
            Verdict::Unverified(_) => &mut self.unverified,
            Verdict::Missing => &mut self.missing,
        } += 1;
    }

    /// Counts a line that cannot be used.
    pub fn add_malformed(&mut self, line: &Malformed) {
        *if line.has_digest { &mut self.unverified } else { &mut self.malformed } += 1;
        self.is_cut |= line.is_cut;
    }

    /// Listed files, except missing ones.
    pub fn checked(&self) -> u64 {
        self.ok + self.failed + self.unreadable + self.unverified
    }

    /// Whether something was verified, nothing failed, and the list is complete. Malformed lines do not count
    /// here.
    pub fn is_success(&self) -> bool {
        self.ok > 0 && self.ok == self.checked() && !self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_counts_what_a_note_or_a_task_holds() {
        let settled =
            |verdict| Note::Settled { path: "1234".into(), expected: Some(vec![0; 32]), verdict };
        let malformed =
            |cause| Malformed { named: None, number: 1, cause, is_cut: false, has_digest: false };
        for (note, bytes) in [
            (settled(Verdict::Unverified("12345678".into())), 44),
            (settled(Verdict::Missing), 36),
            (Note::Malformed(malformed("12345678".into())), 8),
        ] {
            assert_eq!(<ListedFiles>::bytes(&Item::Note(note)), bytes);
        }
        let (extent, about) = (Extent::HASH, vec![0; 32]);
        let task = Task { path: "1234".into(), kind: Kind::Unknown, extent, about };
        assert_eq!(<ListedFiles>::bytes(&Item::File(task)), 32, "a run counts the names itself");
    }
}
