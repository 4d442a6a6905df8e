//! `dupes` and `missing` where one file is reached twice: by links that are followed, mounts, and lists of the same directory.

use crate::support::{Folder, hex, is_root, skip};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

/// Makes manifests next to these directories.
fn snapshots(folder: &Folder, dirs: &[&str]) {
    folder.age();
    for dir in dirs {
        folder.treewide(&format!("snapshot -q {dir}")).run().fails(0, &[]);
    }
}

/// A directory in memory that is there twice, as `d/p` and as `m`.
struct Twice(Folder);

impl Twice {
    /// `None` where nothing can be mounted.
    fn new() -> Option<Self> {
        let twice = Self(Folder::new());
        for dir in ["d", "m"] {
            fs::create_dir(twice.0.join(dir)).unwrap();
        }
        let is_there = is_root() && twice.run("mount", &["-t", "tmpfs", "tmpfs", "d"]);
        is_there.then_some(())?;
        twice.0.write("d/p/y", "one");
        twice.0.write("d/p/s/z", "two");
        twice.run("mount", &["--bind", "d/p", "m"]).then_some(twice)
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.join("")).stderr(Stdio::null());
        command.status().is_ok_and(|it| it.success())
    }
}

impl Drop for Twice {
    fn drop(&mut self) {
        for dir in ["m", "d"] {
            self.run("umount", &[dir]);
        }
    }
}

/// Who keeps the first of each group must not lose the last copy.
#[test]
fn links_that_are_followed_do_not_stand_for_their_files() {
    let folder = Folder::new();
    for name in ["t/P/f", "t/Q/f"] {
        folder.write(name, "content");
    }
    for name in ["t/P/g", "t/Q/g"] {
        folder.write(name, "another");
    }
    fs::create_dir(folder.join("t/A")).unwrap();
    symlink("../Q/f", folder.join("t/A/l")).unwrap();
    symlink("../Q", folder.join("t/A/ld")).unwrap();
    folder.treewide("snapshot -q --follow t").run().fails(0, &[]);
    folder.treewide("dupes -q -0 t").run().succeeds_with("t/P/\0t/Q/\0\0");
    folder.treewide("dupes t.b3").run().fails(0, &["; 3 names through links not counted; "]);
    let files = "t/P/f\0t/Q/f\0\0t/P/g\0t/Q/g\0\0";
    for verify in ["", "--verify=read"] {
        let ended = folder.treewide(&format!("dupes -q -0 {verify} t.b3")).run();
        let mut found: Vec<_> = ended.text().split_inclusive("\0\0").collect();
        found.sort_unstable();
        assert_eq!(found.concat(), files);
    }
    // A hard link of a link would lead nowhere.
    let ended = folder.treewide("dupes -q --fclones t.b3").run();
    assert!(ended.text().contains("t/Q/f") && !ended.text().contains("t/A"), "{ended:?}");
    // A plain list of the same names.
    folder.treewide("sum -q t/A/l t/P/f t/P/g t/Q/f t/Q/g -o list").run().fails(0, &[]);
    let ended = folder.treewide("dupes -q list").run();
    assert!(
        ended.text().contains("2 folders of ?, 2 files in each\n  t/P/\n  t/Q/\n"),
        "{ended:?}"
    );
    assert!(!ended.text().contains("t/A"), "{ended:?}");
}

#[test]
fn a_directory_that_is_mounted_twice_has_no_copies() {
    let Some(twice) = Twice::new() else {
        return skip("one directory that is mounted twice", "nothing can be mounted here");
    };
    let folder = &twice.0;
    snapshots(folder, &["d/p", "m", "m/s -o s.b3"]);
    for args in ["dupes d/p.b3 m.b3", "dupes d/p m.b3", "dupes --verify=read -0 d/p.b3 m.b3"] {
        folder.treewide(args).run().fails(2, &["m.b3: has files of d/p", "name one of them"]);
    }
    for args in ["missing d/p m.b3", "missing d/p.b3 m.b3", "missing d/p.b3 m", "missing d/p m"] {
        folder.treewide(args).run().fails(1, &["2 of 2 files missing", "not counted: 2 files"]);
    }
    // A part of it.
    for args in ["dupes -q --root m/s d/p.b3 s.b3", "dupes -q -0 --root m/s d/p s.b3"] {
        folder.treewide(args).run().succeeds_with("");
    }
}

