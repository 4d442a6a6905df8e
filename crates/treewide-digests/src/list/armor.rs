//! Text signed with PGP: which lines are text, and which belong to the signature. A digest in the wrong part is not passed over.

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
            (Self::Headers, line) if is_header(line) => (*self, Said::Armor),
            (Self::Signature, line) if is_header(line) || line.iter().all(is_base64) => {
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
