//! Finding the files below a directory, in an order that depends on their names alone.
//!
//! The order is the byte order of whole paths, as `LC_ALL=C sort` has it, and it is reached one
//! directory at a time: within a directory, a subdirectory sorts as if its name ended in `/`.
//! So `a.txt` comes before `a/b`, because `.` is less than `/`.

use crate::deep;
use clap::Args;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

#[derive(Args, Clone)]
#[command(next_help_heading = "Directories")]
pub(crate) struct WalkArgs {
    /// Hash the files below each FILE that is a directory; without FILE, below `.`
    ///
    /// The order is the byte order of the paths, as `LC_ALL=C sort` gives it. Hidden files are
    /// included, the file being written to is not. Pipes, sockets and devices are skipped with a
    /// message; symbolic links are not followed, and a last message says how many there were.
    #[arg(short, long, conflicts_with_all = ["check", "raw"])]
    recursive: bool,

    /// Follow symbolic links met by --recursive
    ///
    /// A link that leads back to a directory it is in is reported and not followed. Links named
    /// as FILE are always followed.
    #[arg(long, requires = "recursive")]
    follow: bool,

    /// Leave out files and directories whose name begins with a dot
    ///
    /// What is named as FILE is hashed in any case.
    #[arg(long, requires = "recursive", overrides_with = "hidden")]
    no_hidden: bool,

    /// Include files and directories whose name begins with a dot (the default)
    #[arg(long, requires = "recursive", overrides_with = "no_hidden")]
    hidden: bool,
}

/// Something met on a walk.
pub(crate) enum Found {
    /// A regular file, and its inode where there are such.
    File(PathBuf, u64),
    /// Neither a file nor a directory nor a link; with a word for what it is.
    Special(PathBuf, &'static str),
    /// A symbolic link, left alone.
    Link,
    /// A place that could not be looked at, and why.
    Failed(PathBuf, String),
}

impl WalkArgs {
    pub(crate) fn recursive(&self) -> bool {
        self.recursive
    }

    /// Whether the operand is a directory to walk, rather than an input itself.
    pub(crate) fn covers(&self, operand: &Path) -> bool {
        self.recursive && operand.is_dir()
    }

    /// Everything below `root` that has to be hashed or told of.
    pub(crate) fn walk(&self, root: &Path) -> Walk {
        let mut walk = Walk { follow: self.follow, no_hidden: self.no_hidden, parts: Vec::new() };
        walk.descend(root.to_owned(), None);
        walk
    }
}

/// A walk under way.
pub(crate) struct Walk {
    follow: bool,
    no_hidden: bool,
    /// The walk of the root, and of each directory below it that is too deep for the one before.
    parts: Vec<Part>,
}

/// The walk of one directory, with names that are short enough.
struct Part {
    entries: Box<dyn Iterator<Item = walkdir::Result<DirEntry>> + Send>,
    root: PathBuf,
    /// If its name is too long: the directory, open, and the name that it is walked by.
    stand_in: Option<(File, PathBuf)>,
}

impl Part {
    /// The path to show for one by which the directory is walked.
    fn path(&self, walked: &Path) -> PathBuf {
        match &self.stand_in {
            None => walked.to_owned(),
            Some((_, name)) => match walked.strip_prefix(name) {
                Ok(below) if below != Path::new("") => self.root.join(below),
                _ => self.root.clone(),
            },
        }
    }
}

impl Walk {
    fn descend(&mut self, root: PathBuf, stand_in: Option<(File, PathBuf)>) {
        let (follow, no_hidden) = (self.follow, self.no_hidden);
        let walked = stand_in.as_ref().map_or(&root, |(_, name)| name);
        let entries = WalkDir::new(walked)
            .follow_links(follow)
            .sort_by(move |a, b| sort_key(a, follow).cmp(&sort_key(b, follow)))
            .into_iter()
            .filter_entry(move |entry| {
                !no_hidden || entry.depth() == 0 || !is_hidden(entry.file_name())
            });
        self.parts.push(Part { entries: Box::new(entries), root, stand_in });
    }

    fn failed(&mut self, error: &walkdir::Error) -> Option<Found> {
        let part = self.parts.last()?;
        let path = error.path().map_or_else(|| part.root.clone(), |path| part.path(path));
        let is_too_deep = error.io_error().is_some_and(deep::is_too_long);
        // A loop would not be noticed from below.
        if is_too_deep
            && !self.follow
            && let Some(stand_in) = deep::directory(&path)
        {
            self.descend(path, Some(stand_in));
            return None;
        }
        let cause = match (error.loop_ancestor(), error.io_error()) {
            (Some(ancestor), _) => {
                format!("symbolic link loop: it leads back to {}", crate::name::shown(ancestor))
            }
            (None, Some(error)) if is_too_deep => {
                format!("{error}; start from a directory further down to reach what is below")
            }
            (None, Some(error)) => error.to_string(),
            (None, None) => error.to_string(),
        };
        Some(Found::Failed(path, cause))
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let part = self.parts.last_mut()?;
            let found = match part.entries.next() {
                None => {
                    self.parts.pop();
                    continue;
                }
                Some(Ok(entry)) => found(&entry, part),
                Some(Err(error)) => self.failed(&error),
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

/// What an entry's name counts as in the order: see the top of this file.
fn sort_key(entry: &DirEntry, follow: bool) -> Cow<'_, [u8]> {
    let kind = entry.file_type();
    // While a directory is sorted, links in it are not resolved yet.
    let is_dir = kind.is_dir()
        || (follow && kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()));
    let name = entry.file_name().as_encoded_bytes();
    if is_dir { Cow::Owned([name, b"/"].concat()) } else { Cow::Borrowed(name) }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn found(entry: &DirEntry, part: &Part) -> Option<Found> {
    let kind = entry.file_type();
    if kind.is_dir() {
        None
    } else if kind.is_file() {
        Some(Found::File(part.path(entry.path()), inode(entry)))
    } else if kind.is_symlink() {
        // What is walked is followed, if it is a link.
        (entry.depth() > 0).then_some(Found::Link)
    } else {
        Some(Found::Special(part.path(entry.path()), special_kind(kind)))
    }
}

#[cfg(unix)]
fn inode(entry: &DirEntry) -> u64 {
    walkdir::DirEntryExt::ino(entry)
}

#[cfg(not(unix))]
fn inode(_: &DirEntry) -> u64 {
    0
}

#[cfg(unix)]
fn special_kind(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special_kind(_: fs::FileType) -> &'static str {
    "not a regular file"
}
