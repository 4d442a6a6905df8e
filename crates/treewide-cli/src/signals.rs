//! Dying in the right way: no half-written file left behind, and the parent told what happened.
//!
//! A process that is ended by a signal says so in its exit status, and shells act on it (a loop
//! stops at Ctrl-C). So after tidying up we let the signal do what it would have done anyway.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary file to remove if a signal ends us now.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Exclusive use of [`UNFINISHED`]: while it is held, a signal waits.
///
/// Hold it while creating or renaming the file, so that there is no moment in which the file
/// exists and a signal does not know of it.
pub(crate) fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, remove the unfinished file when a signal ends this process.
#[cfg(unix)]
pub(crate) fn watch() -> std::io::Result<()> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;

    // All that end a process by default and may be caught; USR1, too: dd reports at it.
    let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2];
    // One that was ignored when we started (nohup) has to stay ignored; see `is_ignored`.
    let wanted: Vec<i32> = all.into_iter().filter(|&signal| !is_ignored(signal)).collect();
    // A file larger than `ulimit -f` allows: with a handler, that is an error of the write.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    // The thread comes first: where none can be started, signals must go on ending the process.
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signals = match Signals::new(wanted) {
            Ok(signals) => signals,
            Err(error) => return drop(ready.send(Err(error))),
        };
        drop(ready.send(Ok(())));
        for signal in signals.forever() {
            // Not given back: the file must not be renamed while the process is ending.
            let mut unfinished = unfinished();
            if let Some(path) = unfinished.take() {
                let _ = std::fs::remove_file(path); // there is nobody left to tell
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    is_ready.recv().unwrap_or(Ok(()))
}

/// Whether this process ignores the signal, as far as the system reports it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // The safe way to ask on Linux; elsewhere assume that nothing is ignored.
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Signals leave the temporary file behind here, as everything else does.
#[cfg(not(unix))]
pub(crate) fn watch() -> std::io::Result<()> {
    Ok(())
}

/// End as a program does whose output nobody reads any more: quietly, by SIGPIPE.
///
/// As with coreutils, the exit status is then 141 in a shell. It cannot be 0: what a check had not
/// printed yet would count as checked.
#[cfg(unix)]
pub(crate) fn die_of_broken_pipe() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// There is no such signal; the exit code has to do.
#[cfg(not(unix))]
pub(crate) fn die_of_broken_pipe() {}
