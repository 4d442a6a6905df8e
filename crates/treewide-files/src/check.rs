//! The files that a list names, and verdicts on them. `treewide-digests` has the check itself.
//!
//! A verdict errs on the side of failure. A name is that name, byte for byte; one that could mean another file is
//! not looked for; a file that is listed without a digest fails; and a list that seems to have lost its end fails.

use crate::digest::Extent;
use crate::error::ErrorKind;
use crate::list::{self, Entry, Fault, Lines, NameIs};
use crate::name;
use crate::options::Hashed;
use crate::task::{Item, Kind, Other, Source, Task};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is said where a list stops within a line.
const CUT_OFF: &str = "the list may be cut off here: no line end";

/// Digests of one file that are held together, in bytes. If it has more, it is read again.
const MOST_JOINED: usize = 64 << 10;

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
    /// It does not exist, and that is allowed.
    Missing,
    /// It is listed, and lists of this kind have no digest of it. The text says why.
    Skipped(String),
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
        /// [`Verdict::Unverified`], [`Verdict::Unreadable`] or [`Verdict::Skipped`].
        verdict: Verdict,
    },
    /// A line that cannot be used.
    Malformed(Malformed),
    /// The list cannot be read any further.
    Unreadable(io::Error),
}

/// The forms that lines of a list have, and what they say.
pub trait Forms {
    /// The thing that comes back with the result of hashing a file.
    type About: Send + 'static;

    /// Reads a line, without its end, and appends what it says.
    fn line(&mut self, line: &[u8], found: &mut VecDeque<Said<Self::About>>);

    /// The list is over: appends what all of its lines together say.
    fn end(&mut self, found: &mut VecDeque<Said<Self::About>>) {
        let _ = found;
    }

    /// Whether the list may end within the last line, if that has said nothing, as within a comment.
    fn may_end(&self) -> bool {
        true
    }

