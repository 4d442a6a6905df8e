//! The forms of one line that names its algorithm, or has a digest alone. Each is a function from bytes to parts.
//!
//! | function | line |
//! |---|---|
//! | [`tagged`] | `SHA256 (a) = HEX`, `SHA2-256(a)= HE:X.` |
//! | [`prefixed`] | `sha256:HEX  a`, `sha256:HEX` |
//! | [`columns`] | `SHA256   HEX   a` (PowerShell) |
//! | [`announced`] | `SHA256 hash of a:` (certutil), followed by [`bare`] |
//! | [`bare`] | `HEX`, also with blanks between its bytes |
//! | [`sized`] | `HEX LENGTH a`, below a heading (Debian) |
//! | [`field`] | `Key: value` |

use crate::algorithm::Algorithm;
use treewide_files::list::Fault;

/// The parts of a line. The digits may not be hexadecimal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The algorithm's name. Empty if the line has none.
    pub(crate) tag: Vec<u8>,
    pub(crate) digits: Vec<u8>,
    /// `None` if the line has a digest alone.
    pub(crate) name: Option<Vec<u8>>,
    /// The length of the file.
    pub(crate) size: Option<u64>,
}

/// What a line says of a file. A form passes over a line only if that cannot name a file.
pub(crate) type Said = Result<Parts, Fault>;

/// The fault of a line without a digest to verify a file by.
pub(crate) fn without_digest(name: &[u8], cause: &str) -> Fault {
    Fault::Digest { name: name.into(), digest: None, cause: cause.into() }
}

/// The least digits that are meant as a digest.
const DIGEST_LIKE: usize = 16;

/// The digits of the shortest digest, without which a digest alone could be a number.
const SHORTEST: usize = 32;

/// The digits of a CRC-32, which may also be a number or a word.
const CRC32: usize = 8;

/// The same of MD5 in base64, all except one.
const SHORTEST_BASE64: usize = 21;

/// Whether a text begins with the digits of a digest, all except one at least.
pub(crate) fn is_digest(text: &[u8]) -> bool {
    text.iter().take_while(|it| it.is_ascii_hexdigit()).count() + 1 >= SHORTEST
}

/// Whether there are digits in a row that are meant as a digest.
pub(crate) fn has_digits(text: &[u8]) -> bool {
    text.split(|it| !it.is_ascii_hexdigit()).any(|it| it.len() >= DIGEST_LIKE)
}

/// The digits in a row that are as many as of a digest, all except one at least, between the text before and after each.
pub(crate) fn digests(text: &[u8]) -> Vec<(&[u8], &[u8], &[u8])> {
    let (mut at, mut found) = (0, Vec::new());
    for part in text.split(|it| !it.is_ascii_hexdigit()) {
        if part.len() + 1 >= SHORTEST {
            found.push((&text[..at], part, &text[at + part.len()..]));
        }
        at += part.len() + 1;
    }
    found
}

/// Whether there is a digest in a text, all its digits except one at least: in hexadecimal, or in base64 after the name of its algorithm.
pub(crate) fn holds_digest(text: &[u8]) -> bool {
    let is_base64 = |it: &u8| it.is_ascii_alphanumeric() || b"+/-_".contains(it);
    let (mut before, mut has_tagged) = (&b""[..], false);
    for run in text.split(|it| !is_base64(it)) {
        // `sha512-` and its digest, or `sha512=`.
        let dash = run.iter().position(|it| *it == b'-').unwrap_or(0);
        let (tag, digits) = match Algorithm::tagged(&run[..dash]) {
            Some(_) => (&run[..dash], &run[dash + 1..]),
            None => (std::mem::replace(&mut before, run), run),
        };
        let is_long = digits.len() >= SHORTEST_BASE64 && digits.iter().any(u8::is_ascii_digit);
        has_tagged |= is_long && Algorithm::tagged(tag).is_some();
    }
    let mut runs = text.split(|it| !it.is_ascii_hexdigit());
    let has_crc32 = text.windows(5).any(|it| it == b"CRC32") && runs.any(|it| it.len() == CRC32);
    // As gpg writes it: one group after another.
    let mut groups = &b""[..];
    let (mut len, mut has_groups) = (0, false);
    for word in text.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()) {
        let is_group = word.len().is_multiple_of(2) && word.iter().all(u8::is_ascii_hexdigit);
        len = if is_group && word.len() == groups.len() { len + word.len() } else { word.len() };
        groups = if is_group { word } else { b"" };
        let has_letters = word.iter().any(u8::is_ascii_alphabetic);
        has_groups |= is_group && has_letters && len >= SHORTEST - 8;
    }
    has_tagged || has_crc32 || has_groups || !digests(text).is_empty()
}

