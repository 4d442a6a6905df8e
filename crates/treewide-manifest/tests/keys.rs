//! Keys from the system itself, on Unix and on Windows: only what changed is read, and rot is distinguished from edits.

mod common;

use common::{AllIsOld, Tree};
use std::fs;
use treewide_files::Stamp;
use treewide_manifest::index_path;
use treewide_manifest::machine::{Clock, Update};

#[test]
fn files_with_keys_are_not_read_again() {
    let tree = Tree::new(&[("a", "content of a"), ("d/b", "content of b")]);
    tree.snapshot();
    let said = tree.update();
    assert_eq!((said.report.files_read, said.report.files_unread), (0, 2));
    // Of the same length, with mtime put back.
    tree.flip("a");
    assert_eq!(tree.quick().differences(), ["suspect a"]);
    let said = tree.update();
    assert_eq!((said.differences(), said.report.files_read), (vec!["suspect a".to_owned()], 1));
    tree.write("d/b", "longer content of b");
    assert_eq!(tree.accept().differences(), ["accepted a", "changed d/b"]);
    assert!(tree.verify().is_fine());
}

#[test]
fn file_that_changed_below_its_times_is_rot() {
    let tree = Tree::new(&[("a", "content of a")]);
    tree.snapshot();
    let before = Stamp::at(&tree.at("a"), true).unwrap().ctime.unwrap();
    tree.age();
    tree.flip("a");
    let after = Stamp::at(&tree.at("a"), true).unwrap().ctime.unwrap();
    assert!(after > before);
    // As if nothing had moved.
    let index = fs::read_to_string(index_path(&tree.list())).unwrap();
    let ctime = |time: i64| format!("\"ctime\":{time}");
    let edited = index.replace(&ctime(before), &ctime(after));
    assert_ne!(index, edited);
    tree.forge_index(&edited);
    assert!(tree.quick().is_fine(), "it is not read");
    assert_eq!(tree.verify().differences(), ["rot a"]);
    let said = tree.update_with(Update::new().full(true), Box::new(AllIsOld));
    assert_eq!((said.differences(), said.report.files_kept), (vec!["rot a".to_owned()], 1));
}

#[test]
fn clock_gives_keys_to_files_that_are_old_enough() {
    let tree = Tree::new(&[("a", "content of a")]);
    tree.age();
    tree.snapshot_with(Update::new(), Box::new(Clock::new()));
    let said = tree.update_with(Update::new(), Box::new(Clock::new()));
    // What is new has none.
    tree.write("b", "content of b");
    tree.update_with(Update::new(), Box::new(Clock::new()));
    let again = tree.update_with(Update::new(), Box::new(Clock::new()));
    assert_eq!((said.report.files_read, again.report.files_read), (0, 1));
}
