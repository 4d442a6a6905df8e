//! Bad usage: exit code 2, nothing done, and a hint.

use crate::support::{Folder, hex, sums};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::with(&["a"]);
    for (args, hint) in [
        ("", "Usage"),
        ("-l 64 sum a", "tip: options come after the command\n"),
        ("--no-such-flag a", "'--no-such-flag' found\n\nUsage: treewide sum"),
        ("nothing", "there is no file and no command 'nothing'"),
        ("verfy a", "tip: `treewide --help` lists the commands\n"),
        ("audit a", "tip: use `treewide verify`\n"),
        ("s3://bucket/", "tip: for a bucket: python -m treewide scale sum -r s3://bucket/\n"),
        ("scale sum", "python -m treewide scale"),
        ("manifest a.b3", "unrecognized subcommand 'a.b3'\n\nUsage: treewide manifest"),
        ("update --dry-run a", "tip: `treewide verify --quick` shows"),
        (
            "update --quick a",
            "'--quick' found\n\nUsage: treewide update [OPTIONS] <X.b3 [DIR]>...\n",
        ),
        ("outboard verify --to a", "\n\nUsage: treewide outboard verify [OPTIONS] <FILE>\n"),
        ("scrub --budget 2h a", "`timeout` sets a time, and the next run continues"),
        ("sum --ignore a", "unexpected argument '--ignore' found\n\nUsage"),
        ("sum --no-such-flag", "--no-such-flag"),
        ("sum --keyed", "<FILE>"),
        ("sum --keyed --derive-key x a", "--derive-key"),
        ("sum --length x a", "--length"),
        ("sum --length -1 a", "-1"),
        ("sum --seek 18446744073709551600 -l 16 a", "leaves 15 bytes of extended output, "),
        ("sum --seek 18446744073709551615 --raw a", "leaves 0 bytes"),
        ("sum --check --seek 18446744073709551600 a", "not 32"),
        ("sum --threads many a", "--threads"),
        ("sum --threads 1 --num-threads 2 a", "--threads"),
        ("sum --json --tag a", "--tag"),
        ("sum --json --raw a", "--raw"),
        ("sum --json --no-names a", "--no-names"),
        ("sum --check --json a", "--json"),
        ("sum --check -r a", "--recursive"),
        ("sum --raw -r a", "--recursive"),
        ("sum --follow a", "--recursive"),
        ("sum -o", "--output"),
        ("check --tag a", "--tag"),
        ("check --keyed", "<FILE>"),
        ("check --length 0 a", "'--length <LEN>': 0 is not in 1..8388608"),
        ("completions", "<SHELL>"),
        ("man nothing", "nothing"),
    ] {
        let ended = folder.treewide(args).stdin("text").run();
        assert_eq!(ended.text(), "", "{args}");
        ended.fails(2, &[hint]);
    }
}

#[test]
fn files_without_a_command_are_summed() {
    let folder = Folder::with(&["a", "b", "check"]);
    folder.treewide("a b").run().succeeds_with(sums(&["a", "b"]));
    let tagged = folder.treewide("a --tag").run();
    folder.treewide("--tag a").run().succeeds_with(tagged.text());
    folder.treewide("-r .").run().fails(0, &[]);
    folder.treewide("--check --quiet -").stdin(sums(&["a"])).run().succeeds_with("");
    folder.treewide("a gone").run().fails(1, &["treewide: gone: cannot open: "]);
    folder.treewide("-").stdin("text").run().succeeds_with(format!("{}  -\n", hex("text")));
    folder.treewide("-- a").run().succeeds_with(sums(&["a"]));
    // A command of that name wins.
    folder.treewide("check").stdin(sums(&["a"])).run().fails(0, &["1 file checked"]);
    folder.treewide("./check").run().succeeds_with(format!("{}  ./check\n", hex("check")));
}

