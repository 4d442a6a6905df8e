//! M34: a run goes on where another one was ended, and reads what changed since.

mod common;

use common::{AllIsOld, Said, Tree};
use std::fs;
use std::time::Duration;
use treewide_manifest::journal::{is_left, journal_path};
use treewide_manifest::{Error, Made, Manifest, Options, Pair, Report, Rules, Update, index_path};

fn tree() -> Tree {
    Tree::new(&[("a", "1"), ("b/c", "22"), ("b/d", "333"), ("b.x", "4444"), ("e/f", "55555")])
}

fn make(tree: &Tree, update: &Update, resumes: bool, said: &mut Said) -> Result<Made, Error> {
    let old = tree.list().exists().then(|| tree.manifest());
    let pair = Pair::begin(&tree.list(), true)?.with_journal_from(resumes, Duration::ZERO);
    let (root, options) = (tree.root(), Options::new());
    update.run(old.as_ref(), &root, pair, Box::new(AllIsOld), &options, &mut |it| said.add(it))
}

/// A run that has read everything, and is ended before its manifest appears.
fn end_early(tree: &Tree, resumes: bool) -> Report {
    make(tree, &Update::new(), resumes, &mut Said::default()).unwrap().report
}

/// Goes on, and compares the result with a snapshot.
fn resume(tree: &Tree) -> Report {
    let mut said = Said::default();
    let made = make(tree, &Update::new(), true, &mut said).unwrap();
    let totals = made.pair.appear().unwrap();
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
fn m34_files_that_changed_are_read_again() {
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
fn m34_torn_journals_count_up_to_the_last_check() {
    let tree = tree();
    let mut journal = Vec::new();
    for name in ["z", "y", "x"] {
        end_early(&tree, true);
        tree.write(name, name);
        journal = fs::read(journal_path(&tree.list())).unwrap();
    }
    let text = String::from_utf8(journal.clone()).unwrap();
    assert_eq!(text.matches("\"journal 1\"").count(), 3, "{text}");
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

#[test]
fn m34_journals_of_other_runs_are_refused() {
    let tree = tree();
    end_early(&tree, false);
    let modes = Update::new().rules(Rules { modes: true, ..Rules::default() });
    let error = refusal(&tree, &modes);
    assert!(error.contains("X.b3.part: was made with other rules"), "{error}");

    let other = tree.folder().join("other");
    fs::create_dir(&other).unwrap();
    let pair = Pair::begin(&tree.list(), true).unwrap().with_journal(true);
    let (clock, options) = (Box::new(AllIsOld), Options::new());
    let error = Update::new().run(None, &other, pair, clock, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("is of the directory"), "{error}");

    let path = journal_path(&tree.list());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("journal 1", "journal 2")).unwrap();
    let error = refusal(&tree, &Update::new());
    assert!(error.contains("\"journal 2\"") && error.contains("remove it"), "{error}");
    for foreign in ["", "my notes\n"] {
        fs::write(&path, foreign).unwrap();
        assert!(refusal(&tree, &Update::new()).contains("is not a journal"));
        // Nor is it thrown away.
        let made = make(&tree, &Update::new(), false, &mut Said::default()).unwrap();
        made.pair.appear().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
    }
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
    made.pair.appear().unwrap();
    assert!(!is_left(&tree.list()));
}

/// What an update has read has the same verdicts when it goes on, rot too.
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
    let full = Update::new().full(true);
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
    assert_eq!((second, made.report.files_resumed, made.report.files_read), (first, 6, 0));
    made.pair.appear().unwrap();
    assert_eq!(tree.verify().differences(), ["rot b/d"]);
}

/// M31: the journal in the tree is not a part of it, also if it is written when the walk is under way.
#[test]
fn m31_journal_in_the_tree_is_left_out() {
    let tree = Tree::new(&[("a", "1")]);
    let list = tree.at("X.b3");
    for resumes in [false, true, true] {
        let pair = Pair::begin(&list, true).unwrap().with_journal_from(resumes, Duration::ZERO);
        let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
        let made = Update::new().run(None, &root, pair, clock, &options, &mut |_| {}).unwrap();
        assert_eq!(made.totals.files, 1);
    }
    assert!(is_left(&list));
    tree.write("d/X.b3.part", "another file of this name");
    let pair = Pair::begin(&list, true).unwrap();
    let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
    let made = Update::new().run(None, &root, pair, clock, &options, &mut |_| {}).unwrap();
    assert_eq!(made.pair.appear().unwrap().files, 2);
    let mut said = Said::default();
    let manifest = Manifest::open(&list).unwrap();
    said.report = treewide_manifest::Verify::new()
        .run(&manifest, &tree.root(), &Options::new(), &mut |it| said.add(it))
        .unwrap();
    assert!(said.is_fine(), "{:?}", said.differences());
}
