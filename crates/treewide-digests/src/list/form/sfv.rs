//! `.sfv`, with which archives in many parts are published: `a.r00 9F606EEC`, the CRC-32 last.

use super::{Form, is_comment};
use crate::list::line::{Parts, Said, without_digest};

#[derive(Debug)]
pub(super) struct Sfv;

const DIGITS: usize = 8;

impl Form for Sfv {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        let line = line.trim_ascii_end();
        if line.is_empty() || is_comment(line, b';') {
            return;
        }
        let blank = line.iter().rposition(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (name, digits) = (line[..blank].trim_ascii_end(), line[blank..].trim_ascii());
        let is_entry = digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
        match line {
            [b';', ..] if !is_entry => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn sfv_has_names_first() {
        let text = "; made by x\n;made by y\nd\\a b  9F606EEC\na 9F606EE\n;.txt 9F606EEC\n";
        let marked = "! a ; in front of a name; put a blank after it";
        assert_eq!(read(&mut Sfv, text), [" d/a b", "! no CRC-32 of 8 digits", marked]);
    }
}
