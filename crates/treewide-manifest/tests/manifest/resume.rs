//! A run continues where another one was ended, and reads what changed since.

use crate::common::{AllIsOld, Said, Tree};
use std::fs;
use std::path::Path;
use std::time::Duration;
use treewide_manifest::journal::{is_left, journal_path};
use treewide_manifest::machine::{Draft, Made, Update};
use treewide_manifest::{Error, Evidence, Manifest, Options, Report, Rules, index_path};

fn tree() -> Tree {
    Tree::new(&[("a", "1"), ("b/c", "22"), ("b/d", "333"), ("b.x", "4444"), ("e/f", "55555")])
}

fn make(tree: &Tree, update: &Update, resumes: bool, said: &mut Said) -> Result<Made, Error> {
    let old = tree.list().exists().then(|| tree.manifest());
    let draft = Draft::begin(&tree.list(), true)?.with_journal_from(resumes, Duration::ZERO);
    let (root, options) = (tree.root(), Options::new());
    update.run(old.as_ref(), &root, draft, Box::new(AllIsOld), &options, &mut |it| said.add(it))
}

/// A run that has read everything, and is ended before its manifest appears.
fn end_early(tree: &Tree, resumes: bool) -> Report {
    make(tree, &Update::new(), resumes, &mut Said::default()).unwrap().report
}

/// Continues, and compares the result with a snapshot.
fn resume(tree: &Tree) -> Report {
    let mut said = Said::default();
    let made = make(tree, &Update::new(), true, &mut said).unwrap();
    let totals = made.draft.appear().unwrap();
    let (list, afresh) = tree.afresh(tree.manifest().rules());
    assert_eq!((fs::read(tree.list()).unwrap(), totals), (list, afresh));
    assert!(!is_left(&tree.list()) && tree.verify().is_fine() && tree.quick().is_fine());
    made.report
}

fn refusal(tree: &Tree, update: &Update) -> String {
    let before = fs::read(journal_path(&tree.list())).unwrap();
    let error = make(tree, update, true, &mut Said::default()).unwrap_err().to_string();
    assert_eq!(fs::read(journal_path(&tree.list())).unwrap(), before);
    error
}

#[test]
fn resume_reads_files_that_changed() {
    let tree = tree();
    assert_eq!(end_early(&tree, false).files_read, 5);
    assert!(is_left(&tree.list()) && !tree.list().exists());
    tree.flip("b/d");
    fs::remove_file(tree.at("a")).unwrap();
    tree.write("b/new", "new");
    // Other content under a name that was read.
    fs::rename(tree.at("e/f"), tree.at("b.x")).unwrap();
    let report = resume(&tree);
    assert_eq!((report.files_resumed, report.bytes_resumed, report.files_read), (1, 2, 3));
}

#[test]
fn journal_counts_up_to_its_last_check() {
    let tree = tree();
    let mut journal = Vec::new();
    for name in ["z", "y", "x"] {
        end_early(&tree, true);
        tree.write(name, name);
        journal = fs::read(journal_path(&tree.list())).unwrap();
    }
    let text = String::from_utf8(journal.clone()).unwrap();
    assert_eq!(text.matches("\"journal 2\"").count(), 3, "{text}");
    let check = text.find("{\"check\"").unwrap();
    let first = check + text[check..].find('\n').unwrap() + 1;
    let put = |bytes: &[u8]| fs::write(journal_path(&tree.list()), bytes).unwrap();
    for len in (40..journal.len()).step_by(31).chain([first - 1, first, journal.len() - 1]) {
        put(&journal[..len]);
        let report = resume(&tree);
        let known = report.files_resumed;
        assert!(if len < first { known == 0 } else { (5..=7).contains(&known) }, "{len}: {known}");
        fs::remove_file(tree.list()).unwrap();
        fs::remove_file(index_path(&tree.list())).unwrap();
    }
    // Bytes that never reached the disk, and a digest that rotted.
    for (from, to) in [(check - 90, check - 40), (first + 10, first + 11), (check - 1, check + 1)] {
        let mut torn = journal.clone();
        torn[from..to].fill(0);
        put(&torn);
        assert!(resume(&tree).files_resumed <= 5, "{from}");
        fs::remove_file(tree.list()).unwrap();
        fs::remove_file(index_path(&tree.list())).unwrap();
    }
    // What a run adds to a torn journal is used by the next one.
    put(&journal[..first + 20]);
    end_early(&tree, true);
    assert_eq!(resume(&tree).files_resumed, 8);
}

