//! Lists of digests by many programs: what each line says, and which algorithms its digest may be of.
//!
//! A line that names a file, or has a digest, and cannot be read is a fault. So damage of a list never makes a file go unchecked
//! without a message. Only lines that cannot be about a file are passed over.
//!
//! | form | decided by |
//! |---|---|
//! | `SHA256 (a) = HEX`, `SHA2-256(a)= HEX`, `sha256:HEX  a`, `SHA256  HEX  a` | its tag |
//! | `HEX  a`, `HEX *a`, `HEX a`, ending in a line end or a null character | the option, the name of the list, the length |
//! | `a: HEX HEX ..`, also in several lines (gpg) | the same, or its tag |
//! | `HEX` alone in `a.sha256`, next to `a` | the same |
//! | ` HEX LENGTH a` below `SHA256:` (`.dsc`, `Release`), `SHA256: HEX` after `Filename: a` (`Packages`) | the heading |
//! | `HEX  data/a` in `manifest-sha256.txt` of a bag | the name of the list |
//! | JSON with `"name"` and `"digest": "sha256:HEX"` | its tag |
//! | `.cargo-checksum.json`; `RECORD` of a wheel; `.sfv`; hashdeep; mtree; `Manifest` of Gentoo | the form |
//! | text signed with PGP around any of them | as without; the signature is not checked |

mod armor;
mod b3sum;
mod comment;
mod debian;
mod document;
mod form;
mod gpg;
mod line;
pub(crate) mod title;

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected, Shown};
use armor::Armor;
use debian::Paragraph;
use form::Form;
use gpg::Groups;
use line::{Parts, Said, without_digest};
use serde_json::Value;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use title::Title;
use treewide_files::check::{Forms, Line};
use treewide_files::digest::{self, Extent};
use treewide_files::list::{self, Entry, Fault, MAX_LINE, NameIs};
use treewide_files::{Other, name};

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

/// The forms of the lines of one list.
#[derive(Debug)]
pub struct List {
    path: PathBuf,
    reading: Reading,
    title: Title,
    /// The form that every line has.
    form: Option<Box<dyn Form>>,
    shown: Arc<Shown>,
    armor: Armor,
    /// Whether it is signed, and how many lines are outside of the signed text.
    is_signed: bool,
    outside: u64,
    /// Whether there was a line that says something.
    has_begun: bool,
    /// The lines of a JSON document, until its end, and whether they are more than can be held.
    document: Option<Vec<u8>>,
    is_too_long: bool,
    paragraph: Paragraph,
    /// The tag and the name that certutil has written before a digest.
    announced: Option<(Vec<u8>, Vec<u8>)>,
    groups: Groups,
    /// The digits in the line before, if it has nothing else: half of a digest with a line end in it.
    half: usize,
    /// Whether the list may end within the last line.
    may_end: bool,
    /// Lines that were read, and files that they name.
    said: Vec<Said>,
    more: VecDeque<Result<Line<Expected>, Fault>>,
    /// Whether an untagged line was read by the list's name.
    used_title: bool,
    /// Whether a line could not be read, and is not known to be about a file.
    has_prose: bool,
}

/// A digest and what is known of it, before the candidates are found.
struct Found<'a> {
    /// The algorithm, and whether its name was written at the digest.
    tag: Option<Algorithm>,
    entry: Entry,
    size: Option<u64>,
    shown_tag: &'a [u8],
}

impl List {
    /// The list at `path`; empty for standard input.
    pub fn new(path: &Path, reading: Reading) -> Self {
        let path = if reading.b3sum.is_some() { Path::new("") } else { path };
        let title = Title::of(path);
        Self {
            path: path.into(),
            reading,
            form: form::of_title(path),
            paragraph: Paragraph::new(title.debian),
            document: title.is_cargo.then(Vec::new),
            is_too_long: false,
            title,
            shown: Arc::default(),
            armor: Armor::Outside,
            is_signed: false,
            outside: 0,
            has_begun: false,
            announced: None,
            groups: Groups::default(),
            half: 0,
            may_end: true,
            said: Vec::new(),
            more: VecDeque::new(),
            used_title: false,
            has_prose: false,
        }
    }

    /// The number of its lines outside of the signed text, if the list is signed. The signature is not checked.
    pub fn signed(&self) -> Option<u64> {
        self.is_signed.then_some(self.outside)
    }

    /// The algorithm of the list's name, if a line was read by that.
    pub fn by_name(&self) -> Option<Algorithm> {
        self.title.algorithm.filter(|_| self.used_title)
    }

