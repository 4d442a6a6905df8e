//! Hostile cases that need a file system of their own. They run where root can mount one, and say SKIPPED elsewhere.

use crate::common::{AllIsOld, Said, Tree, clock, said_of};
use crate::loops::Turn;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use treewide_manifest::machine::{Draft, Update, Verify};
use treewide_manifest::trust::Moments;
use treewide_manifest::{Class, Manifest, Options, Rules};

/// Runs a program; what it prints, or why there is nothing.
fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let out = Command::new(program).args(args).env("PATH", path).output();
    let out = out.map_err(|error| format!("{program}: {error}"))?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&out.stderr).trim())),
    }
}

/// A file system in a file, mounted, and gone when it is dropped.
struct Mounted {
    folder: tempfile::TempDir,
    device: String,
    _turn: Turn,
}

impl Mounted {
    /// `None` if it cannot be made here, with the reason printed.
    fn new(make: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        fs::create_dir(folder.path().join("at")).unwrap();
        let mounted = Turn::wait().and_then(|_turn| {
            let device = run("losetup", &["--find", "--show", image.to_str().unwrap()])?;
            let mounted = Self { folder, device, _turn };
            run(make[0], &[&make[1..], &[&*mounted.device]].concat())?;
            mounted.mount()?;
            Ok(mounted)
        });
        mounted.map_err(|cause| println!("SKIPPED: {} cannot be mounted: {cause}", make[0])).ok()
    }

    fn mount(&self) -> Result<String, String> {
        run("mount", &[&self.device, self.at().to_str().unwrap()])
    }

    fn unmount(&self) {
        let _ = run("umount", &[self.at().to_str().unwrap()]);
    }

    fn at(&self) -> PathBuf {
        self.folder.path().join("at")
    }

    /// The list of a manifest of the mounted tree, outside of it.
    fn list(&self) -> PathBuf {
        self.folder.path().join("X.b3")
    }

    fn make(&self, moments: Box<dyn Moments>, updates: bool) {
        make(&self.list(), &self.at(), Rules::default(), moments, updates);
    }

    fn verify(&self, quick: bool) -> Said {
        verify(&self.list(), &self.at(), quick)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount();
        let _ = run("losetup", &["--detach", &self.device]);
    }
}

fn make(list: &Path, root: &Path, rules: Rules, moments: Box<dyn Moments>, updates: bool) {
    let old = updates.then(|| Manifest::open(list).unwrap());
    let (draft, options) = (Draft::begin(list, true).unwrap(), Options::new());
    let update = Update::new().rules(rules);
    let made = update.run(old.as_ref(), root, draft, moments, &options, &mut |_| {}).unwrap();
    made.draft.appear().unwrap();
}

fn verify(list: &Path, root: &Path, quick: bool) -> Said {
    said_of(list, root, &Verify::new().quick(quick)).unwrap()
}

/// The disk changes a byte, and no one has written to the file.
#[test]
fn byte_that_changed_below_the_file_system_is_rot() {
    let Some(mounted) = Mounted::new(&["mkfs.ext4", "-q", "-F", "-O", "^has_journal"]) else {
        return;
    };
    let content = b"the only content of this kind ".repeat(1000);
    fs::write(mounted.at().join("a"), &content).unwrap();
    fs::write(mounted.at().join("b"), "b").unwrap();
    mounted.make(Box::new(AllIsOld), false);
    mounted.unmount();
    let disk = fs::File::options().read(true).write(true).open(&mounted.device).unwrap();
    let mut bytes = vec![0; 64 << 20];
    disk.read_exact_at(&mut bytes, 0).unwrap();
    let at = bytes.windows(60).position(|it| it == &content[..60]).unwrap() as u64;
    disk.write_all_at(b"X", at + 5000).unwrap();
    disk.sync_all().unwrap();
    drop(disk);
    mounted.mount().unwrap();
    let quick = mounted.verify(true);
    assert!(quick.is_fine(), "as documented: {:?}", quick.differences());
    assert_eq!(quick.report.files_unread, 2);
    assert_eq!(mounted.verify(false).differences(), ["rot a"]);
}

/// Times of FAT have steps of 2 s, so that a write in the same step must be seen all the same.
#[test]
fn write_in_the_same_step_of_fat_is_seen() {
    let Some(mounted) = Mounted::new(&["mkfs.vfat", "-F", "16"]) else { return };
    for round in 0..4 {
        fs::write(mounted.at().join("a"), format!("{round}")).unwrap();
        mounted.make(clock(), round > 0);
        assert_eq!(mounted.verify(true).differences(), [""; 0]);
        fs::write(mounted.at().join("a"), "x").unwrap();
        assert_eq!(mounted.verify(true).differences(), ["changed a"], "{round}");
    }
    crate::common::aged::age(&mounted.at());
    mounted.make(clock(), true);
    assert_eq!(mounted.verify(true).report.files_unread, 1, "it is old now");
}

