//! Keys from the system itself, on Unix and on Windows: only what changed is read, and rot is distinguished from edits.

use crate::common::{AllIsOld, Tree, clock};
use std::fs;
use std::path::Path;
use treewide_files::Stamp;
use treewide_manifest::index_path;
use treewide_manifest::machine::{Clock, Update};
use treewide_manifest::trust::{Moment, Moments};

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
    assert_eq!(said.report.files_read, 0);
}

/// A file system whose clock did not move since the last sync began: every time is too new.
struct Frozen;

impl Moments for Frozen {
    fn moment(&mut self, _: u64, _: &Path) -> Moment {
        Moment { synced: Some(0), slack: 0, keeps_inodes: true, keeps_device: true }
    }
}

/// A file that is too new has no key, so that a write in the same tick is seen.
#[test]
fn update_always_reads_racy_files() {
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    tree.snapshot_with(Update::new(), Box::new(Frozen));
    let said = tree.quick();
    assert!(said.is_fine());
    assert_eq!((said.report.files_read, said.report.files_unread), (2, 0));
    let said = tree.update_with(Update::new(), Box::new(Frozen));
    assert_eq!(said.report.files_read, 2);
    // With the system's own clock, which has moved on.
    tree.age();
    tree.update_with(Update::new(), clock());
    let fine = tree.quick();
    assert!(fine.is_fine() && fine.report.files_unread == 2);
    tree.write("a", "x");
    assert_eq!(tree.quick().differences(), ["changed a"]);
}
