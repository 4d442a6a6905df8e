//! Side by side with the real b3sum: the same bytes, the same exit codes, errors of the same kind.

use crate::support::{Ended, Folder, TREEWIDE, find_program, hex, skip, sums};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

const KEY: &[u8; 32] = b"whats the Elvish word for friend";

/// `B3SUM`, or the b3sum on PATH.
fn real_b3sum() -> Option<PathBuf> {
    std::env::var_os("B3SUM").map(PathBuf::from).or_else(|| find_program("b3sum"))
}

struct Case {
    args: Vec<OsString>,
    stdin: Vec<u8>,
}

/// Run a case with b3sum and with both names of ours, and compare.
fn compare(folder: &Folder, b3sum: &OsStr, case: &Case) {
    let theirs = folder.program(b3sum).args(&case.args).stdin(&case.stdin).run();
    let ours_as_b3sum = folder.program(TREEWIDE).named("/usr/bin/b3sum");
    let ours_as_sum = folder.treewide("sum");
    for (ours, name) in [(ours_as_b3sum, "b3sum"), (ours_as_sum, "treewide")] {
        let ours = ours.args(&case.args).stdin(&case.stdin).run();
        let what = format!("{name} {:?} < {:?}", case.args, String::from_utf8_lossy(&case.stdin));
        let text = |ended: &Ended| String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(text(&ours), text(&theirs), "{what}");
        assert!(ours.stdout == theirs.stdout, "{what}: other bytes that are not UTF-8");
        assert_eq!(ours.code, theirs.code, "{what}: {} {}", ours.stderr, theirs.stderr);
        compare_messages(&ours, &theirs, name, &what);
    }
}

