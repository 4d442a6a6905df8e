//! Digests by other algorithms in the index: found in the same reading, carried on by an update, and never those of other content.

use crate::common::{AllIsOld, Tree};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treewide_digests::check::{Finding, Status};
use treewide_digests::{Algorithm, List, Reading};
use treewide_files::check::ListedFiles;
use treewide_files::digest::hex;
use treewide_files::list::Lines;
use treewide_files::{Item, Source};
use treewide_manifest::also;
use treewide_manifest::journal::is_left;
use treewide_manifest::machine::{Against, Update};
use treewide_manifest::record::{FileRecord, What};
use treewide_manifest::{Globs, Loss, Manifest, Options, Outboards, Rules, index_path};

const SHA256: Algorithm = Algorithm::SHA256;
const MD5: Algorithm = Algorithm::MD5;

fn with(algorithms: &[Algorithm]) -> Update {
    Update::new().also(algorithms)
}

fn snapshot(tree: &Tree, algorithms: &[Algorithm]) {
    tree.snapshot_with(with(algorithms), Box::new(AllIsOld));
}

fn expected(content: &[u8], algorithm: Algorithm) -> Vec<u8> {
    let mut digester = algorithm.begin(content.len() as u64).unwrap();
    digester.update(content);
    digester.finish()
}

/// What the manifest has of a file.
fn record(manifest: &Manifest, name: &str) -> FileRecord {
    let mut records = manifest.records().unwrap().map(Result::unwrap);
    match records.find(|it| it.name == name.as_bytes()).unwrap().what {
        What::File(file) => file,
        other => panic!("{other:?}"),
    }
}

/// Whether it has these digests of that content, and no others.
fn has(tree: &Tree, name: &str, content: &[u8], algorithms: &[Algorithm]) -> bool {
    let file = record(&tree.manifest(), name);
    let is = file.facts.unwrap().also;
    let all = algorithms.iter().map(|it| (*it, expected(content, *it))).collect::<also::Also>();
    file.digest == *treewide::hash(content).as_bytes() && is == all
}

fn long(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

#[test]
fn snapshot_has_the_digests_of_files_of_every_length() {
    let tree = Tree::new(&[("empty", ""), ("a", "abc")]);
    let files = [("small", 70_000), ("room", 200_000), ("long", 1 << 20), ("longer", 5_000_001)];
    files.iter().for_each(|(name, len)| tree.write(name, long(*len)));
    for threads in [1, 2] {
        let options = Options::new().threads(threads);
        let update = with(&[SHA256, MD5]).full(true);
        tree.make(&update, &options).unwrap().draft.appear().unwrap();
        assert!(has(&tree, "empty", b"", &[MD5, SHA256]));
        assert!(has(&tree, "a", b"abc", &[MD5, SHA256]));
        assert!(files.iter().all(|(name, len)| has(&tree, name, &long(*len), &[MD5, SHA256])));
    }
    // List and facts are those without.
    let (list, totals) = tree.afresh(Rules::default());
    assert_eq!(fs::read(tree.list()).unwrap(), list);
    assert_eq!(treewide_manifest::facts_of(&tree.manifest()), Some(totals.facts));
    assert!(tree.verify().is_fine() && tree.quick().is_fine());
}

#[test]
fn update_carries_them_on_and_reads_only_what_changed() {
    let tree = Tree::new(&[("a", "1"), ("b", "22"), ("gone", "333")]);
    snapshot(&tree, &[SHA256]);
    fs::rename(tree.at("gone"), tree.at("moved")).unwrap();
    tree.write("b", "other");
    tree.write("new", "4444");
    let report = tree.update().report;
    assert_eq!((report.files_read, report.files_unread), (3, 1));
    for (name, content) in [("a", "1"), ("b", "other"), ("moved", "333"), ("new", "4444")] {
        assert!(has(&tree, name, content.as_bytes(), &[SHA256]), "{name}");
    }
    assert_eq!(tree.update().report.files_unread, 4);
    // Another algorithm: every file is read once.
    let report = tree.update_with(with(&[MD5]), Box::new(AllIsOld)).report;
    assert_eq!((report.files_read, report.files_unread), (4, 0));
    assert!(has(&tree, "a", b"1", &[MD5, SHA256]) && has(&tree, "new", b"4444", &[MD5, SHA256]));
    assert_eq!(tree.manifest().also().unwrap(), [MD5, SHA256]);
    assert_eq!(tree.update().report.files_unread, 4);
}

#[test]
fn rot_keeps_the_digests_of_the_content_that_is_recorded() {
    let tree = Tree::new(&[("a", "1"), ("b", "22")]);
    snapshot(&tree, &[SHA256]);
    tree.flip("b");
    let report = tree.update_with(with(&[MD5]), Box::new(AllIsOld)).report;
    assert_eq!(report.files_kept, 1);
    assert!(has(&tree, "a", b"1", &[MD5, SHA256]) && has(&tree, "b", b"22", &[SHA256]));
    // A file that was kept gives no reason to read the others.
    let report = tree.update().report;
    assert_eq!((report.files_kept, report.files_unread), (1, 1));
    assert!(has(&tree, "b", b"22", &[SHA256]));
    let all = Globs::new(&["*"]).unwrap();
    tree.update_with(Update::new().accept_rot(all), Box::new(AllIsOld));
    assert!(has(&tree, "b", b"32", &[MD5, SHA256]));
}

#[cfg(unix)]
#[test]
fn file_that_cannot_be_read_keeps_them() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&[("a", "1")]);
    fs::write(tree.folder().join("outside"), "far").unwrap();
    symlink("../outside", tree.at("l")).unwrap();
    let rules = Rules { follow: true, ..Rules::default() };
    tree.snapshot_with(with(&[SHA256]).rules(rules), Box::new(AllIsOld));
    assert!(has(&tree, "l", b"far", &[SHA256]));
    fs::rename(tree.folder().join("outside"), tree.folder().join("off")).unwrap();
    tree.update();
    assert!(has(&tree, "l", b"far", &[SHA256]));
}

