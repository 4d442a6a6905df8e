//! Parses a line of a list: a file and its digest. A third of this file is its tests.
//!
//! A line that names a file without a digest to verify it by is an error of its own
//! ([`Fault::Digest`]), not a line that says nothing: otherwise the file would stay unverified, without
//! a word. A line that cannot be understood is a fault too, if it has a name and 16 hexadecimal digits or more.

use super::json::Pairs;
use crate::{digest, name};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// The length of a digest unless the caller gives another, and the least that is trusted unasked.
const USUAL_LEN: u64 = treewide::OUT_LEN as u64;

/// This many hexadecimal digits, or letters of the first word before two blanks, are meant as a digest. Half of
/// the usual digest has more; words of prose have fewer.
const DIGEST_LIKE: usize = 16;

/// The most bytes of a line's own text that go into an error.
const QUOTED: usize = 1024;

/// A file and the digest it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes of the file's name, escapes undone.
    pub name: Vec<u8>,
    /// How exactly `name` is known.
    pub name_is: NameIs,
    /// Names that the line would have if another program had written it. None of them may exist.
    pub others: Vec<Vec<u8>>,
    /// The bytes of the digest.
    pub digest: Vec<u8>,
}

impl Entry {
    /// The path of the file.
    ///
    /// This asks the file system only where the line can be read in two ways, and about names that end in
    /// blanks.
    ///
    /// # Errors
    /// If the name is not, or could be more than, one path: see [`name::to_path`]. If one of
    /// [`others`](Self::others) exists. If there is such a file only without the blanks at the end of the name, or
    /// without blanks or a `*` before it.
    pub fn find(&self) -> Result<PathBuf, &'static str> {
        self.find_in(Path::new(""))
    }

    /// The path of the file whose name is relative to this folder. The path begins with it.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_in(&self, folder: &Path) -> Result<PathBuf, &'static str> {
        let path = folder.join(match self.name_is {
            NameIs::Exact => name::to_exact_path(&self.name)?,
            NameIs::Delimited | NameIs::Loose => name::to_path(&self.name)?,
        });
        let exists = |name: &[u8]| {
            name::to_exact_path(name)
                .is_ok_and(|path| fs::symlink_metadata(folder.join(path)).is_ok())
        };
        if self.others.iter().any(|other| exists(other)) {
            return Err("the line can be read in two ways, and more than one of the files exists");
        }
        if self.name_is == NameIs::Loose
            && let Some(shorter) = name::without_trailing_blanks(&self.name)
            && is_missing(&path)
            && exists(shorter)
        {
            return Err("there is such a file only without the blanks at the end of the name");
        }
        let begins_oddly = matches!(self.name.first(), Some(b' ' | b'\t' | b'*'));
        if self.name_is != NameIs::Exact && begins_oddly && is_missing(&path) {
            let apart = self.name.trim_ascii();
            let bare = apart.strip_prefix(b"*").unwrap_or(apart);
            if [apart, bare].into_iter().any(|it| !it.is_empty() && exists(it)) {
                return Err(
                    "there is such a file only without the blanks or the * before the name",
                );
            }
        }
        Ok(path)
    }
}

/// How far a line can be trusted to give a name byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameIs {
    /// Blanks at its end may be stray ones at the end of the line, so that it names no file.
    Loose,
    /// It ends where it ends, but U+FFFD stands for bytes that the list could not hold.
    Delimited,
    /// It is exactly these bytes.
    Exact,
}

/// Why there is no entry in a line. `Display` writes the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not a checksum line, and this is why.
    Line(String),
    /// It names a file, but has no digest to verify it by.
    Digest {
        /// The bytes of the file's name.
        name: Vec<u8>,
        /// The digest of the line, if there is one, which cannot be used.
        digest: Option<Vec<u8>>,
        /// Why it cannot.
        cause: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(cause) | Self::Digest { cause, .. } => f.write_str(cause),
        }
    }
}

impl std::error::Error for Fault {}

impl<T: Into<String>> From<T> for Fault {
    fn from(cause: T) -> Self {
        Self::Line(cause.into())
    }
}

