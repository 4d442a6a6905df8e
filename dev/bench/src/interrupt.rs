//! Files to remove when a signal ends the program, because destructors do not run then.

use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Mutex;

#[cfg(unix)]
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);

/// Removes this file or folder if a signal ends the program. It may be gone by then.
#[cfg(unix)]
pub(crate) fn remove(path: &Path) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    // Other processes of ours may be elsewhere; and a short path may not be there for a signal.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut paths = PATHS.lock().expect("no thread panics with it");
    paths.push(path);
    if paths.len() > 1 {
        return;
    }
    // Without it, what is left is a file too many.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            remove_all();
            // On the first process of a container, signals have no effect by default, and the call would end in a fault.
            if std::process::id() != 1 {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            signal_hook::low_level::exit(128 + signal);
        }
    });
}

#[cfg(unix)]
fn remove_all() {
    for path in &*PATHS.lock().expect("no thread panics with it") {
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
    }
}

#[cfg(not(unix))]
pub(crate) fn remove(_path: &Path) {}
