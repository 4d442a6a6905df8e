//! `.sfv`, with which archives in many parts are published: `a.r00 9F606EEC`, the CRC-32 last.

use super::{Form, is_comment};
use crate::list::line::{Parts, Said, without_digest};

#[derive(Debug)]
pub(super) struct Sfv;

const DIGITS: usize = 8;

impl Form for Sfv {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return;
        }
        let blank = line.iter().rposition(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (name, digits) = (line[..blank].trim_ascii_end(), line[blank..].trim_ascii());
        let is_entry = digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
        let is_comment = is_comment(line, b';');
        match line {
            // A line end that is damaged makes the next line a part of a comment. What ends in a date is meant as one.
            [b';', ..] if is_comment && is_entry && name.len() > 1 && !is_date(digits) => {
                let cause = "a comment with a name and a CRC-32 in it";
                said.push(Err(without_digest(b"", cause)))
            }
            [b';', ..] if is_comment || !is_entry => {}
            [b';', ..] => {
                said.push(Err(without_digest(b"", "a ; in front of a name; put a blank after it")))
            }
            _ if is_entry => {
                // Most of these programs are those of Windows.
                let name = name.iter().map(|it| if *it == b'\\' { b'/' } else { *it }).collect();
                said.push(Ok(Parts {
                    tag: vec![],
                    digits: digits.into(),
                    name: Some(name),
                    size: None,
                }));
            }
            _ => said.push(Err(without_digest(name, "no CRC-32 of 8 digits"))),
        }
    }

    fn may_end(&self) -> bool {
        true
    }
}

/// Whether these may be `20261126`.
fn is_date(digits: &[u8]) -> bool {
    let century = &digits[..2];
    (century == b"19" || century == b"20") && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn sfv_has_names_first() {
        let text = "; made by x on 20261126\n; madea 9F606EEC\n;made by y\nd\\a b  9F606EEC\na 9F606EE\n;.txt 9F606EEC\n";
        let marked = "! a ; in front of a name; put a blank after it";
        assert_eq!(
            read(&mut Sfv, text),
            [
                "! a comment with a name and a CRC-32 in it",
                " d/a b",
                "! no CRC-32 of 8 digits",
                marked
            ]
        );
    }
}
