//! `--recursive`: which files, in which order.

use crate::support::{Ended, Folder, TREEWIDE, find_program, hex, is_root, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

/// The names in a list, in its order.
fn names(ended: &Ended) -> Vec<&str> {
    ended.text().lines().map(|line| line.split_once("  ").unwrap().1).collect()
}

#[test]
fn the_order_is_that_of_sort() {
    let all = [
        "a.txt",
        "a/b",
        "a/c/d",
        "a/c.d",
        "a/c-d",
        "a0",
        "B",
        "b/.hidden",
        ".git/config",
        "z z/y",
        "ä",
        "a/c/e/f",
        "aa",
        "~",
    ];
    let folder = Folder::with(&all);
    let ended = folder.treewide("sum -r .").run();
    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
    let mut sorted: Vec<_> = all.iter().map(|name| format!("./{name}")).collect();
    sorted.sort();
    assert_eq!(names(&ended), sorted);
    for line in ended.text().lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(digest, hex(&name[2..]));
    }
    // Without FILE it is the current directory.
    assert_eq!(folder.treewide("sum --recursive").run().stdout, ended.stdout);
    // A list of a tree can be checked like any other.
    folder.treewide("check").stdin(&ended.stdout).run().fails(0, &["14 files checked: 14 OK"]);
}

#[test]
fn operands_keep_their_order() {
    let folder = Folder::with(&["d/y", "d/x", "c/z", "f"]);
    let ended = folder.treewide("sum -r f d/ c f").run();
    assert_eq!(names(&ended), ["f", "d/x", "d/y", "c/z", "f"]);
    let ended = folder.treewide("sum -r - c").stdin("text").run();
    assert_eq!(names(&ended), ["-", "c/z"]);
    let ended = folder.treewide("sum -r f missing c").run();
    assert_eq!(names(&ended), ["f", "c/z"]);
    ended.fails(1, &["treewide: missing: cannot open: No such file or directory (os error 2)\n"]);
}

#[test]
fn a_directory_needs_the_flag() {
    let folder = Folder::with(&["d/x", "f"]);
    let ended = folder.treewide("sum d f").run();
    assert_eq!(names(&ended), ["f"]);
    ended.fails(
        1,
        &["treewide: d: cannot read: Is a directory (os error 21); -r hashes the files in it\n"],
    );
    let script = format!("'{TREEWIDE}' sum < d");
    let ended = folder.program("sh").arg("-c").arg(script).run();
    ended
        .fails(1, &["-: cannot read: Is a directory (os error 21); to hash the files in it, name it with -r\n"]);
}

#[test]
fn hidden_files_are_hashed_unless_told_otherwise() {
    let folder = Folder::with(&["d/.h", "d/.g/x", "d/v/.w", "d/v/x", ".d/x"]);
    let all = ["d/.g/x", "d/.h", "d/v/.w", "d/v/x"];
    assert_eq!(names(&folder.treewide("sum -r d").run()), all);
    assert_eq!(names(&folder.treewide("sum -r --no-hidden d").run()), ["d/v/x"]);
    // What is named is meant.
    assert_eq!(names(&folder.treewide("sum -r --no-hidden .d").run()), [".d/x"]);
    folder.treewide("sum --no-hidden d").run().fails(2, &["--recursive"]);
}

#[test]
fn links_are_followed_on_demand() {
    let folder = Folder::with(&["d/f", "e/g", "h"]);
    symlink("../h", folder.join("d/to-file")).unwrap();
    symlink("../e", folder.join("d/to-dir")).unwrap();
    let plain = folder.treewide("sum -r d").run();
    assert_eq!(names(&plain), ["d/f"]);
    plain.fails(0, &["treewide: 2 symbolic links not followed; --follow follows them\n"]);
    let followed = folder.treewide("sum -r --follow d").run();
    assert_eq!(names(&followed), ["d/f", "d/to-dir/g", "d/to-file"]);
    assert_eq!((followed.code, &followed.stderr[..]), (Some(0), ""));
    // A link that is named is followed in any case.
    assert_eq!(
        names(&folder.treewide("sum -r d/to-dir d/to-file").run()),
        ["d/to-dir/g", "d/to-file"]
    );
    // The order counts a link to a directory as a directory.
    folder.write("d/to-dir.x", "");
    let followed = folder.treewide("sum -r --follow d").run();
    assert_eq!(names(&followed), ["d/f", "d/to-dir.x", "d/to-dir/g", "d/to-file"]);
}

