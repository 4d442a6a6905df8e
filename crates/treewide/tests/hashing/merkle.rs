//! Merkle trees against the definition, and BLAKE3's own tree against `hazmat`.

use crate::common::{Mode, Random, Tally, rounds, sample, with_every_kernel};
use treewide::hazmat::groups;
use treewide::hazmat::{self, HasherExt};
use treewide::merkle::{self, Proof, Tree};
use treewide::{CHUNK_LEN, Hash, Hasher};

type Digest = [u8; 32];

fn leaves(random: &mut Random, count: usize) -> Vec<Digest> {
    random.bytes(32 * count).as_chunks().0.to_vec()
}

/// All levels by the definition, leaves first.
fn expected(leaves: &[Digest]) -> Vec<Vec<Digest>> {
    let mut levels = vec![leaves.to_vec()];
    while let Some(level) = levels.last().filter(|level| level.len() > 1) {
        let above = level.chunks(2).map(|pair| match pair {
            [left, right] => *blake3::hash(&[*left, *right].concat()).as_bytes(),
            odd => odd[0],
        });
        levels.push(above.collect());
    }
    levels
}

/// The kernel is one for the whole process: only this test forces one, and the others must pass
/// with any.
#[test]
fn every_kernel_builds_trees_of_any_number_of_leaves() {
    let mut tally = Tally::new("trees");
    let mut random = Random::new(1);
    let all = leaves(&mut random, 20_000);
    let counts = (2..=200).chain([255, 256, 257, 511, 512, 513, 514, 1023, 1024, 1025, 1537]);
    let mut counts: Vec<usize> = sample(counts);
    counts.extend([1, 4096, 8191, 20_000]);
    let trees: Vec<_> = counts.iter().map(|&count| expected(&all[..count])).collect();
    with_every_kernel(|_| {
        for (levels, count) in trees.iter().zip(&counts) {
            let leaves = &all[..*count];
            let root = Hash::from_bytes(levels[levels.len() - 1][0]);
            assert_eq!(merkle::root(leaves), root, "{count} leaves");
            let tree = Tree::new(leaves);
            assert_eq!(tree.root(), root);
            assert!(tree.levels().eq(levels.iter().map(|level| &level[..])), "{count} leaves");
            assert_eq!(tree.nodes(), levels[1..].concat());
            assert_eq!(merkle::node_count(*count), tree.nodes().len());
            #[cfg(feature = "rayon")]
            {
                assert_eq!(merkle::root_parallel(leaves), root);
                assert_eq!(Tree::new_parallel(leaves).nodes(), tree.nodes());
                let mut nodes = vec![[0; 32]; tree.nodes().len()];
                merkle::fill_nodes_parallel(leaves, &mut nodes);
                assert_eq!(nodes, tree.nodes());
            }
            tally.case();
        }
    });
}

#[test]
fn no_leaf_and_one_leaf() {
    assert_eq!(merkle::root::<Hash>(&[]), treewide::hash(b""));
    let none = Tree::new::<Hash>(&[]);
    assert_eq!(none.root(), treewide::hash(b""));
    assert_eq!((none.levels().count(), none.nodes().len()), (0, 0));
    assert_eq!(none.proof(0), None);
    assert!(!merkle::verify(&[0; 32], 0, &[], &none.root(), 0));

    let leaf = [[7; 32]];
    let one = Tree::new(&leaf);
    assert_eq!(merkle::root(&leaf), Hash::from_bytes([7; 32]));
    assert_eq!(one.root(), Hash::from_bytes([7; 32]));
    assert_eq!((one.levels().count(), one.nodes().len()), (1, 0));
    let proof = one.proof(0).unwrap();
    assert!(proof.siblings.is_empty() && proof.verify(&[7; 32], 0, &one.root(), 1));
    assert!(!proof.verify(&[8; 32], 0, &one.root(), 1));
}

#[test]
fn proofs_hold_for_their_leaf_and_nothing_else() {
    let mut random = Random::new(2);
    let mut tally = Tally::new("proofs");
    for count in sample((1..=70).chain([127, 128, 129, 1000])) {
        let leaves = leaves(&mut random, count);
        let tree = Tree::new(&leaves);
        let (root, total) = (tree.root(), count as u64);
        assert_eq!(tree.proof(count), None);
        for index in 0..count {
            let proof = tree.proof(index).expect("there is such a leaf");
            let leaf = &leaves[index];
            assert_eq!((proof.index, proof.leaves), (index as u64, total));
            assert!(proof.verify(leaf, proof.index, &root, total), "leaf {index} of {count}");
            tally.case();

            let refused = |proof: &Proof, leaf: &Digest, root: &Hash, leaves: u64| {
                let index = index as u64;
                assert!(!proof.verify(leaf, index, root, leaves), "{proof:?} for leaf {index}");
            };
            let mut other = *leaf;
            other[random.below(32)] ^= 1 << random.below(8);
            refused(&proof, &other, &root, total);
            refused(&proof, leaf, &Hash::from_bytes(other), total);
            refused(&proof, leaf, &root, total + 1);
            refused(&proof, leaf, &root, total - 1);
            for index in [index as u64 ^ 1, index as u64 + 1, total, u64::MAX] {
                let moved = Proof { index, ..proof.clone() };
                refused(&moved, leaf, &root, total);
                // Neither at the place that the sender claims, nor as the answer to another question.
                assert!(!moved.verify(leaf, index, &root, total));
                assert!(!proof.verify(leaf, index, &root, total));
            }
            let mut longer = proof.clone();
            longer.siblings.push(other);
            refused(&longer, leaf, &root, total);
            if !proof.siblings.is_empty() {
                let mut wrong = proof.clone();
                wrong.siblings[random.below(proof.siblings.len())][random.below(32)] ^= 1;
                refused(&wrong, leaf, &root, total);
                let mut shorter = proof.clone();
                shorter.siblings.pop();
                refused(&shorter, leaf, &root, total);
            }
        }
    }
}

