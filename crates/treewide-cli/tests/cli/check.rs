//! `treewide check`: every kind of list, every kind of verdict.

use crate::support::{Folder, failure, hex, sums};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

const OK_ABC: &str = "a: OK\nb: OK\nc: OK\n";

fn abc() -> Folder {
    Folder::with(&["a", "b", "c"])
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{FEFF}{text}").encode_utf16().flat_map(bytes).collect()
}

fn upper_digest(line: &str) -> String {
    let (digest, name) = line.split_at(64);
    format!("{}{name}\n", digest.to_uppercase())
}

#[test]
fn a_list_in_every_guise_is_the_same_list() {
    let folder = abc();
    let list = sums(&["a", "b", "c"]);
    let tagged = folder.treewide("sum --tag a b c").run().text().to_owned();
    let json = folder.treewide("sum --json a b c").run().text().to_owned();
    let guises: Vec<(&str, Vec<u8>)> = vec![
        ("as it is", list.clone().into()),
        ("tagged", tagged.clone().into()),
        ("JSON", json.clone().into()),
        ("CRLF", list.replace('\n', "\r\n").into()),
        ("tagged, CRLF", tagged.replace('\n', "\r\n").into()),
        ("JSON, CRLF", json.replace('\n', "\r\n").into()),
        ("UTF-8 mark", format!("\u{FEFF}{list}").into()),
        ("UTF-16 LE", utf16(&list, u16::to_le_bytes)),
        ("UTF-16 BE", utf16(&list, u16::to_be_bytes)),
        ("PowerShell", utf16(&list.replace('\n', "\r\n"), u16::to_le_bytes)),
        ("tagged UTF-16", utf16(&tagged, u16::to_le_bytes)),
        ("blanks after tags", tagged.replace('\n', "  \r\n").into()),
        ("blanks and JSON", json.replace('\n', "  \n").into()),
        ("empty lines", format!("\n{}\n \n", list.replace('\n', "\n\n")).into()),
        ("comments", format!("# by hand\n{list}# the end").into()),
        ("no last line end", list.trim_end().into()),
        ("upper case", list.lines().map(upper_digest).collect::<String>().into()),
        ("asterisks", list.replace("  ", " *").into()),
    ];
    for (guise, bytes) in guises {
        folder.write("list", &bytes);
        println!("{guise}");
        for ended in
            [folder.treewide("check list").run(), folder.treewide("check").stdin(&bytes).run()]
        {
            ended.is(0, OK_ABC, "treewide: 3 files checked: 3 OK\n");
        }
        folder.treewide("check --status list").run().is(0, "", "");
    }
}

#[test]
fn a_wrong_and_a_missing_file_fail_and_the_others_are_done() {
    let folder = abc();
    folder.write("list", sums(&["a", "b", "gone", "c"]));
    folder.write("b", "other");
    let out = "a: OK\nb: FAILED\ngone: FAILED (cannot open: No such file or directory (os error 2))\nc: OK\n";
    let summary = "treewide: 4 files checked: 2 OK, 1 FAILED, 1 missing\n";
    folder.treewide("check list").run().is(1, out, summary);
    let quiet = "b: FAILED\ngone: FAILED (cannot open: No such file or directory (os error 2))\n";
    folder.treewide("check --quiet list").run().is(1, quiet, summary);
    folder.treewide("check --status list").run().is(1, "", "");
    let ignoring = "treewide: 3 files checked: 2 OK, 1 FAILED; 1 missing file ignored\n";
    folder.treewide("check --ignore-missing list").run().is(
        1,
        "a: OK\nb: FAILED\nc: OK\n",
        ignoring,
    );
}

#[test]
fn nothing_verified_is_a_failure() {
    let folder = abc();
    folder.write("none", "");
    folder.write("blank", "\n \n# nothing\n");
    folder.write("prose", "hello\n");
    folder.write("gone", sums(&["x", "y"]));
    folder.write("good", sums(&["a"]));
    for (list, flags, message) in [
        ("none", "", "none: no file was verified: there is no digest in it"),
        ("blank", "", "blank: no file was verified: there is no digest in it"),
        ("prose", "", "prose:1: no list that is known begins like this: "),
        ("gone", "--ignore-missing", "gone: no file was verified: all that are listed are missing"),
        ("/dev/null", "", "/dev/null: no file was verified"),
    ] {
        folder
            .treewide("check")
            .args(flags.split_whitespace())
            .arg(list)
            .run()
            .fails(3, &[message]);
        // A good list does not make up for it.
        let both = folder.treewide("check good").args(flags.split_whitespace()).arg(list).run();
        assert_eq!(both.text(), "a: OK\n");
        both.fails(3, &[message, "1 file checked: 1 OK", "; 1 list failed\n"]);
        // Nor does `--status`, which asks for silence.
        folder.treewide("check --status --ignore-missing").arg(list).run().is(3, "", "");
    }
}

