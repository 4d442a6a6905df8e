//! Files by every strategy: content, and everything that may happen to a file while it is being hashed.
#![cfg(feature = "file")]

#[cfg(feature = "async")]
#[path = "file/awaited.rs"]
mod awaited;
mod common;
#[cfg(feature = "outboard")]
#[path = "file/outboard.rs"]
mod outboard;
#[path = "file/range.rs"]
mod range;
mod reference;
#[path = "common/waiting.rs"]
mod waiting;

use common::{Mode, Random, Tally, pattern, rounds};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use treewide::Hasher;
use treewide::file::{self, ErrorKind, Options, Strategy};

/// What the strategies read at a time; as in the source.
const TILE: usize = 512 * 1024;

/// A file in the temporary directory that goes when it is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, bytes: &[u8]) -> TempFile {
        let name = format!("treewide-file-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).expect("a file can be written");
        TempFile(path)
    }

    fn set_len(&self, len: u64) {
        let file = OpenOptions::new().write(true).open(&self.0).expect("it can be opened");
        file.set_len(len).expect("its length can be set");
    }
}

impl AsRef<Path> for TempFile {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0); // It does no harm if it stays.
    }
}

fn options(mode: &Mode) -> Options<'static> {
    Options::new().mode(mode.mode())
}

fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 64, 1023, 1024, 1025, 4095, 4096, 4097, 65_537];
    for tiles in [1, 2, 3, 4, 7] {
        let len = tiles * TILE;
        lengths.extend([len - 1024, len - 1, len, len + 1, len + 1024, len + 4097]);
    }
    common::sample(lengths)
}

#[test]
fn every_strategy_at_every_length() {
    let mut tally = Tally::new("file/every strategy at every length");
    let mut random = Random::new(50);
    for len in lengths() {
        let input = random.bytes(len);
        let file = TempFile::new("lengths", &input);
        for mode in Mode::all() {
            let mut blake3 = mode.blake3();
            blake3.update(&input);
            let expected = common::blake3_output(&blake3, 0, 200);
            for strategy in Strategy::ALL {
                for threads in [1, 2, 5] {
                    let options = options(&mode).strategy(strategy).threads(threads);
                    let hashed = options.hash(&file).expect("it can be read");
                    let what = format!("{strategy}, {threads} threads, {len} bytes, {mode:?}");
                    assert_eq!(hashed.hash(), expected[..32], "{what}");
                    let mut output = vec![0; 200];
                    hashed.output().fill(&mut output);
                    assert_eq!(output, expected, "{what}");
                    let report = hashed.report();
                    assert_eq!((report.bytes(), report.grown_to()), (len as u64, None), "{what}");
                    tally.case();
                }
            }
        }
        assert_eq!(file::hash(&file).expect("it can be read"), treewide::hash(&input));
    }
}

/// Also where a file shrinks.
#[test]
fn edges_of_tiles() {
    let mut tally = Tally::new("file/edges of tiles");
    let tile = TILE;
    let input = pattern(3 * tile + 1025);
    for len in [1, tile - 1, tile, tile + 1, 2 * tile - 1024, 2 * tile, input.len()] {
        let file = TempFile::new("tiles", &input[..len]);
        for strategy in Strategy::ALL {
            for (threads, drop_cache) in [(1, false), (2, true), (5, false)] {
                let options = Options::new().strategy(strategy).threads(threads);
                let hashed = options.drop_cache(drop_cache).hash(&file).expect("it is there");
                let what = format!("{strategy}, {threads} threads, {len} bytes by {tile}");
                assert_eq!(hashed.hash(), treewide::hash(&input[..len]), "{what}");
                assert_eq!(hashed.report().bytes(), len as u64, "{what}");
                tally.case();
            }
        }
    }
    for strategy in Strategy::ALL {
        let file = TempFile::new("tiles", &input);
        let watch = |_| {
            file.set_len(2 * tile as u64 - 5);
            ControlFlow::Continue(())
        };
        let options = Options::new().strategy(strategy).watch(watch);
        let error = options.hash(&file).expect_err("there is no such content");
        assert!(matches!(error.kind(), ErrorKind::Shrank { .. }), "{strategy}, {tile}: {error}");
        tally.case();
        // What was hashed before may end anywhere in a tile.
        let file = TempFile::new("tiles", &input);
        let mut hasher = Hasher::new();
        hasher.update(&input[..tile / 2]);
        let options = Options::new().strategy(strategy);
        options.update(&mut hasher, &file).expect("it is there");
        let expected = treewide::hash(&[&input[..tile / 2], &input].concat());
        assert_eq!(hasher.finalize(), expected, "{strategy}, {tile}");
        tally.case();
    }
}

