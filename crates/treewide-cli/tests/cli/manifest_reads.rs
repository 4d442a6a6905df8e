//! Reads of `update` and `verify` in the files of a tree, as strace sees them.

use crate::support::{Folder, TREEWIDE, wait_until_links_count};
use std::fs;
use std::process::Command;

/// Every call that reads from a file, or maps it.
const READS: &str = "trace=read,readv,pread64,preadv,preadv2,mmap,sendfile,splice,copy_file_range";

/// Bytes of files in `t` that a run of these arguments reads, or why strace cannot say it.
fn bytes_read(folder: &Folder, args: &str) -> Result<u64, String> {
    // Where cargo has a runner, strace would see what the emulator asks of the system.
    let is_runner = |name: &str| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER");
    if std::env::vars().any(|(name, _)| is_runner(&name)) {
        return Err("a runner is set, so an emulator may run the program".into());
    }
    let traced = |program: &str, args: &str| {
        let mut strace = Command::new("strace");
        strace.current_dir(folder.path()).args(["-f", "-y", "-e", READS, "-o", "calls", program]);
        let ended = strace.args(args.split_whitespace()).output();
        ended.map_err(|error| format!("strace cannot be started: {error}"))
    };
    let is_able = traced("true", "")?;
    if !is_able.status.success() {
        return Err(format!("strace fails: {}", String::from_utf8_lossy(&is_able.stderr).trim()));
    }
    let ended = traced(TREEWIDE, args)?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let tree = format!("{}/t/", folder.path().canonicalize().unwrap().display());
    let of_tree = |line: &&str| line.contains(&tree) && !line.contains(" resumed>");
    let calls = folder.read("calls");
    let mut bytes = 0;
    for call in calls.lines().filter(of_tree) {
        assert!(!call.contains("mmap("), "a mapping has no count: {call}");
        // The end of a call that another thread came into is on a line of its own, which names no file.
        let (pid, rest) = call.split_once(' ').unwrap();
        let end = if call.contains("<unfinished") {
            let name = rest.trim_start().split('(').next().unwrap();
            let after = &calls[call.as_ptr().addr() - calls.as_ptr().addr()..];
            let resumed = |line: &&str| {
                line.starts_with(&format!("{pid} ")) && line.contains(&format!("{name} resumed>"))
            };
            after.lines().find(resumed).unwrap()
        } else {
            call
        };
        let (_, result) = end.rsplit_once(" = ").unwrap();
        bytes += result.trim().parse::<u64>().unwrap_or_else(|_| panic!("{end}"));
    }
    Ok(bytes)
}

#[test]
fn update_reads_no_byte_of_files_that_did_not_change() {
    let folder = Folder::new();
    let mut all = 0;
    for number in 0..300_usize {
        folder.write(format!("t/{}/{number}", number % 7), vec![b'x'; number]);
        all += number as u64;
    }
    folder.age();
    assert_eq!(folder.treewide("snapshot t -o m.b3").run().code, Some(0));
    let run = |args: &str| bytes_read(&folder, args);
    // First that the test sees what is read.
    match run("verify m.b3 t") {
        Err(reason) => return println!("SKIPPED: what an update reads: {reason}"),
        Ok(bytes) => assert_eq!(bytes, all),
    }
    assert_eq!(run("verify --quick m.b3 t"), Ok(0));
    assert_eq!(run("update m.b3 t"), Ok(0));
    let said = folder.treewide("update m.b3 t").run().stderr;
    assert!(said.contains("; 0 files read (0 B)"), "{said}");
    fs::write(folder.join("t/3/10"), "changed").unwrap();
    assert_eq!(run("update m.b3 t"), Ok(7));
}

/// A file is read once, however many names it has.
#[test]
fn hard_links_are_read_once() {
    let folder = Folder::new();
    folder.write("t/a", vec![b'x'; 100_000]);
    for name in ["t/b", "t/z"] {
        fs::hard_link(folder.join("t/a"), folder.join(name)).unwrap();
    }
    folder.write("t/c", "other");
    wait_until_links_count(&folder.join("t/c"));
    for args in ["snapshot t -o m.b3", "verify m.b3 t", "update --full m.b3 t"] {
        match bytes_read(&folder, args) {
            Err(reason) => return println!("SKIPPED: what is read of hard links: {reason}"),
            Ok(bytes) => assert_eq!(bytes, 100_005, "{args}"),
        }
    }
    let said = folder.treewide("verify m.b3 t").run().stderr;
    assert!(said.contains("4 same; 2 files read (97.66 KiB), 2 more under another name"), "{said}");
}
