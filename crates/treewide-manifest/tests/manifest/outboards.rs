//! Outboards next to a manifest: made in the same read, found by digest, and never believed further than the digest proves.

use crate::common::Tree;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use treewide::outboard::{self, Flaw, FlawKind, Group};
use treewide_manifest::machine::{Update, Verify};
use treewide_manifest::{Bad, Located, Options, Outboards, Progress, Rules};

/// The least length of files that have outboards here.
const MIN: u64 = 50_000;

fn content(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    treewide::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// Files around the least length, and one that is hashed by several threads.
fn tree() -> Tree {
    let tree = Tree::new(&[("short", "1")]);
    for (name, len) in [("a", 49_999), ("b/50000", 50_000), ("b/long", 100_000), ("c", 3_000_001)] {
        tree.write(name, content(len));
    }
    // The same content under another name.
    tree.write("d", content(100_000));
    tree
}

fn folder(tree: &Tree) -> PathBuf {
    tree.folder().join("outboards")
}

fn outboards(tree: &Tree) -> Outboards {
    Outboards::new(folder(tree)).min(MIN)
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string());
    let mut names: Vec<String> = names.map(Result::unwrap).collect();
    names.sort();
    names
}

/// Makes the manifest, and returns how many outboards were written and files read.
fn made(tree: &Tree) -> (u64, u64) {
    let update = Update::new().outboards(outboards(tree));
    let made = tree.make(&update, &Options::new()).unwrap();
    assert_eq!(made.outboards.failed, None);
    made.draft.appear().unwrap();
    (made.outboards.files, made.report.files_read)
}

/// What `verify` says of the bytes of a file.
fn located(tree: &Tree, name: &str) -> Option<Located> {
    let said = tree.said(Verify::new().outboards(outboards(tree))).unwrap();
    said.finding(name).located.clone()
}

fn bad(tree: &Tree, name: &str) -> Bad {
    match located(tree, name) {
        Some(Located::Bytes(bad)) => bad,
        other => panic!("{other:?}"),
    }
}

fn cause(tree: &Tree, name: &str) -> String {
    match located(tree, name) {
        Some(Located::Unknown(cause)) => cause,
        other => panic!("{other:?}"),
    }
}