#[test]
fn missing_knows_files_of_the_first_that_another_reaches() {
    let folder = Folder::new();
    folder.write("out/y", "one");
    folder.write("home/phone/1", "two");
    fs::create_dir_all(folder.join("a")).unwrap();
    fs::create_dir_all(folder.join("lists")).unwrap();
    symlink("../out/y", folder.join("a/l")).unwrap();
    snapshots(&folder, &["out", "--follow a", "home -o lists/home.b3"]);
    snapshots(&folder, &["home/phone -o lists/phone.b3"]);
    folder.treewide("sum -q a/l -o fav.txt").run().fails(0, &[]);
    for args in [
        "missing out a",
        "missing out.b3 a",
        "missing out.b3 a.b3",
        "missing out fav.txt",
        "missing out.b3 fav.txt",
        "missing home/phone lists/home.b3",
        "missing lists/phone.b3 home",
        "missing lists/phone.b3 lists/home.b3",
    ] {
        folder
            .treewide(args)
            .run()
            .fails(1, &["1 of 1 file missing", "not counted: 1 file of the"]);
    }
    // What a link leads to is not in the first.
    folder.treewide("missing a out").run().fails(0, &["0 of 1 file missing"]);
    // The record of the first, alone and under another name.
    folder.treewide("missing home/phone lists/phone.b3").run().fails(0, &["0 of 1 file missing"]);
    // Another name outside stays.
    fs::hard_link(folder.join("home/phone/1"), folder.join("home/2")).unwrap();
    folder.treewide("missing home/phone home").run().fails(0, &["0 of 1 file missing"]);
}

#[test]
fn missing_does_not_count_the_record_of_the_first_among_others() {
    let folder = Folder::new();
    folder.write("phone/1", "one");
    folder.write("backup/2", "two");
    fs::create_dir(folder.join("lists")).unwrap();
    snapshots(&folder, &["phone", "backup", "phone -o lists/phone.b3"]);
    for args in [
        "missing phone backup.b3 phone.b3",
        "missing phone backup.b3 lists/phone.b3",
        "missing phone.b3 backup lists/phone.b3",
    ] {
        folder
            .treewide(args)
            .run()
            .fails(1, &["1 of 1 file missing", "not counted: 1 file of the"]);
    }
    folder.treewide("missing phone phone.b3").run().fails(0, &["0 of 1 file missing"]);
    folder.write("backup/1", "one");
    folder.treewide("missing phone phone.b3 backup").run().fails(0, &["0 of 1 file missing"]);
}

#[test]
fn dupes_do_not_take_a_directory_and_an_old_record_of_it_for_two() {
    let folder = Folder::new();
    folder.write("photos/1", "one");
    folder.write("photos/2", "two");
    fs::create_dir(folder.join("lists")).unwrap();
    snapshots(&folder, &["photos -o lists/old.b3"]);
    folder.treewide("dupes -q photos lists/old.b3").run().succeeds_with("");
    fs::copy(folder.join("photos/1"), folder.join("photos/3")).unwrap();
    let lines = "3 B  2 files of 3 B\n  photos/1\n  photos/3\n  lists/old.b3:1  (another name of photos/1)\n";
    folder.treewide("dupes -q photos lists/old.b3").run().succeeds_with(lines);
}

#[test]
fn dupes_verify_lists_files_where_a_list_alone_knows_the_folders() {
    let folder = Folder::new();
    for name in ["P/a/k", "P/b/k"] {
        folder.write(name, "k");
    }
    for name in ["P/a/e", "P/b/e"] {
        folder.write(name, "");
    }
    snapshots(&folder, &["P"]);
    folder.write("P/b/e", "precious");
    for verify in ["", "--verify", "--verify=read"] {
        let args = format!("dupes -q {verify} -0 P.b3");
        folder.treewide(&args).run().succeeds_with("P/a/k\0P/b/k\0\0");
    }
}

/// A file that got an older time with its new content escapes `fclones`.
#[test]
fn dupes_for_fclones_look_at_recorded_files() {
    let folder = Folder::new();
    let set_old = |name: &str| {
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
        file.set_modified(old).unwrap();
    };
    for name in ["p/a", "p/b"] {
        folder.write(name, "0123");
        set_old(name);
    }
    snapshots(&folder, &["p"]);
    folder.write("p/b", "9999");
    set_old("p/b");
    let ended = folder.treewide("dupes --fclones p.b3").run();
    assert!(ended.text().ends_with("\"groups\":[\n]}\n"), "{ended:?}");
    ended.fails(1, &["p/b: has another content than recorded", "1 is not as recorded"]);
    // So it is for `xargs -0`.
    let ended = folder.treewide("dupes -0 p.b3").run();
    assert_eq!(ended.text(), "", "{ended:?}");
    ended.fails(1, &["p/b: has another content than recorded", "1 is not as recorded"]);
}

#[test]
fn paths_of_a_plain_list_are_those_of_its_files_only_if_verified() {
    let folder = Folder::new();
    folder.write("z/a", "other");
    folder.write("list", format!("{0}  z/a\n{0}  y/a\n", hex("one")));
    let ended = folder.treewide("dupes -q -0 list").run();
    assert_eq!((ended.code, ended.text()), (Some(1), ""));
    let ended = folder.treewide("dupes -q --json list").run();
    assert_eq!(ended.text().matches("\"here\":false").count(), 2, "{ended:?}");
}

