//! Digests of files by other algorithms, which an index has next to its records: for programs that do not know BLAKE3.
//!
//! ```text
//! "also":["md5","sha256"]                          in the first line: what the index has of every file that was read since
//! "also":{"md5":"9001..","sha256":"ba78.."}        in a record: of the content whose BLAKE3 hash is the digest of the record
//! ```
//!
//! The list and the hash of the facts do not cover them; the check of the index does.

use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Index, Manifest, index_path, unusable_index};
use crate::format::name;
use crate::format::record::{FileRecord, What};
use std::borrow::Cow;
use std::collections::BTreeMap;
use treewide_digests::Algorithm;
use treewide_files::digest::{hex, unhex};
use treewide_files::name::shown;

/// Digests of one file.
pub type Also = Vec<(Algorithm, Vec<u8>)>;

/// The digest by this algorithm.
pub fn digest(also: &Also, algorithm: Algorithm) -> Option<&[u8]> {
    also.iter().find(|(it, _)| *it == algorithm).map(|(_, digest)| &digest[..])
}

/// Whether there are digests by all of these. BLAKE3 has a place of its own.
pub(crate) fn has_all(also: &Also, wanted: &[Algorithm]) -> bool {
    wanted.iter().all(|it| *it == Algorithm::BLAKE3 || digest(also, *it).is_some())
}

/// Algorithms in the order of their names, each of them once, without BLAKE3.
pub(crate) fn ordered(algorithms: impl IntoIterator<Item = Algorithm>) -> Vec<Algorithm> {
    let others = algorithms.into_iter().filter(|it| *it != Algorithm::BLAKE3);
    let by_name: BTreeMap<_, _> = others.map(|it| (it.name(), it)).collect();
    by_name.into_values().collect()
}

/// The texts of digests, by the names of their algorithms.
pub(crate) type Texts<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

pub(crate) fn texts(also: &Also) -> Texts<'static> {
    also.iter().map(|(algorithm, digest)| (algorithm.name().into(), hex(digest).into())).collect()
}

/// Parses them. Those by algorithms that this program does not know are passed over.
pub(crate) fn parse(texts: &Texts<'_>) -> Result<Also, &'static str> {
    let known = texts.iter().filter_map(|(name, text)| Some((Algorithm::named(name)?, text)));
    known.map(|(algorithm, text)| parse_one(algorithm, text.as_bytes())).collect()
}

fn parse_one(algorithm: Algorithm, text: &[u8]) -> Result<(Algorithm, Vec<u8>), &'static str> {
    let digest = unhex(text).filter(|it| it.len() == algorithm.digest_len());
    Ok((algorithm, digest.ok_or("a digest by another algorithm is wrong")?))
}

/// Parses them as [`push`] writes them, from after the first `{` to the `}`.
pub(crate) fn parse_usual(text: &[u8]) -> Option<Also> {
    let one = |text: &[u8]| {
        let (name, digest) = text
            .strip_prefix(b"\"")?
            .strip_suffix(b"\"")?
            .split_at_checked(text.windows(3).position(|it| it == b"\":\"")?.checked_sub(1)?)?;
        parse_one(Algorithm::named(str::from_utf8(name).ok()?)?, digest.strip_prefix(b"\":\"")?)
            .ok()
    };
    let also: Also = text.split(|byte| *byte == b',').map(one).collect::<Option<_>>()?;
    // In another order, or twice, it is for the parser of all of JSON.
    also.is_sorted_by(|(a, _), (b, _)| a.name() < b.name()).then_some(also)
}

pub(crate) fn push(to: &mut Vec<u8>, also: &Also) {
    let mut before = ",\"also\":{\"";
    for (algorithm, digest) in also {
        for text in [before, algorithm.name(), "\":\"", &hex(digest), "\""] {
            to.extend_from_slice(text.as_bytes());
        }
        before = ",\"";
    }
    if !also.is_empty() {
        to.push(b'}');
    }
}

