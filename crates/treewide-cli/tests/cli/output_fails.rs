//! Writing the output may fail in the end: what was computed is never thrown away, and nothing else is damaged.
//!
//! The ways in which that shows:
//! - the file is a mount point, so that it cannot be replaced; its file system is full, so that it cannot be overwritten
//! - the folder takes no new files
//! - owner, mode or `fsync` are refused (courtesies: the output appears); `fsync` fails for a real reason (EIO)
//! - renaming is refused, with and without a file at the place
//! - the place is a device: nothing is renamed over it, also not by root
//!
//! What is known at the beginning is an error at once, in `output.rs`: folders, dead links, places in folders that do not
//! exist, write-protected files. That file also has pipes, links, a full disk, signals, a file that appears during the run.

use crate::refused::Machine;
use crate::support::{Ended, Folder, TREEWIDE, find_program, hex, is_root, skip, sums};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::Command;

/// Runs a script that mounts things no one else sees; `$0` is treewide. `None` where that is not allowed.
fn with_mounts(folder: &Folder, script: &str) -> Option<Ended> {
    let Some(unshare) = find_program("unshare") else {
        skip("a mounted file", "there is no unshare");
        return None;
    };
    let may = Command::new(&unshare).args(["-m", "true"]).output();
    if !may.is_ok_and(|it| it.status.success()) {
        skip("a mounted file", "only root may mount");
        return None;
    }
    Some(folder.program(unshare).args(["-m", "sh", "-c", script, TREEWIDE]).run())
}

/// The place that a message names last.
fn place(ended: &Ended) -> &str {
    ended.stderr.trim_end().rsplit_once("; what was written is in ").unwrap().1
}

#[test]
fn a_call_that_is_refused_in_the_end_does_not_lose_the_output() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("outputs that fail in the end", why),
    };
    // fchmod, fchown, fsync, rename, renameat2, linkat, unlink; EPERM, EINVAL, EBUSY, EXDEV, EROFS.
    for call in [91, 93, 74, 82, 316, 265, 87] {
        for error in [1, 22, 16, 18, 30] {
            for name in ["old", "new"] {
                let ended = machine
                    .run(&format!("sum small --force -o {name}"), &format!("{call}:{error}"));
                let list = sums(&["small"]);
                let place = if ended.code == Some(0) { name } else { place(&ended) };
                assert_eq!(machine.folder.read(place), list, "{call}:{error} {name}: {ended:?}");
                if ended.code != Some(0) {
                    ended.fails(1, &[&format!("{name}: ")]);
                    fs::remove_file(machine.folder.join(place)).unwrap();
                }
            }
        }
    }
}

#[test]
fn an_output_that_cannot_appear_stays_where_it_is() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("an output that cannot appear", why),
    };
    // EIO.
    let ended = machine.run("sum small --force -o old", "74:5");
    ended.fails(1, &["old: cannot bring it to the disk: Input/output error (os error 5); what was written is in "]);
    let (_, place) = ended.stderr.trim_end().rsplit_once(" is in ").unwrap();
    let kept = fs::read_to_string(machine.folder.join(place)).unwrap();
    assert_eq!(kept, format!("{}  small\n", hex("small")));
    assert_eq!(machine.folder.read("old"), sums(&["old"]));
}

#[test]
fn a_mounted_file_is_written_in_the_end() {
    let folder = Folder::with(&["a", "mounted", "out/SUMS"]);
    folder.write("out/SUMS", "");
    folder.write("mounted", "");
    let script =
        "mount --bind mounted out/SUMS && \"$0\" sum a -o out/SUMS && cat out/SUMS; ls -A out";
    let Some(ended) = with_mounts(&folder, script) else { return };
    ended.is(0, format!("{}  a\nSUMS\n", hex("a")), "");
    assert_eq!(folder.read("mounted"), format!("{}  a\n", hex("a")));
}

