//! Subtrees hashed apart and merged, against the whole; single subtrees at any offset.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewide::hazmat::{self, ChainingValue, HasherExt};
use treewide::{CHUNK_LEN, Hasher, OutputReader};
use treewide_fuzz::Input;

type Key = (u8, [u8; 32]);

fn mode((kind, key): &Key) -> hazmat::Mode<'_> {
    match kind % 3 {
        0 => hazmat::Mode::Hash,
        1 => hazmat::Mode::KeyedHash(key),
        _ => hazmat::Mode::DeriveKeyMaterial(key),
    }
}

fn hasher((kind, key): &Key) -> Hasher {
    match kind % 3 {
        0 => Hasher::new(),
        1 => Hasher::new_keyed(key),
        _ => Hasher::new_from_context_key(key),
    }
}

fn oracle((kind, key): &Key) -> blake3::Hasher {
    use blake3::hazmat::HasherExt;
    match kind % 3 {
        0 => blake3::Hasher::new(),
        1 => blake3::Hasher::new_keyed(key),
        _ => blake3::Hasher::new_from_context_key(key),
    }
}

/// A subtree by a hasher, or of two subtrees, as the next bit of `cuts` says.
fn subtree(key: &Key, input: &[u8], offset: u64, cuts: &mut u64) -> ChainingValue {
    let cut = *cuts & 1 == 1;
    *cuts = cuts.rotate_right(1);
    if !cut || input.len() <= CHUNK_LEN {
        return hasher(key).set_input_offset(offset).update(input).finalize_non_root();
    }
    let (left, right) = halves(input);
    let left_cv = subtree(key, left, offset, cuts);
    let right_cv = subtree(key, right, offset + left.len() as u64, cuts);
    hazmat::merge_subtrees_non_root(&left_cv, &right_cv, mode(key))
}

fn halves(input: &[u8]) -> (&[u8], &[u8]) {
    input.split_at(hazmat::left_subtree_len(input.len() as u64) as usize)
}

fuzz_target!(|case: (Key, Input, u64, u64)| {
    let (key, input, mut cuts, offset) = case;
    let input = input.bytes();
    if input.len() > CHUNK_LEN {
        let (left, right) = halves(&input);
        let left_cv = subtree(&key, left, 0, &mut cuts);
        let right_cv = subtree(&key, right, left.len() as u64, &mut cuts);
        let root = hazmat::merge_subtrees_root(&left_cv, &right_cv, mode(&key));
        let mut output: OutputReader =
            hazmat::merge_subtrees_root_xof(&left_cv, &right_cv, mode(&key));
        let theirs = oracle(&key).update(&input).finalize();
        assert_eq!(root, *theirs.as_bytes());
        let mut first = [0; 32];
        output.fill(&mut first);
        assert_eq!(first, *theirs.as_bytes());
    }
    // One subtree, as far right as the tree goes.
    let offset = offset / CHUNK_LEN as u64 * CHUNK_LEN as u64;
    let most = hazmat::max_subtree_len(offset).unwrap_or(u64::MAX);
    assert_eq!(blake3::hazmat::max_subtree_len(offset).unwrap_or(u64::MAX), most);
    let input = &input[..input.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
    if !input.is_empty() && offset.checked_add(input.len() as u64).is_some() {
        let theirs = {
            use blake3::hazmat::HasherExt;
            oracle(&key).set_input_offset(offset).update(input).finalize_non_root()
        };
        assert_eq!(subtree(&key, input, offset, &mut cuts), theirs);
        let middle = cuts as usize % input.len();
        let mut split = hasher(&key);
        split.set_input_offset(offset).update(&input[..middle]).update(&input[middle..]);
        assert_eq!(split.finalize_non_root(), theirs);
    }
});
