//! The object and the mode that parts belong to.

use crate::mode::Mode;
use crate::oneshot::derive_key;
use crate::spec::{OUT_LEN, bytes};

/// The most bytes that may say which object it is: 64 KiB.
pub const MAX_OBJECT: usize = 64 << 10;

/// Hashes the key of a mode for the tag; no other purpose has this context.
const CONTEXT: &str = "treewide 2026-11 tag of a key in parts";

/// Bytes for a mode that may be sent: no one gets the key from it, and another key has another tag.
pub(super) fn tag(mode: &Mode) -> (u8, [u8; OUT_LEN]) {
    match mode.flags {
        0 => (0, [0; OUT_LEN]),
        flags => (flags, derive_key(CONTEXT, &bytes(&mode.key))),
    }
}
