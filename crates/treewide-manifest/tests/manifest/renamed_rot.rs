//! Rot is reported, and the old digest kept, also where the file has another name by now.

use crate::common::{AllIsOld, Tree, copy_pair, set_time};
use std::fs;
use treewide_manifest::machine::Update;
use treewide_manifest::{Globs, index_path};

/// The list has the digest of the first content under this name.
#[track_caller]
fn keeps(tree: &Tree, name: &str, content: &str) {
    let line = format!("{}  {name}\n", treewide::hash(content.as_bytes()));
    let list = fs::read_to_string(tree.list()).unwrap();
    assert!(list.contains(&line), "the old digest of {name} is gone: {list}");
}

fn tree() -> Tree {
    let tree = Tree::new(&[("x/f", "content of f"), ("y/g", "other"), ("a", "another")]);
    tree.snapshot();
    tree
}

/// However a rotten file gets another name: all commands say the same, the list has its old digest there, and each run says so until it
/// is accepted.
#[test]
fn renamed_rot_is_suspect_until_it_is_accepted() {
    type Edit = fn(&Tree);
    let rename = |tree: &Tree, to: &str| fs::rename(tree.at("x/f"), tree.at(to)).unwrap();
    let edits: [(Edit, &str, &[&str], &[&str]); 8] = [
        // Before and after its old name in the order, and in the place of another file.
        (|_| (), "y/f", &["removed x/f", "suspect y/f from x/f"], &["y/f"]),
        (|_| (), "b", &["removed x/f", "suspect b from x/f"], &["b"]),
        (|_| (), "y/g", &["removed x/f", "suspect y/g from x/f"], &["y/g"]),
        (|it| it.write("x/f", "new"), "z", &["changed x/f", "suspect z from x/f"], &["z"]),
        (
            |it| it.write("x/f", "content of f"),
            "y/f",
            &["suspect y/f from x/f", "touched x/f"],
            &["y/f"],
        ),
        (|it| cut_mtime(it, "z"), "z", &["removed x/f", "suspect z from x/f"], &["z"]),
        // Second names, of another file as well.
        (
            |it| fs::hard_link(it.at("z"), it.at("x/f")).unwrap(),
            "z",
            &["suspect x/f", "suspect z from x/f"],
            &["x/f", "z"],
        ),
        (
            |it| fs::hard_link(it.at("a"), it.at("b")).unwrap(),
            "z",
            &["added b", "removed x/f", "suspect z from x/f", "touched a"],
            &["z"],
        ),
    ];
    for (edit, to, expected, kept) in edits {
        let tree = tree();
        let monday = tree.folder().join("monday.b3");
        copy_pair(&tree.list(), &monday);
        tree.flip("x/f");
        rename(&tree, to);
        edit(&tree);
        for said in [tree.verify(), tree.quick()] {
            assert_eq!(said.differences(), expected);
        }
        let said = tree.update();
        assert_eq!(
            (said.differences(), said.report.files_kept),
            (owned(expected), kept.len() as u64)
        );
        for name in kept {
            keeps(&tree, name, "content of f");
        }
        let again: Vec<_> = kept.iter().map(|it| format!("suspect {it}")).collect();
        for said in [tree.verify(), tree.update(), tree.update()] {
            assert_eq!(said.differences(), again);
        }
        assert_eq!(tree.accept().report.files_kept, 0);
        assert!(tree.verify().is_fine());
        let old = treewide_manifest::Manifest::open(&monday).unwrap();
        let mut told = owned(expected);
        told.retain(|it| !it.starts_with("touched"));
        assert_eq!(crate::common::diff_of(&old, &tree.manifest()).differences(), told);
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn renamed_rot_is_recorded_where_it_is_accepted() {
    for is_known in [false, true] {
        let tree = tree();
        tree.flip("x/f");
        if is_known {
            assert_eq!(tree.update().differences(), ["suspect x/f"]);
        }
        fs::rename(tree.at("x/f"), tree.at("y/f")).unwrap();
        let accepts = Update::new().accept_rot(Globs::new(&["y/f"]).unwrap());
        let said = tree.update_with(accepts, Box::new(AllIsOld));
        assert_eq!(said.differences(), ["accepted y/f", "removed x/f"]);
        assert!(tree.verify().is_fine());
        // Also under later names.
        for (from, to) in [("y/f", "z"), ("z", "x/f")] {
            fs::rename(tree.at(from), tree.at(to)).unwrap();
            for said in [tree.verify(), tree.update()] {
                assert_eq!(said.differences(), [format!("moved {to} from {from}")]);
            }
        }
    }
}

#[test]
fn file_that_was_renamed_and_edited_is_new() {
    let tree = tree();
    fs::rename(tree.at("x/f"), tree.at("y/f")).unwrap();
    tree.age();
    tree.write("y/f", "content of F");
    assert_eq!(tree.update().differences(), ["added y/f", "removed x/f"]);
    assert!(tree.verify().is_fine());
}

/// A copy has a ctime of its own, which excuses no other size.
#[test]
fn copy_with_other_letters_is_suspect_at_any_size() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    for content in ["cONTENT", "cont", ""] {
        let tree = Tree::new(&[(composed, "content"), ("k", "kk")]);
        tree.snapshot();
        let mtime = fs::metadata(tree.at(composed)).unwrap().modified().unwrap();
        // The next file has another inode.
        fs::hard_link(tree.at(composed), tree.folder().join("aside")).unwrap();
        fs::remove_file(tree.at(composed)).unwrap();
        tree.write(decomposed, content);
        set_time(&tree.at(decomposed), mtime);
        let expected = format!("suspect {decomposed} from {composed}");
        assert!(tree.update().differences().contains(&expected), "{content:?}");
        keeps(&tree, decomposed, "content");
    }
}

/// Accepted content is in doubt in a new copy, whatever its name and its times.
#[test]
fn copy_of_accepted_content_is_suspect() {
    let tree = Tree::new(&[("a/f", "another"), ("b/f", "1"), ("x/f", "content of f")]);
    tree.snapshot();
    tree.flip("x/f");
    tree.update();
    let copy = |to: &str| {
        let mtime = fs::metadata(tree.at("x/f")).unwrap().modified().unwrap();
        tree.write(to, fs::read_to_string(tree.at("x/f")).unwrap());
        set_time(&tree.at(to), mtime);
    };
    copy("a/f");
    let accepts = Update::new().accept_rot(Globs::new(&["a/f"]).unwrap());
    tree.update_with(accepts, Box::new(AllIsOld));
    copy("b/f");
    assert_eq!(tree.update().differences(), ["suspect b/f from x/f", "suspect x/f"]);
}

/// Times of other files in a damaged index accuse no file, so that each keeps its own digest.
#[test]
fn update_of_a_damaged_index_takes_no_digest_of_another_file() {
    let tree = tree();
    tree.flip("x/f");
    tree.update();
    fs::write(tree.at("a"), fs::read(tree.at("x/f")).unwrap()).unwrap();
    let index = fs::read_to_string(index_path(&tree.list())).unwrap();
    fs::write(index_path(&tree.list()), index.replacen(':', ": ", 1)).unwrap();
    let accepts = Update::new().accept_damage(true);
    let said = tree.update_with(accepts, Box::new(AllIsOld));
    assert!(said.report.damage.is_some());
    for (name, content) in [("x/f", "content of f"), ("a", "another")] {
        keeps(&tree, name, content);
    }
}

/// As `touch -d @SECONDS` and programs do that put times back as numbers of seconds.
fn cut_mtime(tree: &Tree, name: &str) {
    let time = fs::metadata(tree.at(name)).unwrap().modified().unwrap();
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
    let nanos = std::time::Duration::from_nanos(since.subsec_nanos().into());
    set_time(&tree.at(name), time - nanos);
}

/// A restored copy with a wrong byte has another inode than was recorded.
#[test]
fn doubtful_file_is_known_under_the_next_name_too() {
    let tree = tree();
    let restores = |content: &str| {
        let time = fs::metadata(tree.at("x/f")).unwrap().modified().unwrap();
        tree.write("new", content);
        set_time(&tree.at("new"), time);
        fs::rename(tree.at("new"), tree.at("x/f")).unwrap();
    };
    restores("content of g");
    for _ in 0..2 {
        let said = tree.update();
        assert_eq!((said.differences(), said.report.files_kept), (vec!["suspect x/f".into()], 1));
    }
    fs::rename(tree.at("x/f"), tree.at("z")).unwrap();
    assert_eq!(tree.verify().differences(), ["removed x/f", "suspect z from x/f"]);
    assert_eq!(tree.update().report.files_kept, 1);
    keeps(&tree, "z", "content of f");
    fs::rename(tree.at("z"), tree.at("x/f")).unwrap();
    assert_eq!(tree.update().report.files_kept, 1);
    // As it was again.
    restores("content of f");
    assert!(tree.update().is_fine());
    assert!(tree.verify().is_fine());
}

/// It has no times, so that no run says how the content differs.
#[test]
fn doubtful_file_of_a_plain_list_is_known_under_another_name() {
    let tree = tree();
    fs::remove_file(index_path(&tree.list())).unwrap();
    tree.flip("x/f");
    for _ in 0..2 {
        let said = tree.update();
        assert_eq!(said.report.files_kept, 1);
        assert!(said.differences().contains(&"changed x/f".into()), "{:?}", said.differences());
    }
    fs::rename(tree.at("x/f"), tree.at("z")).unwrap();
    for said in [tree.verify(), tree.update()] {
        assert_eq!(said.differences(), ["removed x/f", "suspect z from x/f"]);
    }
    keeps(&tree, "z", "content of f");
    assert_eq!(tree.verify().differences(), ["changed z"]);
}
