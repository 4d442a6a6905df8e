//! Disks that are off although a file of a recorded name is there, and trees that have only the names.

use crate::guards::Case;
use crate::loops::Turn;
use crate::support::{is_root, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Commands that write `p.b3`, or that say how a directory is.
const UPDATES: [&str; 3] = ["update p.b3 t", "update --full p.b3 t", "scrub p.b3 t"];

fn run(program: &str, args: &[&str], at: &Path) -> bool {
    Command::new(program).args(args).arg(at).status().is_ok_and(|it| it.success())
}

/// A file system in memory, mounted there. `false` where that cannot be.
fn mount(at: &Path) -> bool {
    fs::create_dir_all(at).unwrap();
    is_root() && run("mount", &["-t", "tmpfs", "tmpfs"], at)
}

/// A README in the mount point has the name of one file of two, or also its content.
#[test]
fn disk_that_is_off_is_not_known_by_half_of_its_names() {
    let case = Case::new();
    let at = case.folder.join("t/disk");
    if !mount(&at) {
        return skip("a mount that is missing", "nothing can be mounted here");
    }
    for name in ["README", "big"] {
        fs::write(at.join(name), name).unwrap();
    }
    case.run("update p.b3 t").is_code(0);
    assert!(run("umount", &[], &at));
    for content in ["mount me", "README"] {
        fs::write(at.join("README"), content).unwrap();
        for command in UPDATES {
            let says = ["recorded below disk", "mount it", "nothing was written", "--allow-empty"];
            case.keeps(3, command, &says);
        }
    }
    // A copy with all files counts as the tree.
    fs::write(at.join("big"), "big").unwrap();
    case.run("update p.b3 t").is_code(0);
}

#[test]
fn mount_that_hides_a_part_is_not_recorded() {
    let case = Case::new();
    case.folder.write("t/d/a", "a");
    case.run("update p.b3 t").is_code(0);
    let at = case.folder.join("t/d");
    if !mount(&at) {
        return skip("a mount that hides files", "nothing can be mounted here");
    }
    fs::write(at.join("a"), "another a").unwrap();
    for command in UPDATES {
        case.keeps(3, command, &["recorded below d", "unmount it", "--allow-empty"]);
    }
    assert!(run("umount", &[], &at));
    case.run("update p.b3 t").is_code(0);
}

/// The rules leave out what was elsewhere, and not what is hidden since.
#[test]
fn mount_that_hides_a_part_is_not_left_out_by_the_rule_of_one_file_system() {
    let case = Case::new();
    let names = ["a", "b"];
    let write = |content: &str| {
        names.iter().for_each(|it| case.folder.write(format!("t/d/{it}"), content));
    };
    write("below");
    let at = case.folder.join("t/d");
    // With the rule in the old manifest, and with a new one.
    for (old, new) in [("--one-file-system", ""), ("", " --one-file-system")] {
        case.run(&format!("update --replace-rules {old} p.b3 t")).is_code(0);
        if !mount(&at) {
            return skip("a mount that hides files", "nothing can be mounted here");
        }
        write("above");
        for command in ["update p.b3 t", "update p.b3 t --full"] {
            let says = ["recorded below d", "something is mounted now", "unmount it"];
            case.keeps(3, &format!("{command}{new}"), &says);
        }
        assert!(run("umount", &[], &at));
        case.run("update p.b3 t --json").is_code(0).prints("\"removed\":0");
    }
    // What was mounted when it was recorded is left out.
    assert!(mount(&at));
    write("above");
    case.run("update --allow-empty --replace-rules p.b3 t").is_code(0);
    case.run("update p.b3 t --one-file-system --json").is_code(0).prints("\"uncovered\":2");
    assert!(run("umount", &[], &at));
}

/// The last line of an index has no room for their names.
#[test]
fn mount_among_very_many_is_not_forgotten() {
    let case = Case::new();
    let at = |number: u32| case.folder.join(format!("t/{}{number}", "x".repeat(200)));
    case.folder.write("real/file", "the same for all");
    let real = case.folder.join("real");
    let is_there = |number| {
        fs::create_dir(at(number)).unwrap();
        is_root() && run("mount", &["--bind", real.to_str().unwrap()], &at(number))
    };
    let (first, last) = (100, 420);
    let there: Vec<_> = (first..last).take_while(|it| is_there(*it)).collect();
    let is_possible = there.len() as u32 == last - first && mount(&at(last));
    if is_possible {
        fs::write(at(last).join("photo"), "photo").unwrap();
        case.run("update p.b3 t").is_code(0);
        // Also by a run that reads none of these files.
        case.run("update p.b3 t").is_code(0);
        assert!(run("umount", &[], &at(last)));
        for command in UPDATES {
            case.keeps(3, command, &["recorded below xxx", "x420/", "mount it"]);
        }
        assert!(mount(&at(last)));
        fs::write(at(last).join("photo"), "photo").unwrap();
        case.run("update p.b3 t").is_code(0);
        assert!(run("umount", &[], &at(last)));
    }
    there.iter().for_each(|it| assert!(run("umount", &[], &at(*it))));
    if !is_possible {
        skip("mounts with long names", "nothing can be mounted here");
    }
}

/// Two disks that are put into one slot.
struct Slot<'a> {
    case: &'a Case,
    device: String,
    /// No other test takes the slot while it is empty.
    _turn: Turn,
}

