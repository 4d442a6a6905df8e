//! A check of a store that ends well has verified everything, and has accounted for all that is in its places: stores as they are, with each of
//! their files and folders damaged in each of these ways, and with other things added to each of their folders.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use treewide_digests::check::{Check, Event, Status};
use treewide_files::Options;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../treewide-cli/tests/stores.tar.xz");

/// A store: its folder, the places in it where objects and records are and nothing else, and its objects that can be checked.
type Store<'a> = (&'a str, &'a str, usize);

/// Stores of real programs.
const STORES: &[Store<'_>] = &[
    ("bagit", "data", 9),
    ("bazel-disk-from-source", "cas blake3/cas", 6),
    ("dvc", ".dvc/cache/files/md5", 6),
    ("git-annex", ".git/annex/objects", 13),
    ("git-lfs", ".git/lfs/objects", 5),
    (
        "hf-cache-2x",
        "blobs models--org--toy/blobs models--org--toy/snapshots models--org--toy/trees",
        6,
    ),
    ("hf-local-dir", ".cache/huggingface/download", 5),
    ("oci-layout", "blobs", 4),
    ("ollama-from-source", "blobs manifests manifests-v2", 4),
    ("restic", "data index keys snapshots", 5),
    ("skopeo-dir", ".", 3),
];

/// SHA-256, SHA-1, MD5 and SHA-512 of `x`.
const X: [&str; 4] = [
    "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
    "11f6ad8ec52a2984abaafd7c3b516503785c2072",
    "9dd4e461268c8034f5c8564e155c67a6",
    "a4abd4448c49562d828115d13a1fccea927f52b4d5459297f8b43e42da89238bc13626e43dcb38ddb082488927ec904fb42057443983e88585179d50551afe62",
];

/// Stores that are laid by hand, other files in them, and objects whose content is `x`. The folders in their names have as many digits as this
/// says.
const LAID: &[(Store<'_>, &[&str], &[&str])] = &[
    (
        ("_cacache", "content-v2", 2),
        &["index-v5/aa/bb/c", "tmp/x"],
        &["content-v2/sha512/2/2/SHA512", "content-v2/sha1/2/2/SHA1"],
    ),
    (("c", "blobs", 1), &["ingest/a/data"], &["blobs/sha256/SHA256"]),
    (
        ("docker/registry/v2", "blobs repositories/a/_manifests", 1),
        &["repositories/a/_uploads/b"],
        &["blobs/sha256/=2/SHA256/data"],
    ),
    (
        ("dists/x", "by-hash", 3),
        &["Release"],
        &["by-hash/SHA256/SHA256", "by-hash/SHA512/SHA512", "by-hash/MD5Sum/MD5"],
    ),
    (("cache/files/md5", ".", 1), &[], &["2/MD5"]),
];

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The path of an object: `2` means the next two digits, `=2` the first two, and the name of an algorithm the rest.
fn object(pattern: &str) -> String {
    let name = pattern.trim_end_matches("/data").rsplit('/').next().unwrap();
    let at = ["SHA256", "SHA1", "MD5", "SHA512"].iter().position(|it| *it == name).unwrap();
    let mut rest = X[at];
    let parts = pattern.split('/').map(|part| match part {
        "2" => {
            let (first, others) = rest.split_at(2);
            rest = others;
            first
        }
        "=2" => &X[at][..2],
        part if part == name => rest,
        part => part,
    });
    // The folder of `by-hash` has the name of the algorithm too.
    parts.collect::<Vec<_>>().join("/").replacen(
        &format!("by-hash/{}", X[at]),
        &format!("by-hash/{name}"),
        1,
    )
}

fn lay(root: &Path, marks: &[&str], objects: &[&str]) {
    marks.iter().for_each(|it| write(&root.join(it), ""));
    objects.iter().for_each(|it| write(&root.join(object(it)), "x"));
}

/// Every file, link and folder below a folder.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            let below = everything(&path);
            // A folder without files says nothing.
            all.extend((!below.is_empty()).then_some(path));
            all.extend(below);
        } else {
            all.push(path);
        }
    }
    all
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The exit status that the command line has, the files that were verified, the files that failed, and the messages.
type Ended = (i32, BTreeSet<PathBuf>, BTreeSet<PathBuf>, String);