/// Whether there is nothing at this path.
pub(crate) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// A line exactly as b3sum writes it, taken apart. Neither the digits nor the name were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strict<'a> {
    /// Whether the name has escapes: a backslash announces them.
    pub has_escapes: bool,
    /// The digits of the digest.
    pub digits: &'a [u8],
    /// The name as it is written.
    pub name: &'a [u8],
    /// Whether it is `BLAKE3 (NAME) = DIGEST`, and not `DIGEST  NAME`.
    pub is_tagged: bool,
}

/// Takes a line apart exactly as b3sum does, without its end. `None` if it has another form, which [`parse`] may know.
pub fn strict(line: &[u8]) -> Option<Strict<'_>> {
    const BLANKS: &[u8] = b"  ";
    let (has_escapes, rest) = match line {
        [b'\\', rest @ ..] => (true, rest),
        _ => (false, line),
    };
    // Nearly all lines have a digest of the usual length.
    let usual = 2 * USUAL_LEN as usize;
    let is_usual = rest.get(usual..usual + BLANKS.len()) == Some(BLANKS)
        && !rest[..usual].iter().fold(false, |found, byte| found | (*byte == b' '));
    let at = if is_usual { Some(usual) } else { memchr::memmem::find(rest, BLANKS) };
    // From the left, for names with two blanks in them; then, for those with `) = `, the right.
    if let Some(at) = at {
        let (digits, name) = (&rest[..at], &rest[at + BLANKS.len()..]);
        return Some(Strict { has_escapes, digits, name, is_tagged: false });
    }
    let inner = rest.strip_prefix(b"BLAKE3 (")?;
    let at = memchr::memmem::rfind(inner, b") = ")?;
    Some(Strict { has_escapes, digits: &inner[at + 4..], name: &inner[..at], is_tagged: true })
}

/// Parses a line without its end. `None` for a comment or an empty line. A digest right behind the `#` is a fault.
///
/// `len` is the number of bytes that the digest must have. Without it any length of 32 bytes or more will
/// do; shorter digests are refused, because a list could otherwise vouch for a file with a single byte.
///
/// # Errors
/// If the line is not a checksum line, or has no digest that can be used.
pub fn parse(line: &[u8], len: Option<u64>) -> Result<Option<Entry>, Fault> {
    let line = line.trim_ascii_start();
    let parsed = match line {
        // Damage of one bit makes a # of the digit 3.
        [b'#', rest @ ..] if begins_with_digest(rest) => {
            return Err(unverified(b"", "a # in front of a digest; remove it, or the whole line"));
        }
        [] | [b'#', ..] => return Ok(None),
        [b'{', ..] => json(line),
        [b'\\', rest @ ..] => text(rest, true, len),
        _ => text(line, false, len),
    };
    let entry = parsed.map_err(|fault| match (fault, beside_digits(line)) {
        (Fault::Line(cause), Some(name)) => unverified(name, cause),
        (Fault::Line(_), None) if has_lone_digest(line) => {
            unverified(b"", "a digest without a file name")
        }
        (fault, _) => fault,
    })?;
    let found = entry.digest.len() as u64;
    let cause = match len {
        _ if found == 0 => "empty digest, which proves nothing".into(),
        Some(len) if len != found => format!("digest of {found} bytes instead of {len}"),
        None if found < USUAL_LEN => {
            format!("digest of only {found} bytes; if it is to be trusted, use --length {found}")
        }
        _ => return Ok(Some(entry)),
    };
    Err(Fault::Digest { name: entry.name, digest: Some(entry.digest), cause })
}

/// Whether there are the digits of a digest at the beginning, all but one at least.
fn begins_with_digest(text: &[u8]) -> bool {
    text.iter().take_while(|it| it.is_ascii_hexdigit()).count() + 1 >= 2 * DIGEST_LIKE
}

/// The fault of a line that names a file and has no digest.
fn unverified(name: &[u8], cause: impl Into<String>) -> Fault {
    Fault::Digest { name: name.into(), digest: None, cause: cause.into() }
}