/// One message for each of theirs, and about the same file.
fn compare_messages(ours: &Ended, theirs: &Ended, name: &str, what: &str) {
    let cut_short = theirs.stderr.lines().any(|line| line.starts_with("Error: "));
    let theirs: Vec<_> =
        theirs.stderr.lines().filter_map(|it| it.strip_prefix("b3sum: ")).collect();
    let ours_all = &ours.stderr;
    let ours: Vec<_> = ours
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        // This one is ours alone, and never said under the name b3sum.
        .filter(|line| name == "b3sum" || !line.starts_with("warning: "))
        .collect();
    if theirs.is_empty() || cut_short {
        // They said nothing, or it was about bad usage or an error that ended the run.
        return;
    }
    assert_eq!(ours.len(), theirs.len(), "{what}: {ours_all}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        // `file: cause (os error N)` down to the number, except for advice at the end.
        let theirs = theirs.to_lowercase();
        let first_words = |text: &str| text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let ours = ours.to_lowercase();
        // Our messages name the list and the line that is malformed: `list:7: `.
        let has_number = |place: &&str| {
            place.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u64>().is_ok())
        };
        let place = ours.split(": ").next().filter(has_number);
        let ours = place.map_or(&ours[..], |place| &ours[place.len() + 2..]);
        // Under our own name we also say what could not be done.
        let ours = match name {
            "b3sum" => ours.to_owned(),
            _ => ours.replace(": cannot open: ", ": ").replace(": cannot read: ", ": "),
        };
        let same = ours.starts_with(&theirs) || first_words(&ours) == first_words(&theirs);
        let key = ours.starts_with("-: ") && theirs.starts_with("-: ");
        assert!(same || key, "{what}:\n{ours}\n{theirs}");
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("a", "a");
    folder.write("b", "content of b\n");
    folder.write("empty", "");
    // Beyond b3sum's threshold for mapping, and ours for threads.
    folder.write(
        "big",
        (0..1_500_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect::<Vec<_>>(),
    );
    folder.write("d/inner", "inner");
    for name in ODD_NAMES {
        folder.write(OsStr::from_bytes(name), name);
    }
    folder
}

const ODD_NAMES: [&[u8]; 11] = [
    b"new\nline",
    b"back\\slash",
    b"cr\rcr",
    b"all\\\n\r\\n",
    b"invalid\xff\xfe",
    b"invalid\xffand\nline",
    "replaced\u{FFFD}".as_bytes(),
    b"  blanks  ",
    b"-dash",
    b"tag) = x",
    "größe\u{1F600}".as_bytes(),
];

fn words(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

fn hashing_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |args: Vec<OsString>, stdin: &[u8]| {
        cases.push(Case { args, stdin: stdin.to_vec() });
    };
    let flags = [
        "",
        "--tag",
        "--no-names",
        "--no-names --tag",
        "--raw",
        "-l 0",
        "--length 1",
        "-l31",
        "--length=33",
        "-l 64",
        "-l 65",
        "-l 5000",
        "--seek 1",
        "--seek 63 -l 2",
        "--seek 64",
        "--seek 9223372036854775807 -l 100",
        "--seek 18446744073709551583",
        "--raw -l 100 --seek 3",
        "--raw -l 0",
        "--tag -l 0",
        "--no-names -l 0",
        "--no-mmap",
        "--num-threads 0",
        "--num-threads 1",
        "--num-threads 3",
        "--derive-key context",
        "--derive-key=",
        "--derive-key größe",
        "--keyed",
    ];
    let operands = [
        "",
        "-",
        "a",
        "b",
        "empty",
        "big",
        "a b big empty",
        "missing",
        "d",
        "a missing d b",
        "- a -",
        "./a ../no/such",
        "a a",
        "/dev/null",
        "a/b",
    ];
    for flags in flags {
        for operands in operands {
            // As text to hash, and as a key; the key as such is also as good a text as any.
            case(words(&format!("{flags} {operands}")), KEY);
        }
    }
    for key in [&b""[..], &KEY[..31], &[&KEY[..], b"\n"].concat()] {
        case(words("--keyed a"), key);
    }
    for name in ODD_NAMES {
        for flags in ["--", "--tag --", "--no-names --"] {
            let mut args = words(flags);
            args.push(OsString::from_vec(name.to_vec()));
            case(args, b"");
        }
    }
    let mut all = words("--");
    all.extend(ODD_NAMES.iter().map(|name| OsString::from_vec(name.to_vec())));
    case(all, b"");
    case(vec![OsString::new()], b"");
    case(vec!["new\nmissing".into()], b"");
    for usage in [
        "--no-such-flag",
        "--keyed",
        "--keyed --derive-key x a",
        "--length -1 a",
        "--length x a",
        "--length",
        "--seek 18446744073709551616 a",
        "--num-threads x a",
        "--tag --tag a",
        "--check --tag a",
        "--check --raw a",
        "--check --length 32 a",
        "--check --keyed a",
        "--check --derive-key x a",
        "--check --no-names a",
        "--raw a a",
        "-x",
    ] {
        case(words(usage), b"");
    }
    cases
}

/// Lists, each to be checked as a file and from standard input.
fn lists() -> Vec<Vec<u8>> {
    let sum = |name: &str, content: &str| format!("{}  {name}\n", hex(content));
    let a = sum("a", "a");
    let b = sum("b", "content of b\n");
    let zeros = "0".repeat(64);
    let tagged = format!("BLAKE3 (a) = {}\n", hex("a"));
    let escaped = format!("\\{}  new\\nline\n", hex("new\nline"));
    let escaped_tag = format!("\\BLAKE3 (new\\nline) = {}\n", hex("new\nline"));
    let texts = [
        format!("{a}{b}"),
        format!("{a}{b}").replace('\n', "\r\n"),
        format!("{a}{b}").trim_end().to_owned(),
        format!("{a}{zeros}  b\n{a}"),
        format!("{a}{zeros}  missing\n{a}"),
        format!("{zeros}  d\n"),
        format!("{tagged}{b}"),
        format!("{escaped}{escaped_tag}"),
        format!("BLAKE3 (tag) = x) = {}\n", hex("tag) = x")),
        format!("BLAKE3 (  blanks  ) = {}\n", hex("  blanks  ")),
        format!("{}    blanks  \n", hex("  blanks  ")),
        sum("größe\u{1F600}", "größe\u{1F600}"),
        String::new(),
        "\n".into(),
        format!("\n{a}\n"),
        "hello\n".into(),
        format!("# comment\n{a}"),
        format!("{zeros} a\n"),
        format!("{zeros}  \n"),
        format!("{zeros}  a\0b\n"),
        format!("{zeros}  a\u{FFFD}\n"),
        format!("\\{zeros}  a\\b\n"),
        format!("\\{zeros}  a\\\n"),
        "\\\n".into(),
        format!("\\{}", a),
        format!("{}  a\\nb\n", zeros),
        a.to_uppercase(),
        format!("{}\n", &a[1..]),
        format!("0{a}"),
        format!("g{}", &a[1..]),
        format!("{}  a\n", "é".repeat(32)),
        format!("\u{FEFF}{a}"),
        format!("{} *a\n", hex("a")),
        format!(" {a}"),
        format!("{}  a \n", hex("a")),
        format!("BLAKE3 (a) = {} \n", hex("a")),
        format!("BLAKE2b (a) = {}\n", hex("a")),
        format!("{zeros}  a\r\r\n"),
    ];
    let mut lists: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    // Not UTF-8 in the middle: the lines before it are checked.
    lists.push([a.as_bytes(), b"\xff\n", b.as_bytes()].concat());
    lists.push(a.encode_utf16().flat_map(u16::to_le_bytes).collect());
    lists
}

fn checking_cases(folder: &Folder) -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, list) in lists().into_iter().enumerate() {
        let name = format!("list{number}");
        folder.write(&name, &list);
        for flags in ["--check", "-c --quiet", "--check --no-mmap --num-threads 1"] {
            cases.push(Case { args: words(flags), stdin: list.clone() });
            cases.push(Case { args: words(&format!("{flags} {name}")), stdin: vec![] });
        }
    }
    for args in [
        "--check list0 list0",
        "--check list0 missing list0",
        "--check d",
        "--check list3 list0",
        "--check list0 - -",
        "--check --seek 1 list0",
        "--check /dev/null",
    ] {
        cases.push(Case { args: words(args), stdin: lists()[3].clone() });
    }
    // A list may name standard input, if it is not read from there itself.
    folder.write("stdin-list", format!("{}  -\n", hex("text")));
    cases.push(Case { args: words("--check stdin-list"), stdin: b"text".to_vec() });
    cases.push(Case { args: words("--check stdin-list stdin-list"), stdin: b"text".to_vec() });
    cases
}

