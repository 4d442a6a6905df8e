//! Data and outboards that change while they are read, and that cannot be read.

use crate::common::{Tally, pattern};
use std::io::{Read, Seek, SeekFrom};
use std::sync::Mutex;
use treewide::outboard::{self, Group, IoError, Layout, Outboard, ReadAt, WriteAt};

/// Each byte is right when it is read for the first time, and wrong later.
struct Turning {
    bytes: Vec<u8>,
    read: Mutex<Vec<bool>>,
}

impl Turning {
    fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), read: Mutex::new(vec![false; bytes.len()]) }
    }
}

impl ReadAt for Turning {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.bytes.read_exact_at(buf, at)?;
        let mut read = self.read.lock().expect("no thread fails");
        for (byte, read) in buf.iter_mut().zip(&mut read[at as usize..]) {
            *byte ^= u8::from(std::mem::replace(read, true));
        }
        Ok(())
    }
}

#[test]
fn data_that_is_replaced_while_it_is_verified() {
    let mut tally = Tally::new("data that changes");
    let right = pattern(3 << 20);
    for group in [Group::LEAST, Group::IROH, Group::MOST] {
        let layout = Layout::new(right.len() as u64, group);
        let (digest, pairs) = outboard::create(&right, group, treewide::Mode::PLAIN);
        let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
        // Everything is read once: what was verified is what was read.
        let data = Turning::new(&right);
        outboard.verify(&data, ..).expect("right when it was read");
        let groups = layout.groups();
        let found = outboard.damage(&data, ..).map(|it| layout.groups_of(&it.expect("read").range));
        assert_eq!(found.map(|it| it.end - it.start).sum::<u64>(), groups);
        // A reader returns the bytes that it has verified, and does not read them again.
        let data = Turning::new(&right);
        let mut reader = outboard.reader(&data);
        let mut all = Vec::new();
        reader.read_to_end(&mut all).expect("right when it was read");
        assert!(all == right);
        let mut buffer = [0; 100];
        let mut refused = 0;
        for at in [0, 5000, 1 << 20, right.len() - 100] {
            reader.seek(SeekFrom::Start(at as u64)).expect("a place");
            // The last bytes may still be held.
            match reader.read_exact(&mut buffer) {
                Ok(()) => assert!(buffer[..] == right[at..at + 100]),
                Err(_) => refused += 1,
            }
            tally.case();
        }
        assert!(groups == 1 || refused >= 3, "{refused} of {group:?}");
        // Pairs that were verified are kept, and changed ones are found.
        let turning = Outboard::new(&digest, layout, treewide::Mode::PLAIN, Turning::new(&pairs));
        turning.verify(&right, ..).expect("right when they were read");
        assert_eq!(turning.verify(&right, ..).is_err(), groups > 1);
        let turning = Outboard::new(&digest, layout, treewide::Mode::PLAIN, Turning::new(&pairs));
        let mut all = Vec::new();
        turning.reader(&right).read_to_end(&mut all).expect("each pair is read once");
        assert!(all == right);
    }
}

/// A copy whose bytes are right only where they are read once.
#[test]
fn repair_writes_what_it_has_verified() {
    let right = pattern(100_000);
    let layout = Layout::new(100_000, Group::IROH);
    let (digest, pairs) = outboard::create(&right, Group::IROH, treewide::Mode::PLAIN);
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    let mut data = right.clone();
    data.write_all_at(&[9; 40_000], 30_000).expect("written");
    let copy = Turning::new(&right);
    let repair = outboard.repair(&mut data, &copy, ..).expect("read and written");
    assert!(repair.left.is_empty() && data == right);
    // Now every byte of the copy that was read is wrong, and none of it is written.
    data[40_000] ^= 1;
    let before = data.clone();
    let repair = outboard.repair(&mut data, &copy, ..).expect("read");
    assert!(repair.repaired.is_empty() && data == before);
}

/// A range past the end is verified by the last group: a layout that is too short does not hide data.
#[test]
fn ranges_behind_the_end_prove_the_end() {
    struct NoSize<'a>(&'a [u8]);
    impl ReadAt for NoSize<'_> {
        fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
            self.0.read_exact_at(buf, at)
        }
    }
    let right = pattern(100_000);
    let (digest, pairs) = outboard::create(&right, Group::IROH, treewide::Mode::PLAIN);
    for (len, is_right) in [(100_000, true), (99_999, false), (50_000, false), (0, false)] {
        let layout = Layout::new(len, Group::IROH);
        let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
        for range in [len..len + 1, len + 5..200_000, len..u64::MAX, 150_000..u64::MAX] {
            let verified = outboard.verify(&NoSize(&right), range.clone());
            assert_eq!(verified.is_ok(), is_right, "{range:?} of {len}");
        }
        assert_eq!(outboard.verify(&NoSize(&right), len + 1..).is_ok(), is_right);
        outboard.verify(&NoSize(&right), len..len).expect("nothing was asked");
    }
}
