//! A run continues where another one was ended, and reads what changed since.

mod common;

use common::{AllIsOld, Said, Tree};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use treewide::file::Strategy;
use treewide::outboard::Group;
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
fn resume_refuses_journals_of_other_runs() {
    let tree = tree();
    end_early(&tree, false);
    let modes = Update::new().rules(Rules { modes: true, ..Rules::default() });
    let error = refusal(&tree, &modes);
    assert!(error.contains("X.b3.part: was made with other rules"), "{error}");

    let other = tree.folder().join("other");
    fs::create_dir(&other).unwrap();
    let draft = Draft::begin(&tree.list(), true).unwrap().with_journal(true);
    let (clock, options) = (Box::new(AllIsOld), Options::new());
    let error = Update::new().run(None, &other, draft, clock, &options, &mut |_| {}).unwrap_err();
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
        made.draft.appear().unwrap();
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
    assert_eq!(tree.verify().differences(), ["rot b/d"]);
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

/// What the process that is killed finds in its environment.
const CHILD: &str = "TREEWIDE_TEST_LONG_FILE";
/// A long file, and what is kept of it.
const LONG: (usize, usize, u64) = (3_000_000, 1 << 20, 64 << 10);

fn in_pieces() -> Update {
    Update::new().long_files(LONG.1 as u64, Group::of_bytes(LONG.2).unwrap())
}

fn long_content() -> Vec<u8> {
    let mut bytes = vec![0; LONG.0];
    treewide::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// Reads the tree, and stops for ever in the middle of the long file.
fn stop_in_the_middle(folder: &Path) {
    let read = AtomicU64::new(0);
    let progress = move |_, bytes| {
        if read.fetch_add(bytes, Ordering::Relaxed) + bytes > 2_000_000 {
            std::thread::sleep(Duration::from_secs(600));
        }
    };
    let draft = Draft::begin(&folder.join("X.b3"), true).unwrap();
    let draft = draft.with_journal_from(true, Duration::ZERO);
    // A tile at a time, so that it stops soon.
    let options = Options::new().threads(1).strategy(Strategy::Read).progress(Arc::new(progress));
    let (root, clock) = (folder.join("root"), Box::new(AllIsOld));
    let _ = in_pieces().run(None, &root, draft, clock, &options, &mut |_| {});
}

/// SIGKILL in the middle of a long file.
#[test]
fn resume_goes_on_in_a_long_file_after_the_last_piece() {
    if let Some(folder) = std::env::var_os(CHILD) {
        stop_in_the_middle(Path::new(&folder));
        return;
    }
    let tree = tree();
    tree.write("c/long", long_content());
    let journal = journal_path(&tree.list());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "resume_goes_on_in_a_long_file_after_the_last_piece"])
        .env(CHILD, tree.folder())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let kept = || fs::read_to_string(&journal).unwrap_or_default();
    while !kept().rsplit("{\"check\"").nth(1).is_some_and(|it| it.contains("\"at\":28,")) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let journal_then = fs::read(&journal).unwrap();
    let go_on = |update: &Update| {
        fs::write(&journal, &journal_then).unwrap();
        let made = make(&tree, update, true, &mut Said::default()).unwrap();
        let totals = made.draft.appear().unwrap();
        let (list, afresh) = tree.afresh(Rules::default());
        assert_eq!((fs::read(tree.list()).unwrap(), totals), (list, afresh));
        fs::remove_file(tree.list()).unwrap();
        fs::remove_file(index_path(&tree.list())).unwrap();
        made.report.bytes_resumed
    };
    let short = go_on(&Update::new());
    assert!(short < 100, "{short}: without pieces the long file is read again");
    let resumed = go_on(&in_pieces()) - short;
    assert!((29 * LONG.2..LONG.0 as u64).contains(&resumed) && resumed % LONG.2 == 0, "{resumed}");
    // Pieces of another size.
    let other = Update::new().long_files(LONG.1 as u64, Group::of_bytes(128 << 10).unwrap());
    assert_eq!(go_on(&other), short);
    // A run that continues and is ended too adds its own.
    fs::write(&journal, &journal_then).unwrap();
    drop(make(&tree, &in_pieces(), true, &mut Said::default()).unwrap());
    assert!(
        kept().matches("\"at\":0,").count() == 1 && kept().contains("\"at\":40,"),
        "{}",
        kept()
    );
    // A value that rotted is not under a check any more.
    let mut rotten = journal_then.clone();
    let at = String::from_utf8(journal_then.clone()).unwrap().find("\"cvs\":\"").unwrap() + 7;
    rotten[at] = if rotten[at] == b'0' { b'1' } else { b'0' };
    fs::write(&journal, rotten).unwrap();
    let made = make(&tree, &in_pieces(), true, &mut Said::default()).unwrap();
    assert!(made.report.bytes_resumed < 100, "{}", made.report.bytes_resumed);
    drop(made);
    // The file was written to: its key is another one.
    tree.flip("c/long");
    assert_eq!(go_on(&in_pieces()), short);
    fs::remove_file(tree.at("c/long")).unwrap();
    assert_eq!(go_on(&in_pieces()), short);
}
