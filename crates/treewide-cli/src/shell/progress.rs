//! How far a long run has come: files, bytes, rate and the file at hand, on standard error.
//!
//! On a terminal this is one line that is drawn anew ten times a second, appears only after half a second, and is wiped
//! away at the end. Elsewhere, and on a terminal that cannot move its cursor, it is a line every five seconds.
//! The threads that hash only count; one thread of its own draws, and one counts what there will be, by names and lengths.

mod screen;

use self::screen::Screen;
use crate::shell::stdin::is_stdin;
use crate::shell::streams;
use crate::shell::terminal::{self, Form};
use crate::shell::wording::count;
use indicatif::{HumanBytes, HumanDuration};
use std::io::{IsTerminal, stderr, stdout};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
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
    /// Bytes and files that there will be; 0 if that is not known.
    total: AtomicU64,
    expected: AtomicU64,
    is_counting: AtomicBool,
    /// Whether files are read by one thread each.
    by_one: AtomicBool,
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
    }

    fn hashed_by_one(&self, bytes: u64) {
        self.counters.bytes.fetch_add(bytes, Relaxed);
        self.counters.by_one.store(true, Relaxed);
    }

    fn reached(&self, path: &Path) {
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

    /// Begins to show it.
    pub(crate) fn show(&self) {
        let (view, display) = (self.view, Arc::clone(&self.display));
        if view != View::None {
            spawn("progress", move || display.show(view));
        }
    }

    /// Counts the files that the run will read, and their bytes, during the run. A path of another kind than a regular file ends that.
    pub(crate) fn count<P: AsRef<Path>, I: Iterator<Item = P>>(
        &self,
        paths: impl FnOnce() -> I + Send + 'static,
    ) {
        let (view, display) = (self.view, Arc::clone(&self.display));
        if view != View::None {
            spawn("counting", move || display.count(view, paths));
        }
    }

    /// The run will read this many bytes.
    pub(crate) fn expects_bytes(&self, bytes: Option<u64>) {
        self.display.counters.total.store(bytes.unwrap_or(0), Relaxed);
    }

    /// The run will read, or pass over, this many files.
    pub(crate) fn expects_files(&self, files: u64) {
        self.display.counters.expected.store(files, Relaxed);
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

    fn show(&self, view: View) {
        let (first, every) = match view {
            View::Bar => (APPEARS_AFTER, DRAWN_EVERY),
            _ => (LINE_EVERY, LINE_EVERY),
        };
        let (mut goes_on, mut rate) = (self.screen.goes_on_after(first), Rate::since(self.started));
        while goes_on {
            let at = self.current().clone();
            if view == View::Bar {
                let name = terminal::escape(&shown(&at), Form::Lines).into_owned();
                self.screen.draw(&self.parts(&mut rate).join("  "), &name);
            } else {
                self.write_line(Some(&at));
                self.screen.note_line();
            }
            goes_on = self.screen.goes_on_after(every);
        }
    }

    fn count<P: AsRef<Path>, I: Iterator<Item = P>>(&self, view: View, paths: impl FnOnce() -> I) {
        // A run that is over soon needs no count, unless its last line has it.
        if view == View::Bar && !self.screen.goes_on_after(APPEARS_AFTER) {
            return;
        }
        self.counters.is_counting.store(true, Relaxed);
        let total =
            paths().try_fold((0, 0), |(files, bytes), path| match path.as_ref().metadata() {
                _ if is_stdin(path.as_ref()) || self.screen.is_over() => None,
                Ok(there) if !there.is_file() => None,
                there => Some((files + 1, bytes + there.map_or(0, |it| it.len()))),
            });
        if let Some((files, bytes)) = total {
            self.counters.expected.store(files, Relaxed);
            self.counters.total.store(bytes, Relaxed);
        }
        self.counters.is_counting.store(false, Relaxed);
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
        let mut parts = self.parts(&mut Rate::since(self.started));
        let at = at.filter(|path| *path != Path::new(""));
        parts.extend(at.map(|path| format!("at {}", shown(path))));
        format!("progress: {}\n", parts.join(", "))
    }

    /// Files, bytes and rate.
    fn parts(&self, rate: &mut Rate) -> Vec<String> {
        let mut parts = vec![self.files(), self.bytes(rate)];
        parts.push(format!("{}/s", HumanBytes(rate.now as u64)));
        // Why a long file does not use all threads.
        let by_one = self.counters.by_one.load(Relaxed);
        let is_counting = self.counters.is_counting.load(Relaxed) && !self.screen.is_over();
        for (is, text) in [(by_one, "one thread a file"), (is_counting, "counting")] {
            parts.extend(is.then(|| text.to_owned()));
        }
        parts
    }

    fn files(&self) -> String {
        let (files, expected) =
            (self.counters.files.load(Relaxed), self.counters.expected.load(Relaxed));
        match expected > files {
            true => format!("{files} of {}", count(expected, "file")),
            false => count(files, "file"),
        }
    }

    fn bytes(&self, rate: &mut Rate) -> String {
        let (bytes, total) = (self.counters.bytes.load(Relaxed), self.counters.total.load(Relaxed));
        rate.at(bytes);
        // There may be more than there was.
        if total == 0 || bytes > total {
            return HumanBytes(bytes).to_string();
        }
        let (left, percent) = (time(total - bytes, rate.now), percent(bytes, total));
        format!("{} of {} ({percent}%), {left} left", HumanBytes(bytes), HumanBytes(total))
    }
}

/// A run without a display is still a run, so it is not an error if a thread does not start.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    drop(std::thread::Builder::new().name(name.into()).spawn(work));
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
        display.counters.total.store(10, Relaxed);
        display.hashed(1, 5);
        let line = display.line(None);
        assert!(line.contains("1 file, 5 B of 10 B (50%), ") && line.contains(" left"), "{line}");
        display.hashed(1, 6);
        assert!(display.line(None).contains("2 files, 11 B, "), "{}", display.line(None));

        let progress = super::Progress::start(true, false);
        progress.expects_files(3);
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
