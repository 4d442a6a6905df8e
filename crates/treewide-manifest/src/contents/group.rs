//! A group of the same content, and its bytes in a record that is sorted.

use crate::contents::facts::first;
use crate::run::verdict::Evidence;
use treewide::OUT_LEN;

/// Files of the same content, or folders that are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind of its members.
    pub kind: Kind,
    /// The digest of the content. That of folders is of names and contents below them.
    pub digest: [u8; OUT_LEN],
    /// The length of one file, or of all files in one folder; the bytes that similar folders share. `None` if no operand says it.
    pub size: Option<u64>,
    /// The files of one member: 1, or those in one folder. Of similar folders, the percentage of the larger one that they share.
    pub files: u64,
    /// The bytes that become free if only one member stays. `None` if no operand says how long the files are.
    pub reclaimable: Option<u64>,
    /// In the order of operands and names. The first is not counted as reclaimable.
    pub members: Vec<Member>,
}

/// The kind of the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files with the same content.
    Files,
    /// Folders that are equal. Their files are in no other group because of this.
    Folders,
    /// Two folders that share most of their bytes. Their files are in other groups as well.
    Similar,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Files, Self::Folders, Self::Similar];

    /// The word for it, as in `--json`: `files`, `folders`, `similar`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Folders => "folders",
            Self::Similar => "similar",
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
    /// Whether it is another name of a file before it (a hard link).
    pub is_link: bool,
}

const UNKNOWN: u64 = u64::MAX;
const LINK: u8 = 16;

/// Bytes before the first name.
const ORDER: usize = 21;

impl Group {
    /// Bytes whose order is that of the report: most reclaimable bytes first, then most members, then names.
    pub(crate) fn to_record(&self) -> Vec<u8> {
        let bytes = if self.kind == Kind::Similar { self.size } else { self.reclaimable };
        let order = [bytes.unwrap_or(0), self.members.len() as u64];
        let mut record = vec![u8::from(self.kind == Kind::Similar)];
        record.extend(order.iter().flat_map(|it| (!it).to_be_bytes()));
        if let Some(member) = self.members.first() {
            record.extend((member.root as u32).to_be_bytes());
            record.extend(&member.name);
        }
        record.push(0);
        record.push(self.kind as u8);
        record.extend(self.digest);
        for number in
            [self.size.unwrap_or(UNKNOWN), self.files, self.reclaimable.unwrap_or(UNKNOWN)]
        {
            record.extend(number.to_le_bytes());
        }
        for member in &self.members {
            let evidence = member.evidence.map_or(LINK - 1, |it| it as u8);
            record.push(evidence + if member.is_link { LINK } else { 0 });
            record.extend((member.root as u32).to_le_bytes());
            record.extend((member.name.len() as u32).to_le_bytes());
            record.extend(&member.name);
        }
        record
    }

    pub(crate) fn of_record(mut record: &[u8]) -> Self {
        let from = &mut record;
        let _order: [u8; ORDER] = first(from);
        let end = from.iter().position(|byte| *byte == 0).unwrap_or(0);
        *from = &from[end + 1..];
        let [kind] = first(from);
        let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
        let digest = first(from);
        let [size, files, reclaimable] = std::array::from_fn(|_| u64::from_le_bytes(first(from)));
        let known = |number| (number != UNKNOWN).then_some(number);
        let (size, reclaimable) = (known(size), known(reclaimable));
        let mut members = Vec::new();
        while !from.is_empty() {
            let [flags] = first(from);
            let [root, len] = std::array::from_fn(|_| u32::from_le_bytes(first(from)) as usize);
            let (name, rest) = from.split_at(len);
            *from = rest;
            let evidence = Evidence::ALL.get(usize::from(flags % LINK)).copied();
            members.push(Member { root, name: name.into(), evidence, is_link: flags >= LINK });
        }
        Self { kind, digest, size, files, reclaimable, members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_read_back_from_its_record() {
        let member = |root, name: &[u8], evidence, is_link| Member {
            root,
            name: name.into(),
            evidence,
            is_link,
        };
        for (kind, size, reclaimable) in [
            (Kind::Files, None, None),
            (Kind::Folders, Some(7), Some(0)),
            (Kind::Similar, Some(9), Some(0)),
        ] {
            let group = Group {
                kind,
                digest: [9; OUT_LEN],
                size,
                files: 3,
                reclaimable,
                members: vec![
                    member(0, b"", None, false),
                    member(70_000, b"a\n\xff", Some(Evidence::Claimed), true),
                    member(1, b"b", Some(Evidence::Read), false),
                ],
            };
            assert_eq!(Group::of_record(&group.to_record()), group);
        }
    }
}