/// Makes a manifest with a journal in its place. Why that was not used, and what came of it.
fn unused(tree: &Tree, root: &Path, resumes: bool) -> (String, Report) {
    let draft = Draft::begin(&tree.list(), true).unwrap();
    let draft = draft.with_journal_from(resumes, Duration::ZERO);
    let (clock, options) = (Box::new(AllIsOld), Options::new());
    let made = Update::new().run(None, root, draft, clock, &options, &mut |_| {}).unwrap();
    made.draft.appear().unwrap();
    for path in [tree.list(), index_path(&tree.list())] {
        fs::remove_file(path).unwrap();
    }
    (made.report.unused_journal.clone().unwrap_or_default(), made.report)
}

/// The key of a file says that it is as it was, whatever else the run covers.
#[test]
fn journal_of_other_rules_is_used() {
    let tree = tree();
    end_early(&tree, false);
    let no_b = Rules { exclude: vec!["b".into()], ..Rules::default() };
    let made = make(&tree, &Update::new().rules(no_b), true, &mut Said::default()).unwrap();
    assert_eq!((made.report.files_resumed, made.report.files_read), (3, 0));
    drop(made);
    // A journal has modes only if the rules had them.
    let modes = Update::new().rules(Rules { modes: true, ..Rules::default() });
    let made = make(&tree, &modes, true, &mut Said::default()).unwrap();
    assert_eq!((made.report.files_resumed, made.report.files_read), (0, 5));
    drop(made);
    assert_eq!(make(&tree, &modes, true, &mut Said::default()).unwrap().report.files_resumed, 5);
}

