//! The public types apart from hashing itself: what is shown and what is hidden, modes, and what the features `serde` and
//! `zeroize` add. `dev/compat` compares `Hash`, its hexadecimal forms and errors, and the digest traits with `blake3`.

use crate::common::{Mode, Random, Tally, pattern};
use treewide::{Hash, Hasher, OutputReader, hazmat};

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
fn hash_equality_notices_differences_that_cancel() {
    let bytes: [u8; 32] = std::array::from_fn(|i| i as u8 * 7);
    let hash = Hash::from(bytes);
    let mut swapped = bytes;
    swapped.swap(3, 4);
    for other in [swapped, bytes.map(|byte| byte ^ 0x80)] {
        assert!(hash != other && hash != other[..] && hash != Hash::from(other));
    }
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
    for _ in 0..crate::common::rounds(50) {
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
