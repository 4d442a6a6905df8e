//! The library as its callers use it.

#[cfg(target_os = "linux")]
#[path = "../../treewide/tests/common/waiting.rs"]
mod waiting;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use treewide::Mode;
use treewide::file::Strategy;
use treewide_files::digest::Extent;
use treewide_files::walk::{Found, Walk};
use treewide_files::{
    Cancel, ErrorKind, Event, Hashed, Item, Kind, Options, Progress, Source, Task,
};

const KIB: usize = 1 << 10;

/// Files of lengths around the edges of reading, batching and hashing alone.
fn tree() -> (tempfile::TempDir, BTreeMap<PathBuf, Vec<u8>>) {
    let edges = [0, 1, 1024, 128 * KIB - 1, 128 * KIB, 1024 * KIB, 1024 * KIB + 1, 3000 * KIB];
    let folder = tempfile::tempdir().unwrap();
    let mut files = BTreeMap::new();
    for i in 0..300_usize {
        let len = if i % 19 == 0 { edges[i / 19 % 8] } else { i * 37 % 9000 };
        let content: Vec<u8> = (0..len).map(|at| (at * 31 + i * 7 + at / 251) as u8).collect();
        let path = folder.path().join(format!("{:02}/{i:03}", i % 13));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &content).unwrap();
        files.insert(path, content);
    }
    (folder, files)
}

#[test]
fn hash_tree_keeps_the_order_and_hashes_every_file() {
    let (folder, files) = tree();
    for threads in [1, 2, 7] {
        for mode in [Mode::PLAIN, Mode::keyed(&[7; 32]), Mode::derive_key("context")] {
            let options = Options::new().threads(threads).mode(mode);
            let mut expected = files.iter();
            for result in options.hash_tree(Walk::new(folder.path())) {
                let (path, hashed) = result.unwrap();
                let (name, content) = expected.next().unwrap();
                assert_eq!((&path, hashed.bytes), (name, content.len() as u64));
                let mut hasher = treewide::Hasher::with_mode(mode);
                let hash = hasher.update(content).finalize();
                assert_eq!(hashed.digest.to_string(), hash.to_hex().to_string());
            }
            assert!(expected.next().is_none());
        }
    }
    println!("files, threads and modes: {} cases", 9 * files.len());
}

#[test]
fn hash_files_gives_the_extent_that_was_asked_for() {
    let (_folder, files) = tree();
    let options = Options::new().extent(Extent::new(3, 100).unwrap());
    for (result, content) in options.hash_files(files.keys()).zip(files.values()) {
        let mut expected = [0; 100];
        let mut output = blake3::Hasher::new().update(content).finalize_xof();
        output.set_position(3);
        output.fill(&mut expected);
        assert_eq!(result.unwrap().1.digest.into_bytes(), expected);
    }
    let (path, content) = files.iter().next_back().unwrap();
    let alone = Options::new().hash(path).unwrap().digest.to_string();
    assert_eq!(alone, blake3::hash(content).to_string());
}

#[test]
fn hash_files_goes_on_after_an_error() {
    let (folder, files) = tree();
    let missing = folder.path().join("missing");
    let mut paths: Vec<PathBuf> = files.keys().cloned().collect();
    for at in [300, 150, 65, 1, 0] {
        paths.insert(at, missing.clone());
    }
    paths.insert(10, folder.path().to_owned());
    let results: Vec<_> = Options::new().hash_files(&paths).collect();
    assert_eq!(results.len(), paths.len());
    for (result, asked) in results.iter().zip(&paths) {
        match result {
            Ok((path, hashed)) => {
                assert_eq!(path, asked);
                let expected = blake3::hash(&files[asked]).to_string();
                assert_eq!(hashed.digest.to_string(), expected);
            }
            Err(error) => {
                assert_eq!(error.path(), asked);
                assert!(error.to_string().starts_with(asked.to_str().unwrap()), "{error}");
                let kind = if *asked == missing {
                    std::io::ErrorKind::NotFound
                } else {
                    assert_eq!(asked, folder.path());
                    std::io::ErrorKind::IsADirectory
                };
                assert_eq!(error.kind().io_kind(), Some(kind));
            }
        }
    }
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 6);
}

/// Counts, and remembers in which order files were reached.
#[derive(Default)]
struct Record {
    files: AtomicU64,
    bytes: AtomicU64,
    reached: Mutex<Vec<PathBuf>>,
}

