//! A hundred thousand of something: arguments, lines, files.

use crate::support::{Folder, TREEWIDE, find_program, hex, skip, sums};

const MANY: usize = 100_000;

#[test]
fn a_hundred_thousand_arguments_through_xargs() {
    if find_program("xargs").is_none() {
        return skip("xargs", "there is none");
    }
    let folder = Folder::with(&["a"]);
    let ended = folder.program("xargs").args([TREEWIDE, "sum"]).stdin("a\n".repeat(MANY)).run();
    ended.succeeds_with(sums(&["a"]).repeat(MANY));
}

#[test]
fn one_wrong_digest_among_a_hundred_thousand() {
    let folder = Folder::with(&["a", "b"]);
    let mut lines = vec![format!("{}  a", hex("a")); MANY];
    lines[77_777] = format!("{}  b", hex("a"));
    folder.write("list", lines.join("\n"));
    let ended = folder.treewide("check --quiet list").run();
    // A file counts once, whatever its lines are.
    ended.is(1, "b: FAILED\n", "treewide: 2 files checked: 1 OK, 1 FAILED\n");
}

#[test]
fn a_directory_of_ten_thousand_files() {
    let folder = Folder::new();
    for number in 0..10_000 {
        folder.write(format!("d/{:02}/{number:05}", number % 100), number.to_string());
    }
    let ended = folder.treewide("sum -r d").run();
    let names: Vec<&str> = ended.text().lines().map(|line| &line[66..]).collect();
    assert_eq!(names.len(), 10_000);
    assert!(names.is_sorted());
    folder.treewide("check --quiet").stdin(&ended.stdout).run().is(0, "", "");
}
