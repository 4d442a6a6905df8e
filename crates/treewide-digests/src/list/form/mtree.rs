//! mtree, by which BSD systems and the packages of Arch describe a tree: `a.txt size=6 sha256digest=HEX`. Names are relative to the
//! current directory, and to the folder that was entered last if they have no `/`.

use super::{Form, is_comment};
use crate::algorithm::Algorithm;
use crate::list::line::{Parts, Said, digests, is_digest, without_digest};
use std::io::ErrorKind::NotFound;
use treewide_files::name;

#[derive(Debug, Default)]
pub(super) struct Mtree {
    /// The beginning of a line that is continued.
    before: Vec<u8>,
    /// The type of entries that name none.
    usual: Option<Vec<u8>>,
    /// The folder at hand, each part with a `/`.
    folders: Vec<Vec<u8>>,
}

const OTHERS: &[&[u8]] = &[b"dir", b"link", b"block", b"char", b"fifo", b"socket"];

impl Form for Mtree {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        let line = line.trim_ascii();
        if self.before.is_empty()
            && (line.is_empty() || line.starts_with(b"#mtree") || is_comment(line, b'#'))
        {
            if digests(line).into_iter().any(|(before, ..)| before.ends_with(b"=")) {
                said.push(Err(without_digest(b"", "a comment with a digest in it")));
            }
            return;
        }
        if let Some(line) = line.strip_suffix(b"\\") {
            self.before.extend([line, b" "].concat());
            return;
        }
        let line = [std::mem::take(&mut self.before), line.into()].concat();
        if let Err(cause) = self.entry(&line, said) {
            let name = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            said.push(Err(without_digest(name, &cause)));
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        if !std::mem::take(&mut self.before).is_empty() {
            said.push(Err(without_digest(b"", "the last line is not continued")));
        }
    }
}

impl Mtree {
    fn entry(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
        let name = words.next().ok_or("no name")?;
        if name.starts_with(b"#") {
            return Err("a # in front of a name; put a blank after it".into());
        }
        let (mut kind, mut size, mut digests) = (self.usual.clone(), None, Vec::new());
        let mut is_optional = false;
        for word in words {
            let equals = word.iter().position(|it| *it == b'=').unwrap_or(word.len());
            let (key, value) = (&word[..equals], word.get(equals + 1..).unwrap_or_default());
            let tag = key.strip_suffix(b"digest").unwrap_or(key);
            match key {
                b"optional" if value.is_empty() => is_optional = true,
                b"nochange" | b"ignore" | b"type" | b"all" if value.is_empty() => {}
                b"link" | b"contents" => {}
                _ if value.is_empty() || value.contains(&b'=') => {
                    return Err(format!(
                        "{} is not a keyword with a value",
                        String::from_utf8_lossy(word)
                    ));
                }
                b"type" if value == b"file" || OTHERS.contains(&value) => kind = Some(value.into()),
                b"type" => return Err("the type is not known".into()),
                b"size" => {
                    let number = str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                    size = Some(number.ok_or("the length is not a number")?);
                }
                _ if Algorithm::tagged(tag).is_some() || is_digest(value) => {
                    digests.push((tag, value))
                }
                _ => {}
            }
        }
        match name {
            b"/set" | b"/unset" if digests.is_empty() => {
                self.usual = if name == b"/set" { kind } else { None };
                return Ok(());
            }
            b".." => {
                self.folders.pop().ok_or("there is no folder to leave")?;
                return Ok(());
            }
            _ => {}
        }
        let mut name = plain(name).ok_or("file name with an invalid escape")?;
        let is_path = name.contains(&b'/');
        let is_file = kind.as_deref().is_none_or(|it| it == b"file");
        if kind.as_deref() == Some(b"dir") && !is_path {
            self.folders.push([&name[..], b"/"].concat());
        }
        if !is_file && digests.is_empty() {
            return Ok(());
        }
        if digests.is_empty() {
            return Err("no digest".into());
        }
        if !is_path {
            name = [self.folders.concat(), name].concat();
        }
        let path = name::to_path(&name).ok().filter(|_| is_optional);
        if path.is_some_and(|it| it.symlink_metadata().is_err_and(|it| it.kind() == NotFound)) {
            return Ok(());
        }
        let parts = digests.into_iter().map(|(tag, digits)| Parts {
            tag: tag.into(),
            digits: digits.into(),
            name: Some(name.clone()),
            size,
        });
        said.extend(parts.map(Ok));
        Ok(())
    }
}

/// Undoes what `vis` does with names.
fn plain(name: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut rest) = (Vec::new(), name);
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, len) = match (byte, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 4)
            }
            (b'\\', [b's', ..]) => (b' ', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [it @ (b'\\' | b'#'), ..]) => (*it, 2),
            (b'\\', _) => return None,
            _ => (byte, 1),
        };
        plain.push(byte);
        rest = &rest[len..];
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn mtree_follows_folders_and_continued_lines() {
        let text = "#mtree\n/set type=file uid=0\n. type=dir\n    a\\040\\043 size=2 \\\n    sha256digest=00\nd type=dir\nb md5=00 sha1=00\n..\n\
            ./x/y sha256=00 link=z=\nl type=link link=a\ngone optional md5=00\n..\n#.txt size=6 sha256=00\nc size=2\ne mode=0644`md5=00\nf type=fhle\ng md5=00 \\\n";
        assert_eq!(
            read(&mut Mtree::default(), text),
            [
                "sha256 ./a # 2",
                "md5 ./d/b",
                "sha1 ./d/b",
                "sha256 ./x/y",
                "! a # in front of a name; put a blank after it",
                "! no digest",
                "! mode=0644`md5=00 is not a keyword with a value",
                "! the type is not known",
                "! the last line is not continued",
            ]
        );
    }
}
