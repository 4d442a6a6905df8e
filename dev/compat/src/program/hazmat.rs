//! Subtrees: the module `hazmat`.

use super::blake3;
use super::ordinary;
use crate::{Log, panics, pattern};
use blake3::hazmat::{self, ChainingValue, ContextKey, HasherExt, Mode};
use blake3::{CHUNK_LEN, Hash, Hasher, OutputReader};

const CHUNK: u64 = CHUNK_LEN as u64;

pub(super) fn run(log: &mut Log) {
    log.see("mod hazmat", size_of::<hazmat::Mode<'_>>() > 0);
    log.see("type hazmat::ChainingValue", <ChainingValue as Default>::default() == [0u8; 32]);
    log.see("type hazmat::ContextKey", <ContextKey as Default>::default() == [0u8; 32]);
    lengths(log);
    subtrees(log);
    merging(log);
    context_keys(log);
    misuse(log);
}

fn lengths(log: &mut Log) {
    let max: fn(u64) -> Option<u64> = hazmat::max_subtree_len;
    let left: fn(u64) -> u64 = hazmat::left_subtree_len;
    for chunk in (0..70).chain([1 << 32, (1 << 32) - 1, 1 << 53, (1 << 54) - 1]) {
        log.see("fn hazmat::max_subtree_len", max(chunk * CHUNK));
    }
    for chunks in (2..70).chain([1 << 32, 1 << 53]) {
        let len = chunks * CHUNK;
        log.see("fn hazmat::left_subtree_len", (left(len - 1), left(len), left(len + 1)));
    }
    log.see("fn hazmat::left_subtree_len", left(u64::MAX - 1));
    // One chunk has no subtrees; only builds with assertions notice.
    for len in [0, 1, CHUNK / 2, CHUNK / 2 + 1, CHUNK] {
        let answer = if cfg!(debug_assertions) { None } else { Some(left(len)) };
        log.see("fn hazmat::left_subtree_len", (panics(|| left(len)), answer));
    }
    log.see("fn hazmat::max_subtree_len", panics(|| hazmat::max_subtree_len(1)));
}

/// A function over the trait, as crates that build on it have.
fn subtree<H: HasherExt>(context_key: &ContextKey, offset: u64, update: fn(&mut H)) -> [u8; 32] {
    let mut hasher = H::new_from_context_key(context_key);
    hasher.set_input_offset(offset);
    update(&mut hasher);
    hasher.finalize_non_root()
}

fn subtrees(log: &mut Log) {
    let cv = subtree::<Hasher>(&[4; 32], 7 * CHUNK, |hasher| {
        hasher.update(b"chunk seven");
    });
    log.see("trait hazmat::HasherExt", cv);
    log.see("impl HasherExt for Hasher", cv);
    let input = pattern(16 * CHUNK_LEN);
    for chunk in [0, 1, 2, 3, 4, 6, 8, 16, 1 << 32, (1 << 54) - 1] {
        let offset = chunk * CHUNK;
        let most = hazmat::max_subtree_len(offset).unwrap_or(u64::MAX).min(16 * CHUNK) as usize;
        for len in [1, 64, 1023, 1024, most / 2 + 1, most - 1, most] {
            let mut hasher = Hasher::new_keyed(&[6; 32]);
            hasher.set_input_offset(offset).update(&input[..len]);
            log.see("fn hazmat::HasherExt::set_input_offset", hasher.count());
            let cv: ChainingValue = hasher.finalize_non_root();
            log.see("fn hazmat::HasherExt::finalize_non_root", cv);
        }
    }
}

fn merging(log: &mut Log) {
    let non_root: fn(&ChainingValue, &ChainingValue, Mode<'_>) -> ChainingValue =
        hazmat::merge_subtrees_non_root;
    let root: fn(&ChainingValue, &ChainingValue, Mode<'_>) -> Hash = hazmat::merge_subtrees_root;
    let xof: fn(&ChainingValue, &ChainingValue, Mode<'_>) -> OutputReader =
        hazmat::merge_subtrees_root_xof;
    let (left, right) = ([1; 32], [2; 32]);
    let key = [3; 32];
    for (item, mode) in [
        ("variant hazmat::Mode::Hash", Mode::Hash),
        ("variant hazmat::Mode::KeyedHash", Mode::KeyedHash(&key)),
        ("variant hazmat::Mode::DeriveKeyMaterial", Mode::DeriveKeyMaterial(&key)),
    ] {
        let copy = mode;
        #[allow(clippy::clone_on_copy)] // Clone is what is tried here.
        let clone = mode.clone();
        log.see("enum hazmat::Mode", ordinary::<Mode<'static>>());
        log.see("impl Copy for hazmat::Mode", root(&left, &right, copy));
        log.see("impl Clone for hazmat::Mode", root(&left, &right, clone));
        // How much of a key is shown may differ.
        let name = item.rsplit("::").next().unwrap();
        log.see("impl Debug for hazmat::Mode", format!("{mode:?}").starts_with(name));
        let known = match mode {
            Mode::Hash => None,
            Mode::KeyedHash(key) | Mode::DeriveKeyMaterial(key) => Some(key),
        };
        log.see(item, known);
        log.see("fn hazmat::merge_subtrees_non_root", non_root(&left, &right, mode));
        log.see("fn hazmat::merge_subtrees_root", root(&left, &right, mode));
        let mut output = [0; 200];
        xof(&left, &right, mode).fill(&mut output);
        log.see("fn hazmat::merge_subtrees_root_xof", output);
    }
}

fn context_keys(log: &mut Log) {
    let hash_context: fn(&str) -> ContextKey = hazmat::hash_derive_key_context;
    for context in ["", "compat 2026-11-21", "Δένδρον"] {
        let key = hash_context(context);
        log.see("fn hazmat::hash_derive_key_context", key);
        let mut hasher = Hasher::new_from_context_key(&key);
        hasher.update(b"material");
        log.see("fn hazmat::HasherExt::new_from_context_key", hasher.finalize());
    }
}

fn misuse(log: &mut Log) {
    const OFFSET: &str = "fn hazmat::HasherExt::set_input_offset";
    const NON_ROOT: &str = "fn hazmat::HasherExt::finalize_non_root";
    log.see(NON_ROOT, panics(|| Hasher::new().finalize_non_root()));
    log.see(OFFSET, panics(|| Hasher::new().set_input_offset(1).count()));
    log.see(OFFSET, panics(|| Hasher::new().update(b"x").set_input_offset(0).count()));
    log.see(OFFSET, panics(|| Hasher::new().update(b"").set_input_offset(CHUNK).count()));
    let second = || {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(CHUNK);
        hasher
    };
    log.see(OFFSET, panics(|| second().update(&[0; CHUNK_LEN]).count()));
    log.see(OFFSET, panics(|| second().update(&[0; CHUNK_LEN + 1]).count()));
    log.see(OFFSET, panics(|| second().update(&[0; CHUNK_LEN]).update(&[0]).count()));
    log.see(OFFSET, panics(|| second().update(&[0; CHUNK_LEN]).update(&[]).count()));
    log.see(OFFSET, panics(|| second().finalize()));
    log.see(OFFSET, panics(|| second().finalize_xof().position()));
}
