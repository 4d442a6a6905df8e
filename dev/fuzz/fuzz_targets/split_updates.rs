//! Input in pieces, finalised and copied on the way, against all of it at once.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treewide_fuzz::{Input, Mode};

#[derive(Arbitrary, Debug)]
enum Step {
    Update(Input),
    /// Many pieces of one length, which are gathered.
    Pieces(u16, u8),
    /// Whole chunks, that a subtree may begin and end where it does in the tree.
    Chunks(u8),
    Parallel(Input),
    Finalize,
    Output(u16),
    Clone,
    WithoutBuffer,
    SaveAndLoad,
    Reset,
}

fuzz_target!(|case: (Mode, Vec<Step>)| {
    let (mode, steps) = case;
    let mut hasher = mode.hasher();
    let mut all = Vec::new();
    for step in steps.into_iter().take(64) {
        match step {
            Step::Update(input) => {
                let bytes = input.bytes();
                hasher.update(&bytes);
                all.extend(bytes);
            }
            Step::Pieces(len, count) => {
                let bytes = vec![count; usize::from(len % 3000)];
                for _ in 0..count {
                    hasher.update(&bytes);
                    all.extend(&bytes);
                }
            }
            Step::Chunks(count) => {
                let bytes = vec![count; usize::from(count) * treewide::CHUNK_LEN];
                hasher.update(&bytes);
                all.extend(bytes);
            }
            Step::Parallel(input) => {
                let bytes = input.bytes();
                hasher.update_rayon(&bytes);
                all.extend(bytes);
            }
            Step::Finalize => assert_eq!(hasher.finalize(), mode.expected(&all)),
            Step::Output(len) => {
                let (mut a, mut b) = (vec![0; usize::from(len)], vec![0; usize::from(len)]);
                hasher.finalize_xof().fill(&mut a);
                mode.oracle().update(&all).finalize_xof().fill(&mut b);
                assert!(a == b, "{len} bytes of output");
            }
            Step::Clone => hasher = hasher.clone(),
            Step::WithoutBuffer => hasher = hasher.without_buffer(),
            Step::SaveAndLoad => {
                hasher = treewide::Hasher::from_state(hasher.to_state().as_bytes()).unwrap();
            }
            Step::Reset => {
                hasher.reset();
                all.clear();
            }
        }
        assert_eq!(hasher.count(), all.len() as u64);
    }
    assert_eq!(hasher.finalize(), mode.expected(&all));
});
