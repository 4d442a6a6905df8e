//! `snapshot --also` and `manifest lines --algorithm`: digests by other algorithms, as other programs find and check them.

use crate::support::{Folder, find_program, skip};
use std::fs;

/// A tree `t` with every kind of name, and a long file.
fn tree() -> Folder {
    let folder = Folder::with(&["t/a", "t/sub/e", "t/-", "t/ blank ", "t/*star"]);
    folder.write("t/empty", "");
    folder.write("t/long", vec![7; 3 << 20]);
    for name in ["t/new\nline", "t/back\\slash", "t/return\r"] {
        folder.write(name, name);
    }
    folder
}

fn lines(folder: &Folder, algorithm: &str) -> Vec<u8> {
    let lines = format!("manifest lines --algorithm {algorithm} m.b3");
    let ended = folder.treewide(&lines).run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

#[test]
fn lines_are_those_of_other_programs() {
    let folder = tree();
    let snapshot = "snapshot t -o m.b3 --also sha256,md5 --also sha1,sha512,blake2b-512";
    folder.treewide(snapshot).run().fails(0, &[]);
    for (algorithm, program) in [
        ("md5", "md5sum"),
        ("sha1", "sha1sum"),
        ("sha256", "sha256sum"),
        ("sha512", "sha512sum"),
        ("blake2b-512", "b2sum"),
    ] {
        let list = lines(&folder, algorithm);
        fs::write(folder.join("LIST"), &list).unwrap();
        folder
            .treewide(&format!("check --quiet --algorithm {algorithm} ../LIST"))
            .at(folder.join("t"))
            .run()
            .fails(0, &[]);
        if find_program(program).is_none() {
            skip(algorithm, format!("there is no {program}"));
            continue;
        }
        let check = ["--check", "--quiet", "--strict", "../LIST"];
        let checked = folder.program(program).at(folder.join("t")).args(check).run();
        assert_eq!((checked.code, checked.text()), (Some(0), ""), "{}", checked.stderr);
        // The same bytes, in another order.
        let names = folder
            .program("find")
            .at(folder.join("t"))
            .args([".", "-type", "f", "-printf", "%P\\0"])
            .run();
        let mut names: Vec<_> =
            names.stdout.split(|byte| *byte == 0).filter(|it| !it.is_empty()).collect();
        names.sort();
        let names = names.iter().map(|it| match *it {
            b"-" => "./-".into(),
            it => String::from_utf8(it.to_vec()).unwrap(),
        });
        let summed = folder.program(program).at(folder.join("t")).arg("--").args(names).run();
        assert_eq!(summed.text(), String::from_utf8(list).unwrap());
    }
    // It does not know `\r`, which coreutils write.
    fs::remove_file(folder.join("t/return\r")).unwrap();
    folder.treewide("update m.b3 t").run().fails(0, &[]);
    if find_program("shasum").is_some() {
        fs::write(folder.join("LIST"), lines(&folder, "sha256")).unwrap();
        let check = ["-a", "256", "--check", "../LIST"];
        let checked = folder.program("shasum").at(folder.join("t")).args(check).run();
        let ok = checked.text().matches(": OK").count();
        assert_eq!((checked.code, ok), (Some(0), 9), "{checked:?}");
    }
    if find_program("openssl").is_some() {
        let summed = folder
            .program("openssl")
            .at(folder.join("t"))
            .args(["dgst", "-sha256", "-r", "long"])
            .run();
        let digest = summed.text().split(' ').next().unwrap();
        assert!(
            String::from_utf8(lines(&folder, "sha256"))
                .unwrap()
                .contains(&format!("{digest}  long\n"))
        );
    }
}

#[test]
fn list_and_digest_of_the_manifest_are_those_without() {
    let folder = tree();
    let digest = |args: &str| folder.treewide(args).run().stderr.lines().last().unwrap().to_owned();
    let without = digest("snapshot t -o w.b3");
    assert_eq!(digest("snapshot t -o m.b3 --also sha256"), without);
    assert_eq!(folder.read("m.b3"), folder.read("w.b3"));
    for command in ["verify m.b3 t", "verify --quick m.b3 t", "diff w.b3 m.b3"] {
        folder.treewide(command).run().fails(0, &[]);
    }
    let stat = folder.treewide("manifest stat m.b3").run();
    assert!(stat.text().contains("\ndigests also by: sha256\n"), "{}", stat.text());
    let empty = "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n";
    assert!(folder.treewide("manifest stat m.b3 empty").run().text().contains(empty));
}

#[test]
fn lines_print_nothing_where_a_digest_is_missing() {
    let folder = Folder::with(&["t/a"]);
    folder.treewide("snapshot t -o m.b3 --also sha256").run().fails(0, &[]);
    let missing = |algorithm: &str, said: &str| {
        let ended = folder.treewide(&format!("manifest lines --algorithm {algorithm} m.b3")).run();
        assert!(ended.stdout.is_empty(), "{}", ended.text());
        ended.fails(3, &[said]);
    };
    missing("sha1", "m.b3.tw: a has no digest by SHA-1; `treewide");
    for name in ["t/b", "t/c"] {
        folder.write(name, name);
    }
    folder.treewide("update m.b3 t").run().fails(0, &[]);
    missing(
        "sha1",
        "m.b3.tw: 3 files have no digest by SHA-1, such as a; `treewide update --also sha1 m.b3` adds them",
    );
    folder.treewide("update m.b3 t --also sha1").run().fails(0, &["3 files read"]);
    lines(&folder, "sha1");
    // Damage, and no index.
    let index = folder.read("m.b3.tw");
    let at = index.find("\"sha256\":\"").unwrap() + 10;
    let other = if index.as_bytes()[at] == b'0' { "1" } else { "0" };
    folder.write("m.b3.tw", format!("{}{other}{}", &index[..at], &index[at + 1..]));
    missing(
        "sha256",
        "m.b3.tw: it does not have the hash of its bytes: it is damaged, or was edited",
    );
    fs::remove_file(folder.join("m.b3.tw")).unwrap();
    missing("sha256", "m.b3: has no index, which would have digests by SHA-256");
}

#[test]
fn also_takes_no_algorithm_that_has_no_lists() {
    let folder = Folder::with(&["t/a"]);
    for name in ["blake3", "crc32", "git-blob-sha1", "sha9", ""] {
        let ended = folder.treewide("snapshot t -o m.b3 --also").arg(name).run();
        ended.fails(2, &["--also"]);
    }
    assert!(!folder.join("m.b3").exists());
}
