//! `snapshot --against LIST`: the old list is verified in the same reading, and no manifest records files that are not as it says.

use crate::support::{Ended, Folder, find_program, skip};
use std::fs;

/// A tree `t`, and the list `SHA256SUMS` of it.
fn tree() -> Folder {
    let folder = Folder::with(&["t/a", "t/sub/b", "t/new\nline"]);
    folder.write("t/empty", "");
    folder.write("t/long", vec![7; 3 << 20]);
    folder.write("SHA256SUMS", sums(&folder));
    folder
}

fn sums(folder: &Folder) -> Vec<u8> {
    let sum = "sum --algorithm sha256 --tag -r .";
    folder.treewide(sum).at(folder.join("t")).run().stdout
}

/// Without the manifest of a run before.
fn against(folder: &Folder, args: &str) -> Ended {
    for name in ["m.b3", "m.b3.tw"] {
        let _ = fs::remove_file(folder.join(name));
    }
    folder.treewide(&format!("snapshot t -o m.b3 --against SHA256SUMS {args}")).run()
}

/// It ends with this, and writes no manifest.
#[track_caller]
fn refuses(folder: &Folder, args: &str, stdout: &str, stderr_has: &[&str]) {
    let ended = against(folder, args);
    assert_eq!(ended.text(), stdout);
    ended.fails(1, stderr_has);
    assert!(!["m.b3", "m.b3.tw"].iter().any(|it| folder.join(it).exists()));
    let is_temporary = |it: &std::ffi::OsString| it.to_string_lossy().starts_with(".treewide");
    assert!(!folder.names().iter().any(is_temporary));
}

#[test]
fn files_as_listed_are_recorded() {
    let folder = tree();
    let ended = against(&folder, "");
    ended.fails(0, &["5 files checked: 5 OK, by SHA-256\n", "5 files, 3.00 MiB"]);
    folder.treewide("snapshot t -o w.b3").run().fails(0, &[]);
    assert_eq!(folder.read("m.b3"), folder.read("w.b3"));
    // Their other digests are recorded only if that is asked for.
    assert!(!folder.read("m.b3.tw").contains("sha256"));
    folder.write("t/extra", "not listed");
    let ended = against(&folder, "--also sha256,md5 -q");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    against(&folder, "").fails(0, &["5 OK, by SHA-256; 1 file not listed"]);
}

#[test]
fn lists_of_every_form_are_read_and_several_at_once() {
    let folder = tree();
    folder.treewide("snapshot t -o l.b3 --also sha256,md5").run().fails(0, &[]);
    let lines = |algorithm: &str| {
        folder.treewide(&format!("manifest lines --algorithm {algorithm} l.b3")).run().stdout
    };
    // In the directory itself, without a name that says what it is, as BLAKE3, and of another program.
    folder.write("plain", lines("sha256"));
    folder.write("MD5SUMS", lines("md5"));
    folder.write("t/blake3.txt", folder.read("l.b3"));
    for (list, said) in [
        ("plain", "5 OK, by SHA-256; 1 file not listed"),
        ("MD5SUMS", "5 OK, by MD5, which finds damage, but not a file that someone forged; 1"),
        ("t/blake3.txt", "5 OK; 1 file"),
        ("plain --against MD5SUMS --against t/blake3.txt", "5 files checked: 5 OK, by"),
    ] {
        let snapshot = format!("snapshot t -o m{}.b3 --against {list}", said.len());
        folder.treewide(&snapshot).run().fails(0, &[said]);
    }
    if find_program("sha256sum").is_none() {
        return skip("sha256sum", "there is none");
    }
    let summed = folder.program("sha256sum").at(folder.join("t")).args(["./a", "sub/b"]).run();
    folder.write("SHA256SUMS", summed.stdout);
    against(&folder, "").fails(0, &["2 files checked: 2 OK, by SHA-256; 4 files not listed"]);
    // Absolute names that lie in the directory.
    let summed = folder.program("sha256sum").arg(folder.join("t/a")).run();
    folder.write("SHA256SUMS", summed.stdout);
    against(&folder, "").fails(0, &["1 file checked: 1 OK"]);
    folder
        .treewide("snapshot --against ../SHA256SUMS -o ../last.b3")
        .at(folder.join("t"))
        .run()
        .fails(0, &["1 OK"]);
}

