//! How far a long run has come: bytes, rate and time left, on standard error.
//!
//! On a terminal this is one line that is redrawn, appears only after half a second, and is wiped
//! away at the end. Asked for elsewhere (a log file), it is a line every few seconds and one at
//! the end. A thread of its own counts the total while hashing goes on already, so nobody waits for it; the time
//! left appears when the total is known.

use crate::console;
use crate::wording::count;
use clap::Args;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use treewide_files::name::shown;

/// Runs shorter than this show nothing, so that they do not flicker.
const APPEARS_AFTER: Duration = Duration::from_millis(500);
/// Between two lines, where each line stays.
const LINE_EVERY: Duration = Duration::from_secs(5);

const WITH_TOTAL: &str = "{prefix}{bytes} of {total_bytes} ({percent}%)  {bytes_per_sec}  \
     {eta} left  {wide_msg}";
const WITHOUT_TOTAL: &str = "{prefix}{bytes}  {bytes_per_sec}  {wide_msg}";

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ProgressArgs {
    /// Show files, bytes, rate and time left on standard error
    ///
    /// This is the default if standard error is a terminal. If it is not, a line is written every
    /// five seconds, and one at the end.
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,

    /// Do not show progress, not even on a terminal
    #[arg(long, overrides_with = "progress")]
    no_progress: bool,
}

impl ProgressArgs {
    /// Start it; `by_itself` says whether on a terminal nobody needs to ask for it.
    pub(crate) fn start(&self, by_itself: bool) -> Progress {
        let is_terminal = stderr().is_terminal();
        let is_wanted = self.progress || by_itself && is_terminal && !self.no_progress;
        let view = match (is_wanted, is_terminal) {
            (false, _) => View::None,
            (true, true) => View::Bar {
                bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
                    .with_style(style(WITHOUT_TOTAL)),
                shares_terminal: stdout().is_terminal(),
            },
            (true, false) => View::Lines { last: Mutex::new(Instant::now()) },
        };
        let counters = Counters::default();
        Progress(Arc::new(Display { view, counters, started: Instant::now() }))
    }
}

/// The progress of one run. When it is dropped, nothing of it is left on a terminal.
pub(crate) struct Progress(Arc<Display>);

/// What is shown, and what was counted for it.
struct Display {
    view: View,
    counters: Counters,
    started: Instant,
}

enum View {
    None,
    Bar { bar: ProgressBar, shares_terminal: bool },
    Lines { last: Mutex<Instant> },
}

/// What was done and is to be done; any thread may count.
#[derive(Default)]
struct Counters {
    files: AtomicU64,
    bytes: AtomicU64,
    total: AtomicU64,
    total_is_known: AtomicBool,
}

impl treewide_files::Progress for Display {
    fn hashed(&self, files: u64, bytes: u64) {
        self.counters.files.fetch_add(files, Relaxed);
        self.counters.bytes.fetch_add(bytes, Relaxed);
        self.show();
    }

    fn reached(&self, path: &Path) {
        if let View::Bar { bar, .. } = &self.view
            && !bar.is_hidden()
        {
            bar.set_message(shown(path));
        }
        self.show();
    }
}

impl Progress {
    /// What hears how far the run has come.
    pub(crate) fn hears(&self) -> Arc<dyn treewide_files::Progress> {
        self.0.clone()
    }

    /// Whether anybody would see the total.
    pub(crate) fn is_wanted(&self) -> bool {
        !matches!(self.0.view, View::None)
    }

    /// Have `count` find out, in another thread, how many bytes there will be, if that can be known.
    pub(crate) fn count_ahead(&self, count: impl FnOnce() -> Option<u64> + Send + 'static) {
        let display = Arc::clone(&self.0);
        // Progress without a total is still progress, so it is not an error if the thread does not start.
        let _ = std::thread::Builder::new().name("total".into()).spawn(move || {
            let bar = if let View::Bar { bar, .. } = &display.view { Some(bar) } else { None };
            if bar.is_some() {
                // Most runs are over by then, and counting would have slowed them down.
                std::thread::sleep(APPEARS_AFTER);
            }
            let Some(total) = count() else { return };
            display.counters.total.store(total, Relaxed);
            display.counters.total_is_known.store(true, Release);
            if let Some(bar) = bar {
                bar.set_length(total);
                bar.set_style(style(WITH_TOTAL));
            }
        });
    }

    /// Do something that writes to the terminal, with the progress line out of the way.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0.view {
            View::Bar { bar, .. } => bar.suspend(work),
            _ => work(),
        }
    }

    /// Whether lines on standard output would run into the progress line.
    pub(crate) fn shares_terminal_with_stdout(&self) -> bool {
        matches!(self.0.view, View::Bar { shares_terminal: true, .. })
    }

    /// The run is over.
    pub(crate) fn finish(&self) {
        match &self.0.view {
            View::None => {}
            View::Bar { bar, .. } => bar.finish_and_clear(),
            View::Lines { .. } => self.0.write_line(),
        }
    }
}

impl Display {
    fn show(&self) {
        match &self.view {
            View::None => {}
            View::Bar { bar, .. } => {
                if !bar.is_hidden() {
                    let files = self.counters.files.load(Relaxed);
                    bar.set_prefix(format!("{}  ", count(files, "file")));
                    bar.set_position(self.counters.bytes.load(Relaxed));
                } else if self.started.elapsed() > APPEARS_AFTER {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(APPEARS_AFTER);
                }
            }
            View::Lines { last } => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() > LINE_EVERY {
                    *last = Instant::now();
                    self.write_line();
                }
            }
        }
    }

    fn write_line(&self) {
        let bytes = self.counters.bytes.load(Relaxed);
        let files = count(self.counters.files.load(Relaxed), "file");
        let rate = bytes as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        let mut line = format!("{files}, {}", HumanBytes(bytes));
        if self.counters.total_is_known.load(Acquire) {
            let total = self.counters.total.load(Relaxed);
            let left = total.saturating_sub(bytes) as f64 / rate.max(1.0);
            let left = HumanDuration(Duration::from_secs_f64(left.min(1e9)));
            line += &format!(" of {}, about {left} left", HumanBytes(total));
        }
        console::say(&format!("progress: {line}, {}/s\n", HumanBytes(rate as u64)));
    }
}

impl Drop for Progress {
    /// Also when a run is cut short, its last message should not share a line with the bar.
    fn drop(&mut self) {
        if let View::Bar { bar, .. } = &self.0.view {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants, and a test shows them to be well-formed.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_well_formed() {
        for template in [WITH_TOTAL, WITHOUT_TOTAL] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
