//! Manifests that are not replaced, although the new one is not made from them.

use crate::guards::Case;
use crate::support::{is_root, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Commands that write `p.b3`, and do not read it.
fn writers(dir: &str) -> [String; 2] {
    [format!("snapshot {dir} -o p.b3"), format!("update q.b3 {dir} -o p.b3")]
}

#[test]
fn index_whose_list_is_missing_is_not_replaced() {
    let case = Case::new();
    case.run("snapshot t -o q.b3").is_code(0);
    fs::remove_file(case.folder.join("p.b3")).unwrap();
    fs::create_dir(case.folder.join("empty")).unwrap();
    fs::rename(case.folder.join("t"), case.folder.join("p")).unwrap();
    let more = ["snapshot p", "snapshot empty -o p.b3"].map(str::to_owned);
    for command in writers("p").into_iter().chain(more) {
        let says = ["p.b3.tw: is there, and its list is missing", "nothing was written"];
        case.keeps(3, &command, &says);
    }
    case.keeps(3, "update p.b3 p", &["p.b3"]);
    case.run("snapshot p --accept-damage").is_code(0);
    case.run("verify p.b3 p").is_code(0);
}

#[test]
fn manifest_of_another_directory_is_not_replaced() {
    let case = Case::new();
    for name in ["x", "y"] {
        case.folder.write(format!("other/{name}"), name);
    }
    // A name alone says nothing.
    case.folder.write("other/f1", "README");
    case.run("snapshot other -o q.b3").is_code(0);
    for command in writers("other") {
        let says = ["p.b3: is a manifest, and", "any of its files as it was", "--allow-empty"];
        case.keeps(3, &command, &says);
    }
    // That of the same one is, also where files changed, moved and went.
    case.run("snapshot t -o q.b3 --allow-empty").is_code(0);
    fs::remove_file(case.folder.join("t/f2")).unwrap();
    case.folder.write("t/f1", "other");
    fs::rename(case.folder.join("t/d/f3"), case.folder.join("t/f4")).unwrap();
    for command in writers("t") {
        case.run(&command).is_code(0);
        case.run("verify p.b3 t").is_code(0);
        assert_eq!(case.folder.read("p.b3").lines().count(), 2);
    }
    case.run("snapshot other -o p.b3 --allow-empty").is_code(0);
    case.run("verify p.b3 other").is_code(0);
    // What new rules leave out is there all the same.
    let before = case.pair();
    case.run("snapshot other --exclude [xy] -o p.b3").is_code(0);
    assert_ne!(case.pair(), before);
}

#[test]
fn records_of_what_is_not_mounted_are_not_replaced() {
    if !is_root() {
        return skip("a mount that is missing", "only root can mount");
    }
    let case = Case::new();
    let at = case.folder.join("t/disk");
    fs::create_dir(&at).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&at).status();
    if !mount.is_ok_and(|it| it.success()) {
        return skip("a mount that is missing", "nothing can be mounted here");
    }
    for name in ["photo", "photo2"] {
        fs::write(at.join(name), name).unwrap();
    }
    case.run("update p.b3 t").is_code(0);
    case.run("snapshot t -o p.b3").is_code(0);
    assert!(Command::new("umount").arg(&at).status().unwrap().success());
    case.run("snapshot t -o q.b3").is_code(0);
    for command in writers("t") {
        let says = ["does not have any file that is recorded below disk", "--allow-empty"];
        case.keeps(3, &command, &says);
    }
    case.run("snapshot t -o p.b3 --allow-empty").is_code(0);
}

#[test]
fn records_of_what_cannot_be_read_are_not_replaced() {
    let (program, rights) = match is_root() {
        true => ("setpriv", "--bounding-set -dac_override,-dac_read_search"),
        false => ("env", ""),
    };
    let may = Command::new(program).args(rights.split_whitespace()).arg("true").output();
    if !may.is_ok_and(|it| it.status.success()) {
        return skip("files that root cannot read", "there is no setpriv that may");
    }
    for (path, lost) in [("f1", "f1"), ("d", "d")] {
        let case = Case::new();
        let mode = |mode| {
            let path = case.folder.join("t").join(path);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0);
        let before = case.pair();
        let ended = case
            .folder
            .program(program)
            .args(rights.split_whitespace())
            .arg(crate::support::TREEWIDE)
            .args(["snapshot", "t", "-o", "p.b3"])
            .run();
        let says = format!("p.b3: has a record of {lost}");
        ended.fails(3, &[&says, "could not be read", "nothing was written"]);
        assert!(case.pair() == before);
        mode(0o755);
        case.run("verify p.b3 t").is_code(0);
    }
}

