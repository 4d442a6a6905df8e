//! The objects of git-annex: `xx/yy/KEY/KEY` (`xxx/yyy` in a bare repository), where KEY is `BACKEND-sSIZE--DIGEST`.

use super::object::{Object, Said, below, object};
use crate::algorithm::Algorithm;
use std::path::PathBuf;

/// A key, taken apart.
struct Key<'a> {
    algorithm: Algorithm,
    digits: &'a str,
    size: Option<u64>,
}

pub(super) fn objects(root: PathBuf) -> impl Iterator<Item = Object> {
    below(&root, "objects").filter_map(|(entry, inside)| {
        let mut parts = inside.rsplit('/');
        let said = match (parts.next(), parts.next()) {
            (Some(name), Some(folder)) if name == folder => match key(name) {
                Ok(Key { algorithm, digits, size }) => {
                    match Said::object(digits, vec![algorithm]) {
                        Said::Object(about) => Said::Object(Box::new(about.size(size))),
                        said => said,
                    }
                }
                Err(why) => why,
            },
            (Some(name), _) if name.ends_with(".lck") => Said::Passed(""),
            _ if inside.split('/').count() < 5 => Said::Folder,
            _ => Said::Other("not a key of git-annex".into()),
        };
        object(entry, said, &[])
    })
}

fn key(name: &str) -> Result<Key<'_>, Said> {
    let without = |why: String| Said::Without(why);
    let other = |why: String| Said::Other(why);
    let (head, rest) =
        name.split_once("--").ok_or_else(|| other("not a key of git-annex".into()))?;
    let mut fields = head.split('-');
    let backend = fields.next().unwrap_or_default();
    let mut size = None;
    for field in fields {
        match field.split_at_checked(1) {
            Some(("s", number)) => size = number.parse().ok(),
            Some(("S" | "C", _)) => {
                return Err(without("a chunk, whose key is that of the whole file".into()));
            }
            _ => {}
        }
    }
    // With an extension of the file after the digest.
    let with_extension = backend.strip_suffix('E').and_then(|it| Algorithm::tagged(it.as_bytes()));
    let algorithm = Algorithm::tagged(backend.as_bytes()).or(with_extension);
    let algorithm = algorithm.ok_or_else(|| match backend {
        "WORM" | "URL" => without(format!("{backend} keys have no digest")),
        _ => without(format!("{backend} is not supported")),
    })?;
    let digits = match with_extension {
        Some(_) => rest.split('.').next().unwrap_or_default(),
        None => rest,
    };
    let is_digest = digits.len() == 2 * algorithm.digest_len()
        && digits.bytes().all(|it| it.is_ascii_hexdigit());
    match is_digest {
        true => Ok(Key { algorithm, digits, size }),
        false => Err(other(format!("not a digest of {backend}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_a_backend_a_length_and_a_digest() {
        let digest = "a48dbc2e84359deb39b0d976624506d4e9cf44c97494328a7f872b1a6fcce0c0";
        for (name, expected) in [
            (format!("SHA256-s15--{digest}"), Some(("sha256", Some(15)))),
            (format!("SHA256E-s15-m3--{digest}.tar.gz"), Some(("sha256", Some(15)))),
            (format!("SHA256E-s15--{digest}"), Some(("sha256", Some(15)))),
            (format!("SHA3_256--{digest}"), Some(("sha3-256", None))),
            (format!("BLAKE2S256E--{digest}.&c%x"), Some(("blake2s-256", None))),
            (format!("SHA256-s15-S10-C2--{digest}"), None),
            (format!("SKEIN256-s15--{digest}"), None),
            (format!("SHA256-s15--{digest}.txt"), None),
            ("WORM-s15-m1--a.txt".into(), None),
            ("no key".into(), None),
        ] {
            let found = key(&name).ok().map(|it| (it.algorithm.name(), it.size));
            assert_eq!(found, expected, "{name}");
        }
    }
}
