//! The public types apart from hashing itself: `Hash` and its forms, what is shown and what is hidden,
//! and what the features `serde`, `zeroize` and `traits-preview` add.

mod common;
mod reference;

use common::{Mode, Random, Tally, pattern, rounds};
use treewide::{Hash, Hasher, HexError, OutputReader, hazmat};

// These are constants, and these functions are const.
const HASH: Hash = Hash::from_bytes([0xab; treewide::OUT_LEN]);
static SLICE: &[u8] = HASH.as_slice();
static ARRAY: &[u8; treewide::OUT_LEN] = HASH.as_bytes();

#[test]
fn constants() {
    assert_eq!((treewide::OUT_LEN, treewide::KEY_LEN), (32, 32));
    assert_eq!((treewide::BLOCK_LEN, treewide::CHUNK_LEN), (64, 1024));
    assert_eq!((SLICE, *ARRAY), (&[0xab; 32][..], [0xab; 32]));
}

#[test]
fn types_go_anywhere() {
    fn anywhere<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: T) {
    }
    anywhere(HASH);
    anywhere(Hasher::new());
    anywhere(Hasher::new().finalize_xof());
    anywhere(Hash::from_hex("").unwrap_err());
    anywhere(treewide::hazmat::Mode::Hash);
    assert_eq!((size_of::<Hash>(), align_of::<Hash>()), (32, 1));
}

#[test]
fn a_hash_and_its_bytes() {
    let mut tally = Tally::new("api/a hash and its bytes");
    let mut random = Random::new(30);
    for _ in 0..rounds(100) {
        let bytes: [u8; 32] = random.bytes(32).try_into().unwrap();
        let hash = Hash::from(bytes);
        assert_eq!(*hash.as_bytes(), bytes);
        assert_eq!(hash.as_slice(), bytes);
        assert_eq!(<[u8; 32]>::from(hash), bytes);
        assert_eq!(Hash::from_bytes(bytes), hash);
        assert_eq!(Hash::from_slice(&bytes).expect("32 bytes"), hash);
        tally.case();
    }
    for len in (0..100).filter(|len| *len != 32) {
        Hash::from_slice(&vec![0; len]).expect_err("a hash has 32 bytes");
        tally.case();
    }
}

#[test]
fn equality() {
    let mut tally = Tally::new("api/equality");
    let bytes: [u8; 32] = std::array::from_fn(|i| i as u8 * 7);
    let hash = Hash::from(bytes);
    assert!(hash == Hash::from(bytes) && hash == bytes && hash == bytes[..]);
    for bit in 0..256 {
        let mut other = bytes;
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(hash != Hash::from(other) && hash != other && hash != other[..], "bit {bit}");
        tally.case();
    }
    // Differences that cancel each other in a careless sum.
    let mut other = bytes;
    (other[3], other[4]) = (other[4], other[3]);
    assert!(hash != other && hash != Hash::from(other));
    let flipped = bytes.map(|byte| byte ^ 0x80);
    assert!(hash != flipped && hash != Hash::from(flipped));
    for len in 0..32 {
        assert!(hash != bytes[..len], "{len} bytes");
        tally.case();
    }
    assert!(hash != [&bytes[..], &[0]].concat()[..]);

    let set: std::collections::HashSet<Hash> = (0..100).map(|i| Hash::from([i % 10; 32])).collect();
    assert_eq!(set.len(), 10);
}

#[test]
fn hexadecimal() {
    let mut tally = Tally::new("api/hexadecimal");
    let mut random = Random::new(31);
    for _ in 0..rounds(200) {
        let bytes: [u8; 32] = random.bytes(32).try_into().unwrap();
        let hash = Hash::from(bytes);
        let expected: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash.to_hex().as_str(), expected);
        assert_eq!(&*hash.to_hex(), expected);
        assert_eq!(hash.to_hex().to_string(), expected);
        assert_eq!(hash.to_string(), expected);
        assert_eq!(format!("{hash:?}"), format!("Hash({expected:?})"));
        let mixed: String = (expected.chars())
            .map(|c| if random.below(2) == 0 { c.to_ascii_uppercase() } else { c })
            .collect();
        for text in [&expected, &expected.to_uppercase(), &mixed] {
            assert_eq!(Hash::from_hex(text).expect("it is hexadecimal"), hash);
            assert_eq!(Hash::from_hex(text.as_bytes()).expect("it is hexadecimal"), hash);
            assert_eq!(text.parse::<Hash>().expect("it is hexadecimal"), hash);
        }
        tally.case();
    }
}