    /// Whether what the last line has said is whole also without a line end.
    fn is_whole(&self) -> bool {
        false
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

/// A file that a line names, or why the line cannot be used.
pub type Said<A> = Result<Line<A>, Fault>;

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

/// The line that was read last.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    number: u64,
    /// Whether it has no end, so that it may be cut off.
    is_cut: bool,
    had_return: bool,
    ends_in_null: bool,
}

/// The files of a list, found line by line.
pub struct ListedFiles<F: Forms> {
    forms: F,
    /// What names are relative to; empty for the current directory.
    folder: PathBuf,
    ignore_missing: bool,
    /// `None` after their end, or an error: then nothing more is read.
    lines: Option<Lines>,
    at: At,
    /// What was read, and not yet returned.
    found: VecDeque<Said<F::About>>,
    /// Bytes of the digest in the line before.
    previous_len: usize,
    /// What comes after the file that was returned last, which was looked at already.
    ahead: Option<Item<F::About, Note>>,
}

impl<F: Forms> fmt::Debug for ListedFiles<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedFiles").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl<F: Forms> ListedFiles<F> {
    /// The files of a list whose lines have these forms. `ignore_missing` says that listed files need not exist.
    pub fn new(lines: Lines, forms: F, ignore_missing: bool) -> Self {
        Self {
            forms,
            folder: PathBuf::new(),
            ignore_missing,
            lines: Some(lines),
            at: At::default(),
            found: VecDeque::new(),
            previous_len: 0,
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
                let cause = String::from("no such file; its name may be two lines in one");
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
    /// The work that something in the last line asks for.
    fn item(&mut self, said: Said<F::About>) -> Item<F::About, Note> {
        let At { number, is_cut, had_return, ends_in_null } = self.at;
        let malformed = |cause: String, named| {
            let cut = is_cut.then(|| CUT_OFF.to_owned());
            let causes: Vec<_> = [Some(cause).filter(|it| !it.is_empty()), cut].into();
            let cause = causes.into_iter().flatten().collect::<Vec<_>>().join("; ");
            Item::Note(Note::Malformed(Malformed { number, named, cause, is_cut }))
        };
        match said {
            // Half of a digest is a digest where it ends the line.
            Ok(Line { entry, has_free_length: true, .. })
                if is_cut && entry.digest.len() < self.previous_len =>
            {
                let (len, before) = (entry.digest.len(), self.previous_len);
                let named = Some(shown_path(&entry.name));
                malformed(format!("digest of {len} bytes, but the one before has {before}"), named)
            }
            Ok(mut line) => {
                let entry = &mut line.entry;
                self.previous_len = entry.digest.len();
                if ends_in_null {
                    entry.name_is = NameIs::Exact;
                }
                // Windows has no such names.
                if cfg!(unix) && had_return && entry.name_is == NameIs::Loose {
                    entry.others.push([&entry.name[..], b"\r"].concat());
                }
                self.file(line, is_cut)
            }
            Err(Fault::Digest { name, digest, cause }) if !name.is_empty() => {
                let (path, verdict) = (shown_path(&name), Verdict::Unverified(cause));
                Item::Note(Note::Settled { path, expected: digest, verdict })
            }
            Err(Fault::Skipped { name, cause }) => {
                let (path, verdict) = (shown_path(&name), Verdict::Skipped(cause));
                Item::Note(Note::Settled { path, expected: None, verdict })
            }
            // What is lost may have been the name of a file, and the names of more.
            Err(Fault::Line(cause) | Fault::Digest { cause, .. }) => malformed(cause, None),
        }
    }

    /// Each round returns something, or takes a line that is left; after the last, there are none.
    fn next_item(&mut self) -> Option<Item<F::About, Note>> {
        loop {
            if let Some(said) = self.found.pop_front() {
                return Some(self.item(said));
            }
            let lines = self.lines.as_mut()?;
            match lines.next() {
                Ok(Some((number, line))) => {
                    self.forms.line(line, &mut self.found);
                    let is_cut = lines.is_endless() && !self.forms.is_whole();
                    let (had_return, ends_in_null) = (lines.had_return(), lines.ends_in_null());
                    self.at = At { number, is_cut, had_return, ends_in_null };
                    if is_cut && self.found.is_empty() && !self.forms.may_end() {
                        self.found.push_back(Err(Fault::Line(String::new())));
                    }
                }
                Ok(None) => {
                    self.lines = None;
                    // What all lines together say does not end in the last one.
                    self.at.is_cut = false;
                    self.forms.end(&mut self.found);
                }
                Err(error) => {
                    self.lines = None;
                    return Some(Item::Note(Note::Unreadable(error)));
                }
            }
        }
    }

    /// Whether the next item may be long in coming.
    fn is_stream(&self) -> bool {
        self.found.is_empty() && self.lines.as_ref().is_some_and(Lines::may_wait)
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
            && !self.is_stream()
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
        self.ahead.is_none() && self.is_stream()
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
    let words = name.split(|byte| byte.is_ascii_whitespace());
    let digits = |word: &[u8]| word.iter().rev().take_while(|it| it.is_ascii_hexdigit()).count();
    words.into_iter().any(|word| digits(word) >= 32)
}

/// A name as a path, only to be shown: it need not be the right one.
fn shown_path(name: &[u8]) -> PathBuf {
    name::os_path(name).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_counts_what_a_note_holds() {
        let settled =
            |verdict| Note::Settled { path: "1234".into(), expected: Some(vec![0; 32]), verdict };
        let malformed = |cause| Malformed { named: None, number: 1, cause, is_cut: false };
        for (note, bytes) in [
            (settled(Verdict::Unverified("12345678".into())), 44),
            (settled(Verdict::Missing), 36),
            (Note::Malformed(malformed("12345678".into())), 8),
        ] {
            assert_eq!(note.bytes(), bytes);
        }
    }
}