#[test]
fn a_directory_without_a_command_says_what_can_be_done_with_it() {
    let folder = Folder::with(&["photos/a", "my photos/a"]);
    for (dir, quoted, list) in
        [("photos/", "photos", "photos.b3"), ("my photos", "'my photos'", "'my photos.b3'")]
    {
        let ended = folder.treewide("").arg(dir).run();
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!((ended.code, ended.text(), lines.len()), (Some(2), "", 4), "{ended:?}");
        for (line, command) in lines[1..].iter().zip([
            format!("  treewide sum -r {quoted} "),
            format!("  treewide snapshot {quoted} "),
            format!("  treewide verify {list} "),
        ]) {
            assert!(line.starts_with(&command), "{line}");
        }
    }
}

/// b3sum's exit code for this one is 1.
#[test]
fn raw_takes_one_file() {
    let folder = Folder::with(&["a", "b"]);
    let ended = folder.treewide("sum --raw a b").run();
    assert_eq!(ended.text(), "");
    ended.fails(1, &["treewide: only one file can be given with --raw"]);
}

#[test]
fn messages_hold_no_control_characters() {
    let ended = Folder::new().treewide("sum").arg("a\u{1b}[31m\nb").run();
    ended.is(
        1,
        "",
        "treewide: a\\u{1b}[31m\\nb: cannot open: No such file or directory (os error 2)\n",
    );
}

#[test]
fn a_kernel_is_forced_by_name_or_refused() {
    let folder = Folder::with(&["a"]);
    let sum = |name: &OsStr| folder.treewide("sum a").env("TREEWIDE_KERNEL", name).run();
    for name in ["", "auto", "portable"] {
        sum(name.as_ref()).succeeds_with(sums(&["a"]));
    }
    for (name, shown) in [
        (&b"fastest"[..], "fastest"),
        (b"Portable", "Portable"),
        (b" ", " "),
        (b"\x1b[2J", "\\u{1b}[2J"),
        (b"\xff", "\u{FFFD}"),
    ] {
        let ended = sum(OsStr::from_bytes(name));
        assert_eq!(ended.text(), "");
        ended.fails(2, &[&format!("treewide: TREEWIDE_KERNEL={shown}: "), " portable"]);
        assert!(!ended.stderr.contains("panic"), "{ended:?}");
    }
    folder.treewide("--help").env("TREEWIDE_KERNEL", "fastest").run().fails(0, &[]);
}

/// A build without GPU support has no words about GPUs.
#[test]
#[cfg(not(feature = "gpu"))]
fn a_build_without_gpus_has_no_command_or_flag_for_them() {
    let folder = Folder::with(&["a"]);
    folder.treewide("sum --device cpu a").run().fails(2, &["--device"]);
    for args in ["sum --help", "explain --help", "explain"] {
        assert!(!folder.treewide(args).run().text().contains("GPU"), "{args}");
    }
}

#[test]
fn explain_shows_kernel_lanes_and_passes() {
    let folder = Folder::new();
    let ended = folder.treewide("explain 3K").env("TREEWIDE_KERNEL", "portable").run();
    let text = ended.text();
    let head = format!("treewide {} on {}\nCPU: ", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains("\nkernel portable: 1 lane, in use\n"), "{text}");
    assert!(text.contains("\n3072 bytes in 3 chunks, kernel portable, 1 thread\n"), "{text}");
    assert!(text.contains("\n5 passes of 1 lane: 3 chunks, 2 parents\n"), "{text}");
    let ended = folder.treewide("explain").run();
    let text = ended.text();
    assert!(text.contains("\n1048576 bytes in 1024 chunks, "), "{text}");
    for length in ["65536B", "64k", "64KiB"] {
        let ended = folder.treewide(&format!("explain {length}")).run();
        assert!(
            ended.text().contains("\n65536 bytes in 64 chunks, "),
            "{length}: {}",
            ended.text()
        );
    }
    folder.treewide("explain 3Q").run().fails(2, &["3Q", "use K, M, G or T"]);
    for length in ["99999999T", "18446744073709551616"] {
        folder.treewide(&format!("explain {length}")).run().fails(2, &["more than 2^64 - 1"]);
    }
    for length in ["1.5.5", "K", "0x10", "1_000", "+5"] {
        let ended = folder.treewide(&format!("explain {length}")).run();
        ended.fails(2, &[length, "not a number of bytes"]);
    }
}