/// What cannot be used stops no run, and what is not ours stays.
#[test]
fn journal_that_cannot_be_used_is_set_aside() {
    let tree = tree();
    let path = journal_path(&tree.list());
    end_early(&tree, false);
    let journal = fs::read_to_string(&path).unwrap();
    // Of another directory: both parts stay until a manifest is complete.
    let other = tree.folder().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "1").unwrap();
    let draft = Draft::begin(&tree.list(), true).unwrap();
    let draft = draft.with_journal_from(true, Duration::ZERO);
    let (clock, options) = (Box::new(AllIsOld), Options::new());
    let made = Update::new().run(None, &other, draft, clock, &options, &mut |_| {}).unwrap();
    assert!(made.report.unused_journal.as_ref().unwrap().contains("is of the directory"));
    assert_eq!((made.report.files_resumed, made.totals.files), (0, 1));
    drop(made);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&journal));
    assert_eq!(resume(&tree).files_resumed, 5);
    fs::remove_file(tree.list()).unwrap();
    fs::remove_file(index_path(&tree.list())).unwrap();
    // Of another version, or torn in its first line.
    let said = ["\"journal 1\", and this program reads", "is damaged"];
    for (text, says) in
        [journal.replace("journal 2", "journal 1"), journal.replace(",\"root", ",\"r")]
            .iter()
            .zip(said)
    {
        fs::write(&path, text).unwrap();
        let (note, report) = unused(&tree, &tree.root(), true);
        assert!(note.contains(says), "{note}");
        assert_eq!((report.files_resumed, report.files_read, path.exists()), (0, 5, false));
    }
    for foreign in ["", "my notes\n"] {
        fs::write(&path, foreign).unwrap();
        for resumes in [true, false] {
            let (note, report) = unused(&tree, &tree.root(), resumes);
            assert_eq!((&*note, report.files_read), ("is not a journal", 5));
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(unused(&tree, &tree.root(), true).0, "is not a regular file");
}

#[cfg(unix)]
#[test]
fn journal_that_is_being_written_is_refused() {
    let tree = tree();
    end_early(&tree, false);
    let file = fs::File::open(journal_path(&tree.list())).unwrap();
    file.lock().unwrap();
    assert!(refusal(&tree, &Update::new()).contains("another program is writing it"));
}

/// Without `resume`, a journal is not used, and stays until the manifest is there.
#[test]
fn journal_stays_until_a_manifest_is_complete() {
    let tree = tree();
    end_early(&tree, false);
    let before = fs::read(journal_path(&tree.list())).unwrap();
    assert_eq!(end_early(&tree, false).files_resumed, 0);
    assert_eq!(fs::read(journal_path(&tree.list())).unwrap(), before);
    let made = make(&tree, &Update::new(), false, &mut Said::default()).unwrap();
    assert_eq!((made.report.files_resumed, is_left(&tree.list())), (0, true));
    made.draft.appear().unwrap();
    assert!(!is_left(&tree.list()));
}

/// What an update has read has the same verdicts when it continues, rot too.
#[test]
fn update_that_goes_on_says_what_it_would_have_said() {
    let tree = tree();
    tree.snapshot();
    tree.write("a", "x");
    tree.write("new", "new");
    // A digest that is not that of the content, under the key of the content.
    let list = fs::read_to_string(tree.list()).unwrap();
    let forged = list.replace(
        treewide::hash(b"333").to_hex().as_str(),
        treewide::hash(b"444").to_hex().as_str(),
    );
    fs::write(tree.list(), &forged).unwrap();
    let index = fs::read_to_string(index_path(&tree.list())).unwrap();
    let hash = |text: &str| treewide::hash(text.as_bytes()).to_hex().to_string();
    fs::write(index_path(&tree.list()), index.replace(&hash(&list), &hash(&forged))).unwrap();
    // The facts have another digest now.
    let full = Update::new().full(true).accept_damage(true);
    let run = |resumes| {
        let mut said = Said::default();
        let made = make(&tree, &full, resumes, &mut said).unwrap();
        said.report = made.report.clone();
        said.check();
        (made, said.differences())
    };
    let (_, first) = run(false);
    assert_eq!(first, ["added new", "changed a", "rot b/d"]);
    let (made, second) = run(true);
    // Other content than recorded is read again: a disk may be mended.
    assert_eq!((second, made.report.files_resumed, made.report.files_read), (first, 4, 2));
    // Another run has read them.
    assert_eq!(made.report.known_by(Evidence::Read), 0);
    made.draft.appear().unwrap();
    // Times of a damaged index excuse no other content: both keep their digests.
    assert_eq!(tree.verify().differences(), ["rot b/d", "suspect a"]);
}

/// The journal in the tree is not a part of it, also if it is written when the walk is under way.
#[test]
fn walk_leaves_the_journal_out() {
    let tree = Tree::new(&[("a", "1")]);
    let list = tree.at("X.b3");
    for resumes in [false, true, true] {
        let draft = Draft::begin(&list, true).unwrap().with_journal_from(resumes, Duration::ZERO);
        let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
        let made = Update::new().run(None, &root, draft, clock, &options, &mut |_| {}).unwrap();
        assert_eq!(made.totals.files, 1);
    }
    assert!(is_left(&list));
    tree.write("d/X.b3.part", "another file of this name");
    let draft = Draft::begin(&list, true).unwrap();
    let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
    let made = Update::new().run(None, &root, draft, clock, &options, &mut |_| {}).unwrap();
    assert_eq!(made.draft.appear().unwrap().files, 2);
    let mut said = Said::default();
    let manifest = Manifest::open(&list).unwrap();
    said.report = treewide_manifest::machine::Verify::new()
        .run(&manifest, &tree.root(), &Options::new(), &mut |it| said.add(it))
        .unwrap();
    assert!(said.is_fine(), "{:?}", said.differences());
}
