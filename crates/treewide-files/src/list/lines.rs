//! The lines of a list, whatever encoding and line ends it has.
//!
//! A byte-order mark at the start marks UTF-16 (what PowerShell's `>` writes) and is dropped. A 0 as each second byte of the first
//! two characters marks it too. Otherwise the bytes are taken as they are. Lines are read one at a time, and their length is bounded. So a list
//! may be of any size; and a disk image that is taken for a list is read no further than one such line.

use crate::whole::Whole;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

/// Lines of this many bytes or more are not lines of a list. (A digest of nearly 8 MiB in hex still fits.)
pub const MAX_LINE: u64 = 16 << 20;

/// A pipe holds this many bytes.
const BUFFER: usize = 64 << 10;

/// A list, open for reading line by line.
pub struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    /// Whether it is not a regular file, so that the next line may be long in coming.
    is_stream: bool,
    /// A line that the buffer of the reader does not have as a whole.
    line: Vec<u8>,
    /// Bytes in that buffer that were returned.
    returned: usize,
    number: u64,
    /// Whether the line that was read last has no end.
    is_endless: bool,
    /// Whether a `\r` was taken off its end.
    had_return: bool,
    /// What ends a line. `None` before the first is read.
    end: Option<u8>,
    /// Whether a line that is not UTF-8 is an error.
    is_utf8: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Reads a line with its end into `line`, or nothing at the end of the list.
///
/// # Errors
/// The errors of `from`, and [`ErrorKind::InvalidData`] if the line has [`MAX_LINE`] bytes or more.
pub fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    read_until(from, b'\n', line)
}

fn read_until(from: &mut impl BufRead, end: u8, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    from.take(MAX_LINE).read_until(end, line)?;
    let is_too_long = line.len() as u64 == MAX_LINE && line.last() != Some(&end);
    if is_too_long { Err(too_long()) } else { Ok(()) }
}