/// Cut between two reads, and as long as before when the lengths are compared.
#[test]
fn a_file_that_shrinks_and_grows_again_has_changed() {
    let mut tally = Tally::new("file/shrinks and grows again");
    let input = pattern(4 * TILE);
    for strategy in [Strategy::Read, Strategy::ReadOverlapped, Strategy::Pread] {
        let file = TempFile::new("again", &input);
        let long_ago = std::time::UNIX_EPOCH;
        let handle = OpenOptions::new().write(true).open(&file).expect("it can be opened");
        handle.set_modified(long_ago).expect("its time can be set");
        let reads = AtomicU64::new(0);
        let watch = |bytes: u64| {
            // A read that is cut short is the first one after the cut.
            let is_first = reads.fetch_add(1, Ordering::Relaxed) == 0;
            let is_short = !bytes.is_multiple_of(TILE as u64 / 2);
            if is_first || is_short {
                file.set_len(if is_first { 2 * TILE as u64 - 100 } else { 4 * TILE as u64 });
            }
            ControlFlow::Continue(())
        };
        let hashed = Options::new().strategy(strategy).threads(1).watch(watch).hash(&file);
        let error = hashed.expect_err("bytes are missing");
        let ErrorKind::Changed { len, .. } = error.kind() else { panic!("{strategy}: {error}") };
        assert_eq!(*len, input.len() as u64, "{strategy}");
        tally.case();
    }
}

/// Beyond what is mapped at a time, and beyond what is kept of other strategies before it goes into
/// the tree.
#[test]
fn more_than_a_window() {
    let mut tally = Tally::new("file/more than a window");
    if rounds(10) < 10 {
        return println!("SKIPPED: file/more than a window: too slow at this scale");
    }
    let len = (512 << 20) + 3 * TILE as u64 + 12_345;
    let file = TempFile::new("window", b"");
    file.set_len(len);
    // The only place with data, so that windows must not be exchanged.
    let mut writer = OpenOptions::new().write(true).open(&file).expect("it can be opened");
    writer.seek(SeekFrom::Start(300 << 20)).expect("it is there");
    writer.write_all(&pattern(TILE)).expect("it can be written");
    let mut blake3 = blake3::Hasher::new();
    blake3.update_mmap_rayon(&file).expect("it can be read");
    for strategy in Strategy::ALL {
        for drop_cache in [false, true] {
            let options = Options::new().strategy(strategy).drop_cache(drop_cache);
            let hashed = options.hash(&file).expect("it can be read");
            assert_eq!(hashed.hash(), *blake3.finalize().as_bytes(), "{strategy}");
            assert_eq!(hashed.report().bytes(), len);
            tally.case();
        }
    }
}

#[test]
fn after_other_input_and_from_a_position() {
    let mut tally = Tally::new("file/after other input and from a position");
    let input = pattern(3 * TILE + 77);
    let file = TempFile::new("position", &input);
    for strategy in Strategy::ALL {
        for before in [0, 1, 1024, TILE - 1, TILE, TILE + 1] {
            for at in [0, 1, 5000, TILE, 3 * TILE, input.len(), input.len() + 10] {
                let mut open = file::open(&file).expect("it can be opened");
                open.seek(SeekFrom::Start(at as u64)).expect("files can be sought");
                let mut hasher = Hasher::new();
                hasher.update(&input[..before]);
                let options = Options::new().strategy(strategy);
                let report = options.update_file(&mut hasher, &open, "name").expect("it is read");
                let rest = input.get(at..).unwrap_or_default();
                let expected = treewide::hash(&[&input[..before], rest].concat());
                assert_eq!(hasher.finalize(), expected, "{strategy}, {before} before, from {at}");
                assert_eq!(report.bytes(), rest.len() as u64);
                assert_eq!(open.stream_position().expect("known"), (at + rest.len()) as u64);
                tally.case();
            }
        }
    }
}