/// The file is read again, and both digests are those of the second reading.
#[test]
fn file_that_changes_while_it_is_read_has_the_digests_of_the_end() {
    let tree = Tree::new(&[("b", "22")]);
    tree.write("a", long(2 << 20));
    let (path, is_done) = (tree.at("a"), AtomicBool::new(false));
    let change = move |_, _| {
        if !is_done.swap(true, Ordering::Relaxed) {
            let mut content = long(2 << 20);
            content[0] = 77;
            fs::write(&path, content).unwrap();
        }
    };
    let options = Options::new().threads(1).progress(Arc::new(change));
    tree.make(&with(&[SHA256]), &options).unwrap().draft.appear().unwrap();
    let content = fs::read(tree.at("a")).unwrap();
    assert_eq!(content[0], 77);
    assert!(has(&tree, "a", &content, &[SHA256]) && has(&tree, "b", b"22", &[SHA256]));
}

#[cfg(unix)]
#[test]
fn names_of_one_file_have_the_same_digests_from_one_reading() {
    let tree = Tree::new(&[("a", "abc")]);
    tree.write("long", long(3 << 20));
    for (name, other) in [("a", "b"), ("long", "longer")] {
        fs::hard_link(tree.at(name), tree.at(other)).unwrap();
    }
    crate::common::aged::waiting::wait_until_links_count(&tree.at("longer"));
    let options = Options::new().threads(1);
    let report = {
        let made = tree.make(&with(&[SHA256]), &options).unwrap();
        made.draft.appear().unwrap();
        made.report
    };
    assert_eq!((report.files_read, report.files_linked), (2, 2));
    for (name, content) in [("a", b"abc".to_vec()), ("longer", long(3 << 20))] {
        assert!(has(&tree, name, &content, &[SHA256]), "{name}");
    }
    assert!(has(&tree, "b", b"abc", &[SHA256]) && has(&tree, "long", &long(3 << 20), &[SHA256]));
}

#[test]
fn resume_uses_what_has_every_wanted_digest() {
    let tree = Tree::new(&[("a", "1"), ("b", "22")]);
    let end_early =
        |algorithms: &[Algorithm]| tree.make(&with(algorithms), &Options::new()).unwrap().report;
    assert_eq!(end_early(&[SHA256]).files_read, 2);
    assert!(is_left(&tree.list()) && !tree.list().exists());
    // Fewer are a part of them.
    assert_eq!(end_early(&[]).files_resumed, 2);
    assert_eq!(end_early(&[SHA256]).files_resumed, 2);
    let report = end_early(&[MD5]);
    assert_eq!((report.files_resumed, report.files_read), (0, 2));
    tree.write("b", "other");
    let made = tree.make(&with(&[MD5]), &Options::new()).unwrap();
    assert_eq!((made.report.files_resumed, made.report.files_read), (1, 1));
    made.draft.appear().unwrap();
    assert!(has(&tree, "a", b"1", &[MD5]) && has(&tree, "b", b"other", &[MD5]));
}

#[test]
fn damage_to_a_digest_is_seen_and_never_taken_over() {
    let tree = Tree::new(&[("a", "1"), ("b", "22"), ("c", "333")]);
    snapshot(&tree, &[SHA256]);
    let good = fs::read_to_string(index_path(&tree.list())).unwrap();
    let at = good.find("\"sha256\":\"").unwrap() + 12;
    let other = if good.as_bytes()[at] == b'0' { "1" } else { "0" };
    let bad = format!("{}{other}{}", &good[..at], &good[at + 1..]);
    fs::write(index_path(&tree.list()), &bad).unwrap();
    assert!(matches!(tree.refused(&Update::new()), Loss::Damage(_)));
    // A file that is doubtful keeps its BLAKE3 digest, which the list protects, and loses the others.
    tree.flip("b");
    let said = tree.update_with(Update::new().accept_damage(true), Box::new(AllIsOld));
    assert_eq!((said.report.files_read, said.report.files_kept), (3, 1));
    assert!(has(&tree, "a", b"1", &[SHA256]) && has(&tree, "c", b"333", &[SHA256]));
    assert!(has(&tree, "b", b"22", &[]));
}

