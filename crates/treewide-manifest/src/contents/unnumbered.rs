//! Files of one operand in manifests of others that have no inodes, as of FAT, FUSE and network file systems.
//!
//! The record of a directory that is elsewhere now looks like that of a copy with the same names. Who takes a record for a
//! copy loses the last one, so such a file does not count.

use crate::contents::entry::{Kind, split};
use crate::contents::root::Root;
use crate::contents::roots::Roots;
use crate::error::Error;
use crate::tree::clock;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use treewide::OUT_LEN;
use treewide_files::Options;

/// File systems that no other machine or program shows under another kind. A directory on one of them stays on it.
const LOCAL: [&str; 10] =
    ["ext4", "xfs", "f2fs", "btrfs", "tmpfs", "zfs", "ntfs", "refs", "fat", "exfat"];
/// Those of them that keep no inodes.
const WITHOUT_INODES: [&str; 2] = ["fat", "exfat"];

fn is_local(kind: &str) -> bool {
    LOCAL.contains(&kind)
}

/// Whether the directories of two operands may be one, by the kinds of their file systems.
pub(crate) fn may_be_one(a: &str, b: &str) -> bool {
    a == b || !is_local(a) || !is_local(b)
}

/// Names and contents of the first operand, as hashes.
#[derive(Default)]
pub(crate) struct Unnumbered {
    /// What a manifest of this directory would record, and whether it would have the inode.
    full: HashMap<(u64, u64), bool>,
    /// The same of directories in it: the names without their first parts.
    parts: HashMap<(u64, u64), bool>,
    /// Of directories that it is in: what its names begin with in their manifests.
    before: Vec<Vec<u8>>,
    files: u64,
    kind: String,
    kinds: HashMap<u64, bool>,
}

impl Unnumbered {
    pub(crate) fn new(first: &Root) -> Self {
        let dir = first.full().unwrap_or_default();
        let parts = dir.iter().map(|it| it.as_encoded_bytes()).skip(1).collect::<Vec<_>>();
        let before = (0..parts.len()).map(|at| [&parts[at..].join(&b'/')[..], b"/"].concat());
        Self { before: before.collect(), kind: first.kind().into(), ..Self::default() }
    }

    /// Adds a file, whose inode is recorded or, if `now` names its device and path, is there now.
    pub(crate) fn add(
        &mut self,
        name: &[u8],
        digest: &[u8; OUT_LEN],
        is_recorded: bool,
        now: Option<(u64, &Path)>,
    ) {
        let keeps = match now {
            Some((device, path)) => *self.kinds.entry(device).or_insert_with(|| {
                let kind = clock::kind(path.parent().unwrap_or(path)).0;
                is_local(kind) && !WITHOUT_INODES.contains(&kind)
            }),
            None => is_recorded,
        };
        let note = |names: &mut HashMap<_, bool>, name: &[u8]| {
            let known = names.entry(key(name, digest)).or_insert(keeps);
            *known &= keeps;
        };
        note(&mut self.full, name);
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            note(&mut self.parts, &name[at + 1..]);
        }
        self.files += 1;
    }

    /// Whether a manifest without inodes, that has this name, may have the file of the first operand.
    pub(crate) fn has(&self, root: &Root, name: &[u8], digest: &[u8; OUT_LEN]) -> bool {
        let kind = root.kind();
        // A file that keeps its inode would be recorded with it, unless another machine or program shows it.
        let may_be = |keeps: Option<&bool>| keeps.is_some_and(|keeps| !keeps || !is_local(kind));
        let above = || {
            let mut names = self.before.iter().filter_map(|it| name.strip_prefix(&it[..]));
            names.any(|it| may_be(self.full.get(&key(it, digest))))
        };
        let is_same = self.full.contains_key(&key(name, digest));
        is_same && may_be_one(&self.kind, kind)
            || may_be(self.parts.get(&key(name, digest)))
            || above()
    }

    /// Whether most of a manifest records the first operand: then all its names stand for files of that.
    pub(crate) fn is_record(&self, root: &Root, options: &Options) -> Result<bool, Error> {
        if !may_be_one(&self.kind, root.kind()) {
            return Ok(false);
        }
        let (mut files, mut same) = (0, 0);
        root.each(0, options, &mut |name, kind| {
            let Kind::File(digest, _) = kind else { return Ok(()) };
            files += 1;
            let is_same = digest.is_some_and(|it| self.full.contains_key(&key(name, &it)));
            same += u64::from(is_same);
            Ok(())
        })?;
        Ok(same > 0 && same * 2 >= self.files.min(files))
    }
}

/// The operand of a name, whether it is known which file it is, and this.
type Twin = (usize, bool, usize);

/// Names with one content that may be of one file: another operand has the same name, and no inode says that it is another file.
#[derive(Default)]
pub(crate) struct Twins<'a> {
    /// By name. `None` if no operand is away.
    names: Option<HashMap<&'a [u8], Vec<Twin>>>,
}

impl<'a> Twins<'a> {
    pub(crate) fn of(roots: &Roots) -> Self {
        let is_any_away = roots.all.len() > 1 && roots.all.iter().any(Root::is_away);
        Self { names: is_any_away.then(HashMap::new) }
    }

    /// The file of another operand that this one may be. Each without an inode is only one of them.
    pub(crate) fn file(&mut self, path: &[u8], has_inode: bool, roots: &Roots) -> Option<usize> {
        let (root, name) = split(path);
        let is_unnumbered = |root: usize, has_inode: bool| !has_inode && roots.all[root].is_away();
        let may_be = |(other, has, _): &&mut Twin| {
            *other != root
                && (is_unnumbered(root, has_inode) || is_unnumbered(*other, *has))
                && may_be_one(roots.all[root].kind(), roots.all[*other].kind())
        };
        let (_, is_known, file) = self.names.as_mut()?.get_mut(name)?.iter_mut().find(may_be)?;
        *is_known = true;
        Some(*file)
    }

    pub(crate) fn add(&mut self, path: &'a [u8], is_known: bool, file: usize) {
        let (root, name) = split(path);
        if let Some(names) = &mut self.names {
            names.entry(name).or_default().push((root, is_known, file));
        }
    }
}

fn key(name: &[u8], digest: &[u8; OUT_LEN]) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let begin = digest[..8].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    (hasher.finish(), begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_on_two_local_file_systems_are_two() {
        for (a, b, expected) in [
            ("ext4", "ext4", true),
            ("fat", "fat", true),
            ("ext4", "exfat", false),
            ("fat", "exfat", false),
            ("fuse", "exfat", true),
            ("ext4", "smb", true),
            ("ext4", "unknown", true),
        ] {
            assert_eq!([may_be_one(a, b), may_be_one(b, a)], [expected; 2], "{a} {b}");
        }
    }
}
