//! Lists of digests by many programs: what each entry says, and which algorithms its digest may be of.
//!
//! A list is recognised once, by its name or its first line, and read by that grammar alone to its last byte ([`grammar`]). A line that
//! the grammar does not derive is a fault, so that "OK" means all of the list. [`armor`] around it and blank lines belong to
//! every grammar. A comment is one if it does not end as an entry does.

mod armor;
mod b3sum;
mod columns;
mod deb822;
mod digits;
mod grammar;
mod json;
mod lines;
mod reader;
pub(crate) mod title;

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected, Shown};
use crate::wording::count;
use armor::{Armor, Part};
use grammar::{GRAMMARS, Grammar};
use reader::{Parts, Reader, Said, quoted, refuse_text, without_digest};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use title::Title;
use treewide_files::Other;
use treewide_files::check::{self, Forms, Line};
use treewide_files::digest::Extent;
use treewide_files::list::{Entry, Fault, NameIs};

/// How lists are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// The algorithm of lines that do not name another.
    pub algorithm: Option<Algorithm>,
    /// Whether digests by weak algorithms are refused.
    pub strong: bool,
    /// The bytes of each digest. Then they are BLAKE3 digests.
    pub digest_len: Option<u64>,
    /// Whether all digests are BLAKE3 ones, as with a key.
    pub blake3_alone: bool,
    /// Lists are read exactly as b3sum reads them, and digests begin at this byte of the output.
    pub b3sum: Option<u64>,
}

/// The lines of one list.
#[derive(Debug)]
pub struct List {
    reading: Reading,
    title: Title,
    shown: Arc<Shown>,
    armor: Armor,
    grammar: Option<(&'static Grammar, Box<dyn Reader>)>,
    /// Comments and headers of the armor that came before the grammar was known, and their lines.
    held: Vec<(u64, Vec<u8>)>,
    number: u64,
    /// Whether it has no grammar, which was said.
    is_unknown: bool,
    /// Whether the list may end within the last line.
    may_end: bool,
    /// What was read.
    said: Vec<Said>,
}

impl List {
    /// The list at `path`; empty for standard input.
    pub fn new(path: &Path, mut reading: Reading) -> Self {
        if reading.blake3_alone || reading.digest_len.is_some() {
            reading.algorithm = Some(Algorithm::BLAKE3);
        }
        let mut title = Title::of(if reading.b3sum.is_some() { Path::new("") } else { path });
        title.digest_len = reading.digest_len;
        Self {
            reading,
            title,
            shown: Arc::default(),
            armor: Armor::default(),
            grammar: None,
            held: Vec::new(),
            number: 0,
            is_unknown: false,
            may_end: true,
            said: Vec::new(),
        }
    }

    /// Whether the list is signed. The signature is not checked.
    pub fn is_signed(&self) -> bool {
        self.armor.is_signed()
    }

    /// An entry.
    fn known(&mut self, parts: Parts) -> Result<Line<Expected>, Fault> {
        let Parts { tag, digits, name, size, other } = parts;
        let subject = || self.title.subject.as_deref().map(title::name_of);
        let name: Vec<u8> = name.or_else(subject).unwrap_or_default();
        if name.is_empty() {
            return Err(without_digest(b"", "no file name"));
        }
        // Only JSON holds all names as they are.
        let is_json = matches!(&self.grammar, Some((it, _)) if it.form == "JSON");
        let name_is = if is_json { NameIs::Exact } else { NameIs::Loose };
        // The length of a file in a line of its own.
        if tag.eq_ignore_ascii_case(b"size") && digits.is_empty() {
            let entry = Entry { name, name_is, others: vec![], digest: vec![] };
            let about = Expected::new(vec![], By::Tag, vec![]).size(size);
            return Ok(Line { entry, extent: Extent::NONE, about, has_free_length: false });
        }
        let (tagged, shown_tag) = (Algorithm::tagged(&tag), quoted(&tag));
        if tagged.is_none() && !tag.is_empty() {
            return Err(without_digest(&name, format!("{shown_tag} is not supported")));
        }
        let algorithm = tagged.or(self.reading.algorithm).or(self.title.algorithm);
        let Some(digest) = digits::decode(&digits, algorithm) else {
            let cause = match digits.iter().all(u8::is_ascii_hexdigit) {
                _ if digits.is_empty() => "no digest".into(),
                true => format!("digest of {} hex digits, an odd number", digits.len()),
                false => "the digest is neither hexadecimal nor base64".into(),
            };
            return Err(without_digest(&name, cause));
        };
        let entry = Entry { name, name_is, others: other.into_iter().collect(), digest };
        self.judge(tagged, entry, size, &shown_tag)
    }

