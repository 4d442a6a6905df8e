//! State inherited from the process that started this one: open descriptors, and signals to ignore.
//!
//! All `unsafe` code of the library is here.

#![allow(unsafe_code)]

use std::sync::OnceLock;

#[cfg(unix)]
pub(crate) use self::unix::*;

static INHERITED: OnceLock<Inherited> = OnceLock::new();

/// State that this process inherited from the process that started it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inherited {
    /// Whether standard input, output and error were closed.
    pub closed: [bool; 3],
    /// Whether SIGPIPE was ignored, so that writing to a pipe without a reader is an error like others.
    pub ignores_broken_pipes: bool,
}

impl Inherited {
    /// Looks at the process as it is now: the right time is before a runtime, Rust's or another one, prepares it.
    #[must_use]
    pub fn find() -> Self {
        find()
    }
}

/// Keeps what the program was called with.
pub(crate) fn remember(inherited: Inherited) {
    // A second run in one process keeps the state of the first one.
    let _ = INHERITED.set(inherited);
}

/// Whether standard input (0), output (1) or error (2) was closed.
pub(crate) fn was_closed(number: usize) -> bool {
    INHERITED.get().is_some_and(|it| it.closed.get(number) == Some(&true))
}

/// Whether the process inherited that SIGPIPE is ignored, so that writing to a pipe without a reader is an error.
#[cfg(unix)]
pub(crate) fn ignores_broken_pipes() -> bool {
    INHERITED.get().is_some_and(|it| it.ignores_broken_pipes)
}

#[cfg(unix)]
mod unix {
    use super::Inherited;
    use std::io;
    use std::os::fd::IntoRawFd;

    pub(super) fn find() -> Inherited {
        let is_closed = |number| {
            // SAFETY: the command takes no argument, and changes nothing.
            let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
            flags == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EBADF)
        };
        Inherited {
            closed: [0, 1, 2].map(is_closed),
            ignores_broken_pipes: is_ignored(libc::SIGPIPE),
        }
    }

    /// Whether this process ignores the signal, as under `nohup`.
    pub(crate) fn is_ignored(signal: i32) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action nothing is changed, and `action` has room for the present one.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: integers, and pointers that may be null; so zeros are valid, and so is what the system wrote.
        let action = unsafe { action.assume_init() };
        asked == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    /// Sends this process the signal with the effect that it has by default, which ends the process as a rule: not if
    /// it is the first process of a container, or the system refuses.
    pub(crate) fn raise_by_default(signal: i32) {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: `set` is initialised by `sigemptyset`; the calls change only what this process does with the signal.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
            libc::raise(signal);
        }
    }

    /// Closes a file. Some file systems report only here that bytes were not written.
    pub(crate) fn close(file: impl IntoRawFd) -> io::Result<()> {
        // SAFETY: the descriptor is owned, and is not used afterwards, whatever the result.
        match unsafe { libc::close(file.into_raw_fd()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(windows)]
fn find() -> Inherited {
    use std::os::windows::io::AsRawHandle;
    let closed = [
        std::io::stdin().as_raw_handle().is_null(),
        std::io::stdout().as_raw_handle().is_null(),
        std::io::stderr().as_raw_handle().is_null(),
    ];
    Inherited { closed, ..Inherited::default() }
}

/// Not known here.
#[cfg(not(any(unix, windows)))]
fn find() -> Inherited {
    Inherited::default()
}
