//! `treewide check` with odd parts of lists: other names, comments, lengths, and documents that are too long.

use crate::lists::{ALPHA, MD5, filled, folder};

/// Parts of these good lists were once read as something else.
#[test]
fn check_takes_indexes_and_absolute_names_as_they_are() {
    let folder = folder();
    folder.write("pool/alpha.txt", ALPHA);
    folder.write("alpha.txt", "another");
    let packages = "Package: a\nDescription: b\nDescription-md5: @MD5\nFilename: pool/alpha.txt\nSHA256: @SHA256\n\n";
    let sources = "Package: a\nFiles:\n @MD5 6 alpha.txt\nDirectory: pool\n\n";
    let absolute = format!("{},sha256=@BASE64,6\n", folder.join("pool/alpha.txt").display());
    for (name, text, count) in [
        ("x", packages.repeat(2), 2),
        ("deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages", packages.repeat(2), 2),
        ("Sources", sources.into(), 1),
        (
            "x",
            "#mtree\npool/alpha.txt sha256digest=@SHA256\ngone optional sha256digest=@SHA256\n"
                .into(),
            1,
        ),
        ("x", "# of commit @SHA1 on main\n# @SHA256  b\n@SHA256  pool/alpha.txt\n".into(), 1),
        ("x", sources.into(), 1),
        ("x.dist-info/RECORD", absolute, 1),
    ] {
        folder.write(name, filled(&text));
        let ended = folder.treewide(&format!("check {name}")).run();
        let found = ended.text().matches("pool/alpha.txt: OK\n").count();
        assert_eq!(found, count, "{name}: {ended:?}");
        ended.fails(0, &["1 file checked: 1 OK"]);
        assert!(!ended.stderr.contains("malformed"), "{name}: {ended:?}");
    }
}

#[test]
fn check_says_what_to_do_about_forms_that_it_does_not_read() {
    let folder = folder();
    for (text, advice) in [
        ("Algorithm : SHA256\nHash      : @SHA256\nPath      : alpha.txt\n", "Export-Csv"),
        ("         6  @SHA256  alpha.txt\n", "without -z"),
        (
            "golang.org/x/text v0.3.0 h1:g61tztE5qeGQ89tm6NTjjM9VPIm088od1l6aSorWRWg=\n",
            "go mod verify",
        ),
    ] {
        folder.write("x", filled(&format!("{text}@SHA256  alpha.txt\n")));
        folder.treewide("check x").run().fails(3, &["x:1: ", advice, "1 OK"]);
    }
    folder.write("package-lock.json", "{\n \"name\": \"x\",\n \"integrity\": \"sha512-AAAA\"\n}\n");
    let ended = folder.treewide("check package-lock.json").run();
    let cause =
        "package-lock.json:4: not a list: its digests are of no files here; npm ci uses them\n";
    ended.fails(3, &[cause, "1 file checked: 0 OK, 1 not verified"]);
    folder.write("x", filled("alpha.txt 9F606EEC\n@SHA256  alpha.txt\n"));
    let ended = folder.treewide("check x").run();
    let crc32 = "alpha.txt: FAILED (a CRC-32, which is read only in .sfv)\nalpha.txt: OK\n";
    assert_eq!((ended.text(), ended.code), (crc32, Some(3)));
}

#[test]
fn check_compares_the_lengths_that_bsd_lists() {
    let folder = folder();
    let digest = format!("MD5 (alpha.txt) = {MD5}\n");
    let (ok, other) = ("alpha.txt: OK\n", "alpha.txt: FAILED (6 bytes instead of 7)\n");
    for (text, said) in [
        (format!("{digest}SIZE (alpha.txt) = 7\n"), [ok, other]),
        (format!("Size (alpha.txt) = 7 bytes\n{digest}"), [other, ok]),
        (format!("{digest}\\SIZE (alpha.txt) = 7\n"), [ok, other]),
    ] {
        folder.write("x", text);
        let ended = folder.treewide("check x").run();
        assert_eq!(ended.text(), said.concat());
        ended.fails(1, &["1 file checked: 0 OK, 1 FAILED\n"]);
        assert_eq!(ended.stderr.lines().count(), 1, "no hint: {ended:?}");
    }
    let ended = folder.treewide("check --json x").run();
    let line = r#""verdict":"failed","type":"file","bytes":6,"evidence":"read","detail":"6 bytes instead of 7","digest":null,"expected":null,"algorithm":null,"by":"tag","expected_bytes":7,"#;
    assert!(ended.text().contains(line), "{ended:?}");
    folder.write("x", format!("{digest}SIZE (alpha.txt) = 7x\nSIZE (gone) = 0\n"));
    let ended = folder.treewide("check x").run();
    let number = "alpha.txt: FAILED (the length is not a number)\ngone: FAILED (cannot open";
    assert!(ended.text().contains(number), "{ended:?}");
    ended.fails(3, &["2 files checked: 0 OK, 1 missing, 1 not verified"]);
    // A length proves nothing.
    folder.write("x", "SIZE (alpha.txt) = 6\n");
    folder.treewide("check x").run().fails(3, &["there is no checksum line in it"]);
}

