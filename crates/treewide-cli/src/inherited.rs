//! What this process was given by the process that started it: open descriptors, signals to ignore, and variables.
//!
//! All `unsafe` code of the program is here.

#![allow(unsafe_code)]

#[cfg(unix)]
pub(crate) use self::unix::*;
#[cfg(not(unix))]
pub(crate) use other::*;

/// Keeps the layer of Mesa that orders devices from looking for a window system where there is none: it would write
/// about that to standard error. We order devices ourselves. No other thread may run yet.
#[cfg(feature = "gpu")]
pub(crate) fn look_for_no_window_system() {
    const IS_OFF: &str = "NODEVICE_SELECT";
    let is_set = |name| std::env::var_os(name).is_some();
    if !is_set("XDG_RUNTIME_DIR") && !is_set(IS_OFF) {
        // SAFETY: no other thread runs that could read the environment; `main` begins with this.
        unsafe { std::env::set_var(IS_OFF, "1") };
    }
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::IntoRawFd;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Whether the descriptors 0, 1 and 2 were closed.
    static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
    static IGNORES_BROKEN_PIPES: AtomicBool = AtomicBool::new(false);

    /// The loader calls this before `main`. Rust's runtime, which starts later, opens /dev/null for each closed descriptor
    /// and ignores SIGPIPE. Afterwards a closed descriptor looks like one that the parent directed to /dev/null (Python's
    /// `DEVNULL` is open for reading and writing, too).
    // SAFETY: the section holds addresses of functions that the loader calls with the C calling convention. `look`
    // takes no arguments, ignores what some loaders pass, and needs nothing that `main` or the runtime prepares.
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        for (number, closed) in (0..).zip(&CLOSED) {
            // SAFETY: the command takes no argument, and changes nothing.
            let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
            let error = io::Error::last_os_error().raw_os_error();
            closed.store(flags == -1 && error == Some(libc::EBADF), Relaxed);
        }
        IGNORES_BROKEN_PIPES.store(is_ignored(libc::SIGPIPE), Relaxed);
    }

    /// Whether the descriptor 0, 1 or 2 was closed.
    pub(crate) fn was_closed(number: usize) -> bool {
        CLOSED.get(number).is_some_and(|closed| closed.load(Relaxed))
    }

    /// Whether the process was told to ignore SIGPIPE, so that writing to a pipe without a reader is an error.
    pub(crate) fn ignores_broken_pipes() -> bool {
        IGNORES_BROKEN_PIPES.load(Relaxed)
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

#[cfg(not(unix))]
mod other {
    /// Whether standard input (0), output (1) or error (2) was closed.
    #[cfg(windows)]
    pub(crate) fn was_closed(number: usize) -> bool {
        use std::os::windows::io::AsRawHandle;
        let handle = match number {
            0 => std::io::stdin().as_raw_handle(),
            1 => std::io::stdout().as_raw_handle(),
            _ => std::io::stderr().as_raw_handle(),
        };
        handle.is_null()
    }

    /// Not known here.
    #[cfg(not(windows))]
    pub(crate) fn was_closed(_: usize) -> bool {
        false
    }
}
