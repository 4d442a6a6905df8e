//! Which directory a run takes, and which files of it an output replaces.

use crate::case::{Case, LEFT};
use crate::support::TREEWIDE;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

/// `photos` is next to `photos.b3`, and an empty mount point. The current directory, which has the names, is a backup.
#[test]
fn current_directory_is_not_taken_for_one_that_is_there() {
    let case = Case::new();
    let inside = |dir: &str, command: &str| {
        let program = case.folder.program("env").args(["-C", dir, TREEWIDE]);
        program.args(command.split_whitespace()).run()
    };
    fs::create_dir_all(case.folder.join("photos")).unwrap();
    for end in ["", ".tw"] {
        let [from, to] = ["p.b3", "photos.b3"].map(|it| case.folder.join(format!("{it}{end}")));
        fs::rename(from, to).unwrap();
    }
    let pair = || ["photos.b3", "photos.b3.tw"].map(|it| fs::read(case.folder.join(it)).unwrap());
    let before = pair();
    for command in ["verify", "verify --quick", "update", "scrub -q", "update --full"] {
        let says = ["photos.b3: none of its", "photos", "this directory", "mount"];
        inside("t", &format!("{command} ../photos.b3")).fails(3, &says);
        assert!(pair() == before, "{command}");
    }
    inside("t", "verify ../photos.b3 .").fails(0, &[]);
    // One name that is missing does not lead elsewhere.
    case.folder.write("photos/f1", "content of f1");
    case.folder.write("t/f2", "of the backup");
    inside("t", "verify ../photos.b3").fails(1, &["1 touched, 3 removed"]);
    // A link whose disk is off is not "none", nor is what cannot be entered.
    fs::remove_dir_all(case.folder.join("photos")).unwrap();
    let before = pair();
    for to in ["off/photos", "photos"] {
        std::os::unix::fs::symlink(to, case.folder.join("photos")).unwrap();
        for command in ["verify", "update", "scrub -q"] {
            let says = ["photos: is its disk mounted? Or name the right directory after the list"];
            inside("t", &format!("{command} ../photos.b3")).fails(3, &says);
            assert!(pair() == before, "{command}");
        }
        fs::remove_file(case.folder.join("photos")).unwrap();
    }
    // Without it, this directory is the one.
    inside("t", "update ../photos.b3").fails(0, &["1 changed"]);
}

/// All that is recorded is gone: no verdict says that files are as they were, and a disk may be off.
#[test]
fn verify_of_nothing_is_no_success() {
    let case = Case::new();
    fs::remove_file(case.folder.join("t/f1")).unwrap();
    case.run("verify --fail-on changed p.b3 t").is_code(0);
    for list in ["a.b3", "b.b3"] {
        case.folder.write(list, "");
    }
    case.run("diff a.b3 b.b3").0.fails(3, &["nothing was checked: the list names no file"]);
}

/// SHA-256 has as many digits as BLAKE3: each file would be changed.
#[test]
fn lists_of_other_algorithms_are_no_manifests() {
    let case = Case::new();
    let digits = "deadbeefdeadbeefdeadbeefdeadbeef";
    for name in ["SHA256SUMS", "sums.sha256"] {
        case.folder.write(name, format!("{digits}{digits}  f1\n"));
        for command in ["verify LIST t", "diff LIST p.b3", "update LIST t"] {
            let said = case.run(&command.replace("LIST", name));
            said.0.fails(3, &[name, "has digests of another algorithm than BLAKE3, by its name"]);
        }
    }
}

/// A name that a list cannot have is in the index.
#[test]
fn report_spares_files_that_only_the_index_names() {
    let case = Case::new();
    let name = OsStr::from_bytes(b"t/\xff");
    fs::write(case.folder.join(name), "mine").unwrap();
    case.run("update p.b3 t").is_code(0);
    for command in ["verify p.b3 t --json -o", "diff p.b3 t -o", "verify p.b3 t --html"] {
        let ended = case.folder.treewide(command).arg(name).run();
        ended.fails(2, &["is in the list, and the output would replace it"]);
        assert_eq!(fs::read(case.folder.join(name)).unwrap(), b"mine");
    }
}

