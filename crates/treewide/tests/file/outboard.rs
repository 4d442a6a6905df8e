//! Outboards of files, by every strategy.

use super::{TILE, TempFile, options};
use crate::common::{self, Mode, Random, Tally, rounds};
use std::fs::OpenOptions;
use std::io;
use std::ops::ControlFlow;
use treewide::file::{ErrorKind, Options, OutboardError, Strategy};
use treewide::outboard::{self, Group, IoError, Outboard, WriteAt};

#[test]
fn outboards_of_files_by_every_strategy() {
    let mut tally = Tally::new("file/outboards");
    let mut random = Random::new(60);
    let mut lengths = vec![
        0,
        1,
        1024,
        1025,
        16_385,
        TILE - 1,
        TILE,
        TILE + 1,
        3 * TILE,
        3 * TILE + 1,
        5 * TILE - 1,
    ];
    lengths.extend((0..rounds(4)).map(|_| random.below(7 * TILE)));
    for len in common::sample(lengths) {
        let input = random.bytes(len);
        let file = TempFile::new("outboard", &input);
        for strategy in Strategy::ALL {
            for threads in [1, 2, 3] {
                let log2 = random.below(13) as u8;
                let group = Group::new(log2).expect("a group");
                let mode = Mode::any(&mut random);
                let options = options(&mode).strategy(strategy).threads(threads);
                let mut pairs = vec![9; random.below(1000)];
                let made = options.outboard(&file, group, &mut pairs).expect("made");
                assert_eq!((made.layout.len(), made.report.bytes()), (len as u64, len as u64));
                let expected = outboard::create(&input, group, mode.mode());
                assert!((made.digest, pairs) == expected, "{strategy} {threads} {len} {log2}");
                tally.case();
            }
        }
    }
}

#[test]
fn outboards_of_files_in_files() {
    let input = Random::new(61).bytes(3 * TILE + 5000);
    let (data, store) = (TempFile::new("ob-data", &input), TempFile::new("ob-store", b"old"));
    let open = |file: &TempFile| {
        OpenOptions::new().read(true).write(true).open(file).expect("it can be opened")
    };
    let made = Options::new().outboard(&data, Group::IROH, &mut open(&store)).expect("made");
    let outboard = Outboard::new(&made.digest, made.layout, treewide::Mode::PLAIN, open(&store));
    outboard.verify(&open(&data), ..).expect("right");
    // Damage that is repaired from a copy.
    let (mut file, copy) = (open(&data), TempFile::new("ob-copy", &input));
    file.write_all_at(b"bad", 1_000_000).expect("written");
    file.set_len(input.len() as u64 - 20_000).expect("cut");
    let repair = outboard.repair(&mut file, &open(&copy), ..).expect("repaired");
    assert_eq!((repair.repaired.len(), repair.left.len()), (2, 0));
    assert!(std::fs::read(&data).expect("read") == input);
}

#[test]
fn an_outboard_of_a_file_that_fails() {
    let input = vec![7; 5 * TILE];
    let file = TempFile::new("ob-fails", &input);
    // Nothing more is read after the first write that fails.
    struct Full;
    impl WriteAt for Full {
        fn write_all_at(&mut self, _: &[u8], _: u64) -> Result<(), IoError> {
            Err(io::Error::new(io::ErrorKind::StorageFull, "no space").into())
        }
        fn set_size(&mut self, _: u64) -> Result<(), IoError> {
            Ok(())
        }
    }
    for strategy in Strategy::ALL {
        let result = Options::new().strategy(strategy).outboard(&file, Group::LEAST, &mut Full);
        let error = result.expect_err("full");
        assert!(
            matches!(&error, OutboardError::Outboard(_)) && error.to_string().contains("no space"),
            "{error}"
        );
        let stopped = Options::new().strategy(strategy).watch(|_| ControlFlow::Break(()));
        let error = stopped.outboard(&file, Group::LEAST, &mut Vec::new()).expect_err("stopped");
        let OutboardError::Data(error) = error else { panic!("{error}") };
        assert!(matches!(error.kind(), ErrorKind::Stopped));
    }
    let error = Options::new()
        .outboard("no such file", Group::LEAST, &mut Vec::new())
        .expect_err("missing");
    assert!(error.to_string().contains("no such file"), "{error}");
    #[cfg(target_os = "linux")]
    {
        let error = Options::new().outboard("/proc/self/maps", Group::LEAST, &mut Vec::new());
        assert!(error.expect_err("no length").to_string().contains("length is not known"));
        // Its length is 0, and it is not empty.
        let maps = std::fs::File::open("/proc/self/maps").expect("it can be opened");
        let layout = outboard::Layout::new(0, Group::LEAST);
        let mode = treewide::Mode::PLAIN;
        let empty = Outboard::new(&treewide::hash(b""), layout, mode, Vec::new());
        let error = empty.verify(&maps, ..).expect_err("there are bytes");
        assert!(matches!(&error, outboard::Error::Extra(range) if *range == (0..1)), "{error}");
        // No one writes to this pipe.
        let pipe = super::pipes::fifo("ob-pipe");
        let error = Options::new().outboard(&pipe, Group::LEAST, &mut Vec::new());
        assert!(error.expect_err("a pipe").to_string().contains("length is not known"));
    }
}
