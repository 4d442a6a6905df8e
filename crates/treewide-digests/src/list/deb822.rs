//! Debian's files: `SHA256: HEX` with `Filename: a` (`Packages`), and ` HEX LENGTH a` below `SHA256:` or `Checksums-Sha256:` (`.dsc`,
//! `Release`, `Sources`).

use super::reader::{Parts, Reader, Said, without_digest};
use super::title::{Title, below};
use crate::algorithm::Algorithm;
use std::path::Path;
use treewide_files::digest::unhex;

/// Keys that the first line of such a file has, if it has no name.
const FIRST: &[&[u8]] = &[b"Package", b"Format", b"Origin", b"Suite", b"Label", b"Archive"];

#[derive(Debug)]
pub(crate) struct Deb822 {
    /// Whether each paragraph is about a package: one of `Packages` or `Sources`.
    is_index: bool,
    paragraph: Vec<Field>,
    has_digests: bool,
}

#[derive(Debug)]
struct Field {
    key: Vec<u8>,
    value: Vec<u8>,
    below: Vec<Vec<u8>>,
}

/// `Key: value`, where the value may be empty.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|it| *it == b':')?;
    let (key, value) = (&line[..colon], &line[colon + 1..]);
    let is_key = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    let is_it = !key.is_empty() && key.iter().all(is_key);
    (is_it && matches!(value.first(), None | Some(b' ' | b'\t'))).then(|| (key, value.trim_ascii()))
}

/// The name of the algorithm in the key of a field of digests.
fn tag(key: &[u8]) -> Option<&[u8]> {
    let tag = key.strip_prefix(b"Checksums-").unwrap_or(key);
    let tag = [&b"Sum"[..], b"sum"].iter().find_map(|it| tag.strip_suffix(*it)).unwrap_or(tag);
    let is_tag =
        key.starts_with(b"Checksums-") || tag.starts_with(b"SHA") || tag.starts_with(b"MD5");
    if key == b"Files" { Some(b"MD5") } else { is_tag.then_some(tag) }
}

/// The digest, the length and the name, which is the last word: in `.changes` there are two more before it.
fn entry(line: &[u8]) -> Option<Parts> {
    let words: Vec<_> = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()).collect();
    let ([digits, size, name] | [digits, size, _, _, name]) = words[..] else { return None };
    let size = Some(str::from_utf8(size).ok()?.parse().ok()?);
    Some(Parts { digits: digits.into(), name: Some(name.into()), size, ..Parts::default() })
}

impl Deb822 {
    pub(crate) fn is(title: &Title, line: &[u8]) -> bool {
        ["Packages", "Sources", "Release", "InRelease"].iter().any(|it| title.is_or_ends_in(it))
            || [".dsc", ".changes", ".buildinfo"].iter().any(|it| title.has_suffix(it))
            || field(line).is_some_and(|(key, _)| FIRST.contains(&key))
    }

    pub(crate) fn of(title: &Title) -> Self {
        let is_index = ["Packages", "Sources"].iter().any(|it| title.is_or_ends_in(it));
        Self { is_index, paragraph: Vec::new(), has_digests: false }
    }

    fn digests(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        let paragraph = std::mem::take(&mut self.paragraph);
        let Some(first) = paragraph.first() else { return Ok(()) };
        self.is_index |= first.key == b"Package";
        let value =
            |key: &str| paragraph.iter().find(|it| it.key == key.as_bytes()).map(|it| &it.value);
        let (name, folder) = (value("Filename"), value("Directory"));
        let size = value("Size").filter(|_| name.is_some());
        let length = size.map(|it| {
            str::from_utf8(it)
                .ok()
                .and_then(|it| it.parse().ok())
                .ok_or("the length is not a number")
        });
        let (length, before) = (length.transpose()?, said.len());
        for Field { key, value, below: lines } in &paragraph {
            let shown = String::from_utf8_lossy(key);
            let Some(tag) = tag(key) else {
                let is_digest = |it: &Parts| unhex(&it.digits).is_some_and(|it| it.len() >= 16);
                match lines
                    .iter()
                    .chain([value])
                    .any(|it| entry(it).is_some_and(|it| is_digest(&it)))
                {
                    true => {
                        return Err(format!(
                            "a digest in {shown}, which is not a field of digests"
                        ));
                    }
                    false => continue,
                }
            };
            match (Algorithm::tagged(tag), &lines[..], name) {
                (None, ..) => return Err(format!("{shown} is not supported")),
                (_, [], Some(name)) if !value.is_empty() => {
                    let (tag, digits) = (tag.into(), value.clone());
                    said.push(Ok(Parts {
                        tag,
                        digits,
                        name: Some(name.clone()),
                        size: length,
                        other: None,
                    }));
                }
                (_, [_, ..], None) if value.is_empty() => {
                    for line in lines {
                        let parts = entry(line).ok_or("expected a digest, a length and a name")?;
                        let name = parts.name.unwrap_or_default();
                        let name = match (folder, self.is_index) {
                            (Some(folder), _) => below(
                                Path::new(
                                    str::from_utf8(folder)
                                        .map_err(|_| "the Directory is not UTF-8")?,
                                ),
                                &name,
                            ),
                            (None, true) => {
                                return Err(
                                    "no field Directory, which says where the files are".into()
                                );
                            }
                            (None, false) => name,
                        };
                        said.push(Ok(Parts { tag: tag.into(), name: Some(name), ..parts }));
                    }
                }
                _ => return Err(format!("no digest of a file in {shown}")),
            }
        }
        self.has_digests |= said.len() > before;
        match (self.is_index && said.len() == before, name) {
            (false, _) => Ok(()),
            (true, None) => Err("a paragraph without a file and a digest".into()),
            (true, Some(name)) => {
                said.push(Err(without_digest(name, "no digest")));
                Ok(())
            }
        }
    }
}

impl Reader for Deb822 {
    fn line(&mut self, line: &[u8], _: &mut Vec<Said>) -> Result<(), String> {
        if line[0].is_ascii_whitespace() {
            self.paragraph.last_mut().ok_or("no field above this line")?.below.push(line.into());
            return Ok(());
        }
        let (key, value) = field(line).ok_or("")?;
        if self.paragraph.iter().any(|it| it.key == key) {
            return Err(format!("{} is there twice", String::from_utf8_lossy(key)));
        }
        self.paragraph.push(Field { key: key.into(), value: value.into(), below: vec![] });
        Ok(())
    }

    fn blank(&mut self, said: &mut Vec<Said>) {
        if let Err(cause) = self.digests(said) {
            said.push(Err(without_digest(b"", cause)));
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        self.digests(said)?;
        if self.has_digests { Ok(()) } else { Err("no field of digests".into()) }
    }
}
