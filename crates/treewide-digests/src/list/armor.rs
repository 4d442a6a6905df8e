//! Text signed with PGP: which lines are text, and which belong to the signature. A digest in the wrong part is not passed over.

use super::line::{digests, is_name};

/// The part of signed text that the next line is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Armor {
    /// There is no signed text here.
    #[default]
    Outside,
    Headers,
    Text,
    Signature,
}

/// A line, and what it is for the armor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// A line of the list.
    Line(&'a [u8]),
    /// It belongs to the armor.
    Armor,
    /// It is in the armor, and does not belong there.
    Stray,
}

/// The headers that signed text and signatures have.
const HEADERS: &[&[u8]] =
    &[b"Hash", b"Version", b"Comment", b"Charset", b"MessageID", b"NotDashEscaped", b"SaltedHash"];

impl Armor {
    pub(crate) fn line<'a>(&mut self, line: &'a [u8]) -> Said<'a> {
        let (next, said) = match (*self, line.trim_ascii_end()) {
            (Self::Outside, b"-----BEGIN PGP SIGNED MESSAGE-----") => (Self::Headers, Said::Armor),
            (Self::Text, b"-----BEGIN PGP SIGNATURE-----") => (Self::Signature, Said::Armor),
            (Self::Headers, b"") => (Self::Text, Said::Armor),
            (Self::Signature, b"-----END PGP SIGNATURE-----") => (Self::Outside, Said::Armor),
            (Self::Headers, line) if is_header(line) && !is_entry(line) => (*self, Said::Armor),
            (Self::Signature, line)
                if is_header(line) && !is_entry(line) || line.iter().all(is_base64) =>
            {
                (*self, Said::Armor)
            }
            (Self::Headers | Self::Signature, _) => (*self, Said::Stray),
            (Self::Text, _) => (*self, Said::Line(line.strip_prefix(b"- ").unwrap_or(line))),
            (Self::Outside, _) => (*self, Said::Line(line)),
        };
        *self = next;
        said
    }
}

fn is_header(line: &[u8]) -> bool {
    line.iter().position(|it| *it == b':').is_some_and(|colon| HEADERS.contains(&&line[..colon]))
}

/// Whether a name follows a digest.
fn is_entry(line: &[u8]) -> bool {
    digests(line).into_iter().any(|(_, _, rest)| is_name(rest))
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_finds_the_text_and_what_is_astray() {
        let mut armor = Armor::Outside;
        for (line, expected) in [
            ("before", Said::Line(b"before")),
            ("-----BEGIN PGP SIGNED MESSAGE-----", Said::Armor),
            ("Hash: SHA512", Said::Armor),
            ("abcd  b", Said::Stray),
            ("Hash: b6a98d9ce9a2d9149288fa3df42d377c  b", Said::Stray),
            ("", Said::Armor),
            ("Hash: x", Said::Line(b"Hash: x")),
            ("- -----BEGIN", Said::Line(b"-----BEGIN")),
            ("-----BEGIN PGP SIGNATURE-----", Said::Armor),
            ("", Said::Armor),
            ("iQIzBAEB/+==", Said::Armor),
            ("abcd  b", Said::Stray),
            ("-----END PGP SIGNATURE-----", Said::Armor),
            ("after", Said::Line(b"after")),
        ] {
            assert_eq!(armor.line(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(armor, Armor::Outside);
    }
}
