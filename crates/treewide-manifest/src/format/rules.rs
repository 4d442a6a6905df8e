//! Which paths below a root a manifest covers, and what of them.

use crate::error::Error;
use crate::format::name;
use crate::format::xattrs::Xattrs;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rules for the coverage of a manifest. They are recorded in the index, and later runs use the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Globs of paths that are left out, with all that is below them.
    ///
    /// One without `/` matches a name at any depth (`*.tmp`). One with `/` matches a path from the root on (`/a/b`,
    /// `a/**/b`, `./a`); `*` and `?` match no `/`. One that ends in `/` matches directories only.
    pub exclude: Vec<String>,
    /// Whether names that begin with a dot are covered.
    pub hidden: bool,
    /// Whether symbolic links are followed. If not, they are recorded themselves.
    pub follow: bool,
    /// Whether other file systems below the root are left alone.
    pub one_file_system: bool,
    /// Whether permission bits are recorded.
    pub modes: bool,
    /// Which extended attributes, also access lists, are recorded.
    #[serde(skip_serializing_if = "Xattrs::is_none")]
    pub xattrs: Xattrs,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            exclude: Vec::new(),
            hidden: true,
            follow: false,
            one_file_system: false,
            modes: false,
            xattrs: Xattrs::None,
        }
    }
}

impl Rules {
    /// # Errors
    /// If this program cannot read what they cover.
    pub(crate) fn can_be_read(&self) -> std::io::Result<()> {
        if self.xattrs.can_be_read() {
            return Ok(());
        }
        let cause = match cfg!(unix) {
            true => "this program was built without the feature `xattrs`",
            false => "this program cannot read them on this system",
        };
        Err(std::io::Error::other(format!("extended attributes are covered, and {cause}")))
    }

    /// As JSON, always with the same keys in the same order.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A set of globs, ready to match.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    set: GlobSet,
    /// Of each, whether it is for directories only.
    directories: Vec<bool>,
    texts: Vec<String>,
}

impl Globs {
    /// Parses globs.
    ///
    /// # Errors
    /// If one cannot be parsed.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, Error> {
        let (mut set, mut directories) = (GlobSetBuilder::new(), Vec::new());
        let wrong = |glob: &str, cause: &dyn std::fmt::Display| {
            Error::usage(format!("glob {glob:?} cannot be used: {cause}"))
        };
        for glob in globs {
            let glob = glob.as_ref();
            // `./a`, `a//b` and `a/./b` are written by hand, and mean what the same paths mean.
            let parts: Vec<&str> = glob.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
            if parts.is_empty() {
                return Err(wrong(glob, &"it matches nothing, or everything"));
            }
            if parts.contains(&"..") {
                return Err(wrong(glob, &"it leads out of the directory by `..`"));
            }
            let is_anchored = parts.len() > 1 || glob.starts_with('/') || glob.starts_with("./");
            let path = parts.join("/");
            let pattern = if is_anchored { path } else { format!("**/{path}") };
            let built = GlobBuilder::new(&pattern).literal_separator(true).build();
            set.add(built.map_err(|error| wrong(glob, error.kind()))?);
            directories.push(glob.ends_with('/'));
        }
        let set = set.build().map_err(|error| Error::usage(format!("globs: {error}")))?;
        let texts = globs.iter().map(|glob| glob.as_ref().to_owned()).collect();
        Ok(Self { set, directories, texts })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }

    /// Whether one of them matches this path itself.
    pub fn matches(&self, name: &[u8], is_directory: bool) -> bool {
        let matches = || self.set.matches(name::path(name));
        !self.is_empty()
            && matches().into_iter().any(|index| is_directory || !self.directories[index])
    }

    /// As [`matches`](Self::matches), and notes in `seen`, which has a place for each, which of them match.
    pub(crate) fn matches_noting(
        &self,
        name: &[u8],
        is_directory: bool,
        seen: &[AtomicBool],
    ) -> bool {
        let found = self.set.matches(name::path(name));
        let found = found.into_iter().filter(|index| is_directory || !self.directories[*index]);
        found.fold(false, |_, index| {
            seen[index].store(true, Ordering::Relaxed);
            true
        })
    }

    /// Notes in `found`, which has a place for each, which of them match this path or a directory that it is in.
    pub(crate) fn note(&self, name: &[u8], is_directory: bool, found: &mut [bool]) {
        let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let folders = slashes.map(|(at, _)| (&name[..at], true));
        for (part, is_directory) in folders.chain([(name, is_directory)]) {
            for index in self.set.matches(name::path(part)) {
                found[index] |= is_directory || !self.directories[index];
            }
        }
    }

    /// What they were made of.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether one of them matches this path or a directory that it is in.
    pub fn cover(&self, name: &[u8], is_directory: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.into_iter().any(|(at, _)| self.matches(&name[..at], true))
            || self.matches(name, is_directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_names_and_paths() {
        for (glob, name, is_directory, expected) in [
            ("*.tmp", "a.tmp", false, true),
            ("*.tmp", "d/a.tmp", false, true),
            ("*.tmp", "d/a.tmp/x", false, true),
            ("*.tmp", "a.tmpx", false, false),
            ("cache/", "cache", false, false),
            ("cache/", "d/cache", true, true),
            ("cache/", "d/cache/x", false, true),
            ("/a", "a", false, true),
            ("/a", "b/a", false, false),
            ("a/*", "a/b", false, true),
            ("a/*", "a/b/c", false, true),
            ("a/*", "x/a/b", false, false),
            ("a/**/b", "a/x/y/b", false, true),
            (".git", ".git/config", false, true),
            ("./a", "a", false, true),
            ("./a", "b/a", false, false),
            ("a//b", "a/b", false, true),
            ("a/./b/", "a/b/c", false, true),
            ("a///", "x/a", true, true),
            ("a///", "x/a", false, false),
        ] {
            let globs = Globs::new(&[glob]).unwrap();
            assert_eq!(globs.cover(name.as_bytes(), is_directory), expected, "{glob} {name}");
        }
        assert!(!Globs::new::<&str>(&[]).unwrap().cover(b"a", false));
        for bad in ["a[", "", "/", "//", ".", "./", "..", "../a", "a/../b"] {
            assert!(Globs::new(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn rules_that_are_not_known_are_refused() {
        for other in [r#"{"acls":true}"#, r#"{"xattrs":true}"#, r#"{"xattrs":"some"}"#] {
            assert!(serde_json::from_str::<Rules>(other).is_err(), "{other}");
        }
        for xattrs in [Xattrs::None, Xattrs::WithoutTrusted, Xattrs::All] {
            let rules =
                Rules { exclude: vec!["é".into()], modes: true, xattrs, ..Rules::default() };
            assert_eq!(serde_json::from_str::<Rules>(&rules.json()).unwrap(), rules);
        }
        // As they were before there were attributes, so that the facts of such manifests are the same.
        let usual =
            r#"{"exclude":[],"hidden":true,"follow":false,"one_file_system":false,"modes":false}"#;
        assert_eq!(Rules::default().json(), usual);
    }
}
