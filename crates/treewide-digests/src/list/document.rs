//! JSON documents that name files and digests: the page of a release (`"digest": "sha256:.."` next to `"name"`),
//! `Get-FileHash | ConvertTo-Json`, and `.cargo-checksum.json`, by which the sources are checked that `cargo vendor` has fetched.

use super::form::within;
use super::line::{Parts, Said, digests, is_digest, without_digest};
use crate::algorithm::Algorithm;
use serde_json::{Map, Value};
use std::path::Path;

/// The files of a page, in its order. A digest that belongs to no name is a fault.
pub(crate) fn page(document: &Value, said: &mut Vec<Said>) {
    match document {
        Value::Array(values) => values.iter().for_each(|it| page(it, said)),
        Value::Object(object) => {
            let before = said.len();
            let of_powershell = ["Algorithm", "Hash", "Path"].map(|it| object.get(it));
            if of_powershell.iter().flatten().count() > 1 {
                let strings = of_powershell.map(|it| it.and_then(Value::as_str));
                let [Some(tag), Some(digits), Some(name)] = strings else {
                    let cause = "not an algorithm, a hash and a path";
                    return said.push(Err(without_digest(b"", cause)));
                };
                let parts = file(name, &Value::from(digits), None);
                return said.push(parts.map(|it| Parts { tag: tag.into(), ..it }));
            }
            let name = object.get("name").and_then(Value::as_str);
            let size = match object.get("size") {
                Some(Value::String(text)) => text.parse().ok(),
                size => size.and_then(Value::as_u64),
            };
            if let (Some(name), Some(Value::Number(_)), None) = (name, object.get("size"), size) {
                let cause = "the length is not a whole number";
                said.push(Err(without_digest(name.as_bytes(), cause)));
            }
            if let (Some(name), Some(digest)) = (name, object.get("digest")) {
                said.push(file(name, digest, size));
            }
            let others = object.iter().filter(|(key, _)| name.is_none() || *key != "digest");
            for (key, value) in others {
                match (name, value.as_str(), tag(key)) {
                    (Some(name), Some(_), Some(tag)) => {
                        let parts = file(name, value, size);
                        said.push(parts.map(|it| Parts { tag: tag.into(), ..it }));
                    }
                    (Some(name), Some(text), None) if is_digest(text.as_bytes()) && !is_id(key) => {
                        let cause = format!("a digest in a key that is not known: {key}");
                        said.push(Err(without_digest(name.as_bytes(), &cause)));
                    }
                    (None, Some(text), tag)
                        if is_digest(text.as_bytes())
                            && (tag.is_some() || is_lone(object, key, text)) =>
                    {
                        said.push(Err(without_digest(b"", "a digest without a file name")));
                    }
                    _ => page(value, said),
                }
            }
            // Damage has made one text of two.
            let name = name.unwrap_or_default();
            if said.len() == before && !digests(name.as_bytes()).is_empty() {
                said.push(Err(without_digest(b"", "a digest in the place of a name")));
            }
        }
        Value::String(text) => {
            if let Some((tag, digits)) = text.split_once(':')
                && Algorithm::tagged(tag.as_bytes()).is_some()
                && is_digest(digits.as_bytes())
            {
                said.push(Err(without_digest(b"", "a digest without a file name")));
            }
        }
        _ => {}
    }
}

/// The algorithm that a key such as `sha256` and `sha256sum` is about.
fn tag(key: &str) -> Option<&str> {
    let tag = key.strip_suffix("sum").unwrap_or(key);
    Algorithm::tagged(tag.as_bytes()).map(|_| tag)
}

/// Whether the value of a key is made of digits and is not of a file's content: `node_id`, `target_commitish`.
fn is_id(key: &str) -> bool {
    key.ends_with("id") || key.contains("commit") || key.contains("revision")
}

/// Whether a value without a name next to it is a digest of a file. Those of commits have 40 digits, and our own lines have a path.
fn is_lone(object: &Map<String, Value>, key: &str, text: &str) -> bool {
    let is_long = text.len() >= 56 && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_long && !is_id(key) && !object.contains_key("path")
}

/// Whether an object in `text` has a key twice. `document` has one of the two.
pub(crate) fn has_twice(text: &[u8], document: &Value) -> bool {
    fn keys(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(keys).sum(),
            Value::Object(object) => object.len() + object.values().map(keys).sum::<usize>(),
            _ => 0,
        }
    }
    let (mut colons, mut is_text, mut is_escaped) = (0, false, false);
    for byte in text {
        is_text ^= *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        colons += usize::from(*byte == b':' && !is_text);
    }
    colons != keys(document)
}