#[test]
fn lines_that_are_not_understood_are_reported_by_number() {
    let folder = abc();
    let lines =
        ["hello", "SIZF (a) = 12345", "a line", "-----BEGIN PGP SIGNATURE-----", "xyz  a", "x  "];
    folder.write("list", format!("{}{}\n{{\"path\":3}}\n", sums(&["a"]), lines.join("\n")));
    let default = folder.treewide("check list").run();
    assert_eq!(default.text(), "a: OK\n");
    let form = "expected `DIGEST  FILE`, found: ";
    default.fails(
        3,
        &[
            &format!("treewide: list:2: {form}hello\n"),
            "treewide: list:3: expected `DIGEST  FILE`, found `ALGORITHM (FILE) = DIGEST`",
            &format!("treewide: list:6: {form}xyz  a\n"),
            "treewide: list: 2 more lines not understood; --warn shows all\n",
            "treewide: 1 file checked: 1 OK; 7 lines not understood\n",
        ],
    );
    assert!(!default.stderr.contains("list:7"));
    folder.treewide("check --status list").run().is(3, "", "");
    let all = folder.treewide("check --warn list").run();
    all.fails(3, &[&format!("list:7: {form}x"), "list:8: expected"]);
    assert!(!all.stderr.contains("--warn"));
    folder.treewide("check --quiet list").run().fails(3, &["list:2: ", "7 lines not understood"]);
}

