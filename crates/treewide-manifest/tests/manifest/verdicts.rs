//! One verdict a path, and the right one.

use crate::common::Tree;
use std::fs;
use treewide_manifest::Change;
#[cfg(unix)]
use treewide_manifest::Class;
use treewide_manifest::Verdict;

fn tree() -> Tree {
    Tree::new(&[("a", "1"), ("b/c", "22"), ("b/d", "333"), ("b.x", "4444"), ("e/f/g", "")])
}

#[test]
fn verify_of_a_snapshot_is_fine() {
    let tree = tree();
    let totals = tree.snapshot();
    assert_eq!((totals.files, totals.bytes), (5, 10));
    let said = tree.verify();
    assert!(said.is_fine());
    assert_eq!(said.differences(), [""; 0]);
    // With three directories.
    assert_eq!((said.report.entries(), said.report.files_read, said.report.bytes_read), (8, 5, 10));
    assert_eq!(said.report.files_unread, 0);
    let said = tree.quick();
    assert!(said.is_fine());
    assert_eq!(
        (said.report.files_read, said.report.files_unread, said.report.bytes_unread),
        (0, 5, 10)
    );
}

#[test]
fn list_is_what_sum_writes() {
    let tree = tree();
    let totals = tree.snapshot();
    let list = fs::read(tree.list()).unwrap();
    let line =
        |content: &str, name: &str| format!("{}  {name}\n", treewide::hash(content.as_bytes()));
    let expected = [
        line("1", "a"),
        line("4444", "b.x"),
        line("22", "b/c"),
        line("333", "b/d"),
        line("", "e/f/g"),
    ];
    assert_eq!(String::from_utf8(list.clone()).unwrap(), expected.concat());
    assert_eq!(treewide::hash(&list), totals.list);
    // Again: the same bytes.
    assert_eq!(tree.afresh(Default::default()), (list, totals));
}

#[test]
fn verify_tells_changed_added_removed_and_moved() {
    let tree = tree();
    tree.snapshot();
    tree.write("a", "x");
    fs::remove_file(tree.at("b/c")).unwrap();
    fs::rename(tree.at("b/d"), tree.at("e/d")).unwrap();
    tree.write("new", "new");
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert_eq!(
            said.differences(),
            ["added new", "changed a", "moved e/d from b/d", "removed b/c"]
        );
        assert!(said.report.differs() && said.report.is_certain());
    }
    assert!(tree.verify().is_fine(), "after the update");
}

#[cfg(unix)]
#[test]
fn put_back_times_are_told() {
    let tree = tree();
    tree.snapshot();
    tree.flip("b/d");
    for said in [tree.verify(), tree.quick()] {
        let expected = Verdict::Suspect { moved: vec!["ctime"], from: None };
        assert_eq!(*said.verdict("b/d"), expected);
    }
}

