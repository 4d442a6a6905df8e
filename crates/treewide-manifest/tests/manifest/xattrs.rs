//! Extended attributes.

use crate::common::{AllIsOld, Tree, copy_pair, fifo};
use std::fs;
use std::path::Path;
use treewide_manifest::machine::Update;
use treewide_manifest::xattrs::{LONGEST, Xattrs};
use treewide_manifest::{Cancel, Change, Rules, Verdict, index_path};

/// The names and values that a file may have.
const VALUES: [(&str, &[u8]); 4] = [
    ("user.binary", b"\xff\0\n"),
    ("user.empty", b""),
    ("user.lines", b"1\n\"2\\\0"),
    ("user.long", &[7; LONGEST + 1]),
];

/// An access list: the owner, one more user, the group, the mask and others.
#[cfg(target_os = "linux")]
const ACCESS: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 77, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255,
    255, 16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255,
];

/// The file `a` and what is next to it. `None` where the file system has no attributes.
fn tree() -> Option<Tree> {
    let tree = Tree::new(&[("a", "1"), ("b", "2"), ("d/e", "3")]);
    match xattr::set(tree.at("a"), "user.test", b"") {
        Ok(()) => xattr::remove(tree.at("a"), "user.test").unwrap(),
        Err(error) => {
            println!("SKIPPED: {} has no extended attributes: {error}", tree.folder().display());
            return None;
        }
    }
    Some(tree)
}

fn rules() -> Rules {
    Rules { xattrs: Xattrs::readable(), ..Rules::default() }
}

fn snapshot(tree: &Tree) {
    tree.snapshot_with(Update::new().rules(rules()), Box::new(AllIsOld));
}

fn index(tree: &Tree) -> String {
    fs::read_to_string(index_path(&tree.list())).unwrap()
}

