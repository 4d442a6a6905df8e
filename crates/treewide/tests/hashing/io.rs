//! Feeding a hasher from readers, writers, threads and files, and reading output as a stream.

use crate::common::{Random, Tally, pattern, rounds};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use treewide::Hasher;

/// Hands out what it holds in short reads of random length, is interrupted now and then, and ends
/// with an error if it has one.
struct Fitful<'a> {
    left: &'a [u8],
    random: Random,
    error: Option<ErrorKind>,
}

impl<'a> Fitful<'a> {
    fn new(left: &'a [u8], seed: u64, error: Option<ErrorKind>) -> Fitful<'a> {
        Fitful { left, random: Random::new(seed), error }
    }
}

impl Read for Fitful<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.random.below(4) == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let most = self.left.len().min(buffer.len());
        if most == 0 {
            return self.error.map_or(Ok(0), |kind| Err(io::Error::new(kind, "it broke")));
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
        let reader = Fitful::new(&input, round as u64, None);
        let count = hasher.update_reader(reader).expect("interruptions are not errors").count();
        assert_eq!(count, len as u64, "round {round}");
        assert_eq!(hasher.finalize(), *expected.as_bytes(), "round {round}, {len} bytes");
        tally.case();
    }
}

#[test]
fn a_broken_reader() {
    let mut tally = Tally::new("io/a broken reader");
    let input = pattern(100_000);
    for (seed, kind) in [ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof, ErrorKind::WouldBlock]
        .into_iter()
        .enumerate()
    {
        let mut hasher = Hasher::new();
        let reader = Fitful::new(&input, seed as u64, Some(kind));
        let error = hasher.update_reader(reader).expect_err("the reader broke");
        assert_eq!((error.kind(), error.to_string()), (kind, "it broke".to_string()));
        // What came before the error has been hashed, and hashing can continue.
        assert_eq!(hasher.count(), input.len() as u64);
        assert_eq!(hasher.finalize(), treewide::hash(&input));
        hasher.update_reader(&b"more"[..]).expect("a slice does not fail");
        assert_eq!(hasher.finalize(), treewide::hash(&[&input[..], b"more"].concat()));
        tally.case();
    }
}

#[test]
fn a_hasher_is_a_writer() {
    let mut tally = Tally::new("io/a hasher is a writer");
    let mut random = Random::new(21);
    for round in 0..rounds(60) {
        let len = random.length(50_000);
        let input = random.bytes(len);
        let mut hasher = Hasher::new();
        for piece in random.pieces(&input) {
            assert_eq!(hasher.write(piece).expect("writing cannot fail"), piece.len());
            hasher.flush().expect("nor can flushing");
        }
        assert_eq!(hasher.finalize(), treewide::hash(&input), "round {round}, {len} bytes");
        let mut hasher = Hasher::new();
        let copied = io::copy(&mut &input[..], &mut hasher).expect("copying cannot fail");
        assert_eq!((copied, hasher.finalize()), (len as u64, treewide::hash(&input)));
        tally.case();
    }
    let mut hasher = Hasher::new();
    write!(hasher, "{} and {:?}", 1, "two").expect("formatting cannot fail");
    assert_eq!(hasher.finalize(), treewide::hash(br#"1 and "two""#));
}

#[test]
fn output_is_a_reader() {
    let mut tally = Tally::new("io/output is a reader");
    let hasher = Hasher::new_keyed(&[9; 32]);
    let expected = crate::common::output(&hasher, 0, 20_000);
    let mut reader = hasher.finalize_xof();
    // A read fills the whole buffer: the output has no end that anyone reaches.
    for len in [0, 1, 63, 64, 65, 1000, 5000] {
        let from = reader.position() as usize;
        let mut buffer = vec![0; len];
        assert_eq!(reader.read(&mut buffer).expect("reading cannot fail"), len);
        assert_eq!(buffer, expected[from..from + len]);
        tally.case();
    }
    let mut buffer = vec![0; 20_000];
    BufReader::with_capacity(77, hasher.finalize_xof()).read_exact(&mut buffer).expect("no end");
    assert_eq!(buffer, expected);
}

#[test]
fn output_can_be_sought() {
    let mut tally = Tally::new("io/output can be sought");
    let mut reader = Hasher::new().finalize_xof();
    for (seek, expected) in [
        (SeekFrom::Start(100), Some(100)),
        (SeekFrom::Current(-30), Some(70)),
        (SeekFrom::Current(-71), None),
        (SeekFrom::Current(-70), Some(0)),
        (SeekFrom::Current(i64::MIN), None),
        (SeekFrom::Current(i64::MAX), Some(i64::MAX as u64)),
        (SeekFrom::Current(i64::MAX), Some(u64::MAX - 1)),
        // Beyond the last byte is the last byte.
        (SeekFrom::Current(5), Some(u64::MAX)),
        (SeekFrom::Start(u64::MAX), Some(u64::MAX)),
        // The output has no end to seek from.
        (SeekFrom::End(0), None),
        (SeekFrom::End(-1), None),
        (SeekFrom::Start(64), Some(64)),
    ] {
        let before = reader.position();
        match (reader.seek(seek), expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{seek:?}"),
            (Err(error), None) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{seek:?}"),
            (found, _) => panic!("{seek:?} gave {found:?}"),
        }
        // An error leaves the position as it was.
        assert_eq!(reader.position(), expected.unwrap_or(before), "{seek:?}");
        tally.case();
    }
    assert_eq!(reader.stream_position().expect("it is known"), 64);
    reader.rewind().expect("the start is there");
    assert_eq!(reader.position(), 0);
}

#[cfg(feature = "rayon")]
#[test]
fn threads() {
    let mut tally = Tally::new("io/threads");
    let mut random = Random::new(22);
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for round in 0..rounds(12) {
            let mode = crate::common::Mode::any(&mut random);
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
            let mode = crate::common::Mode::any(&mut random);
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
        // Around the length from which on files are mapped, and over the ends of the parts that are mapped at once.
        let from = 128 << 10;
        for len in [0, 1, 4096, from - 1, from, from + 1, 1 << 20, 4 << 20, (9 << 20) + 4097] {
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

    #[test]
    fn missing() {
        let mut hasher = Hasher::new();
        let error = hasher.update_mmap("/no such/file").expect_err("there is none").kind();
        assert_eq!(error, ErrorKind::NotFound);
        assert_eq!(hasher.count(), 0);
        #[cfg(feature = "rayon")]
        {
            let error = hasher.update_mmap_rayon("/no such/file").expect_err("there is none");
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
        hasher.update_mmap(std::env::temp_dir()).expect_err("a directory is not a file");
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
