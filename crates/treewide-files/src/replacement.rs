//! A file that appears, or replaces another one, all at once; what was finished is never thrown away.
//!
//! ```text
//! begin      target is opened for writing (if it exists), temporary file is created
//! write      into the temporary file
//! complete   owner, mode and bytes to the disk, as far as the file system can
//! appear     rename to target, or else copy into target, or else keep the temporary file and say where it is
//! ```

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

use crate::name::shown;
use crate::overwrite::{overwrite, sync};
use crate::temporary::{Locked, create_temporary, remove_leftovers, temporary_name};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 64 << 10;
/// Bytes that the system is asked to bring to the disk at a time. A guess: a quarter or four times of it takes the same time.
const AT_ONCE: u64 = 1 << 20;

/// A file that is being written under a temporary name.
///
/// Dropping it removes the temporary file. The file at the final place stays until [`appear`](Self::appear).
///
/// ```
/// # let dir = std::env::temp_dir().join("treewide-files-doc-replacement");
/// # std::fs::create_dir_all(&dir).unwrap();
/// use std::io::Write;
/// use treewide_files::Replacement;
///
/// let mut list = Replacement::begin(&dir.join("SUMS"))?; // fails now if SUMS cannot be written
/// list.write_all(b"hours of work\n")?;
/// list.complete()?;
/// list.appear()?;
/// assert_eq!(std::fs::read(dir.join("SUMS"))?, b"hours of work\n");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Replacement {
    writer: BufWriter<Early>,
    temporary: TempPath,
    /// The final place, symbolic links resolved so that they stay.
    target: PathBuf,
    /// The file that was there at the beginning.
    previous: Option<Metadata>,
    /// Whose owner and mode it gets.
    model: Option<Metadata>,
    /// Whether the temporary file is in the folder for temporary files, readable to the user alone.
    is_elsewhere: bool,
    /// Whether it can be made again with little work.
    is_spare: bool,
}

impl Replacement {
    /// Begins to write a file that shall appear at `target`.
    ///
    /// The temporary file is created next to `target`. If that is refused and `target` exists, or if the folder
    /// takes files but does not let go of them (it is append-only), it is created in the folder for temporary files,
    /// and copied to `target` in the end.
    ///
    /// # Errors
    /// If `target` exists and is not a regular file or cannot be written, if it is a link to nothing or names a
    /// directory, or if no temporary file can be created.
    pub fn begin(target: &Path) -> io::Result<Self> {
        Self::begin_of(target, [])
    }

    /// Begins like [`begin`](Self::begin), with a file that is made from others: a new one is no more readable than each of them.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_of<'a>(
        target: &Path,
        sources: impl IntoIterator<Item = &'a Path>,
    ) -> io::Result<Self> {
        Self::begin_next_to(target, None, sources)
    }

    /// Begins like [`begin_of`](Self::begin_of), with a file that is as readable as another one next to it, and belongs to the same user.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_next_to<'a>(
        target: &Path,
        other: Option<&Metadata>,
        sources: impl IntoIterator<Item = &'a Path>,
    ) -> io::Result<Self> {
        let (target, previous) = match fs::metadata(target) {
            Ok(there) if there.is_file() => {
                // Renaming over a write-protected file would work, and surprise its owner. Without `append`, as a
                // file to which one may only append cannot be replaced.
                OpenOptions::new().write(true).open(target)?;
                (resolved(target)?, Some(there))
            }
            Ok(there) if there.is_dir() => {
                return Err(io::Error::other("is a directory; name a file in it"));
            }
            Ok(_) => return Err(io::Error::other("is not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                check_new(target)?;
                (target.to_owned(), None)
            }
            Err(error) => return Err(error),
        };
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        remove_leftovers(folder);
        let model = other.or(previous.as_ref());
        let most = sources.into_iter().fold(0o666, |most, it| most & (mode_of(it) | 0o600));
        let (file, temporary, is_elsewhere) = temporary(folder, previous.is_some(), model, most)?;
        let writer = BufWriter::with_capacity(BUFFER, Early { file, written: 0, begun: 0 });
        let model = model.cloned();
        Ok(Self { writer, temporary, target, previous, model, is_elsewhere, is_spare: false })
    }

    /// Lets it go if it cannot be brought to the disk: it can be made again with little work.
    pub fn spare(self) -> Self {
        Self { is_spare: true, ..self }
    }

    /// The temporary file.
    pub fn file(&self) -> &File {
        &self.writer.get_ref().file
    }

    /// The place of the temporary file, which a program that is ended by a signal removes.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Returns the metadata of the file that was at the final place at the beginning.
    pub fn previous(&self) -> Option<&Metadata> {
        self.previous.as_ref()
    }

    /// Writes what is buffered, and brings bytes, owner and mode to the disk. A file system that has no owners or
    /// modes, or cannot say when bytes are on the disk, is not an error.
    ///
    /// # Errors
    /// If something could not be written. If only the bytes could not be brought to the disk, the temporary file stays,
    /// and the message says where.
    pub fn complete(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        let file = &self.writer.get_ref().file;
        if let Some(model) = &self.model {
            keep_owner(file, model);
            let _ = file.set_permissions(model.permissions()); // it was created with no more than that
        }
        // Some file systems report a full disk only here.
        sync(file).map_err(|error| {
            let text = format!("cannot bring it to the disk: {error}");
            let error = io::Error::new(error.kind(), text);
            if self.is_spare {
                return error;
            }
            keep(&mut self.temporary);
            stays(&error, &self.temporary)
        })
    }

    /// Lets the file appear at its final place.
    ///
    /// Where it cannot be renamed (a file that is a mount point, a folder that cannot be changed), it is copied.
    /// Returns the temporary file if it is still there then, because the system does not let it be removed, and why.
    ///
    /// # Errors
    /// If there was nothing at the final place at the beginning and there is something now, or if it can neither be
    /// renamed nor copied. The temporary file stays, and the message says where.
    pub fn appear(self) -> io::Result<Option<(PathBuf, io::Error)>> {
        // Some systems do not rename a file that is open. On others it is held, so that no run takes it for one left behind.
        let _held = (!cfg!(windows)).then_some(self.writer);
        let (mut temporary, target) = (self.temporary, &self.target);
        let appeared = match self.previous {
            Some(_) => {
                let renamed = fs::rename(&temporary, target);
                renamed.or_else(|error| {
                    // If the program is killed during the copy, nothing else has all of it. (Windows removes no such file.)
                    if cfg!(unix) {
                        forbid_writing(&temporary);
                    }
                    overwrite(&temporary, target, error)
                })
            }
            // It would keep the mode of a file for the user alone.
            None if self.is_elsewhere => create_copy(&temporary, target),
            None => match temporary.persist_noclobber(target) {
                Ok(()) => return Ok(None),
                Err(failed) => {
                    temporary = failed.path;
                    create(&temporary, target, failed.error)
                }
            },
        };
        if let Err(error) = appeared {
            keep(&mut temporary);
            return Err(stays(&error, &temporary));
        }
        let path = temporary.to_path_buf();
        Ok(match temporary.close() {
            Err(error) if fs::symlink_metadata(&path).is_ok() => Some((path, error)),
            _ => None,
        })
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The path without symbolic links.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|error| match fs::symlink_metadata(path) {
        Ok(there) if !there.is_symlink() => Ok(path.to_owned()),
        _ => Err(error),
    })
}

