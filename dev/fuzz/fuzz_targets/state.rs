//! Saved states: arbitrary bytes never panic, also with a check that is right; what is accepted can be
//! gone on with; what was saved comes back the same.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treewide::Hasher;
use treewide::hazmat::{HasherExt, max_subtree_len};
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
enum Case {
    Bytes(Vec<u8>),
    /// Fields of the format, of the length that they ask for, with a right check.
    Forged {
        head: Vec<u8>,
        first_chunk: u64,
        chunks: u64,
        chunk_len: u16,
        flags: u8,
        spare: u8,
    },
    /// A real state with some bytes changed, with its old check or a right one.
    Changed {
        mode: Mode,
        input: Input,
        changes: Vec<(u16, u8)>,
        right: bool,
    },
    RoundTrip {
        mode: Mode,
        inputs: Vec<Input>,
        offset: u64,
    },
}

/// If it is a state, it works.
fn try_state(bytes: &[u8], more: &[u8]) {
    let Ok(mut hasher) = Hasher::from_state(bytes) else { return };
    assert_eq!(hasher.to_state().as_bytes(), bytes, "a state has one form");
    let offset = u64::from_le_bytes(bytes[42..50].try_into().unwrap());
    let offset = offset.wrapping_mul(1024);
    if hasher.count() > 0 {
        let _ = hasher.finalize_non_root();
    }
    let room = match max_subtree_len(offset) {
        Some(most) => most - hasher.count(),
        None => u64::MAX - hasher.count(),
    };
    let most = usize::try_from(room).unwrap_or(usize::MAX).min(more.len());
    for piece in more[..most].chunks(3001) {
        hasher.update(piece);
        let _ = hasher.to_state();
    }
    if hasher.count() > 0 {
        let _ = hasher.finalize_non_root();
    }
    if offset == 0 {
        let _ = hasher.finalize();
        hasher.finalize_xof().fill(&mut [0; 100]);
    }
    let _ = hasher.reset();
}

/// The same bytes with a right check at the end.
fn with_check(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > 32 {
        let body = bytes.len() - 32;
        let check = treewide::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(check.as_bytes());
    }
    bytes
}

fuzz_target!(|case: Case| {
    let more = [7; 200 * 1024];
    match case {
        Case::Bytes(bytes) => {
            let _ = Hasher::from_state(&bytes);
            let mut bytes = [b"treewide\x01".to_vec(), bytes].concat();
            try_state(&bytes, &more);
            bytes.extend([0; 32]);
            try_state(&with_check(bytes), &more);
        }
        Case::Forged { head, first_chunk, chunks, chunk_len, flags, spare } => {
            let plain = Hasher::new().to_state();
            let mut bytes = plain.as_bytes()[..156].to_vec();
            for (to, from) in bytes[92..].iter_mut().zip(&head) {
                *to = *from;
            }
            bytes[9] = flags;
            bytes[42..50].copy_from_slice(&first_chunk.to_le_bytes());
            bytes[50..58].copy_from_slice(&chunks.to_le_bytes());
            bytes[58..60].copy_from_slice(&chunk_len.to_le_bytes());
            let two = chunks > 1 && chunks.is_power_of_two();
            let height = if two { 2 } else { chunks.count_ones() as usize };
            // One or two too many or too few now and then.
            let height = match spare {
                0 => height + 1,
                1 => height.saturating_sub(1),
                _ => height,
            };
            bytes.resize(156 + 32 * (height + 1), spare);
            try_state(&with_check(bytes), &more);
        }
        Case::Changed { mode, input, changes, right } => {
            let state = mode.hasher().update(&input.bytes()).to_state();
            let mut bytes = state.as_bytes().to_vec();
            for (at, change) in changes {
                let at = usize::from(at) % bytes.len();
                bytes[at] ^= change;
            }
            if right {
                bytes = with_check(bytes);
            } else if bytes != state.as_bytes() {
                assert!(Hasher::from_state(&bytes).is_err(), "damage that is not seen");
            }
            try_state(&bytes, &more);
        }
        Case::RoundTrip { mode, inputs, offset } => {
            let mut hasher = mode.hasher();
            let offset = offset / 1024 * 1024;
            hasher.set_input_offset(offset);
            let most = max_subtree_len(offset).unwrap_or(u64::MAX);
            let mut all = Vec::new();
            for input in inputs.into_iter().take(16) {
                let mut bytes = input.bytes();
                let room = most - all.len() as u64;
                bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
                hasher.update(&bytes);
                all.extend(bytes);
                let state = hasher.to_state();
                hasher = Hasher::from_state(state.as_bytes()).expect("what was saved");
                assert_eq!(hasher.to_state().as_bytes(), state.as_bytes());
            }
            if !all.is_empty() {
                use blake3::hazmat::HasherExt as _;
                let mut theirs = mode.oracle();
                theirs.set_input_offset(offset).update(&all);
                assert_eq!(hasher.finalize_non_root(), theirs.finalize_non_root());
            }
        }
    }
});
