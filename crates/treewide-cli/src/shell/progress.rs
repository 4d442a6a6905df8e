//! How far a long run has come: files, bytes, rate and the file at hand, on standard error.
//!
//! On a terminal this is one line that is drawn anew ten times a second, appears only after half a second, and is wiped
//! away at the end. Elsewhere, and on a terminal that cannot move its cursor, it is a line every five seconds.
//! The threads that hash only count; one thread of its own draws. Nothing is walked or read for it: what a run
//! will have to do is shown as far as it is known.

mod screen;

use self::screen::Screen;
use crate::shell::streams;
use crate::shell::terminal::{self, Form};
use crate::shell::wording::count;
use indicatif::{HumanBytes, HumanDuration};
use std::io::{IsTerminal, stderr, stdout};
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use treewide_files::name::shown;

/// Runs shorter than this show nothing, so that they do not flicker.
const APPEARS_AFTER: Duration = Duration::from_millis(500);
/// Between two drawings of a line.
const DRAWN_EVERY: Duration = Duration::from_millis(100);
/// Between two lines, where each line stays.
const LINE_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    None,
    /// One line, drawn again and again.
    Bar,
    /// Lines that stay.
    Lines {
        /// Whether there is one at the end, however short the run was.
        has_last: bool,
    },
}

/// The progress of one run. When it is dropped, nothing of it is left on a terminal.
pub(crate) struct Progress {
    view: View,
    shares_terminal: bool,
    display: Arc<Display>,
}

/// What was counted, and where it is drawn.
struct Display {
    counters: Counters,
    /// The file at hand.
    current: Mutex<PathBuf>,
    started: Instant,
    screen: Screen,
}

/// What was done and is to be done; any thread may count.
#[derive(Default)]
struct Counters {
    files: AtomicU64,
    bytes: AtomicU64,
    /// Bytes of the file at hand, if it is being hashed alone.
    of_current: AtomicU64,
    total: AtomicU64,
    total_is_known: AtomicBool,
    found: AtomicU64,
    /// Whether files are read by one thread each.
    by_one: AtomicBool,
    all_are_found: AtomicBool,
}

/// No one looks.
struct Unseen;

impl treewide_files::Progress for Unseen {
    fn hashed(&self, _: u64, _: u64) {}
}

impl treewide_files::Progress for Display {
    fn hashed(&self, files: u64, bytes: u64) {
        self.counters.files.fetch_add(files, Relaxed);
        self.counters.bytes.fetch_add(bytes, Relaxed);
        if files == 0 {
            self.counters.of_current.fetch_add(bytes, Relaxed);
        }
    }

    fn hashed_by_one(&self, bytes: u64) {
        self.counters.bytes.fetch_add(bytes, Relaxed);
        self.counters.by_one.store(true, Relaxed);
    }

    fn reached(&self, path: &Path) {
        self.counters.of_current.store(0, Relaxed);
        let mut current = self.current();
        current.clear();
        current.push(path);
    }
}

impl Progress {
    /// Starts it. `is_asked_for` shows it everywhere, and `by_itself` on a terminal.
    pub(crate) fn start(is_asked_for: bool, by_itself: bool) -> Self {
        let is_terminal = stderr().is_terminal();
        let is_wanted = is_asked_for || by_itself && is_terminal;
        let view = match (is_wanted, is_terminal && screen::can_redraw()) {
            (false, _) => View::None,
            (true, true) => View::Bar,
            (true, false) => View::Lines { has_last: is_asked_for },
        };
        let shares_terminal = view == View::Bar && stdout().is_terminal();
        Self { view, shares_terminal, display: Arc::new(Display::new()) }
    }

    /// What hears how far the run has come.
    pub(crate) fn hears(&self) -> Arc<dyn treewide_files::Progress> {
        match self.view {
            View::None => Arc::new(Unseen),
            _ => self.display.clone(),
        }
    }