#[test]
fn a_listed_file_without_a_digest_to_trust_fails() {
    let folder = abc();
    let a = hex("a");
    // An error line of our own.
    let error = folder.treewide("sum --json gone").run().text().to_owned();
    let lost = "no digest, because of an error when the list was made: \
                cannot open: No such file or directory (os error 2)";
    for (line, expected, name, cause) in [
        (error.trim(), None, "gone", lost),
        (r#"{"path":"a","digest":null}"#, None, "a", "no digest"),
        (
            r#"{"path":"a","digest":"xy"}"#,
            None,
            "a",
            "the digest is neither hexadecimal nor base64",
        ),
        (r#"{"path":"a","digest":""}"#, None, "a", "no digest"),
        (&format!("{}  a", &a[1..]), None, "a", "digest of 63 hex digits, an odd number"),
        (&format!("BLAKE3 (a) = {}", &a[1..]), None, "a", "digest of 63 hex digits, an odd number"),
        (
            &format!("{}  a", &a[2..]),
            Some(&a[2..]),
            "a",
            "digest of 31 bytes: of an algorithm that is not supported, or of BLAKE3 with --length 31",
        ),
        (
            "BLAKE3 (a) = abcd",
            Some("abcd"),
            "a",
            "digest of 2 bytes: of an algorithm that is not supported, or of BLAKE3 with --length 2",
        ),
    ] {
        let out = format!("b: OK\n{name}: FAILED ({cause})\n");
        let form = match line.as_bytes()[0] {
            b'{' => "--json",
            b'B' => "--tag",
            _ => "",
        };
        let good = folder.treewide(&format!("sum {form} b")).run().text().to_owned();
        let summary = "treewide: 2 files checked: 1 OK, 1 not verified\n";
        // Whatever the end of the list is like.
        for end in ["\n", ""] {
            folder.write("list", format!("{good}{line}{end}"));
            folder.treewide("check list").run().is(3, &out, summary);
        }
        folder.treewide("check --status list").run().is(3, "", "");
        folder.treewide("check --ignore-missing list").run().is(3, &out, summary);
        let object = serde_json::json!({
            "path": name, "verdict": "unverified", "type": "file", "bytes": null, "evidence": null, "detail": cause,
            "digest": null, "expected": expected, "algorithm": null, "by": null, "expected_bytes": null, "store": null
        });
        let json = folder.treewide("check --json --quiet list").run();
        json.fails(3, &[summary]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(json.text()).unwrap(), object);
    }
    folder.write("list", format!("{}{}  a\n", sums(&["b"]), &a[2..]));
    folder.treewide("check -l 32 list").run().fails(3, &["1 not verified"]);
}

/// Of the lines that were lost there, no one knows which files they were about.
#[test]
fn a_list_that_is_cut_off_fails() {
    let folder = abc();
    let list = sums(&["a", "b"]);
    // Near both ends of the last line, and at some places between. Without its line end, the line is still whole.
    let cuts = |list: &str| {
        let (first, end) = (list.find('\n').unwrap() + 2, list.len() - 1);
        (first..end).filter(move |it| it - first < 4 || end - it < 8 || it % 9 == 0)
    };
    // Half of a name is a name, and half of a digest a digest.
    folder.write("longname", "a");
    let long = folder.treewide("sum a longname").run().text().to_owned();
    let digests = folder.treewide("sum --tag -l 64 a b").run().text().to_owned();
    for (list, check) in [(&long, "check --ignore-missing"), (&digests, "check")] {
        for cut in cuts(list) {
            let ended = folder.treewide(check).stdin(&list[..cut]).run();
            assert_eq!(ended.code, Some(3), "{}: {ended:?}", &list[..cut]);
        }
        folder.treewide(check).stdin(list.trim_end()).run().fails(0, &["2 OK\n"]);
    }
    folder
        .treewide("check --ignore-missing")
        .stdin(&long[..long.len() - 2])
        .run()
        .fails(3, &["1 OK, 1 could not be read"]);
    folder.write("list", &list[..100]);
    let form = "expected `DIGEST  FILE`, found: ";
    let message = format!(
        "treewide: list:2: {form}{}; the list may be cut off here: no line end\n",
        &list[68..100]
    );
    let summary =
        "treewide: 1 file checked: 1 OK; 1 line not understood; 1 list failed\n".to_owned();
    folder.treewide("check list").run().is(3, "a: OK\n", [message, summary].concat());
    folder.treewide("check --status list").run().is(3, "", "");
    // However many lines were hidden before it.
    folder.write("list", format!("{list}{}prose", "prose\n".repeat(7)));
    let said = ["list:10: expected", "list: 2 more lines not", "2 OK; 8 lines not"];
    folder.treewide("check list").run().fails(3, &said);
    // Comments may end where they like.
    folder.write("list", format!("{list}# no more"));
    folder.treewide("check list").run().fails(0, &["2 OK\n"]);
}

#[test]
fn a_line_that_nobody_could_have_meant_ends_the_list() {
    let folder = abc();
    let list = sums(&["a", "b"]);
    folder.write("list", format!("{list}{}  c\n{list}", "ab".repeat(9 << 20)));
    let no_list = "is not a list of digests: it has a line of 16 MiB or more\n";
    let message = format!("treewide: list: {no_list}");
    let summary = "treewide: 2 files checked: 2 OK; 1 list failed\n";
    folder.treewide("check list").run().is(3, "a: OK\nb: OK\n", message.clone() + summary);
    folder.treewide("sum --check list").run().is(1, "a: OK\nb: OK\n", message);
    // Which has no end at all.
    for check in ["check", "sum --check"] {
        let message = format!("treewide: /dev/zero: {no_list}");
        folder.treewide(check).arg("/dev/zero").run().fails(failure(check), &[&message]);
    }
}

#[test]
fn odd_names_survive_the_way_through_a_list() {
    let names = ["new\nline", "cr\r", "back\\slash", "\\n", "größe", " a", "x  y", "a) = b", "#x"];
    let folder = Folder::with(&names);
    for flag in ["--tag", "--json", "--no-mmap"] {
        let list = folder.treewide("sum").arg(flag).args(names).run();
        folder.treewide("check").stdin(&list.stdout).run().fails(0, &["9 files checked: 9 OK\n"]);
    }
    let list = folder.treewide("sum").arg("new\nline").run();
    let ended = folder.treewide("check").stdin(&list.stdout).run();
    assert_eq!(ended.text(), "\\new\\nline: OK\n");
}

#[test]
fn names_that_are_not_utf8_are_kept_by_json_and_by_raw_lists() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"x\xffx");
    folder.write(name, "content");
    let json = folder.treewide("sum --json").arg(name).run();
    folder.treewide("check").stdin(&json.stdout).run().fails(0, &["1 file checked: 1 OK"]);
    let raw = [hex("content").as_bytes(), b"  x\xffx\n"].concat();
    folder.treewide("check").stdin(raw).run().is(
        0,
        "x\u{FFFD}x: OK\n",
        "treewide: 1 file checked: 1 OK\n",
    );
    // And the very name that other lists write in place of it.
    folder.write("x\u{FFFD}x", "content");
    let json = folder.treewide("sum --json").arg("x\u{FFFD}x").run();
    folder.treewide("check").stdin(&json.stdout).run().fails(0, &["1 file checked: 1 OK"]);
}

