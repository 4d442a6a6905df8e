//! The files below a directory, in an order that depends on their names alone.
//!
//! The order is the byte order of whole paths, as `LC_ALL=C sort` has it, and it is reached one directory
//! at a time: within a directory, a subdirectory sorts as if its name ended in `/`. So `a.txt` comes
//! before `a/b`, because `.` is less than `/`.

mod folders;
#[cfg(target_os = "linux")]
mod held;

use self::folders::{Folders, Trouble};
use crate::error::{Error, ErrorKind};
use crate::identity::Identity;
use crate::long_path;
use crate::temporary::is_temporary;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::{DirEntry, WalkDir};

/// Which files below a directory to find. Iterating over it walks the directory.
///
/// ```
/// # let root = std::env::temp_dir().join("treewide-files-doc-walk");
/// # std::fs::create_dir_all(root.join("a")).unwrap();
/// # std::fs::write(root.join("a/b"), "").unwrap();
/// # std::fs::write(root.join("a.txt"), "").unwrap();
/// use treewide_files::walk::{Found, Walk};
///
/// let mut names = Vec::new();
/// for found in Walk::new(&root).hidden(false) {
///     match found {
///         Found::File { path, .. } => names.push(path.strip_prefix(&root)?.to_owned()),
///         Found::Failed(error) => eprintln!("{error}"),
///         _ => {}
///     }
/// }
/// assert_eq!(names, ["a.txt", "a/b"].map(std::path::PathBuf::from));
/// # std::fs::remove_dir_all(&root).unwrap();
/// # Ok::<(), std::path::StripPrefixError>(())
/// ```
#[derive(Clone)]
pub struct Walk {
    root: PathBuf,
    follow: bool,
    hidden: bool,
    directories: bool,
    one_file_system: bool,
    filter: Option<Filter>,
}

/// Whether to keep what has this path and is, or is not, a directory.
type Filter = Arc<dyn Fn(&Path, bool) -> bool + Send + Sync>;

/// Entry that a walk finds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Found {
    /// A regular file.
    File {
        /// Its path, which begins with the root of the walk.
        path: PathBuf,
        /// Its inode; 0 where files have none.
        inode: u64,
        /// Which file it is.
        identity: Identity,
    },
    /// Neither a file nor a directory nor a link; `kind` is a word for it, such as "a socket".
    Special {
        /// Its path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// A symbolic link that is not followed.
    Link(PathBuf),
    /// A directory other than the root, before its entries; only with [`Walk::directories`].
    Directory(PathBuf),
    /// A [temporary file](crate::is_temporary) of a run of ours: this one, another one, or one that was killed.
    Temporary(PathBuf),
    /// A place that could not be looked at. The walk continues after it.
    Failed(Error),
}

impl Walk {
    /// Everything below `root`, hidden files as well, without following symbolic links (except `root`).
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            follow: false,
            hidden: true,
            directories: false,
            one_file_system: false,
            filter: None,
        }
    }

    /// Whether symbolic links are followed. A link that leads back to a directory that contains it is then
    /// an [error](ErrorKind::LinkLoop).
    pub fn follow_links(self, follow: bool) -> Self {
        Self { follow, ..self }
    }

    /// Whether files and directories whose name begins with a dot are included.
    pub fn hidden(self, hidden: bool) -> Self {
        Self { hidden, ..self }
    }

    /// Whether directories are also [returned](Found::Directory).
    pub fn directories(self, directories: bool) -> Self {
        Self { directories, ..self }
    }

    /// Whether directories on other file systems than `root` are left alone. They are still returned themselves.
    pub fn one_file_system(self, one: bool) -> Self {
        Self { one_file_system: one, ..self }
    }

    /// Leaves out what `keeps` refuses, and all that is below it. It is given the path and whether that is a directory.
    pub fn filter(self, keeps: impl Fn(&Path, bool) -> bool + Send + Sync + 'static) -> Self {
        Self { filter: Some(Arc::new(keeps)), ..self }
    }

    /// The directory to walk.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("root", &self.root).finish_non_exhaustive()
    }
}

impl IntoIterator for Walk {
    type Item = Found;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        #[cfg(target_os = "linux")]
        if let Some(held) = held::Held::new(&self) {
            return IntoIter(Box::new(held));
        }
        IntoIter(Box::new(ByPath::new(self)))
    }
}

/// A walk under way.
pub struct IntoIter(Box<dyn Iterator<Item = Found> + Send>);

impl fmt::Debug for IntoIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}

impl Iterator for IntoIter {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        self.0.next()
    }
}

/// A walk by whole paths.
struct ByPath {
    walk: Walk,
    entries: Box<dyn Iterator<Item = walkdir::Result<DirEntry>> + Send>,
    folders: Folders,
    /// The last directory, until something below it comes, and its depth.
    maybe_empty: Option<(PathBuf, usize)>,
    /// An entry that comes again.
    waiting: Option<DirEntry>,
}

