//! MD5 as DVC 2 finds it: text with `\r\n` at the ends of lines counts as text with `\n`.

use super::Digester;
use md5::{Digest, Md5};

pub(super) fn begin(_: u64) -> Box<dyn Digester> {
    let start = Vec::with_capacity(Dos2Unix::START);
    Box::new(Dos2Unix { md5: Md5::new(), start, is_text: None, has_return: false })
}

struct Dos2Unix {
    md5: Md5,
    /// The start of the file, until it is known whether it is text.
    start: Vec<u8>,
    is_text: Option<bool>,
    /// Whether the last byte was `\r`, which is not yet hashed.
    has_return: bool,
}

impl Dos2Unix {
    /// The bytes that decide whether a file is text.
    const START: usize = 512;

    fn is_text(start: &[u8]) -> bool {
        let is_odd = |it: &&u8| !matches!(it, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 8 | 12);
        !start.contains(&0) && 10 * start.iter().filter(is_odd).count() <= 3 * start.len()
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.is_text != Some(true) {
            return Digest::update(&mut self.md5, bytes);
        }
        for line in bytes.split_inclusive(|it| *it == b'\r') {
            if std::mem::take(&mut self.has_return) && !line.starts_with(b"\n") {
                Digest::update(&mut self.md5, b"\r");
            }
            let rest = line.strip_suffix(b"\r");
            self.has_return = rest.is_some();
            Digest::update(&mut self.md5, rest.unwrap_or(line));
        }
    }

    fn decide(&mut self) {
        self.is_text = Some(Self::is_text(&self.start));
        let start = std::mem::take(&mut self.start);
        self.take(&start);
    }
}

impl Digester for Dos2Unix {
    fn update(&mut self, mut bytes: &[u8]) {
        if self.is_text.is_none() {
            let more = bytes.len().min(Self::START - self.start.len());
            self.start.extend(&bytes[..more]);
            bytes = &bytes[more..];
            if self.start.len() < Self::START {
                return;
            }
            self.decide();
        }
        self.take(bytes);
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        if self.is_text.is_none() {
            self.decide();
        }
        if self.has_return {
            Digest::update(&mut self.md5, b"\r");
        }
        self.md5.finalize().to_vec()
    }
}