/// The files of the `.cargo-checksum.json` in `folder`. Its `package` is of an archive that is not here.
pub(crate) fn cargo(folder: &Path, document: &Value, said: &mut Vec<Said>) {
    let Some(files) = document.get("files").and_then(Value::as_object) else {
        return said.push(Err(without_digest(b"", "no list of files")));
    };
    said.extend(files.iter().map(|(name, digest)| {
        let parts = file(name, digest, None)?;
        let name = Some(within(folder, name.as_bytes()));
        Ok(Parts { tag: b"SHA256".into(), name, ..parts })
    }));
}

/// A digest without the name of an algorithm is as one in a line without.
fn file(name: &str, digest: &Value, size: Option<u64>) -> Said {
    let Some(digest) = digest.as_str() else {
        return Err(without_digest(name.as_bytes(), "no digest"));
    };
    let (tag, digits) = digest.split_once(':').unwrap_or(("", digest));
    Ok(Parts { tag: tag.into(), digits: digits.into(), name: Some(name.into()), size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(of: fn(&Value, &mut Vec<Said>), text: &str) -> Vec<String> {
        let mut said = Vec::new();
        of(&serde_json::from_str(text).unwrap(), &mut said);
        let shown = said.into_iter().map(|it| match it {
            Ok(parts) => {
                let text = |it: Vec<u8>| String::from_utf8(it).unwrap();
                let (name, digits) = (text(parts.name.unwrap()), text(parts.digits));
                format!("{name} {}:{digits} {:?}", text(parts.tag), parts.size)
            }
            Err(fault) => fault.to_string(),
        });
        shown.collect()
    }

    #[test]
    fn page_passes_over_no_digest() {
        let hex = "b6".repeat(32);
        let text = r#"{"name": "v1", "assets": [
            {"name": "a.tar", "size": 6, "digest": "sha256:b6a9"},
            {"name": "b.tar", "digest": "x", "more": {"name": "c.tar", "digest": "sha512:00"}},
            {"name": "d.tar", "digest": null}, {"label": "e", "digest": "sha256:@"}, {"sha256": "@"},
            {"name": "f.tar", "checksum": "sha256:@"}, {"name": "g.tar", "id": "RA_1", "commit": "@"},
            {"name": "h.tar", "size": "7", "sha256": "@", "md5sum": "00"}, {"name": "i.tar", "size": -1, "hash": "@"},
            {"name": "j.t@"}, {"size": "@"}, {"id": "@"},
            {"Algorithm": "MD5", "Hash": "00", "Path": "k"}, {"Hash": "00", "Path": "l"}]}"#;
        let without = "a digest without a file name";
        assert_eq!(
            read(page, &text.replace('@', &hex)),
            [
                "a.tar sha256:b6a9 Some(6)",
                "b.tar :x None",
                "c.tar sha512:00 None",
                "no digest",
                without,
                without,
                without,
                "h.tar md5:00 Some(7)",
                &format!("h.tar sha256:{hex} Some(7)"),
                "the length is not a whole number",
                "a digest in a key that is not known: hash",
                "a digest in the place of a name",
                without,
                "k MD5:00 None",
                "not an algorithm, a hash and a path",
            ]
        );
        assert!(read(page, r#"{"path": "a", "digest": "00"}"#).is_empty());
    }

    #[test]
    fn has_twice_is_about_keys_of_one_object() {
        for (text, is_twice) in [
            (r#"[{"a": 1, "b": {"a": ":\":\\"}}, {"a": [":", {}]}]"#, false),
            (r#"{"a": {"b": 1, "b": ":"}}"#, true),
            (r#"{"a": {"b": 1}, "a": 2}"#, true),
        ] {
            let document = serde_json::from_str(text).unwrap();
            assert_eq!(has_twice(text.as_bytes(), &document), is_twice, "{text}");
        }
    }

    #[test]
    fn cargo_names_the_files_of_a_crate() {
        assert_eq!(
            read(
                |it, said| cargo(Path::new("d"), it, said),
                r#"{"files": {"src/lib.rs": "00", "b": 3}, "package": "11"}"#
            ),
            ["b", "src/lib.rs"].map(|it| match it {
                "b" => "no digest".into(),
                it => format!("d/{it} SHA256:00 None"),
            })
        );
        assert_eq!(read(|it, said| cargo(Path::new(""), it, said), "{}"), ["no list of files"]);
    }
}