#[test]
fn side_by_side_with_the_real_b3sum() {
    let Some(b3sum) = real_b3sum() else {
        return skip("side by side with b3sum", "there is no b3sum in $B3SUM or on PATH");
    };
    let folder = folder();
    let mut cases = hashing_cases();
    cases.extend(checking_cases(&folder));
    for case in &cases {
        compare(&folder, b3sum.as_os_str(), case);
    }
    let version = folder.program(&b3sum).arg("--version").run();
    println!("side by side with {}: {} cases", version.text().trim(), cases.len());
}

/// Lists with bytes cut out, put in, changed and doubled, at the same places on every run.
#[test]
fn damaged_lists_side_by_side_with_the_real_b3sum() {
    const LISTS: usize = 150;
    let Some(b3sum) = real_b3sum() else {
        return skip("damaged lists side by side", "there is no b3sum in $B3SUM or on PATH");
    };
    let names = ["a", "b  c", "new\nline", "back\\slash", ") = ", "BLAKE3 (q) = r", " \u{e9} "];
    let folder = Folder::with(&names);
    let whole: Vec<u8> = ["sum", "sum --tag"]
        .iter()
        .flat_map(|args| folder.treewide(args).args(names).run().stdout)
        .collect();
    let parts = ["  ", "\\", "\n", "\r\n", "\0", "BLAKE3 (", ") = ", "\\n", "\u{FEFF}", "A", "é"];
    let mut state = 7_u64;
    let mut below = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for _ in 0..LISTS {
        let mut list = whole.clone();
        for _ in 0..below(5) {
            let at = below(list.len());
            let end = (at + 1 + below(40)).min(list.len());
            match below(4) {
                0 => drop(list.drain(at..end)),
                1 => drop(list.splice(at..at, parts[below(parts.len())].bytes())),
                2 => list[at] = below(256) as u8,
                _ => drop(list.splice(at..at, list[at..end].to_vec())),
            }
        }
        folder.write("list", list);
        let case = Case { args: words("--check list"), stdin: Vec::new() };
        compare(&folder, b3sum.as_os_str(), &case);
    }
    println!("damaged lists: {LISTS} cases");
}

#[test]
fn a_link_named_b3sum_is_treewide_sum() {
    let folder = Folder::with(&["a"]);
    std::os::unix::fs::symlink(TREEWIDE, folder.join("b3sum")).unwrap();
    let link = || folder.program(folder.join("b3sum"));
    link().arg("a").run().succeeds_with(format!("{}  a\n", hex("a")));
    let missing = link().arg("missing").run();
    missing.is(1, "", "b3sum: missing: No such file or directory (os error 2)\n");
    link().arg(".").run().is(1, "", "b3sum: .: Is a directory (os error 21)\n");
    // Its name for the flag comes first.
    link().args(["--num-threads", "x", "a"]).run().fails(2, &["'--num-threads <NUM>'"]);
    link().args(["--threads", "1", "a"]).run().fails(0, &[]);
    link().args(["--quiet", "a"]).run().fails(2, &["--check"]);
    folder.treewide("sum --quiet a").run().succeeds_with(sums(&["a"]));
    assert!(link().arg("--version").run().text().starts_with("b3sum "));
    // Not everything that holds the name is the name.
    folder.treewide("absent").named("not-b3sum").run().fails(2, &["no command 'absent'"]);
}

/// The real one waits for itself here, for ever.
#[test]
fn a_list_from_stdin_that_names_stdin_is_no_deadlock() {
    let list = format!("{}  -\n", hex(""));
    let ended = Folder::new().treewide("sum --check").stdin(list).run();
    ended.fails(1, &["WARNING: 1 computed checksum did NOT match"]);
    assert_eq!(ended.text(), "-: FAILED (standard input is already in use for the list)\n");
}

#[test]
fn names_that_no_check_can_find_are_warned_of() {
    let folder = Folder::new();
    let name = OsString::from_vec(b"x\xffx".to_vec());
    folder.write(&name, "");
    let sum = |flag: &str| folder.treewide("sum").arg(flag).arg(&name);
    assert!(sum("--tag").run().stderr.contains("warning: 1 name not valid UTF-8"));
    assert_eq!(sum("--json").run().stderr, "");
    sum("--no-names").run().succeeds_with(format!("{}\n", hex("")));
    let as_b3sum = folder.program(TREEWIDE).named("b3sum").arg(&name).run();
    as_b3sum.succeeds_with(format!("{}  x\u{FFFD}x\n", hex("")));
}
