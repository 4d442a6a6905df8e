//! Attempts to make a run say that a tree is as listed when it is not, or the other way round.

use crate::common::{AllIsOld, Tree, diff_of, fifo, said_of, snapshot_at};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use treewide_manifest::machine::{Draft, Update, Verify};
use treewide_manifest::{Budget, Class, Globs, Loss, Manifest, Options, Rules, index_path};

fn tree() -> Tree {
    Tree::new(&[("a", "1"), ("b/c", "22"), ("b/d", "333"), ("b.x", "4444")])
}

fn edit_index(tree: &Tree, edit: impl Fn(&str) -> String) {
    let path = index_path(&tree.list());
    let text = fs::read_to_string(&path).unwrap();
    let edited = edit(&text);
    assert_ne!(edited, text, "the edit found nothing");
    tree.forge_index(&edited);
}

/// Puts a line into the index, and counts it.
fn insert_line(tree: &Tree, before: &str, line: &str) {
    edit_index(tree, |text| {
        let more = text.replacen(before, &format!("{line}\n{before}"), 1);
        let (head, end) = more.rsplit_once("{\"end\":").unwrap();
        let (count, rest) = end.split_once(',').unwrap();
        let count: u64 = count.parse().unwrap();
        format!("{head}{{\"end\":{},{rest}", count + 1)
    });
}