/// Says in an index which file system it is of. FUSE and FAT keep no inodes.
fn set_kind(folder: &Folder, list: &str, kind: &str, has_inodes: bool) {
    let index = folder.join(format!("{list}.tw"));
    let text = fs::read_to_string(&index).unwrap();
    let edit = |line: &str| -> String {
        let line = match line.split_once("\"kind\":\"") {
            Some((before, rest)) => {
                format!("{before}\"kind\":\"{kind}{}", &rest[rest.find('"').unwrap()..])
            }
            None => line.to_owned(),
        };
        let line = match line.split_once(",\"check\"") {
            Some((line, _)) => format!("{line}}}"),
            None => line,
        };
        match line.split_once(",\"ino\":") {
            Some((before, rest)) if !has_inodes => {
                format!("{before},\"read\"{}\n", rest.split_once(",\"read\"").unwrap().1)
            }
            _ => line + "\n",
        }
    };
    fs::write(&index, text.lines().map(edit).collect::<String>()).unwrap();
}

/// Without inodes, the record of a directory looks like that of a copy.
#[test]
fn record_without_inodes_is_not_taken_for_a_copy() {
    let folder = Folder::new();
    for name in ["phone/dcim/1", "phone/dcim/2", "phone/3"] {
        folder.write(name, name);
    }
    folder.write("other/x", "other");
    for dir in ["lists", "bk"] {
        fs::create_dir(folder.join(dir)).unwrap();
    }
    assert!(
        Command::new("cp")
            .args(["-a", "phone", "bk/x"])
            .current_dir(folder.join(""))
            .status()
            .unwrap()
            .success()
    );
    snapshots(&folder, &["phone -o lists/phone.b3", "phone/dcim -o lists/dcim.b3", "bk -o bk.b3"]);
    snapshots(&folder, &["bk/x -o lists/x.b3", "phone -o lists/usb.b3", "phone -o lists/disk.b3"]);
    for list in ["lists/phone.b3", "lists/dcim.b3", "lists/x.b3", "bk.b3"] {
        set_kind(&folder, list, "fuse", false);
    }
    set_kind(&folder, "lists/usb.b3", "exfat", false);
    set_kind(&folder, "lists/disk.b3", "ext4", true);
    fs::rename(folder.join("bk"), folder.join("off")).unwrap();
    let says = "(3 of them by name and content alone, as no inode is recorded; name the directory";
    for (list, says) in [("phone", says), ("x", says), ("dcim", "(2 of them by name")] {
        let args = format!("missing phone lists/{list}.b3 other");
        folder.treewide(&args).run().fails(1, &["3 of 3 files missing", "not counted", says]);
    }
    // Of a part, the record of all of it.
    let args = "missing phone/dcim lists/phone.b3 other";
    folder.treewide(args).run().fails(1, &["2 of 2 files missing", "not counted: 2 files"]);
    // Also if a file has another name now.
    fs::rename(folder.join("phone/3"), folder.join("phone/4")).unwrap();
    folder.treewide("missing phone lists/phone.b3 other").run().fails(1, &["3 of 3 files missing"]);
    fs::rename(folder.join("phone/4"), folder.join("phone/3")).unwrap();
    // The one other operand, another directory, and another local file system.
    for args in ["phone lists/phone.b3", "phone bk.b3 other", "lists/disk.b3 lists/usb.b3 other"] {
        let ended = folder.treewide(&format!("missing {args}")).run();
        ended.fails(0, &["0 of 3 files missing"]);
    }
    // The copy is here.
    let args = "missing --root off/x phone lists/x.b3 other";
    folder.treewide(args).run().fails(0, &["0 of 3 files missing"]);

    for args in ["phone lists/phone.b3", "lists/phone.b3 phone", "lists/phone.b3 lists/x.b3"] {
        folder.treewide(&format!("dupes -q {args}")).run().succeeds_with("");
    }
    for args in
        ["lists/disk.b3 lists/usb.b3", "phone off/x lists/phone.b3", "lists/phone.b3 phone off/x"]
    {
        let ended = folder.treewide(&format!("dupes {args}")).run();
        ended.fails(0, &["1 group of folders: 3 files could go"]);
    }
}

/// A `README` of its own in the working directory does not make that the directory of the list.
#[test]
fn list_is_of_the_directory_of_its_name() {
    let folder = Folder::new();
    for name in ["p1", "p2", "README"] {
        folder.write(format!("phone/{name}"), format!("content of {name}"));
    }
    folder.treewide("sum -q -r . -o ../phone.b3").at(folder.join("phone")).run().fails(0, &[]);
    folder.write("README", "mine");
    folder.write("other/x", "another");
    let ended = folder.treewide("missing phone phone.b3 other").run();
    ended.fails(1, &["3 of 3 files missing"]);
    // Also if all others have other names there, and their old names are here.
    for name in ["p1", "p2"] {
        folder.write(name, "mine");
        let [from, to] = ["", "new-"].map(|it| folder.join(format!("phone/{it}{name}")));
        fs::rename(from, to).unwrap();
    }
    let ended = folder.treewide("missing phone phone.b3 other").run();
    ended.fails(1, &["3 of 3 files missing"]);
}
