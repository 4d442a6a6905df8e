//! Lines of an index as this program writes them for a file with a plain name: nearly all lines are such.
//!
//! Whatever has another form, other keys or another order is left to the parser for all of JSON, which takes several times as
//! long. Both give the same record.

use crate::format::also::{self, Also};
use crate::format::day::Day;
use crate::format::index::{self, Indexed};
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, What};
use crate::format::trust::Key;
use treewide::{Hash, OUT_LEN};

/// Parses such lines.
#[derive(Debug, Default)]
pub(crate) struct Usual {
    /// The last day, and its text: nearly all lines have the same.
    day: Option<([u8; 10], Day)>,
}

impl Usual {
    /// Parses any line, with its end.
    pub(crate) fn any(&mut self, line: &[u8]) -> Result<Indexed, String> {
        self.parse(line).map_or_else(|| index::parse(line), Ok)
    }

    /// `None` if it has another form. In the past it may end with one key more.
    fn parse(&mut self, line: &[u8]) -> Option<Indexed> {
        let mut rest = Rest(line);
        rest.skip(b"{\"path\":\"")?;
        let name = rest.text()?;
        let is_plain = name.iter().fold(true, |all, byte| all & (*byte >= b' ') & (*byte != b'\\'));
        let is_utf8 = name.is_ascii() || str::from_utf8(name).is_ok();
        if !is_plain || !is_utf8 || name::checked(name) != Ok(name) {
            return None;
        }
        rest.skip(b",\"type\":\"file\"")?;
        let digest = match rest.skip(b",\"digest\":\"") {
            Some(()) => Some(Hash::from_hex(rest.text()?).ok()?.into()),
            None => None,
        };
        rest.skip(b",\"bytes\":")?;
        let bytes = rest.number()?;
        let mode = match rest.skip(b",\"mode\":\"") {
            Some(()) => Some(rest.octal()?),
            None => None,
        };
        rest.skip(b",\"mtime\":")?;
        let key = match rest.skip(b"null") {
            Some(()) => None,
            None => {
                let mtime = rest.number()?.try_into().ok()?;
                rest.skip(b",\"ctime\":")?;
                let ctime = rest.number()?.try_into().ok()?;
                let inode = rest.number_of(b",\"ino\":")?;
                let device = rest.number_of(b",\"dev\":")?;
                Some(Key { mtime, ctime, inode, device })
            }
        };
        let read = match rest.skip(b",\"read\":\"") {
            Some(()) => Some(self.day(rest.text()?)?),
            None => None,
        };
        let also = match rest.skip(b",\"also\":{") {
            Some(()) => also::parse_usual(rest.until(b'}')?)?,
            None => Also::new(),
        };
        let _ = rest.skip(b",\"gone\":true");
        if rest.0 != b"}\n" {
            return None;
        }
        let facts = Some(Facts { mode, key, read, also, ..Facts::of(bytes) });
        let what = What::File(FileRecord { digest: digest.unwrap_or([0; OUT_LEN]), facts });
        Some(Indexed { record: Record::new(name, what), has_digest: digest.is_some() })
    }

    fn day(&mut self, text: &[u8]) -> Option<Day> {
        match self.day {
            Some((same, day)) if same == text => Some(day),
            _ => {
                let day = Day::parse(str::from_utf8(text).ok()?)?;
                self.day = text.try_into().ok().map(|text| (text, day));
                Some(day)
            }
        }
    }
}

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// The bytes before a quotation mark, which is skipped.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.until(b'"')
    }

    /// The bytes before this one, which is skipped.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let (text, rest) = self.0.split_at(self.0.iter().position(|byte| *byte == end)?);
        self.0 = &rest[1..];
        Some(text)
    }

    /// A number as JSON has it: without a sign here, and without zeros before it.
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut len) = (0_u64, 0);
        while let Some(digit @ b'0'..=b'9') = self.0.get(len) {
            number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
            len += 1;
        }
        if len == 0 || len > 1 && self.0[0] == b'0' {
            return None;
        }
        self.0 = &self.0[len..];
        Some(number)
    }

    /// A number after its key. `Some(None)` if there is another key, or none.
    fn number_of(&mut self, key: &[u8]) -> Option<Option<u64>> {
        match self.skip(key) {
            Some(()) => self.number().map(Some),
            None => Some(None),
        }
    }

    /// Four octal digits, and a quotation mark.
    fn octal(&mut self) -> Option<u32> {
        let (digits, rest) = self.0.split_first_chunk::<4>()?;
        let digit = |all: u32, digit: &u8| match digit {
            b'0'..=b'7' => Some(all << 3 | u32::from(digit - b'0')),
            _ => None,
        };
        let mode = digits.iter().try_fold(0, digit)?;
        self.0 = rest.strip_prefix(b"\"")?;
        Some(mode)
    }
}

#[cfg(test)]
mod tests;