#[test]
fn loops_and_dead_links_are_reported() {
    let folder = Folder::with(&["d/e/f"]);
    symlink("..", folder.join("d/e/up")).unwrap();
    symlink("nowhere", folder.join("d/dead")).unwrap();
    let ended = folder.treewide("sum -r --follow d").run();
    assert_eq!(names(&ended), ["d/e/f"]);
    ended.fails(
        1,
        &[
            "treewide: d/e/up: symbolic link loop: it leads back to d\n",
            "treewide: d/dead: cannot read: No such file or directory (os error 2)\n",
        ],
    );
    folder.treewide("sum -r d").run().fails(0, &["2 symbolic links not followed"]);
}

#[test]
fn special_files_are_skipped_and_named() {
    let folder = Folder::with(&["d/f"]);
    folder.fifo("d/pipe");
    let _socket = UnixListener::bind(folder.join("d/socket")).unwrap();
    let ended = folder.treewide("sum -r d").run();
    assert_eq!(names(&ended), ["d/f"]);
    ended.is(
        0,
        ended.text(),
        "treewide: d/pipe: skipped: a named pipe\ntreewide: d/socket: skipped: a socket\n",
    );
}

#[test]
fn devices_are_skipped_and_named() {
    let folder = Folder::with(&["d/f"]);
    let node = folder.program("mknod").args(["d/null", "c", "1", "3"]).run();
    if node.code != Some(0) {
        return skip("a device in a tree", node.stderr);
    }
    let ended = folder.treewide("sum -r d").run();
    assert_eq!(names(&ended), ["d/f"]);
    ended.fails(0, &["treewide: d/null: skipped: a device\n"]);
}

#[test]
fn a_closed_directory_leaves_the_others_done() {
    let folder = Folder::with(&["d/a/x", "d/b/x", "d/c"]);
    folder.add_treewide();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("d/a"), fs::Permissions::from_mode(0o000)).unwrap();
    let program = if !is_root() {
        folder.program(folder.join("treewide"))
    } else if let Some(setpriv) = find_program("setpriv") {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "./treewide"];
        folder.program(setpriv).args(nobody)
    } else {
        return skip(
            "a directory without permission",
            "root may read all, and there is no setpriv",
        );
    };
    let ended = program.args(["sum", "-r", "d"]).run();
    fs::set_permissions(folder.join("d/a"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(names(&ended), ["d/b/x", "d/c"]);
    ended.fails(1, &["treewide: d/a: cannot read: Permission denied (os error 13)\n"]);
}

#[test]
fn the_output_is_not_part_of_the_tree() {
    let folder = Folder::with(&["f"]);
    for first in [true, false] {
        let ended = folder.treewide("sum -r . -o list").run();
        match first {
            true => ended.is(0, "", ""),
            false => {
                ended.fails(2, &["list: is a file in ., which is an input"]);
            }
        }
        assert_eq!(folder.read("list"), format!("{}  ./f\n", hex("f")));
    }
    // Standard output, redirected into the tree, is found out too.
    let ended = folder.program("sh").arg("-c").arg(format!("'{TREEWIDE}' sum -r . > new")).run();
    ended.is(0, "", "treewide: ./new: skipped: this is where the output goes\n");
    assert_eq!(folder.read("new").lines().count(), 2);
}
