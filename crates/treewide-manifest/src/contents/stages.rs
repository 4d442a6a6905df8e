//! Reads the files of directories whose content could be that of another file, and no more of them than is needed.
//!
//! ```text
//! size that no other file has > not read
//! first 4 KiB (and, of long files, the last) that no other file of this size has > no more is read
//! the rest > read to the end
//! ```

use crate::contents::root::Root;
use crate::contents::tree::Thing;
use crate::error::Error;
use crate::format::regular;
use crate::run::verdict::Evidence;
use crate::run::verify::Tasks;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use treewide::file::read_at;
use treewide::{Hasher, OUT_LEN};
use treewide_files::digest::Extent;
use treewide_files::{Event, Kind, Options, Task};

/// Bytes of the beginning and of the end: a page.
const PART: usize = 4 << 10;

/// Files of at most this many bytes are read at once. A guess, as the next: it is what `fclones` reads.
const SHORT: u64 = 16 << 10;

/// From this size on the end is read before all is.
const LONG: u64 = 256 << 10;

/// Which files of a size are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    No,
    /// All.
    Whole,
    /// Files that are the same as far as they were read.
    Alike,
}

/// A file that may be read: size, operand, place in its tree.
type Place = (u64, usize, usize);

/// Finds the digests of files that directories have. Returns how many files were read to the end, and the bytes.
pub(crate) fn resolve(
    roots: &mut [Root],
    options: &Options,
    wanted: &dyn Fn(usize, u64) -> Wanted,
) -> Result<(u64, u64), Error> {
    let (mut whole, mut alike) = (Vec::new(), Vec::new());
    let (mut first, mut others) = (HashMap::new(), Vec::new());
    for (root, tree) in roots.iter().enumerate().filter_map(|(at, it)| it.tree().map(|it| (at, it)))
    {
        for at in 0..tree.items.len() {
            let Some(file) = tree.file(at).filter(|it| it.digest.is_none()) else { continue };
            let wanted = wanted(root, file.stamp.len);
            if wanted == Wanted::No {
                continue;
            }
            if file.stamp.links > 1 && file.stamp.inode != 0 {
                let numbers = (file.stamp.device, file.stamp.inode);
                if let Some(first) = first.get(&numbers) {
                    others.push(((root, at), *first));
                    continue;
                }
                first.insert(numbers, (root, at));
            }
            let to = if wanted == Wanted::Whole { &mut whole } else { &mut alike };
            to.push((file.stamp.len, root, at));
        }
    }
    alike.sort_unstable();
    let (mut short, mut long): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for same in alike.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        if same[0].0 <= SHORT { &mut short } else { &mut long }.extend(same);
    }
    whole.append(&mut short);
    let mut parts = parts(roots, &long, options);
    parts.sort_unstable_by_key(|((size, ..), hash)| (*size, *hash));
    for same in parts.chunk_by(|a, b| (a.0.0, a.1) == (b.0.0, b.1)).filter(|it| it.len() > 1) {
        whole.extend(same.iter().map(|(place, _)| *place));
    }
    whole.sort_unstable_by_key(|(_, root, at)| (*root, *at));
    let read = read(roots, &whole, options)?;
    for ((root, at), (of, first)) in others {
        let first = roots[of].tree().and_then(|it| it.file(first));
        let first = first.map(|it| (it.digest, it.stamp.len));
        let Some(tree) = roots[root].tree_mut() else { continue };
        match (first, tree.file_mut(at)) {
            (Some(first), Some(file)) => (file.digest, file.stamp.len) = first,
            _ => tree.items[at].what = Thing::Unreadable,
        }
    }
    Ok(read)
}

/// The hashes of the beginning and the end of each file; those of files that cannot be read are the same.
fn parts(roots: &[Root], files: &[Place], options: &Options) -> Vec<(Place, [u8; OUT_LEN])> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(files.len())));
    std::thread::scope(|scope| {
        for _ in 0..options.most_threads().min(files.len()) {
            scope.spawn(|| {
                let mut found = Vec::new();
                while let Some(place) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if options.is_cancelled() {
                        break;
                    }
                    let path = roots[place.1].tree().map(|it| it.path(place.2));
                    let hash = path.and_then(|path| part(&path, place.0).ok());
                    found.push((*place, hash.unwrap_or_default()));
                }
                all.lock().unwrap_or_else(|it| it.into_inner()).append(&mut found);
            });
        }
    });
    all.into_inner().unwrap_or_else(|it| it.into_inner())
}

fn part(path: &Path, size: u64) -> std::io::Result<[u8; OUT_LEN]> {
    let (file, mut hasher, mut buffer) = (regular::open(path)?, Hasher::new(), [0; PART]);
    let ends = if size >= LONG { &[0, size - PART as u64][..] } else { &[0] };
    for from in ends {
        let read = read_at(&file, &mut buffer, *from)?;
        hasher.update(&buffer[..read]);
    }
    Ok(hasher.finalize().into())
}

/// Reads these files to their ends.
fn read(roots: &mut [Root], files: &[Place], options: &Options) -> Result<(u64, u64), Error> {
    let task = |(_, root, at): &Place| {
        let tree = roots[*root].tree()?;
        let (path, kind) = (tree.path(*at), Kind::Found(tree.file(*at)?.identity));
        Some(Task { path, kind, extent: Extent::HASH, about: (*root, *at) })
    };
    let tasks: Vec<_> = files.iter().filter_map(task).collect();
    let mut read = (0, 0);
    for event in options.run(Tasks(tasks.into_iter())) {
        let (Task { path, about: (root, at), .. }, result) = match event {
            Event::File(task, result) => (task, result),
            Event::Cancelled => return Err(Error::cancelled()),
            Event::Note(()) | Event::Pause => continue,
        };
        let Some(tree) = roots[root].tree_mut() else { continue };
        match (result, tree.file_mut(at)) {
            (Ok(it), Some(file)) => {
                read = (read.0 + 1, read.1 + it.bytes);
                let digest = it.digest.into_bytes().try_into().expect("a digest of 32 bytes");
                (file.digest, file.stamp.len, file.evidence) =
                    (Some(digest), it.bytes, Evidence::Read);
            }
            (Err(cause), _) => {
                tree.failed.push((path, cause.to_string()));
                tree.items[at].what = Thing::Unreadable;
            }
            _ => {}
        }
    }
    Ok(read)
}
