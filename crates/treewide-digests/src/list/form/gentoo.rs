//! `Manifest` of a Gentoo repository or mirror: `DIST a.tar.xz 6 BLAKE2B HEX SHA512 HEX`. Archives (`DIST`) are in the current directory,
//! as in `/var/cache/distfiles`, and other files next to the list.

use super::{Form, within};
use crate::list::line::{Parts, Said, without_digest};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Manifest {
    folder: PathBuf,
}

const FILES: &[&[u8]] = &[b"DIST", b"EBUILD", b"MISC", b"DATA", b"MANIFEST", b"AUX"];

/// Whether a line shows that a list is one of these.
pub(super) fn is_entry(line: &[u8]) -> bool {
    let words: Vec<_> = words(line).collect();
    match words[..] {
        [b"TIMESTAMP", _] => true,
        [kind, _, size, _, _, ..] => FILES.contains(&kind) && size.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Whether a line begins as an entry does.
pub(super) fn is_file(line: &[u8]) -> bool {
    is_entry(line) || words(line).next().is_some_and(|it| FILES.contains(&it))
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty())
}

impl Manifest {
    pub(super) fn of(path: &Path) -> Self {
        Self { folder: path.parent().unwrap_or(Path::new("")).into() }
    }
}

impl Form for Manifest {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        let words: Vec<_> = words(line).collect();
        let mut wrong = |name: &[u8], cause| said.push(Err(without_digest(name, cause)));
        let (kind, name, size, digests) = match words[..] {
            [] | [b"TIMESTAMP" | b"IGNORE", _] => return,
            [kind, name, size, ref digests @ ..] if FILES.contains(&kind) => {
                (kind, name, size, digests)
            }
            _ => return wrong(b"", "neither a file nor a time"),
        };
        let Some(size) = str::from_utf8(size).ok().and_then(|it| it.parse().ok()) else {
            return wrong(name, "the length is not a number");
        };
        if digests.is_empty() || !digests.len().is_multiple_of(2) || name.contains(&b'\\') {
            return wrong(
                name,
                "not a name without escapes, a length, and pairs of algorithm and digest",
            );
        }
        let name = match kind {
            b"DIST" => name.into(),
            b"AUX" => within(&self.folder.join("files"), name),
            _ => within(&self.folder, name),
        };
        let parts = digests.chunks(2).map(|pair| Parts {
            tag: pair[0].into(),
            digits: pair[1].into(),
            name: Some(name.clone()),
            size: Some(size),
        });
        said.extend(parts.map(Ok));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn manifest_has_all_digests_in_one_line() {
        let text = "TIMESTAMP 2026-11-26T00:00:00Z\nDIST a 6 BLAKE2B 0 SHA512 1\nAUX b.patch 7 SHA512 2\nDATA c/d 8 SHA512 3\nDISU a 6 x 0\nDIST a 6 x\n";
        assert_eq!(
            read(&mut Manifest::of(Path::new("d/Manifest")), text),
            [
                "BLAKE2B a 6",
                "SHA512 a 6",
                "SHA512 d/files/b.patch 7",
                "SHA512 d/c/d 8",
                "! neither a file nor a time",
                "! not a name without escapes, a length, and pairs of algorithm and digest",
            ]
        );
    }
}
