//! Commands that messages name: each is run as it is printed, and has the effect that is said.

use crate::case::Case;
use crate::support::hex;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// `p` instead of `t`, which is the directory of `p.b3` then.
fn rename(case: &Case) {
    fs::rename(case.folder.join("t"), case.folder.join("p")).unwrap();
}

fn damage(case: &Case) {
    case.folder.write("p.b3.tw", case.folder.read("p.b3.tw") + "x\n");
}

fn empty(case: &Case) {
    fs::remove_dir_all(case.folder.join("t")).unwrap();
    fs::create_dir(case.folder.join("t")).unwrap();
}

/// What happened, what is run, how that ends, how the command ends that is named, and how the first one ends after that.
#[test]
fn ways_out_are_commands_that_work() {
    type Event = fn(&Case);
    let damaged_past: Event = |case| {
        fs::remove_file(case.folder.join("t/f2")).unwrap();
        case.run("update -q p.b3 t").is_code(0);
        case.folder.write("p.b3.past", case.folder.read("p.b3.past").replace("\"f2\"", "\"f3\""));
        case.folder.write("t/f2", "another");
    };
    let unmatched: Event = |case| {
        fs::write(case.folder.join(OsStr::from_bytes(b"t/\xff")), "good").unwrap();
        fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
        let line = format!("{}  \u{fffd}\n", hex("good"));
        case.folder.write("p.b3", case.folder.read("p.b3") + &line);
    };
    let unindexed: Event = |case| {
        case.folder.write("p.b3", "");
        fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    };
    let rows: &[(Event, &str, i32, i32, i32)] = &[
        (damage, "update p.b3 t", 3, 0, 0),
        (damage, "scrub -q --budget 7% p.b3 t", 3, 0, 0),
        (damage, "update -q -- p.b3 t", 3, 0, 0),
        (damage, "verify p.b3 t", 3, 0, 0),
        (|case| (damage(case), rename(case)).1, "dupes p.b3", 3, 0, 0),
        (|case| (damage(case), rename(case)).1, "scrub p", 3, 0, 0),
        (damaged_past, "verify p.b3 t", 3, 0, 0),
        (damaged_past, "scrub p.b3 t", 3, 0, 0),
        (unmatched, "update p.b3 t", 3, 3, 0),
        (unindexed, "scrub p.b3 t", 3, 0, 0),
        (empty, "scrub -q p.b3 t", 3, 0, 0),
        (empty, "update --max-removed 1 p.b3 t", 3, 0, 0),
        (|_| (), "snapshot t -o p.b3", 3, 0, 3),
        (|case| case.flip("f1"), "verify -q p.b3 t", 1, 0, 0),
        (rename, "manifest lines --algorithm sha256 p.b3", 3, 0, 0),
    ];
    for (event, command, first, way, then) in rows {
        let case = Case::new();
        event(&case);
        let ended = case.run(command).0;
        println!("{command}: {}", ended.stderr);
        assert_eq!(ended.code, Some(*first));
        case.folder.paste(ended.way_out()).fails(*way, &[]);
        case.run(command).is_code(*then);
    }
}

/// The glob that a message names is that of this file alone, whatever its name is.
#[test]
fn accepted_names_are_those_of_one_file() {
    let names: [&[u8]; 8] =
        [b"a b", b"it's", b"*", b"[x]{y}?", b"-x", b"new\nline", b"\xff", b"a\\b$(c)"];
    for name in names {
        let case = Case::new();
        let path = |folder: &str| case.folder.join(folder).join(OsStr::from_bytes(name));
        for folder in ["t", "t/d"] {
            fs::write(path(folder), "content").unwrap();
        }
        case.folder.age();
        case.run("update -q p.b3 t").is_code(0);
        for folder in ["t", "t/d"] {
            let time = fs::metadata(path(folder)).unwrap().modified().unwrap();
            fs::write(path(folder), "cOntent").unwrap();
            crate::case::set_time(&path(folder), time);
        }
        for left in [1, 0] {
            let ended = case.run("verify -q p.b3 t").0;
            assert_eq!(ended.code, Some(1), "{ended:?}");
            case.folder.paste(ended.way_out()).fails(left, &["1 accepted"]);
        }
        case.run("verify -q p.b3 t").is_code(0);
    }
}

/// Every command that takes a manifest takes its directory.
#[test]
fn directory_stands_for_its_manifest() {
    let case = Case::new();
    rename(&case);
    case.folder.write("copy/f1", "content of f1");
    for command in ["verify p", "update p", "scrub p/", "manifest stat p", "history p"] {
        case.run(command).is_code(0);
    }
    case.run("diff p copy").is_code(1).prints("REMOVED  f2");
    let program = case.folder.program("env").args(["-C", "p", crate::support::TREEWIDE]);
    program.args(["update", "."]).run().fails(0, &[]);
}

/// What is new comes first; what was said before says since when, and when it was right.
#[test]
fn new_doubts_come_before_those_that_are_known() {
    let case = Case::new();
    case.flip("d/f3");
    let said = case.run("scrub -q p.b3 t");
    assert!(!said.is_code(1).0.text().contains("since "), "{:?}", said.0);
    case.flip("f1");
    fs::copy(case.folder.join("t/d/f3"), case.folder.join("t/a")).unwrap();
    for command in ["verify -q p.b3 t", "scrub -q p.b3 t"] {
        let said = case.run(command);
        let name = |it| str::split_whitespace(it).nth(1);
        let rows: Vec<_> = said.is_code(1).0.text().lines().filter_map(name).collect();
        assert_eq!(rows, ["f1", "a", "d/f3"], "{:?}", said.0);
        said.prints("the content is not; only ctime moved; since 2")
            .prints("; what is recorded was last read on 2");
        assert!(said.0.stderr.contains("--accept-rot ./"), "{:?}", said.0);
    }
    let said = case.run("scrub --json p.b3 t");
    said.is_code(1).prints("\"since\":\"2");
}