/// What is said of the path by all that compares.
fn details(tree: &Tree, name: &str) -> Vec<String> {
    [tree.verify(), tree.quick()]
        .iter()
        .map(|said| match said.verdict(name) {
            Verdict::Changed(Change::Xattrs(_)) => said.verdict(name).detail(),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn xattrs_of_any_value_are_recorded_and_compared() {
    let Some(tree) = tree() else { return };
    for (name, value) in VALUES {
        xattr::set(tree.at("a"), name, value).unwrap();
    }
    xattr::set(tree.at("d"), "user.folder", b"x").unwrap();
    snapshot(&tree);
    let text = index(&tree);
    let hash = treewide::hash(VALUES[3].1).to_hex();
    for part in [
        "\"value\":\"\u{fffd}\\u0000\\n\",\"value_hex\":\"ff000a\"",
        "{\"name\":\"user.empty\",\"value\":\"\"}",
        "\"value\":\"1\\n\\\"2\\\\\\u0000\"",
        &format!("\"bytes\":1025,\"digest\":\"{hash}\""),
        "{\"path\":\"d\",\"type\":\"dir\",\"xattrs\":[{\"name\":\"user.folder\",\"value\":\"x\"}]}",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert!(said.is_fine(), "{:?}", said.differences());
    }
    assert_eq!(tree.quick().report.files_unread, 3);
    let (list, facts) = (fs::read(tree.list()).unwrap(), index(&tree));
    for (name, value) in VALUES {
        let mut other = value.to_vec();
        other.push(1);
        xattr::set(tree.at("a"), name, &other).unwrap();
        for detail in details(&tree, "a") {
            assert!(detail.starts_with(name) && detail.contains(" -> "), "{detail}");
        }
        xattr::remove(tree.at("a"), name).unwrap();
        for detail in details(&tree, "a") {
            assert!(detail.starts_with(name) && detail.ends_with(" is gone"), "{detail}");
        }
        xattr::set(tree.at("a"), name, value).unwrap();
        let said = tree.quick();
        assert_eq!(said.differences(), ["touched a"], "ctime is another");
        assert!(said.is_fine());
    }
    xattr::set(tree.at("d"), "user.folder", b"y").unwrap();
    xattr::set(tree.at("b"), "user.new", b"1").unwrap();
    assert_eq!(details(&tree, "d"), ["user.folder \"x\" -> \"y\""; 2]);
    assert_eq!(details(&tree, "b"), ["user.new \"1\" is new"; 2]);
    // An update records them, and is what a snapshot is.
    let said = tree.update();
    assert_eq!(said.differences(), ["changed b", "changed d", "touched a"]);
    assert_eq!(fs::read(tree.list()).unwrap(), list, "the list has only content");
    assert_ne!(index(&tree), facts);
    let facts = treewide_manifest::facts_of(&tree.manifest()).unwrap();
    assert_eq!(facts, tree.afresh(rules()).1.facts);
    assert!(tree.quick().is_fine());
}

/// A file system may keep ctime as it was: the key does not count for attributes.
#[test]
fn quick_sees_attributes_where_the_key_is_as_recorded() {
    let Some(tree) = tree() else { return };
    xattr::set(tree.at("a"), "user.x", b"1").unwrap();
    snapshot(&tree);
    let before = treewide_files::Stamp::at(&tree.at("a"), false).unwrap();
    xattr::set(tree.at("a"), "user.x", b"2").unwrap();
    let after = treewide_files::Stamp::at(&tree.at("a"), false).unwrap();
    let text = index(&tree);
    let ctime = |stamp: treewide_files::Stamp| format!("\"ctime\":{}", stamp.ctime.unwrap());
    let line = text.lines().find(|line| line.contains("\"path\":\"a\"")).unwrap();
    let forged = text.replace(line, &line.replace(&ctime(before), &ctime(after)));
    tree.forge_index(&forged);
    assert_eq!(details(&tree, "a"), ["user.x \"1\" -> \"2\""; 2]);
    assert_eq!(tree.update().differences(), ["changed a"]);
    assert!(tree.quick().is_fine());
}

#[cfg(target_os = "linux")]
#[test]
fn access_lists_are_attributes() {
    let Some(tree) = tree() else { return };
    let acl = "system.posix_acl_access";
    snapshot(&tree);
    if let Err(error) = xattr::set(tree.at("a"), acl, &ACCESS) {
        println!("SKIPPED: no access lists here: {error}");
        return;
    }
    for detail in details(&tree, "a") {
        assert!(detail.starts_with(acl) && detail.ends_with("(44 bytes) is new"), "{detail}");
    }
    tree.update();
    assert!(tree.quick().is_fine());
    // Another user has the access that user 77 had. Mode and size are as they were.
    let mut other = ACCESS;
    other[16] = 78;
    xattr::set(tree.at("a"), acl, &other).unwrap();
    for detail in details(&tree, "a") {
        assert!(detail.starts_with(acl) && detail.contains(" -> "), "{detail}");
    }
    xattr::set(tree.at("d"), "system.posix_acl_default", &ACCESS).unwrap();
    assert!(details(&tree, "d")[0].starts_with("system.posix_acl_default"));
}

/// Links and pipes have no `user.*`, and directories, links and pipes have no key.
#[cfg(target_os = "linux")]
#[test]
fn trusted_attributes_are_covered_where_they_are_seen() {
    let Some(tree) = tree() else { return };
    std::os::unix::fs::symlink("nowhere", tree.at("link")).unwrap();
    fifo(&tree.at("pipe"));
    let sets = |name: &str, value: &[u8]| xattr::set(tree.at(name), "trusted.x", value);
    if Xattrs::readable() != Xattrs::All || sets("link", b"1").is_err() {
        println!("SKIPPED: trusted.* is for the administrator, and not for all file systems");
        return;
    }
    for name in ["a", "d", "pipe"] {
        sets(name, b"1").unwrap();
    }
    snapshot(&tree);
    assert!(tree.quick().is_fine());
    for name in ["a", "d", "link", "pipe"] {
        sets(name, b"2").unwrap();
        assert_eq!(details(&tree, name), ["trusted.x \"1\" -> \"2\""; 2], "{name}");
    }
    assert_eq!(tree.verify().differences().len(), 4);
    // Made by someone who does not see them: the administrator compares the others.
    let rules = Rules { xattrs: Xattrs::WithoutTrusted, ..Rules::default() };
    xattr::set(tree.at("a"), "user.x", b"1").unwrap();
    tree.snapshot_with(Update::new().rules(rules), Box::new(AllIsOld));
    assert!(!index(&tree).contains("trusted.x") && index(&tree).contains("user.x"));
    sets("a", b"3").unwrap();
    assert!(tree.quick().is_fine());
    xattr::set(tree.at("a"), "user.x", b"2").unwrap();
    assert_eq!(details(&tree, "a"), ["user.x \"1\" -> \"2\""; 2]);
}

#[test]
fn rules_with_other_attributes_are_no_change() {
    let Some(tree) = tree() else { return };
    xattr::set(tree.at("a"), "user.x", b"1").unwrap();
    xattr::set(tree.at("d"), "user.x", b"1").unwrap();
    tree.snapshot();
    assert!(!index(&tree).contains("user.x"));
    xattr::set(tree.at("a"), "user.x", b"2").unwrap();
    assert_eq!(tree.quick().differences(), ["touched a"]);
    for rules in [rules(), Rules::default()] {
        let said = tree.update_with(Update::new().rules(rules.clone()), Box::new(AllIsOld));
        assert!(said.is_fine(), "{:?}", said.differences());
        assert_eq!(
            index(&tree).matches("user.x").count(),
            2 * usize::from(rules != Rules::default())
        );
        let facts = treewide_manifest::facts_of(&tree.manifest()).unwrap();
        assert_eq!(facts, tree.afresh(rules).1.facts);
        assert!(tree.verify().is_fine());
    }
}

#[test]
fn diff_compares_attributes_that_both_have() {
    let Some(tree) = tree() else { return };
    let diff = |old: &Path, new: &Path| {
        let open = |path| treewide_manifest::Manifest::open(path).unwrap();
        let mut details = Vec::new();
        let report =
            treewide_manifest::machine::diff(&open(old), &open(new), &Cancel::new(), &mut |it| {
                details.push(it.verdict.detail());
            });
        details.retain(|it| !it.is_empty());
        assert_eq!(report.unwrap().differs(), !details.is_empty());
        details
    };
    xattr::set(tree.at("d"), "user.x", b"1").unwrap();
    snapshot(&tree);
    let (old, without) = (tree.folder().join("old.b3"), tree.folder().join("without.b3"));
    copy_pair(&tree.list(), &old);
    xattr::set(tree.at("d"), "user.x", b"2").unwrap();
    tree.update();
    assert_eq!(diff(&old, &tree.list()), ["user.x \"1\" -> \"2\""]);
    assert_eq!(diff(&tree.list(), &old), ["user.x \"2\" -> \"1\""]);
    tree.snapshot();
    copy_pair(&tree.list(), &without);
    assert_eq!(diff(&old, &without), [""; 0]);
}

/// An edited attribute in an index has other facts.
#[test]
fn verify_notices_forged_attributes() {
    let Some(tree) = tree() else { return };
    xattr::set(tree.at("a"), "user.x", b"1").unwrap();
    xattr::set(tree.at("a"), "user.y", b"2").unwrap();
    snapshot(&tree);
    let text = index(&tree);
    for (from, to) in [
        ("\"value\":\"1\"", "\"value\":\"0\""),
        ("\"value\":\"1\"", "\"bytes\":1,\"digest\":\"00\""),
        ("\"value\":\"1\"", "\"bytes\":1,\"value\":\"1\""),
        ("user.x", "user.z"),
        ("user.y", "user.x"),
        (",\"xattrs\":[", ",\"attributes\":["),
    ] {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text);
        tree.forge_index(&edited);
        for said in [tree.verify(), tree.quick()] {
            assert!(!said.report.is_certain(), "{from} {to}");
        }
    }
}

/// The list that is left says nothing of attributes, so that none is called new.
#[test]
fn attributes_are_not_compared_where_the_index_is_damaged() {
    let Some(tree) = tree() else { return };
    xattr::set(tree.at("a"), "user.x", b"1").unwrap();
    snapshot(&tree);
    fs::write(index_path(&tree.list()), index(&tree).replacen("\"file\"", "\"file", 1)).unwrap();
    for said in [tree.verify(), tree.quick()] {
        assert!(!said.report.is_certain());
        assert_eq!(said.differences(), [""; 0]);
    }
}