impl<'a> Slot<'a> {
    /// `None` where that cannot be.
    fn new(case: &'a Case) -> Option<Self> {
        for image in ["one", "two"] {
            let path = case.folder.join(image);
            fs::File::create(&path).ok()?.set_len(8 << 20).ok()?;
            run("/sbin/mkfs.ext4", &["-qF"], &path).then_some(())?;
        }
        fs::create_dir(case.folder.join("slot")).ok()?;
        let _turn = Turn::wait().ok()?;
        let free = Command::new("losetup").arg("-f").output().ok().filter(|_| is_root())?;
        let device = String::from_utf8(free.stdout).ok()?.trim().to_owned();
        let slot = Self { case, device, _turn };
        slot.put("one").then_some(slot)
    }

    fn put(&self, image: &str) -> bool {
        run("losetup", &[&self.device], &self.case.folder.join(image))
            && run("mount", &[&self.device], &self.case.folder.join("slot"))
    }

    fn take(&self) {
        run("umount", &[], &self.case.folder.join("slot"));
        run("losetup", &["-d"], Path::new(&self.device));
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

/// Another disk in the same slot has the same device, and its first file the same inode.
#[test]
fn disk_in_the_slot_of_another_one_is_not_that_one() {
    let case = Case::new();
    let Some(slot) = Slot::new(&case) else {
        return skip("two disks", "nothing can be mounted here");
    };
    let write = |name: &str, content: &str| case.folder.write(format!("slot/{name}"), content);
    write("README", "disk one");
    for at in 1..8 {
        write(&format!("IMG_{at}"), &format!("photo {at}"));
    }
    case.run("update --allow-empty p.b3 slot").is_code(0);
    // A tree that is rewritten in place is one thing, a tree that is mostly gone another.
    let says = ["does not have any recorded file as it was", "--allow-empty"];
    slot.take();
    // Off: a file in the mount point has the name, or also the content, of one on the disk.
    for content in ["mount me", "disk one"] {
        write("README", content);
        for command in ["update p.b3 slot", "update --full p.b3 slot", "scrub p.b3 slot"] {
            case.keeps(3, command, &says);
        }
    }
    // Also if it has all names: it is on another device.
    for at in 1..8 {
        write(&format!("IMG_{at}"), "other");
    }
    write("README", "other");
    case.keeps(3, "update p.b3 slot", &says);
    fs::remove_dir_all(case.folder.join("slot")).unwrap();
    fs::create_dir(case.folder.join("slot")).unwrap();
    if !slot.put("two") {
        return skip("two disks", "another program has taken the slot");
    }
    // It may also have one file with an equal content.
    for content in ["disk two", "disk one"] {
        write("README", content);
        for command in ["update p.b3 slot", "update --full p.b3 slot"] {
            case.keeps(3, command, &says);
        }
    }
    slot.take();
    assert!(slot.put("one"));
    // As a job that dumps all of it again does.
    for at in 1..8 {
        write(&format!("IMG_{at}"), "another photo");
    }
    write("README", "another text");
    case.run("update p.b3 slot").is_code(0).prints("CHANGED  README");
}

/// A link that is followed leads to another file in the mount point.
#[test]
fn link_to_a_disk_that_is_off_is_not_recorded() {
    let case = Case::new();
    let Some(slot) = Slot::new(&case) else {
        return skip("a disk", "nothing can be mounted here");
    };
    case.folder.write("slot/big", "big");
    std::os::unix::fs::symlink("../slot/big", case.folder.join("t/link")).unwrap();
    case.run("update --follow p.b3 t").is_code(0);
    slot.take();
    case.folder.write("slot/big", "a decoy");
    for command in UPDATES {
        case.keeps(3, command, &["recorded below link", "mount it", "--allow-empty"]);
    }
    assert!(slot.put("one"));
    case.run("update p.b3 t").is_code(0);
    case.folder.write("slot/big", "an edit");
    case.run("update p.b3 t").is_code(0).prints("CHANGED  link");
}

/// `missing` says what may be wiped.
#[test]
fn missing_and_dupes_do_not_believe_a_name_on_a_disk_that_is_off() {
    let case = Case::new();
    let Some(slot) = Slot::new(&case) else {
        return skip("a disk", "nothing can be mounted here");
    };
    for at in 1..7 {
        case.folder.write(format!("slot/f{at}"), format!("photo {at}"));
    }
    case.folder.write("slot/README", "hello");
    case.folder.write("e/README", "hello");
    case.folder.age();
    case.run("snapshot slot").is_code(0);
    case.run("missing slot e").is_code(1);
    slot.take();
    case.folder.write("slot/README", "hello");
    for command in ["missing slot e", "missing --names slot e", "dupes slot e"] {
        let said = case.run(command);
        said.0.fails(3, &["slot.b3: names README", "on the same disk is there", "mounted"]);
    }
}

/// The files there have the names of the list and none of its contents.
#[test]
fn tree_that_has_only_the_names_of_a_list_is_not_recorded() {
    let case = Case::new();
    case.run("sum -r t -o sums").is_code(0);
    let plain = case.folder.read("sums").replace("  t/", "  ");
    case.folder.write("p.b3", plain);
    fs::remove_file(case.folder.join("p.b3.tw")).unwrap();
    for name in ["f1", "f2", "d/f3"] {
        case.folder.write(format!("other/{name}"), "other");
    }
    let says = ["does not have any recorded file as it was", "--allow-empty"];
    case.keeps(3, "update p.b3 other", &says);
    // One that has is enough.
    case.folder.write("other/f1", "content of f1");
    case.run("update p.b3 other").is_code(1).prints("CHANGED  f2");
}

#[test]
fn file_that_became_a_link_counts_as_gone_for_max_removed() {
    let case = Case::new();
    for name in ["f1", "f2"] {
        let path = case.folder.join(format!("t/{name}"));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", path).unwrap();
    }
    for command in ["update --max-removed 0 p.b3 t", "scrub --max-removed 1 p.b3 t"] {
        case.keeps(3, command, &["2 of 3 recorded files are gone", "--max-removed` continues"]);
    }
    case.run("update --max-removed 2 p.b3 t").is_code(0).prints("REPLACED-TYPE f1");
}
