//! The alarm: runs that write nothing, because a disk may be off or the wrong one. Nothing would be lost, as the past keeps each record.

use crate::case::Case;
use crate::loops::Turn;
use crate::support::{Folder, hex, is_root, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const RUNS: [&str; 4] =
    ["update p.b3 t", "update --full p.b3 t", "scrub p.b3 t", "update -q p.b3 t"];

/// Something that is mounted until it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None` if it cannot be made here, with the reason printed.
    fn new(args: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = is_root()
            && Command::new("mount").args(args).arg(at).status().is_ok_and(|it| it.success());
        if !mounted {
            skip("a mount", "only root can mount, and not everywhere");
        }
        mounted.then(|| Self(at.to_owned()))
    }

    fn in_memory(at: &Path) -> Option<Self> {
        Self::new(&["-t", "tmpfs", "tmpfs"], at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

impl Case {
    /// A manifest of this many files below `t/d`, and of no other.
    fn of(count: usize) -> Self {
        let case = Self::new();
        fs::remove_dir_all(case.folder.join("t")).unwrap();
        for at in 0..count {
            case.folder.write(file(at), format!("content {at}"));
        }
        fs::create_dir_all(case.folder.join("t/d")).unwrap();
        case.folder.age();
        case.anew("t");
        case
    }

    /// Runs write nothing, and say this. The way out that the message names works, and every record is in the past then.
    fn alarms(&self, says: &[&str], names: &[String]) {
        let says = [says, &["nothing was written"]].concat();
        let way = RUNS.map(|it| self.keeps(3, it, &says).0.way_out().to_owned());
        self.folder.paste(&way[self.folder.names().len() % way.len()]).fails(0, &[]);
        let past = self.folder.read("p.b3.past");
        for name in names {
            assert!(past.contains(&hex(name)), "the digest of {name} is lost");
        }
    }
}

fn file(at: usize) -> String {
    format!("t/d/f{at:02}")
}

fn remove(folder: &Folder, count: usize) {
    (0..count).for_each(|at| fs::remove_file(folder.join(file(at))).unwrap());
}

/// Recorded files, what happens to them, and what a run says; nothing if it records that.
#[test]
fn runs_write_nothing_if_most_is_gone() {
    type Event = fn(&Folder);
    let rows: [(&str, usize, Event, &[&str]); 16] = [
        (
            "emptied",
            3,
            |it| remove(it, 3),
            &["none of the 3 files recorded is there as it was; see that"],
        ),
        (
            "lost+found",
            1,
            |it| {
                remove(it, 1);
                fs::create_dir(it.join("t/lost+found")).unwrap();
            },
            &["none of the 1 file recorded is there"],
        ),
        (
            "another disk",
            11,
            |it| {
                remove(it, 11);
                (0..30).for_each(|at| it.write(format!("t/other{at}"), "other"));
            },
            &["none of the 11 files recorded is there"],
        ),
        (
            "more than half",
            24,
            |it| remove(it, 13),
            &["13 of 24 files recorded are gone, the first is d/f00; if a disk is off"],
        ),
        ("half", 24, |it| remove(it, 12), &[]),
        (
            "links that lead nowhere",
            24,
            |it| {
                remove(it, 24);
                (0..24).for_each(|at| symlink("nowhere", it.join(file(at))).unwrap());
            },
            &["none of the 24 files recorded is there"],
        ),
        (
            "directories in the place of files",
            24,
            |it| {
                remove(it, 20);
                (0..20).for_each(|at| fs::create_dir(it.join(file(at))).unwrap());
            },
            &["20 of 24 files recorded are gone"],
        ),
        (
            "chmod, and more than half gone",
            24,
            |it| {
                let mode = fs::Permissions::from_mode(0o600);
                (0..24)
                    .for_each(|at| fs::set_permissions(it.join(file(at)), mode.clone()).unwrap());
                remove(it, 20);
            },
            &["20 of 24 files recorded are gone"],
        ),
        // Ordinary life.
        (
            "an inbox that turned over",
            10,
            |it| {
                remove(it, 10);
                it.write("t/new", "new");
            },
            &[],
        ),
        (
            "v1 saved as v2",
            1,
            |it| {
                remove(it, 1);
                it.write("t/v2", "version 2");
            },
            &[],
        ),
        (
            "a card that was formatted, with some of the names",
            8,
            |it| {
                remove(it, 5);
                (5..8).for_each(|at| it.write(file(at), "another photo"));
            },
            &[],
        ),
        ("ten of twelve", 12, |it| remove(it, 10), &[]),
        (
            "a folder that was renamed",
            30,
            |it| fs::rename(it.join("t/d"), it.join("t/e")).unwrap(),
            &[],
        ),
        ("all edited", 30, |it| (0..30).for_each(|at| it.write(file(at), "an edit")), &[]),
        (
            "git annex add",
            24,
            |it| {
                fs::create_dir(it.join("t/.git")).unwrap();
                for at in 0..24 {
                    let to = format!("t/.git/k{at}");
                    fs::rename(it.join(file(at)), it.join(to)).unwrap();
                    symlink(format!("../.git/k{at}"), it.join(file(at))).unwrap();
                }
            },
            &[],
        ),
        ("nothing but a directory", 0, |it| fs::remove_dir(it.join("t/d")).unwrap(), &[]),
    ];
    for (what, count, event, says) in rows {
        println!("{what}");
        let case = Case::of(count);
        event(&case.folder);
        if says.is_empty() {
            case.run("update p.b3 t").is_code(0);
            case.run("verify p.b3 t").is_code(0);
            continue;
        }
        let names: Vec<_> = (0..count).map(|at| format!("content {at}")).collect();
        let is_there = |it: &usize| case.folder.join(file(*it)).is_file();
        let gone: Vec<_> =
            (0..count).filter(|it| !is_there(it)).map(|it| names[it].clone()).collect();
        case.alarms(says, &gone);
        case.run("verify p.b3 t").is_code(0);
    }
}

#[test]
fn number_is_exact_and_a_percentage_spares_ten_files() {
    let case = Case::of(24);
    remove(&case.folder, 2);
    let says = [
        "2 of 24 files recorded are gone",
        "to continue: treewide update",
        "p.b3 t --max-removed 2",
    ];
    for limit in ["0", "1"] {
        case.keeps(3, &format!("update --max-removed {limit} p.b3 t"), &says);
    }
    case.run("scrub --max-removed 0% p.b3 t").is_code(0);
}

/// Of a place below the tree: a disk that is off, emptied, or hides files. What is in the mount point proves nothing.
#[test]
fn runs_write_nothing_if_a_mount_is_missing_or_hides_files() {
    let write = |case: &Case, name: &str, content: &str| case.folder.write(name, content);
    let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    // Off; with a file of a name that is recorded; by a bind mount.
    for kind in ["tmpfs", "README", "bind"] {
        let case = Case::new();
        let at = case.folder.join("t/with blank");
        fs::create_dir(case.folder.join("real")).unwrap();
        let real = case.folder.join("real");
        let bind = ["--bind", real.to_str().unwrap()];
        let mount = if kind == "bind" { Mount::new(&bind, &at) } else { Mount::in_memory(&at) };
        let Some(mount) = mount else { return };
        for name in ["photo", "photo2", "README"] {
            write(&case, &format!("t/with blank/{name}"), name);
        }
        // It is remembered by a run that reads nothing of it.
        for _ in 0..2 {
            case.run("update p.b3 t").is_code(0);
        }
        drop(mount);
        if kind == "README" {
            write(&case, "t/with blank/README", "mount me");
        }
        let says = "none of the 3 files recorded below with blank/ is there as it was; something was mounted there: mount it";
        case.alarms(&[says], &names(&["photo", "photo2"]));
    }
    // Emptied: it is mounted.
    let case = Case::new();
    let Some(_mount) = Mount::in_memory(&case.folder.join("t/usb")) else { return };
    write(&case, "t/usb/u", "u");
    case.run("update p.b3 t").is_code(0);
    fs::remove_file(case.folder.join("t/usb/u")).unwrap();
    case.alarms(
        &["recorded below usb/ is there as it was; see that the right disk is mounted there"],
        &names(&["u"]),
    );
    // Something is mounted over files, also where the rules leave other file systems out.
    for rule in ["", "--one-file-system"] {
        let case = Case::new();
        case.run(&format!("update --replace-rules {rule} p.b3 t")).is_code(0);
        let mount = Mount::in_memory(&case.folder.join("t/d")).unwrap();
        case.alarms(
            &["below d/ is there as it was; something is mounted there now: unmount it"],
            &names(&["content of d/f3"]),
        );
        drop(mount);
        case.run("update p.b3 t").is_code(0);
    }
    // What was mounted when it was recorded is left out by that rule.
    let case = Case::new();
    let Some(_mount) = Mount::in_memory(&case.folder.join("t/disk")) else { return };
    write(&case, "t/disk/a", "a");
    case.run("update p.b3 t").is_code(0);
    case.run("update p.b3 t --one-file-system --json").is_code(0).prints("\"uncovered\":1");
}

/// A subvolume is not a place unless someone mounted it: deleting a snapshot is a deletion.
#[test]
fn snapshots_of_btrfs_come_and_go() {
    let case = Case::of(40);
    let image = case.folder.join("image");
    fs::File::create(&image).unwrap().set_len(200 << 20).unwrap();
    let made = Command::new("mkfs.btrfs").args(["-q", "-f"]).arg(&image).status();
    if !made.is_ok_and(|it| it.success()) {
        return skip("btrfs", "there is no mkfs.btrfs");
    }
    let at = case.folder.join("b");
    let Ok(_turn) = Turn::wait() else { return skip("btrfs", "no loop device can be had") };
    let Some(_mount) = Mount::new(&["-o", "loop", image.to_str().unwrap()], &at) else { return };
    let btrfs = |args: &[&str]| {
        let status =
            Command::new("btrfs").args(["-q", "subvolume"]).args(args).current_dir(&at).status();
        status.is_ok_and(|it| it.success())
    };
    if !btrfs(&["create", "t"]) {
        return skip("btrfs", "there is no program btrfs");
    }
    for at in 0..40 {
        case.folder.write(format!("b/t/f{at}"), at.to_string());
    }
    fs::create_dir(at.join("t/.snapshots")).unwrap();
    assert!(btrfs(&["snapshot", "-r", "t", "t/.snapshots/1"]));
    case.run("snapshot b/t -o b.b3").is_code(0);
    for night in 1..4 {
        assert!(btrfs(&["delete", &format!("t/.snapshots/{night}")]));
        assert!(btrfs(&["snapshot", "-r", "t", &format!("t/.snapshots/{}", night + 1)]));
        case.run("scrub b.b3 b/t").is_code(0);
    }
}
