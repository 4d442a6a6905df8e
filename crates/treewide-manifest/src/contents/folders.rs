//! Digests of folders: of the names and contents below them, or of the contents alone.

use crate::contents::entry::{EMPTY, Kind};
use crate::format::name::base;
use treewide::{Hasher, OUT_LEN};

/// What a child is, as its digest is of.
const FILE: u8 = b'f';
const FOLDER: u8 = b'd';
const OTHER: u8 = b'o';

/// Folders that are deeper, or have longer names, are not compared. A guess: each level of a name is a record with the name
/// until there.
const DEEPEST: usize = 256;
const LONGEST: usize = 64 << 10;

/// A child of a folder: what it is, and its digest.
type Child = [u8; 1 + OUT_LEN];

/// Folders that are not at their ends yet, each in the one before it.
pub(crate) struct Folders {
    ignore_names: bool,
    /// The name of the last of them.
    name: Vec<u8>,
    open: Vec<Open>,
}

struct Open {
    /// The length of its name.
    name: usize,
    hasher: Hasher,
    /// For digests without names.
    children: Vec<Child>,
    is_whole: bool,
    /// Files that are not empty.
    filled: u64,
    files: u64,
    size: Option<u64>,
    height: u32,
}

/// A folder at its end.
pub(crate) struct Folder<'a> {
    /// Empty for the root.
    pub(crate) name: &'a [u8],
    pub(crate) digest: [u8; OUT_LEN],
    /// The files below it.
    pub(crate) files: u64,
    /// Their lengths together, if they are known.
    pub(crate) size: Option<u64>,
    /// How many folders are below it, each in the one before it. Equal folders have the same.
    pub(crate) height: u32,
    /// Whether the digest covers everything in it, and that is not only empty files.
    pub(crate) is_comparable: bool,
}

/// Gets folders that end.
type EachFolder<'a, E> = dyn FnMut(Folder<'_>) -> Result<(), E> + 'a;

impl Folders {
    pub(crate) fn new(ignore_names: bool) -> Self {
        Self { ignore_names, name: Vec::new(), open: vec![Open::new(0)] }
    }

    /// Adds the next entry in the order of names. `each` gets folders that end before it.
    pub(crate) fn add<E>(
        &mut self,
        name: &[u8],
        kind: &Kind<'_>,
        each: &mut EachFolder<'_, E>,
    ) -> Result<(), E> {
        while self.open.len() > 1 && !self.holds(name) {
            self.close(each)?;
        }
        let from = self.top().name;
        let slashes = name.iter().enumerate().skip(from + 1).filter(|(_, it)| **it == b'/');
        let mut levels: Vec<_> = slashes.map(|(at, _)| at).collect();
        if matches!(kind, Kind::Directory) {
            levels.push(name.len());
        }
        if self.open.len() + levels.len() > DEEPEST || name.len() > LONGEST {
            self.top().is_whole = false;
            return Ok(());
        }
        if let Some(end) = levels.last() {
            self.name.clear();
            self.name.extend_from_slice(&name[..*end]);
            self.open.extend(levels.into_iter().map(Open::new));
        }
        let ignore_names = self.ignore_names;
        let top = self.top();
        match kind {
            Kind::File(digest, facts) => {
                let size = if *digest == Some(EMPTY) { Some(0) } else { facts.size };
                top.size = top.size.zip(size).map(|(a, b)| a.saturating_add(b));
                top.files += 1;
                top.filled += u64::from(*digest != Some(EMPTY));
                // Only other names of a file have its content: they are as good as read.
                let inode = facts.inode.filter(|it| it.links > 1);
                let bytes = inode.map(|it| [it.device, it.inode].map(u64::to_le_bytes));
                let hash = bytes.map(|it| treewide::hash(it.as_flattened()).into());
                match digest.or(hash) {
                    Some(digest) => top.add(FILE, base(name), &digest, ignore_names),
                    None => top.is_whole = false,
                }
            }
            Kind::Other(what) => {
                top.add(OTHER, base(name), treewide::hash(what).as_bytes(), ignore_names);
            }
            Kind::Directory => {}
        }
        Ok(())
    }

    /// Ends all folders.
    pub(crate) fn finish<E>(mut self, each: &mut EachFolder<'_, E>) -> Result<(), E> {
        while !self.open.is_empty() {
            self.close(each)?;
        }
        Ok(())
    }

    fn top(&mut self) -> &mut Open {
        self.open.last_mut().expect("the root ends last")
    }

    /// Whether this is a name in the last folder.
    fn holds(&self, name: &[u8]) -> bool {
        name.strip_prefix(&self.name[..]).is_some_and(|rest| rest.first() == Some(&b'/'))
    }

    fn close<E>(&mut self, each: &mut EachFolder<'_, E>) -> Result<(), E> {
        let Some(mut ended) = self.open.pop() else { return Ok(()) };
        ended.children.sort_unstable();
        for child in &ended.children {
            ended.hasher.update(child);
        }
        let digest = ended.hasher.finalize().into();
        if let Some(around) = self.open.last_mut() {
            around.add(FOLDER, base(&self.name), &digest, self.ignore_names);
            around.is_whole &= ended.is_whole;
            around.filled += ended.filled;
            around.files += ended.files;
            around.size = around.size.zip(ended.size).map(|(a, b)| a.saturating_add(b));
            around.height = around.height.max(ended.height + 1);
        }
        let Open { files, size, height, is_whole, filled, .. } = ended;
        let is_comparable = is_whole && filled > 0;
        each(Folder { name: &self.name, digest, files, size, height, is_comparable })?;
        self.name.truncate(self.open.last().map_or(0, |it| it.name));
        Ok(())
    }
}