fn check(path: &Path, recursive: bool, threads: usize) -> Ended {
    let mut results = Check { recursive, ..Check::default() }
        .run(vec![path.into()], &Options::new().threads(threads));
    let (mut verified, mut failed, mut said) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for event in &mut results {
        match event {
            Event::Finding(it) | Event::Place(it) => {
                said += &format!("{}: {} {:?}\n", it.path.display(), it.status.word(), it.cause);
                match it.status {
                    Status::Ok => drop(verified.insert(it.path)),
                    Status::Failed => drop(failed.insert(it.path)),
                    _ => {}
                }
            }
            Event::StoreEnd(it) => said += &format!("{it}\n"),
            _ => {}
        }
    }
    let code = match (results.total().is_certain(), results.total().differs()) {
        (false, _) => 3,
        (true, true) => 1,
        (true, false) => 0,
    };
    (code, verified, failed, said)
}

/// A store, and what was verified of it when it was whole.
struct Case {
    folder: PathBuf,
    root: PathBuf,
    whole: BTreeSet<PathBuf>,
    cases: u64,
}

impl Case {
    fn new(folder: &Path, (store, _, objects): Store<'_>) -> Self {
        let root = folder.join(store);
        let (_, whole, ..) = check(&root, false, 1);
        for (threads, recursive) in [(1, true), (2, false), (5, false)] {
            let (code, again, failed, said) = check(&root, recursive, threads);
            assert_eq!((code, &again, failed.len()), (0, &whole, 0), "{store}: {said}");
        }
        assert_eq!(whole.len(), objects, "{store}: {whole:?}");
        Self { folder: folder.into(), root, whole, cases: 0 }
    }

    /// Whether the check fails where not all is verified, or named as skipped. `is_other` says that it must.
    fn holds(&mut self, what: &str, path: &Path, is_other: bool) {
        for recursive in [false, true] {
            let (code, verified, _, said) = check(&self.root, recursive, 1);
            let is_silent = |it: &&PathBuf| !said.contains(&format!("{}: skipped", it.display()));
            let gone: Vec<_> = self.whole.difference(&verified).filter(is_silent).collect();
            assert!(code != 0 || gone.is_empty() && !is_other, "{what} {path:?}: {gone:?} {said}");
            self.cases += 1;
            // With -r, stores are found by the same marks, but places that cannot be looked at are said elsewhere.
            if !what.starts_with("unreadable") {
                break;
            }
        }
    }

    fn damage_file(&mut self, path: &Path) {
        let content = fs::read(path).unwrap();
        let is_object = self.whole.contains(path);
        let len = content.len();
        let step = if is_object { len.max(1) } else { (len / 3).max(1) };
        let mut changed = vec![vec![0; len], [&content[..], b"x"].concat(), vec![]];
        for at in (0..len).step_by(step).map(|it| if is_object { len / 2 } else { it }) {
            changed.push(content[..at].to_vec());
            changed.extend([0, 6].map(|bit| {
                let mut flipped = content.clone();
                flipped[at] ^= 1 << bit;
                flipped
            }));
        }
        // Without its mark it is not a bag, and with another manifest other files are listed.
        let is_mark =
            path.ends_with("bagit.txt") || path.to_string_lossy().contains("manifest-sha");
        for changed in changed.iter().filter(|it| **it != content) {
            fs::write(path, changed).unwrap();
            self.holds("changed", path, false);
            if is_object && !is_mark {
                let (code, _, failed, said) = check(&self.root, false, 1);
                assert!(code == 1 && failed.contains(path), "{path:?}: {said}");
            }
        }
        fs::write(path, &content).unwrap();
        self.replace(path);
    }

    /// By a link to the same thing out of the store, and by something else.
    fn replace(&mut self, path: &Path) {
        let aside = self.folder.join("aside");
        fs::rename(path, &aside).unwrap();
        // Without its folder or a folder that marks it, a store next to another is not known to have been there.
        let is_mark =
            ["blake3", "ac", "cas", "models--org--toy"].iter().any(|it| path.ends_with(it));
        for (what, to) in [
            ("link to the same", &*aside),
            ("link to another", Path::new("/etc/passwd")),
            ("link to itself", path),
        ] {
            symlink(to, path).unwrap();
            if !is_mark || what != "link to another" {
                self.holds(what, path, false);
            }
            fs::remove_file(path).unwrap();
        }
        if !aside.is_dir() {
            fs::create_dir(path).unwrap();
            self.holds("directory", path, false);
            fs::remove_dir(path).unwrap();
            fifo(path);
            self.holds("named pipe", path, false);
            fs::remove_file(path).unwrap();
        }
        fs::rename(&aside, path).unwrap();
        let before = path.metadata().unwrap().permissions();
        mode(path, 0o000);
        self.holds("unreadable", path, false);
        fs::set_permissions(path, before).unwrap();
    }

