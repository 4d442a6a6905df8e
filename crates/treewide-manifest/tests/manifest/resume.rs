//! A run continues where another one was ended, and reads what changed since.

use crate::common::{AllIsOld, Said, Tree, make, said_of};
use std::fs;
use std::time::Duration;
use treewide_manifest::journal::{is_left, journal_path};
use treewide_manifest::machine::{Draft, Made, Update, Verify};
use treewide_manifest::{Evidence, Options, Report, Rules, index_path};

fn tree() -> Tree {
    Tree::new(&[("a", "1"), ("b/c", "22"), ("b/d", "333"), ("b.x", "4444"), ("e/f", "55555")])
}

/// A run that has read everything, and is ended before its manifest appears.
fn end_early(tree: &Tree) -> Report {
    tree.make(&Update::new(), &Options::new()).unwrap().report
}

/// The same, which does not use a journal that is there.
fn anew(tree: &Tree) -> Made {
    let draft = Draft::begin(&tree.list(), true).unwrap().with_journal_from(false, Duration::ZERO);
    let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
    Update::new().run(None, &root, draft, clock, &options, &mut |_| {}).unwrap()
}

/// Continues, and compares the result with a snapshot.
fn resume(tree: &Tree) -> Report {
    let made = tree.make(&Update::new(), &Options::new()).unwrap();
    let totals = made.draft.appear().unwrap();
    let (list, afresh) = tree.afresh(tree.manifest().rules());
    assert_eq!((fs::read(tree.list()).unwrap(), totals), (list, afresh));
    assert!(!is_left(&tree.list()) && tree.verify().is_fine() && tree.quick().is_fine());
    made.report
}

fn remove_pair(tree: &Tree) {
    for path in [tree.list(), index_path(&tree.list())] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn resume_reads_files_that_changed() {
    let tree = tree();
    assert_eq!(end_early(&tree).files_read, 5);
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
        end_early(&tree);
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
        remove_pair(&tree);
    }
    // Bytes that never reached the disk, and a digest that rotted.
    for (from, to) in [(check - 90, check - 40), (first + 10, first + 11), (check - 1, check + 1)] {
        let mut torn = journal.clone();
        torn[from..to].fill(0);
        put(&torn);
        assert!(resume(&tree).files_resumed <= 5, "{from}");
        remove_pair(&tree);
    }
    // What a run adds to a torn journal is used by the next one.
    put(&journal[..first + 20]);
    end_early(&tree);
    assert_eq!(resume(&tree).files_resumed, 8);
}

/// The key of a file says that it is as it was, whatever else the run covers.
#[test]
fn journal_of_other_rules_is_used() {
    let tree = tree();
    end_early(&tree);
    let no_b = Rules { exclude: vec!["b".into()], ..Rules::default() };
    let run = |update: &Update| tree.make(update, &Options::new()).unwrap().report;
    let report = run(&Update::new().rules(no_b));
    assert_eq!((report.files_resumed, report.files_read), (3, 0));
    // A journal has modes only if the rules had them.
    let modes = Update::new().rules(Rules { modes: true, ..Rules::default() });
    let report = run(&modes);
    assert_eq!((report.files_resumed, report.files_read), (0, 5));
    assert_eq!(run(&modes).files_resumed, 5);
}

/// What cannot be used stops no run, and what is not ours stays.
#[test]
fn journal_that_cannot_be_used_is_set_aside() {
    let tree = tree();
    let path = journal_path(&tree.list());
    end_early(&tree);
    let journal = fs::read_to_string(&path).unwrap();
    // Of another directory: both parts stay until a manifest is complete.
    let other = tree.folder().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "1").unwrap();
    let (update, options) = (Update::new(), Options::new());
    let made = make(&tree.list(), &other, &update, &options, &mut |_| {}).unwrap();
    assert!(made.report.unused_journal.as_ref().unwrap().contains("is of the directory"));
    assert_eq!((made.report.files_resumed, made.totals.files), (0, 1));
    drop(made);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&journal));
    assert_eq!(resume(&tree).files_resumed, 5);
    remove_pair(&tree);
    // Of another version, or torn in its first line.
    let said = ["\"journal 1\", and this program reads", "is damaged"];
    for (text, says) in
        [journal.replace("journal 2", "journal 1"), journal.replace(",\"root", ",\"r")]
            .iter()
            .zip(said)
    {
        fs::write(&path, text).unwrap();
        let report = resume(&tree);
        let note = report.unused_journal.unwrap();
        assert!(note.contains(says), "{note}");
        assert_eq!((report.files_resumed, report.files_read, path.exists()), (0, 5, false));
        remove_pair(&tree);
    }
    for foreign in ["", "my notes\n"] {
        fs::write(&path, foreign).unwrap();
        let resumed = resume(&tree);
        remove_pair(&tree);
        for report in [resumed, anew(&tree).report] {
            let note = report.unused_journal.as_deref();
            assert_eq!((note, report.files_read), (Some("is not a journal"), 5));
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(resume(&tree).unused_journal.as_deref(), Some("is not a regular file"));
}

#[cfg(unix)]
#[test]
fn journal_that_is_being_written_is_refused() {
    let tree = tree();
    end_early(&tree);
    let path = journal_path(&tree.list());
    let before = fs::read(&path).unwrap();
    let file = fs::File::open(&path).unwrap();
    file.lock().unwrap();
    let error = tree.make(&Update::new(), &Options::new()).unwrap_err().to_string();
    assert!(error.contains("another program is writing it"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Without `resume`, a journal is not used, and stays until the manifest is there.
#[test]
fn journal_stays_until_a_manifest_is_complete() {
    let tree = tree();
    end_early(&tree);
    let before = fs::read(journal_path(&tree.list())).unwrap();
    let made = anew(&tree);
    assert_eq!((made.report.files_resumed, is_left(&tree.list())), (0, true));
    assert_eq!(fs::read(journal_path(&tree.list())).unwrap(), before);
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
    let run = || {
        let (mut said, options) = (Said::default(), Options::new());
        let each = &mut |it| said.add(it);
        let made = make(&tree.list(), &tree.root(), &full, &options, each).unwrap();
        said.report = made.report.clone();
        said.check();
        (made, said.differences())
    };
    let (_, first) = run();
    assert_eq!(first, ["added new", "changed a", "rot b/d"]);
    let (made, second) = run();
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
    let (update, options) = (Update::new(), Options::new());
    for _ in 0..3 {
        let made = make(&list, &tree.root(), &update, &options, &mut |_| {}).unwrap();
        assert_eq!(made.totals.files, 1);
    }
    assert!(is_left(&list));
    tree.write("d/X.b3.part", "another file of this name");
    let (draft, clock) = (Draft::begin(&list, true).unwrap(), Box::new(AllIsOld));
    let made = update.run(None, &tree.root(), draft, clock, &options, &mut |_| {}).unwrap();
    assert_eq!(made.draft.appear().unwrap().files, 2);
    let said = said_of(&list, &tree.root(), &Verify::new()).unwrap();
    assert!(said.is_fine(), "{:?}", said.differences());
}
