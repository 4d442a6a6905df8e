//! Files that come back, are copied or are renamed: what was recorded of them judges their content.

use crate::common::{AllIsOld, Said, Tree, copy_pair, rewrite, set_time};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};
use treewide_manifest::machine::{Limit, Update};
use treewide_manifest::{Class, Globs, index_path, past_path};

const NAME: &str = "d/cafe\u{301} f";

fn tree() -> Tree {
    let tree = Tree::new(&[(NAME, "content of f"), ("k", "kept"), ("l", "kept as well")]);
    tree.snapshot();
    tree
}

fn update(tree: &Tree, accepts: &[&str]) -> Said {
    let update = Update::new().most_removed(Limit::Percent(100.0));
    tree.update_with(update.accept_rot(Globs::new(accepts).unwrap()), Box::new(AllIsOld))
}

fn lists(tree: &Tree, name: &str, content: &str) -> bool {
    let line = format!("{}  {name}\n", treewide::hash(content.as_bytes()));
    fs::read_to_string(tree.list()).unwrap().contains(&line)
}

/// A copy with the mtime of the first.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
    set_time(to, fs::metadata(from).unwrap().modified().unwrap());
}

/// However a file comes back, and whether a run has recorded that it was gone: its rot is reported each time until it is accepted, and never recorded;
/// without rot nothing is in doubt, and a file that nothing happened to is not read.
#[test]
fn rot_of_files_that_come_back_is_never_recorded() {
    let ways = [
        ("its folder", NAME, true),
        ("a copy", NAME, false),
        ("another name", "a", true),
        ("another folder", "e/cafe\u{301} f", false),
        ("other letters", "d/caf\u{e9} f", false),
        ("other letters elsewhere", "e/caf\u{e9} f", false),
    ];
    for (way, name, moves) in ways {
        for (rots, is_recorded) in [(false, true), (true, true), (false, false), (true, false)] {
            println!("{way}, rots {rots}, recorded as gone {is_recorded}");
            let tree = tree();
            let (d, away) = (tree.at("d"), tree.folder().join("away"));
            fs::rename(&d, &away).unwrap();
            if is_recorded {
                let said = update(&tree, &[]);
                assert_eq!(said.report.count(Class::Removed), 2);
                assert!(!lists(&tree, NAME, "content of f"));
            }
            let file = away.join(NAME.strip_prefix("d/").unwrap());
            if rots {
                rewrite(&file, "cOntent of f");
            }
            match (moves, name == NAME) {
                (true, true) => fs::rename(&away, &d).unwrap(),
                (true, false) => fs::rename(&file, tree.at(name)).unwrap(),
                (false, _) => copy(&file, &tree.at(name)),
            }
            let class = |said: &Said| said.verdict(name).class();
            let is_doubt = |said: &Said| matches!(class(said), Class::Rot | Class::Suspect);
            for said in [tree.verify(), tree.quick()] {
                assert_eq!(is_doubt(&said), rots, "{:?}", said.differences());
            }
            let said = update(&tree, &[]);
            assert_eq!((is_doubt(&said), said.report.files_kept), (rots, u64::from(rots)));
            assert!(lists(&tree, name, "content of f"));
            let is_back = is_recorded && name == NAME;
            let back = match (is_back, rots) {
                (true, false) => (1, 0),
                (true, true) => (0, 1),
                // Other letters are another name, whose records judge it.
                (false, _) => (0, 0),
            };
            if name == NAME {
                assert_eq!(said.report.back, back);
                let reads = u64::from(rots || !moves);
                assert_eq!(said.report.files_read, reads);
            }
            for said in [tree.verify(), update(&tree, &[])] {
                assert_eq!(is_doubt(&said), rots, "{:?}", said.differences());
            }
            if rots {
                let said = update(&tree, &["cafe*", "caf\u{e9}*", "a"]);
                assert_eq!((class(&said), said.report.files_kept), (Class::Accepted, 0));
                // The old digest is in the past.
                let past = fs::read_to_string(past_path(&tree.list())).unwrap();
                let old = treewide::hash(b"content of f").to_hex();
                assert!(past.contains(&format!("\"digest\":\"{old}\"")));
            }
            assert!(update(&tree, &[]).report.files_kept == 0 && tree.verify().is_fine());
        }
    }
}