    /// Begin to show it. `total` finds out how many bytes there will be, if that takes next to nothing.
    pub(crate) fn show(&self, total: impl FnOnce() -> Option<u64> + Send + 'static) {
        let display = Arc::clone(&self.display);
        let work: Box<dyn FnOnce() + Send> = match self.view {
            View::None => return,
            View::Bar => Box::new(move || display.draw(total)),
            View::Lines { .. } => Box::new(move || display.write_lines(total)),
        };
        // A run without a display is still a run, so it is not an error if the thread does not start.
        let _ = std::thread::Builder::new().name("progress".into()).spawn(work);
    }

    /// The run has found one more file.
    pub(crate) fn found(&self) {
        self.display.counters.found.fetch_add(1, Relaxed);
    }

    /// The run has found all files.
    pub(crate) fn has_found_all(&self) {
        self.display.counters.all_are_found.store(true, Release);
    }

    /// There are about this many files.
    pub(crate) fn expects(&self, files: u64) {
        self.display.counters.found.store(files, Relaxed);
        self.has_found_all();
    }

    /// A file is done that was not read.
    pub(crate) fn passed(&self) {
        self.display.counters.files.fetch_add(1, Relaxed);
    }

    /// Do something that writes to the terminal, with the progress line out of the way.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.view {
            View::Bar => self.display.screen.pause(work),
            _ => work(),
        }
    }

    /// Whether lines on standard output would run into the progress line.
    pub(crate) fn shares_terminal_with_stdout(&self) -> bool {
        self.shares_terminal
    }

    /// The run is over.
    pub(crate) fn finish(&self) {
        if let Some(has_lines) = self.display.screen.end()
            && let View::Lines { has_last } = self.view
            && (has_last || has_lines)
        {
            self.display.write_line(None);
        }
    }
}

impl Drop for Progress {
    /// Also when a run is cut short, its last message should not share a line with the display.
    fn drop(&mut self) {
        self.display.screen.end();
    }
}

impl Display {
    fn new() -> Self {
        Self {
            counters: Counters::default(),
            current: Mutex::default(),
            started: Instant::now(),
            screen: Screen::default(),
        }
    }

    fn current(&self) -> MutexGuard<'_, PathBuf> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_total(&self, total: Option<u64>) {
        if let Some(total) = total {
            self.counters.total.store(total, Relaxed);
            self.counters.total_is_known.store(true, Release);
        }
    }

    /// Draw one line until the run is over.
    fn draw(&self, total: impl FnOnce() -> Option<u64>) {
        if !self.screen.goes_on_after(APPEARS_AFTER) {
            return;
        }
        self.set_total(total());
        let mut rate = Rate::since(self.started);
        loop {
            // Before the screen is taken: looking at the file at hand may take long.
            let (text, name) = self.text(&mut rate);
            self.screen.draw(&text, &name);
            if !self.screen.goes_on_after(DRAWN_EVERY) {
                return;
            }
        }
    }

    /// Write a line now and then until the run is over.
    fn write_lines(&self, total: impl FnOnce() -> Option<u64>) {
        self.set_total(total());
        while self.screen.goes_on_after(LINE_EVERY) {
            let at = self.current().clone();
            self.write_line(Some(&at));
            self.screen.note_line();
        }
    }

    /// Writes a line that stays; `at` is the file at hand.
    fn write_line(&self, at: Option<&Path>) {
        let line = self.line(at);
        streams::write_error(&if stderr().is_terminal() {
            terminal::escape(&line, Form::Lines)
        } else {
            line.into()
        });
    }

    fn line(&self, at: Option<&Path>) -> String {
        let mut rate = Rate::since(self.started);
        let mut parts = vec![self.files(), self.bytes(&mut rate)];
        parts.push(format!("{}/s", HumanBytes(rate.now as u64)));
        parts.extend(self.by_one());
        let at = at.filter(|path| *path != Path::new(""));
        parts.extend(at.map(|path| format!("at {}", shown(path))));
        format!("progress: {}\n", parts.join(", "))
    }

    /// What is shown on a line that is drawn anew, and the name at its end.
    fn text(&self, rate: &mut Rate) -> (String, String) {
        let mut parts = vec![self.files(), self.bytes(rate)];
        parts.push(format!("{}/s", HumanBytes(rate.now as u64)));
        parts.extend(self.by_one());
        let path = self.current().clone();
        let is_total_known = self.counters.total_is_known.load(Acquire);
        let at = self.counters.of_current.load(Relaxed);
        if let Ok(metadata) = path.metadata()
            && metadata.is_file()
            && (1..=metadata.len()).contains(&at)
            && !is_total_known
        {
            let len = metadata.len();
            let left = time(len - at, rate.now);
            parts.push(format!("{}% of {}, {left} left:", percent(at, len), HumanBytes(len)));
        }
        let name = terminal::escape(&shown(&path), Form::Lines).into_owned();
        (parts.join("  "), name)
    }

    /// Why a long file does not use all threads.
    fn by_one(&self) -> Option<String> {
        let is_it = self.counters.by_one.load(Relaxed);
        is_it.then(|| "one thread a file".to_owned())
    }

    fn files(&self) -> String {
        let files = self.counters.files.load(Relaxed);
        let found = self.counters.found.load(Relaxed);
        match self.counters.all_are_found.load(Acquire) {
            true if found > files => format!("{files} of {}", count(found, "file")),
            _ => count(files, "file"),
        }
    }

    fn bytes(&self, rate: &mut Rate) -> String {
        let bytes = self.counters.bytes.load(Relaxed);
        rate.at(bytes);
        if !self.counters.total_is_known.load(Acquire) {
            return HumanBytes(bytes).to_string();
        }
        let total = self.counters.total.load(Relaxed);
        // There is more than the manifest says.
        if bytes > total {
            return HumanBytes(bytes).to_string();
        }
        let left = time(total.saturating_sub(bytes), rate.now);
        let percent = percent(bytes, total);
        format!("{} of {} ({percent}%), {left} left", HumanBytes(bytes), HumanBytes(total))
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))).min(100) as u64
}