/// The name in `a.r00 9F606EEC`, a line of a `.sfv`, and in `CRC32 (a.r00) = 9F606EEC`.
pub(crate) fn before_crc32(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let blank = line.iter().rposition(u8::is_ascii_whitespace)?;
    let (name, digits) = (line[..blank].trim_ascii_end(), &line[blank + 1..]);
    let inner = name.strip_suffix(b") =").map(|it| it.splitn(2, |it| *it == b'('));
    let name = inner.and_then(|mut it| it.nth(1)).unwrap_or(name);
    (digits.len() == CRC32 && is_short(digits)).then_some(name)
}

/// Whether a text begins with a blank and has something after it.
pub(crate) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_whitespace) && !text.trim_ascii().is_empty()
}

fn is_hex(word: &[u8]) -> bool {
    word.len() >= DIGEST_LIKE && word.iter().all(u8::is_ascii_hexdigit)
}

/// Whether these are digits, which a digest may be cut to.
fn is_short(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit)
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_')
}

/// The word at the start of `line`, and the rest without the blanks before it.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}

/// The name and the digest around `) = `. The last one counts, because a name may hold it. The digits may not be hexadecimal.
pub(crate) fn tagged(line: &[u8]) -> Option<Parts> {
    let (tag, rest) = line.split_at(line.iter().take_while(|it| is_word(it)).count());
    let inner = rest.trim_ascii_start().strip_prefix(b"(")?;
    if tag.is_empty() || is_hex(tag) {
        return None;
    }
    let equals = inner.iter().rposition(|it| *it == b'=')?;
    let name = inner[..equals].trim_ascii_end().strip_suffix(b")")?;
    let mut digits = inner[equals + 1..].trim_ascii().to_vec();
    let pairs = || digits.split(|it| *it == b':');
    if pairs().count() > 1 && pairs().all(|it| it.len() == 2) {
        digits.retain(|it| *it != b':');
    }
    let number = digits.strip_suffix(b" bytes").unwrap_or(&digits);
    let size = if is_size(tag) {
        str::from_utf8(number).ok().and_then(|it| it.parse().ok())
    } else {
        None
    };
    Some(Parts { tag: tag.into(), digits, name: Some(name.into()), size })
}

/// Whether this is the word in `SIZE (a) = 7` and `Size (a) = 7 bytes`, which BSD has next to digests.
pub(crate) fn is_size(tag: &[u8]) -> bool {
    tag.eq_ignore_ascii_case(b"size")
}

/// `sha256:HEX  a` and `sha256:HEX`. If there is a name, the digits may be fewer, and before two blanks anything else.
pub(crate) fn prefixed(line: &[u8]) -> Option<Parts> {
    let colon = line.iter().position(|it| *it == b':')?;
    let (tag, (digits, rest)) = (&line[..colon], word(&line[colon + 1..]));
    let is_damaged = !rest.is_empty()
        && (is_short(digits) || line[colon + 1 + digits.len()..].starts_with(b"  "));
    let is_it = !tag.is_empty() && tag.iter().all(is_word) && (is_hex(digits) || is_damaged);
    let name = match rest.strip_prefix(b"*") {
        Some(starred) if !starred.is_empty() => starred,
        _ => rest,
    };
    let name = (!name.is_empty()).then(|| name.into());
    is_it.then(|| Parts { tag: tag.into(), digits: digits.into(), name, size: None })
}

/// Columns with two blanks or more between them. The last one may be padded, and the digits anything if there are such columns.
pub(crate) fn columns(line: &[u8]) -> Option<Parts> {
    let (tag, rest) = word(line);
    let (digits, name) = word(rest);
    let name = name.trim_ascii_end();
    let is_apart = |it: &[u8]| it.starts_with(b"  ");
    let is_column = is_apart(&line[tag.len()..]) && is_apart(&rest[digits.len()..]);
    let is_digest = is_hex(digits) || !digits.is_empty() && is_column && !is_hex(name);
    let is_it = tag.iter().all(is_word) && !is_hex(tag) && is_digest && !name.is_empty();
    let name = Some(name.into());
    is_it.then(|| Parts { tag: tag.into(), digits: digits.into(), name, size: None })
}

