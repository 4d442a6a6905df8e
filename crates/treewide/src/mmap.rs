//! Memory-mapped files, with the methods of the `blake3` crate.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

use crate::hasher::Hasher;

/// Files below this length are read: mapping and page faults cost more than copying. A guess, as in the `blake3` crate.
const MIN_LEN: u64 = 16 * 1024;

/// Appends a file: through a mapping where it can be mapped and is long enough, else by reading.
fn append(
    hasher: &mut Hasher,
    path: &Path,
    update: for<'a> fn(&'a mut Hasher, &[u8]) -> &'a mut Hasher,
) -> io::Result<()> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() >= MIN_LEN && usize::try_from(metadata.len()).is_ok() {
        // SAFETY: sound only while nobody truncates or writes the file; the documentation of the public
        // methods requires that, as in the `blake3` crate.
        if let Ok(map) = unsafe { Mmap::map(&file) } {
            update(hasher, &map);
            return Ok(());
        }
    }
    hasher.update_reader(file)?;
    Ok(())
}

impl Hasher {
    /// Appends the file at `path` through a memory mapping, on the calling thread. Files that are short or
    /// cannot be mapped are read.
    ///
    /// **The file must not change while it is being hashed**: if it becomes shorter, the process gets SIGBUS.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    pub fn update_mmap(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self> {
        append(self, path.as_ref(), Hasher::update)?;
        Ok(self)
    }

    /// Like [`update_mmap`](Self::update_mmap), with the threads of the current rayon pool.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    #[cfg(feature = "rayon")]
    pub fn update_mmap_rayon(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self> {
        append(self, path.as_ref(), Hasher::update_rayon)?;
        Ok(self)
    }
}
