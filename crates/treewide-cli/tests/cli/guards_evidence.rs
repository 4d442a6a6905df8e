//! Evidence that the disk of a manifest is there.

use crate::guards::Case;
use crate::loops::Turn;
use crate::support::{is_root, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that is mounted until it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None` if it cannot be made here, with the reason printed.
    fn new(args: &[&str], at: &Path) -> Option<Self> {
        let mounted = is_root()
            && Command::new("mount").args(args).arg(at).status().is_ok_and(|it| it.success());
        if !mounted {
            skip("a mount", "only root can mount, and not everywhere");
        }
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A disk that is off, and a file like one of its own in its place: at the root, and below it.
#[test]
fn one_equal_file_does_not_stand_for_a_disk() {
    let _turn = match Turn::wait() {
        Ok(turn) => turn,
        Err(why) => return skip("a disk", why),
    };
    for place in ["t", "t/disk"] {
        let case = Case::new();
        let at = case.folder.join(place);
        fs::create_dir_all(&at).unwrap();
        let image = case.folder.join("image");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        if !made.is_ok_and(|it| it.success()) {
            return skip("a disk", "there is no mkfs.ext4");
        }
        let args = ["-o", "loop", image.to_str().unwrap()];
        let Some(disk) = Mount::new(&args, &at) else { return };
        for (name, content) in [("p1", "1"), ("p2", "2"), ("p3", "3"), ("README", "hello")] {
            fs::write(at.join(name), content).unwrap();
        }
        case.folder.age();
        case.run("update --allow-empty p.b3 t").is_code(0);
        drop(disk);
        fs::write(at.join("README"), "hello").unwrap();
        for command in ["update", "update --full", "scrub"] {
            case.keeps(3, &format!("{command} p.b3 t"), &["does not have any", "--allow-empty"]);
        }
        // Neither does it under another name.
        fs::rename(at.join("README"), at.join("README2")).unwrap();
        case.keeps(3, "update p.b3 t", &["does not have any", "--allow-empty"]);
        fs::remove_file(at.join("README2")).unwrap();
        // The same disk, with one file that is as it was, and another one under another name.
        let Some(_disk) = Mount::new(&args, &at) else { return };
        for name in ["p1", "p2"] {
            fs::remove_file(at.join(name)).unwrap();
        }
        fs::rename(at.join("README"), at.join("READ")).unwrap();
        case.run("update p.b3 t").is_code(0).prints("MOVED    ").prints("REMOVED  ");
    }
}

/// A file on which another one is mounted.
#[test]
fn file_that_is_a_mount_is_not_replaced_by_the_file_below_it() {
    let case = Case::new();
    let at = case.folder.join("t/b");
    case.folder.write("t/b", "");
    case.folder.write("real", "content of b");
    let real = case.folder.join("real");
    let Some(mount) = Mount::new(&["--bind", real.to_str().unwrap()], &at) else { return };
    case.run("update p.b3 t").is_code(0);
    // An edit is one.
    case.folder.age();
    fs::write(&at, "an edit of b").unwrap();
    case.run("update p.b3 t").is_code(0).prints("CHANGED  b");
    fs::write(&at, "content of b").unwrap();
    case.run("update p.b3 t").is_code(0);
    drop(mount);
    for command in ["update", "update --full", "scrub"] {
        let says = ["recorded below b", "where something was mounted", "--allow-empty"];
        case.keeps(3, &format!("{command} p.b3 t"), &says);
    }
    case.has_old("b");
    let mount = Mount::new(&["--bind", real.to_str().unwrap()], &at);
    case.run("update p.b3 t").is_code(0);
    drop(mount);
    case.run("update --allow-empty p.b3 t").is_code(0).prints("CHANGED  b");
    case.run("update p.b3 t").is_code(0);
}

/// What is mounted over a directory hides its files.
#[test]
fn files_below_a_new_mount_are_hidden_and_not_gone() {
    let case = Case::new();
    case.folder.write("t/d/f4", "content of d/f4");
    case.run("update p.b3 t").is_code(0);
    let Some(mount) = Mount::new(&["-t", "tmpfs", "tmpfs"], &case.folder.join("t/d")) else {
        return;
    };
    for command in ["update", "update --full", "scrub", "update -q"] {
        let says = ["recorded below d", "where something is mounted now; unmount it"];
        case.keeps(3, &format!("{command} p.b3 t"), &says);
    }
    // The files were brought to the new disk.
    for name in ["f3", "f4"] {
        fs::write(case.folder.join(format!("t/d/{name}")), format!("content of d/{name}")).unwrap();
    }
    case.run("update p.b3 t").is_code(0);
    drop(mount);
    case.run("verify p.b3 t").is_code(0);
}

/// The index may be on a disk that is off: a link that leads nowhere says that there was one.
#[test]
fn index_that_a_link_does_not_lead_to_is_missing() {
    let case = Case::new();
    let index = case.folder.join("p.b3.tw");
    std::fs::rename(&index, case.folder.join("index")).unwrap();
    std::os::unix::fs::symlink("disk/index", &index).unwrap();
    for command in ["verify p.b3 t", "verify --quick p.b3 t", "update p.b3 t", "diff p.b3 t"] {
        case.keeps(3, command, &["p.b3.tw: is "]);
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
