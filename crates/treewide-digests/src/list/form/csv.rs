//! `"SHA256","HEX","a"`, as `Get-FileHash | Export-Csv` of PowerShell writes it, also without quotes.

use super::Form;
use crate::list::line::{Parts, Said, without_digest};

#[derive(Debug)]
pub(super) struct Csv;

/// Whether a line is the header.
pub(super) fn is_header(line: &[u8]) -> bool {
    matches!(line.trim_ascii_end(), b"\"Algorithm\",\"Hash\",\"Path\"" | b"Algorithm,Hash,Path")
}

impl Form for Csv {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        if is_header(line) {
            return;
        }
        let parts = columns(line).map(|[tag, digits, name]| Parts {
            tag: tag.into(),
            digits: digits.into(),
            name: Some(name.into()),
            size: None,
        });
        let cause = "not an algorithm, a digest and a path";
        said.push(parts.ok_or_else(|| without_digest(b"", cause)));
    }
}

fn columns(line: &[u8]) -> Option<[String; 3]> {
    let line = str::from_utf8(line.trim_ascii_end()).ok()?;
    let columns: Vec<_> = match line.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?.splitn(3, "\",\"").collect(),
        None => line.splitn(3, ',').collect(),
    };
    let [tag, digits, name] = columns[..] else { return None };
    // Each quote in a name is there twice.
    let name = name.replace("\"\"", "\0");
    let is_whole = !tag.is_empty() && !name.contains('"');
    is_whole.then(|| [tag.into(), digits.into(), name.replace('\0', "\"")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn csv_has_names_last() {
        let text = "\"Algorithm\",\"Hash\",\"Path\"\n\"SHA256\",\"00\",\"a,\"\"b\"\"\"\nMD5,00,c d\n\"MD5\",\"00\"\n\"MD5\",\"00\",\"a\"b\"\n,00,a\n";
        let other = "! not an algorithm, a digest and a path";
        assert_eq!(read(&mut Csv, text), ["SHA256 a,\"b\"", "MD5 c d", other, other, other]);
    }
}