/// What a root alone does not tell apart, a root with the number of leaves does.
#[test]
fn the_number_of_leaves_is_part_of_what_is_proved() {
    let leaves = leaves(&mut Random::new(3), 4);
    let tree = Tree::new(&leaves);
    // The middle level as leaves: the same root, and a proof that fits the smaller number only.
    let middle = tree.levels().nth(1).unwrap().to_vec();
    assert_eq!(merkle::root(&middle), tree.root());
    let proof = Tree::new(&middle).proof(0).unwrap();
    assert!(proof.verify(&middle[0], 0, &tree.root(), 2));
    assert!(!proof.verify(&middle[0], 0, &tree.root(), 4));
    assert!(!merkle::verify(&middle[0], 0, &proof.siblings, &tree.root(), 4));

    // A last leaf given twice is another tree.
    for count in [1, 3] {
        let mut doubled = leaves[..count].to_vec();
        doubled.push(leaves[count - 1]);
        assert_ne!(merkle::root(&doubled), merkle::root(&leaves[..count]));
    }
}

#[test]
#[should_panic(expected = "a place for each node")]
fn too_few_places() {
    merkle::fill_nodes(&[[0; 32]; 3], &mut [[0; 32]; 2]);
}

fn merged(cvs: &[Digest], mode: hazmat::Mode<'_>) -> Digest {
    match cvs {
        [one] => *one,
        more => {
            let (left, right) = more.split_at(more.len().div_ceil(2).next_power_of_two());
            hazmat::merge_subtrees_non_root(&merged(left, mode), &merged(right, mode), mode)
        }
    }
}

#[test]
fn groups_are_the_subtrees_of_hazmat() {
    let mut random = Random::new(9);
    let mut tally = Tally::new("groups");
    let input = random.bytes(700 * CHUNK_LEN);
    let edges = [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 127, 128, 129, 255, 257, 384, 600];
    let lens = edges.iter().flat_map(|chunks| {
        let len = chunks * CHUNK_LEN;
        [len.saturating_sub(1), len, len + 1, len + 700]
    });
    for len in sample(lens) {
        let input = &input[..len];
        for chunks in [1, 2, 4, 16, 64, 128, 256] {
            for mode in Mode::all() {
                let context_key;
                let hazmat_mode = match &mode {
                    Mode::Hash => hazmat::Mode::Hash,
                    Mode::KeyedHash(key) => hazmat::Mode::KeyedHash(key),
                    Mode::DeriveKey(context) => {
                        context_key = hazmat::hash_derive_key_context(context);
                        hazmat::Mode::DeriveKeyMaterial(&context_key)
                    }
                };
                let cvs = groups::chaining_values(input, chunks, hazmat_mode.into());
                let expected: Vec<Digest> = input
                    .chunks(chunks * CHUNK_LEN)
                    .enumerate()
                    .map(|(i, group)| {
                        let mut hasher: Hasher = mode.hasher();
                        hasher.set_input_offset((i * chunks * CHUNK_LEN) as u64);
                        hasher.update(group).finalize_non_root()
                    })
                    .collect();
                assert_eq!(cvs, expected, "{len} bytes, {chunks} chunks, {mode:?}");
                if let [_, _, ..] = cvs[..] {
                    let digest = mode.one_shot(input);
                    let (left, right) = cvs.split_at(cvs.len().div_ceil(2).next_power_of_two());
                    let (left, right) = (merged(left, hazmat_mode), merged(right, hazmat_mode));
                    let root = hazmat::merge_subtrees_root(&left, &right, hazmat_mode);
                    assert_eq!(root, digest);
                }
                tally.case();
            }
        }
    }
}

#[test]
fn groups_in_parts() {
    let mut random = Random::new(10);
    let input = random.bytes(300 * CHUNK_LEN + 5);
    for _ in 0..rounds(50) {
        let chunks = 1 << random.below(7);
        let whole = groups::chaining_values(&input, chunks, treewide::Mode::PLAIN);
        let mut cvs = vec![[0; 32]; whole.len()];
        let mut at = 0;
        while at < whole.len() {
            let take = (1 + random.below(40)).min(whole.len() - at);
            let (from, to) = (at * chunks * CHUNK_LEN, (at + take) * chunks * CHUNK_LEN);
            let part = &input[from..to.min(input.len())];
            let out = &mut cvs[at..at + take];
            groups::fill(part, from as u64, chunks, treewide::Mode::PLAIN, out);
            at += take;
        }
        assert_eq!(cvs, whole);
    }
}

/// What `hash_many` returns are leaves as they are.
#[test]
fn digests_are_leaves() {
    let digests = treewide::hash_many(&["a", "b", "c", "d", "e"]);
    let arrays: Vec<Digest> = digests.iter().map(|digest| (*digest).into()).collect();
    let (tree, same) = (Tree::new(&digests), Tree::new(&arrays));
    assert_eq!((tree.root(), tree.nodes()), (same.root(), same.nodes()));
    assert_eq!(merkle::root(&digests), tree.root());
    let mut nodes = vec![[0; 32]; merkle::node_count(digests.len())];
    merkle::fill_nodes(&digests, &mut nodes);
    assert_eq!(nodes, tree.nodes());
    assert!(tree.proof(3).unwrap().verify(&digests[3], 3, &tree.root(), 5));
}
