//! A manifest as the in-toto statement that the model-signing format of the OpenSSF signs.
//!
//! Its resources are files with BLAKE3 digests. Its subject is a name with the SHA-256 of all digests, one after the
//! other, because the format names no other hash there. Links, directories, modes and times are not in it.

use crate::error::{Error, ErrorKind};
use crate::format::manifest::Manifest;
use crate::format::record::What;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Write;
use treewide::OUT_LEN;
use treewide_files::digest::hex;

/// Names that the format leaves out at the root, with all that is below it.
pub const LEFT_OUT: [&str; 4] = [".git", ".gitattributes", ".github", ".gitignore"];

/// Writes the statement about the files of a manifest as JSON; `name` is that of its subject.
///
/// The same manifest and name give the same bytes.
///
/// # Errors
/// If the manifest cannot be read, if its index is damaged or belongs to another list, if a name is not UTF-8, which the format cannot hold, or if
/// `to` cannot be written.
///
/// ```
/// # let list = std::env::temp_dir().join("treewide-manifest-doc-statement.b3");
/// # std::fs::write(&list, format!("{}  a\n", treewide::hash(b"a"))).unwrap();
/// let manifest = treewide_manifest::Manifest::open(&list)?;
/// let mut text = Vec::new();
/// treewide_manifest::statement::write(&manifest, "model", &mut text)?;
/// assert!(text.starts_with(br#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"model","#));
/// # std::fs::remove_file(&list).unwrap();
/// # Ok::<(), treewide_manifest::Error>(())
/// ```
pub fn write(manifest: &Manifest, name: &str, to: &mut dyn Write) -> Result<(), Error> {
    let mut all = Sha256::new();
    files(manifest, |_, digest| {
        all.update(digest);
        Ok(())
    })?;
    let broken = |error| Error::write("", error);
    let root = hex(&all.finalize());
    write!(
        to,
        "{{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{{\"name\":{},\"digest\":{{\"sha256\":\"{root}\"}}}}],\
         \"predicateType\":\"https://model_signing/signature/v1.0\",\"predicate\":{{\"serialization\":{{\"method\":\"files\",\
         \"hash_type\":\"blake3\",\"allow_symlinks\":false,\"ignore_paths\":{}}},\"resources\":[",
        Value::from(name),
        Value::from(&LEFT_OUT[..]),
    )
    .map_err(broken)?;
    let mut sign = "\n";
    files(manifest, |path, digest| {
        let digest = hex(digest);
        write!(
            to,
            "{sign}{{\"name\":{},\"algorithm\":\"blake3\",\"digest\":\"{digest}\"}}",
            Value::from(path)
        )
        .map_err(broken)?;
        sign = ",\n";
        Ok(())
    })?;
    to.write_all(b"\n]}}\n").map_err(broken)
}

/// The files that a statement names, in the order of their names.
fn files(
    manifest: &Manifest,
    mut each: impl FnMut(&str, &[u8; OUT_LEN]) -> Result<(), Error>,
) -> Result<(), Error> {
    manifest.check_index()?;
    let wrong = |cause: String| Error::new(manifest.list().path(), ErrorKind::List(cause));
    let mut records = manifest.records()?;
    for record in records.by_ref() {
        let record = record?;
        let digest = match &record.what {
            What::File(file) => &file.digest,
            What::Unknown(cause, _) => return Err(wrong(cause.clone())),
            _ => continue,
        };
        let Ok(name) = str::from_utf8(&record.name) else {
            let shown = treewide_files::name::shown(&crate::format::name::path(&record.name));
            return Err(wrong(format!(
                "has {shown}, which is not UTF-8, and a statement cannot name it; rename the file, or sign the list"
            )));
        };
        let top = name.split('/').next().unwrap_or(name);
        if !LEFT_OUT.contains(&top) {
            each(name, digest)?;
        }
    }
    records.check(manifest.list().path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::list::List;

    fn statement(names: &[&str]) -> Result<Value, Error> {
        let lines: String = names
            .iter()
            .map(|name| format!("{}  {name}\n", treewide::hash(name.as_bytes())))
            .collect();
        let (folder, mut text) = (tempfile::tempdir().unwrap(), Vec::new());
        let path = folder.path().join("X.b3");
        std::fs::write(&path, lines).unwrap();
        let list = List::open(&path)?;
        write(&Manifest::of_list(list), "a \"model\"", &mut text)?;
        Ok(serde_json::from_slice(&text).unwrap())
    }

    #[test]
    fn statement_has_all_files_but_those_of_git() {
        let said =
            statement(&["b/\"c\"", "a", ".git/config", ".gitignore", ".gitx", "a-b"]).unwrap();
        let resources = said["predicate"]["resources"].as_array().unwrap();
        let names: Vec<&str> = resources.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, [".gitx", "a", "a-b", "b/\"c\""]);
        let mut all = Sha256::new();
        for (it, name) in resources.iter().zip(&names) {
            let digest = treewide::hash(name.as_bytes());
            assert_eq!(it["digest"], digest.to_hex().as_str());
            assert_eq!(it["algorithm"], "blake3");
            all.update(digest.as_bytes());
        }
        assert_eq!(said["subject"][0]["digest"]["sha256"], hex(&all.finalize()));
        assert_eq!(said["subject"][0]["name"], "a \"model\"");
        assert_eq!(statement(&[]).unwrap()["predicate"]["resources"], Value::Array(Vec::new()));
    }

    #[test]
    fn statement_refuses_names_that_could_be_others() {
        let error = statement(&["a\u{fffd}"]).unwrap_err();
        assert!(error.to_string().contains("U+FFFD"), "{error}");
    }
}
