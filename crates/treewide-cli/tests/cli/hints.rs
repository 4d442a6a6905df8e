//! A check by which nothing is as listed says what it may be.

use crate::support::{Folder, TREEWIDE, sums};

const KEY: [u8; 32] = [7; 32];

/// The last line on standard error.
#[track_caller]
fn hint(folder: &Folder, args: &str, stdin: &[u8]) -> String {
    let ended = folder.treewide(args).stdin(stdin).run();
    assert!(matches!(ended.code, Some(1 | 3)), "{ended:?}");
    ended.stderr.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn check_of_a_list_of_another_kind_says_so() {
    let folder = Folder::with(&["a", "b", "c"]);
    let of_both = "treewide: no file has the listed digest as BLAKE3 or as SHA-256; if no one changed them, the list may \
                   have been made ";
    let of_one = of_both.replace(" or as SHA-256", "");
    let other = ", or by another algorithm";
    let advice = "; --algorithm says which (sha3-256, blake2s-256, ..)";
    let keyed = folder.treewide("sum --keyed a b c").stdin(KEY).run();
    folder.write("keyed", &keyed.stdout);
    let line = hint(&folder, "check keyed", b"");
    assert_eq!(line, format!("{of_both}with --keyed or --derive-key{other}{advice}"));
    folder.write("plain", sums(&["a", "b", "c"]));
    let line = hint(&folder, "check --keyed plain", &KEY);
    assert_eq!(line, format!("{of_one}with another key, or without --keyed{other}"));
    let line = hint(&folder, "check --derive-key x plain", b"");
    assert_eq!(line, format!("{of_one}with another context, or without --derive-key{other}"));
    // Other content.
    let sha256 = format!("{}  a\n{}  b\n", "1".repeat(64), "2".repeat(64));
    folder.write("SHA256SUMS", &sha256);
    for more in ["", "--quiet ", "--json "] {
        let line = hint(&folder, &format!("check {more}SHA256SUMS"), b"");
        assert!(line.contains("as SHA-256; "), "{more}: {line}");
        assert!(line.ends_with("which its name does not say; --algorithm says which"), "{line}");
    }
}

#[test]
fn check_in_another_folder_says_where_the_files_are() {
    let folder = Folder::new();
    folder.write("data/a", "a");
    folder.write("data/b", "b");
    folder.write("data/SUMS", sums(&["a", "b"]));
    folder.write("SUMS", sums(&["a", "b"]));
    let here = "treewide: None of the listed files is here. ";
    let there = format!("{here}But data/a is: run this in the directory of the list.");
    assert_eq!(hint(&folder, "check data/SUMS", b""), there);
    assert_eq!(hint(&folder, "check --ignore-missing data/SUMS", b""), there);
    assert_eq!(
        hint(&folder, "check SUMS", b""),
        format!("{here}Run this in the directory where the list was made.")
    );
}

#[test]
fn check_of_a_manifest_or_of_tensors_names_the_command() {
    let folder = Folder::with(&["my photos/a", "my photos/b"]);
    folder.treewide("snapshot").arg("my photos").run().fails(0, &[]);
    let ended = folder.treewide("check").arg("my photos.b3").run();
    let line = "treewide: None of the listed files is here. my photos.b3 is a manifest: treewide verify 'my photos.b3'\n";
    assert!(ended.stderr.ends_with(line), "{ended:?}");
    let tensors = format!("{}  w\tF32\t[2]\n", "1".repeat(64));
    folder.write("base.b3", tensors);
    let line = hint(&folder, "check base.b3", b"");
    assert!(
        line.ends_with("base.b3 is a list of tensors: treewide tensors base.b3 MODEL"),
        "{line}"
    );
    let ended = folder.treewide("verify base.b3").run();
    ended.fails(3, &["base.b3 is a list of tensors: treewide tensors base.b3 MODEL"]);
}

#[test]
fn check_of_a_part_of_a_repository_names_the_repository() {
    let folder = Folder::with(&["hub/models--a--b/blobs/x", "hub/models--a--b/snapshots/1/f"]);
    for part in ["blobs", "snapshots", "snapshots/1"] {
        let ended = folder.treewide(&format!("check hub/models--a--b/{part}")).run();
        ended.fails(3, &["a part of a repository of Hugging Face; check hub/models--a--b"]);
    }
}

#[test]
fn check_by_which_something_is_as_listed_says_nothing_more() {
    let folder = Folder::with(&["a", "b"]);
    folder.write("SUMS", sums(&["a", "b", "c"]));
    folder.write("b", "changed");
    let ended = folder.treewide("check SUMS").run();
    let counts = "treewide: 3 files checked: 1 OK, 1 FAILED, 1 missing\n";
    assert_eq!((ended.code, &ended.stderr[..]), (Some(1), counts));
    // A list that holds nothing else has its message already.
    folder.write("wrong", "not a list\n");
    assert!(hint(&folder, "check wrong", b"").contains("1 list failed"));
}

#[test]
fn check_with_status_and_b3sum_give_no_hint() {
    let folder = Folder::with(&["a"]);
    folder.write("SUMS", format!("{}  a\n", "0".repeat(64)));
    assert_eq!(hint(&folder, "check --status SUMS", b""), "");
    let warning = "WARNING: 1 computed checksum did NOT match\n";
    folder.treewide("sum --check SUMS").run().is(1, "a: FAILED\n", format!("treewide: {warning}"));
    let b3sum = folder.program(TREEWIDE).named("b3sum").args(["--check", "SUMS"]).run();
    b3sum.is(1, "a: FAILED\n", format!("b3sum: {warning}"));
}
