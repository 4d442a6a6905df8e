//! The modes of C callers.

use treewide::Mode;

/// The mode at `mode`; the plain one for null, and for all bytes 0, which hold no key.
///
/// # Safety
/// It was made by a function of this library, has only bytes 0, or is null.
#[inline(always)]
pub(crate) unsafe fn mode_at(mode: *const Mode) -> Mode {
    if mode.is_null() {
        return Mode::PLAIN;
    }
    // SAFETY: as our caller promises.
    let mode = unsafe { *mode };
    if mode.flags() == 0 { Mode::PLAIN } else { mode }
}
