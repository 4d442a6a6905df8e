//! Damage to a manifest or its tree, by accident or on purpose.

use crate::common::{AllIsOld, Tree, clock, said_of, snapshot_at};
use std::fs;
use treewide_manifest::list::List;
use treewide_manifest::machine::{Draft, Update, Verify};
use treewide_manifest::{
    Cancel, Class, Error, ErrorKind, Index, Manifest, Options, Rules, Verdict, index_path,
};

fn line(content: &str, name: &str) -> String {
    format!("{}  {name}\n", treewide::hash(content.as_bytes()))
}

fn list(text: impl Into<Vec<u8>>) -> Result<List, Error> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("X.b3"), text.into()).unwrap();
    List::open(&folder.path().join("X.b3"))
}

/// Every name that a file can have.
#[cfg(target_os = "linux")]
#[test]
fn list_keeps_every_name() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new(&[]);
    let long = "x".repeat(255);
    let names: [&[u8]; 14] = [
        b"a\nb",
        b"a\rb",
        b"a\\b",
        b" lead",
        b"trail ",
        b"-",
        b"--help",
        b"C:",
        long.as_bytes(),
        b"\xff\xfe",
        "\u{fffd}".as_bytes(),
        b"*",
        b"\"quoted\"",
        b"\x01\x1b[2J",
    ];
    for name in names {
        fs::write(tree.root().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    assert_eq!(tree.snapshot().files, 14);
    assert_eq!(tree.manifest().list().len(), 12, "two are in the index alone");
    assert!(tree.verify().is_fine());
    assert_eq!(tree.quick().report.files_unread, 14);
    fs::write(tree.root().join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "other").unwrap();
    assert_eq!(tree.verify().report.count(Class::Changed), 1);
    tree.update();
    assert!(tree.verify().is_fine());
    // Without the index the two are new, and with a damaged one no one can say anything about them.
    fs::remove_file(index_path(&tree.list())).unwrap();
    assert_eq!(tree.verify().report.count(Class::Added), 2);
    fs::write(index_path(&tree.list()), "{}\n").unwrap();
    assert!(!tree.verify().report.is_certain());
}

/// Composed letters in the list, separate ones on the disk.
#[cfg(target_os = "linux")]
#[test]
fn verify_finds_other_unicode_forms_once() {
    let (composed, apart) = ("\u{e9}.jpg", "e\u{301}.jpg");
    let tree = Tree::new(&[(composed, "1")]);
    tree.snapshot();
    fs::rename(tree.at(composed), tree.at(apart)).unwrap();
    let expected = [format!("renamed {apart} from {composed}")];
    assert_eq!(tree.verify().differences(), expected);
    assert_eq!(tree.update().differences(), expected);
    // Both: two files.
    tree.write(composed, "2");
    assert_eq!(tree.update().differences(), [format!("added {composed}")]);
    assert!(tree.verify().is_fine());
}

/// Names that lead elsewhere are refused before anything is opened.
#[test]
fn list_refuses_names_that_lead_out() {
    for name in ["../x", "/etc/passwd", "a/../../b", "a//b", "a/", ".."] {
        let error = list(line("1", "a") + &line("1", name)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::List(_)), "{name}");
        assert!(error.to_string().contains("X.b3:2: "), "{error}");
    }
    let tree = Tree::new(&[("a", "1")]);
    fs::write(tree.list(), line("1", "./a")).unwrap();
    assert!(tree.verify().is_fine());
}

/// A name twice.
#[test]
fn list_may_have_a_name_twice_with_one_digest() {
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    fs::write(tree.list(), line("1", "a") + &line("1", "a") + &line("2", "b")).unwrap();
    assert!(tree.verify().is_fine());
    assert_eq!(tree.verify().report.entries(), 2);
    for text in
        [line("1", "a") + &line("2", "a"), line("1", "a") + &line("3", "b") + &line("2", "a")]
    {
        assert!(list(text).unwrap_err().to_string().contains("a is listed twice"));
    }
}

