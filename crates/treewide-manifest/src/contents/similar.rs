//! Folders that share most of their bytes.
//!
//! Each content that two folders have at the same depth counts once for the two, and for the folders around them: `x/2024/a`
//! and `y/2024/a` count for `x/2024` and `y/2024`, and for `x` and `y`. So they share at least the bytes that are counted.

use crate::contents::entry::{parent, parents, split};
use crate::contents::group::{Group, Kind, Member};
use std::collections::{HashMap, HashSet};

/// A content that more folders have than this says nothing of two of them. A guess: pairs grow with its square.
const MOST_COPIES: usize = 16;

/// Counts what folders share.
#[derive(Default)]
pub(crate) struct Similar {
    /// The least share, in percent. 0 if no one asks.
    least: u8,
    /// The bytes below each folder.
    sizes: HashMap<Vec<u8>, u64>,
    /// The smaller path is the first.
    shared: HashMap<(Vec<u8>, Vec<u8>), u64>,
}

impl Similar {
    pub(crate) fn new(least: u8) -> Self {
        Self { least, ..Self::default() }
    }

    /// A folder has ended.
    pub(crate) fn folder(&mut self, path: Vec<u8>, size: Option<u64>) {
        if let Some(size) = size.filter(|_| self.least > 0) {
            self.sizes.insert(path, size);
        }
    }

    /// Files with the same content.
    pub(crate) fn content<'a>(&mut self, files: impl Iterator<Item = &'a [u8]>, size: u64) {
        let (mut folders, mut pairs) = (HashSet::new(), HashSet::new());
        for folder in files.filter_map(parent).take_while(|_| self.least > 0) {
            folders.insert(folder);
            if folders.len() > MOST_COPIES {
                return;
            }
        }
        for a in &folders {
            for b in folders.iter().filter(|b| a < *b) {
                let above = parents(a).zip(parents(b));
                let apart = |(a, b): &(&[u8], &[u8])| {
                    !parents(a).any(|it| it == *b) && !parents(b).any(|it| it == *a)
                };
                pairs.extend(above.take_while(apart).map(|(a, b)| (a.min(b), a.max(b))));
            }
        }
        for (a, b) in pairs {
            let shared = self.shared.entry((a.into(), b.into())).or_default();
            *shared = shared.saturating_add(size);
        }
    }

    /// The pairs that share enough, without those whose parents do, and those with a folder that is left `out`.
    pub(crate) fn groups(&self, out: &dyn Fn(&[u8]) -> bool) -> Vec<Group> {
        let percent = |(a, b): &(Vec<u8>, Vec<u8>), shared: u64| {
            let size = |it| self.sizes.get(it).copied().unwrap_or(u64::MAX);
            (u128::from(shared) * 100 / u128::from(size(a).max(size(b)).max(1))).min(100) as u8
        };
        let above = |(a, b): &(Vec<u8>, Vec<u8>)| {
            let (a, b) = (parent(a)?.to_vec(), parent(b)?.to_vec());
            let pair = if a < b { (a, b) } else { (b, a) };
            self.shared.get(&pair).map(|shared| percent(&pair, *shared))
        };
        let group = |(pair, shared): (&(Vec<u8>, Vec<u8>), &u64)| {
            let share = percent(pair, *shared);
            let is_whole = above(pair).is_some_and(|it| it >= self.least);
            if share < self.least || is_whole || out(&pair.0) || out(&pair.1) {
                return None;
            }
            let members = [&pair.0, &pair.1].map(|path| {
                let (root, name) = split(path);
                Member { root, name: name.into(), evidence: None, link_of: None }
            });
            Some(Group {
                kind: Kind::Similar(share),
                digest: None,
                size: Some(*shared),
                files: 0,
                reclaimable: Some(0),
                members: members.into(),
            })
        };
        self.shared.iter().filter_map(group).collect()
    }
}
