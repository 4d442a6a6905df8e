//! JSON documents that name files and digests, such as the page of a release: `"digest": "sha256:.."` next to `"name"`.

use crate::algorithm::Algorithm;
use serde_json::Value;

/// A file of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    /// The name of the algorithm, and the digest.
    pub(crate) digest: String,
}

/// The files of a document, in its order.
pub(crate) fn assets(document: &Value) -> Vec<Asset> {
    let mut found = Vec::new();
    collect(document, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<Asset>) {
    match value {
        Value::Array(values) => values.iter().for_each(|it| collect(it, found)),
        Value::Object(object) => {
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            match (text("name"), text("digest")) {
                (Some(name), Some(digest)) if is_digest(digest) => found.push(Asset {
                    name: name.into(),
                    size: object.get("size").and_then(Value::as_u64),
                    digest: digest.into(),
                }),
                _ => object.values().for_each(|it| collect(it, found)),
            }
        }
        _ => {}
    }
}

/// Whether this is the name of an algorithm, `:` and a digest.
fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(tag, digits)| {
        Algorithm::tagged(tag.as_bytes()).is_some()
            && digits.bytes().all(|it| it.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found_at_any_depth() {
        let page = r#"{"name": "v1", "digest": null, "assets": [
            {"name": "a.tar", "size": 6, "digest": "sha256:b6a9"},
            {"name": "b.tar", "digest": "no digest"},
            {"name": "c.tar", "digest": "sha512:00"}]}"#;
        let found = assets(&serde_json::from_str(page).unwrap());
        let names: Vec<_> = found.iter().map(|it| (&it.name[..], it.size)).collect();
        assert_eq!(names, [("a.tar", Some(6)), ("c.tar", None)]);
    }
}
