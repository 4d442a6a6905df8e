//! The functions that JavaScript calls, on the host: each as `bindings/js/src` calls it.

use treewide::hazmat::{self, HasherExt};
use treewide::{Hasher, Mode, derive_key, hash, keyed_hash};
use treewide_wasm::{Memory, OUTPUT, PLACES, hashing};

const CONTEXT: &str = "treewide 2026-11-25 tests of the module";
const KEY: [u8; 32] = [7; 32];

fn memory(input: &[u8]) -> Box<Memory> {
    let mut memory = Box::new(Memory::new());
    memory.input[..input.len()].copy_from_slice(input);
    memory
}

fn input(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

#[test]
fn hash_knows_three_modes() {
    for len in [0, 1, 64, 1025, 70_000] {
        let input = input(len);
        let mut memory = memory(&input);
        hashing::hash(&mut memory, 0, len as u32);
        assert_eq!(memory.output[..32], *hash(&input).as_bytes());
        memory.key = KEY;
        hashing::hash(&mut memory, 1, len as u32);
        assert_eq!(memory.output[..32], *keyed_hash(&KEY, &input).as_bytes());
        memory.input[..CONTEXT.len()].copy_from_slice(CONTEXT.as_bytes());
        hashing::context(&mut memory, CONTEXT.len() as u32);
        memory.input[..len].copy_from_slice(&input);
        hashing::hash(&mut memory, 2, len as u32);
        assert_eq!(memory.output[..32], derive_key(CONTEXT, &input));
    }
}

#[test]
fn many_writes_a_digest_for_each_input() {
    let input = input(1000);
    let mut memory = memory(&input);
    memory.offsets[..4].copy_from_slice(&[0, 10, 10, 1000]);
    hashing::many(&mut memory, 0, 3);
    assert_eq!(memory.digests[..3], [hash(&input[..10]), hash(b""), hash(&input[10..])]);
}

#[test]
fn hashers_are_independent_and_can_be_saved() {
    let input = input(5000);
    let mut memory = memory(&input);
    memory.key = KEY;
    for place in 0..PLACES as u32 {
        hashing::start(&mut memory, place, place % 2);
        hashing::update(&mut memory, place, 600 * place);
    }
    for place in 0..PLACES as u32 {
        let mut expected = if place % 2 == 0 { Hasher::new() } else { Hasher::new_keyed(&KEY) };
        expected.update(&input[..600 * place as usize]);
        assert_eq!(hashing::count(&mut memory, place), f64::from(600 * place));
        hashing::finish(&mut memory, place, 32, 0, 0);
        assert_eq!(memory.output[..32], *expected.finalize().as_bytes());
        hashing::finish(&mut memory, place, OUTPUT as u32, 5, 3);
        let mut reader = expected.finalize_xof();
        reader.set_position(5 | 3 << 32);
        let mut output = [0; OUTPUT];
        reader.fill(&mut output);
        assert_eq!(memory.output, output);

        let len = hashing::save(&mut memory, place) as usize;
        assert_eq!(memory.output[..len], *expected.to_state().as_bytes());
        let saved = memory.output[..len].to_vec();
        memory.input[..len].copy_from_slice(&saved);
        assert_eq!(hashing::load(&mut memory, place, len as u32), 0);
        hashing::finish(&mut memory, place, 32, 0, 0);
        assert_eq!(memory.output[..32], *expected.finalize().as_bytes());
        memory.input[len - 1] ^= 1;
        assert_eq!(hashing::load(&mut memory, place, len as u32), 4);
        memory.input[8] = 2;
        assert_eq!(hashing::load(&mut memory, place, len as u32), 2);
        assert_eq!(hashing::load(&mut memory, place, 7), 1);
        assert_eq!(hashing::load(&mut memory, place, 8), 3);
        memory.input[..5000].copy_from_slice(&input);
    }
}

#[test]
fn subtrees_are_those_of_hazmat() {
    let input = input(2048);
    let mut memory = memory(&input);
    memory.key = KEY;
    let modes = [hazmat::Mode::Hash, hazmat::Mode::KeyedHash(&KEY)];
    const OFFSET: u64 = 4 << 30;
    for (number, mode) in (0..).zip(modes) {
        hashing::start_at(&mut memory, 3, number, OFFSET as f64);
        hashing::update(&mut memory, 3, 2048);
        hashing::chaining_value(&mut memory, 3);
        let mut hasher = Hasher::with_mode(Mode::from(mode));
        hasher.set_input_offset(OFFSET).update(&input);
        assert_eq!(memory.output[..32], hasher.finalize_non_root());

        let (left, right) = (input[..32].try_into().unwrap(), input[32..64].try_into().unwrap());
        hashing::parent(&mut memory, number);
        assert_eq!(memory.output[..32], hazmat::merge_subtrees_non_root(left, right, mode));
        hashing::root(&mut memory, number, 100, 0, 0);
        let mut root = [0; 100];
        hazmat::merge_subtrees_root_xof(left, right, mode).fill(&mut root);
        assert_eq!(memory.output[..100], root);
    }
}
