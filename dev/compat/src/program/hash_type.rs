//! The type `Hash`, its hexadecimal forms and its error.

use super::blake3;
use super::ordinary;
use crate::Log;
use blake3::{Hash, HexError};
use std::borrow::Borrow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::hash::{Hash as StdHash, Hasher as _};

const BYTES: [u8; 32] = *b"0123456789 and \x00\x01\xfe\xff are any bits";
// These are const functions.
const HASH: Hash = Hash::from_bytes(BYTES);
static AS_BYTES: &[u8; 32] = HASH.as_bytes();
static AS_SLICE: &[u8] = HASH.as_slice();

pub(super) fn run(log: &mut Log) {
    bytes(log);
    equality(log);
    hexadecimal(log);
    hex_string(log);
    errors(log);
}

fn bytes(log: &mut Log) {
    log.see("struct Hash", (ordinary::<Hash>(), size_of::<Hash>(), align_of::<Hash>()));
    log.see("fn Hash::from_bytes", HASH);
    log.see("fn Hash::as_bytes", AS_BYTES);
    log.see("fn Hash::as_slice", AS_SLICE);
    for len in [0, 31, 32, 33] {
        let from: Result<Hash, std::array::TryFromSliceError> = Hash::from_slice(&[7; 64][..len]);
        log.see("fn Hash::from_slice", from);
    }
    log.see(
        "impl From<[u8; OUT_LEN]> for Hash",
        (Hash::from([9; 32]), Into::<Hash>::into([8; 32])),
    );
    let array: [u8; 32] = HASH.into();
    log.see("impl From<Hash> for [u8; OUT_LEN]", array);
}

fn equality(log: &mut Log) {
    let copy = HASH;
    #[allow(clippy::clone_on_copy)] // Clone is what is tried here.
    let clone = HASH.clone();
    log.see("impl Copy for Hash", copy);
    log.see("impl Clone for Hash", clone);

    fn eq<T: Eq>(a: &T, b: &T) -> bool {
        a == b
    }
    log.see("impl Eq for Hash", eq(&HASH, &copy));
    for bit in 0..256 {
        let mut other = BYTES;
        other[bit / 8] ^= 1 << (bit % 8);
        log.see("impl PartialEq for Hash", (HASH == Hash::from(other), HASH != Hash::from(other)));
        log.see("impl PartialEq<[u8; OUT_LEN]> for Hash", (HASH == other, HASH == BYTES));
        log.see("impl PartialEq<[u8]> for Hash", (HASH == other[..], HASH == BYTES[..]));
    }
    for len in 0..32 {
        log.see("impl PartialEq<[u8]> for Hash", HASH == BYTES[..len]);
    }
    log.see("impl PartialEq<[u8]> for Hash", HASH == [&BYTES[..], &[0]].concat()[..]);

    let mut hasher = DefaultHasher::new();
    HASH.hash(&mut hasher);
    log.see("impl Hash for Hash", hasher.finish());
    log.see("impl Hash for Hash", HashSet::from([HASH, copy, Hash::from([1; 32])]).len());
}

fn hexadecimal(log: &mut Log) {
    log.see("impl fmt::Debug for Hash", (format!("{HASH:?}"), format!("{HASH:#?}")));
    log.see("impl fmt::Display for Hash", (format!("{HASH}"), HASH.to_string()));
    // Width and precision are taken as they are taken: a program may count on it.
    log.see("impl fmt::Display for Hash", format!("{HASH:>70}|{HASH:.8}|{HASH:*^66}"));
    log.see("fn Hash::from_hex", Hash::from_hex(HASH.to_hex().as_str()).unwrap());
    let upper = HASH.to_string().to_uppercase();
    log.see("fn Hash::from_hex", Hash::from_hex(&upper).unwrap());
    log.see("fn Hash::from_hex", Hash::from_hex(upper.as_bytes()).unwrap());
    log.see("fn Hash::from_hex", Hash::from_hex([b'e'; 64]).unwrap());
    log.see("fn Hash::from_hex", Hash::from_hex(vec![b'0'; 64]).unwrap());
    let parsed: Result<Hash, HexError> = upper.parse();
    log.see("impl core::str::FromStr for Hash", parsed.unwrap());
    log.see("impl core::str::FromStr for Hash", "short".parse::<Hash>().is_err());
}

/// What `to_hex` returns has another type here and there; what programs do with it is the same.
fn hex_string(log: &mut Log) {
    const ITEM: &str = "fn Hash::to_hex";
    let hex = HASH.to_hex();
    let (copy, other) = (hex, Hash::from([0; 32]).to_hex());
    let text: &str = &hex; // Deref
    log.see(ITEM, text);
    log.see(ITEM, (hex.as_str(), hex.len(), hex.starts_with("3031"), &hex[..8], hex.as_bytes()));
    log.see(ITEM, (AsRef::<str>::as_ref(&hex), Borrow::<str>::borrow(&hex)));
    log.see(ITEM, (format!("{hex}"), format!("{hex:?}"), format!("{hex:>70}|{hex:.8}")));
    log.see(ITEM, (hex == copy, hex == other, hex != other, hex == *text, *text == hex));
    log.see(ITEM, (hex.cmp(&other), hex.partial_cmp(&other), hex < copy, hex > other));
    log.see(ITEM, (hex.to_string(), String::from(hex.as_str()), hex.to_owned().to_uppercase()));
    // Found by its text, which needs the same Hash, Eq and Ord as str.
    log.see(ITEM, HashSet::from([hex]).contains(text));
    log.see(ITEM, BTreeMap::from([(hex, 1), (other, 2)]).get(text));
    #[allow(clippy::clone_on_copy)] // Clone is what is tried here.
    let clone = hex.clone();
    log.see(ITEM, (clone == hex, ordinary_value(&hex)));
}

fn ordinary_value<T: Send + Sync + 'static>(_: &T) -> bool {
    true
}

fn errors(log: &mut Log) {
    log.see("struct HexError", ordinary::<HexError>());
    let good = HASH.to_string();
    let mut inputs = vec![Vec::new(), vec![b'0'; 63], vec![b'0'; 65], vec![b'0'; 128]];
    for byte in 0..=255 {
        for place in [0, 1, 62, 63] {
            let mut input = good.clone().into_bytes();
            input[place] = byte;
            inputs.push(input);
        }
    }
    for input in inputs {
        match Hash::from_hex(&input) {
            Ok(hash) => log.see("fn Hash::from_hex", hash),
            Err(error) => {
                log.see("impl fmt::Display for HexError", error.to_string());
                log.see("impl Clone for HexError", error.clone().to_string() == error.to_string());
                log.see("impl Debug for HexError", !format!("{error:?}").is_empty());
                let error: Box<dyn Error + Send + Sync> = Box::new(error);
                log.see("impl std::error::Error for HexError", error.source().is_none());
            }
        }
    }
}
