//! `treewide sum --check`: check lists exactly as b3sum does.
//!
//! Strict where [`crate::check`] is forgiving: a list is UTF-8, a digest is 32 bytes in lower case,
//! every line that is not a checksum line counts as a failed check, and a list that cannot be read
//! to its end stops the run.

use crate::console::{Console, count};
use crate::digest::{self, Digest, Extent};
use crate::input::{Input, is_stdin};
use crate::name::{self, shown};
use crate::output::Output;
use anyhow::Context;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use treewide::{Hasher, OUT_LEN};

/// Everything it takes to check one line after the other.
pub(crate) struct B3sumCheck<'a> {
    pub(crate) console: &'a Console<'a>,
    pub(crate) input: Input<'a>,
    pub(crate) output: Output<'a>,
    /// A check with an offset is of no use, but b3sum does it.
    pub(crate) seek: u64,
    pub(crate) quiet: bool,
}

impl B3sumCheck<'_> {
    /// Check every list and return how many lines failed.
    pub(crate) fn all(&mut self, lists: &[PathBuf]) -> anyhow::Result<u64> {
        let mut failures = 0;
        for list in lists {
            failures += self.list(list)?;
        }
        if failures > 0 {
            let failed = count(failures, "computed checksum");
            self.console.say(&format!("WARNING: {failed} did NOT match"));
        }
        Ok(failures)
    }

    fn list(&mut self, list: &Path) -> anyhow::Result<u64> {
        let mut reader: Box<dyn BufRead> = if is_stdin(list) {
            // A second list from there is empty, and no error.
            let _ = self.input.claim_stdin("the list");
            Box::new(stdin().lock())
        } else {
            Box::new(BufReader::new(File::open(list).with_context(|| shown(list))?))
        };
        let (mut failures, mut number) = (0, 0);
        let mut line = String::new();
        // Lines before the one that is not UTF-8 have been checked by then, as with b3sum.
        while reader.read_line(&mut line).with_context(|| shown(list))? > 0 {
            number += 1;
            match parse(&line) {
                Ok(entry) => failures += u64::from(!self.holds(&entry)?),
                Err(cause) => {
                    self.console.say(&format!("{}:{number}: {cause}", shown(list)));
                    failures += 1;
                }
            }
            line.clear();
        }
        Ok(failures)
    }

    /// Check what one line says, and return whether it holds.
    fn holds(&mut self, entry: &Entry) -> anyhow::Result<bool> {
        let mut hasher = Hasher::new();
        let (holds, verdict) = match self.input.hash(&entry.path, &mut hasher) {
            Err(error) => (false, format!("FAILED ({error})")),
            Ok(_) => {
                let extent = Extent { seek: self.seek, len: OUT_LEN as u64 };
                let holds = digest::equal(&Digest::new(&hasher, extent).bytes(), &entry.digest);
                (holds, String::from(if holds { "OK" } else { "FAILED" }))
            }
        };
        if !(holds && self.quiet) {
            self.output.record(|to| writeln!(to, "{}: {verdict}", entry.listed))?;
        }
        Ok(holds)
    }
}

/// A line of a list.
#[derive(Debug)]
struct Entry {
    /// The name as the list has it, announcing backslash and all.
    listed: String,
    path: PathBuf,
    digest: Vec<u8>,
}

fn parse(line: &str) -> Result<Entry, &'static str> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.is_empty() {
        return Err("empty line");
    }
    let (mark, rest) = line.split_at(usize::from(line.starts_with('\\')));
    // From the left, for names with two blanks in them; then, for those with `) = `, the right.
    let (digits, listed) = rest
        .split_once("  ")
        .or_else(|| {
            let (name, digits) = rest.strip_prefix("BLAKE3 (")?.rsplit_once(") = ")?;
            Some((digits, name))
        })
        .ok_or("invalid check line format")?;
    if digits.len() != 2 * OUT_LEN {
        return Err("invalid hash length");
    }
    let is_lower_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digest = digest::unhex(digits.as_bytes()).filter(|_| digits.bytes().all(is_lower_hex));
    let digest = digest.ok_or("invalid hex")?;
    let path = if mark.is_empty() {
        name::to_path(listed.as_bytes())?
    } else {
        name::to_path(&name::unescape(listed.as_bytes()).ok_or("invalid backslash escape")?)?
    };
    Ok(Entry { listed: format!("{mark}{listed}"), path, digest })
}