/// The newest record that has the mtime judges; without one, it is said whether the content is one that was there.
#[test]
fn content_is_as_it_was_or_not() {
    let tree = tree();
    let keep = tree.folder().join("keep");
    copy(&tree.at("k"), &keep);
    tree.write("k", "second");
    update(&tree, &[]);
    fs::remove_file(tree.at("k")).unwrap();
    update(&tree, &[]);
    for (content, as_then) in [("kept", true), ("second", true), ("other", false)] {
        tree.write("k", content);
        let said = tree.verify();
        assert_eq!(said.differences(), ["added k"]);
        assert_eq!(said.report.back, (u64::from(as_then), u64::from(!as_then)), "{content}");
        assert!(said.detail("k").starts_with(if as_then { "as it was" } else { "not as it was" }));
    }
    // A backup is put over a newer file, with its time.
    tree.write("k", "third");
    update(&tree, &[]);
    copy(&keep, &tree.at("k"));
    let said = update(&tree, &[]);
    assert_eq!((said.differences(), said.report.back), (vec!["changed k".into()], (0, 0)));
    assert!(said.detail("k").starts_with("as it was until "), "{}", said.detail("k"));
    // An edit is one, and says nothing of earlier ones.
    tree.write("k", "fourth");
    assert_eq!(update(&tree, &[]).detail("k"), "");
    // A file that was moved here is not one that came back.
    fs::remove_file(tree.at("k")).unwrap();
    update(&tree, &[]);
    fs::rename(tree.at("l"), tree.at("k")).unwrap();
    let said = update(&tree, &[]);
    assert_eq!((said.differences(), said.report.back), (vec!["moved k from l".into()], (0, 0)));
}

