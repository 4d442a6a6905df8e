//! Parses a line of a list of BLAKE3 digests, in one of the forms of [`list`](super). `treewide-digests` reads the lists of other programs.
//!
//! A line that names a file without a digest to verify it by is an error of its own
//! ([`Fault::Digest`]), not a line that says nothing: otherwise the file would stay unverified, without
//! a word.

use super::json::document;
use crate::{digest, name};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// The length of a digest unless the caller gives another, and the least that is trusted unasked.
const USUAL_LEN: u64 = treewide::OUT_LEN as u64;

/// A word of this many letters or more at the start of a line is meant as a digest. Words of prose have fewer.
const DIGEST_LIKE: usize = 16;

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
    /// This asks the file system only where the line can be read in two ways.
    ///
    /// # Errors
    /// If the name is not, or could be more than, one path: see [`name::to_path`]. If one of
    /// [`others`](Self::others) exists.
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
            return Err("the line may mean more than one file that is here");
        }
        Ok(path)
    }
}

/// How far a line can be trusted to give a name byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameIs {
    /// A `\r` after it may be a part of it, or of the end of the line.
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
    /// It names a file that such lists have no digest of.
    Skipped {
        /// The bytes of the file's name.
        name: Vec<u8>,
        /// Why there is none.
        cause: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(cause) | Self::Digest { cause, .. } | Self::Skipped { cause, .. } => {
                f.write_str(cause)
            }
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
    let (digits, name) = tagged(rest)?;
    Some(Strict { has_escapes, digits, name, is_tagged: true })
}

/// The digits and the name in `BLAKE3 (NAME) = DIGEST`.
fn tagged(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = line.strip_prefix(b"BLAKE3 (")?;
    let at = memchr::memmem::rfind(inner, b") = ")?;
    Some((&inner[at + 4..], &inner[..at]))
}

/// Parses a line without its end. `None` for an empty line, or a comment, which begins with `#` and a blank.
///
/// `len` is the number of bytes that the digest must have. Without it any length of 32 bytes or more will
/// do; shorter digests are refused, because a list could otherwise vouch for a file with a single byte.
///
/// # Errors
/// If the line is not a checksum line, or has no digest that can be used.
pub fn parse(line: &[u8], len: Option<u64>) -> Result<Option<Entry>, Fault> {
    let entry = match line {
        [b'#'] | [b'#', b' ' | b'\t', ..] => return Ok(None),
        _ if line.trim_ascii().is_empty() => return Ok(None),
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

/// The fault of a line that names a file and has no digest.
fn unverified(name: &[u8], cause: impl Into<String>) -> Fault {
    Fault::Digest { name: name.into(), digest: None, cause: cause.into() }
}

/// `DIGEST  NAME`, `DIGEST *NAME` or `BLAKE3 (NAME) = DIGEST`.
fn text(line: &[u8], has_escapes: bool) -> Result<Entry, Fault> {
    let tag = tagged(line);
    let is_tagged = tag.is_some();
    let (digits, name) = tag.unwrap_or_else(|| {
        let (digits, rest) =
            line.split_at(line.iter().position(|it| *it == b' ').unwrap_or(line.len()));
        (digits, if let [b' ', b' ' | b'*', name @ ..] = rest { name } else { b"" })
    });
    let digest = digest::unhex(digits);
    // Two words of prose are not a checksum line; half a digest, or one with a wrong letter, is.
    if !is_tagged && digits.len() < DIGEST_LIKE && (digest.is_none() || name.is_empty()) {
        return Err("not a checksum line".into());
    }
    let plain = if has_escapes { name::unescape(name) } else { Some(name.into()) };
    let plain = plain.ok_or_else(|| unverified(name, "file name with an invalid escape"))?;
    let cause = match digest {
        _ if name.is_empty() => "no file name behind a digest and two blanks",
        None => "the digest is not an even number of hexadecimal digits",
        Some(digest) => {
            // Lines with escapes are only ever written by programs, which leave no stray blanks.
            let name_is = if is_tagged || has_escapes { NameIs::Delimited } else { NameIs::Loose };
            return Ok(Entry { name: plain, name_is, others: vec![], digest });
        }
    };
    Err(unverified(&plain, cause))
}

/// An object of [`json`](super::json). Only some of its keys matter here.
fn json(line: &[u8]) -> Result<Entry, Fault> {
    let object = document(line).map_err(|error| format!("not a checksum line: {error}"))?;
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
            let error = name::shown_text(error.as_str().unwrap_or_default());
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
            ("BLAKE3 (a  b) = c) = @", "a  b) = c"),
            (r#"{"path":"a\nb","digest":"@","bytes":0,"detail":null}"#, "a\nb"),
            (r#"{"path":"ab","path_hex":"6162","digest":"@"}"#, "ab"),
        ] {
            assert_eq!(name_in(line), Ok(name.into()), "{line}");
        }
        let upper = format!("{}  a", HEX.to_uppercase());
        assert_eq!(name_in(&upper), Ok("a".into()));
    }

    #[test]
    fn parse_refuses_what_is_not_a_checksum_line() {
        for line in [
            "hello",
            "Add  a",
            r"\item  a",
            "SHA256 (a) = @",
            "blake3(a)= @",
            "a: @",
            "{}",
            r#"{"path":"b","path":"a","digest":"@"}"#,
            r#"{"path":"a","digest":"@""#,
        ] {
            let Fault::Line(found) = name_in(line).unwrap_err() else { panic!("{line}") };
            assert!(found.starts_with("not a checksum line"), "{line}: {found}");
        }
        for line in ["", "   ", "#", "# @  a"] {
            assert_eq!(name_in(line), Err("nothing".into()), "{line}");
        }
    }

    #[test]
    fn parse_tells_a_name_without_a_digest_to_trust() {
        for (line, has, why) in [
            ("ab  a", Some(&[0xab][..]), "only 1 bytes"),
            ("@c  a", None, "not an even number"),
            ("@z  a", None, "not an even number"),
            ("BLAKE3 (a) = ", Some(&[]), "empty digest"),
            ("BLAKE3 (a) = n/a", None, "not an even number"),
            (r#"{"path":"a","digest":""}"#, Some(&[]), "empty digest"),
            (r#"{"path":"a","digest":5}"#, None, "not hex"),
            (r#"{"path":"a","path_hex":"6","digest":"@"}"#, None, "path_hex is not hex"),
            (r#"{"path":"a","path_hex":"62","digest":"@"}"#, None, "different names"),
            (r#"{"path":"a","digest":null,"detail":"gone\u001b"}"#, None, r"made: gone\u{1b}"),
        ] {
            let fault = name_in(line).unwrap_err();
            let Fault::Digest { name, digest, cause } = fault else { panic!("{line}: {fault:?}") };
            assert_eq!((&name[..], digest.as_deref()), (&b"a"[..], has), "{line}");
            assert!(cause.contains(why), "{line}: {cause}");
        }
        for line in ["@", "@ a", "@\ta", "@  ", "@ *", "BLAKE3 () = @", "\\@  "] {
            let fault = name_in(line).unwrap_err();
            let Fault::Digest { cause, .. } = fault else { panic!("{line}: {fault:?}") };
            assert!(cause.contains("file name"), "{line}: {cause}");
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
        assert!(parse(b"abcd  a", Some(3)).is_err());
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
