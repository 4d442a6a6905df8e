//! Tones of verdicts, which decide their colours on a terminal.

/// How good or bad it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be: green.
    Good,
    /// Damaged: red.
    Bad,
    /// Another content: yellow.
    Changed,
    /// In another place, or new: cyan.
    Moved,
    /// Undetermined: magenta.
    Unknown,
}

impl Tone {
    /// The word between the codes that turn its colour on and off.
    pub(crate) fn paint(self, word: &str) -> String {
        let code = match self {
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Changed => "33",
            Self::Moved => "36",
            Self::Unknown => "35",
        };
        format!("\u{1b}[{code}m{word}\u{1b}[0m")
    }
}