/// Lists and tokens are files of the tree.
#[test]
fn sum_replaces_no_file_of_the_tree() {
    let case = Case::new();
    let digits = "deadbeefdeadbeefdeadbeefdeadbeef";
    let line = format!("{digits}{digits}  f1\n");
    for (name, content) in [
        ("SHA256SUMS", line.clone()),
        ("MD5SUMS", format!("{digits}  f1\n")),
        ("md5", format!("{digits}  f1\n")),
        ("token", format!("{digits}{digits}\n")),
        ("key", format!("{digits}\n")),
    ] {
        let path = format!("t/{name}");
        case.folder.write(&path, &content);
        let says = [name, "is a file in t, which is an input", "name another file"];
        case.keeps(2, &format!("sum -r t --force -o {path}"), &says);
        assert_eq!(case.folder.read(&path), content);
    }
    // A new list is left out of its own walk.
    case.run("sum -r t -o t/new").is_code(0);
    assert!(!case.folder.read("t/new").contains("t/new"));
}

#[test]
fn check_says_that_a_list_was_cut() {
    let case = Case::new();
    let list = case.folder.read("p.b3");
    for name in ["f1", "f2", "d/f3"] {
        case.folder.write(name, format!("content of {name}"));
    }
    let cut: String = list.split_inclusive('\n').take(2).collect();
    case.folder.write("p.b3", cut);
    let says = ["p.b3.tw: ", "files may be gone from p.b3", "2 files checked: 2 OK"];
    case.keeps(0, "check p.b3", &says);
}

/// As after a run that was killed while it overwrote a list that cannot be renamed over.
#[test]
fn damaged_list_names_the_whole_one_that_could_not_get_there() {
    let case = Case::new();
    let left = case.folder.join(LEFT);
    let whole = case.folder.read("p.b3");
    case.folder.write("p.b3", &whole[..whole.len() - 10]);
    // What is not marked is a leftover, which the next run removes.
    for mode in [0o644, 0o444] {
        fs::write(&left, &whole).unwrap();
        fs::set_permissions(&left, fs::Permissions::from_mode(mode)).unwrap();
        for command in ["verify p.b3 t", "update p.b3 t", "missing t p.b3"] {
            let said = case.keeps(3, command, &["p.b3:3: "]);
            let names = said.0.stderr.contains(&format!("or copy {LEFT} over it"));
            assert_eq!(names, mode == 0o444, "{command}");
        }
    }
    fs::write(case.folder.join("p.b3"), fs::read(&left).unwrap()).unwrap();
    case.run("verify p.b3 t").is_code(0);
}

/// `b3sum` writes U+FFFD for bytes that are not UTF-8: no one knows which file the line is of.
#[test]
fn line_that_is_of_no_known_file_is_not_dropped() {
    let case = Case::new();
    fs::write(case.folder.join(OsStr::from_bytes(b"t/\xff")), "good").unwrap();
    case.folder.treewide("sum -q -r . -o ../l").at(case.folder.join("t")).run().fails(0, &[]);
    let list = case.folder.read("l");
    assert!(list.contains('\u{fffd}'), "{list}");
    let says = ["l: has a record of \u{fffd}, which would be lost", "--accept-damage"];
    case.keeps(3, "update l t", &says);
    assert_eq!(case.folder.read("l"), list);
    case.run("update l t --accept-damage").is_code(3).prints("NOT-CHECKABLE");
    case.run("verify l t").is_code(0);
}

/// The index may be on a disk that is off: a link that leads nowhere says that there was one.
#[test]
fn index_that_a_link_does_not_lead_to_is_missing() {
    let case = Case::new();
    let index = case.folder.join("p.b3.tw");
    fs::rename(&index, case.folder.join("index")).unwrap();
    std::os::unix::fs::symlink("disk/index", &index).unwrap();
    let commands = "verify p.b3 t,verify --quick p.b3 t,update p.b3 t,diff p.b3 t,missing t p.b3,missing p.b3 t,dupes p.b3";
    for command in commands.split(',') {
        case.keeps(3, command, &["p.b3.tw: "]);
    }
}

