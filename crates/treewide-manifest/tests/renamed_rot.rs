//! Rot is reported, and the old digest kept, also where the file has another name by now.

mod common;

use common::{AllIsOld, Tree};
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

#[test]
fn rotten_file_that_was_renamed_is_suspect() {
    // Both before and after its old name in the order.
    for to in ["y/f", "b"] {
        let tree = tree();
        tree.flip("x/f");
        fs::rename(tree.at("x/f"), tree.at(to)).unwrap();
        let expected = ["removed x/f".to_owned(), format!("suspect {to} from x/f")];
        assert_eq!(tree.verify().differences(), expected);
        assert_eq!(tree.quick().differences(), expected);
        let said = tree.update();
        assert_eq!((said.differences(), said.report.files_kept), (expected.to_vec(), 1));
        keeps(&tree, to, "content of f");
        // Each time, until it is accepted.
        let again = [format!("suspect {to}")];
        for said in [tree.verify(), tree.update(), tree.update()] {
            assert_eq!(said.differences(), again);
        }
        assert_eq!(tree.accept().report.files_kept, 0);
        assert!(tree.verify().is_fine());
    }
}

#[test]
fn rotten_file_that_replaced_another_is_suspect() {
    let tree = tree();
    tree.flip("x/f");
    fs::rename(tree.at("x/f"), tree.at("y/g")).unwrap();
    for said in [tree.verify(), tree.quick()] {
        assert_eq!(said.differences(), ["removed x/f", "suspect y/g from x/f"]);
    }
    let said = tree.update();
    assert_eq!(said.differences(), ["removed x/f", "suspect y/g from x/f"]);
    assert_eq!(said.report.files_kept, 1);
    keeps(&tree, "y/g", "content of f");
}

#[test]
fn second_name_of_a_rotten_file_has_the_old_digest() {
    let tree = tree();
    tree.flip("x/f");
    fs::hard_link(tree.at("x/f"), tree.at("z")).unwrap();
    // A new name of a file that is as recorded.
    fs::hard_link(tree.at("a"), tree.at("b")).unwrap();
    let expected = ["added b", "suspect x/f", "suspect z from x/f", "touched a"];
    for said in [tree.verify(), tree.quick()] {
        assert_eq!(said.differences(), expected);
    }
    let said = tree.update();
    assert_eq!(said.differences(), expected);
    assert_eq!(said.report.files_kept, 2);
    for name in ["x/f", "z"] {
        keeps(&tree, name, "content of f");
    }
}

#[test]
fn rotten_file_whose_name_another_file_has_is_suspect() {
    let tree = tree();
    tree.flip("x/f");
    fs::rename(tree.at("x/f"), tree.at("z")).unwrap();
    tree.write("x/f", "a new one");
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert_eq!(said.differences(), ["changed x/f", "suspect z from x/f"]);
    }
    keeps(&tree, "z", "content of f");
}

#[test]
fn renamed_rot_is_recorded_where_it_is_accepted() {
    let tree = tree();
    tree.flip("x/f");
    fs::rename(tree.at("x/f"), tree.at("y/f")).unwrap();
    let accepts = Update::new().accept_rot(Globs::new(&["y/f"]).unwrap());
    let said = tree.update_with(accepts, Box::new(AllIsOld));
    assert_eq!(said.differences(), ["accepted y/f", "removed x/f"]);
    assert!(tree.verify().is_fine());
}

#[test]
fn diff_tells_renamed_rot_as_verify_does() {
    type Edit = fn(&Tree);
    let edits: [(Edit, &[&str]); 4] = [
        (|_| (), &["removed x/f", "suspect y/f from x/f"]),
        (|tree| tree.write("x/f", "a new one"), &["changed x/f", "suspect y/f from x/f"]),
        (|tree| tree.write("x/f", "content of f"), &["suspect y/f from x/f", "touched x/f"]),
        (
            |tree| fs::rename(tree.at("y/f"), tree.at("y/g")).unwrap(),
            &["removed x/f", "suspect y/g from x/f"],
        ),
    ];
    for (edit, expected) in edits {
        let tree = tree();
        let monday = tree.folder().join("monday.b3");
        for end in ["", ".tw"] {
            let [from, to] =
                [tree.list(), monday.clone()].map(|it| format!("{}{end}", it.display()));
            fs::copy(from, to).unwrap();
        }
        tree.flip("x/f");
        fs::rename(tree.at("x/f"), tree.at("y/f")).unwrap();
        edit(&tree);
        assert_eq!(tree.verify().differences(), expected);
        tree.snapshot();
        let old = treewide_manifest::Manifest::open(&monday).unwrap();
        let said = common::diff_of(&old, &tree.manifest());
        let told = expected.iter().filter(|it| !it.starts_with("touched"));
        assert_eq!(said.differences(), told.copied().collect::<Vec<_>>());
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

/// As `touch -d @SECONDS` and programs do that put times back as numbers of seconds.
fn cut_mtime(tree: &Tree, name: &str) {
    let file = fs::File::options().write(true).open(tree.at(name)).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
    file.set_modified(time - std::time::Duration::from_nanos(since.subsec_nanos().into())).unwrap();
}

#[test]
fn renamed_rot_is_suspect_also_where_its_mtime_was_cut() {
    let tree = tree();
    tree.flip("x/f");
    fs::rename(tree.at("x/f"), tree.at("z")).unwrap();
    cut_mtime(&tree, "z");
    for said in [tree.verify(), tree.quick(), tree.update()] {
        assert_eq!(said.differences(), ["removed x/f", "suspect z from x/f"]);
    }
    keeps(&tree, "z", "content of f");
    // A second name.
    fs::hard_link(tree.at("z"), tree.at("z2")).unwrap();
    let said = tree.update();
    assert_eq!((said.differences().len(), said.report.files_kept), (2, 2));
    keeps(&tree, "z2", "content of f");
}

/// A restored copy with a wrong byte has another inode than was recorded.
#[test]
fn doubtful_file_is_known_under_the_next_name_too() {
    let tree = tree();
    let restores = |content: &str| {
        let time = fs::metadata(tree.at("x/f")).unwrap().modified().unwrap();
        tree.write("new", content);
        let file = fs::File::options().write(true).open(tree.at("new")).unwrap();
        file.set_modified(time).unwrap();
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