impl Progress for Record {
    fn hashed(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    fn reached(&self, path: &Path) {
        self.reached.lock().unwrap().push(path.to_owned());
    }
}

#[test]
fn progress_adds_up_to_files_and_bytes() {
    let (folder, files) = tree();
    let total: usize = files.values().map(Vec::len).sum();
    for (threads, strategy) in [(1, Strategy::Auto), (3, Strategy::Auto), (2, Strategy::Read)] {
        let record = Arc::new(Record::default());
        let options = Options::new().threads(threads).strategy(strategy).progress(record.clone());
        let results = options.hash_tree(Walk::new(folder.path()));
        assert_eq!(results.filter(Result::is_ok).count(), files.len());
        let counted = (record.files.load(Relaxed), record.bytes.load(Relaxed));
        assert_eq!(counted, (files.len() as u64, total as u64));
        assert!(record.reached.lock().unwrap().iter().eq(files.keys()));
    }
}

#[test]
fn cancel_ends_a_run_with_an_error() {
    let (folder, files) = tree();
    for threads in [1, 3] {
        for after in [0, 1, 40, 299] {
            let cancel = Cancel::new();
            let options = Options::new().threads(threads).cancel(&cancel);
            let mut results = options.hash_tree(Walk::new(folder.path()));
            let mut done = 0;
            let error = loop {
                if done == after {
                    cancel.cancel();
                }
                match results.next().expect("an error first") {
                    Ok((path, _)) => assert_eq!(&path, files.keys().nth(done).unwrap()),
                    Err(error) => break error,
                }
                done += 1;
            };
            assert_eq!(done, after);
            assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
            assert!(results.next().is_none());
        }
    }
}

#[test]
fn cancel_stops_in_the_middle_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    // Hours of hashing.
    fs::File::create(&path).unwrap().set_len(1 << 42).unwrap();
    for strategy in [Strategy::Auto, Strategy::Read] {
        let cancel = Cancel::new();
        let at_first_bytes = cancel.clone();
        let progress = move |_files, _bytes| at_first_bytes.cancel();
        let options =
            Options::new().strategy(strategy).progress(Arc::new(progress)).cancel(&cancel);
        let error = options.hash(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        assert_eq!(error.path(), path);
    }
}

/// Files, with a note after each third one.
struct WithNotes(std::vec::IntoIter<PathBuf>, usize);

impl Source for WithNotes {
    type About = usize;
    type Note = String;

    fn next(&mut self) -> Option<Item<usize, String>> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Some(Item::Note(format!("note {}", self.1)));
        }
        let (path, extent) = (self.0.next()?, Extent::HASH);
        let kind = if path == Path::new("custom") { Kind::Alone } else { Kind::Regular };
        Some(Item::File(Task { path, kind, extent, about: self.1 }))
    }
}

#[test]
fn run_returns_notes_in_their_place_and_pauses_before_large_files() {
    let (_folder, files) = tree();
    let mut paths: Vec<PathBuf> = files.keys().cloned().collect();
    paths.insert(100, "custom".into());
    let source = WithNotes(paths.clone().into_iter(), 0);
    let mut alone = Vec::new();
    let hash_alone = |path: &Path, extent: Extent| {
        alone.push(path.to_owned());
        (path == Path::new("custom")).then(|| {
            let hasher = treewide::Hasher::new();
            let digest = treewide_files::digest::Digest::new(&hasher, extent);
            Ok(Hashed { digest, bytes: 0, stamps: None })
        })
    };
    let (mut number, mut asked, mut has_paused) = (0, paths.iter(), false);
    for event in Options::new().threads(2).run_with(source, hash_alone) {
        match event {
            Event::File(task, result) => {
                number += 1;
                assert_eq!((task.about, &task.path), (number, asked.next().unwrap()));
                let hashed = result.unwrap();
                let content = files.get(&task.path).map_or(&[][..], |content| content);
                assert_eq!(hashed.digest.to_string(), blake3::hash(content).to_string());
                assert!(content.len() < 1024 * KIB || has_paused, "{}", task.path.display());
                has_paused = false;
            }
            Event::Note(note) => {
                number += 1;
                assert_eq!(note, format!("note {number}"));
                has_paused = false;
            }
            Event::Pause => has_paused = true,
            Event::Cancelled => panic!("no test cancels"),
        }
    }
    assert!(asked.next().is_none() && has_paused);
    let large = files.iter().filter(|(_, content)| content.len() >= 1024 * KIB).count();
    assert_eq!(alone.len(), large + 1);
}

