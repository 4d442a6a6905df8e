//! Names in a manifest: the bytes of a path relative to its root, with `/` between the parts.
//!
//! A name from a list is checked before anything is done with it, so that no list leads out of the root.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use treewide_files::name as files;

/// A name from a list without the `./` that may stand before it.
///
/// # Errors
/// If it is empty, leads out of the root, has an empty part or a part `.`, or cannot be a name on this system.
pub(crate) fn checked(mut name: &[u8]) -> Result<&[u8], &'static str> {
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    if name.is_empty() {
        return Err("empty file name");
    }
    if name[0] == b'/' {
        return Err("the name is an absolute path, and a manifest names files below its directory");
    }
    if is_usual(name) {
        return Ok(name);
    }
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" => return Err("empty part (`//` or a `/` at the end) in the file name"),
            b"." => return Err("part `.` in the file name"),
            b".." => return Err("the name leads out of the directory by `..`"),
            _ => {}
        }
    }
    if cfg!(windows) || name.contains(&0) {
        files::to_exact_path(name)?;
        if cfg!(windows) && name.get(1) == Some(&b':') {
            return Err(
                "the name begins with a drive, and a manifest names files below its directory",
            );
        }
    }
    Ok(name)
}

/// Whether no part of the name can be empty, `.` or `..`, by a look at all bytes without a branch for each.
fn is_usual(name: &[u8]) -> bool {
    let begins = |first: u8| u8::from(first == b'/') | u8::from(first == b'.');
    let rest = name.get(1..).unwrap_or_default();
    let parts = name
        .iter()
        .zip(rest)
        .fold(0, |bad, (slash, first)| bad | u8::from(*slash == b'/') & begins(*first));
    let zeros = name.iter().fold(0, |bad, byte| bad | u8::from(*byte == 0));
    let ends = name
        .first()
        .zip(name.last())
        .is_some_and(|(first, last)| begins(*first) == 0 && *last != b'/');
    !cfg!(windows) && parts | zeros == 0 && ends
}

/// Whether a list of b3sum's can hold this name so that it is found again: it is UTF-8, and has no U+FFFD.
pub(crate) fn is_listable(name: &[u8]) -> bool {
    name.is_ascii()
        || str::from_utf8(name).is_ok_and(|it| !it.contains(char::REPLACEMENT_CHARACTER))
}

/// The name of a path that begins with `root`.
pub(crate) fn relative<'a>(path: &'a Path, root: &Path) -> Cow<'a, [u8]> {
    let path = path.as_os_str().as_encoded_bytes();
    let rest = path.strip_prefix(root.as_os_str().as_encoded_bytes()).unwrap_or(path);
    let start = rest.iter().position(|byte| !is_separator(*byte)).unwrap_or(rest.len());
    let rest = &rest[start..];
    if cfg!(windows) && rest.contains(&b'\\') {
        return rest.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
    }
    Cow::Borrowed(rest)
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || cfg!(windows) && byte == b'\\'
}

/// A name as a path, for people and for messages. Where a system has no such name it is only similar.
pub(crate) fn path(name: &[u8]) -> PathBuf {
    files::os_path(name).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned().into())
}

/// The part after the last `/`.
pub(crate) fn base(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b'/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_refuses_what_leads_out_of_the_root() {
        for name in [
            "../x",
            "/etc/passwd",
            "a/../../b",
            "a/..",
            "..",
            "./..",
            ".//a",
            "a//b",
            "a/",
            "./",
            ".",
            "a/./b",
            "",
            "/",
        ] {
            assert!(checked(name.as_bytes()).is_err(), "{name}");
        }
        for (name, expected) in [("./a", "a"), ("././a/b", "a/b"), ("..a/b", "..a/b"), ("-", "-")] {
            assert_eq!(checked(name.as_bytes()), Ok(expected.as_bytes()));
        }
        // On Windows no name ends like this.
        for name in ["a/b..", " a "].iter().filter(|_| cfg!(unix)) {
            assert_eq!(checked(name.as_bytes()), Ok(name.as_bytes()));
        }
        assert!(checked(b"a\0b").is_err());
    }

    #[test]
    fn relative_takes_the_root_off() {
        for (path, root) in [("r/a/b", "r"), ("r/a/b", "r/"), ("./a/b", "."), ("/a/b", "/")] {
            assert_eq!(&*relative(Path::new(path), Path::new(root)), b"a/b", "{path}");
        }
    }

    #[test]
    fn is_listable_refuses_what_a_list_cannot_hold() {
        assert!(is_listable("é a".as_bytes()));
        assert!(!is_listable(b"\xff"));
        assert!(!is_listable("\u{fffd}".as_bytes()));
    }
}
