//! Which names are of one file, by its numbers.

use crate::contents::facts::Inode;
use std::collections::HashMap;

/// Files with one content, by their numbers.
#[derive(Default)]
pub(crate) struct Numbers {
    by_key: HashMap<(u32, i64, u64, u64), usize>,
    /// By inode and ctime, and whether a list alone says these.
    by_time: HashMap<(u64, i64), (usize, bool)>,
}

impl Numbers {
    /// The file with these numbers, which is `new` if there is none.
    pub(crate) fn file(&mut self, inode: &Inode, new: usize) -> usize {
        let is_recorded = inode.list > 0;
        let time = inode.time();
        let same = time.and_then(|it| self.by_time.get(&it)).copied();
        let same = same.filter(|(_, other)| is_recorded || *other).map(|(file, _)| file);
        let file = *self.by_key.entry(inode.key()).or_insert(same.unwrap_or(new));
        if let Some(time) = time {
            self.by_time.entry(time).or_insert((file, is_recorded));
        }
        file
    }
}
