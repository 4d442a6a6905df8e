//! Manifests that a snapshot does not replace, and directories that are not chosen.

use crate::case::Case;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Whatever is in its place: a list or an index, sound or damaged, of this directory or of another one.
#[test]
fn snapshot_replaces_no_manifest() {
    let case = Case::new();
    fs::create_dir(case.folder.join("empty")).unwrap();
    let index = case.folder.read("p.b3.tw");
    let cut = &index[..index.trim_end().rfind('\n').unwrap() + 1];
    for (list, index) in [(None, None), (Some("cut\n"), None), (None, Some(cut)), (None, Some(""))]
    {
        for (name, text) in [("p.b3", list), ("p.b3.tw", index)] {
            if let Some(text) = text {
                case.folder.write(name, text);
            }
        }
        for command in ["snapshot t -o p.b3", "snapshot empty -o p.b3", "snapshot -q t -o p.b3"] {
            let says = ["p.b3: is ", "treewide update p.b3", "nothing was written"];
            let says = if list.is_some() { &["p.b3"][..] } else { &says };
            case.keeps(3, command, says);
        }
        if list.is_some() {
            let line = format!("{}  f1\n", crate::support::hex("content of f1"));
            case.folder.write("p.b3", line);
        }
    }
    // The way out that it names.
    let case = Case::new();
    case.run("update --full --replace-rules --modes p.b3 t").is_code(0);
    // An empty file has no record.
    case.folder.write("new.b3", "");
    case.run("snapshot t -o new.b3").is_code(0);
}

#[test]
fn index_whose_list_is_missing_is_not_replaced() {
    let case = Case::new();
    fs::remove_file(case.folder.join("p.b3")).unwrap();
    fs::rename(case.folder.join("t"), case.folder.join("p")).unwrap();
    for command in ["snapshot p", "snapshot p -o p.b3"] {
        let says = ["p.b3.tw: is there, and its list is missing", "remove the index as well"];
        case.keeps(3, command, &says);
    }
    case.keeps(3, "update p.b3 p", &["p.b3"]);
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    case.run("snapshot p").is_code(0);
    case.run("verify p.b3 p").is_code(0);
}

#[test]
fn followed_links_to_what_is_off_keep_their_records() {
    let case = Case::new();
    let disk = case.folder.join("disk");
    case.folder.write("disk/big", "content of big");
    symlink(disk.join("big"), case.folder.join("t/big")).unwrap();
    case.run("update --follow p.b3 t").is_code(0);
    fs::rename(&disk, case.folder.join("off")).unwrap();
    let list = case.folder.read("p.b3");
    for command in ["verify", "verify --quick", "update", "update --full", "scrub"] {
        let said = case.run(&format!("{command} p.b3 t"));
        said.is_code(3).prints("UNREADABLE big  (the link leads nowhere; mount the disk");
        assert_eq!(case.folder.read("p.b3"), list);
        case.has_old("big");
    }
    fs::rename(case.folder.join("off"), &disk).unwrap();
    case.run("update p.b3 t").is_code(0);
    case.run("verify p.b3 t").is_code(0);
    // Its user removes a link that is of no use any more.
    fs::remove_file(case.folder.join("t/big")).unwrap();
    case.run("update p.b3 t").is_code(0).prints("REMOVED  big");
}

#[test]
fn list_that_names_nothing_does_not_choose_a_directory() {
    let case = Case::new();
    let run = |command: &str| {
        let program = case.folder.program("env").args(["-C", "t", crate::support::TREEWIDE]);
        program.args(command.split_whitespace()).run()
    };
    fs::create_dir(case.folder.join("none")).unwrap();
    case.run("snapshot none -o none.b3").is_code(0);
    fs::rename(case.folder.join("none"), case.folder.join("away")).unwrap();
    let pair = || ["none.b3", "none.b3.tw"].map(|it| fs::read(case.folder.join(it)).unwrap());
    let before = pair();
    for command in ["scrub", "update", "verify"] {
        run(&format!("{command} ../none.b3"))
            .fails(3, &["none.b3: lists nothing", "after the list"]);
        assert!(pair() == before, "{command}");
    }
    assert!(!Path::new("none").exists());
    run("verify ../none.b3 ../away").fails(0, &[]);
    fs::rename(case.folder.join("away"), case.folder.join("none")).unwrap();
    run("verify ../none.b3").fails(0, &[]);
}
