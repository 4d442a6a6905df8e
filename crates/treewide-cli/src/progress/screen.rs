//! One line of a terminal, which messages and results push away.

use crate::console;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the line is drawn, and whether the run goes on.
#[derive(Default)]
pub(super) struct Screen {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Default)]
struct State {
    is_drawn: bool,
    /// Whether it was ever drawn.
    was_drawn: bool,
    is_over: bool,
    has_lines: bool,
}

/// Whether the terminal behind standard error can move its cursor.
pub(super) fn can_redraw() -> bool {
    cfg!(windows) || std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

impl Screen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits that long. `false`, and sooner, if the run is over.
    pub(super) fn goes_on_after(&self, time: Duration) -> bool {
        let waited = self.over.wait_timeout_while(self.state(), time, |state| !state.is_over);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }

    /// Draws the line in place of the one before.
    pub(super) fn draw(&self, text: &str) {
        let mut state = self.state();
        if !state.is_over {
            let columns = ::console::Term::stderr().size_checked().map_or(80, |size| size.1);
            // In the last column, some terminals begin a new line.
            let width = usize::from(columns).saturating_sub(1);
            redraw(&::console::truncate_str(text, width, "…"));
            (state.is_drawn, state.was_drawn) = (true, true);
        }
    }

    /// Does something that writes to the terminal. The line comes back when it is drawn the next time.
    pub(super) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        if std::mem::take(&mut state.is_drawn) {
            redraw("");
        }
        work()
    }

    /// A line was written that stays.
    pub(super) fn note_line(&self) {
        self.state().has_lines = true;
    }

    /// The run is over: wipes the line away. Returns whether lines were written that stay.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state();
        if state.was_drawn && !state.is_over {
            redraw("");
        }
        state.is_over = true;
        self.over.notify_all();
        state.has_lines
    }
}

/// Puts the text in place of the line in which the cursor is.
fn redraw(text: &str) {
    if cfg!(windows) {
        // Old consoles have a call for this, and no escape sequence.
        let terminal = ::console::Term::stderr();
        let _ = terminal.clear_line().and_then(|()| terminal.write_str(text));
    } else {
        console::write(&format!("\r\u{1b}[2K{text}"));
    }
}
