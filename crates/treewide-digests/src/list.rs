//! Lists of digests by many programs: what each line says, and which algorithms its digest may be of.
//!
//! | form | decided by |
//! |---|---|
//! | `SHA256 (a) = HEX`, `SHA2-256(a)= HEX`, `sha256:HEX  a`, `SHA256  HEX  a` | its tag |
//! | `HEX  a`, `HEX *a`, `HEX a`, ending in a line end or a null character | the option, the name of the list, the length |
//! | `HEX` alone in `a.sha256`, next to `a` | the same |
//! | ` HEX LENGTH a` below `SHA256:` (`.dsc`, `Release`), `SHA256: HEX` after `Filename: a` (`Packages`) | the heading |
//! | `HEX  data/a` in `manifest-sha256.txt` of a bag | the name of the list |
//! | JSON with `"name"` and `"digest": "sha256:HEX"` | its tag |
//! | text signed with PGP around any of them | as without; the signature is not checked |

mod document;
mod line;
pub(crate) mod title;

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected, Shown};
use line::Parts;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;
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
}

/// The forms of the lines of one list.
#[derive(Debug)]
pub struct List {
    reading: Reading,
    title: Title,
    shown: Arc<Shown>,
    armor: Armor,
    /// Whether there was a line that says something.
    has_begun: bool,
    /// Whether it is signed.
    is_signed: bool,
    /// The lines of a JSON document, until its end.
    document: Option<Vec<u8>>,
    /// What a heading says of the lines below it.
    heading: Option<Algorithm>,
    /// `Filename:` and `Size:` of the paragraph at hand.
    paragraph: (Option<Vec<u8>>, Option<u64>),
    /// The tag and the name that certutil has written before a digest.
    announced: Option<(Vec<u8>, Vec<u8>)>,
    more: VecDeque<Result<Line<Expected>, Fault>>,
    /// Whether an untagged line was read by the list's name.
    used_title: bool,
}

