//! Files.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::ptr;

use crate::errors::Error;
use crate::memory::output;
use crate::mode::mode_at;
use crate::watch::{Context, Watch, path};
use treewide::file::{ErrorKind, Options, Strategy};
use treewide::{Hasher, Mode};

/// `treewide_file_options` of the header.
#[repr(C)]
pub struct FileOptions {
    strategy: u32,
    threads: u32,
    drop_cache: u32,
    reserved: [u32; 5],
}

/// Checks the layout against the header.
const _: () = assert!(size_of::<FileOptions>() == 32 && align_of::<FileOptions>() == 4);

/// The options at `options`; null stands for the default.
///
/// # Safety
/// `options` is null or can be read.
unsafe fn options_at(options: *const FileOptions) -> Option<Options<'static>> {
    if options.is_null() {
        return Some(Options::new());
    }
    // SAFETY: as our caller promises.
    let from = unsafe { &*options };
    let strategy = *Strategy::ALL.get(from.strategy as usize)?;
    if from.reserved != [0; 5] {
        return None;
    }
    let options = Options::new().strategy(strategy).drop_cache(from.drop_cache != 0);
    Some(match from.threads {
        0 => options,
        most => options.threads(most as usize),
    })
}

/// The number that `errno.h` has for an error.
fn errno(error: &io::Error) -> Option<c_int> {
    // One of ours, which has no number. This one is the same on all systems.
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Some(12);
    }
    // The numbers of Windows itself mean something else: 5 is EIO, but access was denied.
    #[cfg(windows)]
    let number = match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => Some(22),
        _ => None,
    };
    #[cfg(not(windows))]
    let number = error.raw_os_error().filter(|number| (1..=4095).contains(number));
    number
}

fn code(kind: &ErrorKind) -> c_int {
    match kind {
        ErrorKind::Open(error) | ErrorKind::Read(error) => {
            errno(error).map_or(Error::File as c_int, |number| -number)
        }
        // A changed file that has its old length became shorter at some time.
        ErrorKind::Shrank { .. } | ErrorKind::Changed { .. } => Error::Shrank as c_int,
        ErrorKind::Ended { .. } => Error::Ended as c_int,
        ErrorKind::GoesOn { .. } => Error::GoesOn as c_int,
        ErrorKind::Stopped => Error::Stopped as c_int,
        _ => Error::File as c_int,
    }
}

/// # Safety
/// `hasher` was initialised; `name` ends with a zero; `options` is null or can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_update_file(
    hasher: *mut Hasher,
    name: *const c_char,
    options: *const FileOptions,
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { treewide_update_file_watched(hasher, name, options, None, ptr::null_mut()) }
}

/// # Safety
/// As for [`treewide_update_file`], and any threads at once may call `watch` with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_update_file_watched(
    hasher: *mut Hasher,
    name: *const c_char,
    options: *const FileOptions,
    watch: Option<Watch>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: as our caller promises.
    let (hasher, name, options) =
        unsafe { (&mut *hasher, CStr::from_ptr(name), options_at(options)) };
    let Some(options) = options else { return Error::Options as c_int };
    let Some(path) = path(name) else { return Error::Path as c_int };
    let context = Context(context);
    let options = match watch {
        None => options,
        // SAFETY: as our caller promises.
        Some(watch) => options.watch(move |bytes| unsafe { context.ask(watch, bytes) }),
    };
    match options.update(hasher, path) {
        Ok(_) => 0,
        Err(error) => code(error.kind()),
    }
}

/// # Safety
/// `mode` is null or a mode; `name` ends with a zero; `options` is null or can be read; `out` has room for `out_len`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hash_file(
    mode: *const Mode,
    name: *const c_char,
    options: *const FileOptions,
    out: *mut u8,
    out_len: usize,
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe {
        let mut hasher = Hasher::with_mode(mode_at(mode));
        let code = treewide_update_file(&mut hasher, name, options);
        if code == 0 {
            hasher.finalize_xof().fill(output(out, out_len));
        }
        code
    }
}