/// `A` and `a` are one file on a disk that does not distinguish them.
#[test]
fn names_may_differ_only_in_case() {
    let casefold = &["mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8"];
    let Some(mounted) = Mounted::new(casefold) else { return };
    let folder = mounted.at().join("d");
    fs::create_dir(&folder).unwrap();
    if let Err(cause) = run("chattr", &["+F", folder.to_str().unwrap()]) {
        println!("SKIPPED: {cause}");
        return;
    }
    fs::write(folder.join("A"), "1").unwrap();
    assert!(folder.join("a").exists());
    mounted.make(Box::new(AllIsOld), false);
    // In two steps: both names are the same file, and renaming that to itself does nothing.
    fs::rename(folder.join("A"), folder.join("x")).unwrap();
    fs::rename(folder.join("x"), folder.join("a")).unwrap();
    for quick in [false, true] {
        let said = mounted.verify(quick);
        assert_eq!(said.differences(), ["moved d/a from d/A"]);
    }
    mounted.make(Box::new(AllIsOld), true);
    assert!(mounted.verify(false).is_fine());
    // A list from a disk that has both.
    let list = fs::read_to_string(mounted.list()).unwrap();
    fs::write(mounted.list(), list.replace("d/a", "d/A") + &list).unwrap();
    assert_eq!(mounted.verify(false).differences(), ["removed d/A"]);
}

/// What is mounted inside of the tree.
#[test]
fn one_file_system_leaves_mount_points_alone() {
    let tree = Tree::new(&[("a", "1"), ("other/below", "hidden by the mount")]);
    let other = tree.at("other");
    let target = other.to_str().unwrap().to_owned();
    if let Err(cause) = run("mount", &["-t", "tmpfs", "none", &target]) {
        println!("SKIPPED: {cause}");
        return;
    }
    struct Unmount(String);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = run("umount", &[&self.0]);
        }
    }
    let mounted = Unmount(target);
    fs::write(other.join("b"), "2").unwrap();
    let rules = Rules { one_file_system: true, ..Rules::default() };
    let (list, root) = (tree.list(), tree.root());
    make(&list, &root, rules, Box::new(AllIsOld), false);
    assert!(!fs::read_to_string(&list).unwrap().contains("other"));
    fs::write(other.join("b"), "3").unwrap();
    fs::write(other.join("c"), "new").unwrap();
    for quick in [false, true] {
        assert!(verify(&list, &root, quick).is_fine());
    }
    make(&list, &root, Rules::default(), Box::new(AllIsOld), true);
    assert!(fs::read_to_string(&list).unwrap().contains("other/b"));
    fs::write(other.join("b"), "4").unwrap();
    assert_eq!(verify(&list, &root, true).differences(), ["changed other/b"]);
    // The files that a mount covered are there again, and are not taken for the mounted ones.
    drop(mounted);
    let said = verify(&list, &root, true);
    assert_eq!(said.differences(), ["added other/below", "removed other/b", "removed other/c"]);
    assert_eq!(said.report.count(Class::Same), 2);
}

/// An automount, at a place where nothing was when the run began. What the walk had not come to is hidden.
#[test]
fn mount_that_comes_during_a_run_hides_its_files() {
    let tree = Tree::new(&[("a", "a"), ("m/k", "k"), ("z", "z")]);
    tree.snapshot();
    let at = tree.root().join("m");
    let mount = || run("mount", &["-t", "tmpfs", "none", at.to_str().unwrap()]);
    let unmount = || run("umount", &[at.to_str().unwrap()]);
    if let Err(cause) = mount().and_then(|_| unmount()) {
        println!("SKIPPED: nothing can be mounted: {cause}");
        return;
    }
    let update = |each: &mut dyn FnMut()| {
        let old = Manifest::open(&tree.list()).unwrap();
        let draft = Draft::begin(&tree.list(), true).unwrap();
        let mut update = Update::new().full(true);
        update = update.most_removed(treewide_manifest::machine::Limit::Percent(100.0));
        let options = Options::new().threads(1);
        let made = update.run(Some(&old), &tree.root(), draft, clock(), &options, &mut |_| each());
        made.map(|made| made.draft.appear().unwrap()).map_err(|error| error.to_string())
    };
    let mut mounted = false;
    let refused = update(&mut || {
        if !std::mem::replace(&mut mounted, true) {
            mount().unwrap();
        }
    });
    unmount().unwrap();
    assert!(
        refused.unwrap_err().contains("something was mounted or unmounted at m/ during the run")
    );
    update(&mut || {}).unwrap();
}
