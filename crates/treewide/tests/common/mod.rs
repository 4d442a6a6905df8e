//! Shared by the test files: random numbers, inputs, lengths, the three modes, and counting.
#![allow(dead_code, unused_imports)] // Each test file that includes this module uses a part of it.

mod amount;
mod random;

pub(crate) use amount::{Tally, rounds, sample};
pub(crate) use random::Random;

use crate::reference;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The input of the official test vectors: byte `i` is `i % 251`. 251 is prime to every length in
/// the tree, so that no two blocks, chunks or lanes that matter are equal.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Lengths around every edge of the tree up to `most` bytes: blocks, chunks, and all numbers of
/// chunks around the widths of vectors, each with a byte less and a byte more.
pub(crate) fn edge_lengths(most: usize) -> Vec<usize> {
    let mut edges = BTreeSet::from([0, 1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 129, 960]);
    let chunks = (1..=34).chain([47, 48, 49, 63, 64, 65, 66, 95, 96, 97, 127, 128, 129, 255, 256]);
    for chunks in chunks {
        let len = chunks * reference::CHUNK;
        edges.extend([len - 64, len - 1, len, len + 1, len + 64, len + 65]);
    }
    edges.into_iter().filter(|len| *len <= most).collect()
}

/// A mode with its key or context, able to make the library's hasher and both oracles.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    Hash,
    KeyedHash([u8; 32]),
    DeriveKey(String),
}

impl Mode {
    /// The three modes with the key and context of the official test vectors.
    pub(crate) fn all() -> [Mode; 3] {
        [
            Mode::Hash,
            Mode::KeyedHash(*b"whats the Elvish word for friend"),
            Mode::DeriveKey("BLAKE3 2019-12-27 16:29:52 test vectors context".into()),
        ]
    }

    /// A mode by the name that the vectors use, with the key or context that they give.
    pub(crate) fn named(name: &str, key: &str, context: &str) -> Mode {
        match name {
            "hash" => Mode::Hash,
            "keyed_hash" => Mode::KeyedHash(key.as_bytes().try_into().expect("32 bytes")),
            "derive_key" => Mode::DeriveKey(context.into()),
            _ => panic!("no mode has the name {name}"),
        }
    }

    /// Any mode, with any key or context, contexts of several chunks included.
    pub(crate) fn any(random: &mut Random) -> Mode {
        match random.below(3) {
            0 => Mode::Hash,
            1 => Mode::KeyedHash(random.bytes(32).try_into().unwrap()),
            _ => {
                let len = random.length(3000);
                Mode::DeriveKey((0..len).map(|_| (b' ' + random.below(95) as u8) as char).collect())
            }
        }
    }

    /// As everything takes it that hashes.
    pub(crate) fn mode(&self) -> treewide::Mode {
        match self {
            Mode::Hash => treewide::Mode::PLAIN,
            Mode::KeyedHash(key) => treewide::Mode::keyed(key),
            Mode::DeriveKey(context) => treewide::Mode::derive_key(context),
        }
    }

    pub(crate) fn hasher(&self) -> treewide::Hasher {
        match self {
            Mode::Hash => treewide::Hasher::new(),
            Mode::KeyedHash(key) => treewide::Hasher::new_keyed(key),
            Mode::DeriveKey(context) => treewide::Hasher::new_derive_key(context),
        }
    }

    /// The one-shot function of the library.
    pub(crate) fn one_shot(&self, input: &[u8]) -> [u8; 32] {
        match self {
            Mode::Hash => treewide::hash(input).into(),
            Mode::KeyedHash(key) => treewide::keyed_hash(key, input).into(),
            Mode::DeriveKey(context) => treewide::derive_key(context, input),
        }
    }

    pub(crate) fn reference(&self) -> reference::Mode {
        match self {
            Mode::Hash => reference::Mode::hash(),
            Mode::KeyedHash(key) => reference::Mode::keyed_hash(key),
            Mode::DeriveKey(context) => reference::Mode::derive_key(context),
        }
    }

    /// The hasher of the second oracle.
    pub(crate) fn blake3(&self) -> blake3::Hasher {
        match self {
            Mode::Hash => blake3::Hasher::new(),
            Mode::KeyedHash(key) => blake3::Hasher::new_keyed(key),
            Mode::DeriveKey(context) => blake3::Hasher::new_derive_key(context),
        }
    }
}

/// `len` bytes of the library's extended output from byte `seek` on.
pub(crate) fn output(hasher: &treewide::Hasher, seek: u64, len: usize) -> Vec<u8> {
    let mut reader = hasher.finalize_xof();
    reader.set_position(seek);
    let mut output = vec![0; len];
    reader.fill(&mut output);
    output
}

/// The same from the second oracle.
pub(crate) fn blake3_output(hasher: &blake3::Hasher, seek: u64, len: usize) -> Vec<u8> {
    let mut reader = hasher.finalize_xof();
    reader.set_position(seek);
    let mut output = vec![0; len];
    reader.fill(&mut output);
    output
}

/// Runs `f` with each kernel forced, and goes back to the one before. The kernel is one for the whole
/// process: tests that force one take turns. The other tests of a file run with whatever kernel is forced at that time,
/// and must pass with all of them.
pub(crate) fn with_every_kernel(mut f: impl FnMut(&str)) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = treewide::kernel::detected();
    for kernel in treewide::kernel::all() {
        if !kernel.is_supported() {
            println!("skipped: {} is not supported here", kernel.name());
            continue;
        }
        treewide::kernel::force(kernel.name()).expect("supported");
        f(kernel.name());
    }
    treewide::kernel::force(before.name()).expect("it was in use");
}
