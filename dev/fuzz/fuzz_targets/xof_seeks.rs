//! Output from anywhere, in pieces of any length.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::io::{Seek, SeekFrom};
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
enum Step {
    Fill(u16),
    /// Short reads in a row, which keep what they compute.
    Short(u8, u8),
    Position(u64),
    /// Near a power of two, where counters turn over.
    Near(u8, i8),
    Relative(i64),
    Clone,
}

fuzz_target!(|case: (Mode, Input, Vec<Step>)| {
    let (mode, input, steps) = case;
    let bytes = input.bytes_to(13);
    let mut ours = mode.hasher().update(&bytes).finalize_xof();
    let mut theirs = mode.oracle().update(&bytes).finalize_xof();
    for step in steps.into_iter().take(64) {
        let (len, count) = match step {
            Step::Fill(len) => (usize::from(len), 1),
            Step::Short(len, count) => (usize::from(len), usize::from(count)),
            _ => (0, 0),
        };
        for _ in 0..count {
            // The `blake3` crate counts beyond the end of the output.
            if ours.position().checked_add(len as u64 + 64).is_none() {
                break;
            }
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            ours.fill(&mut a);
            theirs.fill(&mut b);
            assert!(a == b, "{len} bytes before {}", ours.position());
        }
        match step {
            Step::Fill(_) | Step::Short(..) => {}
            Step::Position(position) => {
                ours.set_position(position);
                theirs.set_position(position);
            }
            Step::Near(bit, offset) => {
                let position = (1_u64 << (bit % 64)).wrapping_add_signed(offset.into());
                ours.set_position(position);
                theirs.set_position(position);
            }
            Step::Relative(offset) => {
                let a = ours.seek(SeekFrom::Current(offset));
                let b = theirs.seek(SeekFrom::Current(offset));
                assert_eq!(a.ok(), b.ok());
            }
            Step::Clone => ours = ours.clone(),
        }
        assert_eq!(ours.position(), theirs.position());
    }
});
