//! Manifests where the system fails: files that cannot be read, and a disk that is full or broken.
//!
//! strace makes system calls fail. Where it is missing, or is not allowed to do that, the cases print SKIPPED.

use crate::support::{Folder, TREEWIDE, is_root, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A tree `t` and its manifest `m.b3`, when all its times are old enough.
fn snapshot() -> Folder {
    let folder = Folder::new();
    for (name, content) in [("t/a", "1"), ("t/d/b", "22"), ("t/d/e/c", "333"), ("t/z", "4444")] {
        folder.write(name, content);
    }
    folder.write("t/large", vec![7; 3_000_000]);
    folder.age();
    assert_eq!(folder.treewide("snapshot t -o m.b3").run().code, Some(0));
    folder
}

/// Runs treewide by another program; what it printed and its status.
fn by(folder: &Folder, program: &str, args: &str, treewide: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(program);
    command.current_dir(folder.path()).args(args.split_whitespace()).arg(TREEWIDE);
    let ended = command.args(treewide.split_whitespace()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

/// Whether strace can make calls fail here.
fn has_strace() -> bool {
    let is_runner = |name: &str| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=9", "true"]);
    !std::env::vars().any(|(name, _)| is_runner(&name))
        && strace.output().is_ok_and(|ended| ended.status.success())
}

/// The root of this machine reads everything, so it gives that right up.
#[test]
fn verify_tells_what_cannot_be_read_from_what_is_gone() {
    let folder = snapshot();

    let (program, args) = match is_root() {
        true => ("setpriv", "--bounding-set -dac_override,-dac_read_search"),
        false => ("env", ""),
    };
    if !Command::new(program)
        .args(args.split_whitespace())
        .arg("true")
        .output()
        .is_ok_and(|it| it.status.success())
    {
        return skip("files that root cannot read", "there is no setpriv that may");
    }
    let mode = |name: &str, mode| {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("t/a", 0);
    mode("t/d", 0);
    let list = folder.read("m.b3");
    for command in ["verify m.b3 t", "verify --quick m.b3 t", "update m.b3 t", "diff m.b3 t"] {
        let (code, stdout, stderr) = by(&folder, program, args, command);
        assert_eq!(code, Some(3), "{command}: {stdout}{stderr}");
        let mut paths: Vec<&str> =
            stdout.lines().map(|line| line.split("  (").next().unwrap()).collect();
        paths.sort_unstable();
        // The key of a file that is not opened is as it was, except for its ctime.
        let expected = ["a", "d/", "d/b", "d/e/", "d/e/c"].map(|name| format!("UNREADABLE {name}"));
        assert_eq!(paths, expected, "{command}");
        assert!(stderr.contains("2 same") || stderr.contains("5 unreadable"), "{stderr}");
    }
    assert_eq!(folder.read("m.b3"), list, "the update keeps what it could not read");
    // A snapshot has the others, and says what it does not have.
    let (code, stdout, _) = by(&folder, program, args, "snapshot t -o n.b3");
    assert_eq!((code, stdout.lines().count()), (Some(3), 2), "{stdout}");
    assert_eq!(folder.read("n.b3").lines().count(), 2);
    mode("t/d", 0o755);
    mode("t/a", 0o644);
    assert_eq!(folder.treewide("verify m.b3 t").run().code, Some(0));
}

/// An error in the middle of a file.
#[test]
fn verify_reports_read_errors_in_the_middle_of_a_file() {
    if !has_strace() {
        return skip("read errors", "strace is missing, or not allowed");
    }
    let folder = snapshot();
    let path = folder.join("t/large").canonicalize().unwrap();
    let args = format!(
        "-f -o calls -P {} -e inject=read,readv,pread64,preadv,preadv2:error=EIO:when=2+",
        path.display()
    );
    let list = folder.read("m.b3");
    for command in [
        "verify --strategy pread m.b3 t",
        "update --full --strategy pread m.b3 t",
        "snapshot --strategy pread t -o n.b3",
    ] {
        let (code, stdout, stderr) = by(&folder, "strace", &args, command);
        assert_eq!(code, Some(3), "{command}: {stdout}{stderr}");
        assert!(
            stdout.starts_with("UNREADABLE large  (cannot read: Input/output error"),
            "{stdout}"
        );
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        assert!(stderr.contains("1 unreadable") || stderr.contains("4 files"), "{stderr}");
    }
    assert_eq!(folder.read("m.b3"), list);
    assert_eq!(folder.treewide("verify m.b3 t").run().code, Some(0));
}

/// Each call of the end of an update fails in its turn. Nothing that is left then passes for the tree if it is not.
#[test]
fn update_that_fails_at_its_end_leaves_nothing_that_is_trusted() {
    if !has_strace() {
        return skip("failures at the end of an update", "strace is missing, or not allowed");
    }
    let folder = snapshot();
    let files = ["m.b3", "m.b3.tw"];
    let read = || files.map(|name| fs::read(folder.join(name)).unwrap());
    let old = read();
    folder.write("t/a", "other");
    let (mut failed, mut passed) = (0, 0);
    for (calls, error) in [
        ("write", "error=ENOSPC"),
        ("fsync,fdatasync", "error=EIO"),
        ("fsync,fdatasync", "error=ENOSPC"),
        ("rename,renameat,renameat2", "error=ENOSPC"),
        ("rename,renameat,renameat2", "error=EXDEV"),
        ("fsync,fdatasync", "signal=KILL"),
        ("rename,renameat,renameat2", "signal=KILL"),
    ] {
        for at in 1..=3 {
            for (name, content) in files.iter().zip(&old) {
                fs::write(folder.join(name), content).unwrap();
            }
            let args = format!("-f -o calls -e inject={calls}:{error}:when={at}");
            let (code, _, stderr) = by(&folder, "strace", &args, "update --no-sync m.b3 t");
            let case = format!("{calls} {at}: {error}: {stderr}");
            let now = read();
            let is_killed = error.ends_with("KILL");
            if code == Some(0) || is_killed && now[0] != old[0] && now[1] != old[1] {
                passed += 1;
                assert!(now[0] != old[0] && now[1] != old[1], "{case}");
                assert_eq!(folder.treewide("verify m.b3 t").run().code, Some(0), "{case}");
            } else {
                failed += 1;
                assert!(is_killed || code == Some(3), "{case}");
                assert!(is_killed || stderr.contains("m.b3"), "the file is named: {case}");
                // Either the old pair, or a list with an index that is not its own.
                let quick = folder.treewide("verify --quick m.b3 t").run().code;
                let expected = if now[0] == old[0] { Some(1) } else { Some(3) };
                assert_eq!(quick, expected, "{case}");
                assert!(now[0] != old[0] || now[1] == old[1], "{case}");
            }
            for name in folder.names() {
                let name = name.into_string().unwrap();
                if name.starts_with(".treewide-") {
                    assert!(
                        is_killed || stderr.contains(&name),
                        "a file that stays is named: {case}"
                    );
                    fs::remove_file(folder.join(name)).unwrap();
                }
            }
        }
    }
    println!("{failed} updates failed, {passed} did not need the call or had another way");
    assert!(failed >= 5);
}

/// A disk that is full in truth, with less and less on it.
#[test]
fn update_on_a_full_disk_keeps_the_old_manifest() {
    if !is_root() {
        return skip("a full disk", "only root may mount one");
    }
    let folder = Folder::new();
    fs::create_dir(folder.join("disk")).unwrap();
    let disk = folder.join("disk");
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|it| it.status.success()) {
        return skip("a full disk", "it cannot be mounted");
    }
    let ended = std::panic::catch_unwind(|| fill(&folder));
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    ended.unwrap();
}

fn fill(folder: &Folder) {
    for number in 0..200 {
        folder.write(format!("t/{number}"), number.to_string());
    }
    folder.age();
    assert_eq!(folder.treewide("snapshot t -o disk/m.b3").run().code, Some(0));
    let read = || ["disk/m.b3", "disk/m.b3.tw"].map(|name| fs::read(folder.join(name)).unwrap());
    let old = read();
    folder.write("t/7", "other");
    for (failed, kib) in (0..200).rev().step_by(8).enumerate() {
        fs::write(folder.join("disk/filler"), vec![1; kib << 10]).unwrap_or(());
        let ended = folder.treewide("update disk/m.b3 t").run();
        if ended.code == Some(0) {
            assert_eq!(folder.treewide("verify --quick disk/m.b3 t").run().code, Some(0));
            println!("{failed} updates found a full disk");
            assert!(failed > 3);
            return;
        }
        assert_eq!(ended.code, Some(3));
        assert!(ended.stderr.contains("No space left"), "{}", ended.stderr);
        assert_eq!(read(), old, "{kib} KiB");
        assert_eq!(folder.treewide("verify --quick disk/m.b3 t").run().code, Some(1));
        assert_eq!(fs::read_dir(folder.join("disk")).unwrap().count(), 3, "nothing else is left");
    }
    panic!("no update had room");
}
