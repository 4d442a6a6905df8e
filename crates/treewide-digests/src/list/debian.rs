//! Debian's files: `SHA256: HEX` after `Filename: a` (`Packages`), and ` HEX LENGTH a` below `SHA256:` or `Checksums-Sha256:` (`.dsc`,
//! `Release`). Where the list's name says that it is one of them, each line must have such a form.

use super::form::below;
use super::line::{
    Parts, Said, bare, digests, field, has_digits, is_digest, sized, without_digest,
};
use crate::algorithm::Algorithm;

/// Fields whose value may begin with as many digits as a digest has.
const WITH_DIGITS: &[&[u8]] =
    &[b"Description-md5", b"Build-Ids", b"Signed-By", b"Dgit", b"Git-Tag-Info"];

/// Which of Debian's files a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It may be something else.
    #[default]
    Unknown,
    /// It has fields.
    Fields,
    /// Each of its paragraphs is about a file.
    Index,
}

/// What the lines before have said.
#[derive(Debug, Default)]
pub(crate) struct Paragraph {
    kind: Kind,
    has_begun: bool,
    /// The algorithm that a heading names, and whether there was a line below it.
    heading: Option<(Vec<u8>, bool)>,
    /// `Filename:` and `Size:`.
    name: Option<Vec<u8>>,
    size: Option<u64>,
    has_digest: bool,
    /// Whether it begins with `Package:`. Then it is one of an index, as a rule.
    is_package: bool,
    /// `Directory:`, and the files in it that came before.
    folder: Option<Vec<u8>>,
    held: Vec<Parts>,
}