/// The record comes back with its day, its digests by other algorithms and its key: the list and the index are as they were.
#[test]
fn disk_that_is_back_is_as_it_was() {
    let tree = tree();
    tree.update_with(Update::new().also([treewide_digests::Algorithm::MD5]), Box::new(AllIsOld));
    let lines = || {
        let index = fs::read_to_string(index_path(&tree.list())).unwrap();
        index.lines().filter(|it| it.contains("\"path\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = (fs::read(tree.list()).unwrap(), lines());
    fs::rename(tree.at("d"), tree.folder().join("away")).unwrap();
    update(&tree, &[]);
    fs::rename(tree.folder().join("away"), tree.at("d")).unwrap();
    let said = update(&tree, &[]);
    assert_eq!((said.report.files_read, said.report.files_unread), (0, 3));
    assert_eq!((fs::read(tree.list()).unwrap(), lines()), before);
}

/// Its content is known to be wrong: a copy of it is in doubt as well, wherever its name is in the order.
#[test]
fn copies_of_a_file_in_doubt_are_in_doubt() {
    let tree = tree();
    tree.flip("k");
    assert_eq!(update(&tree, &[]).differences(), ["suspect k"]);
    let (list, bad) = (tree.folder().join("monday.b3"), fs::read(tree.at("k")).unwrap());
    copy_pair(&tree.list(), &list);
    let monday = treewide_manifest::open(&list).unwrap();
    for name in ["a", "l", "z"] {
        tree.write(name, &bad);
    }
    tree.write("y", "another");
    let copies = ["suspect k", "suspect l from k", "suspect z from k"];
    let is_about_k = |said: &Said, name| said.detail(name).starts_with("has the content of k, ");
    for said in [tree.verify(), update(&tree, &[])] {
        assert_eq!(said.differences(), [&["added y", "suspect a from k"][..], &copies].concat());
        assert!(is_about_k(&said, "a") && is_about_k(&said, "l"), "{}", said.detail("l"));
    }
    assert!(lists(&tree, "a", "kept") && lists(&tree, "z", "kept"));
    let said = update(&tree, &[]);
    assert_eq!(said.differences(), ["suspect a", "suspect k", "suspect l", "suspect z"]);
    assert!(is_about_k(&said, "a") && is_about_k(&said, "l"), "{}", said.detail("l"));
    // It is accepted at its name, and where that file is moved. Other files with it stay in doubt.
    let expected = ["accepted a", "accepted l", "suspect k", "suspect z"];
    assert_eq!(update(&tree, &["a", "l"]).differences(), expected);
    fs::rename(tree.at("a"), tree.at("c")).unwrap();
    for name in ["k", "b"] {
        tree.write(name, &bad);
    }
    for said in [tree.verify(), update(&tree, &[])] {
        let expected = ["moved c from a", "suspect b from k", "suspect k", "suspect z"];
        assert_eq!(said.differences(), expected);
    }
    fs::rename(tree.at("c"), tree.at("e")).unwrap();
    for said in [tree.verify(), update(&tree, &[])] {
        let expected = ["moved e from c", "suspect b", "suspect k", "suspect z"];
        assert_eq!(said.differences(), expected);
    }
    // Without a doubt that is left, it is content as any other.
    let expected = ["accepted b", "accepted k", "accepted z"];
    assert_eq!(update(&tree, &["**"]).differences(), expected);
    tree.write("n", &bad);
    assert_eq!(update(&tree, &[]).differences(), ["added n"]);
    // Also by two manifests, and where inodes do not last.
    for has_inodes in [true, false] {
        if !has_inodes {
            let index = fs::read_to_string(index_path(&tree.list())).unwrap();
            tree.forge_index(&index.replace(",\"ino\":", ",\"no\":"));
        }
        let said = crate::common::diff_of(&monday, &tree.manifest());
        assert_eq!(*said.verdict("n").from().unwrap(), *b"k");
    }
}

/// Also after an edit that is undone, and where its file takes the place of another one.
#[test]
fn accepted_content_stays_accepted() {
    let tree = tree();
    tree.flip("k");
    update(&tree, &[]);
    let bad = fs::read(tree.at("k")).unwrap();
    tree.write("a", &bad);
    update(&tree, &[]);
    assert_eq!(update(&tree, &["a"]).differences(), ["accepted a", "suspect k"]);
    tree.write("a", "edited");
    update(&tree, &[]);
    tree.write("a", &bad);
    for (from, to, expected) in [
        ("a", "a", &["changed a"][..]),
        ("a", "l", &["changed l", "removed a"]),
        ("l", "z", &["moved z from l"]),
    ] {
        fs::rename(tree.at(from), tree.at(to)).unwrap();
        for said in [tree.verify(), update(&tree, &[])] {
            let others = said.differences().into_iter().filter(|it| it != "suspect k");
            assert_eq!(others.collect::<Vec<_>>(), expected);
        }
    }
}

/// A doubt about the new file says more than that something else was there.
#[test]
fn path_of_another_type_has_one_verdict() {
    let tree = Tree::new(&[("d/k", "kept"), ("k/x", "1")]);
    tree.snapshot();
    fs::remove_dir_all(tree.at("k")).unwrap();
    copy(&tree.at("d/k"), &tree.at("k"));
    tree.flip("k");
    let expected = ["removed k/x", "suspect k from d/k"];
    for said in [tree.verify(), update(&tree, &[])] {
        assert_eq!(said.differences(), expected);
    }
}

/// Whatever happens to a file in doubt, to its copies and to others, night by night: content in doubt is recorded under no path that did
/// not have it before, until it is accepted, also if a copy was recorded before the first doubt, or with it. Nothing else is in doubt,
/// and `update` says what `verify` says. A file that rot emptied is known by its inode, and other empty files have nothing to do with it.
#[test]
fn content_in_doubt_is_recorded_under_no_path() {
    use std::os::unix::fs::MetadataExt;
    let names = [NAME, "0", "k/f", "z", "d/e/cafe\u{301} f", "l", "m", "d/p"];
    let cases = std::env::var("TREEWIDE_TEST_HISTORIES").map_or(36, |it| it.parse().unwrap());
    for seed in 0..cases {
        let mut state = seed * 2 + 1;
        let mut random = |below: usize| {
            state = u64::wrapping_mul(state, 6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let rot = if seed % 4 == 3 { "" } else { "content oF f" };
        let tree = Tree::in_memory();
        for (name, content) in [(NAME, "content of f"), ("l", "kept"), ("m", "kept as well")] {
            tree.write(name, content);
        }
        tree.snapshot();
        let [keep, good, off] = ["keep", "good", "off"].map(|it| tree.folder().join(it));
        copy(&tree.at(NAME), &good);
        let before = fs::metadata(tree.at(NAME)).unwrap();
        rewrite(&tree.at(NAME), rot);
        if seed % 3 > 0 {
            tree.write("d/p", rot);
        }
        // A disk that loses what it has moves nothing, and the night after the copy sees nothing.
        if seed % 3 > 1 || rot.is_empty() {
            let ctime = |it: &fs::Metadata| {
                format!("\"ctime\":{},", it.ctime() * 1_000_000_000 + it.ctime_nsec())
            };
            let now = ctime(&fs::metadata(tree.at(NAME)).unwrap());
            let index = fs::read_to_string(index_path(&tree.list())).unwrap();
            tree.forge_index(&index.replace(&ctime(&before), &now));
            assert_eq!(update(&tree, &[]).report.files_kept, u64::from(rot.is_empty()));
        }
        copy(&tree.at(NAME), &keep);
        let full = Update::new().full(true);
        assert_eq!(tree.update_with(full, Box::new(AllIsOld)).report.files_kept, 1);
        let mut nights = Vec::new();
        let night = |nights: &Vec<_>| {
            // An index that does not say how many are in doubt has any number of them.
            if seed % 2 > 0 {
                let index = fs::read_to_string(index_path(&tree.list())).unwrap();
                let (begin, end) = index.split_once(",\"doubts\":").unwrap();
                let end = end.trim_start_matches(|it: char| it.is_ascii_digit());
                tree.forge_index(&format!("{begin}{end}"));
            }
            let had = names.map(|it| lists(&tree, it, rot));
            let there = names.map(|it| {
                let inode = fs::metadata(tree.at(it)).map(|it| it.ino());
                fs::read(tree.at(it)).ok().zip(inode.ok())
            });
            let said = [tree.quick(), tree.verify(), update(&tree, &[])];
            let context = || format!("{seed}: {:?} after {nights:?}", said[2].differences());
            for it in &said[1..] {
                assert_eq!(said[0].differences(), it.differences(), "{}", context());
            }
            for ((name, had), there) in names.iter().zip(had).zip(there) {
                let Some((content, inode)) = there else { continue };
                let is_doubt = matches!(said[0].verdict(name).class(), Class::Rot | Class::Suspect);
                let is_rot = content == rot.as_bytes() && !had;
                match rot.is_empty() && content.is_empty() && inode != before.ino() {
                    true => {}
                    false => assert!(
                        is_doubt == is_rot && (had || !lists(&tree, name, rot)),
                        "{name}: {}",
                        context()
                    ),
                }
            }
        };
        for _ in 0..6 {
            for _ in 0..=random(2) {
                let (at, other) = (tree.at(names[random(8)]), tree.at(names[random(8)]));
                let act = [random(8), [0, 2, 6][random(3)]][usize::from(rot.is_empty())];
                nights.push((act, at.clone(), other.clone()));
                // Each has a time of its own, also within a step of the clock.
                let time = SystemTime::now() + Duration::from_secs(nights.len() as u64);
                let write = |content: &[u8]| {
                    fs::write(&at, content).unwrap();
                    set_time(&at, time);
                };
                match act {
                    0 if at.is_file() => write(&fs::read(&at).unwrap()),
                    1 => _ = fs::remove_file(&at),
                    2 if at.is_file() && other.parent().unwrap().is_dir() => {
                        fs::rename(&at, &other).unwrap();
                    }
                    3 if at.parent().unwrap().is_dir() => {
                        _ = fs::remove_file(&at);
                        std::os::unix::fs::symlink("/nowhere", &at).unwrap();
                    }
                    // A backup, as the docs advise.
                    7 if tree.at("d").is_dir() => {
                        _ = fs::remove_file(tree.at(NAME));
                        copy(&good, &tree.at(NAME));
                    }
                    // A disk that is off for a night.
                    6 if tree.at("d").is_dir() => {
                        fs::rename(tree.at("d"), &off).unwrap();
                        night(&nights);
                        fs::rename(&off, tree.at("d")).unwrap();
                    }
                    4 | 5 => {
                        _ = fs::remove_file(&at);
                        copy(&keep, &at);
                        if act == 4 {
                            write(rot.as_bytes());
                        }
                    }
                    _ => {}
                }
            }
            nights.push((9, keep.clone(), keep.clone()));
            night(&nights);
        }
        update(&tree, &["**"]);
        assert!(tree.verify().is_fine(), "{nights:?}: {:?}", tree.verify().differences());
        assert_eq!(
            lists(&tree, "l", rot),
            fs::read(tree.at("l")).is_ok_and(|it| it == rot.as_bytes())
        );
    }
    println!("nights of a file in doubt: {cases} cases");
}

/// A good backup that is restored after rot was accepted is as it was.
#[test]
fn backup_of_what_was_before_rot_was_accepted_is_no_doubt() {
    for is_recorded_as_gone in [false, true] {
        let tree = tree();
        let keep = tree.folder().join("keep");
        copy(&tree.at("k"), &keep);
        tree.flip("k");
        assert_eq!(update(&tree, &["k"]).differences(), ["accepted k"]);
        fs::remove_file(tree.at("k")).unwrap();
        if is_recorded_as_gone {
            update(&tree, &[]);
        }
        copy(&keep, &tree.at("k"));
        let class = if is_recorded_as_gone { "added k" } else { "changed k" };
        for said in [tree.verify(), update(&tree, &[])] {
            assert_eq!(said.differences(), [class]);
            assert!(said.detail("k").starts_with("as it was until "), "{}", said.detail("k"));
        }
        assert!(lists(&tree, "k", "kept") && tree.verify().is_fine());
        // Also by the past of a manifest as it was.
        let rotten = format!("X.b3@-{}", 1 + usize::from(is_recorded_as_gone));
        let then = treewide_manifest::open(&tree.folder().join(rotten)).unwrap();
        let said = crate::common::diff_of(&then, &tree.manifest());
        assert_eq!(said.differences(), ["changed k"]);
        assert!(said.detail("k").starts_with("as it was until "), "{}", said.detail("k"));
    }
}
