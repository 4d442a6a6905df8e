//! Which paths below a root a manifest covers, and what of them.

use crate::error::Error;
use crate::format::name;
use crate::format::xattrs::Xattrs;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use treewide_files::walk::Walk;

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
    /// Walks everything that they cover below a directory.
    ///
    /// # Errors
    /// If a glob cannot be parsed.
    pub fn walk(&self, root: &Path) -> Result<Walk, Error> {
        let walk = Walk::new(root)
            .hidden(self.hidden)
            .follow_links(self.follow)
            .one_file_system(self.one_file_system);
        let (exclude, root) = (Globs::new(&self.exclude)?, root.to_owned());
        Ok(match exclude.is_empty() {
            true => walk,
            false => walk.filter(move |path, is_directory| {
                !exclude.matches(&name::relative(path, &root), is_directory)
            }),
        })
    }

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
    patterns: Vec<Pattern>,
    texts: Vec<String>,
}

#[derive(Clone, Debug)]
struct Pattern {
    /// As `fast_glob` reads it, for whole paths.
    text: String,
    /// Whether it matches directories only.
    directories: bool,
}

impl Globs {
    /// Parses globs.
    ///
    /// # Errors
    /// If one cannot be parsed.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, Error> {
        let pattern = |glob: &S| {
            let glob = glob.as_ref();
            let wrong = |cause: &dyn std::fmt::Display| {
                Error::usage(format!("glob {glob:?} cannot be used: {cause}"))
            };
            // `./a`, `a//b` and `a/./b` are written by hand, and mean what the same paths mean.
            let parts: Vec<&str> = glob.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
            if parts.is_empty() {
                return Err(wrong(&"it matches nothing, or everything"));
            }
            if parts.contains(&"..") {
                return Err(wrong(&"it leads out of the directory by `..`"));
            }
            let is_anchored = parts.len() > 1 || glob.starts_with('/') || glob.starts_with("./");
            let path = parts.join("/");
            // A name may begin with `!`, which would negate the pattern.
            let text = match is_anchored {
                true if path.starts_with('!') => format!("\\{path}"),
                true => path,
                false => format!("**/{path}"),
            };
            fast_glob::validate(&text).map_err(|error| wrong(&error))?;
            Ok(Pattern { text, directories: glob.ends_with('/') })
        };
        let patterns = globs.iter().map(pattern).collect::<Result<_, _>>()?;
        let texts = globs.iter().map(|glob| glob.as_ref().to_owned()).collect();
        Ok(Self { patterns, texts })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The indices of the globs that match this path itself.
    fn matching(&self, name: &[u8], is_directory: bool) -> impl Iterator<Item = usize> {
        let patterns = self.patterns.iter().enumerate();
        let fits = move |it: &Pattern| {
            (is_directory || !it.directories) && fast_glob::glob_match(&it.text, name)
        };
        patterns.filter(move |(_, it)| fits(it)).map(|(index, _)| index)
    }

    /// Whether one of them matches this path itself.
    pub fn matches(&self, name: &[u8], is_directory: bool) -> bool {
        self.matching(name, is_directory).next().is_some()
    }

    /// As [`matches`](Self::matches), and notes in `seen`, which has a place for each, which of them match.
    pub(crate) fn matches_noting(
        &self,
        name: &[u8],
        is_directory: bool,
        seen: &[AtomicBool],
    ) -> bool {
        self.matching(name, is_directory).fold(false, |_, index| {
            seen[index].store(true, Ordering::Relaxed);
            true
        })
    }

    /// Notes in `found`, which has a place for each, which of them match this path or a directory that it is in.
    pub(crate) fn note(&self, name: &[u8], is_directory: bool, found: &mut [bool]) {
        for (part, is_directory) in parts(name, is_directory) {
            self.matching(part, is_directory).for_each(|index| found[index] = true);
        }
    }

    /// What they were made of.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether one of them matches this path or a directory that it is in.
    pub fn cover(&self, name: &[u8], is_directory: bool) -> bool {
        !self.is_empty()
            && parts(name, is_directory).any(|(part, folder)| self.matches(part, folder))
    }
}

/// The directories that this path is in, from the root on, then the path itself, each with whether it is a directory.
fn parts(name: &[u8], is_directory: bool) -> impl Iterator<Item = (&[u8], bool)> {
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| (&name[..at], true)).chain([(name, is_directory)])
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
            ("/!a", "!a", false, true),
            ("/!a", "b", false, false),
            ("!a", "b/!a", false, true),
            ("*.{tmp,bak}", "a/b.bak", false, true),
            ("[!a-c]?", "dx", false, true),
            ("\\*", "*", false, true),
            ("\\*", "a", false, false),
        ] {
            let globs = Globs::new(&[glob]).unwrap();
            assert_eq!(globs.cover(name.as_bytes(), is_directory), expected, "{glob} {name}");
        }
        assert!(!Globs::new::<&str>(&[]).unwrap().cover(b"a", false));
        for bad in ["a[", "a{b", "a\\", "", "/", "//", ".", "./", "..", "../a", "a/../b"] {
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
