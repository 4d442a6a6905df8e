//! Feeding a hasher from readers, threads and files, and output by threads. `dev/compat` compares writers, broken readers, and
//! output as a stream with `blake3`.
#![cfg(feature = "std")]

mod common;
mod reference;

use common::{Random, Tally, rounds};
use std::io::{self, ErrorKind, Read};
use treewide::Hasher;

/// Hands out its bytes in short reads of random length, and is interrupted now and then.
struct Fitful<'a> {
    left: &'a [u8],
    random: Random,
}

impl Read for Fitful<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.random.below(4) == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let most = self.left.len().min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let take = self.random.length(most).max(1);
        let (now, later) = self.left.split_at(take);
        buffer[..take].copy_from_slice(now);
        self.left = later;
        Ok(take)
    }
}

#[test]
fn readers() {
    let mut tally = Tally::new("io/readers");
    let mut random = Random::new(20);
    for round in 0..rounds(60) {
        let len = random.length(300_000);
        let input = random.bytes(len);
        let expected = blake3::hash(&input);
        let mut hasher = Hasher::new();
        let reader = Fitful { left: &input, random: Random::new(round as u64) };
        let count = hasher.update_reader(reader).expect("interruptions are not errors").count();
        assert_eq!(count, len as u64, "round {round}");
        assert_eq!(hasher.finalize(), *expected.as_bytes(), "round {round}, {len} bytes");
        tally.case();
    }
}

#[cfg(feature = "rayon")]
#[test]
fn threads() {
    let mut tally = Tally::new("io/threads");
    let mut random = Random::new(22);
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for round in 0..rounds(12) {
            let mode = common::Mode::any(&mut random);
            let len = random.length(1 << 20);
            let input = random.bytes(len);
            let (mut hasher, mut blake3) = (mode.hasher(), mode.blake3());
            for piece in random.pieces(&input) {
                blake3.update(piece);
                match random.below(2) {
                    0 => hasher.update(piece),
                    // In that pool, in the global one, and again from within the pool's thread.
                    _ => pool.install(|| hasher.update_rayon(piece)),
                };
            }
            hasher.update_rayon(b"the end");
            blake3.update(b"the end");
            let expected = blake3.finalize();
            let what = format!("{threads} threads, round {round}, {len} bytes");
            assert_eq!(hasher.finalize(), *expected.as_bytes(), "{what}");
            tally.case();
        }
    }
}

/// Long output by threads is that of one, anywhere, also where the position ends and the blocks do
/// not.
#[cfg(feature = "rayon")]
#[test]
fn output_by_threads() {
    let mut tally = Tally::new("io/output by threads");
    let mut random = Random::new(24);
    let mut buffers = [vec![0; 5 << 20], vec![0; 5 << 20]];
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for round in 0..rounds(24) {
            // From just below the crossover, and beyond where a sleeping pool is woken.
            let len = match round % 3 {
                0 => random.length(1 << 20),
                1 => (256 << 10) - 70 + random.below(140),
                _ => (2 << 20) + random.length(3 << 20),
            };
            let position = match round % 4 {
                0 => 0,
                1 => random.below(1 << 30) as u64,
                2 => u64::MAX - random.below(1 << 23) as u64,
                _ => u64::MAX - random.below(130) as u64,
            };
            let mode = common::Mode::any(&mut random);
            let mut one = mode.hasher().update(&random.bytes(100)).finalize_xof();
            one.set_position(position);
            let mut several = one.clone();
            let [expected, found] = buffers.each_mut().map(|buffer| &mut buffer[..len]);
            one.fill(expected);
            found.fill(0);
            pool.install(|| several.fill_parallel(found));
            assert!(found == expected, "{threads} threads, {len} bytes from {position}");
            assert_eq!(several.position(), one.position());
            tally.case();
        }
    }
}

#[cfg(feature = "mmap")]
mod files {
    use super::*;
    use common::pattern;
    use std::path::PathBuf;

    /// A file in the temporary directory that goes when it is dropped.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str, bytes: &[u8]) -> TempFile {
            let name = format!("treewide-io-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, bytes).expect("a file can be written");
            TempFile(path)
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0); // It does no harm if it stays.
        }
    }

    #[test]
    fn mapped() {
        let mut tally = Tally::new("io/mapped files");
        for len in [0, 1, 4096, 16_383, 16_384, 16_385, 100_000, 1 << 20, (1 << 20) + 4097] {
            let input = pattern(len);
            let file = TempFile::new(&format!("mapped-{len}"), &input);
            let expected = blake3::hash(&input);
            let mut hasher = Hasher::new();
            hasher.update_mmap(&file.0).expect("the file can be read");
            assert_eq!(hasher.finalize(), *expected.as_bytes(), "{len} bytes");
            hasher.update_mmap(&file.0).expect("and once more").update(b"x");
            let twice = [&input[..], &input[..], b"x"].concat();
            assert_eq!(hasher.finalize(), *blake3::hash(&twice).as_bytes(), "{len} bytes");
            #[cfg(feature = "rayon")]
            {
                let mut hasher = Hasher::new();
                hasher.update_mmap_rayon(&file.0).expect("the file can be read");
                assert_eq!(hasher.finalize(), *expected.as_bytes(), "{len} bytes");
            }
            tally.case();
        }
    }

    /// Files that have no length or cannot be mapped are read the ordinary way.
    #[cfg(target_os = "linux")]
    #[test]
    fn not_mappable() {
        let mut hasher = Hasher::new();
        hasher.update_mmap("/proc/version").expect("it can be read");
        let expected = std::fs::read("/proc/version").expect("it can be read");
        assert_eq!(hasher.finalize(), treewide::hash(&expected));
        let empty = Hasher::new().update_mmap("/dev/null").expect("it can be read").count();
        assert_eq!(empty, 0);
    }
}
