//! Lists of digests: [reading](Lines), [parsing](parse) and writing their lines.
//!
//! There are three kinds of lines for a file. A list may mix them, and may hold empty lines and comments, which begin with `#` and a blank.
//! A line of another kind is an error.
//!
//! | line | written by | read back |
//! |---|---|---|
//! | `DIGEST  NAME` | [`write_plain`], `b3sum` | also `DIGEST *NAME` |
//! | `BLAKE3 (NAME) = DIGEST` | [`write_tagged`], `b3sum --tag` | |
//! | an object with `path` and `digest` | [`json::write_digest`] | the only one for names that are not UTF-8 |
//!
//! In the first two a backslash at the start of the line says that NAME has escapes, as described in
//! [`name`](crate::name).

mod entry;
pub mod json;
mod lines;

use crate::digest::Digest;
use crate::name::Listed;
use std::io::{self, Write};

pub(crate) use entry::is_missing;
pub use entry::{Entry, Fault, NameIs, Strict, parse, strict};
pub use lines::{Lines, MAX_LINE, read_line};

/// Writes a line `DIGEST  NAME`.
///
/// # Errors
/// The errors of `to`.
pub fn write_plain(to: &mut dyn Write, name: &Listed, digest: Digest) -> io::Result<()> {
    to.write_all(name.mark().as_bytes())?;
    digest.write_hex(to)?;
    writeln!(to, "  {}", name.text())
}

/// Writes a line `BLAKE3 (NAME) = DIGEST`.
///
/// # Errors
/// The errors of `to`.
pub fn write_tagged(to: &mut dyn Write, name: &Listed, digest: Digest) -> io::Result<()> {
    write!(to, "{}BLAKE3 ({}) = ", name.mark(), name.text())?;
    digest.write_hex(to)?;
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Extent, hex};
    use std::path::Path;
    use treewide::Hasher;

    type WriteLine<'a> = &'a dyn Fn(&mut Vec<u8>) -> io::Result<()>;

    #[test]
    fn parse_reads_what_is_written() {
        let extent = Extent::new(5, 100).unwrap();
        let digest = Digest::new(&Hasher::new(), extent);
        let slash = if cfg!(windows) { "a/b" } else { r"a\b" };
        for name in ["a", "a b", " a ", "a) = b", slash, "a\nb\r", "größe"] {
            let (path, listed) = (Path::new(name), Listed::new(Path::new(name)));
            let lines: [WriteLine<'_>; 3] = [
                &|to| write_plain(to, &listed, digest.clone()),
                &|to| write_tagged(to, &listed, digest.clone()),
                &|to| json::write_digest(to, path, digest.clone(), 0),
            ];
            for write in lines {
                let mut line = Vec::new();
                write(&mut line).unwrap();
                let entry = parse(line.strip_suffix(b"\n").unwrap(), None).unwrap().unwrap();
                assert_eq!(entry.name, name.as_bytes());
                assert_eq!(hex(&entry.digest), digest.to_string());
            }
        }
    }
}
