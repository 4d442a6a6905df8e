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
