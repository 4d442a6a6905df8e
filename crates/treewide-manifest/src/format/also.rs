//! Digests of files by other algorithms, which an index has next to its records: for programs that do not know BLAKE3.
//!
//! ```text
//! "also":["md5","sha256"]                          in the first line: what the index has of every file that was read since
//! "also":{"md5":"9001..","sha256":"ba78.."}        in a record: of the content whose BLAKE3 hash is the digest of the record
//! ```
//!
//! The list and the hash of the facts do not cover them; the check of the index does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use treewide_digests::Algorithm;
use treewide_files::digest::{hex, unhex};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_passes_over_unknown_algorithms_and_fails_at_wrong_digests() {
        let of = |also: &str| parse(&serde_json::from_str(&format!("{{{also}}}")).unwrap());
        let crc = vec![(Algorithm::CRC32, vec![1, 2, 3, 4])];
        assert_eq!(of(r#""crc32":"01020304""#), Ok(crc.clone()));
        assert_eq!(of(r#""crc32":"01020304","md7":"00""#), Ok(crc));
        assert_eq!(of(""), Ok(Also::new()));
        for wrong in [r#""crc32":"010203""#, r#""crc32":"0102030g""#, r#""crc32":"0102030405""#] {
            assert_eq!(of(wrong), Err("a digest by another algorithm is wrong"), "{wrong}");
        }
        assert!(serde_json::from_str::<Texts<'_>>(r#"{"crc32":1}"#).is_err());
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