fn text(line: &[u8], has_escapes: bool, len: Option<u64>) -> Result<Entry, Fault> {
    // The tag first: a tagged line may hold two blanks, within the name.
    let tag = tagged(line)?;
    let is_tagged = tag.is_some();
    let Parts { digits, name, others, bits } = match tag {
        Some(parts) => parts,
        None => untagged(line, len)?,
    };
    // Lines with escapes are only ever written by programs, which leave no stray blanks.
    let name_is = if is_tagged || has_escapes { NameIs::Delimited } else { NameIs::Loose };
    let digest = digest::unhex(digits);
    // Two words of prose are not a checksum line; half a digest, or one with a wrong letter, is.
    if digest.is_none() && !is_tagged && digits.len() < DIGEST_LIKE {
        return Err("not a checksum line: the digest is not hex".into());
    }
    if name.is_empty() {
        return Err(if is_tagged {
            unverified(name, "no file name")
        } else {
            "no file name".into()
        });
    }
    let plain = |name: &[u8]| if has_escapes { name::unescape(name) } else { Some(name.to_vec()) };
    let Some(exact) = plain(name) else {
        return Err(unverified(name, "file name with an invalid escape"));
    };
    let others = others.into_iter().filter_map(plain).collect();
    match digest {
        Some(digest) if bits.is_some_and(|bits| bits != 8 * digest.len() as u64) => {
            let cause = format!("digest of {} bytes, which is not what its tag says", digest.len());
            Err(Fault::Digest { name: exact, digest: Some(digest), cause })
        }
        Some(digest) => Ok(Entry { name: exact, name_is, others, digest }),
        None if digits.iter().all(u8::is_ascii_hexdigit) => {
            let cause = format!("digest of {} hex digits, an odd number", digits.len());
            Err(unverified(&exact, cause))
        }
        None => Err(unverified(&exact, "the digest is not hex")),
    }
}

/// A line, taken apart.
struct Parts<'a> {
    digits: &'a [u8],
    name: &'a [u8],
    /// What else the name could be.
    others: Vec<&'a [u8]>,
    /// The bits that the digest has, if the line says so.
    bits: Option<u64>,
}

/// `DIGEST  FILE`; `DIGEST *FILE` as old tools on Windows write it; and what other tools write: `DIGEST FILE`,
/// with a tab, or `DIGEST ?BLAKE3*FILE`.
fn untagged(line: &[u8], len: Option<u64>) -> Result<Parts<'_>, Fault> {
    let blank = line.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    let (digits, rest) = line.split_at(blank.ok_or("not a checksum line")?);
    let parts = |name, others, bits| Ok(Parts { digits, name, others, bits });
    if let Some(name) = rest.strip_prefix(b"  ") {
        return parts(name, vec![], None);
    }
    let name = &rest[1..];
    if rest[0] == b' '
        && let Some(starred) = name.strip_prefix(b"*")
    {
        return parts(starred, vec![name], None);
    }
    let is_digest = digits.iter().all(u8::is_ascii_hexdigit)
        && (digits.len() >= DIGEST_LIKE || len.is_some_and(|len| 2 * len == digits.len() as u64));
    if !is_digest {
        return Err("not a checksum line".into());
    }
    if let Some(marked) = name.strip_prefix(b"?")
        && let Some(star) = marked.iter().position(|byte| *byte == b'*')
        && marked[..star].iter().all(is_word)
    {
        return match algorithm(&marked[..star]) {
            Algorithm::Blake3(bits) => parts(&marked[star + 1..], vec![name], bits),
            Algorithm::Other(cause) => Err(unverified(&marked[star + 1..], cause)),
        };
    }
    parts(name, vec![], None)
}