/// What part of signed text the next line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armor {
    Outside,
    Headers,
    Text,
    Signature,
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
        Self {
            reading,
            title: Title::of(path),
            shown: Arc::default(),
            armor: Armor::Outside,
            has_begun: false,
            is_signed: false,
            document: None,
            heading: None,
            paragraph: (None, None),
            announced: None,
            more: VecDeque::new(),
            used_title: false,
        }
    }

    /// Whether the list is signed. The signature is not checked.
    pub fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// The algorithm of the list's name, if a line was read by that.
    pub fn by_name(&self) -> Option<Algorithm> {
        self.title.algorithm.filter(|_| self.used_title)
    }

    /// The line within signed text; `None` if it belongs to the armor.
    fn within_armor<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        match (self.armor, line.trim_ascii_end()) {
            (Armor::Outside, b"-----BEGIN PGP SIGNED MESSAGE-----") => {
                (self.armor, self.is_signed) = (Armor::Headers, true);
                None
            }
            (Armor::Text, b"-----BEGIN PGP SIGNATURE-----") => {
                self.armor = Armor::Signature;
                None
            }
            (Armor::Headers, b"") => {
                self.armor = Armor::Text;
                None
            }
            (Armor::Signature, b"-----END PGP SIGNATURE-----") => {
                self.armor = Armor::Outside;
                None
            }
            (Armor::Headers | Armor::Signature, _) => None,
            (Armor::Text, _) => Some(line.strip_prefix(b"- ").unwrap_or(line)),
            (Armor::Outside, _) => Some(line),
        }
    }

    /// Lines of Debian's files: headings, what is below them, and fields. `None` if it is something else.
    fn debian(&mut self, line: &[u8]) -> Option<Result<Option<Line<Expected>>, Fault>> {
        if line.trim_ascii().is_empty() {
            (self.heading, self.paragraph) = (None, (None, None));
            return None;
        }
        if let (Some(b' ' | b'\t'), Some(algorithm)) = (line.first(), self.heading) {
            return line::sized(line).map(|parts| self.known(parts, Some(algorithm)).map(Some));
        }
        if line.first() == Some(&b' ') && self.title.has_fields {
            return Some(Ok(None)).filter(|_| line::sized(line).is_none());
        }
        self.heading = None;
        let (key, value) = line::field(line)?;
        let plain = key.strip_prefix(b"Checksums-").unwrap_or(key);
        let plain = plain.strip_suffix(b"Sum").or(plain.strip_suffix(b"sum")).unwrap_or(plain);
        let algorithm = match plain {
            b"Files" => Some(Algorithm::MD5),
            _ => Algorithm::tagged(plain),
        };
        match (algorithm, value) {
            (Some(algorithm), []) => {
                self.heading = Some(algorithm);
                Some(Ok(None))
            }
            (Some(algorithm), value) => {
                let digits = line::bare(value)?;
                let (name, size) = self.paragraph.clone();
                let name = name.as_deref();
                Some(self.known(Parts { tag: key, digits, name, size }, Some(algorithm)).map(Some))
            }
            (None, value) => {
                match key {
                    b"Filename" => self.paragraph.0 = Some(value.to_vec()),
                    b"Size" => self.paragraph.1 = str::from_utf8(value).ok()?.parse().ok(),
                    _ if self.title.has_fields => {}
                    _ => return None,
                }
                Some(Ok(None))
            }
        }
    }

    /// A line of a form that names its algorithm, or has a digest alone. `None` if it has another form.
    fn named(&mut self, line: &[u8]) -> Option<Result<Option<Line<Expected>>, Fault>> {
        if let Some((tag, name)) = line::announced(line)
            && Algorithm::tagged(tag).is_some()
        {
            self.announced = Some((tag.to_vec(), name.to_vec()));
            return Some(Ok(None));
        }
        if let Some(digits) = line::bare(line) {
            let announced = self.announced.take();
            let (tag, name) = match &announced {
                Some((tag, name)) => (&tag[..], Some(&name[..])),
                None => (&[][..], None),
            };
            let parts = Parts { tag, digits, name, size: None };
            return Some(self.known(parts, Algorithm::tagged(tag)).map(Some));
        }
        if line::is_furniture(line) {
            return Some(Ok(None));
        }
        let (has_escapes, inner) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if let Some(mut parts) = line::tagged(inner) {
            let algorithm = Algorithm::tagged(parts.tag);
            // What BLAKE3 lines may look like is known elsewhere.
            if algorithm == Some(Algorithm::BLAKE3)
                || parts.tag.to_ascii_uppercase().starts_with(b"BLAKE3")
            {
                return None;
            }
            if algorithm.is_none()
                && (parts.digits.len() < 16 || digest::unhex(&parts.digits).is_none())
            {
                return None;
            }
            let unescaped;
            if has_escapes && let Some(name) = parts.name {
                match name::unescape(name) {
                    Some(name) => {
                        unescaped = name;
                        parts.name = Some(&unescaped);
                    }
                    None => {
                        let cause = "file name with an invalid escape".into();
                        return Some(Err(Fault::Digest { name: name.into(), digest: None, cause }));
                    }
                }
            }
            return Some(self.known(parts, algorithm).map(Some));
        }
        let parts = line::prefixed(line).or_else(|| line::columns(line))?;
        let algorithm = Algorithm::tagged(parts.tag)?;
        Some(self.known(parts, Some(algorithm)).map(Some))
    }

    /// A line whose parts are known. `tagged` is the algorithm that it names.
    fn known(
        &mut self,
        parts: Parts<'_>,
        tagged: Option<Algorithm>,
    ) -> Result<Line<Expected>, Fault> {
        let Parts { tag, digits, name, size } = parts;
        let name = match name {
            Some(name) => name.to_vec(),
            None => {
                let subject = self.title.subject.as_ref();
                let subject = subject.map(|it| it.as_os_str().as_encoded_bytes().to_vec());
                subject.ok_or_else(|| without_digest(b"", "a digest without a file name"))?
            }
        };
        if name.is_empty() {
            return Err(without_digest(b"", "no file name"));
        }
        if tagged.is_none() && !tag.is_empty() {
            let tag = name::shown_text(&String::from_utf8_lossy(tag));
            let cause = format!("a {tag} digest, which this program does not know");
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
        self.judge(Found { tag: tagged, entry, size, shown_tag: tag })
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

    /// The files of a document; `None` if it is not one.
    fn document(&mut self, text: &[u8]) -> Option<()> {
        let document: Value = serde_json::from_slice(text).ok()?;
        let assets = document::assets(&document);
        for asset in &assets {
            let (tag, digits) = asset.digest.split_once(':')?;
            let parts = Parts {
                tag: tag.as_bytes(),
                digits: digits.into(),
                name: Some(asset.name.as_bytes()),
                size: asset.size,
            };
            let line = self.known(parts, Algorithm::tagged(tag.as_bytes()));
            self.more.push_back(line);
        }
        (!assets.is_empty()).then_some(())
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
        if begins_plainly(line) {
            return self.judge(Found { tag: None, entry, size: None, shown_tag: &[] }).map(Some);
        }
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
        if self.reading.blake3_alone || self.reading.digest_len.is_some() {
            let Some(entry) = list::parse(line, self.reading.digest_len)? else { return Ok(None) };
            let about = Expected::new(entry.digest.clone(), By::Option, vec![Algorithm::BLAKE3]);
            return Line::blake3(entry, about).map(Some);
        }
        // Most lines: none of the other forms begins like this.
        let is_plain = self.armor == Armor::Outside
            && self.title.bag.is_none()
            && self.document.is_none()
            && begins_plainly(line);
        if is_plain {
            (self.has_begun, self.heading) = (true, None);
            return self.usual(line);
        }
        if let Some(document) = &mut self.document {
            if document.len() + line.len() < MAX_LINE as usize {
                document.extend(line);
                document.push(b'\n');
            }
            return Ok(None);
        }
        let Some(line) = self.within_armor(line) else { return Ok(None) };
        if let Some(line) = self.debian(line) {
            self.has_begun = true;
            return line;
        }
        let trimmed = line.trim_ascii_start();
        match trimmed {
            [] => return Ok(None),
            // It is a comment, as a rule.
            [b'#', ..] => return self.usual(line),
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
        if self.title.bag.is_some()
            && let Some(blank) = trimmed.iter().position(u8::is_ascii_whitespace)
        {
            let (digits, name) = (trimmed[..blank].to_vec(), trimmed[blank..].trim_ascii_start());
            let name = Some(name.strip_prefix(b"*").unwrap_or(name));
            return self.known(Parts { tag: &[], digits, name, size: None }, None).map(Some);
        }
        match self.named(trimmed) {
            Some(line) => line,
            None => self.usual(line),
        }
    }

    fn more(&mut self, is_over: bool) -> Option<Result<Line<Expected>, Fault>> {
        if is_over
            && let Some(document) = self.document.take()
            && self.document(&document).is_none()
        {
            return Some(Err(Fault::Line("not a list: JSON without names and digests".into())));
        }
        self.more.pop_front()
    }

    fn bytes(about: &Expected) -> usize {
        about.bytes()
    }

    fn other(about: &mut Expected) -> Option<&mut dyn Other> {
        about.other()
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

/// Whether a line begins with a digest and two blanks.
fn begins_plainly(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|it| it.is_ascii_hexdigit()).count();
    digits >= 2 * Algorithm::MD5.digest_len() && line[digits..].starts_with(b"  ")
}

/// Why the digest of a line is not of the bytes of its file, as `shasum` marks it: `U` for text with other line ends, `^` for bits. It could
/// also be a part of the name, so the file must exist only without it.
fn marked(line: &[u8], entry: &Entry) -> Option<String> {
    let blank = line.iter().position(|it| *it == b' ')?;
    let (mark @ (b'U' | b'^'), name) = entry.name.split_first()? else { return None };
    let exists = |name: &[u8]| name::to_path(name).is_ok_and(|it| it.symlink_metadata().is_ok());
    let is_mark = line.get(blank + 1) == Some(mark) && !exists(&entry.name) && exists(name);
    let mark = char::from(*mark);
    is_mark.then(|| format!("marker {mark} is not of the file's bytes"))
}

/// The fault of a line without a digest to verify a file by.
fn without_digest(name: &[u8], cause: &str) -> Fault {
    Fault::Digest { name: name.into(), digest: None, cause: cause.into() }
}
