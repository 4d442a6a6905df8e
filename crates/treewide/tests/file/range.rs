//! Ranges of a file, as others read it too.

use super::{TILE, TempFile, options};
use crate::common::{Mode, Random, Tally};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use treewide::Hasher;
use treewide::file::{ErrorKind, Options, Strategy};
use treewide::hazmat::HasherExt;

#[test]
fn ranges_of_a_file_by_every_strategy() {
    let mut tally = Tally::new("file/ranges");
    let mut random = Random::new(63);
    let input = random.bytes(20 * TILE + 70_000);
    let temporary = TempFile::new("ranges", &input);
    let mut file = File::open(&temporary).expect("it can be opened");
    file.seek(SeekFrom::Start(17)).expect("a place");
    for strategy in Strategy::ALL {
        for threads in [1, 2, 3] {
            for _ in 0..4 {
                let mode = Mode::any(&mut random);
                // A node: a power of two of chunks at a multiple of itself, or what is left of it at the end.
                let len = 1024 << random.below(15);
                let start = random.below(input.len() / len + 1) * len;
                let end = input.len().min(start + len);
                let options = options(&mode).strategy(strategy).threads(threads);
                let mut hasher = Hasher::with_mode(mode.mode());
                hasher.set_input_offset(start as u64);
                let range = start as u64..end as u64;
                let read = options.update_range(&mut hasher, &file, &temporary, range.clone());
                assert_eq!(read.expect("hashed").bytes(), range.end - range.start);
                if start < end {
                    let mut whole = Hasher::with_mode(mode.mode());
                    whole.set_input_offset(start as u64);
                    whole.update(&input[start..end]);
                    assert_eq!(
                        hasher.finalize_non_root(),
                        whole.finalize_non_root(),
                        "{strategy} {range:?}"
                    );
                }
                tally.case();
            }
        }
    }
    assert_eq!(file.stream_position().expect("a file"), 17, "others may use the position");
}

#[test]
fn a_range_that_a_file_has_not_is_an_error() {
    for strategy in Strategy::ALL {
        for (len, range) in
            [(0, 0..1), (300_000, 299_008..300_001), (20 << 20, (16 << 20)..(32 << 20))]
        {
            let temporary = TempFile::new("range-short", &vec![7; len]);
            let file = File::open(&temporary).expect("it can be opened");
            let mut hasher = Hasher::new();
            hasher.set_input_offset(range.start / 1024 * 1024);
            let options = Options::new().strategy(strategy).threads(1);
            let error = options.update_range(&mut hasher, &file, &temporary, range.clone());
            let error = error.expect_err("it has not all of the range");
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::Ended { .. } | ErrorKind::Shrank { .. }),
                "{strategy} {len} {range:?}: {kind:?}"
            );
            assert!(error.to_string().contains("range-short"));
        }
    }
    let temporary = TempFile::new("range-gone", &[7; 1000]);
    fs::write(&temporary, []).expect("written");
    let file = File::open(&temporary).expect("it can be opened");
    let nothing = Options::new().update_range(&mut Hasher::new(), &file, &temporary, 5..5);
    assert_eq!(nothing.expect("nothing is there").bytes(), 0);
}
