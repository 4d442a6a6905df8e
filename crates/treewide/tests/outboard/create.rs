//! Making outboards.

use super::{defined, edges, group};
use crate::common::{Mode, Random, Tally, pattern, rounds, sample, with_every_kernel};
use treewide::outboard::{self, Group, IoError, Layout, ReadAt, WriteAt};

/// Bytes that are never in memory as one slice, so that buffers are used.
pub(crate) struct Read<'a>(pub(crate) &'a [u8]);

impl ReadAt for Read<'_> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.0.read_exact_at(buf, at)
    }
}

/// All ways of making the outboard of `data` agree with `expected`.
fn check(data: &[u8], layout: &Layout, mode: &Mode, expected: &(treewide::Hash, Vec<u8>)) {
    let made = outboard::create(data, layout.group(), mode.mode());
    assert!(made == *expected, "{layout:?}");
    let mut out = Vec::new();
    let digest = outboard::create_at(data, layout, mode.mode(), &mut out).expect("made");
    assert!((digest, out) == *expected, "{layout:?}");
    let mut out = vec![9; layout.bytes() as usize];
    let digest = outboard::create_at(&Read(data), layout, mode.mode(), &mut out[..]).expect("made");
    assert!((digest, out) == *expected, "{layout:?}");
}

#[test]
fn outboards_are_as_defined() {
    let mut tally = Tally::new("outboards");
    for log2 in [0, 1, 2, 3, 4, 6, 7, 9] {
        let group = group(log2);
        let most = if log2 < 5 { 70 } else { 5 };
        for len in sample(edges(group.bytes() as usize, most)) {
            let data = pattern(len);
            for mode in &Mode::all() {
                let layout = Layout::new(len as u64, group);
                let expected = defined(&data, &layout, mode);
                assert_eq!(*expected.0.as_bytes(), mode.one_shot(&data));
                check(&data, &layout, mode, &expected);
                tally.case();
            }
        }
    }
}

#[test]
fn outboards_of_several_tiles() {
    // Tiles have 512 KiB, and threads work from 1 MiB on.
    let mut random = Random::new(36);
    let mut tally = Tally::new("outboards of several tiles");
    let all = random.bytes(3 << 20);
    for _ in 0..rounds(20) {
        let data = &all[..(400 << 10) + random.below(all.len() - (400 << 10))];
        let log2 = random.below(12) as u8;
        let layout = Layout::new(data.len() as u64, group(log2));
        let mode = Mode::any(&mut random);
        check(data, &layout, &mode, &defined(data, &layout, &mode));
        tally.case();
    }
}

#[test]
fn outboards_of_every_kernel() {
    let data = pattern(600_000);
    for log2 in [0, 3, 4, 8] {
        let layout = Layout::new(600_000, group(log2));
        let expected = defined(&data, &layout, &Mode::Hash);
        with_every_kernel(|_| check(&data, &layout, &Mode::Hash, &expected));
    }
}

#[test]
fn an_outboard_of_data_that_ends_early_is_an_error() {
    let data = pattern(3 << 20);
    for len in [(3 << 20) + 1, 10 << 20, u64::MAX] {
        for group in [Group::LEAST, Group::IROH, Group::MOST] {
            let layout = Layout::new(len, group);
            // So long that no memory has them: the outboard is written nowhere.
            for error in [
                outboard::create_at(&data, &layout, treewide::Mode::PLAIN, &mut Nowhere)
                    .expect_err("too short"),
                outboard::create_at(&Read(&data), &layout, treewide::Mode::PLAIN, &mut Nowhere)
                    .expect_err("too short"),
            ] {
                assert!(
                    matches!(&error, outboard::Error::Data(error) if error.is_end()),
                    "{error}"
                );
            }
        }
    }
}

/// Takes pairs and forgets them.
struct Nowhere;

impl WriteAt for Nowhere {
    fn write_all_at(&mut self, _: &[u8], _: u64) -> Result<(), IoError> {
        Ok(())
    }

    fn set_size(&mut self, _: u64) -> Result<(), IoError> {
        Ok(())
    }
}

#[test]
fn an_outboard_that_cannot_be_written_is_an_error() {
    struct Full(usize);
    impl WriteAt for Full {
        fn write_all_at(&mut self, _: &[u8], _: u64) -> Result<(), IoError> {
            self.0 = self.0.checked_sub(1).ok_or(IoError::new("the disk is full"))?;
            Ok(())
        }
        fn set_size(&mut self, _: u64) -> Result<(), IoError> {
            Ok(())
        }
    }
    let data = pattern(3 << 20);
    let layout = Layout::new(3 << 20, Group::IROH);
    // 6 tiles and 5 pairs above them.
    for writes in 0..11 {
        let error = outboard::create_at(&data, &layout, treewide::Mode::PLAIN, &mut Full(writes))
            .expect_err("full");
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }
    outboard::create_at(&data, &layout, treewide::Mode::PLAIN, &mut Full(11)).expect("enough room");
}