#[test]
fn files_that_are_not_as_listed_leave_the_manifest_as_it_is() {
    let folder = tree();
    let was_not = "m.b3: was not written, because it would record these files as they are";
    for name in ["t/a", "t/long"] {
        let good = fs::read(folder.join(name)).unwrap();
        let mut bad = good.clone();
        bad[0] ^= 1;
        folder.write(name, &bad);
        let line = format!("{}: FAILED\n", &name[2..]);
        refuses(&folder, "", &line, &["5 files checked: 4 OK, by SHA-256, 1 FAILED\n", was_not]);
        folder.write(name, &good);
        against(&folder, "").fails(0, &[]);
        folder.write(name, &bad);
        refuses(&folder, "-q", &line, &["1 FAILED", was_not]);
        folder.write(name, &good);
    }
    fs::remove_file(folder.join("t/sub/b")).unwrap();
    folder.write("t/empty", "x");
    let said = &["5 files checked: 3 OK, by SHA-256, 1 FAILED, 1 missing\n", was_not];
    refuses(
        &folder,
        "",
        "empty: FAILED\nsub/b: FAILED (cannot open: No such file or directory (os error 2))\n",
        said,
    );
    let ended = against(&folder, "--json");
    let lines: Vec<_> = ended.text().lines().collect();
    assert!(
        lines[0].contains("\"verdict\":\"failed\"") && lines[1].contains("\"unreadable\""),
        "{lines:#?}"
    );
    assert!(lines[2].contains("\"type\":\"summary\"") && lines.len() == 3, "{lines:#?}");
}

#[test]
fn files_that_the_manifest_does_not_cover_are_not_verified() {
    let folder = tree();
    let line = "a: FAILED (is there, and is not a file that the manifest covers)\n";
    refuses(&folder, "--exclude a", line, &["4 OK, by SHA-256, 1 could not be read"]);
    fs::rename(folder.join("t/a"), folder.join("a")).unwrap();
    std::os::unix::fs::symlink("../a", folder.join("t/a")).unwrap();
    refuses(&folder, "", line, &["1 could not be read"]);
    against(&folder, "--follow").fails(0, &["5 OK"]);
}

#[test]
fn list_that_cannot_be_relied_on_stops_the_run_before_it_reads() {
    let folder = tree();
    let good = folder.read("SHA256SUMS");
    let digest = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdbcea4e7b1bdc6c5ed7af";
    for (list, said) in [
        // Cut off: in a digest, in a name.
        (good[..good.len() - 20].to_owned(), "sub/b: digest of 45 hex digits"),
        (format!("{digest}  a\n{}", &digest[..40]), "SHA256SUMS:2: "),
        (format!("SHA256 (a) = {digest}\nSHA256 (sub/b) = zz\n"), "sub/b: "),
        (format!("{digest}  ../a\n"), "../a: has .. in its name"),
        (format!("{digest}  /etc/passwd\n"), "/etc/passwd: is not in the directory"),
        (format!("WHIRLPOOL (a) = {digest}{digest}\n"), "a: WHIRLPOOL is not supported"),
    ] {
        folder.write("SHA256SUMS", &list);
        refuses(
            &folder,
            "",
            "",
            &[said, "the list cannot be relied on, so nothing was read or written"],
        );
    }
    folder.write("SHA256SUMS", "nothing of the kind\n");
    refuses(&folder, "", "", &["SHA256SUMS:1: no list that is known", "cannot be relied on"]);
    fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    against(&folder, "").fails(3, &["SHA256SUMS: cannot read"]);
    assert!(!folder.join("m.b3").exists());
}

#[test]
fn list_is_not_replaced() {
    let folder = tree();
    let ended = folder.treewide("snapshot t -o SHA256SUMS --against SHA256SUMS").run();
    ended.fails(2, &["SHA256SUMS: is an input, and the output would replace it"]);
    assert_eq!(folder.read("SHA256SUMS").into_bytes(), sums(&folder));
}

#[cfg(unix)]
#[test]
fn names_are_those_that_the_shell_shows() {
    let folder = Folder::with(&["t/a", "t/b"]);
    std::os::unix::fs::symlink("t", folder.join("link")).unwrap();
    let line = |name: &str| format!("{}  {name}\n", crate::support::hex("content of t/a"));
    folder.write("t/a", "content of t/a");
    let logical = folder.join("link/a");
    for (list, code) in [
        (line(logical.to_str().unwrap()), 0),
        (line("./a"), 0),
        (line("a/"), 1),
        (line("../t/a"), 1),
        (line("t/a"), 1),
    ] {
        // From a file, and through standard input.
        folder.write("L", &list);
        for (args, stdin) in [("L", ""), ("-", &*list)] {
            let args = format!("snapshot link -o m.b3 --against {args}");
            let program = folder.treewide(&args).env("PWD", folder.path()).stdin(stdin);
            let ended = program.run();
            assert_eq!(ended.code, Some(code), "{list} {ended:?}");
            assert_eq!(fs::remove_file(folder.join("m.b3")).is_ok(), code == 0, "{list}");
            let _ = fs::remove_file(folder.join("m.b3.tw"));
        }
    }
}

#[test]
fn list_of_another_directory_is_refused_before_a_file_is_read() {
    let folder = tree();
    folder.write("SHA256SUMS", folder.treewide("sum --algorithm sha256 --tag -r t").run().stdout);
    let said = ["t/a: is not in the directory, nor is any other", "nothing was read or written"];
    refuses(&folder, "", "", &said);
}
