//! Output of a hasher, for both libraries.

use treewide::{Hasher, OUT_LEN};

/// Writes output of `hasher` from byte `seek` on.
#[inline(always)]
pub(crate) fn finalize(hasher: &Hasher, seek: u64, out: &mut [u8]) {
    match <&mut [u8; OUT_LEN]>::try_from(&mut *out) {
        // Most want a digest, and a copy of a known length needs no call.
        Ok(out) if seek == 0 => *out = *hasher.finalize().as_bytes(),
        _ => any(hasher, seek, out),
    }
}

/// Apart, so that its reader on the stack costs a digest nothing.
#[inline(never)]
fn any(hasher: &Hasher, seek: u64, out: &mut [u8]) {
    if seek == 0 && out.len() < OUT_LEN {
        out.copy_from_slice(&hasher.finalize().as_bytes()[..out.len()]);
        return;
    }
    let mut reader = hasher.finalize_xof();
    reader.set_position(seek);
    reader.fill(out);
}