    /// A line of a form that names its algorithm, or has a digest alone. `false` if it has another form.
    fn named(&mut self, line: &[u8]) -> bool {
        let digits = line::bare(line);
        match (self.announced.take(), digits) {
            (Some((tag, name)), Some(digits)) => {
                self.said.push(Ok(Parts { tag, digits, name: Some(name), size: None }));
                return true;
            }
            (None, Some(digits)) => {
                self.said.push(Ok(Parts { tag: vec![], digits, name: None, size: None }));
                return true;
            }
            (Some((_, name)), None) => self.said.push(Err(without_digest(&name, "no digest"))),
            (None, None) => {}
        }
        if let Some((tag, name)) = line::announced(line)
            && Algorithm::tagged(tag).is_some()
        {
            self.announced = Some((tag.into(), name.into()));
            return true;
        }
        if line::is_furniture(line) {
            self.may_end = line.ends_with(b".");
            return true;
        }
        let (has_escapes, inner) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if let Some(mut parts) = line::tagged(inner) {
            // The forms of BLAKE3's lines are known elsewhere.
            let is_blake3 = parts.tag.to_ascii_uppercase().starts_with(b"BLAKE3");
            let is_size = line::is_size(&parts.tag);
            let is_digest = parts.digits.len() >= 8 && digest::unhex(&parts.digits).is_some();
            let is_known = is_size || is_digest || Algorithm::tagged(&parts.tag).is_some();
            if is_blake3 || !is_known {
                return false;
            }
            let name = parts.name.take().unwrap_or_default();
            let plain = if has_escapes { name::unescape(&name) } else { Some(name.clone()) };
            match plain {
                // The digest, which is in another line, decides on a file that has this length.
                Some(name) if is_size && has_size(&name, parts.size) => self.may_end = false,
                Some(_) => self.said.push(Ok(Parts { name: plain, ..parts })),
                None => {
                    self.said.push(Err(without_digest(&name, "file name with an invalid escape")))
                }
            }
            return true;
        }
        let parts = line::prefixed(line).or_else(|| line::columns(line));
        let parts = parts.filter(|it| Algorithm::tagged(&it.tag).is_some());
        let is_it = parts.is_some();
        self.said.extend(parts.map(Ok));
        is_it
    }

    /// A line whose parts are known.
    fn known(&mut self, parts: Parts) -> Result<Line<Expected>, Fault> {
        let Parts { tag, digits, name, size } = parts;
        let tagged = Algorithm::tagged(&tag);
        let subject =
            || self.title.subject.as_ref().map(|it| it.as_os_str().as_encoded_bytes().into());
        let name: Vec<u8> = name
            .or_else(subject)
            .ok_or_else(|| without_digest(b"", "a digest without a file name"))?;
        if name.is_empty() {
            return Err(without_digest(b"", "no file name"));
        }
        if line::is_size(&tag) {
            let entry = Entry { name, name_is: NameIs::Delimited, others: vec![], digest: vec![] };
            let about = Expected::new(vec![], By::Tag, vec![]).size(size);
            return match size {
                Some(_) => Ok(Line { entry, extent: Extent::NONE, about, has_free_length: false }),
                None => Err(without_digest(&entry.name, "the length is not a number")),
            };
        }
        if tagged.is_none() && !tag.is_empty() {
            let tag = String::from_utf8_lossy(&tag);
            let cause = match tag.eq_ignore_ascii_case("crc32") {
                true => format!("a {tag} digest, which is read only in .sfv"),
                false => format!("a {tag} digest, which this program does not know"),
            };
            return Err(without_digest(&name, &cause));
        }
        let Some(digest) = digest::unhex(&digits) else {
            let cause = match digits.iter().all(u8::is_ascii_hexdigit) {
                true => format!("digest of {} hex digits, an odd number", digits.len()),
                false => "the digest is not hex".into(),
            };
            return Err(without_digest(&name, &cause));
        };
        let entry = Entry { name, name_is: NameIs::Delimited, others: vec![], digest };
        self.judge(Found { tag: tagged, entry, size, shown_tag: &tag })
    }