/// `SHA256 hash of a:`: the tag and the name.
pub(crate) fn announced(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (tag, rest) = word(line);
    let name = rest.strip_prefix(b"hash of ")?.trim_ascii_end().strip_suffix(b":")?;
    Some((tag, name.strip_prefix(b"file ").unwrap_or(name)))
}

/// A digest alone.
pub(crate) fn bare(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    let mut pairs = line.split(|it| *it == b' ');
    let digits: Vec<u8> = match pairs.all(|it| it.len() == 2) {
        true => line.iter().copied().filter(|it| *it != b' ').collect(),
        false => line.to_vec(),
    };
    (is_hex(&digits) && digits.len() >= SHORTEST).then_some(digits)
}

/// A line below a heading of Debian's: the name is the last word (in `.changes` there are two more before it).
pub(crate) fn sized(line: &[u8]) -> Option<Parts> {
    let (digits, rest) = word(line.trim_ascii());
    let (size, rest) = word(rest);
    let size = str::from_utf8(size).ok()?.parse().ok()?;
    let name = rest.rsplit(|it| *it == b' ').next().filter(|it| !it.is_empty())?;
    Some(Parts { tag: vec![], digits: digits.into(), name: Some(name.into()), size: Some(size) })
}

/// `Key: value`, where the value may be empty.
pub(crate) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|it| *it == b':')?;
    let (key, value) = (&line[..colon], &line[colon + 1..]);
    let is_it = key.first().is_some_and(u8::is_ascii_uppercase)
        && key.iter().all(is_word)
        && matches!(value.first(), None | Some(b' '));
    is_it.then(|| (key, value.trim_ascii()))
}

/// The name in a line of rclone whose digest is a word that says why there is none, or blanks.
pub(crate) fn without(line: &[u8]) -> Option<&[u8]> {
    let inner = line.trim_ascii_start();
    let blanks = line.len() - inner.len();
    let is_blank =
        Algorithm::ALL.iter().any(|it| it.digest_len() > 4 && 2 * it.digest_len() + 2 == blanks);
    let rest = [&b"UNSUPPORTED  "[..], b"ERROR  "].iter().find_map(|it| inner.strip_prefix(*it));
    rest.or(is_blank.then_some(inner)).filter(|it| !it.is_empty())
}

/// What to do with a list that has this line, if its form is not read.
pub(crate) fn advice(line: &[u8]) -> Option<&'static str> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let is_number = first.len() < DIGEST_LIKE && first.iter().all(u8::is_ascii_digit);
    Some(match first {
        b"Algorithm" if second == b":" => {
            "a list of properties is not read; use Get-FileHash | Export-Csv"
        }
        _ if is_number && is_digest(second) && words.next().is_some() => {
            "a length before the digest is not read; make the list without -z"
        }
        _ if line.ends_with(b"=") && words.next().is_some_and(|it| it.starts_with(b"h1:")) => {
            "digests of Go modules; use go mod verify"
        }
        _ => return None,
    })
}

