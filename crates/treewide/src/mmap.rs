//! Memory-mapped files, with the methods of the `blake3` crate.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

use crate::hasher::Hasher;
use crate::length;

/// Files below this length are read: mapping them takes longer than copying them on Zen 1, the only CPU where both were measured
/// (`results/zen1-2vcpu/operations.txt`).
const MIN_LEN: u64 = 128 * 1024;

/// Bytes whose pages are mapped by one call. Where a kernel fetches ahead from pages that are not mapped yet, 1 MiB takes 1.14 times as
/// long (`results/zen1-2vcpu/operations.txt`).
const WINDOW: usize = 4 << 20;

/// Appends a mapping, on the calling thread.
fn append_mapped(hasher: &mut Hasher, map: &Mmap) {
    for at in (0..map.len()).step_by(WINDOW) {
        let len = WINDOW.min(map.len() - at);
        // Where this is not supported (before Linux 5.14), page faults map the pages.
        #[cfg(target_os = "linux")]
        let _ = map.advise_range(memmap2::Advice::PopulateRead, at, len);
        hasher.update(&map[at..at + len]);
    }
}

/// Appends a file: through a mapping where it can be mapped and is long enough, else by reading.
fn append(hasher: &mut Hasher, path: &Path, update: fn(&mut Hasher, &Mmap)) -> io::Result<()> {
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let len = opened.len();
    let is_promise = length::is_promise(&file, &opened);
    if is_promise
        && len >= MIN_LEN
        && let Ok(mapped) = usize::try_from(len)
    {
        // SAFETY: sound only while no one truncates or writes the file; the documentation of the public
        // methods requires that, as in the `blake3` crate.
        if let Ok(map) = unsafe { MmapOptions::new().len(mapped).map(&file) } {
            update(hasher, &map);
            let end = length::end_of_reading(&file, len - 1, len)?;
            if end != len {
                length::check_end(&file, &opened, end)?;
            }
            return Ok(());
        }
    }
    let before = hasher.count();
    hasher.update_reader(&file)?;
    if is_promise {
        length::check_end(&file, &opened, hasher.count() - before)?;
    }
    Ok(())
}

impl Hasher {
    /// Appends the file at `path` through a memory mapping, on the calling thread. Files that are short or
    /// cannot be mapped are read.
    ///
    /// **The file must not change while it is being hashed**: if it becomes shorter, the process gets SIGBUS.
    ///
    /// # Errors
    /// If the file cannot be opened or read, or does not end at its length: [`UnexpectedEof`](io::ErrorKind::UnexpectedEof)
    /// or [`InvalidData`](io::ErrorKind::InvalidData). The hasher has then absorbed an unknown part of the file: discard it.
    pub fn update_mmap(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self> {
        append(self, path.as_ref(), append_mapped)?;
        Ok(self)
    }

    /// Hashes as [`update_mmap`](Self::update_mmap), with the threads of the current rayon pool.
    ///
    /// # Errors
    /// If the file cannot be opened or read, or does not end at its length: [`UnexpectedEof`](io::ErrorKind::UnexpectedEof)
    /// or [`InvalidData`](io::ErrorKind::InvalidData). The hasher has then absorbed an unknown part of the file: discard it.
    #[cfg(feature = "rayon")]
    pub fn update_mmap_rayon(&mut self, path: impl AsRef<Path>) -> io::Result<&mut Self> {
        append(self, path.as_ref(), |hasher, map| _ = hasher.update_rayon(map))?;
        Ok(self)
    }
}