    /// The candidates of a digest, before any file is read.
    fn judge(&mut self, found: Found<'_>) -> Result<Line<Expected>, Fault> {
        let Found { tag, mut entry, size, shown_tag } = found;
        let len = entry.digest.len();
        let refused = |entry: &Entry, cause: String| Fault::Digest {
            name: entry.name.clone(),
            digest: Some(entry.digest.clone()),
            cause,
        };
        let by_name = self.title.algorithm;
        let (by, candidates) = match (tag, self.reading.algorithm, by_name) {
            (Some(tag), Some(asked), _) if tag != asked => {
                let tag = match shown_tag {
                    [] => tag.shown().to_owned(),
                    written => String::from_utf8_lossy(written).into_owned(),
                };
                let cause = format!("a {tag} digest, but --algorithm says {}", asked.name());
                return Err(refused(&entry, cause));
            }
            (Some(tag), ..) => (By::Tag, vec![tag]),
            (None, Some(asked), _) => (By::Option, vec![asked]),
            (None, None, Some(named)) => {
                self.used_title = true;
                (By::ListName, vec![named])
            }
            (None, None, None) => (By::Length, of_length(len)),
        };
        if let [only] = candidates[..] {
            let is_right = match only == Algorithm::BLAKE3 {
                true => len >= only.digest_len() || self.reading.digest_len.is_some(),
                false => len == only.digest_len(),
            };
            if !is_right {
                let cause = format!(
                    "digest of {} digits, but {only} has {}; the list may be cut",
                    2 * len,
                    2 * only.digest_len()
                );
                return Err(refused(&entry, cause));
            }
            if only.is_weak() && self.reading.strong {
                return Err(refused(&entry, format!("{only} is not accepted with --strong")));
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
        let has_free_length = is_blake3 && tag.is_none_or(|it| it == Algorithm::BLAKE3);
        let mut about = Expected::new(entry.digest.clone(), by, candidates).size(size);
        if has_choice {
            about = about.shown(&self.shown);
        }
        if is_blake3 {
            return Ok(Line { has_free_length, ..Line::blake3(entry, about)? });
        }
        Ok(Line { entry, extent: Extent::NONE, about, has_free_length })
    }

    /// The files of a document; `None` if it names none.
    fn document(&mut self, text: &[u8]) -> Option<()> {
        let document: Value = serde_json::from_slice(text).ok()?;
        let before = self.said.len();
        match self.title.is_cargo {
            true => document::cargo(
                self.path.parent().unwrap_or(Path::new("")),
                &document,
                &mut self.said,
            ),
            false => document::page(&document, &mut self.said),
        }
        let says = self.said.len() > before;
        if says && document::has_twice(text, &document) {
            let cause = "JSON with a key that is there twice, so that one of the two is lost";
            self.said.push(Err(without_digest(b"", cause)));
        }
        says.then_some(())
    }

    /// Half of a digest in the line before, and the rest with a name in this one.
    fn is_broken(&mut self, line: &[u8]) -> bool {
        let digits = line.iter().take_while(|it| it.is_ascii_hexdigit()).count();
        let is_alone = digits == line.len();
        let half = std::mem::replace(&mut self.half, if is_alone { digits } else { 0 });
        let has_name = matches!(line.get(digits), Some(b' ' | b'\t'));
        half > 0 && has_name && half + digits + 1 >= 2 * Algorithm::MD5.digest_len()
    }

    /// The list has ended.
    fn end(&mut self) {
        if let Some(document) = self.document.take()
            && self.document(&document).is_none()
        {
            self.said.push(Err(match self.is_too_long {
                true => without_digest(b"", "JSON of 16 MiB or more, which is too long to be read"),
                false => Fault::Line("not a list: JSON without names and digests".into()),
            }));
        }
        self.paragraph.end(&mut self.said);
        if let Some(form) = &mut self.form {
            form.end(&mut self.said);
        }
        if let Some((_, name)) = self.announced.take() {
            self.said.push(Err(without_digest(&name, "no digest")));
        }
        self.groups.end(&mut self.said);
        if std::mem::take(&mut self.armor) != Armor::Outside {
            self.said.push(Err(without_digest(b"", "the signature of the list has no end")));
        }
    }

    /// A line `HEX  a` and other forms that BLAKE3 digests also have.
    fn usual(&mut self, line: &[u8]) -> Result<Option<Line<Expected>>, Fault> {
        let digits = line.iter().skip_while(|it| matches!(it, b'\\' | b' ' | b'\t'));
        let digits = digits.take_while(|it| it.is_ascii_hexdigit()).count();
        let is_other = |it: Algorithm| it != Algorithm::BLAKE3;
        // Digests shorter than BLAKE3's are refused, unless another algorithm has such.
        let has_other_length = self.reading.algorithm.is_some_and(is_other)
            || self.title.algorithm.is_some_and(is_other)
            || of_length(digits / 2).first().is_some_and(|it| is_other(*it));
        let is_pairs = digits > 0 && digits.is_multiple_of(2);
        let len = self.reading.digest_len;
        let len = len.or((has_other_length && is_pairs).then_some(digits as u64 / 2));
        let Some(entry) = list::parse(line, len)? else { return Ok(None) };
        if let Some(cause) = marked(line, &entry) {
            return Err(Fault::Digest { name: entry.name, digest: Some(entry.digest), cause });
        }
        // Tagged lines and JSON objects come here only if they are BLAKE3's.
        let is_json = line.trim_ascii_start().starts_with(b"{");
        let is_blake3 = is_json || line::tagged(line.strip_prefix(b"\\").unwrap_or(line)).is_some();
        let tag = (is_blake3 || self.reading.digest_len.is_some()).then_some(Algorithm::BLAKE3);
        self.judge(Found { tag, entry, size: None, shown_tag: &[] }).map(Some)
    }
}

impl Forms for List {
    type About = Expected;

    fn line(&mut self, line: &[u8]) -> Result<Option<Line<Expected>>, Fault> {
        if let Some(seek) = self.reading.b3sum {
            return b3sum::line(line, seek).map(Some);
        }
        let read = self.read(line);
        match read {
            // Whatever it is, a digest in it was not verified.
            Err(Fault::Line(cause)) if line::holds_digest(line) => Err(without_digest(b"", &cause)),
            Err(Fault::Line(_)) => {
                self.has_prose = true;
                match line::before_crc32(line).filter(|it| exists(it)) {
                    Some(name) => Err(without_digest(name, "a CRC-32, which is read only in .sfv")),
                    None => read,
                }
            }
            _ => read,
        }
    }

    fn more(&mut self, is_over: bool) -> Option<Result<Line<Expected>, Fault>> {
        if is_over {
            self.end();
        }
        for said in std::mem::take(&mut self.said) {
            let line = said.and_then(|parts| self.known(parts));
            self.more.push_back(line);
        }
        self.more.pop_front()
    }

    fn may_end(&self) -> bool {
        self.may_end
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

impl List {
    fn read(&mut self, line: &[u8]) -> Result<Option<Line<Expected>>, Fault> {
        if self.reading.blake3_alone || self.reading.digest_len.is_some() {
            let Some(entry) = list::parse(line, self.reading.digest_len)? else { return Ok(None) };
            let about = Expected::new(entry.digest.clone(), By::Option, vec![Algorithm::BLAKE3]);
            return Line::blake3(entry, about).map(Some);
        }
        self.may_end = true;
        // Most lines.
        let may_be_plain = self.armor == Armor::Outside
            && self.title.debian == debian::Kind::Unknown
            && self.title.bag.is_none()
            && self.form.is_none()
            && self.document.is_none()
            && self.announced.is_none()
            && self.groups.is_empty();
        if may_be_plain && let Some(entry) = plain(line) {
            (self.has_begun, self.half) = (true, 0);
            self.outside += 1;
            self.paragraph.end(&mut self.said);
            return self.judge(Found { tag: None, entry, size: None, shown_tag: &[] }).map(Some);
        }
        if let Some(document) = &mut self.document {
            self.is_too_long |= document.len() + line.len() >= MAX_LINE as usize;
            match self.is_too_long {
                true => document.clear(),
                false => document.extend([line, b"\n"].concat()),
            }
            return Ok(None);
        }
        let is_outside = self.armor == Armor::Outside && !line.trim_ascii().is_empty();
        let line = match self.armor.line(line) {
            armor::Said::Line(line) => line,
            armor::Said::Armor => {
                self.is_signed = true;
                return Ok(None);
            }
            armor::Said::Stray => {
                let cause = "a line in the armor of the signature that does not belong there";
                return Err(without_digest(b"", cause));
            }
        };
        self.outside += u64::from(is_outside);
        if self.form.is_none() {
            self.form = form::of_line(&self.path, line);
            if self.form.is_some() && self.has_prose {
                self.said.push(Err(without_digest(b"", "lines before the header of the list")));
            }
        }
        if let Some(form) = &mut self.form
            && !line.trim_ascii().is_empty()
        {
            self.has_begun = true;
            form.line(line, &mut self.said);
            self.may_end = form.may_end();
            return Ok(None);
        }
        let may_be_groups = self.title.debian == debian::Kind::Unknown && !line.starts_with(b"#");
        if may_be_groups && self.groups.line(line, &mut self.said) {
            (self.has_begun, self.half) = (true, 0);
            return Ok(None);
        }
        let (is_broken, is_below) = (self.is_broken(line), self.paragraph.has_heading());
        if self.paragraph.line(line, &mut self.said) {
            self.has_begun = true;
            self.may_end = !self.said.is_empty();
            return Ok(None);
        }
        let trimmed = line.trim_ascii_start();
        match trimmed {
            [] => {
                // It may be the beginning of another line below the heading.
                let is_within = is_below || self.form.as_ref().is_some_and(|it| !it.may_end());
                self.may_end = line.is_empty() || !is_within;
                return Ok(None);
            }
            // It is a comment, as a rule.
            [b'#', ..] => {
                let said = self.usual(line)?;
                if said.is_none() && comment::has_entry(trimmed) {
                    let cause =
                        "a comment with a digest and a name in it; put it in a line of its own";
                    return Err(without_digest(b"", cause));
                }
                return Ok(said);
            }
            _ => {}
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if let [b'{' | b'[', ..] = trimmed {
            if self.document(trimmed).is_some() {
                return Ok(None);
            }
            let is_cut = |error: serde_json::Error| error.is_eof();
            // A line with a digest is not the first of a document, but one that is cut off.
            let mut digits = trimmed.split(|it| !it.is_ascii_hexdigit());
            let has_digest = digits.any(|it| it.len() >= Algorithm::MD5.digest_len());
            if is_first
                && !has_digest
                && serde_json::from_slice::<Value>(trimmed).is_err_and(is_cut)
            {
                self.document = Some([trimmed, b"\n"].concat());
                return Ok(None);
            }
        }
        if is_broken {
            let name = trimmed.splitn(2, |it| it.is_ascii_whitespace()).last().unwrap_or(trimmed);
            return Err(without_digest(name.trim_ascii(), "a line end within the digest"));
        }
        if self.title.bag.is_some()
            && let Some(blank) = trimmed.iter().position(u8::is_ascii_whitespace)
        {
            let (digits, name) = (trimmed[..blank].into(), trimmed[blank..].trim_ascii_start());
            let name = Some(name.strip_prefix(b"*").unwrap_or(name).into());
            return self.known(Parts { tag: vec![], digits, name, size: None }).map(Some);
        }
        if let Some(name) = line::without(line) {
            return Err(without_digest(name, "no digest"));
        }
        if let Some(advice) = line::advice(trimmed) {
            return Err(without_digest(b"", advice));
        }
        if self.named(trimmed) { Ok(None) } else { self.usual(line) }
    }
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

/// The digest, of a length that is not refused, and the name of a line with two blanks between them. No other form begins like this.
fn plain(line: &[u8]) -> Option<Entry> {
    let (digits, rest) = line.split_at(line.iter().position(|it| *it == b' ')?);
    let name = rest.strip_prefix(b"  ").filter(|it| !it.is_empty())?;
    let is_long = digits.len() >= 2 * Algorithm::BLAKE3.digest_len();
    let may_be = is_long || of_length(digits.len() / 2) != [Algorithm::BLAKE3];
    let digest = may_be.then(|| digest::unhex(digits)).flatten()?;
    Some(Entry { name: name.into(), name_is: NameIs::Loose, others: vec![], digest })
}

fn exists(name: &[u8]) -> bool {
    name::to_path(name).is_ok_and(|it| it.symlink_metadata().is_ok())
}

/// Whether a file has this length.
fn has_size(name: &[u8], size: Option<u64>) -> bool {
    let metadata = name::to_path(name).ok().and_then(|it| it.metadata().ok());
    metadata.is_some_and(|it| Some(it.len()) == size)
}

/// Why the digest of a line is not of the bytes of its file, as `shasum` marks it: `U` for text with other line ends, `^` for bits. It could
/// also be a part of the name, so the file must exist only without it.
fn marked(line: &[u8], entry: &Entry) -> Option<String> {
    let blank = line.iter().position(|it| *it == b' ')?;
    let (mark @ (b'U' | b'^'), name) = entry.name.split_first()? else { return None };
    let is_mark = line.get(blank + 1) == Some(mark) && !exists(&entry.name) && exists(name);
    let mark = char::from(*mark);
    is_mark.then(|| format!("marker {mark} is not of the file's bytes"))
}