/// Lines that say nothing of a file: of PowerShell's table, and of certutil.
pub(crate) fn is_furniture(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
    let is_rule = |it: &[u8]| it.iter().all(|byte| *byte == b'-');
    line.starts_with(b"CertUtil: ") && digests(line).is_empty()
        || words.clone().eq([&b"Algorithm"[..], b"Hash", b"Path"])
        || words.clone().count() == 3 && words.all(is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060";

    type Form = fn(&[u8]) -> Option<Parts>;

    /// Tag, name and length; `@` stands for the digest, and is in the parts as well.
    fn parts(form: Form, line: &str) -> Option<(String, String, Option<u64>)> {
        let line = line.replace('@', HEX);
        let found = form(line.as_bytes())?;
        assert_eq!(String::from_utf8_lossy(&found.digits).to_lowercase(), HEX, "{line}");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Some((text(found.tag), text(found.name.unwrap_or_default()), found.size))
    }

    #[test]
    fn forms_take_lines_apart() {
        let pairs: Vec<_> =
            HEX.as_bytes().chunks(2).map(|it| str::from_utf8(it).unwrap()).collect();
        let colons = format!("SHA2-256(a)= {}", pairs.join(":"));
        for (form, line, expected) in [
            (tagged as Form, "SHA256 (a b) c) = @", Some(("SHA256", "a b) c", None))),
            (tagged, "SHA2-256(a)= @", Some(("SHA2-256", "a", None))),
            (tagged, &colons, Some(("SHA2-256", "a", None))),
            (tagged, "MD5   (a) = @ ", Some(("MD5", "a", None))),
            (tagged, "@  (a) = @", None),
            (tagged, "no (a)", None),
            (prefixed, "sha256:@  a b", Some(("sha256", "a b", None))),
            (prefixed, "sha256:@ *a", Some(("sha256", "a", None))),
            (prefixed, "sha256:@", Some(("sha256", "", None))),
            (prefixed, "sha256: @", None),
            (prefixed, "https://@", None),
            (prefixed, "sha256:good is @", None),
            (columns, "SHA256    @    C:\\x\\a b  ", Some(("SHA256", "C:\\x\\a b", None))),
            (columns, "@  @  a", None),
            (columns, "SHA256  a  @", None),
            (sized, " @ 6 a", Some(("", "a", Some(6)))),
            (sized, " @ 6 misc optional a", Some(("", "a", Some(6)))),
            (sized, " @ a", None),
            (sized, " @ 6", None),
        ] {
            let expected = expected.map(|(tag, name, size)| (tag.into(), name.into(), size));
            assert_eq!(parts(form, line), expected, "{line}");
        }
    }

    #[test]
    fn announced_and_bare_belong_together() {
        let pairs: Vec<_> =
            HEX.as_bytes().chunks(2).map(|it| str::from_utf8(it).unwrap()).collect();
        assert_eq!(announced(b"SHA256 hash of a b:"), Some((&b"SHA256"[..], &b"a b"[..])));
        assert_eq!(announced(b"MD5 hash of file a:"), Some((&b"MD5"[..], &b"a"[..])));
        assert_eq!(announced(b"SHA256 hash of a"), None);
        assert_eq!(bare(pairs.join(" ").as_bytes()), Some(HEX.into()));
        assert_eq!(bare(HEX.as_bytes()), Some(HEX.into()));
        assert_eq!(bare(b"1795689151073093084"), None);
        assert_eq!(bare(b"hello"), None);
    }

    #[test]
    fn holds_digest_finds_it_in_any_form() {
        for (line, expected) in [
            ("x@", true),
            ("a,sha256=WJG1tSLV3whtD_CxEPvZ0hu0_HFjrzTQgoai6Eb2vgM,6", true),
            ("integrity sha512-Wu1VaWFvF1QfZFXbhAnEWcVvZA==", true),
            ("a:58 5891B5B5 22D5DF08 6D0FF0B1", true),
            ("CRC32 a 9f606eec", true),
            ("9f606eec and a CRC-32", false),
            ("sha256 of everything below; 2020 2021 2022 2023 2024 2025", false),
            ("made with sha256=internationalisation-of-names", false),
        ] {
            assert_eq!(holds_digest(line.replace('@', HEX).as_bytes()), expected, "{line}");
        }
        assert_eq!(before_crc32(b"a b  9F606EEC "), Some(&b"a b"[..]));
        assert_eq!(before_crc32(b"CRC32 (a b) = 9f606eec"), Some(&b"a b"[..]));
        assert_eq!(before_crc32(b"a 9F606EE"), None);
    }

    #[test]
    fn field_and_is_furniture_are_about_whole_lines() {
        assert_eq!(field(b"SHA256:"), Some((&b"SHA256"[..], &b""[..])));
        assert_eq!(field(b"Filename: pool/a"), Some((&b"Filename"[..], &b"pool/a"[..])));
        assert_eq!(field(b"C:\\x"), None);
        assert_eq!(field(b" SHA256:"), None);
        assert!(is_furniture(b"Algorithm       Hash      Path"));
        assert!(is_furniture(b"---------       ----      ----"));
        assert!(is_furniture(b"CertUtil: -hashfile command completed successfully."));
        assert!(!is_furniture(b"--- a"));
        assert!(!is_furniture(format!("CertUtil: -hashfil{HEX}").as_bytes()));
    }
}
