//! Grammars with an entry a line, or a few lines.

use super::reader::{Parts, Reader, Said, without_digest};
use super::title::Title;
use crate::algorithm::Algorithm;
use std::collections::{BTreeMap, HashSet};
use treewide_files::name;

/// The word at the start of `line`, and the rest with the blanks before it.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    line.split_at(line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len()))
}

/// The text without escapes, if a backslash before the line says that there are some.
fn plain_name(has_escapes: bool, name: &[u8]) -> Option<Vec<u8>> {
    if has_escapes { name::unescape(name) } else { Some(name.into()) }
}

fn escapes(line: &[u8]) -> (bool, &[u8]) {
    line.strip_prefix(b"\\").map_or((false, line), |rest| (true, rest))
}

/// An entry, or the fault of its name.
fn entry(name: &[u8], has_escapes: bool, parts: Parts) -> Said {
    match plain_name(has_escapes, name) {
        Some(name) => Ok(Parts { name: Some(name), ..parts }),
        None => Err(without_digest(name, "file name with an invalid escape")),
    }
}

/// `DIGEST  FILE`, `DIGEST *FILE`, and `DIGEST ?SHA256*FILE` of TeraCopy; or `DIGEST FILE`, as `md5 -r` of BSD has it. The first entry
/// says which, as for sha256sum.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) title: Title,
    pub(crate) is_reversed: bool,
}

/// A line, taken apart.
pub(crate) struct Taken<'a> {
    has_escapes: bool,
    tag: &'a [u8],
    digits: &'a [u8],
    name: &'a [u8],
    /// With the mark before it.
    whole: &'a [u8],
    pub(crate) is_reversed: bool,
}

impl Plain {
    pub(crate) fn of<'a>(title: &Title, line: &'a [u8]) -> Option<Taken<'a>> {
        let (has_escapes, inner) = escapes(line);
        let (digits, rest) = inner.split_at(inner.iter().position(|it| *it == b' ')?);
        let (mut tag, mut is_reversed) = (&digits[..0], false);
        let name = match &rest[1..] {
            [b' ' | b'*', name @ ..] => name,
            [b'?', marked @ ..] if marked.contains(&b'*') => {
                let star = marked.iter().position(|it| *it == b'*')?;
                tag = &marked[..star];
                &marked[star + 1..]
            }
            name => {
                is_reversed = true;
                name
            }
        };
        let is_it = !name.is_empty() && title.is_digest(digits);
        is_it.then_some(Taken { has_escapes, tag, digits, name, whole: &rest[1..], is_reversed })
    }
}

impl Reader for Plain {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let taken = match Self::of(&self.title, line) {
            // The name may begin as a mark does.
            Some(it) if self.is_reversed && !it.is_reversed => {
                Taken { name: it.whole, tag: b"", is_reversed: true, ..it }
            }
            Some(it) if it.is_reversed == self.is_reversed => it,
            _ => return Err(String::new()),
        };
        let other = (taken.name.len() < taken.whole.len() && taken.whole[0] != b' ')
            .then(|| plain_name(taken.has_escapes, taken.whole).unwrap_or_default());
        let (tag, digits) = (taken.tag.into(), taken.digits.into());
        let parts = Parts { tag, digits, other, ..Parts::default() };
        said.push(entry(taken.name, taken.has_escapes, parts));
        Ok(())
    }

    fn is_entry(&self, text: &[u8]) -> bool {
        Self::of(&self.title, text).is_some_and(|it| it.is_reversed == self.is_reversed)
    }
}

/// `SHA256 (FILE) = DIGEST`, also as openssl, rhash and a distinfo have it, where `SIZE (FILE) = 7` is the length of a file that has a
/// digest in another line.
#[derive(Debug, Default)]
pub(crate) struct Tagged {
    with_digest: HashSet<Vec<u8>>,
    lengths: BTreeMap<Vec<u8>, bool>,
}

/// Tag, name and digest, which may be anything without a blank; of a length, `7 bytes`.
fn tagged(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let is_word = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'/' | b'_');
    let (tag, rest) = line.split_at(line.iter().take_while(|it| is_word(it)).count());
    let inner = rest.trim_ascii_start().strip_prefix(b"(")?;
    let close = inner.iter().rposition(|it| *it == b')')?;
    let digits = inner[close + 1..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
    let digits =
        if is_size(tag) { digits.strip_suffix(b" bytes").unwrap_or(digits) } else { digits };
    Some((tag, &inner[..close], digits))
}

fn is_size(tag: &[u8]) -> bool {
    tag.eq_ignore_ascii_case(b"size")
}

/// The first line of a distinfo.
fn is_stamp(line: &[u8]) -> bool {
    let number = line.strip_prefix(b"TIMESTAMP = ");
    number.is_some_and(|it| it.iter().all(u8::is_ascii_digit))
        || line.starts_with(b"$NetBSD") && line.ends_with(b"$")
}

impl Tagged {
    pub(crate) fn is(line: &[u8]) -> bool {
        is_stamp(line) || tagged(escapes(line).1).is_some_and(|(tag, ..)| !tag.is_empty())
    }
}

