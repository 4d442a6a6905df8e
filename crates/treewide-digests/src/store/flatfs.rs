//! The blocks of IPFS in files `XX/BASE32.data`, where the name is a CID or the multihash in it.

use super::object::{Object, Said, below, object};
use crate::algorithm::Algorithm;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::walk::Found;

/// Codes of multihashes, each followed by the length of the digest.
const CODES: &[(&[u8], Algorithm)] = &[
    (&[0x12, 32], Algorithm::SHA256),
    (&[0x1e, 32], Algorithm::BLAKE3),
    (&[0xa0, 0xe4, 0x02, 32], Algorithm::BLAKE2B_256),
];

pub(super) fn objects(root: PathBuf) -> impl Iterator<Item = Object> {
    below(&root, "").filter_map(|(entry, inside)| {
        let name = inside.rsplit('/').next().and_then(|it| it.strip_suffix(".data"));
        let said = match name.and_then(unbase32).and_then(|bytes| multihash(&bytes)) {
            Some((algorithm, digits)) => Said::object(&digits, vec![algorithm]),
            None if matches!(&inside[..], "SHARDING" | "_README" | "diskUsage.cache") => {
                Said::Passed("")
            }
            None if matches!(entry, Found::Link(_)) && !inside.contains('/') => Said::Folder,
            None => Said::Other("not a digest that this program knows".into()),
        };
        object(entry, said, |_| false)
    })
}

fn unbase32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// The algorithm and the digits. A CID of version 1 has 1 and a code for the kind of content before its multihash.
fn multihash(bytes: &[u8]) -> Option<(Algorithm, String)> {
    let of = |bytes: &[u8]| {
        let (code, algorithm) = CODES.iter().find(|(code, _)| bytes.starts_with(code))?;
        let digest = &bytes[code.len()..];
        (digest.len() == 32).then(|| (*algorithm, hex(digest)))
    };
    if let [1, rest @ ..] = bytes {
        let content = rest.iter().position(|it| *it < 0x80)?;
        return of(&rest[content + 1..]);
    }
    of(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multihash_is_found_in_names() {
        // Of an empty block, as `ipfs block put` names it.
        let raw = unbase32("AFKREIHDWDCEFGH4DQKJV67UZCMW7OJEE6XEDZDETOJUZJEVTENXQUVYKU").unwrap();
        let (algorithm, digits) = multihash(&raw).unwrap();
        assert_eq!(algorithm, Algorithm::SHA256);
        assert_eq!(digits, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(multihash(&raw[4..]).is_none());
        assert_eq!(multihash(&raw[2..]), Some((algorithm, digits)));
        assert!(unbase32("a1").is_none());
    }
}