/// The list is signed, and the index is not.
#[test]
fn index_adds_no_file_that_the_list_could_name() {
    let tree = tree();
    tree.snapshot();
    tree.write("aa", "evil");
    let digest = treewide::hash(b"evil");
    let line = format!(r#"{{"path":"aa","type":"file","bytes":4,"digest":"{digest}"}}"#);
    insert_line(&tree, r#"{"path":"b.x""#, &line);
    for said in [tree.verify(), tree.quick()] {
        assert_eq!(said.differences(), ["added aa"]);
        assert!(said.report.damage.is_some());
    }
}

/// A path has one verdict, whatever an index calls it.
#[test]
fn index_with_a_path_as_two_types_gives_no_second_verdict() {
    type Edit<'a> = (&'a str, &'a dyn Fn(&Tree));
    let directory = |path: &str| format!(r#"{{"path":"{path}","type":"dir"}}"#);
    let link = r#"{"path":"b","type":"link","target":"x"}"#;
    let edits: [Edit<'_>; 6] = [
        ("a directory twice", &|it| insert_line(it, r#"{"path":"b/c""#, &directory("b"))),
        ("a file and a directory", &|it| {
            insert_line(it, r#"{"path":"b.x""#, &directory("a"));
        }),
        ("a file as a directory", &|it| {
            let line = |text: &str| {
                text.lines().find(|line| line.starts_with(r#"{"path":"a","#)).unwrap().to_owned()
            };
            edit_index(it, |text| text.replace(&line(text), &directory("a")));
        }),
        ("a file as a directory in its place", &|it| {
            it.write("a.b", "1");
            it.snapshot();
            edit_index(it, |text| {
                let mut lines: Vec<&str> = text.lines().collect();
                let other = directory("a");
                let at = lines.iter().position(|it| it.starts_with(r#"{"path":"a","#)).unwrap();
                lines.remove(at);
                lines.insert(at + 1, &other);
                lines.join("\n") + "\n"
            });
        }),
        ("a link and a directory", &|it| insert_line(it, r#"{"path":"b.x""#, link)),
        ("a link and a directory far apart", &|it| {
            for name in ["b!", "b!!", "b-", "b-c"] {
                it.write(name, "1");
            }
            it.snapshot();
            insert_line(it, r#"{"path":"b!""#, link);
        }),
    ];
    for (what, edit) in edits {
        let tree = tree();
        tree.snapshot();
        edit(&tree);
        // Each of these fails if a path has two verdicts.
        for said in [tree.verify(), tree.quick()] {
            assert!(said.report.damage.is_some(), "{what}");
        }
        diff_of(&tree.manifest(), &tree.manifest());
        assert!(matches!(tree.refused(&Update::new()), Loss::Damage(_)), "{what}");
        tree.accept();
        assert!(tree.verify().is_fine(), "{what}: after an update");
    }
}

/// What was said of the index when it was opened, such as its digest and its rules, is so when it is read.
#[test]
fn index_that_changes_after_it_was_opened_is_an_error() {
    let tree = tree();
    let other_rules = || {
        let rules = Rules { exclude: vec!["new".into()], ..Rules::default() };
        tree.snapshot_with(Update::new().rules(rules), Box::new(AllIsOld));
    };
    let other_list = || {
        tree.write("a", "11");
        tree.update();
    };
    for change in [&other_rules as &dyn Fn(), &other_list] {
        tree.snapshot();
        let manifest = tree.manifest();
        change();
        let options = Options::new();
        let error = Verify::new().run(&manifest, &tree.root(), &options, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("the index changed while it was being read"), "{error}");
        assert!(tree.verify().is_fine());
    }
}

#[test]
fn index_that_was_edited_is_not_used() {
    type Edit<'a> = (&'a str, &'a dyn Fn(&str) -> String);
    fn end(text: &str) -> &str {
        &text[text.rfind("{\"end\"").unwrap()..]
    }
    let edits: [Edit<'_>; 16] = [
        ("cut", &|text| text[..text.len() / 2].into()),
        ("without its last line", &|text| text.replace(end(text), "")),
        ("byte order mark", &|text| format!("\u{feff}{text}")),
        ("two ends", &|text| format!("{text}{}", end(text))),
        ("end in the middle", &|text| {
            let before = r#"{"path":"b.x""#;
            text.replacen(before, &format!("{}{before}", end(text)), 1)
        }),
        ("a key twice", &|text| text.replacen("\"bytes\":1", "\"bytes\":1,\"bytes\":1", 1)),
        ("huge number", &|text| text.replacen("\"bytes\":1", "\"bytes\":1e400", 1)),
        ("NaN", &|text| text.replacen("\"bytes\":1", "\"bytes\":NaN", 1)),
        ("nested", &|text| text.replacen("\"bytes\":1", &format!("\"x\":{}", "[".repeat(9000)), 1)),
        ("other type", &|text| text.replacen("\"type\":\"file\"", "\"type\":\"pipe\"", 1)),
        ("leads out", &|text| text.replacen("\"path\":\"a\"", "\"path\":\"../a\"", 1)),
        ("other length", &|text| text.replacen("\"bytes\":1", "\"bytes\":2", 1)),
        ("other name", &|text| text.replacen("{\"path\":\"a\"", "{\"path\":\"0\"", 1)),
        ("other count", &|text| text.replacen("{\"end\":5", "{\"end\":4", 1)),
        ("other rules", &|text| text.replacen("\"hidden\":true", "\"hidden\":false", 1)),
        ("swapped lines", &|text| {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            lines.swap(1, 2);
            lines.concat()
        }),
    ];
    for (what, edit) in edits {
        let tree = tree();
        tree.snapshot();
        edit_index(&tree, edit);
        tree.flip("b/d");
        for said in [tree.verify(), tree.quick()] {
            assert!(said.report.damage.is_some(), "{what}");
            assert!(!said.report.is_certain(), "{what}");
            let verdict = said.verdict("b/d");
            assert!(verdict.is_doubtful(), "{what}: {verdict:?}");
            assert_eq!(said.verdict("a").class(), Class::Same, "{what}");
        }
        for update in [Update::new(), Update::new().full(true)] {
            assert!(matches!(tree.refused(&update), Loss::Damage(_)), "{what}");
        }
        assert!(tree.accept().report.damage.is_some(), "{what}");
        assert!(tree.verify().is_fine(), "{what}: after an update");
    }
}

#[test]
fn list_that_was_edited_is_parted_from_its_index() {
    type Edit = fn(&str) -> String;
    let edits: [(&str, Edit); 2] = [
        ("another digest", |text| text.replacen(&text[..3], "000", 1)),
        ("without its first line", |text| text[text.find('\n').unwrap() + 1..].into()),
    ];
    for (what, edit) in edits {
        let tree = tree();
        tree.snapshot();
        let text = fs::read_to_string(tree.list()).unwrap();
        fs::write(tree.list(), edit(&text)).unwrap();
        for said in [tree.verify(), tree.quick()] {
            assert!(said.report.differs(), "{what}");
            assert!(said.report.damage.is_some(), "{what}");
            assert_eq!(said.report.files_unread, 0, "{what}");
        }
    }
}

/// What is compared are the bytes whose hash was reported, and not bytes that a writer puts into the same file afterwards.
#[test]
fn list_that_changes_after_it_was_opened_is_an_error() {
    let tree = tree();
    tree.snapshot();
    let manifest = tree.manifest();
    tree.write("a", "2");
    let text = fs::read_to_string(tree.list()).unwrap();
    let (one, two) = (treewide::hash(b"1"), treewide::hash(b"2"));
    let other = text.replace(one.to_hex().as_str(), two.to_hex().as_str());
    let mut file = fs::File::options().write(true).open(tree.list()).unwrap();
    file.write_all(other.as_bytes()).unwrap();
    let options = Options::new();
    let error = Verify::new().run(&manifest, &tree.root(), &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("changed while it was being read"), "{error}");
}

/// Opening a pipe waits for a writer.
#[test]
fn pipes_in_the_place_of_index_and_journal_are_not_opened() {
    let tree = tree();
    tree.snapshot();
    fs::remove_file(index_path(&tree.list())).unwrap();
    let journal = treewide_manifest::journal::journal_path(&tree.list());
    for path in [index_path(&tree.list()), journal] {
        fifo(&path);
    }
    for said in [tree.verify(), tree.quick()] {
        assert!(!said.report.is_certain() && !said.report.differs());
    }
    fs::remove_file(index_path(&tree.list())).unwrap();
    let made = tree.make(&Update::new(), &Options::new()).unwrap();
    assert_eq!(made.report.unused_journal.as_deref(), Some("is not a regular file"));
}

/// Nor are they waited for in the place of the list, to read it or to write it.
#[test]
fn pipes_in_the_place_of_the_list_are_refused() {
    let tree = tree();
    tree.snapshot();
    fs::remove_file(tree.list()).unwrap();
    fifo(&tree.list());
    let refused = [Manifest::open(&tree.list()).err(), Draft::begin(&tree.list(), true).err()];
    for error in refused {
        let error = error.unwrap().to_string();
        assert!(error.contains("X.b3: is not a regular file"), "{error}");
    }
    let error = Manifest::open(&tree.root()).unwrap_err().to_string();
    assert!(error.contains("is a directory"), "{error}");
}

/// Rot is found again each time until it is accepted, also by a run that reads little.
#[test]
fn rot_that_was_found_is_not_forgotten() {
    let tree = tree();
    let totals = tree.snapshot();
    let old = fs::read_to_string(tree.list()).unwrap();
    tree.flip("b/d");
    tree.accept();
    let new = fs::read_to_string(tree.list()).unwrap();
    // As if someone had written to the disk below the file system: the old digest, and the key of the new content.
    let facts = treewide_manifest::facts_of(&tree.manifest()).unwrap().to_hex().to_string();
    let hash = |text: &str| treewide::hash(text.as_bytes()).to_hex().to_string();
    edit_index(&tree, |text| {
        text.replace(&hash(&new), &hash(&old)).replace(&facts, totals.facts.to_hex().as_str())
    });
    fs::write(tree.list(), &old).unwrap();
    assert!(tree.quick().is_fine(), "a run that has not read it cannot know");
    assert_eq!(tree.verify().differences(), ["rot b/d"]);

    let scrub = Update::new().scrub(Budget::Percent(100.0));
    assert_eq!(tree.update_with(scrub, Box::new(AllIsOld)).differences(), ["rot b/d"]);
    for said in [tree.quick(), tree.update(), tree.update(), tree.quick()] {
        assert_eq!(said.differences(), ["rot b/d"]);
        assert_eq!(said.report.files_read, 1);
    }
    assert_eq!(fs::read_to_string(tree.list()).unwrap(), old);
    let accept = Update::new().accept_rot(Globs::new(&["b/d"]).unwrap());
    tree.update_with(accept, Box::new(AllIsOld));
    assert!(tree.quick().is_fine() && tree.verify().is_fine());
}

#[test]
fn update_with_other_rules_is_a_snapshot() {
    let tree = tree();
    tree.write(".hidden", "h");
    tree.snapshot();
    for rules in [
        Rules { modes: true, ..Rules::default() },
        Rules::default(),
        Rules { exclude: vec!["/b/".into()], ..Rules::default() },
        Rules { hidden: false, ..Rules::default() },
    ] {
        tree.update_with(Update::new().rules(rules.clone()), Box::new(AllIsOld));
        let (list, totals) = tree.afresh(rules.clone());
        assert_eq!(fs::read(tree.list()).unwrap(), list, "{rules:?}");
        assert_eq!(treewide_manifest::facts_of(&tree.manifest()), Some(totals.facts), "{rules:?}");
        assert!(tree.verify().is_fine(), "{rules:?}");
    }
}

/// The manifest in its own tree is left out, and nothing else that is the same file under another name.
#[test]
fn only_the_manifest_itself_is_left_out() {
    let tree = tree();
    let list = tree.at("X.b3");
    let snapshot = |list: &Path| snapshot_at(list, &tree.root(), &Update::new());
    let verify =
        |list: &Path, root: &Path| said_of(list, root, &Verify::new()).unwrap().differences();
    for _ in 0..2 {
        snapshot(&list);
        assert_eq!(verify(&list, &tree.root()), [""; 0]);
    }
    // By a link to the root, and by a longer way.
    let link = tree.folder().join("link");
    symlink(tree.root(), &link).unwrap();
    assert_eq!(verify(&list, &link), [""; 0]);
    assert_eq!(verify(&link.join("b/../X.b3"), &tree.root().join("b/..")), [""; 0]);
    // A new manifest next to the old one covers that.
    let other = tree.at("Y.b3");
    snapshot(&other);
    assert_eq!(verify(&other, &tree.root()), [""; 0]);
    fs::remove_file(&other).unwrap();
    fs::remove_file(index_path(&other)).unwrap();

    fs::hard_link(&list, tree.at("evil")).unwrap();
    assert_eq!(verify(&list, &tree.root()), ["added evil"]);
    fs::remove_file(tree.at("evil")).unwrap();
    // The same name elsewhere, and a name that is left out only if it is a journal.
    fs::hard_link(&list, tree.at("b/X.b3")).unwrap();
    tree.write("X.b3.part", "evil");
    assert_eq!(verify(&list, &tree.root()), ["added X.b3.part", "added b/X.b3"]);
    fs::remove_file(tree.at("b/X.b3")).unwrap();
    // So a new manifest has it, also if its run would keep a journal.
    for keeps in [false, true] {
        fs::remove_file(&list).unwrap();
        fs::remove_file(index_path(&list)).unwrap();
        let draft = Draft::begin(&list, true).unwrap();
        let draft = if keeps { draft.with_journal(false) } else { draft };
        let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
        let made = Update::new().run(None, &root, draft, clock, &options, &mut |_| {}).unwrap();
        made.draft.appear().unwrap();
        assert_eq!(verify(&list, &tree.root()), [""; 0]);
        assert!(fs::read_to_string(&list).unwrap().contains("  X.b3.part\n"));
        assert_eq!(fs::read_to_string(tree.at("X.b3.part")).unwrap(), "evil");
    }
}

/// What a walk cannot look at has one verdict, and what is recorded below it is neither gone nor fine.
#[test]
fn directories_without_permission_are_one_verdict_each() {
    let tree = tree();
    tree.write("b/sub/x", "x");
    tree.write("b/sub-x", "x");
    symlink("c", tree.at("b/link")).unwrap();
    tree.snapshot();
    if std::os::unix::fs::chown(tree.list(), Some(65534), Some(65534)).is_err() {
        println!("SKIPPED: only root can become another user");
        return;
    }
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(tree.folder(), 0o755).unwrap();
    // Where no one can run it.
    let test = tree.folder().join("test");
    fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    for mode in [0o444, 0o000, 0o111] {
        set(&tree.at("b"), mode).unwrap();
        let out = std::process::Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&test)
            .args(["--exact", "attack::as_nobody", "--nocapture", "--ignored"])
            .env("TREEWIDE_ATTACK_TREE", tree.folder())
            .output();
        set(&tree.at("b"), 0o755).unwrap();
        let Ok(out) = out else {
            println!("SKIPPED: there is no setpriv");
            return;
        };
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{mode:o}: {text} {}", String::from_utf8_lossy(&out.stderr));
        assert!(text.contains("1 passed"), "{text}");
    }
}

#[test]
#[ignore = "directories_without_permission_are_one_verdict_each runs it as another user"]
fn as_nobody() {
    let folder = std::env::var_os("TREEWIDE_ATTACK_TREE").expect("the other test sets it");
    let folder = Path::new(&folder);
    for quick in [false, true] {
        let verify = Verify::new().quick(quick);
        let said = said_of(&folder.join("X.b3"), &folder.join("root"), &verify).unwrap();
        assert!(!said.report.is_certain());
        assert!(!said.report.differs(), "{:?}", said.differences());
        assert_eq!(said.verdict("a").class(), Class::Same);
        for name in ["b/c", "b/d", "b/sub", "b/sub/x", "b/sub-x", "b/link"] {
            assert_eq!(said.verdict(name).class(), Class::Unreadable, "{name}");
        }
    }
}

/// A path that is longer than the system takes, with a link at its end.
#[test]
fn deep_trees_are_compared() {
    let tree = tree();
    let script = r#"cd "$1"; d=$(printf 'd%.0s' $(seq 200))
        for i in $(seq 30); do mkdir $d; cd -P $d; done; printf x > file; ln -s file link; mkfifo pipe"#;
    let made =
        std::process::Command::new("bash").args(["-ec", script, "-"]).arg(tree.root()).status();
    if !made.is_ok_and(|it| it.success()) {
        println!("SKIPPED: no such tree could be made");
        return;
    }
    tree.snapshot();
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert!(said.is_fine(), "{:?}", said.differences());
    }
}

/// A day to come, from a clock that was wrong, would never be the oldest.
#[test]
fn scrub_reads_files_of_days_to_come() {
    let tree = tree();
    tree.snapshot();
    edit_index(&tree, |text| {
        let line = text.lines().find(|it| it.starts_with(r#"{"path":"b/d""#)).unwrap();
        let (head, rest) = line.rsplit_once("\"read\":\"").unwrap();
        text.replace(line, &format!("{head}\"read\":\"2099{}", &rest[4..]))
    });
    let said = tree.update_with(Update::new().scrub(Budget::Bytes(1)), Box::new(AllIsOld));
    assert_eq!((said.report.files_read, said.report.bytes_read), (1, 3));
}
