//! `hazmat::Subtrees`: an input cut into subtrees of any level, from any chunk on, against the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewide::hazmat::{HasherExt, Subtrees};
use treewide::{CHUNK_LEN, Hasher};
use treewide_fuzz::{Input, Mode};

fuzz_target!(|case: (Mode, Input, u64, Vec<(u8, u8)>)| {
    let (mode, input, first, cuts) = case;
    let (ours, input) = (mode.mode(), input.bytes());
    let first = first >> 10;
    let most = if first == 0 { u64::MAX } else { 1 << first.trailing_zeros().min(40) };
    let len = input.len().min(usize::try_from(most.saturating_mul(CHUNK_LEN as u64)).unwrap());
    let input = &input[..len];
    let mut subtrees = Subtrees::starting_at(ours, first);
    let hasher = |at: usize, part: &[u8]| {
        let mut hasher = Hasher::with_mode(ours);
        hasher.set_input_offset(first * CHUNK_LEN as u64 + at as u64).update(part);
        hasher.finalize_non_root()
    };
    let (mut at, mut pushes) = (0, 0);
    let mut cuts = cuts.iter().chain(std::iter::repeat(&(0, 0)));
    while at < len {
        let whole = (len - at) / CHUNK_LEN;
        let room = if at == 0 { 63 } else { (at / CHUNK_LEN).trailing_zeros() };
        if whole == 0 {
            subtrees.push_last(&hasher(at, &input[at..]), 1);
            pushes += 1;
            break;
        }
        let (level, count) = cuts.next().expect("endless");
        let level = u32::from(*level) % (room.min(whole.ilog2()) + 1);
        let size = CHUNK_LEN << level;
        let count = 1 + usize::from(*count) % ((len - at) / size);
        let parts = input[at..at + count * size].chunks(size).enumerate();
        let cvs: Vec<_> = parts.map(|(i, part)| hasher(at + i * size, part)).collect();
        subtrees.push(&cvs, level);
        at += count * size;
        pushes += count;
    }
    if len > 0 {
        assert_eq!(subtrees.finalize_non_root(), hasher(0, input));
    }
    if first == 0 && pushes > 1 {
        assert_eq!(subtrees.finalize(), *mode.oracle().update(input).finalize().as_bytes());
    }
});