fn outboard_of(tree: &Tree, len: usize) -> PathBuf {
    outboards(tree).path_of(treewide::hash(&content(len)).as_bytes())
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn outboards_are_those_of_the_files() {
    let tree = tree();
    assert_eq!(made(&tree), (4, 6));
    let mut expected = Vec::new();
    for len in [50_000, 100_000, 3_000_001] {
        let (digest, pairs) = outboard::create(&content(len), Group::IROH, treewide::Mode::PLAIN);
        expected.push(format!("{digest}.obao4"));
        assert!(fs::read(outboard_of(&tree, len)).unwrap() == pairs, "{len}");
    }
    expected.sort();
    assert_eq!(names(&folder(&tree)), expected);
    let (list, _) = tree.afresh(Rules::default());
    assert_eq!(fs::read(tree.list()).unwrap(), list, "the manifest is the same");
    assert!(tree.verify().is_fine());
}

#[test]
fn verify_names_the_bytes_that_differ() {
    let tree = tree();
    made(&tree);
    assert_eq!(located(&tree, "b/long"), None);
    flip(&tree.at("b/long"), 40_000);
    flip(&tree.at("b/long"), 99_999);
    let found = |range, kind| Flaw { range, kind };
    let first = vec![found(32_768..49_152, FlawKind::Bad), found(98_304..100_000, FlawKind::Bad)];
    let expected = Bad { len: 100_000, first, bad: 18_080, ..Bad::default() };
    assert_eq!(bad(&tree, "b/long"), expected);
    // Longer and shorter.
    tree.write("c", [&content(3_000_001)[..], b"more"].concat());
    let c = bad(&tree, "c");
    assert_eq!((c.first, c.extra), (vec![found(3_000_001..3_000_005, FlawKind::Extra)], 4));
    tree.write("c", &content(3_000_001)[..2_000_000]);
    let c = bad(&tree, "c");
    assert_eq!((c.first.len(), c.first[0].range.start, c.bad), (1, 1_998_848, 1_001_153));
    // Files that are too short for an outboard.
    tree.write("short", "2");
    flip(&tree.at("a"), 0);
    assert_eq!((located(&tree, "short"), located(&tree, "a")), (None, None));
    // Without an index, lengths are not recorded.
    fs::remove_file(treewide_manifest::index_path(&tree.list())).unwrap();
    assert_eq!(bad(&tree, "b/long"), expected);
    assert_eq!(bad(&tree, "c").bad, 3_014_656 - 1_998_848);
    assert_eq!(located(&tree, "a"), None);
}

#[test]
fn outboards_are_believed_as_far_as_the_digest_proves() {
    let tree = tree();
    made(&tree);
    flip(&tree.at("b/long"), 40_000);
    let path = outboard_of(&tree, 100_000);
    let right = fs::read(&path).unwrap();
    // Of another file of the same length, under the right name; cut off; empty; a flipped bit in the root.
    let other = outboard::create(&[7; 100_000], Group::IROH, treewide::Mode::PLAIN).1;
    let mut flipped = right.clone();
    flipped[63] ^= 1;
    for wrong in [&other[..], &right[..right.len() - 1], &[], &flipped] {
        fs::write(&path, wrong).unwrap();
        let cause = cause(&tree, "b/long");
        assert!(cause.contains(".obao4: is not the outboard of the recorded content"), "{cause}");
    }
    // Below the root: nothing is known of the bytes there, and the rest is as exact as before.
    let mut flipped = right.clone();
    flipped[4 * 64] ^= 1;
    fs::write(&path, &flipped).unwrap();
    let bad = bad(&tree, "b/long");
    assert_eq!((bad.bad, bad.unknown), (16_384, 100_000 - 65_536));
    fs::remove_file(&path).unwrap();
    let cause_is = |part: &str| {
        let cause = cause(&tree, "b/long");
        assert!(cause.contains(part), "{cause}");
    };
    cause_is("outboards has no outboard of the recorded content");
    fs::create_dir(&path).unwrap();
    cause_is("is a directory");
}

#[test]
fn update_writes_outboards_of_what_it_reads_and_of_what_has_none() {
    let tree = tree();
    tree.snapshot();
    // None is there.
    assert_eq!(made(&tree), (4, 4));
    assert_eq!(made(&tree), (0, 0));
    let mut new = content(100_000);
    new[5] ^= 1;
    tree.write("b/long", &new);
    fs::remove_file(outboard_of(&tree, 3_000_001)).unwrap();
    fs::write(outboard_of(&tree, 50_000), "cut off").unwrap();
    // What a crash may leave: the length, without the content.
    let len = fs::metadata(outboard_of(&tree, 100_000)).unwrap().len();
    fs::write(outboard_of(&tree, 100_000), vec![0; len as usize]).unwrap();
    assert_eq!(made(&tree), (4, 4));
    assert_eq!(names(&folder(&tree)).len(), 4);
    assert!(outboards(&tree).path_of(treewide::hash(&new).as_bytes()).exists());
    flip(&tree.at("b/long"), 0);
    assert_eq!(bad(&tree, "b/long").first[0].range, 0..16_384);
}

#[test]
fn outboards_are_not_written_into_the_tree() {
    let tree = tree();
    for inside in ["outboards", "b/new/er", ""] {
        let outboards = Outboards::new(tree.at(inside)).min(MIN);
        let update = Update::new().outboards(outboards);
        let error = tree.make(&update, &Options::new()).unwrap_err().to_string();
        assert!(error.contains("is in the directory that the manifest is of"), "{error}");
    }
    assert!(!tree.at("b/new").exists() && !tree.at("outboards").exists());
    // There is no such directory yet, so that `..` leads nowhere.
    let around = tree.folder().join("new/..").join(tree.root().file_name().unwrap()).join("er");
    let update = Update::new().outboards(Outboards::new(around).min(MIN));
    let error = tree.make(&update, &Options::new()).unwrap_err().to_string();
    assert!(error.contains("is in the directory that the manifest is of"), "{error}");
    fs::remove_dir(tree.at("er")).unwrap();
    // Unless it is left out.
    let rules = Rules { exclude: vec!["/b/new/".into()], ..Rules::default() };
    let update = Update::new().rules(rules).outboards(Outboards::new(tree.at("b/new/er")).min(MIN));
    let made = tree.make(&update, &Options::new()).unwrap();
    assert_eq!((made.outboards.files, names(&tree.at("b/new/er")).len()), (4, 3));
    made.draft.appear().unwrap();
    assert!(tree.verify().is_fine());
    // A file is in the way.
    fs::write(folder(&tree), "").unwrap();
    let update = Update::new().outboards(outboards(&tree));
    let error = tree.make(&update, &Options::new()).unwrap_err().to_string();
    assert!(error.contains("outboards: cannot write"), "{error}");
}

/// Does something when a file is reached, or when bytes were read.
struct When<F>(F);

impl<F: Fn(Option<&Path>) + Send + Sync> Progress for When<F> {
    fn reached(&self, path: &Path) {
        (self.0)(Some(path));
    }

    fn hashed(&self, _: u64, bytes: u64) {
        if bytes > 0 {
            (self.0)(None);
        }
    }
}

#[test]
fn outboards_that_cannot_be_written_cost_no_manifest() {
    let tree = tree();
    let gone = folder(&tree);
    let progress = When(move |path: Option<&Path>| {
        if path.is_some_and(|path| path.ends_with("b/long")) {
            let _ = fs::remove_dir_all(&gone);
        }
    });
    let options = Options::new().progress(Arc::new(progress));
    let update = Update::new().outboards(outboards(&tree));
    let made = tree.make(&update, &options).unwrap();
    let failed = made.outboards.failed.clone().unwrap();
    assert!(failed.contains("outboards: cannot write: "), "{failed}");
    assert_eq!((made.outboards.files, made.report.files_read), (1, 6));
    made.draft.appear().unwrap();
    assert!(tree.verify().is_fine());
}

/// Such as a log, or a database. What was read is a mixture, whose digest would let each later run speak of rot.
#[test]
fn file_that_changes_while_it_is_read_keeps_its_digest_until_it_is_read_in_peace() {
    for is_recorded in [true, false] {
        let tree = Tree::new(&[("b", "1")]);
        tree.write("a", content(100_000));
        if is_recorded {
            tree.snapshot();
        }
        let line = format!("{}  a\n", treewide::hash(&content(100_000)));
        let (path, count) = (tree.at("a"), AtomicU64::new(0));
        let progress = When(move |reached: Option<&Path>| {
            if reached.is_none() {
                flip(&path, count.fetch_add(1, Ordering::Relaxed) as usize);
            }
        });
        let options = Options::new().progress(Arc::new(progress));
        let update = Update::new().full(true).outboards(outboards(&tree));
        // Each write has a time of its own.
        tree.age();
        let made = tree.make(&update, &options).unwrap();
        assert_eq!(made.report.count(treewide_manifest::Class::Changing), 1);
        assert_eq!((made.outboards.files, names(&folder(&tree))), (0, Vec::new()));
        made.draft.appear().unwrap();
        let list = fs::read_to_string(tree.list()).unwrap();
        assert_eq!((list.contains(&line), list.contains("  a\n")), (is_recorded, is_recorded));
        let said = tree.update();
        let expected = if is_recorded { "changed a" } else { "added a" };
        assert_eq!((said.differences(), said.report.files_kept), (vec![expected.into()], 0));
        assert!(said.report.is_certain() && tree.verify().is_fine());
    }
}

#[test]
fn runs_share_a_folder() {
    let trees: Vec<Tree> = (0..2).map(|_| tree()).collect();
    let shared = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for tree in &trees {
            scope.spawn(|| {
                let update = Update::new().outboards(Outboards::new(shared.path()).min(MIN));
                let made = tree.make(&update, &Options::new()).unwrap();
                assert_eq!((made.outboards.files, made.outboards.failed), (4, None));
                made.draft.appear().unwrap();
            });
        }
    });
    assert_eq!(names(shared.path()).len(), 3);
    for tree in &trees {
        flip(&tree.at("c"), 5);
        let verify = Verify::new().outboards(Outboards::new(shared.path()));
        assert_eq!(tree.said(verify).unwrap().differences(), ["changed c"]);
    }
}

/// A run that continues reads the files again whose outboards are missing.
#[test]
fn resumed_files_have_outboards_too() {
    let tree = tree();
    drop(tree.make(&Update::new(), &Options::new()).unwrap());
    let update = Update::new().outboards(outboards(&tree));
    let made = tree.make(&update, &Options::new()).unwrap();
    assert_eq!((made.report.files_resumed, made.outboards.files), (2, 4));
    drop(made);
    // Its outboards are there when it continues once more.
    let made = tree.make(&update, &Options::new()).unwrap();
    assert_eq!((made.report.files_resumed, made.outboards.files), (6, 0));
    made.draft.appear().unwrap();
    assert!(tree.verify().is_fine());
}
