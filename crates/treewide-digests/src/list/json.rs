//! Documents of JSON, and lines of it. Each object is an entry, or a known place of entries, or an error.
//!
//! | shape | program |
//! |---|---|
//! | an entry: a name, digests, and the length | `treewide sum --json`, `Get-FileHash`, pages of releases |
//! | an array of entries | `ConvertTo-Json`, Zenodo |
//! | an object with such an array in `assets`, `files`, `urls` or `subject` | GitHub, Zenodo, PyPI, in-toto |
//! | `repodata.json`, with `packages` that are named by their keys | conda |
//!
//! There may be any other keys, if they have no digest in them: it may be that of a file.

use super::digits;
use super::reader::{Parts, Reader, Said, quoted, without_digest};
use super::title::{Title, below};
use crate::algorithm::Algorithm;
use serde_json::{Map, Value};
use treewide_files::digest::unhex;
use treewide_files::list::MAX_LINE;
use treewide_files::list::json::document;

/// Keys of the array in which entries are.
const ARRAYS: &[&str] = &["assets", "files", "urls", "subject"];
/// Keys of the name of a file. An entry has one of them.
const NAMES: &[&str] = &["path", "name", "file", "filename", "key", "Path"];
/// Keys of a digest, or of an object with digests by their algorithms. Next to them, the names of algorithms are keys of digests.
const DIGESTS: &[&str] = &["digest", "hash", "checksum", "integrity", "Hash", "digests", "hashes"];
const SIZES: &[&str] = &["size", "bytes", "filesize"];
/// Keys of values in which digests are not those of files here, but of a commit, the inputs of a build, what is made of a file.
const OF_OTHERS: &[&str] = &[
    "predicate",
    "target_commitish",
    "core-metadata",
    "data-dist-info-metadata",
    "legacy_bz2_md5",
    "signatures",
];
/// Keys of objects with packages by their names, in `repodata.json`.
const PACKAGES: &[&str] = &["packages", "packages.conda"];

#[derive(Debug)]
pub(crate) struct Json {
    title: Title,
    /// The lines of a document, until its end.
    text: Vec<u8>,
    is_too_long: bool,
    /// Whether each line is a document.
    has_lines: bool,
}

impl Json {
    pub(crate) fn of(title: &Title) -> Self {
        Self { title: title.clone(), text: Vec::new(), is_too_long: false, has_lines: false }
    }

    fn document(&self, text: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let document = document(text)?;
        let before = said.len();
        match document {
            Value::Array(values) => values.iter().try_for_each(|it| entry(None, it, said))?,
            Value::Object(object) => self.object(&object, said)?,
            _ => {}
        }
        if said.len() > before { Ok(()) } else { Err("JSON that names no file".into()) }
    }

    fn object(&self, object: &Map<String, Value>, said: &mut Vec<Said>) -> Result<(), String> {
        if self.title.is_or_ends_in("repodata.json") || object.contains_key("repodata_version") {
            no_digest(object, |it| PACKAGES.contains(&it))?;
            for packages in PACKAGES.iter().filter_map(|it| object.get(*it)) {
                let packages =
                    packages.as_object().ok_or("JSON with packages that have no names")?;
                for (name, it) in packages {
                    entry(Some(&below(self.title.folder(), name.as_bytes())), it, said)?;
                }
            }
            return Ok(());
        }
        let place = |key: &&'static str| Some((*key, object.get(*key)?.as_array()?));
        match ARRAYS.iter().filter_map(place).collect::<Vec<_>>()[..] {
            [(key, entries)] => {
                no_digest(object, |it| it == key)?;
                entries.iter().try_for_each(|it| entry(None, it, said))
            }
            [] if NAMES.iter().any(|it| object.contains_key(*it)) => {
                entry(None, &object.clone().into(), said)
            }
            _ => Err("JSON without a file's name, and without one array of assets, files, urls or subject".into()),
        }
    }
}

/// What is not read of an object may hold no digest.
fn no_digest(object: &Map<String, Value>, is_read: impl Fn(&str) -> bool) -> Result<(), String> {
    fn is_digest(text: &str) -> bool {
        let (tag, digits) = digits::tag(text.as_bytes());
        let digest = digits::decode(digits, Algorithm::tagged(tag));
        digest.is_some_and(|it| it.len() >= Algorithm::MD5.digest_len())
    }
    fn is_at((key, value): (&String, &Value)) -> bool {
        let is_key = || tag_of(key).is_some() || is_digest(key);
        !OF_OTHERS.contains(&&key[..]) && (is_key() || is_below(value))
    }
    fn is_below(value: &Value) -> bool {
        match value {
            Value::Array(values) => values.iter().any(is_below),
            Value::Object(object) => object.iter().any(is_at),
            Value::String(text) => is_digest(text),
            _ => false,
        }
    }
    let mut unread = object.iter().filter(|it| !is_read(it.0));
    let Some((key, _)) = unread.find(|it| is_at(*it)) else { return Ok(()) };
    Err(format!("JSON with a digest in {}, where none is read", quoted(key.as_bytes())))
}