    /// The candidates of a digest, before any file is read.
    fn judge(
        &mut self,
        tag: Option<Algorithm>,
        mut entry: Entry,
        size: Option<u64>,
        shown_tag: &str,
    ) -> Result<Line<Expected>, Fault> {
        let len = entry.digest.len();
        let refused = |entry: &Entry, cause: String| Fault::Digest {
            name: entry.name.clone(),
            digest: Some(entry.digest.clone()),
            cause,
        };
        let (by, candidates) = match (tag, self.reading.algorithm, self.title.algorithm) {
            (Some(tag), Some(asked), _) if tag != asked => {
                let cause = format!("a {shown_tag} digest, but --algorithm says {}", asked.name());
                return Err(refused(&entry, cause));
            }
            (Some(tag), ..) => (By::Tag, vec![tag]),
            (None, Some(asked), _) => (By::Option, vec![asked]),
            (None, None, Some(named)) => (By::ListName, vec![named]),
            (None, None, None) => (By::Length, of_length(len)),
        };
        if let [only] = candidates[..] {
            let cause = match (self.reading.digest_len, only.digest_len()) {
                (Some(asked), _) if asked != len as u64 => {
                    format!("{} instead of {asked}", bytes(len))
                }
                (None, usual) if only == Algorithm::BLAKE3 && len < usual => format!(
                    "{}: of an algorithm that is not supported, or of BLAKE3 with --length {len}",
                    bytes(len)
                ),
                (None, usual) if only != Algorithm::BLAKE3 && len != usual => {
                    let by = match by {
                        By::ListName => " of the list's name (--algorithm says another)",
                        _ => "",
                    };
                    format!("digest of {} digits; {only}{by} has {}", 2 * len, 2 * usual)
                }
                _ if only.is_weak() && self.reading.strong => {
                    format!("{only} is not accepted with --strong")
                }
                _ => String::new(),
            };
            if !cause.is_empty() {
                return Err(refused(&entry, cause));
            }
        }
        if let Some(bag) = &self.title.bag {
            match bag.path(&entry.name) {
                Ok(path) => entry.name = path,
                Err(cause) => return Err(refused(&entry, cause.into())),
            }
        }
        let is_blake3 = candidates.contains(&Algorithm::BLAKE3);
        let has_choice = candidates.len() > 1;
        let has_free_length = is_blake3 && self.reading.digest_len.is_none();
        let mut about = Expected::new(entry.digest.clone(), by, candidates).size(size);
        if has_choice {
            about = about.shown(&self.shown);
        }
        if is_blake3 {
            return Ok(Line { has_free_length, ..Line::blake3(entry, about)? });
        }
        Ok(Line { entry, extent: Extent::NONE, about, has_free_length })
    }

    /// A line by the grammar of the list.
    fn read(&mut self, line: &[u8]) -> Result<(), String> {
        if self.is_unknown {
            return Ok(());
        }
        let line = match self.armor.line(line)? {
            Part::Line(line) => line,
            Part::Armor => {
                self.may_end = self.armor.is_whole();
                return Ok(());
            }
            Part::Header(text) => return self.text(text),
        };
        let is_blank = line.trim_ascii().is_empty();
        if self.grammar.is_none() && !is_blank {
            self.recognise(line)?;
        }
        if line.contains(&0) {
            return Err("a null character, which no text has".into());
        }
        let Some((grammar, reader)) = &mut self.grammar else {
            self.may_end = true;
            return Ok(());
        };
        self.may_end = true;
        if is_blank {
            reader.blank(&mut self.said);
            return Ok(());
        }
        if grammar.is_comment(line) {
            return self.text(line);
        }
        let read = reader.line(line, &mut self.said);
        self.may_end = !self.said.is_empty() || reader.may_end();
        read.map_err(|cause| match cause.is_empty() {
            true => grammar.refuse(&self.title, line),
            false => cause,
        })
    }

