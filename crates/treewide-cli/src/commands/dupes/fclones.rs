//! The report of `fclones group` as JSON, on which `fclones remove`, `link` and `dedupe` act.

use crate::shell::output::Output;
use crate::shell::terminal::Form;
use anyhow::Context;
use std::path::Path;
use std::time::SystemTime;
use treewide_files::digest::hex;
use treewide_files::name::shown;
use treewide_manifest::day;
use treewide_manifest::found::Found;

/// The version whose format this is.
const VERSION: &str = "0.35.0";

/// Writes the report of files that were looked at since `begun`.
pub(super) fn write(
    mut found: Found,
    begun: SystemTime,
    output: &mut Output,
) -> anyhow::Result<()> {
    let time = day::at(begun);
    // fclones parses the command again, and takes from it that one file of each group stays.
    let base = json(&absolute(Path::new("."))?);
    let mut text = format!(
        "{{\"header\":{{\"version\":\"{VERSION}\",\"timestamp\":\"{time}\",\"command\":[\"fclones\",\"group\",\".\"],\
         \"base_dir\":{base},\"stats\":null}},\"groups\":["
    );
    while let Some(group) = found.next() {
        let group = group?;
        let files = group.members.iter().map(|it| Ok(json(&absolute(&found.path(it))?)));
        let files = files.collect::<anyhow::Result<Vec<_>>>()?;
        // Directories know it.
        let size = group.size.unwrap_or_default();
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