#[test]
fn hexadecimal_errors() {
    let mut tally = Tally::new("api/hexadecimal errors");
    let good =
        pattern(32).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes();
    for len in (0..130).filter(|len| *len != 64) {
        let error = Hash::from_hex(vec![b'0'; len]).expect_err("a hash has 64 digits");
        assert_eq!(error.to_string(), format!("expected 64 hex bytes, received {len}"));
        tally.case();
    }
    for place in [0, 1, 31, 62, 63] {
        for byte in 0..=255u8 {
            let mut text = good.clone();
            text[place] = byte;
            match Hash::from_hex(&text) {
                Ok(_) => assert!(byte.is_ascii_hexdigit(), "{byte:?} at {place}"),
                Err(error) => {
                    assert!(!byte.is_ascii_hexdigit(), "{byte:?} at {place}");
                    let shown = match byte.is_ascii() {
                        true => format!("{:?}", byte as char),
                        false => format!("0x{byte:x}"),
                    };
                    assert_eq!(error.to_string(), format!("invalid hex character: {shown}"));
                }
            }
            tally.case();
        }
    }
    fn is_error<E: Clone + std::fmt::Debug + std::fmt::Display>(_: &E) {}
    is_error::<HexError>(&Hash::from_hex("").unwrap_err());
    #[cfg(feature = "std")]
    let _: Box<dyn std::error::Error + Send + Sync> = Box::new(Hash::from_hex("").unwrap_err());
}

/// What `Debug` shows must not depend on anything secret: equal text for different secrets.
#[test]
fn debug_hides_secrets() {
    let mut tally = Tally::new("api/debug hides secrets");
    let mut random = Random::new(32);
    for len in [0, 1, 64, 1000, 1024, 1025, 2048, 5000, 70_000] {
        for seek in [0, 7, 64] {
            let mut show = || {
                let mut hasher = Hasher::new_keyed(&random.bytes(32).try_into().unwrap());
                hasher.update(&random.bytes(len));
                let mut reader: OutputReader = hasher.finalize_xof();
                reader.set_position(seek);
                reader.fill(&mut [0; 10]);
                format!("{hasher:?} {hasher:#?} {reader:?} {reader:#?}")
            };
            let (one, other) = (show(), show());
            assert_eq!(one, other);
            assert!(one.starts_with("Hasher") && one.contains("OutputReader"), "{one}");
            tally.case();
        }
    }
}

#[test]
fn default_and_reset_are_new() {
    let mut tally = Tally::new("api/default and reset are new");
    assert_eq!(Hasher::default().finalize(), treewide::hash(b""));
    for mode in Mode::all() {
        for len in [0, 1, 64, 1024, 1025, 100_000] {
            let mut hasher = mode.hasher();
            hasher.update(&pattern(len)).reset();
            assert_eq!(hasher.count(), 0);
            assert_eq!(hasher.finalize(), mode.one_shot(b""), "{mode:?}");
            assert_eq!(hasher.update(b"abc").finalize(), mode.one_shot(b"abc"), "{mode:?}");
            tally.case();
        }
    }
}

#[test]
fn mode_chooses_the_digest() {
    let mut tally = Tally::new("api/mode chooses the digest");
    let mut context_key;
    for mode in Mode::all() {
        let merging = match &mode {
            Mode::Hash => hazmat::Mode::Hash,
            Mode::KeyedHash(key) => hazmat::Mode::KeyedHash(key),
            Mode::DeriveKey(context) => {
                context_key = hazmat::hash_derive_key_context(context);
                hazmat::Mode::DeriveKeyMaterial(&context_key)
            }
        };
        for len in [0, 64, 1024, 1025, 5000] {
            let (input, expected) = (pattern(len), mode.one_shot(&pattern(len)));
            for mode in [mode.mode(), merging.into()] {
                assert_eq!(Hasher::with_mode(mode).update(&input).finalize(), expected);
                let mut digests = [HASH];
                treewide::Batch::with_mode(mode).hash_into(&[&input], &mut digests);
                assert_eq!(digests[0], expected);
                tally.case();
            }
        }
    }
    assert_eq!(Hasher::with_mode(treewide::Mode::default()).finalize(), treewide::hash(b""));
}