/// Any order, CRLF, a byte-order mark, UTF-16, tags, JSON.
#[test]
fn list_may_be_foreign() {
    let tree = Tree::new(&[("a", "1"), ("b/c", "2"), ("z", "3")]);
    let plain = line("3", "z") + &line("1", "a") + &line("2", "b/c");
    let crlf = plain.replace('\n', "\r\n");
    let utf16: Vec<u8> =
        format!("\u{feff}{crlf}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let tag = |content: &str, name: &str| {
        format!("BLAKE3 ({name}) = {}\n", treewide::hash(content.as_bytes()))
    };
    let json = |content: &str, name: &str| {
        format!(
            "{{\"path\":\"{name}\",\"digest\":\"{}\",\"bytes\":1,\"error\":null}}\n",
            treewide::hash(content.as_bytes())
        )
    };
    let mixed = format!("# mine\n\n{}{}{}", tag("3", "z"), json("1", "a"), line("2", "b/c"));
    let marked = format!("\u{feff}{plain}");
    for text in
        [plain.into_bytes(), crlf.into_bytes(), utf16, mixed.into_bytes(), marked.into_bytes()]
    {
        fs::write(tree.list(), text).unwrap();
        assert!(tree.verify().is_fine());
        assert_eq!(tree.verify().report.entries(), 3);
    }
}

/// A list that is cut anywhere is never fine.
#[test]
fn list_that_is_cut_is_never_fine() {
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    tree.snapshot();
    let whole = fs::read(tree.list()).unwrap();
    for len in 0..whole.len() {
        fs::write(tree.list(), &whole[..len]).unwrap();
        match tree.said(Verify::new()) {
            Err(_) => {}
            Ok(said) => assert!(said.report.differs() && !said.report.is_certain(), "{len} bytes"),
        }
    }
}

/// An index that is cut off, or that another program wrote, is not used.
#[test]
fn index_that_is_broken_is_never_trusted() {
    let tree = Tree::new(&[("a", "1"), ("b", "2"), ("d/e", "3")]);
    tree.snapshot();
    let path = index_path(&tree.list());
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..len]).unwrap();
        let said = tree.quick();
        assert!(!said.report.is_certain() && said.report.files_unread == 0, "{len} bytes");
        assert!(matches!(tree.manifest().index(), Index::Ignored(_)), "{len} bytes");
        assert!(!said.report.differs(), "{len} bytes");
    }
    let text = String::from_utf8(whole).unwrap();
    for (from, to) in [("manifest 1", "manifest 2"), ("\"modes\"", "\"moods\"")] {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert!(matches!(tree.manifest().index(), Index::Ignored(_)), "{from}");
    }
}

/// A forged key can only make `quick` read less.
#[cfg(unix)]
#[test]
fn verify_ignores_forged_keys() {
    let tree = Tree::new(&[("a", "1")]);
    tree.snapshot();
    tree.write("a", "x");
    let stamp = treewide_files::Stamp::at(&tree.at("a"), false).unwrap();
    let path = index_path(&tree.list());
    let mut index: Vec<String> =
        fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    index[1] = format!(
        "{{\"path\":\"a\",\"type\":\"file\",\"bytes\":1,\"mtime\":{},\"ctime\":{},\"ino\":{},\"dev\":{},\"read\":\"2026-11-25\"}}",
        stamp.mtime.unwrap(),
        stamp.ctime.unwrap(),
        stamp.inode,
        stamp.device
    );
    tree.forge_index(&index.join("\n"));
    assert_eq!(tree.quick().report.files_unread, 1, "as documented");
    assert_eq!(tree.verify().differences(), ["rot a"]);
    // An update keeps the old digest.
    let full = || Update::new().full(true);
    assert_eq!(tree.update_with(full(), Box::new(AllIsOld)).differences(), ["rot a"]);
    assert!(
        fs::read_to_string(tree.list())
            .unwrap()
            .contains(&treewide::hash(b"1").to_hex().to_string())
    );
    let accept = treewide_manifest::Globs::new(&["a"]).unwrap();
    tree.update_with(full().accept_rot(accept), Box::new(AllIsOld));
    assert!(tree.verify().is_fine());
}

/// By a wrong time, rot would look like a change; by a wrong day, what is to be read next would never be read.
#[test]
fn damage_to_any_byte_of_an_index_is_seen() {
    let tree = Tree::new(&[("a", "1"), ("b/c", "22")]);
    tree.snapshot();
    let path = index_path(&tree.list());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let manifest = tree.manifest();
        let mut records = manifest.records().unwrap();
        while records.next().is_some() {}
        assert!(!manifest.has_index() || records.damage().is_some(), "byte {at}");
    }
}

/// Nothing at all.
#[test]
fn verify_takes_empty_trees_and_lists() {
    let tree = Tree::new(&[]);
    tree.snapshot();
    assert!(tree.verify().is_fine(), "the index says that there is nothing");
    fs::remove_file(index_path(&tree.list())).unwrap();
    assert!(!tree.verify().report.is_certain(), "nothing says that");
    tree.write("a", "");
    assert!(tree.verify().report.differs());
    fs::write(tree.list(), line("", "a")).unwrap();
    assert!(tree.verify().is_fine());
}

