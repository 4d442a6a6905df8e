//! `a: 5891B5B5 22D5DF08 ..`, as `gpg --print-md` writes it: groups of digits, which lines with blanks in front of them continue.
//! `--print-mds` has the tag and a `=` in front of them.

use super::line::{Parts, Said, bare, without_digest};
use treewide_files::name;

/// The digest whose lines are being read.
#[derive(Debug, Default)]
pub(crate) struct Groups(Option<Parts>);

/// The least digits, some of them letters, in groups that are not prose.
const FEWEST: usize = 16;

impl Groups {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the line is one of these.
    pub(crate) fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> bool {
        if let Some(parts) = &mut self.0 {
            let is_below = matches!(line.first(), Some(b' ' | b'\t'));
            if is_below && let Some(digits) = groups(line, 1) {
                parts.digits.extend(digits);
                return true;
            }
            self.end(said);
        }
        let colons = line.windows(2).enumerate().rev().filter(|(_, it)| it == b": ");
        for (colon, _) in colons {
            let (name, rest) = (&line[..colon], line[colon + 1..].trim_ascii());
            let (tag, digits) = match rest.windows(3).position(|it| it == b" = ") {
                Some(equals) => (&rest[..equals], &rest[equals + 3..]),
                None => (&rest[..0], rest),
            };
            if let Some(digits) = groups(digits, FEWEST).filter(|_| !is_of_key(name)) {
                let name = Some(name.into());
                self.0 = Some(Parts { tag: tag.into(), digits, name, size: None });
                return true;
            }
        }
        let is_alone = bare(line).is_none() && groups(line, FEWEST).is_some();
        if is_alone {
            said.push(Err(without_digest(b"", "a digest without a file name")));
        }
        is_alone
    }

    pub(crate) fn end(&mut self, said: &mut Vec<Said>) {
        said.extend(self.0.take().map(Ok));
    }
}

/// Whether these are the words before the digits of a key, and no file is called so.
fn is_of_key(name: &[u8]) -> bool {
    let is_it = name.to_ascii_lowercase().ends_with(b"fingerprint");
    is_it && name::to_path(name).is_ok_and(|it| it.symlink_metadata().is_err())
}

/// The digits of a line of groups. One of the groups may be damaged. Programs write them in capitals.
fn groups(line: &[u8], fewest: usize) -> Option<Vec<u8>> {
    let words: Vec<_> = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()).collect();
    let is_digit = |it: &u8| matches!(it, b'0'..=b'9' | b'A'..=b'F');
    let is_group =
        |it: &&&[u8]| it.len() <= 8 && it.len().is_multiple_of(2) && it.iter().all(is_digit);
    let digits: Vec<u8> = words.iter().filter(is_group).flat_map(|it| it.iter().copied()).collect();
    let is_it = words.iter().filter(is_group).count() + 1 >= words.len()
        && words.len() > usize::from(fewest > 1)
        && digits.len() >= fewest
        && (fewest == 1 || digits.iter().any(u8::is_ascii_alphabetic));
    is_it.then(|| words.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let (mut groups, mut said) = (Groups::default(), Vec::new());
        for line in text.lines() {
            if !groups.line(line.as_bytes(), &mut said) {
                said.push(Err(without_digest(b"", "another form")));
            }
        }
        groups.end(&mut said);
        let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
        let shown = said.into_iter().map(|it| match it {
            Ok(Parts { tag, digits, name, .. }) => {
                format!("{} {} {}", text(tag), text(name.unwrap()), text(digits))
            }
            Err(fault) => fault.to_string(),
        });
        shown.collect()
    }

    #[test]
    fn line_joins_groups_of_digits() {
        let without = "a digest without a file name";
        for (text, expected) in [
            (
                "a: b: 5891B5B5 22D5DF08\n   6D0FF0B1 10\nc",
                &[" a: b 5891B5B522D5DF086D0FF0B110", "another form"][..],
            ),
            ("a:   SHA1 = F572 D396  FAE9 2066", &["SHA1 a F572D396FAE92066"]),
            ("a: 58 91 B5 B5 22 D5 D  08 00", &[" a 5891B5B522D5D0800"]),
            ("a: 5891B5BG 22D5DF08 6D0FF0B1", &[" a 5891B5BG22D5DF086D0FF0B1"]),
            ("5891B5B5 22D5DF08", &[without]),
            ("a: 2020 2021 2022 2023", &["another form"]),
            ("a: of 5891B5B5 in 22D5DF08", &["another form"]),
            ("a: b", &["another form"]),
            ("Key fingerprint: 4D64 FEC1 19C2 0290 67D6", &["another form"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
