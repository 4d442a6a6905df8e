//! Ending by a signal: no half-written file stays, and the parent learns which signal it was.
//!
//! A process that is ended by a signal says so in its exit status, and shells act on it (a loop
//! stops at Ctrl-C). So after tidying up we let the signal do what it would have done anyway.

#[cfg(unix)]
use crate::shell::inherited;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary files to remove if a signal ends us now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Exclusive use of [`UNFINISHED`]: while it is held, a signal waits.
///
/// Hold it while creating or renaming a file, so that there is no moment in which the file
/// exists and a signal does not know of it.
pub(crate) fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, a signal that ends this process removes the unfinished files first.
#[cfg(unix)]
pub(crate) fn watch() -> std::io::Result<()> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if IS_WATCHED.swap(true, Relaxed) {
        return Ok(());
    }
    // All that end a process by default and may be caught. USR1 is one of them, although dd reports at it.
    let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2];
    // One that was ignored when we started (nohup, `trap '' INT`) has to stay ignored.
    let wanted: Vec<i32> =
        all.into_iter().filter(|&signal| !inherited::is_ignored(signal)).collect();
    // A file larger than `ulimit -f` allows: with a handler, that is an error of the write.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    // The thread comes first: where none can be started, signals must still end the process.
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signals = match Signals::new(wanted) {
            Ok(signals) => signals,
            Err(error) => return drop(ready.send(Err(error))),
        };
        drop(ready.send(Ok(())));
        if let Some(signal) = signals.forever().next() {
            // Not given back: the file must not be renamed while the process is ending.
            let mut unfinished = unfinished();
            for path in unfinished.drain(..) {
                let _ = std::fs::remove_file(path); // there is no one left to tell
            }
            end_by(signal);
        }
    })?;
    is_ready.recv().unwrap_or(Ok(()))
}

/// Signals leave temporary files behind here, as everything else does.
#[cfg(not(unix))]
pub(crate) fn watch() -> std::io::Result<()> {
    Ok(())
}

/// Lets signals end this process if it is the first process of a container (process 1), where they have no effect
/// without a handler.
pub(crate) fn watch_as_first_process() {
    if cfg!(unix) && std::process::id() == 1 {
        // Without it, only SIGKILL ends us, as it is with other programs there.
        let _ = watch();
    }
}

/// Ends the process as the signal does by default. Where that has no effect, as on process 1, with the exit code that
/// shells report for the signal.
#[cfg(unix)]
fn end_by(signal: i32) -> ! {
    inherited::raise_by_default(signal);
    signal_hook::low_level::exit(128 + signal)
}

/// End as a program does whose output no one reads any more: quietly, by SIGPIPE.
///
/// As with coreutils, the exit status is then 141 in a shell. It cannot be 0: what a check had not
/// printed yet would count as checked. Returns if the program inherited that SIGPIPE is ignored: a closed pipe is then an error like others.
#[cfg(unix)]
pub(crate) fn die_of_broken_pipe() {
    if !inherited::ignores_broken_pipes() {
        end_by(signal_hook::consts::SIGPIPE);
    }
}

/// There is no such signal. No one needs a message; the exit code says it.
#[cfg(not(unix))]
pub(crate) fn die_of_broken_pipe() {
    std::process::exit(1);
}