/// The manifest and its temporary files inside of the tree.
#[test]
fn walk_leaves_own_files_out() {
    let tree = Tree::new(&[("a", "1")]);
    let path = tree.at("X.b3");
    for _ in 0..2 {
        assert_eq!(snapshot_at(&path, &tree.root(), &Update::new()).files, 1);
    }
    assert!(said_of(&path, &tree.root(), &Verify::new()).unwrap().is_fine());
}

/// An update that is dropped before it appears, and one that is killed between the two renames.
#[test]
fn index_of_another_list_is_never_trusted() {
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    tree.snapshot();
    let files = || [tree.list(), index_path(&tree.list())].map(|it| fs::read(it).unwrap());
    let before = files();
    tree.write("a", "x");
    let (old, draft) = (tree.manifest(), Draft::begin(&tree.list(), true).unwrap());
    let (root, clock, options) = (tree.root(), Box::new(AllIsOld), Options::new());
    drop(Update::new().run(Some(&old), &root, draft, clock, &options, &mut |_| {}).unwrap());
    assert_eq!(files(), before);
    assert_eq!(fs::read_dir(tree.folder()).unwrap().count(), 3, "no temporary file is left");
    tree.update();
    fs::write(index_path(&tree.list()), &before[1]).unwrap();
    let said = tree.quick();
    assert!(!said.report.differs() && !said.report.is_certain());
    assert_eq!(said.report.files_unread, 0);
}

/// Hard links are files of their own, and read once.
#[cfg(target_os = "linux")]
#[test]
fn hard_links_are_read_once_and_reported_by_each_name() {
    let large = "12345678".repeat(1 << 18);
    let tree = Tree::new(&[("a", "1"), ("d/large", &large), ("one", "22")]);
    let link = |from: &str, to: &str| fs::hard_link(tree.at(from), tree.at(to)).unwrap();
    for (from, to) in [("a", "b"), ("a", "d/c"), ("d/large", "e")] {
        link(from, to);
    }
    let once = large.len() as u64 + 3;
    let counts = |report: &treewide_manifest::Report| {
        (report.bytes_read, report.files_read, report.files_linked)
    };
    crate::common::aged::waiting::wait_until_links_count(&tree.at("a"));
    let (report, _) = tree.snapshot_with(Update::new(), clock());
    assert_eq!(counts(&report), (once, 3, 3));
    let options = Options::new().threads(1);
    let report = Verify::new().run(&tree.manifest(), &tree.root(), &options, &mut |_| {}).unwrap();
    assert!(!report.differs() && report.is_certain());
    assert_eq!(counts(&report), (once, 3, 3));
    if tree.quick().report.files_unread == 0 {
        println!("SKIPPED: the clock of this file system cannot be asked");
        return;
    }
    assert_eq!(tree.quick().report.files_unread, 6, "each name has a key");
    // The count of links alone: it is read again, as it has another ctime, and that is all.
    fs::remove_file(tree.at("b")).unwrap();
    for said in [tree.quick(), tree.update()] {
        assert_eq!(said.differences(), ["removed b", "touched a", "touched d/c"]);
        assert!(said.report.files_read + said.report.files_linked == 2);
    }
    // An equal copy in the place of one name, other content in the place of another.
    for (name, content, expected) in [("d/c", "1", "touched d/c"), ("a", "x", "changed a")] {
        fs::remove_file(tree.at(name)).unwrap();
        tree.write(name, content);
        let said = tree.verify().differences();
        assert!(said.iter().any(|it| it == expected), "{said:?}");
    }
    tree.write("e", large.replacen('1', "2", 1));
    for said in [tree.verify(), tree.quick()] {
        let differences = said.differences();
        assert!(
            differences.ends_with(&[
                "changed d/large".into(),
                "changed e".into(),
                "touched d/c".into()
            ]),
            "{differences:?}"
        );
    }
}

#[test]
fn cancelled_runs_are_errors() {
    let tree = Tree::new(&[("a", "1")]);
    tree.snapshot();
    let cancel = Cancel::new();
    cancel.cancel();
    let options = Options::new().cancel(&cancel);
    let ended = Verify::new().run(&tree.manifest(), &tree.root(), &options, &mut |_| {});
    assert!(matches!(ended.unwrap_err().kind(), ErrorKind::Cancelled));
}

