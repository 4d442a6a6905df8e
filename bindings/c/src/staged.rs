//! Bytes of the host and files, through the memory of a device.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::path::Path;

use crate::memory::input;
use crate::mode::mode_at;
use crate::watch::{Context, ENDED, GOES_ON, SHRANK, STOPPED, Watch, path};
use crate::{fail, write};
use treewide::Hasher;
use treewide::file::{Error, ErrorKind, Options, check_length, open_watched, promises_length};
use treewide_gpu::{Device, Mode, Ring, Staged};

/// Bytes between two questions to a watcher.
const STEP: u64 = 4 << 20;

/// # Safety
/// `device` is an open device; `mode` is null or a mode; `data` is `len` bytes; `out` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_hash_bytes(
    device: *const Device,
    mode: *const Mode,
    place: u32,
    data: *const c_void,
    len: usize,
    out: *mut [u8; 32],
) -> c_int {
    // SAFETY: as our caller promises.
    let (device, mode, data) = unsafe { (&*device, mode_at(mode), input(data, len)) };
    let hash = match place {
        0 => device.hash_bytes(&mode, data),
        1 => device.hash_wrapped(&mode, data),
        _ => {
            return fail(format_args!(
                "{place} is not TREEWIDE_GPU_STAGED or TREEWIDE_GPU_WRAPPED"
            ));
        }
    };
    // SAFETY: as our caller promises.
    unsafe { write(hash, out) }
}

/// Why a file has no digest.
enum Failure {
    File(ErrorKind),
    Device(treewide_gpu::Error),
}

impl From<treewide_gpu::Error> for Failure {
    fn from(error: treewide_gpu::Error) -> Self {
        Self::Device(error)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self::File(kind)
    }
}

/// Says after each read whether to continue.
type Ask<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Send + Sync);

fn hash_file(device: &Device, mode: &Mode, path: &Path, ask: Ask<'_>) -> Result<[u8; 32], Failure> {
    let file = open_watched(path).map_err(Error::into_kind)?;
    let opened: Metadata = file.metadata().map_err(ErrorKind::Read)?;
    if !promises_length(&file, &opened) {
        // A pipe may have no writer yet, or nothing to read for now: this waits for it, and asks the watcher all the time.
        let mut hasher = Hasher::with_mode(*mode);
        let options = Options::new().watch(ask);
        options.update_file(&mut hasher, &file, path).map_err(Error::into_kind)?;
        return Ok(hasher.finalize().into());
    }
    let len = opened.len();
    // No more memory than the file needs.
    let part = len.next_power_of_two().clamp(1 << 20, 16 << 20) as usize;
    let mut staged = Staged::new(device, mode).ring(Ring { part, ..Ring::default() })?;
    let mut at = 0;
    while at < len {
        let step = STEP.min(len - at);
        if let Err(error) = staged.update_file(&file, at, step) {
            // In the words that the CPU has for it, if the file is the reason.
            check_length(&file, &opened)?;
            return Err(error.into());
        }
        if ask(step).is_break() {
            return Err(ErrorKind::Stopped.into());
        }
        at += step;
    }
    check_length(&file, &opened)?;
    Ok(staged.finalize()?.into())
}

/// # Safety
/// `device` is an open device; `mode` is null or a mode; `name` ends with a zero; any threads at once may call `watch` with
/// `context`; `out` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_hash_file(
    device: *const Device,
    mode: *const Mode,
    name: *const c_char,
    watch: Option<Watch>,
    context: *mut c_void,
    out: *mut [u8; 32],
) -> c_int {
    // SAFETY: as our caller promises.
    let (device, mode, name) = unsafe { (&*device, mode_at(mode), CStr::from_ptr(name)) };
    let Some(path) = path(name) else {
        return fail(format_args!("{}: this path is not UTF-8", name.to_string_lossy()));
    };
    let context = Context(context);
    let ask = |bytes| match watch {
        // SAFETY: as our caller promises.
        Some(watch) => unsafe { context.ask(watch, bytes) },
        None => ControlFlow::Continue(()),
    };
    let failure = match hash_file(device, &mode, path, &ask) {
        Ok(digest) => {
            // SAFETY: as our caller promises.
            unsafe { out.write(digest) };
            return 0;
        }
        Err(failure) => failure,
    };
    match failure {
        Failure::File(ErrorKind::Stopped) => STOPPED,
        Failure::File(ErrorKind::Shrank { .. } | ErrorKind::Changed { .. }) => SHRANK,
        Failure::File(ErrorKind::Ended { .. }) => ENDED,
        Failure::File(ErrorKind::GoesOn { .. }) => GOES_ON,
        Failure::File(kind) => fail(format_args!("{}: {kind}", path.display())),
        Failure::Device(error) => fail(format_args!("{}: {error}", path.display())),
    }
}