#[test]
fn lengths_and_offsets() {
    let folder = abc();
    let list = |flags: &str| {
        folder.treewide("sum").args(flags.split_whitespace()).arg("a").run().text().to_owned()
    };
    let check = |flags: &str, list: &str| {
        folder.treewide("check").args(flags.split_whitespace()).stdin(list).run()
    };
    // Longer ones explain themselves, shorter ones have to be asked for.
    check("", &list("-l 100")).fails(0, &["1 OK"]);
    check("", &list("-l 100 --tag")).fails(0, &["1 OK"]);
    let short = list("-l 16");
    // 16 bytes are those of an MD5 digest.
    check("", &short).fails(1, &["as MD5", "if they are BLAKE3 digests, --length says"]);
    let refused = check("", &list("-l 17"));
    assert!(
        refused.text().contains("a: FAILED (digest of 17 bytes: of an algorithm"),
        "{refused:?}"
    );
    refused.fails(3, &["1 file checked: 0 OK, 1 not verified"]);
    check("--length 16", &short).fails(0, &["1 OK"]);
    let refused = check("-l 17", &short);
    assert_eq!(refused.text(), "a: FAILED (digest of 16 bytes instead of 17)\n");
    refused.fails(3, &["1 not verified"]);
    check("--length 0", &short).fails(2, &["--length"]);
    // A digest with characters after its end.
    let long = list("-l 64");
    let wrong =
        long.replacen(&long[126..128], if &long[126..128] == "00" { "11" } else { "00" }, 1);
    check("", &wrong).fails(1, &["1 FAILED"]);
}

#[test]
fn keyed_and_derived_lists() {
    let folder = abc();
    let key = [7; 32];
    let sum = |flags: &str| {
        folder.treewide("sum").args(flags.split_whitespace()).args(["a", "b"]).stdin(key).run()
    };
    folder.write("keyed", &sum("--keyed").stdout);
    folder.write("derived", &sum("--derive-key context").stdout);
    folder.treewide("check --keyed keyed").stdin(key).run().fails(0, &["2 OK"]);
    folder.treewide("check --keyed keyed").stdin([8; 32]).run().fails(1, &["2 FAILED"]);
    folder.treewide("check keyed").run().fails(1, &["2 FAILED"]);
    folder.treewide("check --derive-key context derived").run().fails(0, &["2 OK"]);
    folder.treewide("check --derive-key other derived").run().fails(1, &["2 FAILED"]);
    // The key takes standard input.
    let message = "-: standard input is already in use for the key";
    folder.treewide("check --keyed -").stdin(key).run().fails(3, &[message]);
    folder.treewide("check --keyed").stdin(key).run().fails(2, &["FILE"]);
    let no_key = folder.treewide("check --keyed keyed").run();
    no_key.is(3, "", "treewide: expected 32 key bytes from standard input, found 0\n");
}

#[test]
fn lists_that_name_standard_input() {
    let folder = Folder::new();
    let line = format!("{}  -\n", hex("text"));
    folder.write("once", &line);
    folder.write("twice", line.repeat(2));
    folder.treewide("check once").stdin("text").run().fails(0, &["1 OK"]);
    let twice = folder.treewide("check twice").stdin("text").run();
    twice.fails(3, &["1 file checked: 0 OK, 1 could not be read"]);
    let second = "-: FAILED (standard input is already in use for an earlier `-`)\n";
    assert_eq!(twice.text(), format!("-: OK\n{second}"));
    let itself = folder.treewide("check").stdin(line).run();
    assert_eq!(itself.text(), "-: FAILED (standard input is already in use for a list)\n");
    itself.fails(3, &[]);
}

#[test]
fn an_unreadable_list_leaves_the_others_checked() {
    let folder = abc();
    folder.write("list", sums(&["a"]));
    fs::create_dir(folder.join("d")).unwrap();
    for flags in ["", "--status"] {
        let ended = folder.treewide("check missing d list").args(flags.split_whitespace()).run();
        ended.fails(
            3,
            &[
                "treewide: missing: cannot open: No such file or directory (os error 2)\n",
                "treewide: d: not a store that this program knows, and no list; ",
            ],
        );
        assert_eq!(ended.text(), if flags.is_empty() { "a: OK\n" } else { "" });
        let summary = "treewide: 1 file checked: 1 OK; 1 list failed\n";
        assert_eq!(ended.stderr.ends_with(summary), flags.is_empty(), "{}", ended.stderr);
    }
}

#[test]
fn a_file_that_is_no_list_does_not_flood_the_terminal() {
    let folder = Folder::new();
    folder.write(
        "image",
        (0..1_000_000u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect::<Vec<_>>(),
    );
    let ended = folder.treewide("check image").run();
    ended.fails(3, &["image:1: "]);
    assert!(ended.stderr.lines().count() < 10);
    assert!(ended.stderr.len() < 2000);
}