/// The name of the algorithm in the key of a digest, which may be empty. `None` if it is another key.
fn tag_of(key: &str) -> Option<&str> {
    let tag = ["sum", "_digest"].iter().find_map(|it| key.strip_suffix(it)).unwrap_or(key);
    let is_known = Algorithm::tagged(tag.as_bytes()).is_some();
    is_known.then_some(tag).or_else(|| DIGESTS.contains(&key).then_some(""))
}

/// An object about a file, which is called so if it does not say it itself.
fn entry(name: Option<&[u8]>, value: &Value, said: &mut Vec<Said>) -> Result<(), String> {
    let object = value.as_object().ok_or("JSON with an entry that is not an object")?;
    // A name may be a digest: that of a blob.
    let is_name = |it: &str| (NAMES.contains(&it) || it == "path_hex") && object[it].is_string();
    no_digest(object, |it| tag_of(it).is_some() || is_name(it))?;
    let names: Vec<_> = NAMES.iter().filter_map(|it| object.get(*it)?.as_str()).collect();
    let name = match (name, &names[..]) {
        (Some(name), _) => name.to_vec(),
        (None, [name]) => match object.get("path_hex").filter(|it| !it.is_null()) {
            None => name.as_bytes().to_vec(),
            Some(hex) => hex
                .as_str()
                .and_then(|it| unhex(it.as_bytes()))
                .filter(|it| String::from_utf8_lossy(it) == *name)
                .ok_or("path and path_hex are different names")?,
        },
        _ => return Err("JSON with an entry that names no file, or several".into()),
    };
    let mut sizes = SIZES.iter().filter_map(|it| object.get(*it)).filter(|it| !it.is_null());
    let size = sizes.next().map(|it| it.as_u64().or_else(|| it.as_str()?.parse().ok()));
    if size == Some(None) {
        said.push(Err(without_digest(&name, "the length is not a number")));
    }
    let tag = ["Algorithm", "algorithm"].iter().find_map(|it| object.get(*it)?.as_str());
    // Those of `treewide sum` have no other algorithm.
    let tag = tag.unwrap_or(if object.contains_key("bytes") { "blake3" } else { "" });
    let before = said.len();
    for (key, value) in object {
        let Some(of_key) = tag_of(key) else { continue };
        match (of_key, value) {
            ("", Value::Object(all)) => {
                said.extend(all.iter().map(|(tag, it)| digest_of(&name, tag, it, size.flatten())));
            }
            ("", Value::Null) if object.get("detail").is_some_and(Value::is_string) => {
                let error = quoted(object["detail"].as_str().unwrap_or_default().as_bytes());
                let cause =
                    format!("no digest, because of an error when the list was made: {error}");
                said.push(Err(without_digest(&name, cause)));
            }
            _ => {
                let tag = if of_key.is_empty() { tag } else { of_key };
                said.push(digest_of(&name, tag, value, size.flatten()));
            }
        }
    }
    if said.len() == before {
        said.push(Err(without_digest(&name, "no digest")));
    }
    Ok(())
}

fn digest_of(name: &[u8], tag: &str, digest: &Value, size: Option<u64>) -> Said {
    let Some(word) = digest.as_str() else {
        return Err(without_digest(name, "no digest"));
    };
    let (own, digits) = digits::tag(word.as_bytes());
    let tag = if own.is_empty() { tag.as_bytes() } else { own };
    Ok(Parts { tag: tag.into(), digits: digits.into(), name: Some(name.into()), size, other: None })
}

impl Reader for Json {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        if self.text.is_empty() && !self.is_too_long {
            let is_cut = || serde_json::from_slice::<Value>(line).is_err_and(|it| it.is_eof());
            if self.has_lines || !is_cut() {
                self.has_lines = true;
                return self.document(line, said);
            }
        }
        self.is_too_long |= self.text.len() + line.len() >= MAX_LINE as usize;
        match self.is_too_long {
            true => self.text.clear(),
            // Without a line end after the last, which then looks cut off where it is not.
            false if self.text.is_empty() => self.text.extend(line),
            false => self.text.extend([b"\n", line].concat()),
        }
        Ok(())
    }

    fn end(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        let text = std::mem::take(&mut self.text);
        match (self.is_too_long, text.is_empty()) {
            (true, _) => Err("JSON of 16 MiB or more, which is too long to be read".into()),
            (false, true) => Ok(()),
            (false, false) => self.document(&text, said),
        }
    }

    fn may_end(&self) -> bool {
        true
    }
}