/// The list of all files with their digests by this algorithm, as `sha256sum` and similar programs write and check it, in the order of
/// the names. Names have their own bytes.
///
/// # Errors
/// If the index cannot be used, or does not have the digest of every file.
pub fn list(manifest: &Manifest, algorithm: Algorithm) -> Result<Vec<u8>, Error> {
    let (path, shown_algorithm) = (manifest.list().path(), algorithm.shown());
    let list_error = |at, cause| Err(Error::new(at, ErrorKind::List(cause)));
    let add = format!("`treewide update --also {}` adds them", algorithm.name());
    match manifest.index() {
        Index::Bound(_) => {}
        Index::Ignored(cause) => return Err(unusable_index(path, cause)),
        Index::Absent => {
            let cause =
                format!("has no index, which would have digests by {shown_algorithm}; {add}");
            return list_error(path.to_owned(), cause);
        }
    }
    let (mut text, mut lacking, mut first) = (Vec::new(), 0_u64, None);
    let mut records = manifest.records()?;
    for record in &mut records {
        let record = record?;
        let What::File(FileRecord { facts, .. }) = &record.what else { continue };
        match facts.as_ref().and_then(|facts| digest(&facts.also, algorithm)) {
            Some(digest) => push_line(&mut text, &record.name, digest),
            None => {
                lacking += 1;
                first.get_or_insert(record.name);
            }
        }
    }
    if let Some(cause) = records.damage() {
        return Err(unusable_index(path, cause));
    }
    let Some(first) = first else { return Ok(text) };
    let first = shown(&name::path(&first));
    let which = match lacking {
        1 => format!("{first} has no digest by {shown_algorithm}"),
        _ => format!("{lacking} files have no digest by {shown_algorithm}, such as {first}"),
    };
    list_error(index_path(path), format!("{which}; {add}, except to files that it reports as rot"))
}

/// Writes a line as `sha256sum` does.
fn push_line(to: &mut Vec<u8>, name: &[u8], digest: &[u8]) {
    if name.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r')) {
        to.push(b'\\');
    }
    to.extend_from_slice(hex(digest).as_bytes());
    to.extend_from_slice(b"  ");
    if name == b"-" {
        // Alone, that is standard input.
        to.extend_from_slice(b"./");
    }
    for byte in name {
        match byte {
            b'\\' => to.extend_from_slice(b"\\\\"),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            byte => to.push(*byte),
        }
    }
    to.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::index::parse as parse_line;

    #[test]
    fn parse_passes_over_unknown_algorithms_and_fails_at_wrong_digests() {
        let line = |also: &str| {
            let line =
                format!("{{\"path\":\"a\",\"type\":\"file\",\"bytes\":1,\"also\":{{{also}}}}}");
            parse_line(line.as_bytes()).map(|it| match it.record.what {
                crate::format::record::What::File(file) => file.facts.unwrap().also,
                _ => unreachable!("it is a file"),
            })
        };
        let crc = vec![(Algorithm::CRC32, vec![1, 2, 3, 4])];
        assert_eq!(line(r#""crc32":"01020304""#), Ok(crc.clone()));
        assert_eq!(line(r#""crc32":"01020304","md7":"00""#), Ok(crc));
        assert_eq!(line(""), Ok(Also::new()));
        for wrong in [r#""crc32":"010203""#, r#""crc32":"0102030g""#, r#""crc32":"0102030405""#] {
            assert_eq!(
                line(wrong),
                Err("a digest by another algorithm is wrong".into()),
                "{wrong}"
            );
        }
        assert!(line(r#""crc32":1"#).is_err());
    }

    #[test]
    fn ordered_has_each_once_and_not_blake3() {
        use Algorithm as A;
        let names =
            |it: &[A]| ordered(it.iter().copied()).iter().map(|it| it.name()).collect::<Vec<_>>();
        assert_eq!(names(&[A::SHA256, A::MD5, A::BLAKE3, A::SHA256]), ["md5", "sha256"]);
        assert!(names(&[A::BLAKE3]).is_empty());
    }
}
