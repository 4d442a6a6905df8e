//! Folders that share most of their bytes.
//!
//! Each content that two folders have at the same depth counts once for the two, and for the folders around them: `x/2024/a`
//! and `y/2024/a` count for `x/2024` and `y/2024`, and for `x` and `y`. So they share at least what is counted.

use crate::contents::group::{Group, Kind, Member};
use std::collections::{HashMap, HashSet};
use treewide::OUT_LEN;

/// A content that more folders have than this says nothing of two of them. A guess: pairs grow with its square.
const MOST_COPIES: usize = 16;

/// Counts what folders share.
#[derive(Default)]
pub(crate) struct Similar {
    /// The least share, in percent. 0 if no one asks.
    least: u8,
    /// The bytes below each folder, by operand and name.
    sizes: HashMap<Vec<u8>, u64>,
    /// The numbers of folders that share anything.
    numbers: HashMap<Vec<u8>, u32>,
    folders: Vec<Vec<u8>>,
    shared: HashMap<(u32, u32), u64>,
}

impl Similar {
    pub(crate) fn new(least: u8) -> Self {
        Self { least, ..Self::default() }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.least > 0
    }

    /// A folder has ended.
    pub(crate) fn folder(&mut self, root: [u8; 4], name: &[u8], size: Option<u64>) {
        if let Some(size) = size.filter(|size| self.is_wanted() && *size > 0) {
            self.sizes.insert([&root[..], name].concat(), size);
        }
    }

    /// Files with the same content, by operand and name.
    pub(crate) fn content<'a>(&mut self, files: impl Iterator<Item = &'a [u8]>, size: u64) {
        if !self.is_wanted() {
            return;
        }
        let mut folders: Vec<_> = files.filter_map(parent).collect();
        folders.sort_unstable();
        folders.dedup();
        if folders.len() > MOST_COPIES {
            return;
        }
        let mut pairs = HashSet::new();
        for (at, a) in folders.iter().enumerate() {
            for b in &folders[at + 1..] {
                let (mut a, mut b) = (*a, *b);
                while !is_in(a, b) && !is_in(b, a) && pairs.insert((a, b)) {
                    let (Some(above), Some(other)) = (parent(a), parent(b)) else { break };
                    (a, b) = (above, other);
                }
            }
        }
        for (a, b) in pairs {
            let (a, b) = (self.number(a), self.number(b));
            let shared = self.shared.entry((a.min(b), a.max(b))).or_default();
            *shared = shared.saturating_add(size);
        }
    }

    fn number(&mut self, folder: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(folder) {
            return *number;
        }
        let number = self.folders.len() as u32;
        self.numbers.insert(folder.into(), number);
        self.folders.push(folder.into());
        number
    }

    /// The pairs that share enough and are not `equal`, without those whose parents do.
    pub(crate) fn groups(self, equal: &dyn Fn(&[u8], &[u8]) -> bool) -> Vec<Group> {
        let folder = |number: u32| &self.folders[number as usize][..];
        let percent = |(a, b): (u32, u32), shared: u64| {
            let most = [a, b].map(|it| self.sizes.get(folder(it)).copied().unwrap_or(u64::MAX));
            (u128::from(shared) * 100 / u128::from(most[0].max(most[1]).max(1))) as u64
        };
        let is_similar =
            |pair: (u32, u32), shared: u64| percent(pair, shared) >= u64::from(self.least);
        let above = |(a, b): (u32, u32)| {
            let number = |it| parent(folder(it)).and_then(|it| self.numbers.get(it)).copied();
            let (a, b) = (number(a)?, number(b)?);
            let pair = (a.min(b), a.max(b));
            self.shared.get(&pair).map(|shared| (pair, *shared))
        };
        let pairs = self.shared.iter().map(|(pair, shared)| (*pair, *shared));
        let found = pairs.filter(|(pair, shared)| {
            is_similar(*pair, *shared)
                && !equal(folder(pair.0), folder(pair.1))
                && above(*pair).is_none_or(|(pair, shared)| !is_similar(pair, shared))
        });
        let group = |(pair, shared): ((u32, u32), u64)| {
            let mut paths = [folder(pair.0), folder(pair.1)];
            paths.sort_unstable();
            let members = paths.map(|path| {
                let (root, name) = path.split_at(4);
                let root = u32::from_be_bytes(root.try_into().unwrap_or_default()) as usize;
                Member { root, name: name.into(), evidence: None, is_link: false }
            });
            Group {
                kind: Kind::Similar,
                digest: [0; OUT_LEN],
                size: Some(shared),
                files: percent(pair, shared).min(100),
                reclaimable: Some(0),
                members: members.into(),
            }
        };
        found.map(group).collect()
    }
}

/// The folder that a path is in; `None` for the root.
fn parent(path: &[u8]) -> Option<&[u8]> {
    let (root, name) = path.split_at(4);
    let end = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    (!name.is_empty()).then(|| &path[..root.len() + end])
}

/// Whether a folder is another or in it.
fn is_in(a: &[u8], b: &[u8]) -> bool {
    a.strip_prefix(b).is_some_and(|rest| b.len() == 4 || matches!(rest.first(), None | Some(b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_ends_at_the_root() {
        let path = |name: &str| [&[0, 0, 0, 7], name.as_bytes()].concat();
        let (file, folder, root) = (path("a/b"), path("a"), path(""));
        assert_eq!(parent(&file), Some(&folder[..]));
        assert_eq!(parent(&folder), Some(&root[..]));
        assert_eq!(parent(&root), None);
        assert!(is_in(&file, &folder) && is_in(&folder, &root) && is_in(&folder, &folder));
        assert!(!is_in(&path("ab"), &folder) && !is_in(&folder, &file));
    }
}
