//! `treewide check` with damaged stores: if it ends with 0, everything was verified that it verifies of the store as it was.
//!
//! Each file and folder of each store is damaged in each of these ways: objects, marks, metadata and what is between them.

use crate::stores::{STORES, laid_by_hand, lay, paths, samples};
use crate::support::{Folder, is_root, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

type Verified = BTreeSet<PathBuf>;

/// Every file, link and folder below a folder.
pub(crate) fn everything(folder: &Path) -> Vec<PathBuf> {
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

/// A store, as whom it is checked, and what was verified of it when it was whole.
struct Case<'a> {
    folder: &'a Folder,
    store: &'a str,
    is_nobody: bool,
    whole: Verified,
    cases: u64,
}

impl Case<'_> {
    fn run(&self, options: &str) -> (Option<i32>, Verified, String) {
        let program = self.folder.treewide(&format!("check --json -v {options} {}", self.store));
        let ended = if self.is_nobody { program.by_nobody().run() } else { program.run() };
        let lines = ended.text().lines().map(|it| serde_json::from_str(it).unwrap());
        let lines: Vec<Value> = lines.filter(|it: &Value| it["type"] != "summary").collect();
        let said = format!("{:?}: {}{}", ended.code, ended.text(), ended.stderr);
        (ended.code, paths(&lines, "ok").into_iter().collect(), said)
    }

    fn holds(&mut self, what: &str, path: &Path) {
        // With -r, stores are found by the same marks, but places that cannot be looked at are said elsewhere.
        for options in ["", "-r"].iter().take(if what == "unreadable" { 2 } else { 1 }) {
            let (code, verified, ended) = self.run(options);
            let gone: Vec<_> = self.whole.difference(&verified).collect();
            assert!(code != Some(0) || gone.is_empty(), "{what} {path:?}: {gone:?} {ended}");
            assert!(matches!(code, Some(0 | 1 | 3)), "{what} {path:?}: {ended}");
            self.cases += 1;
        }
    }

    fn damage_file(&mut self, path: &Path) {
        let content = fs::read(path).unwrap();
        let is_object = self.whole.contains(path.strip_prefix(self.folder.path()).unwrap());
        let len = content.len();
        let step = if is_object { len.max(1) } else { (len / 5).max(1) };
        let mut changed = vec![vec![0; len], [&content[..], b"x"].concat(), vec![]];
        for at in (0..len).step_by(step).map(|it| if is_object { len / 2 } else { it }) {
            changed.push(content[..at].to_vec());
            changed.extend([0, 6].map(|bit| {
                let mut flipped = content.clone();
                flipped[at] ^= 1 << bit;
                flipped
            }));
        }
        for changed in changed.iter().filter(|it| **it != content) {
            fs::write(path, changed).unwrap();
            self.holds("changed", path);
        }
        fs::write(path, &content).unwrap();
        self.replace(path);
    }

    /// By a link to the same thing out of the store, and by something else.
    fn replace(&mut self, path: &Path) {
        let aside = self.folder.join("aside");
        fs::rename(path, &aside).unwrap();
        symlink(&aside, path).unwrap();
        self.holds("link to the same", path);
        fs::remove_file(path).unwrap();
        symlink("/etc/passwd", path).unwrap();
        // Without its folder or a folder that marks it, a store next to another is not known to have been there.
        let marks = ["blake3", "ac", "cas", "models--org--toy"];
        if !marks.iter().any(|it| path.ends_with(it)) {
            self.holds("link to another", path);
        }
        fs::remove_file(path).unwrap();
        symlink(path, path).unwrap();
        self.holds("link to itself", path);
        fs::remove_file(path).unwrap();
        if !aside.is_dir() {
            fs::create_dir(path).unwrap();
            self.holds("directory", path);
            fs::remove_dir(path).unwrap();
            self.folder.fifo(path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap());
            self.holds("named pipe", path);
            fs::remove_file(path).unwrap();
        }
        fs::rename(&aside, path).unwrap();
        let mode = path.metadata().unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
        self.holds("unreadable", path);
        fs::set_permissions(path, mode).unwrap();
    }
}

/// Damages everything in a store, in each way.
fn damage(folder: &Folder, store: &str) -> u64 {
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let is_nobody = is_root() && folder.treewide("--version").by_nobody().can_start();
    if is_root() && !is_nobody {
        skip("unreadable files", "root reads all files, and no other user may run the program");
    }
    let mut case = Case { folder, store, is_nobody, whole: Verified::new(), cases: 0 };
    folder.program("chmod").args(["-R", "a+rX", store]).run().fails(0, &[]);
    let (code, whole, ended) = case.run("");
    assert_eq!(code, Some(0), "{store}: {ended}");
    assert!(!whole.is_empty(), "{store}: {ended}");
    case.whole = whole;
    for path in everything(&folder.join(store)) {
        match path.is_file() && !path.is_symlink() {
            true => case.damage_file(&path),
            false if path.is_symlink() => {
                let to = fs::read_link(&path).unwrap();
                for other in ["/etc/passwd", "/etc", "nothing"] {
                    fs::remove_file(&path).unwrap();
                    symlink(other, &path).unwrap();
                    case.holds("link elsewhere", &path);
                }
                fs::remove_file(&path).unwrap();
                symlink(to, &path).unwrap();
            }
            false => case.replace(&path),
        }
    }
    let (code, again, ended) = case.run("");
    assert_eq!((code, &again), (Some(0), &case.whole), "all is as it was: {ended}");
    case.cases
}

#[test]
fn check_of_a_damaged_store_verifies_all_or_fails() {
    let Some(folder) = samples() else { return };
    let cases: u64 = STORES.iter().map(|(store, ..)| damage(&folder, store)).sum();
    println!("damages: {cases}");
}

#[test]
fn check_of_a_damaged_store_laid_by_hand_verifies_all_or_fails() {
    let mut cases = 0;
    for store in laid_by_hand() {
        let folder = Folder::new();
        lay(&folder, &store, "x");
        cases += damage(&folder, store.1);
    }
    println!("damages: {cases}");
}