/// The watcher cuts the file after a number of tiles, so that every run is the same.
#[test]
fn a_file_that_shrinks() {
    let mut tally = Tally::new("file/a file that shrinks");
    let input = pattern(40 * TILE + 100);
    let full = input.len() as u64;
    for strategy in Strategy::ALL {
        // Within a page, at a page, at a tile, nearly everything.
        for cut in [full - 1, full - 50, full - 8192, 30 * TILE as u64, 3 * TILE as u64 + 5, 1, 0] {
            for after in [0, 2] {
                let file = TempFile::new("shrinks", &input);
                let calls = AtomicU64::new(0);
                let watch = |_| {
                    if calls.fetch_add(1, Ordering::Relaxed) == after {
                        file.set_len(cut);
                    }
                    ControlFlow::Continue(())
                };
                let result = Options::new().strategy(strategy).watch(watch).hash(&file);
                let error = result.expect_err("there is no such content");
                let what = format!("{strategy}, cut to {cut} after {after}");
                let ErrorKind::Shrank { len, .. } = error.kind() else { panic!("{what}: {error}") };
                assert_eq!(*len, full, "{what}");
                assert_eq!(error.path(), file.as_ref());
                assert!(error.to_string().contains("shrank"), "{error}");
                assert!(error.to_string().contains(file.0.to_str().expect("UTF-8")), "{error}");
                tally.case();
            }
        }
    }
}

/// Cut by someone else at any moment: a digest is right, or there is none.
#[test]
fn a_file_that_shrinks_and_grows_back() {
    let mut tally = Tally::new("file/a file that shrinks and grows back");
    let input = vec![0; 40 * TILE];
    let expected = treewide::hash(&input);
    let file = TempFile::new("breathes", &input);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The scope waits for the thread, also if this one panics.
        let _end = SetOnDrop(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                file.set_len(100);
                file.set_len(input.len() as u64);
            }
        });
        for round in 0..rounds(20) {
            for strategy in Strategy::ALL {
                match Options::new().strategy(strategy).hash(&file) {
                    // It was short from the beginning, and long or short at the end.
                    Ok(hashed) if hashed.report().bytes() == 100 => {
                        assert_eq!(hashed.hash(), treewide::hash(&input[..100]));
                    }
                    Ok(hashed) => assert_eq!(hashed.hash(), expected, "{strategy}, round {round}"),
                    // Or it had its old length again when reading was over.
                    Err(error) => {
                        let kind = error.kind();
                        let long = input.len() as u64;
                        let is_expected = match kind {
                            ErrorKind::Shrank { len, .. } | ErrorKind::Ended { len, .. } => {
                                *len == long
                            }
                            ErrorKind::GoesOn { len } => *len == 100,
                            ErrorKind::Changed { len, .. } => [100, long].contains(len),
                            kind => matches!(kind, ErrorKind::Read(_)),
                        };
                        assert!(is_expected, "{strategy}, round {round}: {kind:?}");
                    }
                }
                tally.case();
            }
        }
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_that_grows() {
    let mut tally = Tally::new("file/a file that grows");
    for len in [1, TILE, 40 * TILE + 5] {
        let input = pattern(len);
        for strategy in Strategy::ALL {
            let file = TempFile::new("grows", &input);
            let watch = |_| {
                let mut writer = OpenOptions::new().append(true).open(&file).expect("it is there");
                writer.write_all(b"more").expect("it can be written");
                ControlFlow::Continue(())
            };
            let options = Options::new().strategy(strategy).watch(watch);
            let hashed = options.hash(&file).expect("growing is not an error");
            assert_eq!(hashed.hash(), treewide::hash(&input), "{strategy}, {len} bytes");
            assert_eq!(hashed.report().bytes(), len as u64);
            assert!(hashed.report().grown_to() > Some(len as u64), "{strategy}");
            tally.case();
        }
    }
}

