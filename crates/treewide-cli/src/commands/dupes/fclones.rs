//! The report of `fclones group` as JSON, on which `fclones remove`, `link` and `dedupe` act.

use crate::shell::output::Output;
use crate::shell::terminal::Form;
use crate::shell::usage::wrong_value;
use anyhow::Context;
use std::path::Path;
use std::time::SystemTime;
use treewide_files::digest::hex;
use treewide_files::name::shown;
use treewide_manifest::day;
use treewide_manifest::found::Found;

/// The version whose format this is.
const VERSION: &str = "0.35.0";

/// Writes the report of files that were looked at now. An error if the directory of an operand is not here: fclones could not find
/// its files.
pub(super) fn write(
    mut found: Found,
    begun: SystemTime,
    output: &mut Output,
) -> anyhow::Result<()> {
    found.are_here("so fclones cannot find its files")?;
    let mut time = day::at(begun);
    for root in found.roots().iter().filter(|it| it.is_list()) {
        // The file of a list may be a copy, which is newer than its contents. Texts are in the order of times.
        if let Some(began) = root.began() {
            time = time.min(began.to_owned());
        }
        let there = root.path().metadata().and_then(|it| it.modified());
        time = time.min(day::at(there.with_context(|| shown(root.path()))?));
    }
    // fclones parses the command again, and takes from it that one file of each group stays.
    let base = json(&absolute(Path::new("."))?);
    let mut text = format!(
        "{{\"header\":{{\"version\":\"{VERSION}\",\"timestamp\":\"{time}\",\"command\":[\"fclones\",\"group\",\".\"],\
         \"base_dir\":{base},\"stats\":null}},\"groups\":["
    );
    while let Some(group) = found.next() {
        let group = group?;
        super::spare(&found, &group, output)?;
        let Some(size) = group.size else {
            let cause =
                "a list does not say how long its files are, which fclones needs; use a manifest";
            return Err(wrong_value(cause).into());
        };
        let mut files = Vec::new();
        for member in &group.members {
            let path = found.path(member).with_context(|| "a name that is not one here")?;
            files.push(json(&absolute(&path)?));
        }
        let (digest, files) = (hex(&group.digest.unwrap_or_default()), files.join(","));
        text +=
            &format!("\n{{\"file_len\":{size},\"file_hash\":\"{digest}\",\"files\":[{files}]}}");
        output.record(Form::Json, |to| to.write_all(text.as_bytes()))?;
        text = ",".into();
    }
    let text = if text == "," { String::new() } else { text } + "\n]}\n";
    output.record(Form::Json, |to| to.write_all(text.as_bytes()))
}

fn absolute(path: &Path) -> anyhow::Result<std::path::PathBuf> {
    std::path::absolute(path).with_context(|| shown(path))
}

/// A path as fclones has it in JSON: text, in which bytes that are none are escaped.
fn json(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text += "\\\\",
                c if c.is_control() && c.is_ascii() => text += &format!("\\x{:02X}", c as u32),
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text += &format!("\\x{byte:02X}"));
    }
    treewide_files::list::json::quoted(&text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_as_fclones_does() {
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes: &[u8]| json(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(path("ö \"a\"".as_bytes()), r#""ö \"a\"""#);
        assert_eq!(path(b"a\\b\n\xff\x01"), r#""a\\\\b\\x0A\\xFF\\x01""#);
    }
}