/// `BLAKE3 (FILE) = DIGEST`, with the tag in any case and with any blanks around the name and the `=`; an error
/// if another algorithm is named there.
fn tagged(line: &[u8]) -> Result<Option<Parts<'_>>, Fault> {
    let line = line.trim_ascii_end();
    let (tag, rest) = line.split_at(line.iter().take_while(|byte| is_word(byte)).count());
    let is_digest = tag.iter().all(u8::is_ascii_hexdigit)
        && (tag.len() >= DIGEST_LIKE || rest.starts_with(b"  ") || rest.starts_with(b" *"));
    let Some(inner) = rest.trim_ascii_start().strip_prefix(b"(") else { return Ok(None) };
    if tag.is_empty() || is_digest {
        return Ok(None);
    }
    let parts = inner.iter().rposition(|byte| *byte == b'=').and_then(|equals| {
        let name = inner[..equals].trim_ascii_end().strip_suffix(b")")?;
        Some((name, inner[equals + 1..].trim_ascii_start()))
    });
    match (algorithm(tag), parts) {
        (Algorithm::Blake3(bits), Some((name, digits))) => {
            Ok(Some(Parts { digits, name, others: vec![], bits }))
        }
        (Algorithm::Blake3(_), None) => Err(unverified(inner, "no digest behind the name")),
        (Algorithm::Other(cause), Some((name, digits))) if has_digest(digits) => {
            Err(unverified(name, cause))
        }
        (Algorithm::Other(cause), Some(_)) => Err(cause.into()),
        (Algorithm::Other(_), None) => Ok(None),
    }
}

/// Whether a byte may belong to the name of an algorithm.
fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_')
}

/// What the name of an algorithm says.
enum Algorithm {
    /// With the number of bits, if it is a part of the name, as in `BLAKE3-256`.
    Blake3(Option<u64>),
    /// Not BLAKE3, or a form of it that is not known; the text says so.
    Other(String),
}

fn algorithm(tag: &[u8]) -> Algorithm {
    const NAME: &[u8] = b"BLAKE3";
    if let Some((name, rest)) = tag.split_at_checked(NAME.len())
        && name.eq_ignore_ascii_case(NAME)
    {
        match rest {
            [] => return Algorithm::Blake3(None),
            [b'-' | b'/' | b'_', bits @ ..] => {
                if let Some(bits) = str::from_utf8(bits).ok().and_then(|it| it.parse().ok()) {
                    return Algorithm::Blake3(Some(bits));
                }
            }
            _ => {}
        }
    }
    let tag = quoted(&String::from_utf8_lossy(tag));
    Algorithm::Other(format!("a {tag} digest, not a BLAKE3 one"))
}

/// What is next to a digest, if a line that cannot be understood has both: it may be the name of a file.
///
/// Long lines of letters without a blank (PGP armour) may also hold hexadecimal digits; there they have to stand
/// alone, or begin the line and be as many as the usual digest has.
fn beside_digits(line: &[u8]) -> Option<&[u8]> {
    let has_blanks = line.iter().any(|byte| byte.is_ascii_whitespace());
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric();
    let is_of_a_name = |byte: &u8| is_letter(byte) || *byte >= 0x80 || matches!(byte, b'.' | b'_');
    let mut at = 0;
    while at < line.len() {
        let word = line[at..].iter().take_while(|byte| is_letter(byte)).count();
        let (before, after) = (&line[..at], &line[at + word..]);
        let all = line[at..at + word].iter().all(u8::is_ascii_hexdigit);
        if has_digest(&line[at..at + word]) && (has_blanks || all) {
            let sides = [after, before].map(|side| {
                let start = side.iter().position(is_of_a_name)?;
                let end = side.iter().rposition(is_of_a_name)?;
                Some(&side[start..=end])
            });
            if let Some(name) = sides.into_iter().flatten().next() {
                return Some(name);
            }
        }
        at += word.max(1);
    }
    behind_digest(line)
}

/// What follows a digest in a form that is not read here: without a blank after it, with colons between its bytes, or in
/// base64 after `blake3-` or `blake3:`.
fn behind_digest(line: &[u8]) -> Option<&[u8]> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = line[digits..].trim_ascii();
    if digits as u64 >= 2 * USUAL_LEN && !rest.is_empty() {
        return Some(rest);
    }
    let word = line.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let (word, name) = (&line[..word], line[word..].trim_ascii());
    let tag = word.get(..7).unwrap_or_default().to_ascii_lowercase();
    let is_base64 = matches!(&tag[..], b"blake3-" | b"blake3:") && word.len() >= 7 + 40;
    let pairs = || word.split(|byte| *byte == b':');
    let is_pair = |pair: &[u8]| pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
    let has_colons = pairs().count() >= DIGEST_LIKE / 2 && pairs().all(is_pair);
    (!name.is_empty() && (is_base64 || has_colons)).then_some(name)
}

