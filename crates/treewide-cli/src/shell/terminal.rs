//! Text that goes to a terminal: names in it send no commands and do not change the order of the text.
//!
//! A name may hold any character. On a terminal, control characters could move the cursor and hide a line such as
//! `FAILED`, and bidirectional controls could show a name in another order. So they are escaped there, and only there:
//! pipes and files get the bytes as they are.

use std::borrow::Cow;
use std::fmt::Write;

/// What the text is, which decides how characters are escaped in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines for people: `\u{1b}`.
    Lines,
    /// JSON: `\u001b`, which is the same string for programs.
    Json,
    /// Bytes of a digest, which are written as they are.
    Raw,
}

/// Whether a terminal obeys the character instead of showing it. Line ends are ours: names have theirs escaped.
fn is_command(c: char) -> bool {
    c != '\n' && c.is_control()
        // Bidirectional controls, line and paragraph separators.
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with each command escaped.
pub(crate) fn escape(text: &str, form: Form) -> Cow<'_, str> {
    if form == Form::Raw || !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match form {
            Form::Lines if is_command(c) => escaped.extend(c.escape_default()),
            Form::Json if is_command(c) => {
                // All of them are in the basic plane, so one escape holds each.
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            _ => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_leaves_no_command_and_nothing_else_is_changed() {
        let commands = ('\0'..='\u{10ffff}').filter(|c| is_command(*c));
        let all: String = commands.collect();
        assert_eq!(all.chars().count(), 31 + 1 + 32 + 3 + 7 + 4);
        for form in [Form::Lines, Form::Json] {
            assert!(!escape(&all, form).contains(is_command));
            let plain = "größe\u{200d}\u{1f600} \\ \"\n";
            assert_eq!(escape(plain, form), plain);
        }
        assert_eq!(escape("\u{1b}[2J\r\u{202e}", Form::Lines), r"\u{1b}[2J\r\u{202e}");
        assert_eq!(escape("\u{9b}2J\u{7f}", Form::Json), r"\u009b2J\u007f");
        assert_eq!(escape(&all, Form::Raw), all);
    }
}