impl ByPath {
    fn new(walk: Walk) -> Self {
        let Walk { follow, hidden, one_file_system, .. } = walk;
        let filter = walk.filter.clone();
        let entries = WalkDir::new(&walk.root)
            .follow_links(follow)
            .same_file_system(one_file_system)
            .sort_by(move |a, b| sort_key(a, follow).cmp(&sort_key(b, follow)))
            .into_iter()
            .filter_entry(move |entry| {
                entry.depth() == 0
                    || (hidden || !is_hidden(entry.file_name()))
                        && filter
                            .as_ref()
                            .is_none_or(|keeps| keeps(entry.path(), entry.file_type().is_dir()))
            });
        let (folders, entries) = (Folders::new(follow), Box::new(entries));
        Self { walk, entries, folders, maybe_empty: None, waiting: None }
    }

    /// The error of a directory that looks empty because it cannot be listed. The system's library takes `ENOENT` for the end.
    fn check_empty(&mut self, next: &Option<walkdir::Result<DirEntry>>) -> Option<Error> {
        let depth = match next {
            None => 0,
            // The walk says what is wrong.
            Some(Err(_)) => usize::MAX,
            Some(Ok(entry)) => entry.depth(),
        };
        let failed = match self.maybe_empty.take() {
            Some((path, of)) if depth <= of => match listed(&path) {
                Err(error) => Some(Error::new(path, ErrorKind::read(error))),
                Ok(()) => None,
            },
            _ => None,
        };
        if let (None, Some(Ok(entry))) = (&failed, next)
            && (entry.file_type().is_dir() || entry.depth() == 0)
        {
            self.maybe_empty = Some((entry.path().to_owned(), entry.depth()));
        }
        failed
    }

    fn failed(&self, error: walkdir::Error) -> Found {
        let path = error.path().unwrap_or(&self.walk.root).to_owned();
        let is_too_deep = error.io_error().is_some_and(long_path::is_too_long);
        let cause = match error.loop_ancestor() {
            Some(ancestor) => ErrorKind::LinkLoop { leads_to: ancestor.to_owned() },
            None => match error.into_io_error() {
                Some(error) if is_too_deep => ErrorKind::TooDeep(error),
                Some(error) => ErrorKind::read(error),
                None => ErrorKind::Other("cannot be walked".into()),
            },
        };
        Found::Failed(Error::new(path, cause))
    }
}

impl Iterator for ByPath {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let entry = match self.waiting.take() {
                Some(waiting) => Some(Ok(waiting)),
                None => self.entries.next(),
            };
            if let Some(failed) = self.check_empty(&entry) {
                self.waiting = entry.and_then(Result::ok);
                return Some(Found::Failed(failed));
            }
            let found = match entry? {
                Ok(entry) if self.folders.leads_elsewhere(&entry) => None,
                Ok(entry) => match found(&entry, &mut self.folders, self.walk.directories) {
                    Ok(found) => found,
                    Err(Trouble::Walk(error)) => Some(self.failed(error)),
                    Err(Trouble::Elsewhere(error)) => {
                        Some(Found::Failed(Error::new(entry.path(), error)))
                    }
                },
                Err(error) => Some(self.failed(error)),
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

/// Whether the names in a directory can be read to their end.
#[cfg(target_os = "linux")]
fn listed(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // What cannot be opened, the walk has said.
    let Ok(folder) = fs::File::open(path) else { return Ok(()) };
    let mut room = Vec::with_capacity(4096);
    let mut names = rustix::fs::RawDir::new(&folder, room.spare_capacity_mut());
    while let Some(name) = names.next() {
        if let Err(error) = name {
            // It was removed after it was found.
            let is_there = folder.metadata().is_ok_and(|it| it.nlink() > 0);
            return if is_there { Err(error.into()) } else { Ok(()) };
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn listed(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// What an entry's name counts as in the order: see the top of this file.
fn sort_key(entry: &DirEntry, follow: bool) -> Cow<'_, [u8]> {
    let kind = entry.file_type();
    // While a directory is being sorted, links in it are not resolved yet.
    let is_dir = kind.is_dir()
        || (follow && kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()));
    let name = entry.file_name().as_encoded_bytes();
    if is_dir { Cow::Owned([name, b"/"].concat()) } else { Cow::Borrowed(name) }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn found(
    entry: &DirEntry,
    folders: &mut Folders,
    directories: bool,
) -> Result<Option<Found>, Trouble> {
    let (kind, path) = (entry.file_type(), || entry.path().to_owned());
    // The root of the walk is followed if it is a link.
    let is_root = entry.depth() == 0 && entry.path().is_dir();
    Ok(if kind.is_dir() || is_root {
        folders.enter(entry)?;
        (directories && entry.depth() > 0).then(|| Found::Directory(path()))
    } else if kind.is_file() && entry.depth() > 0 && is_temporary(entry.file_name()) {
        Some(Found::Temporary(path()))
    } else if kind.is_file() {
        let identity = folders.identity(entry)?;
        Some(Found::File { path: path(), inode: identity.inode, identity })
    } else if kind.is_symlink() {
        (entry.depth() > 0).then(|| Found::Link(path()))
    } else {
        Some(Found::Special { path: path(), kind: special_kind(kind) })
    })
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