    /// The grammar of a list, by its name or a line that is not blank.
    fn recognise(&mut self, line: &[u8]) -> Result<(), String> {
        /// Comments before the first entry.
        const MOST_HELD: usize = 1000;
        let advice = grammar::advice(&self.title, line);
        let found = Grammar::of(&self.title, line).filter(|_| advice.is_none());
        let Some(grammar) = found else {
            let is_comment = GRAMMARS.iter().any(|it| it.is_comment(line)) && advice.is_none();
            if is_comment && self.held.len() < MOST_HELD {
                return self.text(line);
            }
            self.is_unknown = true;
            let is_text = |it: &u8| !it.is_ascii_control() || it.is_ascii_whitespace();
            let not_known = || match !line.iter().all(is_text) {
                true => "not a list, and not text".into(),
                false => format!("no list that is known begins like this: {}", quoted(line)),
            };
            return Err(advice.unwrap_or_else(not_known));
        };
        let reader = (grammar.begin)(&self.title);
        for (number, text) in std::mem::take(&mut self.held) {
            let is_header = text.first().is_some_and(u8::is_ascii_alphabetic);
            let wrong = match is_header || grammar.is_comment(&text) {
                true => refuse_text(&*reader, &text).map(str::to_owned),
                false => Some(grammar.refuse(&self.title, &text)),
            };
            let fault = wrong.map(|it| without_digest(b"", format!("line {number}: {it}")));
            self.said.extend(fault.map(Err));
        }
        self.grammar = Some((grammar, reader));
        Ok(())
    }

    /// A comment, or a header of the armor.
    fn text(&mut self, text: &[u8]) -> Result<(), String> {
        match &self.grammar {
            Some((_, reader)) => refuse_text(&**reader, text).map_or(Ok(()), |it| Err(it.into())),
            None => {
                self.held.push((self.number, text.into()));
                Ok(())
            }
        }
    }

    /// Appends what was read to `found`.
    fn pass(&mut self, found: &mut VecDeque<check::Said<Expected>>) {
        let mut said = std::mem::take(&mut self.said);
        found.extend(said.drain(..).map(|it| self.known(it?)));
        self.said = said;
    }
}

impl Forms for List {
    type About = Expected;

    fn line(&mut self, line: &[u8], found: &mut VecDeque<check::Said<Expected>>) {
        if let Some(seek) = self.reading.b3sum {
            return found.push_back(b3sum::line(line, seek));
        }
        self.number += 1;
        if let Err(cause) = self.read(line) {
            self.said.push(Err(without_digest(b"", cause)));
        }
        self.pass(found);
    }

    fn end(&mut self, found: &mut VecDeque<check::Said<Expected>>) {
        let mut wrong = Vec::new();
        if let Some((_, reader)) = &mut self.grammar {
            wrong.extend(reader.end(&mut self.said).err());
        }
        if !self.armor.is_whole() {
            wrong.push("the signature of the list has no end".into());
        }
        self.said.extend(wrong.into_iter().map(|it| Err(without_digest(b"", it))));
        self.pass(found);
    }

    fn may_end(&self) -> bool {
        self.may_end
    }

    fn is_whole(&self) -> bool {
        // A file without a grammar was not read, so nothing can be cut.
        self.is_unknown || self.grammar.as_ref().is_some_and(|(_, reader)| reader.may_end())
    }

    fn join(about: &mut Expected, other: Expected) -> Option<Expected> {
        about.join(other)
    }

    fn bytes(about: &Expected) -> usize {
        about.bytes()
    }

    fn other(about: &mut Expected) -> Option<&mut dyn Other> {
        about.other()
    }
}

/// The length of a digest, for messages.
fn bytes(len: usize) -> String {
    format!("digest of {}", count(len as u64, "byte"))
}

/// The algorithms that an untagged digest of this many bytes may be of. A weak one is never a candidate next to another.
fn of_length(len: usize) -> Vec<Algorithm> {
    match len {
        16 => vec![Algorithm::MD5],
        20 => vec![Algorithm::SHA1],
        28 => vec![Algorithm::SHA224],
        32 => vec![Algorithm::BLAKE3, Algorithm::SHA256],
        48 => vec![Algorithm::BLAKE3, Algorithm::SHA384],
        64 => vec![Algorithm::BLAKE3, Algorithm::SHA512, Algorithm::BLAKE2B_512],
        _ => vec![Algorithm::BLAKE3],
    }
}