/// No program changes a size without moving ctime. The doubt stays, whatever is done to the file.
#[test]
fn another_size_with_all_times_as_recorded_is_rot() {
    let case = Case::new();
    let path = case.folder.join("t/f1");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "content of f1, and more").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    case.rot("f1");
    let said = case.run("update p.b3 t");
    assert_eq!((said.0.code, said.0.text().starts_with("ROT")), (Some(1), true), "{:?}", said.0);
    for (then, name) in [("chmod 600 t/f1", "f1"), ("mv t/f1 t/zz", "zz"), ("ln t/zz t/a", "a")] {
        let mut words = then.split(' ');
        let ended = case.folder.program(words.next().unwrap()).args(words).run();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let said = case.run("update p.b3 t");
        assert_eq!(said.0.code, Some(1), "{then} {:?}", said.0);
        let is_told = said.0.text().lines().any(|it| it.starts_with(&format!("SUSPECT  {name}")));
        assert!(is_told, "{then} {:?}", said.0);
    }
}

/// A disk that is off is one line, and not one for each file.
#[test]
fn verify_of_a_directory_without_a_recorded_file_is_one_line() {
    let case = Case::new();
    fs::create_dir(case.folder.join("e")).unwrap();
    for file in [None, Some("e/other")] {
        if let Some(file) = file {
            case.folder.write(file, "other");
        }
        let commands = "verify,verify -q,verify --quick,verify --only f1,verify --fail-on changed,verify -q --fail-on changed,diff";
        for command in commands.split(',') {
            let said = case.run(&format!("{command} p.b3 e")).0;
            let says = "nothing was checked: none of the recorded files is there; see that the disk is mounted";
            said.fails(3, &[says]);
            assert_eq!(said.text(), "", "{command}");
        }
    }
    fs::rename(case.folder.join("t/d"), case.folder.join("t/e")).unwrap();
    for name in ["f1", "f2"] {
        fs::remove_file(case.folder.join("t").join(name)).unwrap();
    }
    case.run("verify p.b3 t").is_code(1).prints("MOVED    d/f3 -> e/f3").prints("REMOVED  f1");
}

#[test]
fn snapshot_of_links_says_that_nothing_was_read() {
    let case = Case::new();
    for name in ["l", "m"] {
        fs::create_dir_all(case.folder.join("links")).unwrap();
        std::os::unix::fs::symlink("../t/f1", case.folder.join("links").join(name)).unwrap();
    }
    let says = "no file was read: 2 symbolic links recorded and not followed";
    case.run("snapshot links -o l.b3").0.fails(0, &[says]);
    let said = case.run("snapshot --follow links -o m.b3").0;
    assert!(!said.stderr.contains("symbolic link"), "{said:?}");
}

/// The run that finds it missing says so, and names the files that it cannot tell from rot.
#[test]
fn index_that_is_lost_is_said_aloud() {
    let case = Case::new();
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    case.folder.write("t/f1", "an edit");
    let said = case.run("scrub -q p.b3 t");
    said.is_code(1).prints("CHANGED  f1");
    said.0.fails(1, &["p.b3.tw: is not there, so every file is read", "update --accept-rot ./f1"]);
    let said = case.run("scrub -q p.b3 t");
    said.is_code(1).prints("CHANGED  f1");
    case.run("update --accept-rot ./f1 p.b3 t").is_code(0);
    let said = case.run("scrub -q p.b3 t").0;
    assert_eq!((said.code, said.text(), &*said.stderr), (Some(0), "", ""));
}

/// `verify` found the rot; nothing shows it, so that `update` would not read the file.
#[test]
fn file_that_is_accepted_is_read() {
    let case = Case::new();
    case.rot("f1");
    case.run("verify p.b3 t").is_code(1).prints("ROT      f1");
    case.run("update --accept-rot ./f1 p.b3 t").is_code(0);
    case.run("verify p.b3 t").is_code(0);
    assert!(case.folder.read("p.b3.past").contains(&crate::support::hex("content of f1")));
}
