//! The algorithms that digests are made by: one table, and one trait in front of the crates.

mod xet;

use blake2::digest::consts::{U20, U28, U32, U48};
use sha2::digest::Digest;
use std::fmt;
use treewide_files::Spare;

/// An algorithm that a list or a store may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm(&'static Row);

/// A digest under way. It takes the bytes of one file in order.
pub trait Digester: Send + Sync {
    /// Lets these threads help.
    fn lend(&mut self, spare: &Spare) {
        let _ = spare;
    }

    /// Appends bytes.
    fn update(&mut self, bytes: &[u8]);

    /// The digest of all bytes.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

impl<D: Digest + Send + Sync> Digester for D {
    fn update(&mut self, bytes: &[u8]) {
        Digest::update(self, bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        (*self).finalize().to_vec()
    }
}

/// What is known of an algorithm.
struct Row {
    /// The name in options and JSON.
    name: &'static str,
    /// The name in messages.
    shown: &'static str,
    /// Bytes of a digest.
    len: usize,
    /// What lists call it, in capitals and without `-`, `_` and `/`.
    tags: &'static [&'static str],
    /// Whether two files with one digest can be made on purpose.
    is_weak: bool,
    /// Begins a digest of a file of this many bytes. `None` for BLAKE3, which the run finds itself.
    begin: Option<fn(u64) -> Box<dyn Digester>>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Row {}

fn plain<D: Digest + Send + Sync + 'static>(_: u64) -> Box<dyn Digester> {
    Box::new(D::new())
}

/// Git hashes the length before the content.
fn git_blob(size: u64) -> Box<dyn Digester> {
    Box::new(sha1::Sha1::new_with_prefix(format!("blob {size}\0")))
}

struct Crc32(crc32fast::Hasher);

impl Digester for Crc32 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_be_bytes().into()
    }
}

fn crc32(_: u64) -> Box<dyn Digester> {
    Box::new(Crc32(crc32fast::Hasher::new()))
}

macro_rules! algorithms {
    ($($constant:ident $name:literal $shown:literal $len:literal [$($tag:literal)*] $weak:literal $begin:expr;)*) => {
        impl Algorithm {
            $(
                #[doc = concat!("The algorithm `", $name, "`.")]
                pub const $constant: Self = Self(&Row {
                    name: $name, shown: $shown, len: $len, tags: &[$($tag),*], is_weak: $weak, begin: $begin,
                });
            )*
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$constant),*];
        }
    };
}

algorithms! {
    BLAKE3 "blake3" "BLAKE3" 32 ["BLAKE3" "B3"] false None;
    MD5 "md5" "MD5" 16 ["MD5"] true Some(plain::<md5::Md5>);
    SHA1 "sha1" "SHA-1" 20 ["SHA1"] true Some(plain::<sha1::Sha1>);
    SHA224 "sha224" "SHA-224" 28 ["SHA224" "SHA2224"] false Some(plain::<sha2::Sha224>);
    SHA256 "sha256" "SHA-256" 32 ["SHA256" "SHA2256"] false Some(plain::<sha2::Sha256>);
    SHA384 "sha384" "SHA-384" 48 ["SHA384" "SHA2384"] false Some(plain::<sha2::Sha384>);
    SHA512 "sha512" "SHA-512" 64 ["SHA512" "SHA2512"] false Some(plain::<sha2::Sha512>);
    SHA512_256 "sha512-256" "SHA-512/256" 32 ["SHA512256" "SHA2512256"] false Some(plain::<sha2::Sha512_256>);
    SHA3_224 "sha3-224" "SHA3-224" 28 ["SHA3224"] false Some(plain::<sha3::Sha3_224>);
    SHA3_256 "sha3-256" "SHA3-256" 32 ["SHA3256"] false Some(plain::<sha3::Sha3_256>);
    SHA3_384 "sha3-384" "SHA3-384" 48 ["SHA3384"] false Some(plain::<sha3::Sha3_384>);
    SHA3_512 "sha3-512" "SHA3-512" 64 ["SHA3512"] false Some(plain::<sha3::Sha3_512>);
    BLAKE2B_160 "blake2b-160" "BLAKE2b-160" 20 ["BLAKE2B160"] false Some(plain::<blake2::Blake2b<U20>>);
    BLAKE2B_224 "blake2b-224" "BLAKE2b-224" 28 ["BLAKE2B224"] false Some(plain::<blake2::Blake2b<U28>>);
    BLAKE2B_256 "blake2b-256" "BLAKE2b-256" 32 ["BLAKE2B256"] false Some(plain::<blake2::Blake2b<U32>>);
    BLAKE2B_384 "blake2b-384" "BLAKE2b-384" 48 ["BLAKE2B384"] false Some(plain::<blake2::Blake2b<U48>>);
    BLAKE2B_512 "blake2b-512" "BLAKE2b-512" 64 ["BLAKE2B" "BLAKE2B512"] false Some(plain::<blake2::Blake2b512>);
    BLAKE2S_160 "blake2s-160" "BLAKE2s-160" 20 ["BLAKE2S160"] false Some(plain::<blake2::Blake2s<U20>>);
    BLAKE2S_224 "blake2s-224" "BLAKE2s-224" 28 ["BLAKE2S224"] false Some(plain::<blake2::Blake2s<U28>>);
    BLAKE2S_256 "blake2s-256" "BLAKE2s-256" 32 ["BLAKE2S" "BLAKE2S256"] false Some(plain::<blake2::Blake2s256>);
    CRC32 "crc32" "CRC-32" 4 [] true Some(crc32);
    XET "xet" "xetHash" 32 ["XET"] false Some(xet::begin);
    GIT_BLOB_SHA1 "git-blob-sha1" "git's SHA-1" 20 [] true Some(git_blob);
}

