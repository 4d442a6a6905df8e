//! Subtrees and their merges against the reference: trees cut at random places, subtrees at any
//! offset, and the misuse that is promised to panic.

use crate::common::{Mode, Random, Tally, rounds};
use treewide::hazmat::{self, ChainingValue, HasherExt};
use treewide::{CHUNK_LEN, Hasher};

const CHUNK: u64 = CHUNK_LEN as u64;

/// A mode, with all that hashing subtrees in it needs.
struct Tree {
    mode: Mode,
    context_key: [u8; 32],
}

impl Tree {
    fn new(mode: Mode) -> Tree {
        let context_key = match &mode {
            Mode::DeriveKey(context) => hazmat::hash_derive_key_context(context),
            _ => [0; 32],
        };
        Tree { mode, context_key }
    }

    fn merge(&self) -> hazmat::Mode<'_> {
        match &self.mode {
            Mode::Hash => hazmat::Mode::Hash,
            Mode::KeyedHash(key) => hazmat::Mode::KeyedHash(key),
            Mode::DeriveKey(_) => hazmat::Mode::DeriveKeyMaterial(&self.context_key),
        }
    }

    fn hasher(&self, random: &mut Random) -> Hasher {
        match &self.mode {
            // Both ways to a derive-key hasher are the same.
            Mode::DeriveKey(_) if random.below(2) == 0 => {
                Hasher::new_from_context_key(&self.context_key)
            }
            mode => mode.hasher(),
        }
    }

    /// The chaining value of the subtree at `offset`, as one, or from two halves, at random.
    fn subtree(&self, input: &[u8], offset: u64, random: &mut Random) -> ChainingValue {
        if input.len() <= CHUNK_LEN || random.below(3) == 0 {
            let mut hasher = self.hasher(random);
            hasher.set_input_offset(offset);
            for piece in random.pieces(input) {
                hasher.update(piece);
            }
            assert_eq!(hasher.count(), input.len() as u64);
            return hasher.finalize_non_root();
        }
        let (left, right) = self.halves(input, offset, random);
        hazmat::merge_subtrees_non_root(&left, &right, self.merge())
    }

    fn halves(
        &self,
        input: &[u8],
        offset: u64,
        random: &mut Random,
    ) -> (ChainingValue, ChainingValue) {
        let (left, right) = input.split_at(hazmat::left_subtree_len(input.len() as u64) as usize);
        (
            self.subtree(left, offset, random),
            self.subtree(right, offset + left.len() as u64, random),
        )
    }
}

#[test]
fn trees_cut_at_random() {
    let mut tally = Tally::new("hazmat/trees cut at random");
    let mut random = Random::new(10);
    for round in 0..rounds(150) {
        let tree = Tree::new(Mode::any(&mut random));
        let len = CHUNK_LEN + 1 + random.length(40 * CHUNK_LEN);
        let input = random.bytes(len);
        let (left, right) = tree.halves(&input, 0, &mut random);
        let expected = tree.mode.reference().xof(&input, 0, 150);
        let what = format!("round {round}, {:?}, {len} bytes", tree.mode);
        let root = hazmat::merge_subtrees_root(&left, &right, tree.merge());
        assert_eq!(root, expected[..32], "{what}");
        assert_eq!(tree.mode.one_shot(&input), expected[..32], "{what}");
        let mut output = vec![0; 150];
        hazmat::merge_subtrees_root_xof(&left, &right, tree.merge()).fill(&mut output);
        assert_eq!(output, expected, "{what}");
        tally.case();
    }
}

#[test]
fn subtrees_anywhere() {
    let mut tally = Tally::new("hazmat/subtrees anywhere");
    let mut random = Random::new(11);
    for round in 0..rounds(200) {
        let tree = Tree::new(Mode::any(&mut random));
        // Any magnitude of chunk number up to 2^54 - 1, and often one that many powers divide.
        let first = (random.next() >> (10 + random.below(54))) & (u64::MAX << random.below(8));
        let offset = first * CHUNK;
        let most = hazmat::max_subtree_len(offset).unwrap_or(u64::MAX).min(40 * CHUNK) as usize;
        let len = random.length(most).max(1);
        let input = random.bytes(len);
        let expected = tree.mode.reference().subtree(&input, first).chaining_value();
        let what = format!("round {round}, {:?}, {len} bytes at chunk {first}", tree.mode);
        assert_eq!(tree.subtree(&input, offset, &mut random), expected, "{what}");
        let blake3 = {
            use blake3::hazmat::HasherExt;
            tree.mode.blake3().set_input_offset(offset).update(&input).finalize_non_root()
        };
        assert_eq!(blake3, expected, "blake3, {what}");
        tally.case();
    }
}