/// An error if no file can appear at this place, where there is nothing.
fn check_new(target: &Path) -> io::Result<()> {
    if fs::symlink_metadata(target).is_ok() {
        return Err(io::Error::other("is a symbolic link to a file that does not exist"));
    }
    // `new/` or `new/.`: renaming to it would fail, but only after all the work.
    let written = target.as_os_str().as_encoded_bytes();
    let is_file = |name: &OsStr| written.ends_with(name.as_encoded_bytes());
    if !target.file_name().is_some_and(is_file) {
        return Err(io::Error::other("is a directory that does not exist; name a file"));
    }
    Ok(())
}

/// The permission bits of a file; all where it has none.
fn mode_of(path: &Path) -> u32 {
    #[cfg(unix)]
    if let Ok(there) = fs::metadata(path)
        && there.is_file()
    {
        return std::os::unix::fs::MetadataExt::mode(&there);
    }
    let _ = path;
    0o666
}

/// Creates the temporary file: in `folder`, or elsewhere if it can be copied in the end. Returns whether it is elsewhere.
fn temporary(
    folder: &Path,
    is_there: bool,
    model: Option<&Metadata>,
    most: u32,
) -> io::Result<(Locked, TempPath, bool)> {
    let make = |folder: &Path, is_elsewhere: bool| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            // Readable to no user who could not read the file before, or who cannot look into its folder.
            use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
            match model {
                Some(model) => options.mode(model.mode() & 0o777 | 0o600),
                None => options.mode(if is_elsewhere { 0o600 } else { most }),
            };
        }
        let _ = (is_elsewhere, model, most);
        // Readable to whom any new file is. `tempfile_in` would keep it to the user, and put the temporary name, which no user
        // asked for, into its errors.
        let path = folder.join(temporary_name());
        let file = create_temporary(&path, &options)?;
        Ok((file, TempPath::try_from_path(path)?, is_elsewhere))
    };
    let elsewhere = std::env::temp_dir();
    if is_append_only(folder)
        && let Ok(made) = make(&elsewhere, true)
    {
        return Ok(made);
    }
    make(folder, false).or_else(|error: io::Error| {
        let text = format!("cannot create a file in {}: {error}", shown(folder));
        if !is_there {
            return Err(io::Error::new(error.kind(), text));
        }
        make(&elsewhere, true).map_err(|second| {
            let text =
                format!("{text}; nor in {}: {second}; TMPDIR names another", shown(&elsewhere));
            io::Error::new(error.kind(), text)
        })
    })
}

