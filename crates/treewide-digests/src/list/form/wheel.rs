//! `RECORD` of an installed Python package, which pip itself does not check: `pkg/a.py,sha256=BASE64,114`, below the folder that the
//! package is in.

use super::{Form, within};
use crate::list::line::{Parts, Said, without_digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::path::{Path, PathBuf};
use treewide_files::digest::hex;

#[derive(Debug)]
pub(super) struct Record {
    folder: PathBuf,
}

/// Files that are made after the list, or that it cannot have a digest of.
const WITHOUT: &[&[u8]] = &[b".pyc", b"/RECORD", b"/RECORD.jws", b"/RECORD.p7s"];

impl Record {
    pub(super) fn of(path: &Path) -> Self {
        let info = path.parent().unwrap_or(Path::new(""));
        let folder =
            info.file_name().and(info.parent()).map_or_else(|| info.join(".."), Path::to_owned);
        Self { folder }
    }
}

impl Form for Record {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        let mut wrong = |name: &[u8], cause| said.push(Err(without_digest(name, cause)));
        let Some((name, digest, size)) = columns(line) else {
            return wrong(b"", "not a name, a digest and a length");
        };
        let size = match size {
            [] => None,
            size => match str::from_utf8(size).ok().and_then(|it| it.parse().ok()) {
                Some(size) => Some(size),
                None => return wrong(&name, "the length is not a number"),
            },
        };
        if digest.is_empty() {
            if !WITHOUT.iter().any(|it| name.ends_with(it)) {
                wrong(&name, "no digest");
            }
            return;
        }
        let Some(equals) = digest.iter().position(|it| *it == b'=') else {
            return wrong(&name, "a digest without the name of its algorithm");
        };
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(&digest[equals + 1..]) else {
            return wrong(&name, "the digest is not base64");
        };
        let (tag, digits) = (digest[..equals].into(), hex(&bytes).into());
        let name = Some(within(&self.folder, &name));
        said.push(Ok(Parts { tag, digits, name, size }));
    }
}

/// The name without its quotes, and the other two columns, which have none.
fn columns(line: &[u8]) -> Option<(Vec<u8>, &[u8], &[u8])> {
    let mut columns = line.rsplitn(3, |it| *it == b',');
    let (size, digest, name) = (columns.next()?, columns.next()?, columns.next()?);
    let Some(quoted) = name.strip_prefix(b"\"") else {
        let is_plain = !name.iter().any(|it| matches!(it, b'"' | b','));
        return is_plain.then(|| (name.into(), digest, size));
    };
    let name = str::from_utf8(quoted.strip_suffix(b"\"")?).ok()?.replace("\"\"", "\u{0}");
    let is_whole = !name.contains('"');
    is_whole.then(|| (name.replace('\u{0}', "\"").into(), digest, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn record_is_below_the_folder_of_the_package() {
        let text = "a.py,sha256=AAAA,3\n/etc/a,sha256=AAAA,3\n\"b,\"\"c\"\"\",sha256=AAAA,\nx.dist-info/RECORD,,\nd,,\ne,sha256=A,1\na,b,sha256=AAAA,3\n";
        assert_eq!(
            read(&mut Record::of(Path::new("lib/x.dist-info/RECORD")), text),
            [
                "sha256 lib/a.py 3",
                "sha256 /etc/a 3",
                "sha256 lib/b,\"c\"",
                "! no digest",
                "! the digest is not base64",
                "! not a name, a digest and a length"
            ]
        );
        assert_eq!(Record::of(Path::new("RECORD")).folder, Path::new(".."));
        assert_eq!(Record::of(Path::new("x.dist-info/RECORD")).folder, Path::new(""));
    }
}
