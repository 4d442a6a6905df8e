//! What a line of a list says: which file, and which digest.
//!
//! A line that names a file without a digest to verify it by is an error of its own
//! ([`Fault::Digest`]), not a line that says nothing: otherwise the file would stay unverified, and nobody
//! would know.

use crate::{digest, name};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// The length of a digest unless the caller gives another, and the least that is trusted unasked.
const USUAL_LEN: u64 = treewide::OUT_LEN as u64;

/// The first word of a line is meant as a digest if it has this many letters. Half of the usual digest has
/// more; words of prose have fewer.
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
    /// The bytes of the digest.
    pub digest: Vec<u8>,
}

impl Entry {
    /// The path of the file.
    ///
    /// Blanks at the end of a [loose](NameIs::Loose) name belong to it if there is such a file; otherwise
    /// the path is the name without them. That is the only question this asks the file system.
    ///
    /// # Errors
    /// If the name is not, or could be more than, one path: see [`name::to_path`].
    pub fn find(&self) -> Result<PathBuf, &'static str> {
        let path = match self.name_is {
            NameIs::Exact => name::to_exact_path(&self.name)?,
            NameIs::Delimited | NameIs::Loose => name::to_path(&self.name)?,
        };
        if self.name_is == NameIs::Loose
            && let Some(shorter) = name::without_trailing_blanks(&self.name)
            && is_missing(&path)
        {
            return name::to_path(shorter);
        }
        Ok(path)
    }
}

/// How far a line can be trusted to give a name byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameIs {
    /// Blanks at its end may be stray ones at the end of the line.
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

/// Parses a line without its end. `None` for a comment or an empty line.
///
/// `len` is the number of bytes that the digest must have. Without it any length of 32 bytes or more will
/// do; shorter digests are refused, because a list could otherwise vouch for a file with a single byte.
///
/// # Errors
/// If the line is not a checksum line, or has no digest that can be used.
pub fn parse(line: &[u8], len: Option<u64>) -> Result<Option<Entry>, Fault> {
    let line = line.trim_ascii_start();
    let entry = match line {
        [] | [b'#', ..] => return Ok(None),
        [b'{', ..] => json(line)?,
        [b'\\', rest @ ..] => text(rest, true)?,
        _ => text(line, false)?,
    };
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

fn text(line: &[u8], has_escapes: bool) -> Result<Entry, Fault> {
    // The tag first: a tagged line may hold two blanks, within the name.
    let tag = tagged(line)?;
    let is_tagged = tag.is_some();
    let (digits, name, name_is) = match tag {
        Some((digits, name)) => (digits, name, NameIs::Delimited),
        None => {
            let (digits, name) = untagged(line).ok_or("not a checksum line")?;
            // Lines with escapes are only ever written by programs, which leave no stray blanks.
            (digits, name, if has_escapes { NameIs::Delimited } else { NameIs::Loose })
        }
    };
    let digest = digest::unhex(digits);
    // Two words of prose are not a checksum line; half a digest, or one with a wrong letter, is.
    if digest.is_none() && !is_tagged && digits.len() < DIGEST_LIKE {
        return Err("not a checksum line: the digest is not hex".into());
    }
    if name.is_empty() {
        return Err("no file name".into());
    }
    let name = if has_escapes {
        name::unescape(name).ok_or("file name with an invalid escape")?
    } else {
        name.to_vec()
    };
    match digest {
        Some(digest) => Ok(Entry { name, name_is, digest }),
        None if digits.iter().all(u8::is_ascii_hexdigit) => {
            let cause = format!("digest of {} hex digits, an odd number", digits.len());
            Err(Fault::Digest { name, digest: None, cause })
        }
        None => Err(Fault::Digest { name, digest: None, cause: "the digest is not hex".into() }),
    }
}

/// The digest and the name, as the line has them.
type Parts<'a> = (&'a [u8], &'a [u8]);

/// `DIGEST  FILE`, or `DIGEST *FILE` as old tools on Windows write it.
fn untagged(line: &[u8]) -> Option<Parts<'_>> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let (digits, rest) = line.split_at(blank);
    let name = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
    Some((digits, name))
}

