//! The exported functions. JavaScript checks arguments before it calls; a wrong one here is a panic.

use treewide::batch::Packed;
use treewide::hazmat::{self, HasherExt};
use treewide::{Batch, Hasher, Mode, OutputReader, StateError};

use crate::memory::Memory;

/// The numbers of the modes: 0 plain, 1 keyed with `Memory::key`, 2 derive-key with the context whose hash is there.
fn mode(memory: &Memory, number: u32) -> Mode {
    match number {
        0 => Mode::PLAIN,
        1 => Mode::keyed(&memory.key),
        2 => Mode::from_context_key(&memory.key),
        _ => unreachable!("there are three modes"),
    }
}

/// 64 bits of two numbers of JavaScript.
fn position(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Where a part of the memory lies: see [`Memory::address`].
pub fn address(memory: &mut Memory, part: u32) -> u32 {
    memory.address(part as usize) as u32
}

/// The digest of `len` bytes of input.
pub fn hash(memory: &mut Memory, number: u32, len: u32) {
    let digest = mode(memory, number).hash(&memory.input[..len as usize]);
    memory.output[..32].copy_from_slice(digest.as_bytes());
}

/// Puts the key that stands for the context of `len` bytes to `key`.
pub fn context(memory: &mut Memory, len: u32) {
    memory.key = hazmat::hash_derive_key_context_bytes(&memory.input[..len as usize]);
}

/// The digests of `count` inputs between the offsets.
pub fn many(memory: &mut Memory, number: u32, count: u32) {
    let batch = Batch::with_mode(mode(memory, number));
    let count = count as usize;
    let Ok(blobs) = Packed::new(&memory.input, &memory.offsets[..=count]) else { unreachable!() };
    batch.hash_into(&blobs, &mut memory.digests[..count]);
}

/// Puts a new hasher into a place.
pub fn start(memory: &mut Memory, place: u32, number: u32) {
    let mode = mode(memory, number);
    memory.put(place as usize, Hasher::with_mode(mode));
}

/// Puts a hasher of the subtree that begins at byte `offset` into a place.
pub fn start_at(memory: &mut Memory, place: u32, number: u32, offset: f64) {
    start(memory, place, number);
    memory.hasher(place as usize).0.set_input_offset(offset as u64);
}

/// Appends `len` bytes of input.
pub fn update(memory: &mut Memory, place: u32, len: u32) {
    let (hasher, input, _) = memory.hasher(place as usize);
    hasher.update(&input[..len as usize]);
}

/// `len` bytes of output from a position on.
pub fn finish(memory: &mut Memory, place: u32, len: u32, low: u32, high: u32) {
    let (hasher, _, output) = memory.hasher(place as usize);
    if (len, low, high) == (32, 0, 0) {
        output[..32].copy_from_slice(hasher.finalize().as_bytes());
    } else {
        read(hasher.finalize_xof(), &mut output[..len as usize], position(low, high));
    }
}

fn read(mut reader: OutputReader, out: &mut [u8], position: u64) {
    reader.set_position(position);
    reader.fill(out);
}

/// The chaining value of the subtree that a hasher has read.
pub fn chaining_value(memory: &mut Memory, place: u32) {
    let (hasher, _, output) = memory.hasher(place as usize);
    output[..32].copy_from_slice(&hasher.finalize_non_root());
}

/// The two children at the start of the input, and the mode of their parent.
fn children(memory: &Memory, number: u32) -> (&[u8; 32], &[u8; 32], hazmat::Mode<'_>) {
    let (children, _) = memory.input.as_chunks::<32>();
    let mode = match number {
        0 => hazmat::Mode::Hash,
        1 => hazmat::Mode::KeyedHash(&memory.key),
        _ => hazmat::Mode::DeriveKeyMaterial(&memory.key),
    };
    (&children[0], &children[1], mode)
}

/// The chaining value of the parent of the two chaining values at the start of the input.
pub fn parent(memory: &mut Memory, number: u32) {
    let (left, right, mode) = children(memory, number);
    let cv = hazmat::merge_subtrees_non_root(left, right, mode);
    memory.output[..32].copy_from_slice(&cv);
}

/// `len` bytes of output of the root over the two chaining values at the start of the input.
pub fn root(memory: &mut Memory, number: u32, len: u32, low: u32, high: u32) {
    let (left, right, mode) = children(memory, number);
    let reader = hazmat::merge_subtrees_root_xof(left, right, mode);
    read(reader, &mut memory.output[..len as usize], position(low, high));
}

/// Saves a hasher to the output, and returns the number of bytes.
pub fn save(memory: &mut Memory, place: u32) -> u32 {
    let (hasher, _, output) = memory.hasher(place as usize);
    let state = hasher.to_state();
    let bytes = state.as_bytes();
    output[..bytes.len()].copy_from_slice(bytes);
    bytes.len() as u32
}

/// Puts the hasher of a saved state, `len` bytes of input, into a place. Returns 0, or why there is none: 1 not a state, 2 of
/// a version that is not known, 3 of a wrong length, 4 damaged.
pub fn load(memory: &mut Memory, place: u32, len: u32) -> u32 {
    match Hasher::from_state(&memory.input[..len as usize]) {
        Ok(hasher) => {
            memory.put(place as usize, hasher);
            0
        }
        Err(StateError::NotAState) => 1,
        Err(StateError::Version(_)) => 2,
        Err(StateError::Length(_)) => 3,
        Err(_) => 4,
    }
}

/// The bytes that a hasher has read.
pub fn count(memory: &mut Memory, place: u32) -> f64 {
    memory.hasher(place as usize).0.count() as f64
}