#[test]
fn a_mounted_file_on_a_full_disk_loses_nothing() {
    let folder = Folder::with(&["a", "out/SUMS"]);
    folder.write("out/SUMS", "");
    let script = "mkdir tiny && mount -t tmpfs -o size=8k tmpfs tiny && \"$0\" sum a >tiny/SUMS && \
        mount --bind tiny/SUMS out/SUMS && head -c 1M /dev/zero >tiny/full; yes a | head -n 2000 | xargs \"$0\" sum --force -o out/SUMS";
    let Some(ended) = with_mounts(&folder, script) else { return };
    ended.fails(123, &["out/SUMS: cannot be replaced: ", "and not be overwritten: No space left"]);
    assert_eq!(folder.read(place(&ended)), sums(&["a"; 2000]));
}

/// The file is overwritten, as its folder belongs to someone else.
#[test]
fn a_folder_that_takes_no_files_takes_the_output() {
    let Some(setpriv) = find_program("setpriv").filter(|_| is_root()) else {
        return skip(
            "a folder that takes no files",
            "only root may become another user, by setpriv",
        );
    };
    let folder = Folder::with(&["a", "out/SUMS"]);
    folder.write("out/SUMS", "");
    for (path, mode) in [("", 0o755), ("out", 0o755), ("out/SUMS", 0o666)] {
        fs::set_permissions(folder.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", TREEWIDE];
    let nobody = |args: &[&str]| folder.program(&setpriv).args(nobody).args(args).run();
    if nobody(&["--version"]).code != Some(0) {
        return skip("a folder that takes no files", "another user cannot run this program");
    }
    nobody(&["sum", "a", "-o", "out/SUMS"]).is(0, "", "");
    assert_eq!(folder.read("out/SUMS"), sums(&["a"]));
    nobody(&["sum", "a", "-o", "out/new"])
        .fails(1, &["out/new: cannot write the output: cannot create"]);
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), 1);
}

/// Files can be made in it, and neither renamed nor removed then: nothing is left there but the output.
#[test]
fn a_folder_that_is_append_only_takes_the_output() {
    let folder = Folder::with(&["a", "out/SUMS", "tmp/inner"]);
    folder.write("out/SUMS", "");
    let append_only = |sign: &str| {
        let chattr = Command::new("chattr").arg(sign).arg(folder.join("out")).output();
        chattr.is_ok_and(|it| it.status.success())
    };
    if !append_only("+a") {
        return skip(
            "an append-only folder",
            "only root may make one, and only on some file systems",
        );
    }
    let sum = |name: &str, elsewhere: &str| {
        let program = folder.treewide("sum a -o").arg(format!("out/{name}"));
        program.env("TMPDIR", folder.join(elsewhere)).run()
    };
    let runs = [sum("SUMS", "tmp"), sum("new", "tmp"), sum("other", "missing")];
    assert!(append_only("-a"));
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode();
    let names = |name: &str| -> Vec<String> {
        let names = fs::read_dir(folder.join(name)).unwrap();
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    };
    for ended in &runs[..2] {
        ended.is(0, "", "");
    }
    for name in ["SUMS", "new", "other"] {
        assert_eq!(folder.read(format!("out/{name}")), sums(&["a"]), "{name}");
    }
    assert_eq!(mode("out/new"), mode("a"), "as of any new file");
    assert_eq!(names("tmp"), ["inner"]);
    // Where nothing can be written elsewhere, a file is left, and named.
    runs[2].fails(1, &["this temporary file cannot be removed: ", "; out/other is complete"]);
    let names = names("out");
    let left = names.iter().find(|name| name.ends_with(".tmp")).expect("it cannot be removed");
    assert!(runs[2].stderr.contains(&format!("out/{left}: ")), "{}", runs[2].stderr);
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_device_is_not_replaced() {
    let folder = Folder::with(&["a"]);
    folder.treewide("sum a -o /dev/null").run().is(0, "", "");
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}
