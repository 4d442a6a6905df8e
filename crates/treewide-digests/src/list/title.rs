//! Facts in the name of a list: the algorithm, the file that a digest alone is of, the bag whose manifest it is.

use super::digits;
use crate::algorithm::Algorithm;
use crate::store::read_small;
use std::path::{Path, PathBuf};

/// Words in the name of a list, without `sum` or `sums` at their end.
const WORDS: &[(&str, Algorithm)] = &[
    ("md5", Algorithm::MD5),
    ("sha1", Algorithm::SHA1),
    ("sha224", Algorithm::SHA224),
    ("sha256", Algorithm::SHA256),
    ("sha384", Algorithm::SHA384),
    ("sha512", Algorithm::SHA512),
    ("blake3", Algorithm::BLAKE3),
    // In other places they mean the second and third version of something.
    (".b2", Algorithm::BLAKE2B_512),
    (".b3", Algorithm::BLAKE3),
    ("b2sum", Algorithm::BLAKE2B_512),
    ("b3sum", Algorithm::BLAKE3),
    (".sfv", Algorithm::CRC32),
];

/// What is known of a list before its first line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Title {
    path: PathBuf,
    name: String,
    /// The algorithm of its untagged lines.
    pub(crate) algorithm: Option<Algorithm>,
    /// The bytes of each digest, if the caller knows.
    pub(crate) digest_len: Option<u64>,
    /// The file that a digest alone is of.
    pub(crate) subject: Option<PathBuf>,
    /// The bag whose manifest it is.
    pub(crate) bag: Option<Bag>,
}

/// A directory in the form BagIt.
#[derive(Clone, Debug)]
pub(crate) struct Bag {
    pub(crate) root: PathBuf,
    /// Whether `%` itself is escaped.
    pub(crate) escapes_percent: bool,
}

impl Title {
    /// Of the list at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        let Some(name) = path.file_name().and_then(|it| it.to_str()) else {
            return Self::default();
        };
        let suffix = name.rfind('.').map_or("", |dot| &name[dot..]);
        let words = name.split(['.', '_', '-']).chain([suffix]);
        let mut algorithms: Vec<_> = words.filter_map(algorithm).collect();
        algorithms.dedup();
        let algorithm = if let [only] = algorithms[..] { Some(only) } else { None };
        let is_algorithm = [suffix, suffix.trim_start_matches('.')].map(self::algorithm);
        let subject = is_algorithm.iter().flatten().next().map(|_| path.with_extension(""));
        let manifest = name.strip_prefix("tag").unwrap_or(name).strip_prefix("manifest-");
        let manifest = manifest.and_then(|it| it.strip_suffix(".txt"));
        let bag = manifest.and_then(|_| Bag::at(path.parent().unwrap_or(Path::new(""))));
        let algorithm = match manifest {
            Some(named) if bag.is_some() => Algorithm::tagged(named.as_bytes()),
            _ => algorithm,
        };
        let (path, name) = (path.into(), name.into());
        Self { path, name, algorithm, digest_len: None, subject, bag }
    }

    /// Whether the list has this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    pub(crate) fn has_suffix(&self, suffix: &str) -> bool {
        self.name.to_ascii_lowercase().ends_with(suffix)
    }

    /// Whether the name has the form that apt gives to names of lists: `deb.debian.org_debian_dists_x_InRelease`.
    pub(crate) fn is_or_ends_in(&self, name: &str) -> bool {
        self.is(name) || self.name.strip_suffix(name).is_some_and(|it| it.ends_with('_'))
    }

    /// The directory of the list.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Whether a word of a line without the name of an algorithm is meant as a digest.
    pub(crate) fn is_digest(&self, word: &[u8]) -> bool {
        /// Numbers have fewer digits.
        const FEWEST: usize = 16;
        let is_long = word.len() >= FEWEST || self.digest_len == Some(word.len() as u64 / 2);
        is_long && word.iter().all(u8::is_ascii_hexdigit)
            || self.algorithm.is_some_and(|it| digits::base64(word, it).is_some())
    }
}

/// The algorithm that a word of a name stands for.
fn algorithm(word: &str) -> Option<Algorithm> {
    let word = word.to_ascii_lowercase();
    let sum = word.strip_suffix("sums").map(|it| format!("{it}sum")).unwrap_or(word);
    let stem = sum.strip_suffix("sum").unwrap_or(&sum);
    WORDS.iter().find(|(it, _)| *it == stem || *it == sum).map(|(_, algorithm)| *algorithm)
}

