//! Facts about a file in addition to its name and digest, as bytes at the end of a record that is sorted.

use crate::run::verdict::Evidence;
use treewide_files::Stamp;

/// Facts about a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Its length. `None` in a plain list.
    pub(crate) size: Option<u64>,
    /// The numbers that its other names share.
    pub(crate) inode: Option<Inode>,
    /// How its digest is known.
    pub(crate) evidence: Evidence,
}

/// One file, whatever its names are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inode {
    /// The list that has the numbers, from 1 on, or 0 if they are those of a file here. Numbers of two lists may be those of
    /// two machines.
    pub(crate) list: u32,
    pub(crate) ctime: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// How many names it has; 0 where that is not known.
    pub(crate) links: u64,
}

impl Inode {
    /// The numbers of a file that is here.
    pub(crate) fn of(now: &Stamp) -> Option<Self> {
        let Stamp { device, inode, links, ctime, .. } = *now;
        let ctime = ctime.unwrap_or(0);
        (inode != 0).then_some(Self { list: 0, ctime, device, inode, links })
    }

    /// The same for all names of a file. On a disk whose number is not recorded, a number may be that of several files.
    pub(crate) fn key(&self) -> (u32, i64, u64, u64) {
        (self.list, if self.list == 0 { 0 } else { self.ctime }, self.device, self.inode)
    }

    /// The numbers that also tell it where its device is not known: no two files get an inode in the same nanosecond. Not on file
    /// systems that keep seconds.
    pub(crate) fn time(&self) -> Option<(u64, i64)> {
        (self.ctime % 1_000_000_000 != 0).then_some((self.inode, self.ctime))
    }
}

const SIZE: u8 = 1;
const INODE: u8 = 2;
const EVIDENCE: u8 = 4;

impl Facts {
    /// Of a line of a plain list.
    pub(crate) const CLAIMED: Self = Self { size: None, inode: None, evidence: Evidence::Claimed };

    /// Writes them so that [`take`](Self::take) finds them at the end.
    pub(crate) fn push_to(&self, to: &mut Vec<u8>) {
        let mut flags = EVIDENCE * self.evidence as u8;
        if let Some(size) = self.size {
            to.extend(size.to_le_bytes());
            flags |= SIZE;
        }
        if let Some(Inode { list, ctime, device, inode, links }) = self.inode {
            for number in [u64::from(list), ctime.cast_unsigned(), device, inode, links] {
                to.extend(number.to_le_bytes());
            }
            flags |= INODE;
        }
        to.push(flags);
    }

    /// Takes them from the end of a record.
    pub(crate) fn take(record: &mut &[u8]) -> Self {
        let [flags] = last(record);
        let inode = (flags & INODE != 0).then(|| {
            let [links, inode, device, ctime, list] =
                std::array::from_fn(|_| u64::from_le_bytes(last(record)));
            Inode { list: list as u32, ctime: ctime.cast_signed(), device, inode, links }
        });
        let size = (flags & SIZE != 0).then(|| u64::from_le_bytes(last(record)));
        let evidence = Evidence::ALL[usize::from(flags / EVIDENCE) % Evidence::ALL.len()];
        Self { size, inode, evidence }
    }
}

/// Takes the last bytes of a record that this program has made.
pub(crate) fn last<const N: usize>(record: &mut &[u8]) -> [u8; N] {
    let (rest, last) = record.split_last_chunk().expect("a record that was made with them");
    *record = rest;
    *last
}

/// Takes the first bytes of a record that this program has made.
pub(crate) fn first<const N: usize>(record: &mut &[u8]) -> [u8; N] {
    let (first, rest) = record.split_first_chunk().expect("a record that was made with them");
    *record = rest;
    *first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_at_the_end() {
        let inode = Inode { list: 3, ctime: -5, device: u64::MAX, inode: 7, links: 2 };
        for size in [None, Some(0), Some(u64::MAX)] {
            for inode in [None, Some(inode)] {
                for evidence in Evidence::ALL {
                    let facts = Facts { size, inode, evidence };
                    let mut record = b"name".to_vec();
                    facts.push_to(&mut record);
                    let mut rest = &record[..];
                    assert_eq!(format!("{:?}", Facts::take(&mut rest)), format!("{facts:?}"));
                    assert_eq!(rest, b"name");
                }
            }
        }
    }
}
