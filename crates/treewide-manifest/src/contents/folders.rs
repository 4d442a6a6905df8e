//! Digests of folders: of the names and contents below them, or of the contents alone.

use crate::contents::entry::{EMPTY, Kind};
use crate::format::name::base;
use treewide::{Hasher, OUT_LEN};

/// What a child is, as its digest is of.
const FILE: u8 = b'f';
const FOLDER: u8 = b'd';
const OTHER: u8 = b'o';

/// A child of a folder: what it is, and its digest.
type Child = [u8; 1 + OUT_LEN];

/// Folders that are not at their ends yet, each in the one before it.
pub(crate) struct Folders {
    ignore_names: bool,
    /// Links, special files and empty folders count.
    has_all: bool,
    open: Vec<Open>,
}

struct Open {
    folder: Folder,
    hasher: Hasher,
    /// For digests without names.
    children: Vec<Child>,
    is_whole: bool,
    /// Files that are not empty.
    filled: u64,
}

/// A folder at its end.
pub(crate) struct Folder {
    /// Empty for the root.
    pub(crate) name: Vec<u8>,
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

impl Folders {
    pub(crate) fn new(ignore_names: bool, has_all: bool) -> Self {
        Self { ignore_names, has_all, open: vec![Open::new(b"")] }
    }

    /// Adds what is next in the order of names. `each` gets folders that end before it.
    pub(crate) fn add<E>(
        &mut self,
        name: &[u8],
        kind: &Kind<'_>,
        each: &mut dyn FnMut(Folder) -> Result<(), E>,
    ) -> Result<(), E> {
        while self.open.len() > 1 && !self.top().holds(name) {
            self.close(each)?;
        }
        let from = self.top().folder.name.len();
        let from = if from == 0 { 0 } else { from + 1 };
        let rest = name.get(from..).unwrap_or_default();
        for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            if from + at > 0 {
                self.open.push(Open::new(&name[..from + at]));
            }
        }
        let (ignore_names, has_all) = (self.ignore_names, self.has_all);
        let top = self.top();
        match kind {
            Kind::File(Some(digest), facts) => {
                let is_empty = *digest == EMPTY;
                let size = if is_empty { Some(0) } else { facts.size };
                top.folder.files += 1;
                top.folder.size = top.folder.size.zip(size).map(|(a, b)| a.saturating_add(b));
                top.filled += u64::from(!is_empty);
                top.add(FILE, base(name), digest, ignore_names);
            }
            Kind::File(None, facts) => {
                top.is_whole = false;
                top.folder.size = top.folder.size.zip(facts.size).map(|(a, b)| a.saturating_add(b));
            }
            Kind::Directory if has_all => self.open.push(Open::new(name)),
            Kind::Other(what) if has_all => {
                top.add(OTHER, base(name), treewide::hash(what).as_bytes(), ignore_names);
            }
            Kind::Directory | Kind::Other(_) => {}
        }
        Ok(())
    }

    /// Ends all folders.
    pub(crate) fn finish<E>(
        mut self,
        each: &mut dyn FnMut(Folder) -> Result<(), E>,
    ) -> Result<(), E> {
        while !self.open.is_empty() {
            self.close(each)?;
        }
        Ok(())
    }

    fn top(&mut self) -> &mut Open {
        self.open.last_mut().expect("the root ends last")
    }

    fn close<E>(&mut self, each: &mut dyn FnMut(Folder) -> Result<(), E>) -> Result<(), E> {
        let Some(mut ended) = self.open.pop() else { return Ok(()) };
        ended.children.sort_unstable();
        for child in &ended.children {
            ended.hasher.update(child);
        }
        ended.folder.digest = ended.hasher.finalize().into();
        if let Some(around) = self.open.last_mut() {
            let folder = &ended.folder;
            around.add(FOLDER, base(&folder.name), &folder.digest, self.ignore_names);
            around.is_whole &= ended.is_whole;
            around.filled += ended.filled;
            let into = &mut around.folder;
            into.files += folder.files;
            into.size = into.size.zip(folder.size).map(|(a, b)| a.saturating_add(b));
            into.height = into.height.max(folder.height + 1);
        }
        ended.folder.is_comparable = ended.is_whole && ended.filled > 0;
        each(ended.folder)
    }
}

impl Open {
    fn new(name: &[u8]) -> Self {
        let folder = Folder {
            name: name.into(),
            digest: [0; OUT_LEN],
            files: 0,
            size: Some(0),
            height: 0,
            is_comparable: false,
        };
        Self { folder, hasher: Hasher::new(), children: Vec::new(), is_whole: true, filled: 0 }
    }

    fn holds(&self, name: &[u8]) -> bool {
        name.strip_prefix(&self.folder.name[..]).is_some_and(|rest| rest.first() == Some(&b'/'))
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
    use crate::contents::facts::Facts;

    fn folders(names: &[(&str, u8)], ignore_names: bool) -> Vec<(String, [u8; OUT_LEN])> {
        let (mut folders, mut found) = (Folders::new(ignore_names, true), Vec::new());
        let mut each = |folder: Folder| -> Result<(), ()> {
            if folder.is_comparable {
                found.push((String::from_utf8(folder.name).unwrap(), folder.digest));
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
}
