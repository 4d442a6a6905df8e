//! The reader that verifies.

use super::create::Read as NotInMemory;
use super::group;
use crate::common::{Mode, Random, Tally, pattern, rounds};
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use treewide::outboard::{self, Error, Group, Layout, Outboard};

/// As a cursor over the data.
#[test]
fn reader_reads_and_seeks_like_a_cursor() {
    let mut tally = Tally::new("reads and seeks");
    let mut random = Random::new(10);
    for _ in 0..rounds(150) {
        let log2 = random.below(8) as u8;
        let len = random.length(300_000);
        let data = random.bytes(len);
        let mode = Mode::any(&mut random);
        let (digest, pairs) = outboard::create(&data, group(log2), mode.mode());
        let layout = Layout::new(len as u64, group(log2));
        let outboard = Outboard::new(&digest, layout, mode.mode(), pairs);
        let bytes = NotInMemory(&data);
        let mut ours = outboard.reader(&bytes);
        let mut expected = Cursor::new(&data);
        for _ in 0..20 {
            let to = match random.below(5) {
                0 => SeekFrom::Start(random.below(2 * len + 1) as u64),
                1 => SeekFrom::Current(random.below(2000) as i64 - 1000),
                2 => SeekFrom::End(random.below(2000) as i64 - 1500),
                _ => SeekFrom::Current(0),
            };
            match (ours.seek(to), expected.seek(to)) {
                (Ok(ours), Ok(expected)) => assert_eq!(ours, expected),
                (Err(error), Err(_)) => assert_eq!(error.kind(), ErrorKind::InvalidInput),
                (ours, expected) => panic!("{ours:?} {expected:?}"),
            }
            let most = if random.below(2) == 0 { 1000 } else { 200_000 };
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let amount = random.below(most) as u64;
            (&mut ours).take(amount).read_to_end(&mut one).expect("read");
            (&mut expected).take(amount).read_to_end(&mut other).expect("read");
            assert!(one == other, "{layout:?}");
            tally.case();
        }
        assert_eq!(ours.len().expect("verified"), len as u64);
        let mut all = Vec::new();
        outboard.reader(&data).read_to_end(&mut all).expect("read");
        assert!(all == data);
    }
}

/// Of each group that is bad no byte is returned; of the others all are.
#[test]
fn reader_returns_no_byte_that_is_not_verified() {
    let mut random = Random::new(11);
    for (log2, len) in [(0, 20 * 1024 + 7), (2, 200_001), (4, 150_000), (0, 1), (0, 0)] {
        let data = pattern(len);
        let layout = Layout::new(len as u64, group(log2));
        let (digest, pairs) = outboard::create(&data, group(log2), treewide::Mode::PLAIN);
        let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
        for bad in 0..layout.groups() {
            let span = layout.group_range(bad);
            if span.is_empty() {
                continue;
            }
            let mut changed = data.clone();
            changed[span.start as usize + random.below((span.end - span.start) as usize)] ^= 1;
            let mut reader = outboard.reader(&changed);
            let mut read = Vec::new();
            let error = reader.read_to_end(&mut read).expect_err("a group is bad");
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let inner =
                error.get_ref().and_then(|inner| inner.downcast_ref()).expect("it says which");
            assert!(matches!(inner, Error::Bad(range) if *range == span), "{inner}");
            assert!(read == data[..span.start as usize]);
            // It stays where it is, and continues behind.
            assert_eq!(reader.stream_position().expect("known"), span.start);
            reader.seek(SeekFrom::Start(span.end)).expect("a place");
            let rest = reader.read_to_end(&mut read);
            assert!(read[span.start as usize..] == data[span.end as usize..]);
            assert_eq!(rest.is_err(), bad + 1 == layout.groups());
        }
    }
}

/// The length is not said before the last group is verified.
#[test]
fn reader_says_no_length_that_is_not_verified() {
    let data = pattern(10_000);
    let (digest, pairs) = outboard::create(&data, Group::LEAST, treewide::Mode::PLAIN);
    for wrong in [9_217, 9_999, 10_001, 10_240, 0, 1, 1024, 9_216, 8_192, 16_384, 20_000] {
        let layout = Layout::new(wrong, Group::LEAST);
        let mut claimed = data.clone();
        claimed.resize(wrong as usize, 0);
        let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
        let mut reader = outboard.reader(&claimed);
        assert!(reader.len().is_err() && reader.seek(SeekFrom::End(0)).is_err(), "{wrong}");
        let mut buffer = [0; 10];
        for at in [wrong, wrong + 1, u64::MAX] {
            reader.seek(SeekFrom::Start(at)).expect("a place");
            assert!(reader.read(&mut buffer).is_err(), "the end is a claim: {wrong}");
        }
        // What it does return is right.
        let mut read = Vec::new();
        let mut reader = outboard.reader(&claimed);
        assert!(reader.read_to_end(&mut read).is_err());
        assert!(data.starts_with(&read), "{wrong}");
    }
    // Data that ends early is not an end.
    let layout = Layout::new(10_000, Group::LEAST);
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    let short = NotInMemory(&data[..5_000]);
    let mut read = Vec::new();
    assert!(outboard.reader(&short).read_to_end(&mut read).is_err());
    assert_eq!(read.len(), 4096);
    let mut whole = outboard.reader(&data);
    assert_eq!(whole.seek(SeekFrom::End(-1)).expect("verified"), 9_999);
    assert_eq!(whole.seek(SeekFrom::Start(u64::MAX)).expect("a place"), u64::MAX);
    assert_eq!(whole.read(&mut [0; 5]).expect("the end"), 0);
    assert!(
        whole.seek(SeekFrom::Current(1)).is_err() && whole.seek(SeekFrom::End(-10_001)).is_err()
    );
}
