//! Files that have several names: a run reads each of them once, and returns its digest for the others.
//!
//! The number of names is known when a file is open, so that files with one name cost nothing. What is remembered of a file is
//! used if everything that the system says of it is the same under the other name, and was old enough when it was read
//! that a write since then would show.

use crate::digest::{Digest, Extent};
use crate::identity::Identity;
use crate::stamp::{Stamp, Stamps};
use crate::task::Found;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Files that are remembered, at most: 50 MB of memory. More of them are read under each name.
const MOST: usize = 1 << 18;
/// The longest step of a clock, in nanoseconds: after a younger time, a write may leave it as it is.
const STEP: i64 = 2_000_000_000;

/// What is known of files with several names, by device and inode.
#[derive(Default)]
pub(crate) struct Links(Mutex<HashMap<(u64, u64), Known>>);

enum Known {
    /// It is being read.
    Begun,
    Read {
        stamp: Stamp,
        extent: Extent,
        digest: Digest,
        /// By other algorithms.
        found: Found,
        /// Names that were not seen yet.
        left: u64,
    },
}

/// What to do with a file that is open.
pub(crate) enum Claim {
    /// It is to be read.
    Read,
    /// It is being read under another name.
    Wait,
    /// It was read.
    Known(Digest, Found),
}

impl Links {
    fn known(&self) -> MutexGuard<'_, HashMap<(u64, u64), Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a file that was opened and is like this.
    pub(crate) fn claim(&self, identity: Identity, now: &Stamp, extent: Extent) -> Claim {
        if now.links < 2 || !identity.has_inode {
            return Claim::Read;
        }
        let (mut known, numbers) = (self.known(), (now.device, now.inode));
        let is_full = known.len() >= MOST;
        match known.get_mut(&numbers) {
            None if is_full => Claim::Read,
            None => {
                known.insert(numbers, Known::Begun);
                Claim::Read
            }
            Some(Known::Begun) => Claim::Wait,
            Some(Known::Read { stamp, extent: of, digest, found, left })
                if stamp == now && *of == extent =>
            {
                let (digest, found) = (digest.clone(), found.clone());
                *left -= 1;
                if *left == 0 {
                    known.remove(&numbers);
                }
                Claim::Known(digest, found)
            }
            Some(known) => {
                *known = Known::Begun;
                Claim::Read
            }
        }
    }

    /// The file was read, and these were its digests.
    pub(crate) fn was_read(
        &self,
        stamps: &Stamps,
        bytes: u64,
        extent: Extent,
        (digest, found): (&Digest, Found),
    ) {
        let Stamps { before, after, .. } = stamps;
        if after.links < 2 {
            return;
        }
        let (mut known, numbers) = (self.known(), (after.device, after.inode));
        if before != after || after.len != bytes || !is_old(after) {
            known.remove(&numbers);
        } else if let Some(known) = known.get_mut(&numbers) {
            let (digest, left) = (digest.clone(), after.links - 1);
            *known = Known::Read { stamp: *after, extent, digest, found, left };
        }
    }
}

fn is_old(stamp: &Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(0);
    let is =
        |time: Option<i64>| time.and_then(|it| it.checked_add(STEP)).is_some_and(|it| it < now);
    is(stamp.mtime) && is(stamp.ctime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewide::Hasher;

    const IDENTITY: Identity =
        Identity { device: 1, inode: 2, has_inode: true, folder: None, follows: false };

    fn stamp(links: u64) -> Stamp {
        let (mtime, ctime) = (Some(7), Some(7));
        Stamp { len: 3, mtime, ctime, inode: 2, device: 1, mode: 0, links, is_file: true }
    }

    fn read(links: &Links, before: Stamp, after: Stamp) {
        let digest = Digest::new(&Hasher::new(), Extent::HASH);
        let stamps = Stamps { before, after, linked: false };
        links.was_read(&stamps, 3, Extent::HASH, (&digest, Found::new()));
    }

    /// Such as `read wait known`.
    fn said(links: &Links, stamps: &[Stamp]) -> String {
        let words = stamps.iter().map(|stamp| match links.claim(IDENTITY, stamp, Extent::HASH) {
            Claim::Read => "read",
            Claim::Wait => "wait",
            Claim::Known(..) => "known",
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn claim_gives_a_file_to_one_reader() {
        let links = Links::default();
        assert_eq!(said(&links, &[stamp(1), stamp(1)]), "read read");
        assert!(links.known().is_empty());
        assert_eq!(said(&links, &[stamp(3), stamp(3)]), "read wait");
        read(&links, stamp(3), stamp(3));
        assert_eq!(said(&links, &[stamp(3), stamp(3)]), "known known");
        assert!(links.known().is_empty(), "all its names were seen");
        let unstable = Identity { has_inode: false, ..IDENTITY };
        assert!(matches!(links.claim(unstable, &stamp(3), Extent::HASH), Claim::Read));
        assert!(links.known().is_empty());
    }

    #[test]
    fn claim_reads_again_what_changed() {
        for other in [
            Stamp { ctime: Some(8), ..stamp(3) },
            Stamp { mtime: Some(8), ..stamp(3) },
            Stamp { len: 4, ..stamp(3) },
            stamp(4),
        ] {
            let links = Links::default();
            assert_eq!(said(&links, &[stamp(3)]), "read");
            read(&links, stamp(3), stamp(3));
            assert_eq!(said(&links, &[other, other]), "read wait");
            // Changed while it was being read.
            read(&links, stamp(3), other);
            assert_eq!(said(&links, &[other]), "read");
        }
        // Too young, and in the future.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        for time in [now, now + 1_000_000_000_000, i64::MAX] {
            let young = Stamp { ctime: Some(time), ..stamp(2) };
            let links = Links::default();
            assert_eq!(said(&links, &[young]), "read");
            read(&links, young, young);
            assert_eq!(said(&links, &[young]), "read");
        }
    }

    #[test]
    fn links_are_bounded() {
        let links = Links::default();
        for inode in 0..MOST as u64 {
            links.known().insert((1, 1000 + inode), Known::Begun);
        }
        assert_eq!(said(&links, &[stamp(2), stamp(2)]), "read read");
    }
}
