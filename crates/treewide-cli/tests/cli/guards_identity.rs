//! Proof that a directory is the one that a manifest records.

use crate::guards::Case;
use crate::support::{is_root, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const SAYS: &str = "does not have any recorded file as it was";

/// A directory of `t` has files that are recorded under longer names.
#[test]
fn directory_below_does_not_replace_the_record_of_the_one_above() {
    let case = Case::new();
    for at in 1..4 {
        case.folder.write(format!("t/x/y/k{at}"), format!("k{at}"));
    }
    // More than are looked for before the run.
    for at in 0..1100 {
        case.folder.write(format!("t/a/{at}"), at.to_string());
    }
    case.run("update p.b3 t").is_code(0);
    for dir in ["t/x/y", "t/x", "t/d"] {
        for command in ["update p.b3", "update --full p.b3"] {
            case.keeps(3, &format!("{command} {dir}"), &["nothing was written", "--allow-empty"]);
        }
    }
    // It has most of the files, and a README of the same name.
    let says = ["which the list calls a/", "--allow-empty"];
    case.folder.write("t/a/f1", "other content");
    for command in ["update p.b3 t/a"] {
        case.keeps(3, command, &says);
    }
}

/// As in a tree of `cp -al`, or of rsnapshot.
#[test]
fn hard_link_to_one_file_does_not_stand_for_the_directory() {
    for name in ["zz", "f1"] {
        let case = Case::new();
        case.folder.write("e/other", "other");
        fs::hard_link(case.folder.join("t/f1"), case.folder.join("e").join(name)).unwrap();
        // The index has the ctime of the link.
        case.folder.age();
        case.run("update p.b3 t").is_code(0);
        for command in ["update p.b3 e", "scrub p.b3 e"] {
            case.keeps(3, command, &["as it was", "--allow-empty"]);
        }
        case.run("verify p.b3 t").is_code(0);
    }
}

/// No name is as it was, and nothing is gone.
#[test]
fn moved_files_are_there() {
    for command in ["update p.b3 t"] {
        let case = Case::new();
        case.folder.write("t/d/f4", "content of d/f4");
        case.run("update p.b3 t").is_code(0);
        fs::rename(case.folder.join("t/d"), case.folder.join("t/e")).unwrap();
        for name in ["f1", "f2"] {
            let to = case.folder.join(format!("t/e/new{name}"));
            fs::rename(case.folder.join(format!("t/{name}")), to).unwrap();
        }
        // Fewer are gone than moved.
        fs::remove_file(case.folder.join("t/e/f4")).unwrap();
        case.run(command).is_code(0);
        case.run("verify p.b3 t").is_code(0);
    }
    // Most are gone, and one moved.
    let case = Case::new();
    for name in ["f1", "f2"] {
        fs::remove_file(case.folder.join(format!("t/{name}"))).unwrap();
    }
    fs::rename(case.folder.join("t/d"), case.folder.join("t/e")).unwrap();
    for command in ["update p.b3 t"] {
        case.keeps(3, command, &["as it was", "--allow-empty"]);
    }
    case.run("update --allow-empty p.b3 t").is_code(0).prints("MOVED    d/f3");
}

/// A user may delete most files. A file that no one touched is proof, and one that someone touched is not.
#[test]
fn one_untouched_file_is_enough_where_most_are_gone() {
    let case = Case::new();
    for at in 0..20 {
        case.folder.write(format!("t/many{at}"), at.to_string());
    }
    case.folder.age();
    case.run("update p.b3 t").is_code(0);
    for at in 0..20 {
        fs::remove_file(case.folder.join(format!("t/many{at}"))).unwrap();
    }
    for name in ["f1", "f2", "d/f3"] {
        let path = case.folder.join(format!("t/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    for command in ["update p.b3 t", "update --full p.b3 t"] {
        case.keeps(3, command, &[SAYS, "--allow-empty"]);
    }
    let case = Case::new();
    case.folder.age();
    case.run("update p.b3 t").is_code(0);
    for name in ["f1", "f2"] {
        fs::remove_file(case.folder.join(format!("t/{name}"))).unwrap();
    }
    case.run("update p.b3 t").is_code(0).prints("REMOVED  f1");
}

/// Docker makes directories in the place of files that it cannot mount; a link may lead to a disk that is off.
#[test]
fn tree_of_replaced_files_is_another_one() {
    type Make = fn(&Path);
    let makes: [Make; 2] = [|at| fs::create_dir(at).unwrap(), |at| symlink("nowhere", at).unwrap()];
    for make in makes {
        let case = Case::new();
        for name in ["f1", "f2", "d/f3"] {
            let path = case.folder.join(format!("t/{name}"));
            fs::remove_file(&path).unwrap();
            make(&path);
        }
        case.folder.write("t/new", "new");
        for command in ["update p.b3 t", "update --full p.b3 t"] {
            case.keeps(3, command, &["as it was", "--allow-empty"]);
        }
        case.run("update --allow-empty p.b3 t").is_code(0).prints("REPLACED-TYPE f1");
    }
}

/// The same below a disk.
#[test]
fn replaced_files_below_a_mount_are_gone() {
    let case = Case::new();
    let at = case.folder.join("t/disk");
    fs::create_dir(&at).unwrap();
    let run = |program: &str, args: &[&str]| {
        Command::new(program).args(args).arg(&at).status().is_ok_and(|it| it.success())
    };
    if !is_root() || !run("mount", &["-t", "tmpfs", "tmpfs"]) {
        return skip("a mount that is missing", "nothing can be mounted here");
    }
    fs::write(at.join("p"), "photo").unwrap();
    case.run("update p.b3 t").is_code(0);
    assert!(run("umount", &[]));
    fs::create_dir(at.join("p")).unwrap();
    for command in ["update p.b3 t", "update --full p.b3 t"] {
        case.keeps(3, command, &["recorded below disk", "mount it", "--allow-empty"]);
    }
}

/// Also where the mount has no device of its own, or one whose number does not last.
#[test]
fn missing_and_dupes_do_not_believe_a_directory_without_its_mount() {
    for args in [["-t", "tmpfs", "tmpfs"].as_slice(), &["--bind", "real"]] {
        let case = Case::new();
        let at = case.folder.join("t/mnt");
        for dir in ["t/mnt", "real"] {
            fs::create_dir(case.folder.join(dir)).unwrap();
        }
        let run = |program: &str, args: &[&str]| {
            let dir = case.folder.join("real");
            Command::new(program)
                .args(
                    args.iter().map(|it| if *it == "real" { dir.as_os_str() } else { it.as_ref() }),
                )
                .arg(&at)
                .status()
                .is_ok_and(|it| it.success())
        };
        if !is_root() || !run("mount", args) {
            return skip("a mount that is missing", "nothing can be mounted here");
        }
        for name in ["b1", "b2"] {
            fs::write(at.join(name), name).unwrap();
        }
        case.folder.age();
        case.run("snapshot t").is_code(0);
        for name in ["f1", "f2", "d/f3"] {
            case.folder.write(format!("e/{name}"), format!("content of {name}"));
        }
        case.run("missing t e").is_code(1).prints("b1");
        assert!(run("umount", &[]));
        let says = ["t.b3: has files below mnt", "was mounted", "mount it", "update"];
        for command in ["missing t e", "missing e t", "dupes t e"] {
            case.run(command).0.fails(3, &says);
        }
        // A README in the mount point is not the disk.
        fs::write(at.join("b1"), "b1").unwrap();
        case.run("missing t e").0.fails(3, &says);
        // A copy of all is.
        fs::write(at.join("b2"), "b2").unwrap();
        case.run("update p.b3 t").is_code(0);
        // A mount may also hide files.
        fs::remove_dir_all(&at).unwrap();
        case.run("update t.b3 --allow-empty").is_code(0);
        let at = case.folder.join("t/d");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&at).status();
        assert!(mounted.unwrap().success());
        let said = case.run("missing t e");
        assert!(Command::new("umount").arg(&at).status().unwrap().success());
        said.0.fails(3, &["t.b3: has files below d", "is mounted now", "unmount it"]);
        case.run("missing t e").is_code(0);
    }
}