/// Reads the first line with its end, and returns what ends lines: a null character, if there is one after a digest in this line.
fn read_first(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u8> {
    line.clear();
    // Another null character is a part of something that is not a list.
    let mut may_end_in_null = true;
    while (line.len() as u64) < MAX_LINE {
        let buffer = match from.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = match may_end_in_null {
            true => memchr::memchr2(0, b'\n', buffer),
            false => memchr::memchr(b'\n', buffer),
        };
        let taken = end.map_or(buffer.len(), |end| end + 1);
        let room = (MAX_LINE as usize - line.len()).min(taken);
        line.extend(&buffer[..room]);
        from.consume(room);
        if taken == 0 || line.last() == Some(&b'\n') && end.is_some() {
            return Ok(b'\n');
        }
        if end.is_some() {
            if has_digest(line) {
                return Ok(0);
            }
            may_end_in_null = false;
        }
    }
    Err(too_long())
}

/// Whether there are as many hexadecimal digits in a row as the shortest digest has.
fn has_digest(line: &[u8]) -> bool {
    line.split(|byte| !byte.is_ascii_hexdigit()).any(|digits| digits.len() >= 32)
}

fn too_long() -> io::Error {
    let cause = "is not a list of digests: it has a line of 16 MiB or more";
    io::Error::new(ErrorKind::InvalidData, cause)
}

impl Lines {
    /// Opens the list at `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or its first bytes cannot be read. Reading fails later if the list does not end at its
    /// length.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = Whole::open(path)?;
        let is_stream = !file.is_regular();
        Self::new(file, is_stream)
    }

    /// Reads a list from `bytes`; `is_stream` says that reading may have to wait, as with a pipe.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn new(mut bytes: impl Read + Send + 'static, is_stream: bool) -> io::Result<Self> {
        let mut start = Vec::new();
        bytes.by_ref().take(4).read_to_end(&mut start)?;
        let little: Option<fn([u8; 2]) -> u16> = Some(u16::from_le_bytes);
        let big: Option<fn([u8; 2]) -> u16> = Some(u16::from_be_bytes);
        let (utf16, mark) = match start[..] {
            [0xff, 0xfe, ..] => (little, 2),
            [0xfe, 0xff, ..] => (big, 2),
            [0xef, 0xbb, 0xbf, ..] => (None, 3),
            [a, 0, b, 0] if a > 0 && b > 0 => (little, 0),
            [0, a, 0, b] if a > 0 && b > 0 => (big, 0),
            _ => (None, 0),
        };
        let rest = Cursor::new(start.split_off(mark)).chain(bytes);
        let reader: Box<dyn Read + Send> = match utf16 {
            Some(unit) => {
                Box::new(Utf16 { source: BufReader::new(rest), unit, ready: Vec::new(), taken: 0 })
            }
            None => Box::new(rest),
        };
        Ok(Self::of(reader, is_stream))
    }

    /// Reads a list as it is: UTF-8, with line feeds, and without a mark in front. A line that is not UTF-8 is an error.
    pub fn utf8(bytes: impl Read + Send + 'static, is_stream: bool) -> Self {
        Self { end: Some(b'\n'), is_utf8: true, ..Self::of(Box::new(bytes), is_stream) }
    }

    fn of(bytes: Box<dyn Read + Send>, is_stream: bool) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, bytes),
            is_stream,
            line: Vec::new(),
            returned: 0,
            number: 0,
            is_endless: false,
            had_return: false,
            end: None,
            is_utf8: false,
        }
    }

    /// Whether [`Self::next`] may have to wait until a program writes the next line.
    pub fn may_wait(&self) -> bool {
        self.is_stream && !self.reader.buffer()[self.returned..].contains(&self.end())
    }

    /// Whether the line that was read last has no end: the list stops within it.
    pub fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// Whether the line that was read last ended in `\r`, which is taken for a part of the line end. A name may
    /// also end in it.
    pub fn had_return(&self) -> bool {
        self.had_return
    }

    /// Whether lines end in a null character, as with `sha256sum --zero`. This is known once the first line is read.
    pub fn ends_in_null(&self) -> bool {
        self.end == Some(0)
    }

    fn end(&self) -> u8 {
        self.end.unwrap_or(b'\n')
    }

    /// The next line without its end, and its number, counted from 1. `None` at the end of the list.
    ///
    /// # Errors
    /// As [`read_line`], and for a line that is not UTF-8, if lines must be.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its lines")]
    pub fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.reader.consume(std::mem::take(&mut self.returned));
        let in_buffer = match self.reader.fill_buf() {
            Ok(buffer) => self.end.and_then(|end| memchr::memchr(end, buffer)),
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            Err(error) => return Err(error),
        };
        let line = match in_buffer {
            // It stays there, and is consumed when the next one is asked for.
            Some(end) => {
                self.returned = end + 1;
                &self.reader.buffer()[..=end]
            }
            None => {
                match self.end {
                    Some(end) => read_until(&mut self.reader, end, &mut self.line)?,
                    None => self.end = Some(read_first(&mut self.reader, &mut self.line)?),
                }
                &self.line[..]
            }
        };
        if line.is_empty() {
            return Ok(None);
        }
        if self.is_utf8 && str::from_utf8(line).is_err() {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "stream did not contain valid UTF-8",
            ));
        }
        self.number += 1;
        let end = self.end.unwrap_or(b'\n');
        self.is_endless = line.last() != Some(&end);
        let line = line.strip_suffix(&[end]).unwrap_or(line);
        let without = line.strip_suffix(b"\r").filter(|_| end == b'\n');
        self.had_return = without.is_some();
        Ok(Some((self.number, without.unwrap_or(line))))
    }
}

/// UTF-16 read as UTF-8.
///
/// Whatever is not UTF-16 becomes U+FFFD, and a name with U+FFFD is refused.
struct Utf16<R> {
    source: R,
    unit: fn([u8; 2]) -> u16,
    /// UTF-8 that was decoded and not yet read, from `taken` on.
    ready: Vec<u8>,
    taken: usize,
}

impl<R: BufRead> Utf16<R> {
    fn next_unit(&mut self) -> io::Result<Option<Result<u16, ()>>> {
        let mut pair = Vec::with_capacity(2);
        self.source.by_ref().take(2).read_to_end(&mut pair)?;
        Ok(match pair[..] {
            [] => None,
            [first, second] => Some(Ok((self.unit)([first, second]))),
            _ => Some(Err(())),
        })
    }

