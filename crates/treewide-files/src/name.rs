//! File names as text, in each of the places where a name is written or read.
//!
//! A name is any sequence of bytes on Unix, and of 16-bit units on Windows; lists, messages and JSON
//! are UTF-8. So there are three ways to write a name, and one way back ([`to_path`]):
//!
//! | where | newline, `\r`, `\` | bytes that are not UTF-8 |
//! |---|---|---|
//! | list ([`Listed`]) | `\n`, `\r`, `\\`, and `\` at the start of the line | U+FFFD: such a line cannot be checked |
//! | message ([`shown`]) | control characters as `\u{..}` | U+FFFD |
//! | JSON ([`list::json`](crate::list::json)) | JSON's own escapes | U+FFFD, and all bytes as `path_hex` |

use std::fmt;
use std::path::{Path, PathBuf};

/// A name as b3sum writes it in a list. `Display` writes the mark and the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    text: String,
    escaped: bool,
}

impl Listed {
    /// The name of `path`. On Windows `\` is written as `/`.
    pub fn new(path: &Path) -> Self {
        let mut text = path.to_string_lossy().into_owned();
        // A list made on Windows then works on Unix too, and needs no escapes.
        if cfg!(windows) {
            text = text.replace('\\', "/");
        }
        let escaped = text.contains(['\\', '\n', '\r']);
        if escaped {
            text = text.replace('\\', r"\\").replace('\n', r"\n").replace('\r', r"\r");
        }
        Self { text, escaped }
    }

    /// The name, escaped if it needs to be.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether U+FFFD stands for a part of the name, so that no check can find the file again.
    pub fn is_ambiguous(&self) -> bool {
        self.text.contains(char::REPLACEMENT_CHARACTER)
    }

    /// Returns the beginning of the line: `\` if there are escapes in the name, otherwise nothing.
    pub fn mark(&self) -> &'static str {
        if self.escaped { r"\" } else { "" }
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mark(), self.text)
    }
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/+=:,@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A name for messages: it takes one line and cannot send control sequences to a terminal.
pub fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

/// Shows text as [`shown`] does that is not a path, such as a part of a line.
pub fn shown_text(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let (escape, plain) =
                if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
            escape.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// Undoes the escapes of a list. `None` if there is an escape that no list has.
pub fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

/// The path that a name in a list stands for.
///
/// # Errors
/// If the name is empty, holds a zero byte, or (on Windows) a backslash, or bytes that are not UTF-8.
/// A name that holds U+FFFD is an error too: U+FFFD stands for bytes that the list could not hold, so the
/// name could be any file's, and a check must fail rather than take one file for another.
pub fn to_path(name: &[u8]) -> Result<PathBuf, &'static str> {
    let replacement = b"\xef\xbf\xbd";
    if memchr::memmem::find(name, replacement).is_some() {
        return Err("Unicode replacement character in the file name, which could be any file");
    }
    to_exact_path(name)
}

/// Takes a name that is known to be complete as [`to_path`] does: U+FFFD in it is meant.
///
/// # Errors
/// As [`to_path`].
pub fn to_exact_path(name: &[u8]) -> Result<PathBuf, &'static str> {
    if name.is_empty() {
        return Err("empty file name");
    }
    // The system would cut the name short there.
    if name.contains(&0) {
        return Err("null character in the file name");
    }
    // Either a directory separator from here, or a letter of a name from Unix.
    if cfg!(windows) && name.contains(&b'\\') {
        return Err("backslash in the file name");
    }
    if cfg!(windows) && has_lost_end(name) {
        return Err("file name that ends in a dot, a blank or a stream, as Windows knows none");
    }
    os_path(name)
}

/// Whether Windows would open another file by this name: it drops dots and blanks at the end of each part, and
/// takes what follows a colon (except that of a drive) for a stream of the file.
fn has_lost_end(name: &[u8]) -> bool {
    let has_drive = matches!(name, [letter, b':', ..] if letter.is_ascii_alphabetic());
    let rest = if has_drive { &name[2..] } else { name };
    rest.contains(&b':')
        || rest
            .split(|byte| *byte == b'/')
            .any(|part| !matches!(part, b"." | b"..") && matches!(part.last(), Some(b'.' | b' ')))
}

/// The path with exactly these bytes.
///
/// # Errors
/// Where paths are not bytes (Windows), if the bytes are not UTF-8.
#[cfg(unix)]
pub fn os_path(bytes: &[u8]) -> Result<PathBuf, &'static str> {
    use std::os::unix::ffi::OsStrExt;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// The path with exactly these bytes.
///
/// # Errors
/// If the bytes are not UTF-8.
#[cfg(not(unix))]
pub fn os_path(bytes: &[u8]) -> Result<PathBuf, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "file name that is not UTF-8")?;
    Ok(PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unescape_is_the_way_back() {
        let names = ["a", "a\nb", "a\\nb", "\\", "\r\n\\\\", "ä\\ö\n"];
        // On Windows a backslash is a slash.
        for name in names.into_iter().filter(|it| cfg!(unix) || !it.contains('\\')) {
            let listed = Listed::new(Path::new(name));
            let back = unescape(listed.text.as_bytes()).unwrap();
            assert_eq!(back, name.as_bytes());
        }
        for broken in [r"\", r"a\x", r"\\\"] {
            assert_eq!(unescape(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn has_lost_end_is_about_dots_blanks_and_streams() {
        for (name, lost) in [
            ("a", false),
            ("../a.b/./c d", false),
            ("C:/a", false),
            ("a.", true),
            ("a./b", true),
            ("a ", true),
            ("...", true),
            ("a::$DATA", true),
            ("C:/a:b", true),
        ] {
            assert_eq!(has_lost_end(name.as_bytes()), lost, "{name}");
        }
    }

    #[test]
    fn shown_holds_no_control_characters() {
        assert_eq!(shown(Path::new("a\nb\x1b[2J")), r"a\nb\u{1b}[2J");
        assert_eq!(shown(Path::new("größe 1\\2")), "größe 1\\2");
    }
}