#[test]
fn files_that_are_not_there_or_go() {
    let mut tally = Tally::new("file/files that are not there or go");
    let error = file::hash("/no such folder/file").expect_err("it is not there");
    assert!(
        matches!(error.kind(), ErrorKind::Open(cause) if cause.kind() == io::ErrorKind::NotFound)
    );
    assert!(error.to_string().starts_with("/no such folder/file: "), "{error}");
    let error = Options::new().hash(std::env::temp_dir()).expect_err("it is a directory");
    assert!(matches!(error.kind(), ErrorKind::Open(_) | ErrorKind::Read(_)), "{error}");
    // A file that is open stays, whatever happens to its name.
    #[cfg(unix)]
    for strategy in Strategy::ALL {
        let input = pattern(20 * TILE);
        let file = TempFile::new("goes", &input);
        let watch = |_| {
            let _ = fs::remove_file(&file);
            ControlFlow::Continue(())
        };
        let hashed = Options::new().strategy(strategy).watch(watch).hash(&file);
        assert_eq!(hashed.expect("it is open").hash(), treewide::hash(&input));
        tally.case();
    }
}

#[test]
fn the_watcher_counts_and_stops() {
    let mut tally = Tally::new("file/the watcher counts and stops");
    let input = pattern(40 * TILE + 3);
    let file = TempFile::new("watched", &input);
    for strategy in Strategy::ALL {
        let seen = AtomicU64::new(0);
        let count = |bytes| {
            seen.fetch_add(bytes, Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        Options::new().strategy(strategy).watch(count).hash(&file).expect("it can be read");
        assert_eq!(seen.load(Ordering::Relaxed), input.len() as u64, "{strategy}");
        let calls = AtomicU64::new(0);
        let stop = |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Break(())
        };
        let options = Options::new().strategy(strategy).threads(2).watch(stop);
        let error = options.hash(&file).expect_err("it was stopped");
        assert!(matches!(error.kind(), ErrorKind::Stopped), "{error}");
        assert!(calls.load(Ordering::Relaxed) <= 2, "{strategy}: once for each thread");
        // The helper is notified, once, and the calling thread learns it from there.
        let (mut stopped, mut more) = (0, 0);
        for _ in 0..4 {
            let caller = std::thread::current().id();
            let calls = AtomicU64::new(0);
            let stop = |_| {
                // So that the helper has its turn. It need not come, so no one can wait for it.
                std::thread::sleep(std::time::Duration::from_millis(1));
                let is_caller = std::thread::current().id() == caller;
                if calls.load(Ordering::Relaxed) == 0 && is_caller {
                    return ControlFlow::Continue(());
                }
                match calls.fetch_add(1, Ordering::Relaxed) {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            };
            if Options::new().strategy(strategy).threads(2).watch(stop).hash(&file).is_err() {
                stopped += 1;
                more += calls.load(Ordering::Relaxed) - 1;
            }
        }
        assert!(more <= 10 * stopped, "{strategy}: {more} tiles after {stopped} stops");
        tally.case();
    }
}

#[test]
fn names_of_strategies() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    let error = "fastest".parse::<Strategy>().expect_err("there is none");
    let names = "auto, read, read-overlapped, pread, mmap, mmap-parallel";
    assert_eq!(error.to_string(), format!("no strategy is called \"fastest\"; there are {names}"));
}

#[test]
fn readers_of_any_kind() {
    let mut tally = Tally::new("file/readers of any kind");
    let input = pattern(5 * TILE + 99);
    for strategy in Strategy::ALL {
        for len in [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE, input.len()] {
            let mut hasher = Hasher::new();
            let options = Options::new().strategy(strategy);
            let report = options.update_reader(&mut hasher, &input[..len]).expect("it is memory");
            assert_eq!(hasher.finalize(), treewide::hash(&input[..len]), "{strategy}, {len}");
            assert_eq!(report.bytes(), len as u64);
            tally.case();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_without_a_length() {
    let mut tally = Tally::new("file/files without a length");
    for path in
        ["/proc/version", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled"]
    {
        let Ok(content) = fs::read(path) else { continue };
        for strategy in Strategy::ALL {
            let hashed = Options::new().strategy(strategy).hash(path).expect("it can be read");
            assert_eq!(hashed.hash(), treewide::hash(&content), "{path}, {strategy}");
            assert_eq!(hashed.report().bytes(), content.len() as u64);
            tally.case();
        }
    }
    for strategy in Strategy::ALL {
        let hashed = Options::new().strategy(strategy).hash("/dev/null").expect("it can be read");
        assert_eq!(hashed.hash(), treewide::hash(b""));
        tally.case();
    }
}

#[cfg(unix)]
mod pipes {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    pub(super) fn fifo(name: &str) -> TempFile {
        let file = TempFile::new(name, b"");
        fs::remove_file(&file).expect("it is there");
        let path = CString::new(file.0.as_os_str().as_bytes()).expect("no zeros");
        // SAFETY: the path is valid.
        let result = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
        file
    }

    #[test]
    fn named() {
        let mut tally = Tally::new("file/named pipes");
        for strategy in Strategy::ALL {
            for len in [0, 1, TILE, TILE + 1, 9 * TILE + 7] {
                let input = pattern(len);
                let fifo = fifo("fifo");
                let watch = |_| ControlFlow::Continue(());
                for is_watched in [false, true] {
                    let mut options = Options::new().strategy(strategy);
                    if is_watched {
                        options = options.watch(watch);
                    }
                    std::thread::scope(|scope| {
                        scope.spawn(|| fs::write(&fifo, &input).expect("it is read"));
                        let hashed = options.hash(&fifo).expect("it is written");
                        assert_eq!(
                            hashed.hash(),
                            treewide::hash(&input),
                            "{strategy}, {len} bytes"
                        );
                        assert_eq!(hashed.report().bytes(), len as u64);
                    });
                    tally.case();
                }
            }
        }
    }

    #[test]
    fn that_are_silent_can_be_stopped() {
        let fifo = fifo("silent");
        let calls = AtomicU64::new(0);
        let watch = |bytes| {
            assert_eq!(bytes, 0);
            match calls.fetch_add(1, Ordering::Relaxed) {
                0..3 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        let stopped = || {
            calls.store(0, Ordering::Relaxed);
            let error = Options::new().watch(watch).hash(&fifo).expect_err("it was stopped");
            assert!(matches!(error.kind(), ErrorKind::Stopped), "{error}");
        };
        // Also where no one has opened the other end.
        #[cfg(target_os = "linux")]
        stopped();
        let _writer = OpenOptions::new().read(true).write(true).open(&fifo).expect("it is there");
        stopped();
    }
}

/// 100 GiB of holes: hashed for a fifth of a second, in bounded memory.
#[cfg(target_os = "linux")]
#[test]
fn a_file_longer_than_our_patience() {
    let mut tally = Tally::new("file/a file longer than our patience");
    let file = TempFile::new("sparse", b"");
    if let Err(error) = File::options().write(true).open(&file).and_then(|f| f.set_len(100 << 30)) {
        return println!("SKIPPED: file/a file longer than our patience: {error}");
    }
    for strategy in Strategy::ALL {
        let start = std::time::Instant::now();
        let watch = |_| match start.elapsed().as_millis() {
            0..200 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let options = Options::new().strategy(strategy).drop_cache(true).watch(watch);
        let error = options.hash(&file).expect_err("it was stopped");
        assert!(matches!(error.kind(), ErrorKind::Stopped), "{error}");
        tally.case();
    }
}