/// When a run is dropped, its threads end.
#[cfg(target_os = "linux")]
#[test]
fn run_leaves_no_threads_behind() {
    let (folder, _) = tree();
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name == "files\n").count()
    };
    for _ in 0..10 {
        let options = Options::new().threads(8);
        let mut results = options.hash_tree(Walk::new(folder.path()));
        assert!(results.next().unwrap().is_ok());
    }
    // Other tests also have such threads while they run.
    waiting::wait_for(|| (threads() == 0).then_some(()));
}

#[test]
fn walk_reports_links_and_leaves_hidden_files_out() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", ".hidden", "a/.b", "a/c", "b"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let names = |walk: Walk| -> Vec<String> {
        let relative =
            |path: PathBuf| path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
        let name = |found| match found {
            Found::File { path, .. } => relative(path),
            Found::Link(path) => format!("link {}", relative(path)),
            other => panic!("{other:?}"),
        };
        walk.into_iter().map(name).collect()
    };
    let all = Walk::new(folder.path());
    assert_eq!(names(all.clone()), [".hidden", "a.txt", "a/.b", "a/c", "b"]);
    assert_eq!(names(all.clone().hidden(false)), ["a.txt", "a/c", "b"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a", folder.path().join("d")).unwrap();
        assert_eq!(names(all.clone().hidden(false)), ["a.txt", "a/c", "b", "link d"]);
        assert_eq!(names(all.hidden(false).follow_links(true)), ["a.txt", "a/c", "b", "d/c"]);
    }
}

#[test]
fn walk_returns_directories_and_leaves_out_what_is_filtered() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["a/b", "c", "d.x"] {
        std::fs::create_dir_all(tree.path().join(name)).unwrap();
    }
    for name in ["a/b/1", "a.txt", "c/2", "d.x/3"] {
        std::fs::write(tree.path().join(name), "").unwrap();
    }
    let walk = Walk::new(tree.path()).directories(true);
    let names = |walk: Walk| -> Vec<String> {
        let relative = |path: PathBuf| {
            path.strip_prefix(tree.path()).unwrap().to_str().unwrap().replace('\\', "/")
        };
        walk.into_iter()
            .map(|found| match found {
                Found::File { path, .. } => relative(path),
                Found::Directory(path) => relative(path) + "/",
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let all = ["a.txt", "a/", "a/b/", "a/b/1", "c/", "c/2", "d.x/", "d.x/3"];
    assert_eq!(names(walk.clone()), all);
    let keeps =
        |path: &Path, is_dir: bool| !(path.ends_with("2") || is_dir && path.ends_with("d.x"));
    assert_eq!(names(walk.filter(keeps)), all[..5]);
}

#[cfg(unix)]
#[test]
fn stamps_are_of_files_that_a_walk_has_found() {
    use treewide_files::{Event, Item, Kind, Source, Stamp, Task};
    struct Files(treewide_files::walk::IntoIter);
    impl Source for Files {
        type About = ();
        type Note = ();
        fn next(&mut self) -> Option<Item<(), ()>> {
            let Some(Found::File { path, identity, .. }) = self.0.next() else { return None };
            let (kind, extent) = (Kind::Found(identity), Extent::HASH);
            Some(Item::File(Task { path, kind, extent, about: () }))
        }
    }
    let tree = tempfile::tempdir().unwrap();
    for (name, len) in [("a", 3), ("b", 3 << 20), ("c", 0)] {
        std::fs::write(tree.path().join(name), vec![7; len]).unwrap();
    }
    for wanted in [true, false] {
        let mut files = 0;
        let walk = Walk::new(tree.path()).into_iter();
        for event in Options::new().stamps(wanted).run(Files(walk)) {
            let Event::File(task, hashed) = event else { continue };
            let (stamps, now) = (hashed.unwrap().stamps, Stamp::at(&task.path, false).unwrap());
            assert_eq!(stamps.map(|it| (it.before, it.after)), wanted.then_some((now, now)));
            files += 1;
        }
        assert_eq!(files, 3);
    }
}
