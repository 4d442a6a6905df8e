//! A file that is named as an input and that standard output goes to.
//!
//! The ways in which that shows:
//! - the shell has emptied it (`>`), or it is added to (`>>`), or opened for both (`1<>`)
//! - it is named by a pattern, by another path, a symbolic or hard link, or as `/dev/stdout`
//! - plain, tagged, JSON, without names; with `-o -`, `-o /dev/stdout`; `-r` with the file named; `--raw`

use crate::support::{Folder, TREEWIDE, hex, skip, sums};
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn an_output_that_is_named_is_passed_over() {
    let note = |name: &str| format!("treewide: {name}: skipped: this is where the output goes\n");
    for (script, name) in [
        ("\"$0\" sum * > SUMS", "SUMS"),
        ("\"$0\" sum ./* > SUMS", "./SUMS"),
        ("\"$0\" sum a b SUMS > SUMS", "SUMS"),
        ("\"$0\" sum SUMS a b >> SUMS", "SUMS"),
        ("\"$0\" sum a b SUMS 1<> SUMS", "SUMS"),
        ("\"$0\" sum -r * > SUMS", "SUMS"),
        ("\"$0\" sum * -o - > SUMS", "SUMS"),
        ("\"$0\" sum --threads 1 --no-mmap * > SUMS", "SUMS"),
        ("\"$0\" sum a b \"$PWD/SUMS\" > SUMS", "/SUMS"),
        ("ln SUMS ../hard 2>/dev/null; \"$0\" sum a b ../hard > SUMS; rm ../hard", "../hard"),
        ("\"$0\" sum a b ../link > SUMS", "../link"),
        ("\"$0\" sum a b /dev/stdout > SUMS", "/dev/stdout"),
        ("\"$0\" sum * -o /dev/stdout > SUMS", "SUMS"),
    ] {
        if script.contains("/dev/stdout") && !Path::new("/proc/self/fd/1").exists() {
            skip(script, "there is no /proc");
            continue;
        }
        let folder = Folder::new();
        for (name, content) in [("d/a", "a"), ("d/b", "b"), ("d/SUMS", "")] {
            folder.write(name, content);
        }
        symlink("d/SUMS", folder.join("link")).unwrap();
        let script = format!("cd d; {script}");
        let ended = folder.program("sh").args(["-c", &script, TREEWIDE]).run();
        assert!(ended.stderr.ends_with(&note(name)[10..]), "{script}: {ended:?}");
        assert_eq!(ended.code, Some(0), "{script}: {ended:?}");
        let list = folder.read("d/SUMS").replace("./", "");
        assert_eq!(list, sums(&["a", "b"]), "{script}");
    }
    for (args, line) in [
        ("--tag", format!("BLAKE3 (a) = {}\n", hex("a"))),
        ("--no-names", hex("a") + "\n"),
        ("-q", sums(&["a"])),
    ] {
        let folder = Folder::with(&["a", "SUMS"]);
        let script = format!("\"$0\" sum {args} * > SUMS");
        let ended = folder.program("sh").args(["-c", &script, TREEWIDE]).run();
        let note = if args == "-q" { String::new() } else { note("SUMS") };
        ended.is(0, "", note);
        assert_eq!(folder.read("SUMS"), line);
    }
}

#[test]
fn a_raw_digest_of_the_output_is_an_error() {
    let folder = Folder::with(&["a"]);
    let script = "\"$0\" sum --raw a >> a";
    let ended = folder.program("sh").args(["-c", script, TREEWIDE]).run();
    ended.is(1, "", "treewide: a: this is where the output goes\n");
    assert_eq!(folder.read("a"), "a");
}

#[test]
fn other_files_are_not_passed_over() {
    let folder = Folder::with(&["a", "SUMS.old"]);
    let script = "cp a c; \"$0\" sum * > ../list; cat ../list; rm ../list";
    folder.write("d/a", "a");
    let script = format!("cd d; {script}");
    let ended = folder.program("sh").args(["-c", &script, TREEWIDE]).run();
    ended.is(0, format!("{0}  a\n{0}  c\n", hex("a")), "");
    // A pipe and a terminal are not files; standard input is not a name.
    let ended =
        folder.program("sh").args(["-c", "\"$0\" sum a - < SUMS.old | cat", TREEWIDE]).run();
    ended.is(0, format!("{}  a\n{}  -\n", hex("a"), hex("SUMS.old")), "");
}

/// Under this name the program does what b3sum does.
#[test]
fn b3sum_lists_its_output() {
    let folder = Folder::with(&["a"]);
    let script = "exec -a b3sum \"$0\" a SUMS > SUMS";
    let ended = folder.program("bash").args(["-c", script, TREEWIDE]).run();
    ended.is(0, "", "");
    assert_eq!(folder.read("SUMS").lines().count(), 2);
}

#[test]
fn b3sum_has_the_version_that_scripts_ask_for() {
    let folder = Folder::new();
    let version = concat!("b3sum 1.8.7 (treewide ", env!("CARGO_PKG_VERSION"), ")\n");
    let asked = |flag| folder.program(TREEWIDE).named("b3sum").arg(flag).run();
    asked("-V").succeeds_with(version);
    let long = asked("--version");
    assert!(long.text().starts_with(version) && long.text().contains("\nkernel: "), "{long:?}");
}
