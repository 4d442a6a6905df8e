//! One line of a terminal, which messages and results push away.

use crate::shell::streams;
use std::borrow::Cow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the line is drawn, and whether the run continues.
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

    pub(super) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Draws the line in place of the one before: `text`, and the end of `name` that there is room for.
    pub(super) fn draw(&self, text: &str, name: &str) {
        let mut state = self.state();
        if !state.is_over {
            let columns = console::Term::stderr().size_checked().map_or(80, |size| size.1);
            // In the last column, some terminals begin a new line.
            let width = usize::from(columns).saturating_sub(1);
            redraw(&fitted(text, name, width));
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

    /// The run is over: wipes the line away. Returns whether lines were written that stay; `None` if it was over before.
    pub(super) fn end(&self) -> Option<bool> {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_over, true) {
            return None;
        }
        if state.was_drawn {
            redraw("");
        }
        self.over.notify_all();
        Some(state.has_lines)
    }
}

/// A line of at most `width` columns. A path is shortened at its front, because its end says more. At least a third of the
/// line is for the name, if it needs that.
fn fitted(text: &str, name: &str, width: usize) -> String {
    const BETWEEN: &str = "  ";
    let columns = console::measure_text_width;
    if name.is_empty() {
        return console::truncate_str(text, width, "…").into_owned();
    }
    let least = columns(name).min(width / 3);
    let room = width.saturating_sub(least + BETWEEN.len());
    let text = console::truncate_str(text, room, "…").into_owned() + BETWEEN;
    let room = width.saturating_sub(columns(&text));
    text + &last_columns(name, room)
}

/// The end of a text, with a sign in front if that is not all of it.
fn last_columns(text: &str, width: usize) -> Cow<'_, str> {
    let columns = console::measure_text_width;
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut room = width.saturating_sub(1);
    let mut start = text.len();
    for (at, character) in text.char_indices().rev() {
        match room.checked_sub(columns(&text[at..at + character.len_utf8()])) {
            Some(left) => (room, start) = (left, at),
            None => break,
        }
    }
    Cow::Owned(if width == 0 { String::new() } else { format!("…{}", &text[start..]) })
}

/// Puts the text in place of the line in which the cursor is.
fn redraw(text: &str) {
    if cfg!(windows) {
        // Old consoles have a call for this, and no escape sequence.
        let terminal = console::Term::stderr();
        let _ = terminal.clear_line().and_then(|()| terminal.write_str(text));
    } else {
        streams::write_error(&format!("\r\u{1b}[2K{text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_keeps_the_end_of_the_name() {
        let text = "1 file  2 B";
        for (name, width, line) in [
            ("d/name", 79, "1 file  2 B  d/name"),
            ("d/name", 19, "1 file  2 B  d/name"),
            ("directory/name", 21, "1 file  2 B  …ry/name"),
            ("directory/name", 18, "1 file  2…  …/name"),
            ("d/größe", 20, "1 file  2 B  d/größe"),
            ("d/größe", 19, "1 file  2 B  …größe"),
            ("文文文文", 19, "1 file  2 B  …文文"),
            ("", 5, "1 fi…"),
        ] {
            let fitted = fitted(text, name, width);
            assert_eq!(fitted, line);
            assert!(console::measure_text_width(&fitted) <= width, "{fitted}");
        }
    }
}