impl Open {
    fn new(name: usize) -> Self {
        Self {
            name,
            hasher: Hasher::new(),
            children: Vec::new(),
            is_whole: true,
            filled: 0,
            files: 0,
            size: Some(0),
            height: 0,
        }
    }

    fn add(&mut self, kind: u8, base: &[u8], digest: &[u8; OUT_LEN], ignore_names: bool) {
        let mut child = [kind; 1 + OUT_LEN];
        child[1..].copy_from_slice(digest);
        if ignore_names {
            self.children.push(child);
            return;
        }
        self.hasher.update(&child).update(&(base.len() as u64).to_le_bytes()).update(base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::facts::{Facts, Inode};

    fn folders(names: &[(&str, u8)], ignore_names: bool) -> Vec<(String, [u8; OUT_LEN])> {
        let (mut folders, mut found) = (Folders::new(ignore_names), Vec::new());
        let mut each = |folder: Folder<'_>| -> Result<(), ()> {
            if folder.is_comparable {
                found.push((String::from_utf8(folder.name.into()).unwrap(), folder.digest));
            }
            Ok(())
        };
        for (name, content) in names {
            let kind = match content {
                0 => Kind::Directory,
                content => Kind::File(Some([*content; OUT_LEN]), Facts::CLAIMED),
            };
            folders.add(name.as_bytes(), &kind, &mut each).unwrap();
        }
        folders.finish(&mut each).unwrap();
        found
    }

    #[test]
    fn folders_with_the_same_names_and_contents_have_one_digest() {
        let names = [("a.x", 1), ("a/b", 1), ("a/c/d", 2), ("ab/b", 1), ("ab/c/d", 2), ("b/c", 1)];
        let found = folders(&names, false);
        let order: Vec<_> = found.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(order, ["a/c", "a", "ab/c", "ab", "b", ""]);
        let of = |name: &str| found.iter().find(|it| it.0 == name).unwrap().1;
        assert_eq!((of("a"), of("a/c")), (of("ab"), of("ab/c")));
        assert!(of("b") != of("a") && of("b") != of("a/c"));
        // A name that only another split of the same bytes would give.
        assert_ne!(
            folders(&[("x/ab", 1), ("x/c", 1)], false)[0].1,
            folders(&[("x/a", 1), ("x/bc", 1)], false)[0].1
        );
    }

    #[test]
    fn folders_without_names_are_compared_by_contents_and_depth() {
        let found = folders(
            &[("a/x", 1), ("a/y", 2), ("b/1", 2), ("b/2", 1), ("c/d/1", 1), ("c/d/2", 2)],
            true,
        );
        let of = |name: &str| found.iter().find(|it| it.0 == name).unwrap().1;
        assert_eq!((of("a"), of("a")), (of("b"), of("c/d")));
        assert_ne!(of("a"), of("c"));
    }

    #[test]
    fn folders_that_are_empty_count_and_are_not_reported() {
        let found = folders(&[("a/b", 0), ("a/x", 1), ("c/x", 1)], false);
        let names: Vec<_> = found.iter().map(|it| &it.0[..]).collect();
        assert_eq!(names, ["a", "c", ""]);
        assert_ne!(found[0].1, found[1].1);
    }

    #[test]
    fn folders_that_are_too_deep_are_not_compared() {
        let (deep, long) = ("a/".repeat(300) + "x", "l".repeat(70_000) + "/x");
        let names = [(&deep[..], 1), ("b/x", 1), ("b/y", 1), (&long, 1)];
        let found = folders(&names, false);
        let names: Vec<_> = found.iter().map(|it| &it.0[..]).collect();
        assert_eq!(names, ["b"], "not the root, whose digest would be without two files");
    }

    #[test]
    fn folders_have_the_numbers_of_files_that_are_linked() {
        let linked = |inode, links| {
            let inode = Some(Inode { list: 0, ctime: 1, device: 2, inode, links });
            Kind::File(None, Facts { inode, ..Facts::CLAIMED })
        };
        let mut found = Vec::new();
        let mut folders = Folders::new(false);
        let mut each = |it: Folder<'_>| -> Result<(), ()> {
            found.push((it.is_comparable, it.digest));
            Ok(())
        };
        for (name, kind) in [
            ("a/x", linked(5, 2)),
            ("b/x", linked(5, 2)),
            ("c/x", linked(6, 2)),
            ("d/x", linked(7, 1)),
        ] {
            folders.add(name.as_bytes(), &kind, &mut each).unwrap();
        }
        folders.finish(&mut each).unwrap();
        assert_eq!(found[0], found[1]);
        assert_ne!(found[1].1, found[2].1);
        let comparable: Vec<_> = found.iter().map(|it| it.0).collect();
        assert_eq!(
            comparable,
            [true, true, true, false, false],
            "one without other names is not read"
        );
    }
}