#[test]
fn followed_links_to_what_is_off_are_not_replaced() {
    let case = Case::new();
    let disk = case.folder.join("disk");
    case.folder.write("disk/big", "content of big");
    symlink(disk.join("big"), case.folder.join("t/big")).unwrap();
    case.run("snapshot --follow t -o p.b3").is_code(0);
    fs::rename(&disk, case.folder.join("off")).unwrap();
    let list = case.folder.read("p.b3");
    for command in ["verify", "verify --quick", "update", "update --full", "scrub"] {
        let said = case.run(&format!("{command} p.b3 t"));
        said.is_code(3).prints("UNREADABLE big  (the link leads nowhere; mount the disk");
        assert_eq!(case.folder.read("p.b3"), list);
        case.has_old("big");
    }
    case.keeps(3, "snapshot --follow t -o p.b3", &["p.b3: has a record of big"]);
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
            .fails(3, &["none.b3: lists nothing", "second argument"]);
        assert!(pair() == before, "{command}");
    }
    assert!(!Path::new("none").exists());
    run("verify ../none.b3 ../away").fails(0, &[]);
    fs::rename(case.folder.join("away"), case.folder.join("none")).unwrap();
    run("verify ../none.b3").fails(0, &[]);
}

/// `update` keeps the old digests of such files, and `snapshot` cannot.
#[test]
fn digests_of_files_that_may_have_rotted_are_not_replaced() {
    for renames in [false, true] {
        for rots in [false, true] {
            let case = Case::new();
            if rots {
                case.rot("f1")
            } else {
                case.flip("f1")
            }
            if renames {
                fs::rename(case.folder.join("t/f1"), case.folder.join("t/f4")).unwrap();
            }
            // Made by who did not know the old digest.
            case.run("snapshot t -o q.b3").is_code(0);
            let name = if renames { "f4" } else { "f1" };
            let says = [
                "p.b3: has another digest of",
                name,
                "update` keeps the old one",
                "--accept-damage",
            ];
            for command in writers("t") {
                case.keeps(3, &command, &says);
            }
            case.run("update q.b3 t -o p.b3 --accept-rot f*").is_code(0);
            case.run("verify p.b3 t").is_code(0);
        }
    }
    // An edit is recorded, also of a file that was replaced by another one.
    let case = Case::new();
    case.folder.write("t/f1", "an edit");
    case.folder.write("t/new", "new content of f2");
    fs::rename(case.folder.join("t/new"), case.folder.join("t/f2")).unwrap();
    case.run("snapshot t -o q.b3").is_code(0);
    for command in writers("t") {
        case.run(&command).is_code(0);
    }
    case.flip("d/f3");
    case.run("snapshot t -o p.b3 --accept-damage").is_code(0);
    case.run("verify p.b3 t").is_code(0);
}

/// The old manifest has a digest of it that is older, and the file cannot be read.
#[test]
fn kept_digests_do_not_replace_newer_ones() {
    let case = Case::new();
    fs::copy(case.folder.join("p.b3"), case.folder.join("q.b3")).unwrap();
    fs::copy(case.folder.join("p.b3.tw"), case.folder.join("q.b3.tw")).unwrap();
    case.folder.write("t/f1", "newer content");
    case.run("update p.b3 t").is_code(0);
    case.flip("f1");
    case.keeps(3, "update q.b3 t -o p.b3", &["p.b3: has another digest of f1"]);
}

#[test]
fn snapshot_says_what_it_drops_of_the_manifest_in_its_place() {
    let case = Case::new();
    case.run("snapshot t --modes --exclude x* -o p.b3").is_code(0);
    let said = case.run("snapshot t --exclude f1 -o p.b3");
    said.is_code(0);
    let says = [
        "p.b3: the manifest that was here had permission bits and rules of exclusion, and the new one has not",
        "1 recorded path not covered any more by the rules, and not in the new manifest",
    ];
    said.0.fails(0, &says);
    let said = case.run("snapshot t -o p.b3");
    assert!(!said.0.stderr.contains("permission bits"), "{:?}", said.0);
}

/// What a link leads to, and what is hidden or elsewhere, is there: only the rules leave it out.
#[test]
fn snapshot_says_that_it_drops_what_only_the_old_rules_covered() {
    let case = Case::new();
    for name in ["out/a", "out/b", "t/.h"] {
        case.folder.write(name, name);
    }
    for (link, to) in [("folder", "../out"), ("file", "../out/a")] {
        symlink(to, case.folder.join("t").join(link)).unwrap();
    }
    let rules = "--follow --no-hidden --one-file-system";
    case.run(&format!("snapshot t {rules} -o p.b3")).is_code(0);
    // A directory, and three files by two links.
    let says = [
        "had the rule --follow and the rule --one-file-system and the rule --no-hidden, and the",
        "4 recorded paths not covered any more by the rules, and not in the new manifest",
    ];
    case.run("snapshot t -o p.b3").0.fails(0, &says);
    let says = "1 recorded path not covered any more by the rules, and not in the new manifest";
    case.run("snapshot t --no-hidden -o p.b3").0.fails(0, &[says]);
    // Where they lead nowhere, the files are gone.
    case.run("snapshot t --follow -o p.b3").is_code(0);
    fs::remove_dir_all(case.folder.join("out")).unwrap();
    let said = case.run("snapshot t -o p.b3");
    said.0.fails(0, &["had the rule --follow, and the new one has not"]);
    assert!(!said.0.stderr.contains("not covered any more"), "{:?}", said.0);
}
