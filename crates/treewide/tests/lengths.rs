//! The length of a file and the end of reading disagree: every way of hashing a file reports that.
//!
//! The test runs itself again under a library that makes reading end too soon, or lengths too low (`lengths.c`).
#![cfg(all(feature = "file", target_os = "linux", target_env = "gnu"))]

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use treewide::Hasher;
use treewide::file::{self, ErrorKind, Options, Strategy};

const LENGTHS: [usize; 6] = [100, 1_000, 65_536, 500_000, 1_500_000, (17 << 20) + 5];

/// The bytes between the two ends.
const CUT: u64 = 100;

/// Set in the run under the library: the folder of the files.
const INSIDE: &str = "TREEWIDE_TEST_LENGTHS";

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 1000 + at) as u8).collect()
}

/// The same test once more, under the library.
fn run_again(name: &str) {
    // Where cargo has a runner, the program may be one for another machine than the compiler's.
    let is_runner = |name: &str| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER");
    if let Some((runner, _)) = std::env::vars().find(|(name, _)| is_runner(name)) {
        return println!("SKIPPED: {name}: {runner} is set, so an emulator may run this program");
    }
    let folder =
        std::env::temp_dir().join(format!("treewide-lengths-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let library = folder.join("lengths.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lengths.c");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        let _ = fs::remove_dir_all(&folder); // it does no harm if it stays
        return println!("SKIPPED: {name}: cc cannot compile lengths.c");
    }
    let program = std::env::current_exe().expect("a test has a file");
    let status = Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env("LD_PRELOAD", &library)
        .env("CUT", CUT.to_string())
        .env(INSIDE, &folder)
        .status()
        .expect("it can run");
    let _ = fs::remove_dir_all(&folder); // it does no harm if it stays
    assert!(status.success(), "{status}");
}

/// The folder, in the run under the library.
fn inside(name: &str) -> Option<PathBuf> {
    match std::env::var_os(INSIDE) {
        Some(folder) => Some(folder.into()),
        None => {
            run_again(name);
            None
        }
    }
}

/// Files of all lengths whose names begin so.
fn files(folder: &Path, name: &str) -> Vec<(PathBuf, u64)> {
    let make = |len: usize| {
        let path = folder.join(format!("{name}-{len}"));
        fs::write(&path, content(len)).expect("a file can be written");
        (path, len as u64)
    };
    LENGTHS.map(make).into()
}

fn options() -> impl Iterator<Item = Options<'static>> {
    let strategies = Strategy::ALL.into_iter().chain([Strategy::Auto]);
    strategies.flat_map(|strategy| {
        [1, 2].map(|threads| Options::new().strategy(strategy).threads(threads))
    })
}

#[test]
fn options_report_a_file_that_ends_too_soon() {
    let Some(folder) = inside("options_report_a_file_that_ends_too_soon") else { return };
    for (path, len) in files(&folder, "cut") {
        let check = |result: Result<_, file::Error>, what: &str| match result
            .map_err(file::Error::into_kind)
        {
            Err(ErrorKind::Ended { read, len: stated }) => {
                assert_eq!((read, stated), (len - CUT, len), "{what}");
            }
            Err(error) => panic!("{what}, {len} bytes: {error}"),
            Ok(()) => panic!("{what}, {len} bytes: no error"),
        };
        for options in options() {
            check(options.hash(&path).map(drop), &format!("{options:?}"));
            check(options.clone().mapping(false).hash(&path).map(drop), &format!("{options:?}"));
            // From a place on, in a hasher that has absorbed something.
            for at in [1, len - CUT, len - 1] {
                let mut file = File::open(&path).expect("it is there");
                file.seek(SeekFrom::Start(at)).expect("it is a file");
                let mut hasher = Hasher::new();
                hasher.update(b"something");
                check(
                    options.update_file(&mut hasher, &file, &path).map(drop),
                    &format!("{options:?} from {at}"),
                );
            }
        }
        check(file::hash(&path).map(drop), "hash");
        let file = File::open(&path).expect("it is there");
        let opened = file.metadata().expect("it is open");
        assert!(file::promises_length(&file, &opened));
        assert!(matches!(file::check_length(&file, &opened), Err(ErrorKind::Ended { .. })));
    }
}

#[test]
fn options_report_a_file_that_goes_on() {
    let Some(folder) = inside("options_report_a_file_that_goes_on") else { return };
    for (path, len) in files(&folder, "low") {
        for options in options() {
            // Where nothing is left, all of it is read.
            if len == CUT {
                assert_eq!(options.hash(&path).expect("read to its end").report().bytes(), len);
                continue;
            }
            match options.hash(&path).map_err(file::Error::into_kind) {
                Err(ErrorKind::GoesOn { len: stated }) => assert_eq!(stated, len - CUT),
                Err(error) => panic!("{options:?}, {len} bytes: {error}"),
                Ok(_) => panic!("{options:?}, {len} bytes: no error"),
            }
        }
    }
}

#[cfg(feature = "mmap")]
#[test]
fn update_mmap_reports_a_file_that_ends_elsewhere() {
    let Some(folder) = inside("update_mmap_reports_a_file_that_ends_elsewhere") else { return };
    for name in ["cut", "low"] {
        for (path, len) in files(&folder, name) {
            if name == "low" && len == CUT {
                continue; // stated to be empty, and read to its end
            }
            let expected = match name {
                "cut" => format!("ended at {} of {len} bytes", len - CUT),
                _ => format!("continues after its length of {} bytes", len - CUT),
            };
            let check = |result: std::io::Result<()>| {
                let error = result.expect_err("it ends elsewhere").to_string();
                assert!(error.contains(&expected), "{error}");
            };
            check(Hasher::new().update_mmap(&path).map(drop));
            #[cfg(feature = "rayon")]
            check(Hasher::new().update_mmap_rayon(&path).map(drop));
        }
    }
}

#[cfg(feature = "async")]
#[test]
fn hash_async_reports_a_file_that_ends_too_soon() {
    use std::future::Future;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    struct Unpark(std::thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let Some(folder) = inside("hash_async_reports_a_file_that_ends_too_soon") else { return };
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    for (path, len) in files(&folder, "cut") {
        let mut future = std::pin::pin!(Options::new().hash_async(&path));
        let result = loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => break result,
                Poll::Pending => std::thread::park(),
            }
        };
        let ended = result.map_err(file::Error::into_kind);
        assert!(matches!(ended, Err(ErrorKind::Ended { len: stated, .. }) if stated == len));
    }
}