#[test]
fn check_drops_no_line_before_the_header_of_a_list() {
    let folder = folder();
    for (header, entry) in [
        ("#mtree\n", "@ size=6 sha256digest=@SHA256\n"),
        ("/set type=file\n", "@ size=6 md5=@MD5\n"),
        ("%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n", "6,@MD5,@\n"),
        ("DIST alpha.txt 6 SHA256 @SHA256\n", "DIST @ 6 MD5 @MD5\n"),
    ] {
        let of = |name: &str| {
            filled(&entry.replace("@ ", &format!("{name} ")).replace(",@\n", &format!(",{name}\n")))
        };
        for before in [of("gone"), of("gone").replace(MD5, ""), "gone size=6\n".into()] {
            folder.write("x", [before, filled(header), of("alpha.txt")].concat());
            let ended = folder.treewide("check x").run();
            assert_ne!(ended.code, Some(0), "{header}: {ended:?}");
        }
    }
    folder.write("x", filled("@SHA256  alpha.txt\n#mtree\nalpha.txt sha256=@SHA256\n"));
    folder.treewide("check x").run().fails(0, &["1 file checked: 1 OK"]);
}

/// Lists have sections for each algorithm, or all lines of one before those of the next.
#[test]
fn check_counts_files_and_not_lines() {
    let folder = folder();
    let of = |name: &str| format!(" {name}\n");
    let (alpha, line) = (of("6 alpha.txt"), of("6 new"));
    folder.write("new", ALPHA);
    let release = format!("MD5Sum:\n @MD5{alpha} @MD5{line}SHA256:\n @SHA256{alpha} @SHA256{line}");
    let tagged = "MD5 (alpha.txt) = @MD5\nMD5 (new) = @MD5\nSHA256 (alpha.txt) = @SHA256\nSHA256 (new) = @SHA256\n";
    for (list, text) in [("Release", release.as_str()), ("x", tagged)] {
        folder.write(list, filled(text));
        let check = || folder.treewide(&format!("check {list}")).run();
        check().fails(0, &["2 files checked: 2 OK, by MD5 and SHA-256"]);
        // One line of two is wrong: the file counts as FAILED, in whatever order.
        for digest in ["@MD5", "@SHA256"] {
            let at = text.rfind(digest).unwrap();
            let zeros = "0".repeat(filled(digest).len());
            let wrong = [&text[..at], &zeros, &text[at + digest.len()..]].concat();
            folder.write(list, filled(&wrong));
            check().fails(1, &["2 files checked: 1 OK", "1 FAILED"]);
        }
        std::fs::remove_file(folder.join("new")).unwrap();
        folder.write(list, filled(text));
        check().fails(1, &["2 files checked: 1 OK", "1 missing"]);
        folder.write("new", ALPHA);
    }
}

/// A JSON document that is too long was once cut to the lines that fit.
#[test]
fn check_refuses_a_long_document() {
    let folder = folder();
    let good = filled(r#"{"name":"alpha.txt","digest":"sha256:@SHA256"}"#);
    let lines = (" ".repeat(1023) + "\n").repeat((16 << 10) - 1);
    let last =
        format!("{}\n{}\n", " ".repeat(900), filled(r#",{"name":"b","digest":"sha256:@SHA256"}"#));
    folder.write("x", format!("[\n{good}\n{lines}{last}]\n"));
    let cause = "x:16388: JSON of 16 MiB or more, which is too long to be read\n";
    folder.treewide("check x").run().fails(3, &[cause]);
}

/// A program that reads JSON learns why the check fails.
#[test]
fn check_has_a_record_of_each_failure_of_a_list() {
    let folder = folder();
    let good = filled("@SHA256  alpha.txt\n");
    folder.write("lone", filled("@SHA256\n") + &good);
    folder.write("cut", format!("{good}pro"));
    folder.write("prose", "prose\n");
    folder.write("long", vec![b'x'; 16 << 20]);
    for (list, options, status, error) in [
        ("lone", "", "unverified", "line 1: a digest without a file name"),
        (
            "cut",
            "",
            "unverified",
            "line 2: not a checksum line; the list may be cut off here: no line end",
        ),
        ("prose", "", "unverified", "no file was verified: no line in it can be checked"),
        ("prose", "--strict", "unverified", "line 1: not a checksum line"),
        ("long", "", "unreadable", "is not a list of digests: it has a line of 16 MiB or more"),
        ("gone", "", "unreadable", "cannot open: No such file or directory (os error 2)"),
    ] {
        let ended = folder.treewide(&format!("check --json {options} {list}")).run();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let record = format!(
            r#"{{"path":"{list}","verdict":"{status}","type":"list","bytes":null,"evidence":null,"detail":"{error}","#
        );
        assert!(ended.text().contains(&record), "{list}: {ended:?}");
    }
}