/// `BLAKE3 (FILE) = DIGEST`; an error if another algorithm is named there.
fn tagged(line: &[u8]) -> Result<Option<Parts<'_>>, Fault> {
    let line = line.trim_ascii_end();
    let Some(open) = find(line, b" (") else { return Ok(None) };
    let Some(close) = rfind(line, b") =") else { return Ok(None) };
    let digits = &line[close + 3..];
    let algorithm = &line[..open];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_');
    let is_tag = !algorithm.is_empty() && algorithm.iter().all(is_word);
    if open + 2 > close || !is_tag || !matches!(digits, [] | [b' ', ..]) {
        return Ok(None);
    }
    if algorithm != b"BLAKE3" {
        let algorithm = quoted(&String::from_utf8_lossy(algorithm));
        return Err(format!("a {algorithm} digest, not a BLAKE3 one").into());
    }
    Ok(Some((digits.trim_ascii_start(), &line[open + 2..close])))
}

fn find(line: &[u8], part: &[u8]) -> Option<usize> {
    line.windows(part.len()).position(|window| window == part)
}

fn rfind(line: &[u8], part: &[u8]) -> Option<usize> {
    line.windows(part.len()).rposition(|window| window == part)
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
    let object: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| format!("not a checksum line: {error}"))?;
    let path = object.get("path").and_then(Value::as_str);
    let path = path.ok_or("not a checksum line: no path")?.as_bytes();
    let unverified = |name: &[u8], cause: &str| {
        Err(Fault::Digest { name: name.into(), digest: None, cause: cause.into() })
    };
    let name = match object.get("path_hex") {
        None | Some(Value::Null) => path.to_vec(),
        Some(hex) => match hex.as_str().and_then(|hex| digest::unhex(hex.as_bytes())) {
            Some(name) => name,
            None => return unverified(path, "path_hex is not hex"),
        },
    };
    match (object.get("digest"), object.get("error")) {
        (None | Some(Value::Null), None | Some(Value::Null)) => unverified(&name, "no digest"),
        (None | Some(Value::Null), Some(error)) => {
            let error = error.as_str().map_or_else(|| quoted(&error.to_string()), quoted);
            let cause = format!("no digest, because of an error when the list was made: {error}");
            unverified(&name, &cause)
        }
        (Some(digits), _) => match digits.as_str().and_then(|it| digest::unhex(it.as_bytes())) {
            Some(digest) => Ok(Entry { name, name_is: NameIs::Exact, digest }),
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
            (r#"{"path":"a\nb","digest":"@","bytes":0,"error":null}"#, "a\nb"),
            (r#"{"path":"?","path_hex":"6162","digest":"@"}"#, "ab"),
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
            ("@", "not a checksum line"),
            ("@ a", "not a checksum line"),
            ("@  ", "no file name"),
            ("Add  a", "not hex"),
            ("abc  a", "not hex"),
            (r"\item  a", "not hex"),
            (r"\@  a\b", "escape"),
            ("SHA256 (a) = @", "a SHA256 digest"),
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
            (r#"{"path":"a","error":5}"#, None, "made: 5"),
            (r#"{"path":"b","path":"a"}"#, None, "no digest"),
            (r#"{"path":"a","path_hex":"6","digest":"@"}"#, None, "path_hex is not hex"),
            (r#"{"path":"a","digest":null,"error":"gone\u001b"}"#, None, r"made: gone\u{1b}"),
        ] {
            let fault = name_in(line).unwrap_err();
            let Fault::Digest { name, digest, cause } = fault else { panic!("{line}: {fault:?}") };
            assert_eq!(name, if line.starts_with('\\') { b"\\" } else { b"a" }, "{line}");
            assert_eq!(digest.as_deref(), has, "{line}");
            assert!(cause.contains(why), "{line}: {cause}");
        }
    }

    #[test]
    fn parse_takes_only_the_length_that_was_asked_for() {
        let long = format!("{HEX}00  a");
        assert!(parse(long.as_bytes(), None).is_ok());
        assert!(parse(long.as_bytes(), Some(33)).is_ok());
        assert!(parse(long.as_bytes(), Some(32)).is_err());
        assert!(parse(b"ab  a", Some(1)).is_ok());
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
