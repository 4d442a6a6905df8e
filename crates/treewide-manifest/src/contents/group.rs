//! A group of the same content, and its bytes in a record that is sorted.

use crate::contents::facts::first;
use crate::run::verdict::Evidence;
use treewide::OUT_LEN;

/// Files of the same content, or folders that are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind of its members.
    pub kind: Kind,
    /// The digest of the content. That of folders is of names and contents below them. `None` for similar folders.
    pub digest: Option<[u8; OUT_LEN]>,
    /// The length of one file, or of all files in one folder; the bytes that similar folders share. `None` if no operand says it.
    pub size: Option<u64>,
    /// The files of one member: 1, or those in one folder; 0 for similar folders.
    pub files: u64,
    /// The bytes that become free if only one member stays. `None` if no operand says how long the files are.
    pub reclaimable: Option<u64>,
    /// The members, in the order of operands and names. The first is not counted as reclaimable.
    pub members: Vec<Member>,
}

/// The kind of the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files with the same content.
    Files,
    /// Folders that are equal. Their files are in no other group because of this.
    Folders,
    /// Two folders that share this percentage of the larger one's bytes. Their files are in other groups as well.
    Similar(u8),
}

impl Kind {
    /// The word for it, as in `--json`: `files`, `folders`, `similar`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Folders => "folders",
            Self::Similar(_) => "similar",
        }
    }
}

/// A file or a folder in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number of its operand, from 0 on.
    pub root: usize,
    /// Its name below the operand. That of an operand itself is empty.
    pub name: Vec<u8>,
    /// How its content is known; `None` for folders.
    pub evidence: Option<Evidence>,
    /// The place in the group, from 0 on, of the file before it that it is another name of (a hard link).
    pub link_of: Option<usize>,
}

const UNKNOWN: u64 = u64::MAX;

/// Instead of a place, or of evidence.
const NONE: u32 = u32::MAX;

impl Group {
    /// Bytes whose order is that of the report: most bytes first, then most members, then names.
    pub(crate) fn to_record(&self) -> Vec<u8> {
        let (kind, bytes) = match self.kind {
            Kind::Files => (0, self.reclaimable),
            Kind::Folders => (1, self.reclaimable),
            Kind::Similar(share) => (2 + share, self.size),
        };
        let mut record = vec![u8::from(kind > 1)];
        let order = [bytes.unwrap_or(0), self.members.len() as u64];
        record.extend(order.iter().flat_map(|it| (!it).to_be_bytes()));
        if let Some(member) = self.members.first() {
            record.extend((member.root as u32).to_be_bytes());
            record.extend(&member.name);
        }
        record.extend([0, kind]);
        record.extend(self.digest.unwrap_or_default());
        let numbers = [self.size, Some(self.files), self.reclaimable];
        record.extend(numbers.iter().flat_map(|it| it.unwrap_or(UNKNOWN).to_le_bytes()));
        for member in &self.members {
            record.push(member.evidence.map_or(u8::MAX, |it| it as u8));
            let link = member.link_of.map_or(NONE, |it| it as u32);
            for number in [link, member.root as u32, member.name.len() as u32] {
                record.extend(number.to_le_bytes());
            }
            record.extend(&member.name);
        }
        record
    }

    pub(crate) fn of_record(mut record: &[u8]) -> Self {
        let from = &mut record;
        let _order: [u8; 21] = first(from);
        let end = from.iter().position(|byte| *byte == 0).unwrap_or(0);
        *from = &from[end + 1..];
        let ([kind], digest) = (first(from), first(from));
        let (kind, digest) = match kind {
            0 => (Kind::Files, Some(digest)),
            1 => (Kind::Folders, Some(digest)),
            share => (Kind::Similar(share - 2), None),
        };
        let [size, files, reclaimable] = std::array::from_fn(|_| u64::from_le_bytes(first(from)));
        let known = |number| (number != UNKNOWN).then_some(number);
        let (size, reclaimable) = (known(size), known(reclaimable));
        let mut members = Vec::new();
        while !from.is_empty() {
            let [evidence] = first(from);
            let [link, root, len] = std::array::from_fn(|_| u32::from_le_bytes(first(from)));
            let (name, rest) = from.split_at(len as usize);
            *from = rest;
            let link_of = (link != NONE).then_some(link as usize);
            let evidence = Evidence::ALL.get(usize::from(evidence)).copied();
            members.push(Member { root: root as usize, name: name.into(), evidence, link_of });
        }
        Self { kind, digest, size, files, reclaimable, members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_read_back_from_its_record() {
        let member = |root, name: &[u8], evidence, link_of| Member {
            root,
            name: name.into(),
            evidence,
            link_of,
        };
        for (kind, size, reclaimable) in [
            (Kind::Files, None, None),
            (Kind::Folders, Some(7), Some(0)),
            (Kind::Similar(100), Some(9), Some(0)),
        ] {
            let group = Group {
                kind,
                digest: (!matches!(kind, Kind::Similar(_))).then_some([9; OUT_LEN]),
                size,
                files: 3,
                reclaimable,
                members: vec![
                    member(0, b"", None, None),
                    member(70_000, b"a\n\xff", Some(Evidence::Claimed), Some(0)),
                    member(1, b"b", Some(Evidence::Read), None),
                ],
            };
            assert_eq!(Group::of_record(&group.to_record()), group);
        }
    }
}
