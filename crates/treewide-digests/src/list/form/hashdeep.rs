//! The lists of hashdeep, which are made of evidence: a header names the columns, and the name is the rest of the line.

use super::Form;
use crate::list::line::{Parts, Said, digests, without_digest};

#[derive(Debug, Default)]
pub(super) struct Hashdeep {
    /// The algorithms, between the length and the name.
    columns: Vec<Vec<u8>>,
}

impl Form for Hashdeep {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) {
        // A digit that is damaged may become one #.
        let mut wrong = |name: &[u8], cause| said.push(Err(without_digest(name, cause)));
        if line.starts_with(b"%%%% HASHDEEP-") || line.starts_with(b"##") {
            if digests(line).into_iter().any(|(_, _, after)| after.starts_with(b",")) {
                wrong(b"", "a comment with a digest and a name in it");
            }
            return;
        }
        if let Some(columns) = line.strip_prefix(b"%%%% ") {
            let columns: Vec<_> = columns.split(|it| *it == b',').collect();
            match columns[..] {
                [b"size", ref algorithms @ .., b"filename"] if !algorithms.is_empty() => {
                    self.columns = algorithms.iter().map(|it| it.to_vec()).collect();
                }
                _ => wrong(b"", "columns that are not known"),
            }
            return;
        }
        let columns: Vec<_> = line.splitn(self.columns.len() + 2, |it| *it == b',').collect();
        let ([size, digests @ .., name], true) =
            (&columns[..], columns.len() == self.columns.len() + 2)
        else {
            return wrong(b"", "not as many columns as the header names");
        };
        let Some(size) = str::from_utf8(size).ok().and_then(|it| it.parse().ok()) else {
            return wrong(name, "the length is not a number");
        };
        if digests.is_empty() {
            return wrong(name, "no digest");
        }
        let parts = self.columns.iter().zip(digests).map(|(tag, digits)| Parts {
            tag: tag.clone(),
            digits: digits.to_vec(),
            name: Some(name.to_vec()),
            size: Some(size),
        });
        said.extend(parts.map(Ok));
    }

    fn may_end(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::form::tests::read;

    #[test]
    fn hashdeep_has_the_columns_of_its_header() {
        let text = "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## x\n6,0,1,/x/a, b\n#6,0,1,a\n6,0,a\n";
        assert_eq!(
            read(&mut Hashdeep::default(), text),
            [
                "md5 /x/a, b 6",
                "sha256 /x/a, b 6",
                "! the length is not a number",
                "! not as many columns as the header names"
            ]
        );
        assert_eq!(
            read(&mut Hashdeep::default(), "%%%% size,md5\n"),
            ["! columns that are not known"]
        );
    }
}