impl Paragraph {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Whether the line is one of these.
    pub(crate) fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> bool {
        let is_sure = self.kind != Kind::Unknown;
        if line.trim_ascii().is_empty() {
            self.end(said);
            return false;
        }
        if line[0] == b'#' {
            return false;
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if matches!(line[0], b' ' | b'\t') {
            let is_text = self.is_package && !has_digits(line);
            return self.below(line, said) || is_sure || is_text;
        }
        self.end_heading(said);
        let Some((key, value)) = field(line) else {
            if is_sure {
                said.push(Err(without_digest(b"", "neither a field nor a line below one")));
            }
            return is_sure;
        };
        let tag = tag(key);
        let is_known = Algorithm::tagged(tag).is_some();
        self.is_package |= is_first && key == b"Package";
        match key {
            _ if is_known && value.is_empty() => self.heading = Some((tag.into(), false)),
            _ if is_known => {
                let digits = match bare(value) {
                    Some(digits) => digits,
                    None if is_sure || self.name.is_some() => value.into(),
                    None => return false,
                };
                self.has_digest = true;
                let (name, size) = (self.name.clone(), self.size);
                said.push(Ok(Parts { tag: tag.into(), digits, name, size }));
            }
            b"Filename" => {
                // The blank line between two paragraphs may have been lost.
                if self.name.is_some() {
                    self.end(said);
                }
                (self.has_begun, self.name) = (true, Some(value.into()));
                if std::mem::take(&mut self.is_package) {
                    self.kind = Kind::Index;
                }
            }
            b"Directory" if self.is_package || self.kind == Kind::Index => {
                self.folder = Some(value.into());
            }
            b"Size" if self.name.is_some() || is_sure => {
                self.size = str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                if self.size.is_none() {
                    said.push(Err(without_digest(self.name(), "the length is not a number")));
                }
            }
            b"Description-md5" if bare(value).is_none() => {
                said.push(Err(without_digest(self.name(), "a digest and more in one field")));
            }
            _ if WITH_DIGITS.contains(&key) => {}
            _ if !is_sure => return self.is_package && !has_digits(value),
            _ if is_digest(value) => {
                said.push(Err(without_digest(
                    self.name(),
                    "a digest in a field that is not known",
                )));
            }
            _ => {}
        }
        true
    }

    /// A line that begins with a blank.
    fn below(&mut self, line: &[u8], said: &mut Vec<Said>) -> bool {
        let parts = sized(line);
        let is_digest = parts.as_ref().is_some_and(|it| is_digest(&it.digits));
        match (&mut self.heading, parts) {
            (Some((tag, has_lines)), Some(parts)) if is_digest || self.kind != Kind::Unknown => {
                (*has_lines, self.has_digest) = (true, true);
                let parts = Parts { tag: tag.clone(), ..parts };
                match self.is_package || self.kind == Kind::Index {
                    true => self.held.push(parts),
                    false => said.push(Ok(parts)),
                }
                true
            }
            (Some((_, has_lines)), None) if self.kind != Kind::Unknown => {
                *has_lines = true;
                said.push(Err(without_digest(b"", "not a digest, a length and a name")));
                true
            }
            (None, Some(_)) if is_digest && self.kind != Kind::Unknown => {
                said.push(Err(without_digest(b"", "a digest below a field that is not known")));
                true
            }
            _ => {
                let is_entry = digests(line).into_iter().any(|(before, ..)| {
                    let before = before.trim_ascii_end();
                    let key = before.strip_suffix(b":").or(before.strip_suffix(b"="));
                    let key = key.and_then(|it| it.rsplit(|it| !it.is_ascii_alphanumeric()).next());
                    let is_named = key.is_some_and(|it| Algorithm::tagged(tag(it)).is_some());
                    is_named || before.ends_with(b"\"")
                });
                if is_entry {
                    said.push(Err(without_digest(self.name(), "a blank in front of a field")));
                }
                is_entry
            }
        }
    }

    pub(crate) fn has_heading(&self) -> bool {
        self.heading.is_some()
    }

    fn name(&self) -> &[u8] {
        self.name.as_deref().unwrap_or_default()
    }

    fn end_heading(&mut self, said: &mut Vec<Said>) {
        if let Some((_, false)) = self.heading.take()
            && self.kind != Kind::Unknown
        {
            said.push(Err(without_digest(b"", "a heading without a digest below it")));
        }
    }

    /// The end of a paragraph.
    pub(crate) fn end(&mut self, said: &mut Vec<Said>) {
        if !self.has_begun {
            return;
        }
        self.end_heading(said);
        for parts in std::mem::take(&mut self.held) {
            let name = parts.name.unwrap_or_default();
            said.push(match &self.folder {
                Some(folder) => Ok(Parts { name: Some(below(folder, &name)), ..parts }),
                None => Err(without_digest(&name, "no Directory: that it is in")),
            });
        }
        let is_announced = self.name.is_some() || self.has_begun && self.kind == Kind::Index;
        if is_announced && !self.has_digest {
            said.push(Err(without_digest(self.name(), "no digest")));
        }
        *self = Self::new(self.kind);
    }
}

/// The algorithm in the key of a field.
fn tag(key: &[u8]) -> &[u8] {
    let tag = key.strip_prefix(b"Checksums-").unwrap_or(key);
    let ends = [&b"Sum"[..], b"sum", b"digest"];
    let tag = ends.iter().find_map(|it| tag.strip_suffix(*it)).unwrap_or(tag);
    if tag == b"Files" { b"MD5" } else { tag }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060";

    /// Names with lengths, and causes. A digest is written as `@`.
    fn read(kind: Kind, text: &str) -> Vec<String> {
        let (mut paragraph, mut said) = (Paragraph::new(kind), Vec::new());
        for line in text.replace('@', HEX).lines() {
            if !paragraph.line(line.as_bytes(), &mut said) && !line.is_empty() {
                said.push(Err(without_digest(b"", "another form")));
            }
        }
        paragraph.end(&mut said);
        let shown = said.into_iter().map(|it| match it {
            Ok(Parts { tag, name, size, .. }) => {
                let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
                format!("{} {} {size:?}", text(tag), text(name.unwrap_or_default()))
            }
            Err(fault) => fault.to_string(),
        });
        shown.collect()
    }

    #[test]
    fn line_passes_over_no_digest() {
        for (kind, text, expected) in [
            (Kind::Index, "Filename: a\nSize: 6\nSHA256: @\n\n", &["SHA256 a Some(6)"][..]),
            (
                Kind::Index,
                "Filename: a\nSHA25: @\n",
                &["a digest in a field that is not known", "no digest"],
            ),
            (Kind::Index, "Package: b\n", &["no digest"]),
            (Kind::Index, "Filename: a\nFilename: b\nMD5sum: @\n", &["no digest", "MD5 b None"]),
            (
                Kind::Index,
                "Filename: a\nDescription-md5: @\nSize: x\nSHA256: 00\n",
                &["the length is not a number", "SHA256 a None"],
            ),
            (
                Kind::Fields,
                "Checksums-Sha256:\n @ 6 a\n @ 7 misc optional b\nX: y\n",
                &["Sha256 a Some(6)", "Sha256 b Some(7)"],
            ),
            (
                Kind::Fields,
                "Files:\n zz a b\n zz 3 b\n",
                &["not a digest, a length and a name", "MD5 b Some(3)"],
            ),
            (
                Kind::Fields,
                "SHA256:\nSHA25:\n @ 6 a\n",
                &[
                    "a heading without a digest below it",
                    "a digest below a field that is not known",
                ],
            ),
            (
                Kind::Fields,
                "Changes:\n * @ was wrong\n @ was it\nSHA256\n",
                &["neither a field nor a line below one"],
            ),
            (
                Kind::Index,
                "Filename: a\n  SHA256: @\n md5=@\nDescription-md5: @ @\n",
                &[
                    "a blank in front of a field",
                    "a blank in front of a field",
                    "a digest and more in one field",
                    "no digest",
                ],
            ),
            (Kind::Unknown, "SHA256:\n @ 6 a\n @  b\n", &["SHA256 a Some(6)", "another form"]),
            (Kind::Unknown, "Files:\nX: y\nSHA256: no\n", &["another form", "another form"]),
            (Kind::Unknown, "Filename: a\n", &["no digest"]),
            (
                Kind::Unknown,
                "Package: x\nTag: y\n z\nDescription-md5: @\nFilename: a\nMD5sum: @\n\nPackage: y\nX: @\n",
                &["MD5 a None", "a digest in a field that is not known", "no digest"],
            ),
            (Kind::Unknown, "Package: x\nX: @\n", &["another form"]),
            (
                Kind::Index,
                "Package: x\nFiles:\n @ 6 a\nDirectory: b/c\n\nFiles:\n @ 6 d\n",
                &["MD5 b/c/a Some(6)", "no Directory: that it is in"],
            ),
        ] {
            assert_eq!(read(kind, text), expected, "{text}");
        }
    }
}
