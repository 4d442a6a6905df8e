//! An entry below a root, with its digest.

use crate::contents::facts::Facts;
use crate::error::Error;
use treewide::OUT_LEN;

/// The digest of the empty file. No other mode has it.
pub(crate) const EMPTY: [u8; OUT_LEN] = [
    0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49,
    0x9b, 0xcb, 0x25, 0xc9, 0xad, 0xc1, 0x12, 0xb7, 0xcc, 0x9a, 0x93, 0xca, 0xe4, 0x1f, 0x32, 0x62,
];

/// Something below a root.
pub(crate) enum Kind<'a> {
    /// Without a digest, it is the content of no other file, or could not be read.
    File(Option<[u8; OUT_LEN]>, Facts),
    Directory,
    /// A link, and where it leads; or a pipe, and its word.
    Other(&'a [u8]),
}

/// Gets what is below a root, by its name.
pub(crate) type Each<'a> = dyn FnMut(&[u8], Kind<'_>) -> Result<(), Error> + 'a;

/// Bytes of a path that are the number of its root. The name follows.
pub(crate) const ROOT: usize = 4;

/// The root and the name in a path.
pub(crate) fn split(path: &[u8]) -> (usize, &[u8]) {
    let (root, name) = path.split_first_chunk().expect("a path begins with its root");
    (u32::from_be_bytes(*root) as usize, name)
}

/// The folder that a path is in; `None` for the root.
pub(crate) fn parent(path: &[u8]) -> Option<&[u8]> {
    let name = &path[ROOT..];
    let end = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    (!name.is_empty()).then(|| &path[..ROOT + end])
}

/// A path, and the folders that it is in.
pub(crate) fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |it| parent(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_end_at_the_root() {
        let path = |name: &str| [&[0, 0, 0, 7], name.as_bytes()].concat();
        let all: Vec<_> = ["a/b/c", "a/b", "a", ""].map(path).into();
        assert_eq!(parents(&all[0]).collect::<Vec<_>>(), all);
        assert_eq!(split(&all[1]), (7, &b"a/b"[..]));
    }
}