/// Whether a word of the line is a digest, and not a number of another kind.
fn has_lone_digest(line: &[u8]) -> bool {
    let mut words = line.split(|byte| !byte.is_ascii_alphanumeric());
    words.any(|word| word.len() >= 2 * DIGEST_LIKE && word.iter().all(u8::is_ascii_hexdigit))
}

/// Whether there are enough hexadecimal digits in a row to be meant as a digest.
fn has_digest(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_hexdigit()).any(|digits| digits.len() >= DIGEST_LIKE)
}

/// A text from a line, cut where it is longer than anybody reads.
fn quoted(text: &str) -> String {
    let text = name::shown_text(text);
    match text.char_indices().find(|(at, _)| *at >= QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// An object of [`json`](super::json). Only some of its keys matter here.
fn json(line: &[u8]) -> Result<Entry, Fault> {
    let Pairs(object) =
        serde_json::from_slice(line).map_err(|error| format!("not a checksum line: {error}"))?;
    let path = object.get("path").and_then(Value::as_str);
    let path = path.ok_or("not a checksum line: no path")?.as_bytes();
    let unverified = |name: &[u8], cause: &str| Err(unverified(name, cause));
    let name = match object.get("path_hex") {
        None | Some(Value::Null) => path.to_vec(),
        Some(hex) => match hex.as_str().and_then(|hex| digest::unhex(hex.as_bytes())) {
            Some(name) if String::from_utf8_lossy(&name).as_bytes() == path => name,
            Some(_) => return unverified(path, "path and path_hex are different names"),
            None => return unverified(path, "path_hex is not hex"),
        },
    };
    match (object.get("digest"), object.get("detail")) {
        (None | Some(Value::Null), None | Some(Value::Null)) => unverified(&name, "no digest"),
        (None | Some(Value::Null), Some(error)) => {
            let error = error.as_str().map_or_else(|| quoted(&error.to_string()), quoted);
            let cause = format!("no digest, because of an error when the list was made: {error}");
            unverified(&name, &cause)
        }
        (Some(digits), _) => match digits.as_str().and_then(|it| digest::unhex(it.as_bytes())) {
            Some(digest) => Ok(Entry { name, name_is: NameIs::Exact, others: vec![], digest }),
            None => unverified(&name, "the digest is not hex"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    /// The name in a line, or why there is none; `@` stands for a digest.
    fn name_in(line: &str) -> Result<String, Fault> {
        let entry = parse(line.replace('@', HEX).as_bytes(), None)?.ok_or("nothing")?;
        assert_eq!(digest::hex(&entry.digest), HEX);
        Ok(String::from_utf8(entry.name).unwrap())
    }

    #[test]
    fn parse_takes_every_kind_of_line() {
        for (line, name) in [
            ("@  a", "a"),
            ("@ *a", "a"),
            (" \t@  a", "a"),
            ("@    a ", "  a "),
            (r"\@  a\nb\\", "a\nb\\"),
            (r"@  a\nb", r"a\nb"),
            ("BLAKE3 (a) = @", "a"),
            ("BLAKE3 (a) = @ \t", "a"),
            ("BLAKE3 (a  b) = c) = @", "a  b) = c"),
            (r"\BLAKE3 (a\rb) = @", "a\rb"),
            (r#"{"path":"a\nb","digest":"@","bytes":0,"detail":null}"#, "a\nb"),
            (r#"{"path":"ab","path_hex":"6162","digest":"@"}"#, "ab"),
            ("@ a", "a"),
            ("@\ta b", "a b"),
            ("@ ?BLAKE3*a", "a"),
            ("@ ?blake3-256*a", "a"),
            ("@  ?BLAKE3*a", "?BLAKE3*a"),
            ("@ (a)=1", "(a)=1"),
            ("@  (a) = 1", "(a) = 1"),
            ("BLAKE3(a)= @", "a"),
            ("BLAKE3 (a)=@", "a"),
            ("blake3\t( a )  =  @", " a "),
            ("Blake3-256 (a) = @", "a"),
            ("@  BLAKE3 (a) = b", "BLAKE3 (a) = b"),
        ] {
            assert_eq!(name_in(line), Ok(name.into()), "{line}");
        }
        let upper = format!("{}  a", HEX.to_uppercase());
        assert_eq!(name_in(&upper), Ok("a".into()));
    }

    #[test]
    fn parse_refuses_what_is_not_a_checksum_line() {
        for (line, cause) in [
            ("hello", "not a checksum line"),
            ("0123456789012345678", "not a checksum line"),
            ("Add  a", "not hex"),
            ("abc  a", "not hex"),
            (r"\item  a", "not hex"),
            ("SIZE (a) = 123456", "a SIZE digest"),
            ("BLAKE3 is a hash function", "not a checksum line"),
            ("blake3-rs is a crate", "not a checksum line"),
            ("00:1b:44:11:3a:b7 is a network card", "not a checksum line"),
            ("-----BEGIN PGP SIGNATURE-----", "not a checksum line"),
            ("iQIzBAEB0123456789abcdef0123zCAAdFiEEn4cK+9x/A1", "not a checksum line"),
            ("=njUY", "not a checksum line"),
            ("{}", "not a checksum line"),
            ("", "nothing"),
            ("   ", "nothing"),
            ("# @  a", "nothing"),
        ] {
            let Fault::Line(found) = name_in(line).unwrap_err() else { panic!("{line}") };
            assert!(found.contains(cause), "{line}: {found}");
        }
    }

    #[test]
    fn parse_tells_a_name_without_a_digest_to_trust() {
        for (line, has, why) in [
            ("ab  a", Some(&[0xab][..]), "only 1 bytes"),
            ("@c  a", None, "65 hex digits"),
            ("@z  a", None, "not hex"),
            (r"\@z  \\", None, "not hex"),
            ("BLAKE3 (a) = ", Some(&[]), "empty digest"),
            ("BLAKE3 (a) =", Some(&[]), "empty digest"),
            (r"\ab  \\", Some(&[0xab]), "only 1 bytes"),
            ("BLAKE3 (a) = ab", Some(&[0xab]), "only 1 bytes"),
            ("BLAKE3 (a) = @a", None, "65 hex digits"),
            ("BLAKE3 (a) = n/a", None, "not hex"),
            (r#"{"path":"a","digest":""}"#, Some(&[]), "empty digest"),
            (r#"{"path":"a","digest":"xy"}"#, None, "not hex"),
            (r#"{"path":"a","digest":null}"#, None, "no digest"),
            (r#"{"path":"a","digest":5}"#, None, "not hex"),
            (r#"{"path":"a","detail":5}"#, None, "made: 5"),
            ("@z a", None, "not a checksum line"),
            ("a @", None, "not a checksum line"),
            ("a:@", None, "not a checksum line"),
            (
                "0123456789abcdef a",
                Some(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]),
                "only 8",
            ),
            ("blake3-o3Zv7cVq1Dq0Tt9mT1m8dWnq4m1xkqQpQm2i0eX2nJw= a", None, "not a checksum line"),
            ("a3:76:6f:ed:c5:6a:d4:3a  a", None, "not hex"),
            ("a3:76:6f:ed:c5:6a:d4:3a a", None, "not a checksum line"),
            ("SHA256 (a) = @", None, "a SHA256 digest"),
            ("BLAKE3X (a) = @", None, "a BLAKE3X digest"),
            ("BLAKE3-128 (a) = @", Some(&digest::unhex(HEX.as_bytes()).unwrap()), "its tag"),
            ("@ ?SHA256*a", None, "a SHA256 digest"),
            ("BLAKE3 (a", None, "no digest"),
            (r#"{"path":"a","path_hex":"6","digest":"@"}"#, None, "path_hex is not hex"),
            (r#"{"path":"a","path_hex":"62","digest":"@"}"#, None, "different names"),
            (r#"{"path":"a","digest":null,"detail":"gone\u001b"}"#, None, r"made: gone\u{1b}"),
        ] {
            let fault = name_in(line).unwrap_err();
            let Fault::Digest { name, digest, cause } = fault else { panic!("{line}: {fault:?}") };
            assert_eq!(name, if line.starts_with('\\') { b"\\" } else { b"a" }, "{line}");
            assert_eq!(digest.as_deref(), has, "{line}");
            assert!(cause.contains(why), "{line}: {cause}");
        }
        let fault = name_in("@readme.txt").unwrap_err();
        assert!(matches!(fault, Fault::Digest { name, .. } if name == b"readme.txt"));
    }

    #[test]
    fn parse_counts_a_digest_without_a_name_as_a_digest() {
        for line in ["@", "(@)", "@  ", "@ ", "@ *", "BLAKE3 () = @", "\\@  "] {
            let fault = name_in(line).unwrap_err();
            let Fault::Digest { cause, .. } = fault else { panic!("{line}: {fault:?}") };
            assert!(cause.contains("file name"), "{line}: {cause}");
        }
    }

    #[test]
    fn parse_counts_lines_with_a_digest_and_something_else_as_names() {
        for line in [
            r"\@  a\b",
            "BLAKE3 () = @",
            r#"{"path":"b","path":"a","digest":"@"}"#,
            r#"{"path":3,"digest":"@"}"#,
            r#"{"file":"a","blake3":"@"}"#,
            r#"{"path":"a","digest":"@""#,
            "BLAKE3: @ a",
            "0x@ a",
            "\u{FEFF}@ a",
            "@\u{a0}\u{a0}a",
            "@, a",
            "@,a",
        ] {
            let fault = name_in(line).unwrap_err();
            assert!(matches!(fault, Fault::Digest { .. }), "{line}: {fault:?}");
        }
    }

    #[test]
    fn strict_takes_lines_of_b3sum_alone() {
        let named = |line: &str| {
            let found = strict(line.replace('@', HEX).as_bytes())?.name.to_vec();
            String::from_utf8(found).ok()
        };
        for (line, name) in [
            ("@  a", Some("a")),
            ("@    a  b", Some("  a  b")),
            (r"\@  a\n", Some(r"a\n")),
            ("BLAKE3 (a) = b) = @", Some("a) = b")),
            ("x  a", Some("a")),
            ("  @  a", Some("")),
            ("@ a", None),
            ("@", None),
            ("blake3 (a) = @", None),
            ("", None),
        ] {
            let name =
                name.map(|it| if line.starts_with(' ') { format!("{HEX}  a") } else { it.into() });
            assert_eq!(named(line), name, "{line}");
        }
    }

    #[test]
    fn parse_takes_only_the_length_that_was_asked_for() {
        let long = format!("{HEX}00  a");
        assert!(parse(long.as_bytes(), None).is_ok());
        assert!(parse(long.as_bytes(), Some(33)).is_ok());
        assert!(parse(long.as_bytes(), Some(32)).is_err());
        assert!(parse(b"ab  a", Some(1)).is_ok());
        assert!(parse(b"abcd a", Some(2)).is_ok());
        assert!(parse(b"abcd a", Some(3)).is_err());
        assert!(parse(b"  a", Some(0)).is_err());
    }

    #[test]
    fn parse_finds_only_plain_names_loose() {
        let name_is = |line: String| parse(line.as_bytes(), None).unwrap().unwrap().name_is;
        assert_eq!(name_is(format!("{HEX}  a ")), NameIs::Loose);
        assert_eq!(name_is(format!("BLAKE3 (a ) = {HEX}")), NameIs::Delimited);
        assert_eq!(name_is(format!("\\{HEX}  a ")), NameIs::Delimited);
        let json = format!("{{\"path\":\"a\",\"digest\":\"{HEX}\"}}");
        assert_eq!(name_is(json), NameIs::Exact);
    }
}
