//! Names of files, and watchers, which see how far hashing has come and stop it.

use std::ffi::{CStr, c_int, c_void};
use std::ops::ControlFlow;
use std::path::Path;

/// Codes of errors of a file, the same in `treewide.h` and for files that a device hashes.
pub(crate) const SHRANK: c_int = -10007;
pub(crate) const ENDED: c_int = -10011;
pub(crate) const GOES_ON: c_int = -10012;
pub(crate) const STOPPED: c_int = -10014;

/// The path that a text names, on Windows in UTF-8.
#[cfg(unix)]
pub(crate) fn path(text: &CStr) -> Option<&Path> {
    use std::os::unix::ffi::OsStrExt;
    Some(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

#[cfg(not(unix))]
pub(crate) fn path(text: &CStr) -> Option<&Path> {
    text.to_str().ok().map(Path::new)
}

/// `treewide_watch` of the header.
pub(crate) type Watch = unsafe extern "C" fn(context: *mut c_void, bytes: u64) -> c_int;

/// The argument of the caller for a [`Watch`].
pub(crate) struct Context(pub(crate) *mut c_void);

// SAFETY: callers of functions with a watcher promise that any thread may use it, several at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Asks the watcher whether to stop.
    ///
    /// # Safety
    /// `watch` may be called with this context.
    pub(crate) unsafe fn ask(&self, watch: Watch, bytes: u64) -> ControlFlow<()> {
        // SAFETY: as our caller promises.
        match unsafe { watch(self.0, bytes) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
