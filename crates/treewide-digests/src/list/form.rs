//! Forms that every line of a list has, if one line or the list's name shows it.

mod csv;
mod gentoo;
mod hashdeep;
mod lock;
mod mtree;
mod sfv;
mod wheel;

use super::line::Said;
use std::fmt::Debug;
use std::path::Path;

/// A form that every line must have. A line that has another is a fault.
pub(crate) trait Form: Debug + Send {
    /// Reads a line that is not empty.
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>);

    /// The list is over.
    fn end(&mut self, said: &mut Vec<Said>) {
        let _ = said;
    }

    /// Whether the last line can be whole without a line end.
    fn may_end(&self) -> bool {
        false
    }
}

/// The form of a list with this name.
pub(crate) fn of_title(path: &Path) -> Option<Box<dyn Form>> {
    let name = path.file_name()?.to_str()?;
    match name {
        "RECORD" => Some(Box::new(wheel::Record::of(path))),
        _ if name.to_ascii_lowercase().ends_with(".sfv") => Some(Box::new(sfv::Sfv)),
        _ => Some(Box::new(lock::Lock::of(name)?)),
    }
}

/// The form of a list at `path` with this line.
pub(crate) fn of_line(path: &Path, line: &[u8]) -> Option<Box<dyn Form>> {
    if line.starts_with(b"%%%% HASHDEEP-") {
        return Some(Box::<hashdeep::Hashdeep>::default());
    }
    if csv::is_header(line) {
        return Some(Box::new(csv::Csv));
    }
    if line.starts_with(b"#mtree") || line.starts_with(b"/set ") {
        return Some(Box::<mtree::Mtree>::default());
    }
    // In a list of this name also an entry that has lost its digests is one.
    let is_entry = match path.file_name() {
        Some(name) if name == "Manifest" => gentoo::is_file(line),
        _ => gentoo::is_entry(line),
    };
    is_entry.then(|| Box::new(gentoo::Manifest::of(path)) as Box<dyn Form>)
}

/// The name of a file in `folder`, if it is relative.
pub(crate) fn within(folder: &Path, name: &[u8]) -> Vec<u8> {
    below(folder.as_os_str().as_encoded_bytes(), name)
}

/// As [`within`].
pub(crate) fn below(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if name.starts_with(b"/") {
        return name.into();
    }
    let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    [folder, slash, name].concat()
}

/// Whether the mark of a comment is one, and not a damaged digit or letter of a name: a blank, another mark or nothing is after it.
fn is_comment(line: &[u8], mark: u8) -> bool {
    line[0] == mark && line.get(1).is_none_or(|it| it.is_ascii_whitespace() || *it == mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::line::Parts;

    /// What the lines of a list say, the digests without their digits.
    pub(super) fn read(form: &mut dyn Form, text: &str) -> Vec<String> {
        let mut said = Vec::new();
        text.lines().filter(|it| !it.is_empty()).for_each(|it| form.line(it.as_bytes(), &mut said));
        form.end(&mut said);
        let shown = said.into_iter().map(|it| match it {
            Ok(Parts { tag, name, size, .. }) => {
                let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
                let size = size.map_or_else(String::new, |it| format!(" {it}"));
                format!("{} {}{size}", text(tag), text(name.unwrap_or_default()))
            }
            Err(fault) => format!("! {fault}"),
        });
        shown.collect()
    }

    #[test]
    fn of_line_knows_the_first_lines_of_forms() {
        let is_known = |line: &str| of_line(Path::new("x"), line.as_bytes()).is_some();
        for line in [
            "%%%% HASHDEEP-1.0",
            "Algorithm,Hash,Path",
            "#mtree v2",
            "/set type=file",
            "DIST a 6 SHA512 00",
        ] {
            assert!(is_known(line), "{line}");
        }
        for line in ["# mtree", "DIST a b SHA512 00", "DATA is 6", "%%%%"] {
            assert!(!is_known(line), "{line}");
        }
        assert!(of_line(Path::new("d/Manifest"), b"DIST a 6").is_some());
        assert!(of_line(Path::new("d/Manifest"), b"00  DIST").is_none());
        assert!(of_title(Path::new("d/a.SFV")).is_some());
        assert!(of_title(Path::new("RECORDS")).is_none());
    }
}