fn time(bytes: u64, rate: f64) -> String {
    let seconds = bytes as f64 / rate.max(1.0);
    HumanDuration(Duration::from_secs_f64(seconds.min(1e9))).to_string()
}

/// Bytes in a second: of the last seconds, and of all until then.
struct Rate {
    now: f64,
    measured: Instant,
    bytes: u64,
}

impl Rate {
    fn since(start: Instant) -> Self {
        Self { now: 0.0, measured: start, bytes: 0 }
    }

    /// Measures: `bytes` are done by now.
    fn at(&mut self, bytes: u64) {
        /// The time after which a measurement counts for little.
        const FADES: f64 = 5.0;
        let seconds = self.measured.elapsed().as_secs_f64().max(1e-3);
        let new = bytes.saturating_sub(self.bytes) as f64 / seconds;
        let weight = if self.bytes == 0 { 1.0 } else { (seconds / FADES).min(1.0) };
        self.now += (new - self.now) * weight;
        (self.measured, self.bytes) = (Instant::now(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewide_files::Progress;

    #[test]
    fn share_and_time_are_shown_as_long_as_the_total_holds() {
        let display = Display::new();
        display.set_total(Some(10));
        display.hashed(1, 5);
        let line = display.line(None);
        assert!(line.contains("1 file, 5 B of 10 B (50%), ") && line.contains(" left"), "{line}");
        display.hashed(1, 6);
        assert!(display.line(None).contains("2 files, 11 B, "), "{}", display.line(None));

        let progress = super::Progress::start(true, false);
        progress.expects(3);
        progress.passed();
        assert_eq!(progress.display.files(), "1 of 3 files");
        for _ in 0..4 {
            progress.passed();
        }
        assert_eq!(progress.display.files(), "5 files");
    }

    #[test]
    fn lines_that_stay_name_the_file_at_hand() {
        let display = Display::new();
        display.reached(Path::new("d/name"));
        display.hashed(1, 5);
        let line = display.line(Some(&display.current().clone()));
        assert!(line.starts_with("progress: 1 file, 5 B, "), "{line}");
        assert!(line.ends_with("/s, at d/name\n"), "{line}");
        // Before the first file, and at the end.
        for at in [Some(Path::new("")), None] {
            assert!(display.line(at).ends_with("/s\n"), "{}", display.line(at));
        }
    }
}
