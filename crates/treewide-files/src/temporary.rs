//! Temporary files: how they are named, held and removed.
//!
//! ```text
//! .treewide-RRRRRRRRRRRRRRRRHHHHHHHHHHHHHHHH.tmp   16 random hex digits, and the first 16 of their hash
//! ```
//!
//! By the hash, no file that a user has named is taken for one of them.

use std::ffi::OsStr;
#[cfg(unix)]
use std::fs;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;

const BEGINS: &str = ".treewide-";
const ENDS: &str = ".tmp";
/// Hex digits of the random part, and of its hash.
const DIGITS: usize = 16;

/// The name of a new temporary file.
pub fn temporary_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    let random = format!("{random:016x}");
    format!("{BEGINS}{random}{}{ENDS}", hash_of(random.as_bytes()))
}

/// Whether a file of this name is one that a run of ours writes to, or has left when it was killed.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let middle =
        name.strip_prefix(BEGINS.as_bytes()).and_then(|it| it.strip_suffix(ENDS.as_bytes()));
    middle.filter(|it| it.len() == 2 * DIGITS).is_some_and(|it| {
        let (random, hash) = it.split_at(DIGITS);
        hash == hash_of(random).as_bytes()
    })
}

fn hash_of(random: &[u8]) -> String {
    treewide::hash(random).to_hex()[..DIGITS].to_owned()
}

/// Creates a temporary file and locks it, so that no other run takes it for one that was left behind.
///
/// # Errors
/// If it cannot be created.
pub fn create_temporary(path: &Path, options: &OpenOptions) -> io::Result<Locked> {
    let mut options = options.clone();
    options.create_new(true);
    loop {
        let file = Locked(options.open(path)?);
        if !is_removed(&file, path) {
            return Ok(file);
        }
    }
}

/// A file that this program has locked. Closing it would not be enough to unlock it: a child that another thread starts has it open as well
/// until it runs its program.
#[derive(Debug)]
pub struct Locked(pub File);

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

/// Locks a new file. Returns whether another run took it for one that was left behind before that, and has removed it.
#[cfg(unix)]
fn is_removed(file: &File, path: &Path) -> bool {
    // Some file systems have no locks.
    file.lock().is_ok() && !is_at(file, path)
}

/// Here no run removes the files of others.
#[cfg(not(unix))]
fn is_removed(_: &File, _: &Path) -> bool {
    false
}

/// Removes temporary files of runs that were killed: no program holds them.
#[cfg(unix)]
pub fn remove_leftovers(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !is_temporary(&entry.file_name()) || !entry.file_type().is_ok_and(|it| it.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path).map(Locked) else { continue };
        // What could not appear, and has no other copy, is kept.
        let is_kept = !file.metadata().is_ok_and(|it| it.permissions().mode() & 0o200 != 0);
        if !is_kept && file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Here, no call says whether a run still holds them.
#[cfg(not(unix))]
pub fn remove_leftovers(_: &Path) {}

/// Whether this file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let numbers = |it: fs::Metadata| (it.dev(), it.ino());
    let there = fs::symlink_metadata(path).map(numbers);
    file.metadata().map(numbers).is_ok_and(|it| there.is_ok_and(|there| there == it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_temporary_takes_names_of_ours_alone() {
        let ours = temporary_name();
        assert!(is_temporary(OsStr::new(&ours)), "{ours}");
        assert_ne!(ours, temporary_name());
        let other = if ours.ends_with("0.tmp") { "1.tmp" } else { "0.tmp" };
        for name in [
            // What users may call their own files.
            ".treewide-a1B2c3.tmp",
            ".treewide-backup.tmp",
            ".treewide-0123456789abcdef.tmp",
            ".treewide-0123456789abcdef0123456789abcdef.tmp",
            ".treewide-.tmp",
            &format!("{ours}.b3"),
            &ours[1..],
            &format!("{}{other}", &ours[..ours.len() - other.len()]),
        ] {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn create_temporary_is_not_disturbed_by_runs_that_remove_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(temporary_name());
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        remove_leftovers(folder.path());
                    }
                });
            }
            for _ in 0..500 {
                let made = create_temporary(&path, OpenOptions::new().write(true));
                let is_there = made.as_ref().is_ok_and(|it| is_at(it, &path));
                if !is_there {
                    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                assert!(is_there, "{made:?}");
                fs::remove_file(&path).unwrap();
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