    /// Adds a thing of each kind to a folder. Where the store has its objects and records, it is accounted for.
    fn add(&mut self, folder: &Path, is_own: bool) {
        let aside = self.folder.join("aside");
        write(&aside.join("x"), "x");
        let names = ["other".to_owned(), "ab".repeat(32), "ab".repeat(20)];
        let path = folder.join(&names[self.cases as usize % names.len()]);
        for (what, to) in [
            ("a link to nothing", Path::new("nothing")),
            ("a link to a file", &aside.join("x")),
            ("a link to a folder", &aside),
            ("a link to a device", Path::new("/dev/null")),
        ] {
            symlink(to, &path).unwrap();
            self.holds(what, &path, is_own);
            fs::remove_file(&path).unwrap();
        }
        for what in ["file", "unreadable file", "pipe"] {
            match what {
                "pipe" => fifo(&path),
                _ => write(&path, "x"),
            }
            mode(&path, if what == "file" { 0o644 } else { 0o000 });
            self.holds(what, &path, is_own);
            fs::remove_file(&path).unwrap();
        }
        for what in ["folder", "unreadable folder"] {
            write(&path.join("x"), "x");
            mode(&path, if what == "folder" { 0o755 } else { 0o000 });
            self.holds(what, &path, is_own);
            mode(&path, 0o755);
            fs::remove_dir_all(&path).unwrap();
        }
        fs::remove_dir_all(aside).unwrap();
    }
}

/// Damages everything in a store in each way, and adds things to each of its folders.
fn damage(folder: &Path, store: Store<'_>) -> u64 {
    let mut case = Case::new(folder, store);
    let (root, all) = (case.root.clone(), everything(&case.root));
    let own: Vec<_> = store.1.split(' ').map(|it| root.join(it)).collect();
    // Some of each depth.
    let mut of_depth = BTreeMap::<_, usize>::new();
    let mut is_chosen = |it: &&PathBuf| {
        let before = of_depth.entry(it.components().count()).or_default();
        *before += 1;
        *before <= 3
    };
    let folders = all.iter().filter(|it| it.is_dir() && !it.is_symlink());
    for path in folders.chain([&root]).filter(&mut is_chosen) {
        case.add(path, own.iter().any(|it| path.starts_with(it)));
    }
    for path in all {
        match path.is_file() && !path.is_symlink() {
            true => case.damage_file(&path),
            false if path.is_symlink() => {
                let to = fs::read_link(&path).unwrap();
                for other in ["/etc/passwd", "/etc", "nothing"] {
                    fs::remove_file(&path).unwrap();
                    symlink(other, &path).unwrap();
                    case.holds("link elsewhere", &path, false);
                }
                fs::remove_file(&path).unwrap();
                symlink(to, &path).unwrap();
            }
            false => case.replace(&path),
        }
    }
    let (code, again, _, said) = check(&root, false, 1);
    assert_eq!((code, &again), (0, &case.whole), "all is as it was: {said}");
    case.cases
}

#[test]
fn check_of_a_damaged_store_verifies_all_or_fails() {
    const NOBODY: &str = "TREEWIDE_TEST_NOBODY";
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    // Root reads all files.
    if is_root && env::var_os(NOBODY).is_none() {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--nocapture", "--exact", "check_of_a_damaged_store_verifies_all_or_fails"]);
        match again.uid(65534).gid(65534).env(NOBODY, "1").status() {
            Ok(status) => return assert!(status.success()),
            Err(error) => {
                println!("SKIPPED: unreadable files: no other user may run the test: {error}")
            }
        }
    }
    let mut cases = 0;
    for (store, marks, objects) in LAID {
        let folder = tempfile::tempdir().unwrap();
        lay(&folder.path().join(store.0), marks, objects);
        cases += damage(folder.path(), *store);
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").args(["xf", SAMPLES]).current_dir(folder.path()).status();
    if !unpacked.is_ok_and(|it| it.success()) {
        return println!("SKIPPED: samples of stores: there is no tar or no xz");
    }
    for store in STORES {
        cases += damage(folder.path(), *store);
    }
    println!("damages and additions: {cases}");
}
