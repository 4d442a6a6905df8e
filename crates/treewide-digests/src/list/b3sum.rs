//! Lines exactly as b3sum reads them: two forms, 64 digits in lower case, and every other line is a failure.

use crate::algorithm::Algorithm;
use crate::expected::{By, Expected};
use treewide_files::check::Line;
use treewide_files::digest::{self, Extent};
use treewide_files::list::{self, Entry, Fault, NameIs};
use treewide_files::name;

/// The digest of the line begins at byte `seek` of the output.
pub(super) fn line(line: &[u8], seek: u64) -> Result<Line<Expected>, Fault> {
    // Of more than one, the list has taken off one.
    let line = &line[..line.iter().rposition(|it| *it != b'\r').map_or(0, |at| at + 1)];
    if line.is_empty() {
        return Err("empty line".into());
    }
    let strict = list::strict(line).ok_or("invalid check line format")?;
    if strict.digits.len() != 2 * treewide::OUT_LEN {
        return Err("invalid hash length".into());
    }
    let is_lower = strict.digits.iter().all(|it| !it.is_ascii_uppercase());
    let digest = digest::unhex(strict.digits).filter(|_| is_lower).ok_or("invalid hex")?;
    let plain =
        if strict.has_escapes { name::unescape(strict.name) } else { Some(strict.name.into()) };
    let name = plain.ok_or("invalid backslash escape")?;
    name::to_path(&name)?;
    let extent = Extent::new(seek, digest.len() as u64).map_err(|error| error.to_string())?;
    let mut about = Expected::new(digest.clone(), By::Option, vec![Algorithm::BLAKE3]);
    let mark = if strict.has_escapes { "\\" } else { "" };
    about.listed = Some(format!("{mark}{}", String::from_utf8_lossy(strict.name)));
    let entry = Entry { name, name_is: NameIs::Exact, others: vec![], digest };
    Ok(Line { entry, extent, about, has_free_length: false })
}