/// The name that a list has for a path: with slashes, also on Windows.
pub(crate) fn name_of(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|it| if cfg!(windows) && *it == b'\\' { b'/' } else { *it }).collect()
}

/// The name of a file in `folder`, if it is relative.
pub(crate) fn below(folder: &Path, name: &[u8]) -> Vec<u8> {
    let folder = name_of(folder);
    match folder.is_empty() || name.starts_with(b"/") {
        true => name.into(),
        false => [&folder[..], b"/", name].concat(),
    }
}

impl Bag {
    /// The bag at `root`, if there is one.
    pub(crate) fn at(root: &Path) -> Option<Self> {
        let declaration = String::from_utf8(read_small(&root.join("bagit.txt")).ok()?).ok()?;
        let declaration = declaration.trim_start_matches('\u{FEFF}');
        let version = declaration.strip_prefix("BagIt-Version:")?.trim_start();
        let major = version.split('.').next()?.parse::<u64>().ok()?;
        Some(Self { root: root.into(), escapes_percent: major >= 1 })
    }

    /// The bytes of the path that a manifest calls `name`.
    ///
    /// # Errors
    /// If it leads out of the bag.
    pub(crate) fn path(&self, name: &[u8]) -> Result<Vec<u8>, &'static str> {
        let (mut path, mut rest) = (below(&self.root, b""), name);
        while let Some((first, after)) = rest.split_first() {
            let escape = rest.get(..3).map(<[u8]>::to_ascii_uppercase);
            let (byte, len) = match escape.as_deref() {
                Some(b"%0A") => (b'\n', 3),
                Some(b"%0D") => (b'\r', 3),
                Some(b"%25") if self.escapes_percent => (b'%', 3),
                _ => (*first, rest.len() - after.len()),
            };
            path.push(byte);
            rest = &rest[len..];
        }
        let leads_out =
            name.starts_with(b"/") || name.split(|it| *it == b'/').any(|it| it == b"..");
        if leads_out { Err("leads out of the bag") } else { Ok(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_finds_the_algorithm_in_the_name() {
        for (name, expected) in [
            ("SHA256SUMS", Some(Algorithm::SHA256)),
            ("tool_1.2_SHA256SUMS", Some(Algorithm::SHA256)),
            ("a.iso.sha256", Some(Algorithm::SHA256)),
            ("a.sha256sum", Some(Algorithm::SHA256)),
            ("manifest-sha512.txt", Some(Algorithm::SHA512)),
            ("checksums_sha256.txt", Some(Algorithm::SHA256)),
            ("md5sums", Some(Algorithm::MD5)),
            ("B2SUMS", Some(Algorithm::BLAKE2B_512)),
            ("photos.b3", Some(Algorithm::BLAKE3)),
            ("tool-1.0-b3.txt", None),
            ("x_b2_checksums.txt", None),
            ("tool-b3_SHA256SUMS", Some(Algorithm::SHA256)),
            ("sha256.sha256", Some(Algorithm::SHA256)),
            ("sha256-and-md5.txt", None),
            ("checksums.txt", None),
            ("SUMS", None),
            ("sha256x", None),
            ("mysha256", None),
        ] {
            assert_eq!(Title::of(Path::new(name)).algorithm, expected, "{name}");
        }
        assert_eq!(Title::of(Path::new("d/a.iso.sha256")).subject, Some("d/a.iso".into()));
        assert_eq!(Title::of(Path::new("SHA256SUMS")).subject, None);
    }

    #[test]
    fn path_undoes_the_escapes_of_its_version() {
        for (escapes_percent, name, path) in [
            (true, "data/new%0Aline", "b/data/new\nline"),
            (true, "data/100%25.txt", "b/data/100%.txt"),
            (false, "data/100%25.txt", "b/data/100%25.txt"),
            (false, "data/a%0d%0A%", "b/data/a\r\n%"),
        ] {
            let bag = Bag { root: "b".into(), escapes_percent };
            assert_eq!(bag.path(name.as_bytes()), Ok(path.as_bytes().to_vec()));
        }
        let bag = Bag { root: "b".into(), escapes_percent: true };
        for name in ["/etc/passwd", "data/../../x"] {
            assert!(bag.path(name.as_bytes()).is_err(), "{name}");
        }
    }
}