/// `chmod` and hard links move ctime, and nothing else.
#[cfg(unix)]
#[test]
fn touched_files_are_read_once_and_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let tree = tree();
    tree.snapshot();
    tree.age();
    for name in ["a", "b/c"] {
        fs::set_permissions(tree.at(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::hard_link(tree.at("b/d"), tree.folder().join("link")).unwrap();
    let said = tree.quick();
    assert!(said.is_fine());
    assert_eq!(said.report.count(Class::Touched), 3);
    assert_eq!(tree.update().report.files_read, 3);
    assert_eq!(tree.update().report.files_read, 0);
}

/// A directory in place of a file, and the other way round.
#[test]
fn replaced_types_are_one_verdict() {
    let tree = tree();
    tree.snapshot();
    fs::remove_file(tree.at("a")).unwrap();
    tree.write("a/in", "1");
    fs::remove_dir_all(tree.at("e")).unwrap();
    tree.write("e", "");
    let said = tree.verify();
    assert_eq!(
        *said.verdict("a"),
        Verdict::ReplacedType { was: treewide_manifest::record::Type::File }
    );
    assert_eq!(
        *said.verdict("e"),
        Verdict::ReplacedType { was: treewide_manifest::record::Type::Directory }
    );
    let updated = tree.update();
    assert_eq!(updated.differences().len(), said.differences().len());
    assert!(tree.verify().is_fine());
    assert_eq!(fs::read(tree.list()).unwrap(), tree.afresh(Default::default()).0);
    // And back.
    fs::remove_dir_all(tree.at("a")).unwrap();
    tree.write("a", "1");
    assert_eq!(
        *tree.quick().verdict("a"),
        Verdict::ReplacedType { was: treewide_manifest::record::Type::Directory }
    );
}

#[cfg(unix)]
#[test]
fn links_and_special_files_are_compared() {
    use std::os::unix::fs::symlink;
    let tree = tree();
    symlink("a", tree.at("link")).unwrap();
    symlink("/", tree.at("root")).unwrap();
    symlink(".", tree.at("b/loop")).unwrap();
    crate::common::fifo(&tree.at("pipe"));
    tree.snapshot();
    assert!(tree.verify().is_fine());
    fs::remove_file(tree.at("link")).unwrap();
    symlink("b.x", tree.at("link")).unwrap();
    fs::remove_file(tree.at("root")).unwrap();
    tree.write("root", "now a file");
    fs::remove_file(tree.at("pipe")).unwrap();
    for said in [tree.verify(), tree.update()] {
        assert_eq!(said.differences(), ["changed link", "removed pipe", "replaced-type root"]);
    }
    assert_eq!(fs::read(tree.list()).unwrap(), tree.afresh(Default::default()).0);
}

#[cfg(unix)]
#[test]
fn modes_are_compared_where_they_are_recorded() {
    use std::os::unix::fs::PermissionsExt;
    use treewide_manifest::Rules;
    use treewide_manifest::machine::Update;
    let tree = tree();
    let rules = Rules { modes: true, ..Rules::default() };
    // Setuid is lost.
    fs::set_permissions(tree.at("a"), fs::Permissions::from_mode(0o4755)).unwrap();
    tree.snapshot_with(Update::new().rules(rules), Box::new(crate::common::AllIsOld));
    assert!(tree.verify().is_fine());
    fs::set_permissions(tree.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(tree.at("b"), fs::Permissions::from_mode(0o700)).unwrap();
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert_eq!(said.differences(), ["changed a", "changed b"]);
        assert_eq!(*said.verdict("a"), Verdict::Changed(Change::Mode(0o4755, 0o755)));
        assert_eq!(said.detail("a"), "mode 4755 -> 0755");
    }
    assert!(tree.verify().is_fine());
}

#[test]
fn plain_list_is_enough_for_content() {
    let tree = tree();
    tree.snapshot();
    fs::remove_file(treewide_manifest::index_path(&tree.list())).unwrap();
    let said = tree.verify();
    assert!(said.is_fine());
    assert_eq!(said.report.entries(), 5);
    tree.write("new", "");
    fs::rename(tree.at("a"), tree.at("z")).unwrap();
    tree.write("b/c", "x");
    let expected = ["added new", "changed b/c", "moved z from a"];
    assert_eq!(tree.verify().differences(), expected);
    let said = tree.quick();
    assert_eq!(said.differences(), expected);
    assert_eq!(said.report.files_unread, 0, "there are no keys");
    // An update adds the index. No times are recorded, so that the changed file could be rotten: its digest stays.
    for _ in 0..2 {
        let said = tree.update();
        assert!(said.differences().contains(&"changed b/c".to_owned()));
        assert_eq!(*said.verdict("b/c"), Verdict::Changed(Change::Content { untimed: true }));
        assert_eq!(said.report.files_kept, 1);
        assert!(tree.manifest().has_index());
        assert_eq!(tree.verify().differences(), ["changed b/c"]);
    }
    assert_eq!(tree.accept().report.files_kept, 0);
    assert!(tree.verify().is_fine());
}