/// Renames or copies a file to a place where there is nothing, after the usual call for that failed with `error`: there
/// are file systems that have neither such a rename nor hard links. A new empty file holds the place.
fn create(temporary: &Path, target: &Path, error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::AlreadyExists {
        return Err(taken());
    }
    match OpenOptions::new().write(true).create_new(true).open(target) {
        Ok(_) => fs::rename(temporary, target)
            .or_else(|_| overwrite(temporary, target, error))
            .inspect_err(|_| drop(fs::remove_file(target))),
        Err(second) if second.kind() == ErrorKind::AlreadyExists => Err(taken()),
        Err(_) => Err(io::Error::new(error.kind(), format!("cannot rename a file to it: {error}"))),
    }
}

/// Whether files can be made in a folder, and neither renamed nor removed then (`chattr +a`).
#[cfg(target_os = "linux")]
fn is_append_only(folder: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    statx(CWD, folder, AtFlags::empty(), StatxFlags::TYPE)
        .is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::APPEND))
}

#[cfg(not(target_os = "linux"))]
fn is_append_only(_: &Path) -> bool {
    false
}

/// Copies a file to a place where there is nothing. What cannot be completed there stays if it cannot be removed.
fn create_copy(from: &Path, to: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(to) {
        Ok(_) => {
            overwrite(from, to, io::Error::other("its folder is append-only")).map_err(|error| {
                match fs::remove_file(to) {
                    Ok(()) => error,
                    Err(_) => io::Error::new(error.kind(), format!("{error}; it is not complete")),
                }
            })
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot create it: {error}"))),
    }
}

fn taken() -> io::Error {
    io::Error::other("appeared during the run, and stays as it is")
}

/// Writes to a file, and lets the system begin to bring that to the disk, so that in the end there is less to wait for.
#[derive(Debug)]
struct Early {
    file: Locked,
    written: u64,
    /// As far as this the system has been asked.
    begun: u64,
}

impl Write for Early {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        if self.written - self.begun >= AT_ONCE {
            begin_to_sync(&self.file, self.begun, self.written - self.begun);
            self.begun = self.written;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Lets the system begin to bring a part of a file to the disk. What has to be there still needs a sync.
#[cfg(target_os = "linux")]
fn begin_to_sync(file: &File, from: u64, len: u64) {
    // The advice counts only for pages that can be dropped. Before they can, they have to be written.
    let _ = rustix::fs::fadvise(
        file,
        from,
        std::num::NonZeroU64::new(len),
        rustix::fs::Advice::DontNeed,
    );
}

#[cfg(not(target_os = "linux"))]
fn begin_to_sync(_: &File, _: u64, _: u64) {}

/// Lets a temporary file stay that has what nothing else has. Without permission to write, it is not taken for a leftover.
fn keep(temporary: &mut TempPath) {
    temporary.disable_cleanup(true);
    forbid_writing(temporary);
}

fn forbid_writing(path: &Path) {
    if let Ok(there) = fs::metadata(path) {
        let mut permissions = there.permissions();
        permissions.set_readonly(true);
        let _ = fs::set_permissions(path, permissions);
    }
}

/// The error, and where the file is that could not appear.
fn stays(error: &io::Error, temporary: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{error}; what was written is in {}", shown(temporary)))
}

/// Lets the file belong to whom the file before belonged to, where we may (as root does).
#[cfg(unix)]
fn keep_owner(file: &File, previous: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(previous.uid()), Some(previous.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn begin_removes_what_a_killed_run_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let left = |it: &Replacement| it.temporary().exists();
        let (killed, kept) = (&temporary_name(), &temporary_name());
        // Someone's file whose name only looks like one of ours.
        let users = ".treewide-0123456789abcdef0123456789abcdef.tmp";
        for name in [killed, kept, users] {
            fs::write(at(name), "x").unwrap();
        }
        // What could not appear has no other copy.
        let read_only = fs::Permissions::from_mode(0o400);
        fs::set_permissions(at(kept), read_only).unwrap();
        let first = Replacement::begin(&at("a")).unwrap();
        assert!(!at(killed).exists());
        let second = Replacement::begin(&at("b")).unwrap();
        assert!(left(&first) && left(&second), "another run writes to it");
        assert!(at(kept).exists() && at(users).exists());
    }

    #[test]
    fn begin_next_to_is_no_more_readable_than_the_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(at("list"), "").unwrap();
        for of in [0o600, 0o640, 0o400] {
            fs::set_permissions(at("list"), fs::Permissions::from_mode(of)).unwrap();
            let other = fs::metadata(at("list")).unwrap();
            let mut made = Replacement::begin_next_to(&at("index"), Some(&other), []).unwrap();
            assert_eq!(mode(made.temporary()) & !0o600 & !of, 0);
            made.complete().unwrap();
            made.appear().unwrap();
            assert_eq!(mode(&at("index")), of);
            // One that is there, and more readable.
            fs::set_permissions(at("index"), fs::Permissions::from_mode(0o644)).unwrap();
            let made = Replacement::begin_of(&at("new"), [&*at("list")]).unwrap();
            assert_eq!(mode(made.temporary()) & !0o600 & !of, 0);
        }
    }
}