    /// Decode some more characters into `ready`.
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.taken = 0;
        let mut units = Vec::new();
        while units.len() < 4096 {
            match self.next_unit()? {
                None => break,
                // Half a unit at the end: a lone surrogate decodes to U+FFFD as well.
                Some(Err(())) => units.push(0xD800),
                Some(Ok(unit)) => units.push(unit),
            }
        }
        // Not between the two halves of a pair.
        if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit))
            && let Some(unit) = self.next_unit()?
        {
            units.push(unit.unwrap_or(0xD800));
        }
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        self.ready = text.collect::<String>().into_bytes();
        Ok(())
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() {
            self.refill()?;
        }
        let read = (&self.ready[self.taken..]).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: Vec<u8>) -> Vec<(u64, String)> {
        let mut list = Lines::new(Cursor::new(bytes), false).unwrap();
        let mut lines = Vec::new();
        while let Some((number, line)) = list.next().unwrap() {
            lines.push((number, String::from_utf8(line.to_vec()).unwrap()));
        }
        lines
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn lines_are_the_same_in_every_encoding() {
        // Long enough that refills fall everywhere, also between the halves of a pair.
        let text: String = (0..3000).map(|i| format!("{i} größe \u{1F600}\r\n")).collect();
        let expected = lines(text.clone().into_bytes());
        assert_eq!(expected.len(), 3000);
        assert_eq!(expected[2999], (3000, "2999 größe \u{1F600}".into()));
        let marked = format!("\u{FEFF}{text}");
        assert_eq!(lines(marked.clone().into_bytes()), expected);
        assert_eq!(lines(utf16(&marked, u16::to_le_bytes)), expected);
        assert_eq!(lines(utf16(&marked, u16::to_be_bytes)), expected);
        assert_eq!(lines(utf16(&text, u16::to_le_bytes)), expected);
        assert_eq!(lines(utf16(&text, u16::to_be_bytes)), expected);
    }

    #[test]
    fn broken_utf16_becomes_replacement_characters() {
        let mut bytes = utf16("\u{FEFF}ab", u16::to_le_bytes);
        bytes.push(b'x');
        assert_eq!(lines(bytes), [(1, "ab\u{FFFD}".into())]);
        let lone = vec![0xff, 0xfe, 0x00, 0xd8, b'a', 0];
        assert_eq!(lines(lone), [(1, "\u{FFFD}a".into())]);
    }

    #[test]
    fn short_lists_are_lists() {
        assert_eq!(lines(vec![]), []);
        assert_eq!(lines(b"\xef\xbb\xbf".to_vec()), []);
        assert_eq!(lines(b"\n".to_vec()), [(1, "".into())]);
        assert_eq!(lines(b"a".to_vec()), [(1, "a".into())]);
    }

    #[test]
    fn is_endless_is_true_of_a_line_without_an_end() {
        for (bytes, expected) in [
            (&b"a\nb"[..], &[false, true][..]),
            (b"a\nb\n", &[false, false]),
            (b"a\r\nb\r", &[false, true]),
            (b"\xff\xfea\0\n\0b\0", &[false, true]),
            (b"\xff\xfea\0\n\0b\0\n\0", &[false, false]),
            (b"\xff\xfea\0\n\0b\0\n", &[false, true]),
        ] {
            let mut list = Lines::new(Cursor::new(bytes), false).unwrap();
            for endless in expected {
                assert!(list.next().unwrap().is_some());
                assert_eq!(list.is_endless(), *endless, "{bytes:?}");
            }
            assert_eq!(list.next().unwrap(), None);
        }
    }

    #[test]
    fn lines_end_in_null_characters_if_the_first_one_does() {
        let digest = "ab".repeat(16);
        let (first, odd) = (format!("{digest}  a"), "b\r\n");
        assert_eq!(
            lines(format!("{first}\0{odd}\0c").into()),
            [(1, first.clone()), (2, odd.into()), (3, "c".into())]
        );
        assert_eq!(lines(format!("{first}\n\0b\0").into()), [(1, first), (2, "\0b\0".into())]);
        let image = format!("\0{digest}\0x\n{digest}\0\n");
        assert_eq!(lines(image.into()).len(), 2);
    }

    #[test]
    fn lines_are_bounded() {
        for (len, end) in [(MAX_LINE - 1, "\n"), (MAX_LINE, "\n"), (MAX_LINE - 1, "")] {
            let bytes = io::repeat(b'x').take(len).chain(end.as_bytes());
            let mut list = Lines::new(bytes, false).unwrap();
            assert_eq!(list.next().is_ok(), len < MAX_LINE, "{len}");
        }
    }
}