#[test]
fn finalizing_a_subtree_goes_on() {
    let mut tally = Tally::new("hazmat/finalizing a subtree continues");
    let input = crate::common::pattern(16 * CHUNK_LEN);
    let mode = crate::reference::Mode::hash();
    let mut hasher = Hasher::new();
    hasher.set_input_offset(16 * CHUNK);
    for (i, piece) in input.chunks(500).enumerate() {
        hasher.update(piece);
        let so_far = &input[..input.len().min((i + 1) * 500)];
        let expected = mode.subtree(so_far, 16).chaining_value();
        assert_eq!(hasher.finalize_non_root(), expected, "{} bytes", so_far.len());
        tally.case();
    }
}

#[test]
fn lengths_of_subtrees() {
    let mut tally = Tally::new("hazmat/lengths of subtrees");
    assert_eq!(hazmat::max_subtree_len(0), None);
    for first in 1..300 {
        // The subtree may go up as long as its first chunk stays the leftmost one.
        let mut chunks = 1;
        while first % (2 * chunks) == 0 {
            chunks *= 2;
        }
        assert_eq!(hazmat::max_subtree_len(first * CHUNK), Some(chunks * CHUNK));
        tally.case();
    }
    for shift in 0..54 {
        assert_eq!(hazmat::max_subtree_len(CHUNK << shift), Some(CHUNK << shift));
        tally.case();
    }
    for len in CHUNK_LEN + 1..20 * CHUNK_LEN {
        let expected = crate::reference::left_len(len) as u64;
        assert_eq!(hazmat::left_subtree_len(len as u64), expected, "{len} bytes");
        tally.case();
    }
    for shift in 11..64 {
        let full = 1u64 << shift;
        assert_eq!(hazmat::left_subtree_len(full), full / 2);
        assert_eq!(hazmat::left_subtree_len(full + 1), full);
        assert_eq!(hazmat::left_subtree_len(full + full / 2), full);
        tally.case();
    }
}

#[test]
fn context_keys() {
    let mut tally = Tally::new("hazmat/context keys");
    let mut random = Random::new(12);
    for _ in 0..rounds(50) {
        let len = random.length(3000);
        let context: String = (0..len).map(|_| random.below(128) as u8 as char).collect();
        let key = hazmat::hash_derive_key_context(&context);
        assert_eq!(key, crate::reference::context_key(&context), "{context:?}");
        assert_eq!(key, hazmat::hash_derive_key_context_bytes(context.as_bytes()));
        let derived = Hasher::new_from_context_key(&key).update(&[7; 99]).finalize();
        assert_eq!(derived, treewide::derive_key(&context, &[7; 99]), "{context:?}");
        tally.case();
    }
}

#[test]
#[should_panic]
fn an_empty_subtree_has_no_chaining_value() {
    Hasher::new().finalize_non_root();
}

#[test]
#[should_panic]
fn an_offset_is_a_multiple_of_a_chunk() {
    Hasher::new().set_input_offset(CHUNK + 1);
}

#[test]
#[should_panic]
fn an_offset_comes_before_input() {
    Hasher::new().update(b"x").set_input_offset(CHUNK);
}

#[test]
#[should_panic]
fn a_subtree_has_a_longest_length() {
    Hasher::new().set_input_offset(CHUNK).update(&[0; CHUNK_LEN + 1]);
}

#[test]
#[should_panic]
fn a_subtree_has_a_longest_length_in_pieces_too() {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(2 * CHUNK).update(&[0; 2 * CHUNK_LEN]);
    hasher.update(b"x");
}

#[test]
#[should_panic]
fn a_subtree_is_not_a_root() {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(CHUNK).update(b"x");
    hasher.finalize();
}

#[test]
#[should_panic]
fn a_subtree_has_no_extended_output() {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(CHUNK).update(b"x");
    hasher.finalize_xof();
}
