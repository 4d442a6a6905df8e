//! Codes of errors, and their texts.

use core::ffi::{c_char, c_int};

/// The errors of the header that no system call has; `-errno` is above all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Error {
    NotAState = -10001,
    StateVersion = -10002,
    StateLength = -10003,
    StateDamaged = -10004,
    Offsets = -10005,
    Kernel = -10006,
    #[cfg(feature = "file")]
    Shrank = crate::watch::SHRANK,
    #[cfg(feature = "file")]
    Options = -10008,
    #[cfg(feature = "file")]
    File = -10009,
    Hex = -10010,
    #[cfg(feature = "file")]
    Ended = crate::watch::ENDED,
    #[cfg(feature = "file")]
    GoesOn = crate::watch::GOES_ON,
    StatePart = -10013,
    #[cfg(feature = "file")]
    Stopped = crate::watch::STOPPED,
    #[cfg(feature = "file")]
    Path = -10015,
}

/// 0, or the code of the error.
pub(crate) fn code(result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => error as c_int,
    }
}

unsafe extern "C" {
    fn strerror(number: c_int) -> *mut c_char;
}

#[unsafe(no_mangle)]
pub extern "C" fn treewide_strerror(code: c_int) -> *const c_char {
    let text = match code {
        0 => c"no error",
        -10001 => c"these bytes are not a saved state: they do not begin with \"treewide\"",
        -10002 => c"this release does not read the version of this saved state",
        -10003 => c"the saved state has the wrong length: it was cut off, or something follows it",
        -10004 => c"the saved state is damaged: its check does not match",
        -10005 => c"an offset is less than the one before it, or is past the end of the data",
        -10006 => c"this CPU or this build has no kernel of this name: use \"auto\", or a name that treewide.h lists",
        -10007 => c"the file became shorter while it was being hashed; hash it again when nothing writes to it",
        -10008 => c"the options name no strategy, or their reserved bytes are not 0; begin with all bytes 0",
        -10009 => c"the file could not be read, for a reason that has no number in errno.h; check its file system",
        -10010 => c"a digest as text has exactly 64 hexadecimal digits",
        -10011 => c"reading the file ended before its length; check the connection or disk, and retry",
        -10012 => c"the file has bytes after its length; check its file system",
        -10013 => c"the saved state is of a part of an input, which a treewide_hasher cannot finish; use treewide_subtree",
        -10014 => c"the watcher stopped hashing the file",
        -10015 => c"the path is not UTF-8; convert it, or rename the file",
        -4095..=-1 => {
            // SAFETY: every number has a text.
            return unsafe { strerror(-code) };
        }
        _ => c"this is not an error of treewide",
    };
    text.as_ptr()
}