#[test]
fn index_with_an_unknown_algorithm_is_not_updated() {
    let tree = Tree::new(&[("a", "1")]);
    snapshot(&tree, &[SHA256]);
    let text = fs::read_to_string(index_path(&tree.list())).unwrap();
    tree.forge_index(&text.replace("\"also\":[\"sha256\"]", "\"also\":[\"sha256\",\"sha9\"]"));
    assert!(tree.verify().is_fine() && tree.quick().is_fine());
    let error = tree.make(&Update::new(), &Options::new()).unwrap_err().to_string();
    assert!(error.contains("has digests by \"sha9\", which this program does not know"), "{error}");
}

#[test]
fn outboards_are_made_as_well() {
    let tree = Tree::new(&[("a", "1")]);
    tree.write("long", long(3 << 20));
    let outboards = Outboards::new(tree.folder().join("outboards")).min(100_000);
    let update = with(&[SHA256]).outboards(outboards.clone());
    let made = tree.make(&update, &Options::new()).unwrap();
    assert_eq!((made.outboards.files, &made.outboards.failed), (1, &None));
    made.draft.appear().unwrap();
    assert!(has(&tree, "a", b"1", &[SHA256]) && has(&tree, "long", &long(3 << 20), &[SHA256]));
    assert!(outboards.path_of(treewide::hash(&long(3 << 20)).as_bytes()).exists());
}

/// The digests of a list that has these files.
fn against(algorithm: Algorithm, files: &[(&str, &[u8])]) -> Against {
    let line = |(name, content): &(&str, &[u8])| {
        format!("{} ({name}) = {}\n", algorithm.tag().unwrap(), hex(&expected(content, algorithm)))
    };
    let text: String = files.iter().map(line).collect();
    let lines = Lines::new(std::io::Cursor::new(text.into_bytes()), false).unwrap();
    let list = List::new("LIST".as_ref(), Reading::default());
    let (mut listed, mut against) = (ListedFiles::new(lines, list, false), Against::new());
    while let Some(item) = listed.next() {
        let Item::File(file) = item else { panic!("every line is of a file") };
        against.expect(file.path.to_str().unwrap(), file.about);
    }
    against
}

#[test]
fn against_withholds_the_manifest_and_keeps_what_was_read() {
    let files: [(&str, &[u8]); 3] = [("a", b"1"), ("b", b"22"), ("c", b"333")];
    let tree = Tree::new(&[("a", "1"), ("b", "x2"), ("c", "333"), ("d", "4")]);
    let update = || with(&[MD5]).against(against(SHA256, &files));
    let made = tree.make(&update(), &Options::new()).unwrap();
    let compared = made.compared.unwrap();
    assert_eq!((compared.ok, compared.unlisted, compared.is_success()), (2, 1, false));
    let [Finding { status: Status::Failed, bytes: Some(2), path, .. }] = &compared.differ[..]
    else {
        panic!("{compared:?}")
    };
    assert_eq!(path.to_str(), Some("b"));
    let total = compared.total().to_string();
    assert_eq!(total, "3 files checked: 2 OK, by SHA-256, 1 FAILED");
    let error = made.draft.appear().unwrap_err().to_string();
    assert!(
        error.ends_with("X.b3: is not written, as files are not as they are listed"),
        "{error}"
    );
    assert!(is_left(&tree.list()) && !tree.list().exists());
    // Only the file that was restored is read, and the index has the digests that it is to have.
    tree.write("b", "22");
    let made = tree.make(&update(), &Options::new()).unwrap();
    assert_eq!((made.report.files_resumed, made.report.files_read), (3, 1));
    let compared = made.compared.unwrap();
    assert!(compared.is_success() && compared.algorithms == [SHA256], "{compared:?}");
    made.draft.appear().unwrap();
    assert!(files.iter().all(|(name, content)| has(&tree, name, content, &[MD5])));
    // An update compares files that it need not read.
    tree.flip("c");
    let all = Globs::new(&["*"]).unwrap();
    let made = tree.make(&update().accept_rot(all), &Options::new()).unwrap();
    assert_eq!(made.compared.unwrap().ok, 2);
    assert!(made.draft.appear().is_err() && has(&tree, "c", b"333", &[MD5]));
}

#[test]
fn against_fails_where_nothing_is_compared() {
    let tree = Tree::new(&[("a", "1")]);
    let update = Update::new().against(Against::new());
    let made = tree.make(&update, &Options::new()).unwrap();
    assert!(made.draft.appear().is_err() && !tree.list().exists());
}