#[test]
fn mode_debug_hides_the_key() {
    let texts = Mode::all().map(|mode| format!("{:?}", mode.mode()));
    assert_eq!(texts, ["Mode::PLAIN", "Mode::keyed(..)", "Mode::derive_key(..)"]);
}

#[cfg(feature = "serde")]
#[test]
fn serde() {
    let mut tally = Tally::new("api/serde");
    let mut random = Random::new(33);
    for _ in 0..rounds(50) {
        let bytes: [u8; 32] = random.bytes(32).try_into().unwrap();
        let json = serde_json::to_string(&Hash::from(bytes)).expect("a hash can be written");
        assert_eq!(json, serde_json::to_string(&bytes).unwrap(), "it is written as an array");
        let back: Hash = serde_json::from_str(&json).expect("it can be read back");
        assert_eq!(back, bytes);
        tally.case();
    }
    for wrong in ["[]", "[1,2]", "\"ab\"", "{}", "null", "7"] {
        serde_json::from_str::<Hash>(wrong).expect_err("this is not a hash");
        tally.case();
    }
    for len in [31, 33] {
        let json = serde_json::to_string(&vec![1; len]).unwrap();
        serde_json::from_str::<Hash>(&json).expect_err("a hash has 32 bytes");
        tally.case();
    }
}

/// After wiping, two hashers that held different secrets cannot be distinguished.
#[cfg(feature = "zeroize")]
#[test]
fn zeroize() {
    use zeroize::Zeroize;
    let mut tally = Tally::new("api/zeroize");
    let mut hash = Hash::from([7; 32]);
    hash.zeroize();
    assert_eq!(hash, [0; 32]);
    let mut mode = treewide::Mode::keyed(&[7; 32]);
    mode.zeroize();
    assert_eq!((mode.key_words(), mode.flags()), ([0; 8], 0));
    let mut random = Random::new(34);
    for len in [0, 1, 64, 1000, 1024, 1025, 2048, 70_000] {
        let mut wiped = || {
            let mut hasher = Hasher::new_keyed(&random.bytes(32).try_into().unwrap());
            random.bytes(len).chunks(100).for_each(|piece| _ = hasher.update(piece));
            let mut reader = hasher.finalize_xof();
            (0..5).for_each(|_| reader.fill(&mut [0; 20]));
            hasher.zeroize();
            reader.zeroize();
            assert_eq!((hasher.count(), reader.position()), (0, 0));
            let mut output = [0; 100];
            reader.fill(&mut output);
            (hasher.update(b"x").finalize(), output)
        };
        assert_eq!(wiped(), wiped());
        tally.case();
    }
}

#[cfg(feature = "traits-preview")]
#[test]
fn digest_traits() {
    use treewide::traits::digest::{Digest, ExtendableOutput, KeyInit, Mac, XofReader};
    let mut tally = Tally::new("api/digest traits");
    for len in [0, 1, 64, 1025, 5000] {
        let input = pattern(len);
        let hash = treewide::hash(&input);
        assert_eq!(hash, <Hasher as Digest>::digest(&input)[..]);
        let mut hasher = <Hasher as Digest>::new();
        Digest::update(&mut hasher, &input);
        assert_eq!(hash, Digest::finalize_reset(&mut hasher)[..]);
        Digest::update(&mut hasher, &input);
        let mut output = [0; 300];
        ExtendableOutput::finalize_xof(hasher.clone()).read(&mut output);
        assert_eq!(common::output(&hasher, 0, 300), output);

        let key = [5; 32];
        let mac = Mac::chain_update(<Hasher as KeyInit>::new(&key.into()), &input);
        let tag = treewide::keyed_hash(&key, &input);
        mac.clone().verify_slice(tag.as_slice()).expect("the tag is right");
        mac.verify_slice(&[0; 32]).expect_err("the tag is wrong");
        tally.case();
    }
    <Hasher as KeyInit>::new_from_slice(&[0; 31]).expect_err("a key has 32 bytes");
}
