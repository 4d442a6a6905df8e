//! `treewide sum --algorithm`: digests of other algorithms, in lines that `check` and other programs read.

use crate::support::{Folder, find_program, skip};

const NAMES: &[&str] = &[
    "blake3",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "blake2b-160",
    "blake2b-224",
    "blake2b-256",
    "blake2b-384",
    "blake2b-512",
    "blake2s-160",
    "blake2s-224",
    "blake2s-256",
    "xet",
];

#[test]
fn sum_algorithm_writes_lines_that_check_reads() {
    let folder = Folder::with(&["a", "b (c) = d", "new\nline", "sub/e"]);
    folder.write("long", vec![7; 700_000]);
    folder.write("empty", "");
    for name in NAMES {
        let sum = format!("sum --tag --algorithm {name} -r . --threads");
        let list = folder.treewide(&sum).arg("1").run();
        assert_eq!(list.text().lines().count(), 6, "{list:?}");
        folder.treewide(&sum).arg("3").run().succeeds_with(list.text());
        folder.treewide("check --quiet").stdin(&list.stdout).run().fails(0, &[]);
    }
    println!("algorithms: {}", NAMES.len());
}

#[test]
fn sum_algorithm_agrees_with_other_programs() {
    let folder = Folder::with(&["a", "new\nline"]);
    for (name, program) in [
        ("md5", "md5sum"),
        ("sha1", "sha1sum"),
        ("sha256", "sha256sum"),
        ("sha512", "sha512sum"),
        ("blake2b-512", "b2sum"),
        ("blake2b-256", "b2sum"),
    ] {
        if find_program(program).is_none() {
            skip(name, format!("there is no {program}"));
            continue;
        }
        let sum = folder.treewide(&format!("sum --algorithm {name} a")).arg("new\nline").run();
        sum.fails(0, &[]);
        let check = folder.program(program).args(["-c", "--strict"]).stdin(sum.text()).run();
        assert_eq!(check.code, Some(0), "{check:?}");
    }
    for name in ["SHA256", "sha-256", "Sha-256"] {
        let sum = folder.treewide("sum -a").arg(name).arg("a").run();
        sum.succeeds_with(folder.treewide("sum --algorithm sha256 a").run().text());
    }
    let xet = "55b9df318a7c45f470d57b04d8ca79a15b0637ffe94b25041a58d00c3528afff";
    let sum = folder.treewide("sum --algorithm xet --no-names").stdin("abc").run();
    assert_eq!(sum.text(), format!("{xet}\n"));
    let sum = folder.treewide("sum --algorithm xet -").stdin("abc").run();
    assert_eq!(sum.text(), format!("XET (-) = {xet}\n"));
    folder.write("LIST", format!("{xet} ?xet*abc\n{xet}  abc\n"));
    folder.write("abc", "abc");
    // Two lines about one file: each counts.
    folder
        .treewide("check --algorithm xet LIST")
        .run()
        .fails(0, &["1 file checked: 1 OK, by xetHash"]);
    for wrong in
        [format!("{xet} ?xet*abc\n{xet}0  abc\n"), format!("0{} ?xet*abc\n{xet}  abc\n", &xet[1..])]
    {
        folder.write("LIST", wrong);
        let ended = folder.treewide("check --algorithm xet LIST").run();
        assert_ne!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn sum_algorithm_refuses_what_is_of_blake3() {
    let folder = Folder::with(&["a"]);
    for options in ["--length 16", "--seek 1", "--raw", "--json", "--check", "--derive-key x"] {
        folder
            .treewide(&format!("sum --algorithm sha256 {options} a"))
            .run()
            .fails(2, &["--algorithm"]);
    }
    for command in ["sum", "check"] {
        let said = "only in lists called NAME.sfv";
        folder.treewide(&format!("{command} --algorithm crc32 a")).run().fails(2, &["crc32", said]);
    }
    for name in ["git-blob-sha1", "whirlpool"] {
        folder.treewide(&format!("sum --algorithm {name} a")).run().fails(2, &["possible values"]);
    }
    folder.treewide("sum --algorithm sha256 a nothing").run().fails(1, &["nothing: cannot open"]);
}