#[test]
fn excluded_paths_are_not_covered() {
    let tree = Tree::new(&[
        ("a", "1"),
        ("a.tmp", "2"),
        ("cache/b", "3"),
        ("d/cache/c", "4"),
        (".git/x", "5"),
    ]);
    let rules =
        Rules { exclude: vec!["*.tmp".into(), "cache/".into()], hidden: false, ..Rules::default() };
    tree.snapshot_with(Update::new().rules(rules.clone()), Box::new(AllIsOld));
    assert_eq!(fs::read_to_string(tree.list()).unwrap(), line("1", "a"));
    tree.write("cache/new", "");
    assert!(tree.verify().is_fine());
    assert_eq!(tree.manifest().rules(), rules);
    // Other rules: what they cover is new.
    let said = tree.update_with(Update::new().rules(Rules::default()), Box::new(AllIsOld));
    assert_eq!(said.report.count(Class::Added), 5 + 3);
    let only = treewide_manifest::Globs::new(&["cache"]).unwrap();
    tree.write("a", "changed");
    assert!(tree.said(Verify::new().only(only)).unwrap().is_fine());
}

/// Each glob counts: one with a mistake in it must not hide behind another.
#[test]
fn globs_that_match_nothing_are_reported() {
    let tree = Tree::new(&[("a", "1"), ("d/b", "2"), ("e", "3")]);
    tree.snapshot();
    let said = |globs: &[&str]| {
        let only = treewide_manifest::Globs::new(globs).unwrap();
        tree.said(Verify::new().only(only)).unwrap()
    };
    assert!(said(&["a", "d/", "b"]).is_fine());
    for (globs, unmatched) in
        [(&["a", "zzz"][..], &["zzz"][..]), (&["a/", "d"], &["a/"]), (&["x", "y*"], &["x", "y*"])]
    {
        let said = said(globs);
        assert_eq!(said.report.unmatched, unmatched);
        assert!(!said.report.is_certain() && !said.report.differs());
    }
    // Both the old and the new name were compared.
    fs::rename(tree.at("e"), tree.at("f")).unwrap();
    assert_eq!(said(&["e"]).differences(), ["removed e"]);
    assert_eq!(said(&["e", "f"]).report.unmatched, [""; 0]);
}

/// The index is next to the name by which the list is reached, for reading and for writing.
#[cfg(unix)]
#[test]
fn list_that_is_a_link_has_its_index_next_to_the_link() {
    let tree = Tree::new(&[("a", "1")]);
    let real = tree.folder().join("real.b3");
    fs::write(&real, line("1", "a")).unwrap();
    std::os::unix::fs::symlink(&real, tree.list()).unwrap();
    tree.update();
    assert!(tree.manifest().has_index() && !index_path(&real).exists());
    assert!(tree.list().symlink_metadata().unwrap().is_symlink(), "the link stays");
    assert_eq!(fs::read(&real).unwrap(), fs::read(tree.list()).unwrap());
    assert!(tree.quick().is_fine());
    assert!(!Manifest::open(&real).unwrap().has_index(), "it counts as a plain list");
    // An index there would be of another list after the next update.
    fs::rename(index_path(&tree.list()), index_path(&real)).unwrap();
    let error = Draft::begin(&tree.list(), true).unwrap_err().to_string();
    assert!(error.contains("real.b3") && Draft::begin(&real, true).is_ok(), "{error}");
}

/// A file that is written to all the time.
#[test]
fn snapshot_sees_files_that_change_while_they_are_read() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let tree = Tree::new(&[("a", "1"), ("log", "")]);
    tree.snapshot();
    let (is_over, path) = (Arc::new(AtomicBool::new(false)), tree.at("log"));
    let writer = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let mut len = 0;
            while !is_over.load(Relaxed) {
                len = len % 9000 + 1;
                fs::write(&path, vec![b'x'; len]).unwrap();
            }
        }
    });
    let verdicts: Vec<_> = (0..20)
        .map(|_| tree.verify())
        .map(|said| (said.verdict("a").clone(), said.verdict("log").clone()))
        .collect();
    is_over.store(true, Relaxed);
    writer.join().unwrap();
    for (a, log) in verdicts {
        assert_eq!(a, Verdict::Same);
        // It may be empty for a moment, as it was.
        let same = matches!(log, Verdict::Same | Verdict::Touched);
        assert!(same || matches!(log, Verdict::Changed(_) | Verdict::Changing), "{log:?}");
    }
}
