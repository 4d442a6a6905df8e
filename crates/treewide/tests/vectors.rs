//! The library against the known answers in `vectors/`, whose README describes them.
//!
//! The reference is checked against the same answers, since everything else leans on it.

mod common;
mod reference;

use common::{Mode, Tally, output, pattern};
use serde_json::Value;
use treewide::hazmat::{self, HasherExt};

/// A file of known answers, with the key and the context that it names.
struct Vectors {
    root: Value,
}

impl Vectors {
    fn parse(text: &str) -> Vectors {
        Vectors { root: serde_json::from_str(text).expect("the vectors are JSON") }
    }

    fn list(&self, name: &str) -> &[Value] {
        let list = self.root[name].as_array().expect("a list");
        assert!(!list.is_empty(), "no cases in {name}");
        list
    }

    fn mode(&self, name: &str) -> Mode {
        Mode::named(name, text(&self.root["key"]), text(&self.root["context"]))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = text(value);
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

fn cv(value: &Value) -> [u8; 32] {
    bytes(value).try_into().expect("32 bytes")
}

fn len(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

/// A 64-bit number, which the vectors hold as text.
fn place(value: &Value) -> u64 {
    text(value).parse().expect("a number")
}

#[test]
fn hash() {
    let mut tally = Tally::new("vectors/hash");
    let vectors = Vectors::parse(include_str!("../../../vectors/hash.json"));
    for case in vectors.list("cases") {
        let input = pattern(len(&case["len"]));
        for name in ["hash", "keyed_hash", "derive_key"] {
            let mode = vectors.mode(name);
            let expected = bytes(&case[name]);
            let what = format!("{name} of {} bytes", input.len());
            assert_eq!(
                mode.reference().xof(&input, 0, expected.len()),
                expected,
                "reference {what}"
            );
            assert_eq!(mode.one_shot(&input), expected[..32], "one-shot {what}");

            let mut hasher = mode.hasher();
            hasher.update(&input);
            assert_eq!(hasher.finalize(), expected[..32], "{what}");
            assert_eq!(output(&hasher, 0, expected.len()), expected, "output of {what}");

            // The same in pieces that share no edge with blocks and chunks.
            for step in [61, 1025] {
                let mut hasher = mode.hasher();
                for piece in input.chunks(step) {
                    hasher.update(piece);
                }
                assert_eq!(hasher.finalize(), expected[..32], "{what} by {step}");
            }
            tally.case();
        }
    }
}

#[test]
fn xof() {
    let mut tally = Tally::new("vectors/xof");
    let vectors = Vectors::parse(include_str!("../../../vectors/xof.json"));
    for case in vectors.list("cases") {
        let input = pattern(len(&case["len"]));
        let mode = vectors.mode(text(&case["mode"]));
        let (seek, expected) = (place(&case["seek"]), bytes(&case["output"]));
        let what = format!("{mode:?} of {} bytes from {seek}", input.len());
        assert_eq!(
            mode.reference().xof(&input, seek, expected.len()),
            expected,
            "reference {what}"
        );
        let mut hasher = mode.hasher();
        hasher.update(&input);
        assert_eq!(output(&hasher, seek, expected.len()), expected, "{what}");
        tally.case();
    }
}

#[test]
fn subtrees() {
    let mut tally = Tally::new("vectors/hazmat subtrees");
    let vectors = Vectors::parse(include_str!("../../../vectors/hazmat.json"));
    for case in vectors.list("subtrees") {
        let input = pattern(len(&case["len"]));
        let mode = vectors.mode(text(&case["mode"]));
        let (offset, expected) = (place(&case["offset"]), cv(&case["cv"]));
        let what = format!("{mode:?} of {} bytes at {offset}", input.len());
        let node = mode.reference().subtree(&input, offset / reference::CHUNK as u64);
        assert_eq!(node.chaining_value(), expected, "reference {what}");
        let found = mode.hasher().set_input_offset(offset).update(&input).finalize_non_root();
        assert_eq!(found, expected, "{what}");
        tally.case();
    }
}

#[test]
fn merges() {
    let mut tally = Tally::new("vectors/hazmat merges");
    let vectors = Vectors::parse(include_str!("../../../vectors/hazmat.json"));
    for case in vectors.list("merges") {
        let mode = vectors.mode(text(&case["mode"]));
        let (left, right) = (cv(&case["left"]), cv(&case["right"]));
        let (parent, root) = (cv(&case["parent"]), bytes(&case["root"]));
        let node = mode.reference().parent(&left, &right);
        assert_eq!(node.chaining_value(), parent, "reference, {mode:?}");
        assert_eq!(node.output(0, root.len()), root, "reference, {mode:?}");

        let context_key;
        let merge = match &mode {
            Mode::Hash => hazmat::Mode::Hash,
            Mode::KeyedHash(key) => hazmat::Mode::KeyedHash(key),
            Mode::DeriveKey(context) => {
                context_key = hazmat::hash_derive_key_context(context);
                hazmat::Mode::DeriveKeyMaterial(&context_key)
            }
        };
        assert_eq!(hazmat::merge_subtrees_non_root(&left, &right, merge), parent, "{mode:?}");
        assert_eq!(hazmat::merge_subtrees_root(&left, &right, merge), root[..32], "{mode:?}");
        let mut output = vec![0; root.len()];
        hazmat::merge_subtrees_root_xof(&left, &right, merge).fill(&mut output);
        assert_eq!(output, root, "{mode:?}");
        tally.case();
    }
}

#[test]
fn context_keys() {
    let mut tally = Tally::new("vectors/hazmat context keys");
    let vectors = Vectors::parse(include_str!("../../../vectors/hazmat.json"));
    for case in vectors.list("context_keys") {
        let (context, key) = (text(&case["context"]), cv(&case["key"]));
        assert_eq!(reference::context_key(context), key, "reference, {context:?}");
        assert_eq!(hazmat::hash_derive_key_context(context), key, "{context:?}");
        tally.case();
    }
}

#[cfg(feature = "outboard")]
#[test]
fn outboards() {
    use treewide::outboard::{self, Group, Layout};
    let mut tally = Tally::new("vectors/outboard");
    let vectors = Vectors::parse(include_str!("../../../vectors/outboard.json"));
    for case in vectors.list("cases") {
        let input = pattern(len(&case["len"]));
        let mode = vectors.mode(text(&case["mode"]));
        let group = Group::new(len(&case["log2"]) as u8).expect("a group");
        let layout = Layout::new(input.len() as u64, group);
        let mut pairs = vec![0; layout.bytes() as usize];
        let digest = outboard::fill(&input, &layout, mode.mode(), &mut pairs);
        let what = format!("{mode:?} of {} bytes, {group:?}", input.len());
        assert_eq!(digest, cv(&case["digest"]), "{what}");
        assert_eq!(pairs, bytes(&case["pairs"]), "{what}");
        tally.case();
    }
}