impl Reader for Tagged {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        if is_stamp(line) && self.with_digest.is_empty() {
            return Ok(());
        }
        let (has_escapes, inner) = escapes(line);
        let (tag, name, digits) = tagged(inner).filter(|it| !it.0.is_empty()).ok_or("")?;
        let parts = Parts { tag: tag.into(), digits: digits.into(), ..Parts::default() };
        if !is_size(tag) {
            let said_of = entry(name, has_escapes, parts);
            self.with_digest.extend(said_of.as_ref().ok().and_then(|it| it.name.clone()));
            said.push(said_of);
            return Ok(());
        }
        let size = str::from_utf8(digits).ok().and_then(|it| it.parse().ok());
        match plain_name(has_escapes, name) {
            Some(plain) if size.is_some() => {
                // It says nothing of a file that has it.
                let metadata = name::to_path(&plain).ok().and_then(|it| it.metadata().ok());
                if metadata.is_none_or(|it| Some(it.len()) != size) {
                    let (name, digits) = (Some(plain.clone()), Vec::new());
                    said.push(Ok(Parts { digits, name, size, ..parts }));
                }
                self.lengths.insert(plain, true);
            }
            _ => said.push(Err(without_digest(name, "the length is not a number"))),
        }
        Ok(())
    }

    fn is_entry(&self, text: &[u8]) -> bool {
        tagged(text).is_some_and(|(tag, _, digits)| {
            is_size(tag) || Algorithm::tagged(tag).is_some() || tag.is_empty() && digits.len() >= 16
        })
    }

    fn end(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        let lengths = std::mem::take(&mut self.lengths).into_keys();
        let alone = lengths.filter(|it| !self.with_digest.contains(it));
        said.extend(alone.map(|it| Err(without_digest(&it, "a length and no digest"))));
        Ok(())
    }
}

/// One digest, of the file that the list is called after.
#[derive(Debug)]
pub(crate) struct Bare(Option<Title>);

impl Bare {
    pub(crate) fn of(title: &Title) -> Self {
        Self(Some(title.clone()))
    }
}

impl Reader for Bare {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let title = self.0.as_ref().ok_or("a second line, but the list is one digest alone")?;
        if !title.is_digest(line.trim_ascii()) {
            return Err(String::new());
        }
        self.0 = None;
        said.push(Ok(Parts { digits: line.trim_ascii().into(), ..Parts::default() }));
        Ok(())
    }

    fn is_entry(&self, text: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|it| it.is_digest(text.trim_ascii()))
    }
}

/// `DIGEST  data/FILE` in a manifest of a bag.
#[derive(Debug)]
pub(crate) struct Bag;

impl Reader for Bag {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let (digits, name) = word(line);
        let name = name.trim_ascii_start();
        let name = name.strip_prefix(b"*").unwrap_or(name);
        if digits.is_empty() || name.is_empty() {
            return Err(String::new());
        }
        said.push(Ok(Parts { digits: digits.into(), name: Some(name.into()), ..Parts::default() }));
        Ok(())
    }
}

/// `FILE 9F606EEC`. Most of the programs are those of Windows, which write `\` between directories.
#[derive(Debug)]
pub(crate) struct Sfv;

impl Sfv {
    fn entry(line: &[u8]) -> Option<(&[u8], &[u8])> {
        let line = line.trim_ascii_end();
        let (name, digits) = line.split_at(line.iter().rposition(u8::is_ascii_whitespace)?);
        let (name, digits) = (name.trim_ascii_end(), digits.trim_ascii());
        let is_it =
            digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit) && !name.is_empty();
        is_it.then_some((name, digits))
    }
}

impl Reader for Sfv {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let entry = Self::entry(line).filter(|it| !it.0.starts_with(b";"));
        let (name, digits) = entry.ok_or("")?;
        let name = name.iter().map(|it| if *it == b'\\' { b'/' } else { *it }).collect();
        said.push(Ok(Parts { digits: digits.into(), name: Some(name), ..Parts::default() }));
        Ok(())
    }

    fn is_entry(&self, text: &[u8]) -> bool {
        Self::entry(text).is_some_and(|(name, _)| name != b";")
    }
}

/// `FILE: 5891B5B5 22D5DF08 ..`, as `gpg --print-md` writes it: groups of digits, which lines with blanks in front continue. `--print-mds`
/// has the tag and a `=` in front of them.
#[derive(Debug, Default)]
pub(crate) struct Gpg(Option<Parts>);

impl Gpg {
    fn entry(line: &[u8]) -> Option<Parts> {
        let colons = line.windows(2).enumerate().rev().filter(|(_, it)| it == b": ");
        let mut entries = colons.filter_map(|(colon, _)| {
            let (name, rest) = (&line[..colon], line[colon + 1..].trim_ascii());
            let (tag, digits) = match rest.windows(3).position(|it| it == b" = ") {
                Some(equals) => (&rest[..equals], &rest[equals + 3..]),
                None => (&rest[..0], rest),
            };
            let digits = groups(digits).filter(|it| it.len() >= 8)?;
            Some(Parts { tag: tag.into(), digits, name: Some(name.into()), ..Parts::default() })
        });
        entries.next()
    }

    pub(crate) fn is(line: &[u8]) -> bool {
        Self::entry(line).is_some_and(|it| it.digits.len() >= 16)
    }
}

/// The digits of a line of groups, in capitals.
fn groups(line: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<_> = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()).collect();
    let is_digit = |it: &u8| matches!(it, b'0'..=b'9' | b'A'..=b'F');
    let is_group =
        |it: &&[u8]| it.len() <= 8 && it.len().is_multiple_of(2) && it.iter().all(is_digit);
    (!words.is_empty() && words.iter().all(is_group)).then(|| words.concat())
}

impl Reader for Gpg {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        if line[0].is_ascii_whitespace() {
            let (parts, digits) = (self.0.as_mut().ok_or("")?, groups(line).ok_or("")?);
            parts.digits.extend(digits);
            return Ok(());
        }
        self.blank(said);
        self.0 = Some(Self::entry(line).ok_or("")?);
        Ok(())
    }

    fn blank(&mut self, said: &mut Vec<Said>) {
        said.extend(self.0.take().map(Ok));
    }

    fn end(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        self.blank(said);
        Ok(())
    }
}