impl Algorithm {
    /// The name in options and JSON: `sha256`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The name in messages: `SHA-256`.
    pub fn shown(self) -> &'static str {
        self.0.shown
    }

    /// The word for it in lines such as `SHA256 (FILE) = DIGEST`. `None` if no list has such lines.
    pub fn tag(self) -> Option<String> {
        let tag = match self.name() {
            "blake2b-512" => "BLAKE2b".to_owned(),
            "xet" => "XET".to_owned(),
            _ => self.shown().replace("SHA-", "SHA"),
        };
        (Self::tagged(tag.as_bytes()) == Some(self)).then_some(tag)
    }

    /// The bytes of a digest. (A BLAKE3 digest may have more.)
    pub fn digest_len(self) -> usize {
        self.0.len
    }

    /// Whether two files with the same digest can be made on purpose.
    pub fn is_weak(self) -> bool {
        self.0.is_weak
    }

    /// The algorithm with this name in options.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// The algorithm that a list calls so, such as `SHA2-256`, in any case.
    pub fn tagged(tag: &[u8]) -> Option<Self> {
        let plain: Vec<u8> = tag
            .iter()
            .filter(|byte| !matches!(byte, b'-' | b'_' | b'/'))
            .map(u8::to_ascii_uppercase)
            .collect();
        Self::ALL.iter().copied().find(|it| it.0.tags.iter().any(|tag| tag.as_bytes() == plain))
    }

    /// Begins the digest of a file of `size` bytes. `None` for BLAKE3.
    pub fn begin(self, size: u64) -> Option<Box<dyn Digester>> {
        self.0.begin.map(|begin| begin(size))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewide_files::digest::hex;

    /// Of `abc`, from the standards of each algorithm; those with 20 and 28 bytes from Python's `hashlib`.
    const ABC: &[(Algorithm, &str)] = &[
        (Algorithm::MD5, "900150983cd24fb0d6963f7d28e17f72"),
        (Algorithm::SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Algorithm::SHA224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Algorithm::SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Algorithm::SHA384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            Algorithm::SHA512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (Algorithm::SHA512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        (Algorithm::SHA3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        (Algorithm::SHA3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            Algorithm::SHA3_384,
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            Algorithm::SHA3_512,
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
        (Algorithm::BLAKE2B_160, "384264f676f39536840523f284921cdc68b6846b"),
        (Algorithm::BLAKE2B_224, "9bd237b02a29e43bdd6738afa5b53ff0eee178d6210b618e4511aec8"),
        (
            Algorithm::BLAKE2B_256,
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
        ),
        (
            Algorithm::BLAKE2B_384,
            "6f56a82c8e7ef526dfe182eb5212f7db9df1317e57815dbda46083fc30f54ee6c66ba83be64b302d7cba6ce15bb556f4",
        ),
        (
            Algorithm::BLAKE2B_512,
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        ),
        (Algorithm::BLAKE2S_160, "5ae3b99be29b01834c3b508521ede60438f8de17"),
        (Algorithm::BLAKE2S_224, "0b033fc226df7abde29f67a05d3dc62cf271ef3dfea4d387407fbd55"),
        (
            Algorithm::BLAKE2S_256,
            "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982",
        ),
        (Algorithm::CRC32, "352441c2"),
        (Algorithm::XET, "55b9df318a7c45f470d57b04d8ca79a15b0637ffe94b25041a58d00c3528afff"),
        (Algorithm::GIT_BLOB_SHA1, "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f"),
    ];

    #[test]
    fn begin_finds_the_digests_of_other_programs() {
        for (algorithm, expected) in ABC {
            let mut digester = algorithm.begin(3).unwrap();
            digester.update(b"a");
            digester.update(b"bc");
            let digest = digester.finish();
            assert_eq!(hex(&digest), *expected, "{algorithm}");
            assert_eq!(digest.len(), algorithm.digest_len(), "{algorithm}");
        }
        assert_eq!(ABC.len() + 1, Algorithm::ALL.len(), "all but BLAKE3");
    }

    #[test]
    fn tagged_knows_the_names_of_openssl_and_others() {
        for (tag, algorithm) in [
            ("SHA256", Some(Algorithm::SHA256)),
            ("SHA2-256", Some(Algorithm::SHA256)),
            ("sha-256", Some(Algorithm::SHA256)),
            ("SHA512/256", Some(Algorithm::SHA512_256)),
            ("SHA2-512/256", Some(Algorithm::SHA512_256)),
            ("BLAKE2b", Some(Algorithm::BLAKE2B_512)),
            ("BLAKE2B-256", Some(Algorithm::BLAKE2B_256)),
            ("SHA3-256", Some(Algorithm::SHA3_256)),
            ("WHIRLPOOL", None),
            ("SHA25", None),
            ("", None),
        ] {
            assert_eq!(Algorithm::tagged(tag.as_bytes()), algorithm, "{tag}");
        }
        let without: Vec<_> = Algorithm::ALL.iter().filter(|it| it.tag().is_none()).collect();
        let expected = [Algorithm::CRC32, Algorithm::GIT_BLOB_SHA1];
        assert_eq!(without, expected.iter().collect::<Vec<_>>());
    }
}
