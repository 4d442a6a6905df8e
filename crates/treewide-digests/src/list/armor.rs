//! Text signed with PGP: the armor is the first line of the list, and its end the last. The signature is not checked.

/// The part of the list that the next line is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Armor {
    /// The list has not begun.
    #[default]
    Start,
    /// The list is not signed.
    None,
    Headers,
    Text,
    Signature,
    /// The signature is over.
    After,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A line of the list.
    Line(&'a [u8]),
    /// A part of the armor.
    Armor,
    /// A header of the armor, which may hold any text.
    Header(&'a [u8]),
}

/// The headers that signed text and signatures have.
const HEADERS: &[&[u8]] =
    &[b"Hash", b"Version", b"Comment", b"Charset", b"MessageID", b"NotDashEscaped", b"SaltedHash"];

impl Armor {
    pub(crate) fn line<'a>(&mut self, line: &'a [u8]) -> Result<Part<'a>, &'static str> {
        let trimmed = line.trim_ascii_end();
        let (next, part) = match (*self, trimmed) {
            (Self::Start, b"-----BEGIN PGP SIGNED MESSAGE-----") => (Self::Headers, Part::Armor),
            (Self::Start, b"") => (Self::Start, Part::Line(line)),
            (Self::Start | Self::None, _) => (Self::None, Part::Line(line)),
            (Self::Headers, b"") => (Self::Text, Part::Armor),
            (Self::Headers | Self::Signature, line) if is_header(line) => {
                (*self, Part::Header(line))
            }
            (Self::Text, b"-----BEGIN PGP SIGNATURE-----") => (Self::Signature, Part::Armor),
            (Self::Text, _) => match line {
                [b'-', b' ', rest @ ..] => (Self::Text, Part::Line(rest)),
                [b'-', ..] => {
                    return Err("signed text has a blank after a dash at the start of a line");
                }
                _ => (Self::Text, Part::Line(line)),
            },
            (Self::Signature, b"-----END PGP SIGNATURE-----") => (Self::After, Part::Armor),
            (Self::Signature, line) if line.iter().all(is_base64) => (*self, Part::Armor),
            (Self::After, b"") => (Self::After, Part::Armor),
            (Self::After, _) => {
                return Err("outside of the signed text, so that no one has signed it");
            }
            (Self::Headers | Self::Signature, _) => {
                return Err("not a line of a PGP signature");
            }
        };
        *self = next;
        Ok(part)
    }

    pub(crate) fn is_signed(self) -> bool {
        !matches!(self, Self::Start | Self::None)
    }

    /// Whether the list may end here.
    pub(crate) fn is_whole(self) -> bool {
        !self.is_signed() || self == Self::After
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
        let mut armor = Armor::default();
        for (line, expected) in [
            ("", Some(Part::Line(b""))),
            ("-----BEGIN PGP SIGNED MESSAGE-----", Some(Part::Armor)),
            ("Hash: SHA512", Some(Part::Header(b"Hash: SHA512"))),
            ("abcd  b", None),
            ("", Some(Part::Armor)),
            ("Hash: x", Some(Part::Line(b"Hash: x"))),
            ("- -----BEGIN", Some(Part::Line(b"-----BEGIN"))),
            ("-----BEGIN", None),
            ("-----BEGIN PGP SIGNATURE-----", Some(Part::Armor)),
            ("", Some(Part::Armor)),
            ("iQIzBAEB/+==", Some(Part::Armor)),
            ("abcd  b", None),
            ("-----END PGP SIGNATURE-----", Some(Part::Armor)),
            (" ", Some(Part::Armor)),
            ("after", None),
        ] {
            assert_eq!(armor.line(line.as_bytes()).ok(), expected, "{line}");
        }
        assert!(armor.is_whole() && armor.is_signed());
    }
}
