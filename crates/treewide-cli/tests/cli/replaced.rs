//! Files are hashed only if they are the files that were found.
//!
//! The ways in which it might not be (`treewide-files/tests/replaced.rs` has each of them, for files of all sizes):
//! - before its turn, a file that a walk has found is replaced by a symbolic link, another file, a hard link to another
//!   file, a named pipe, a socket, a device or a directory
//! - a directory on the way is replaced by a link, on the same or on another file system
//! - with `--follow`, a link that was found leads elsewhere
//! - a device (`--device`) is to hash the file; any strategy; one thread
//! - not replaced: files that change, have new links or times, or are mounted in their place

use crate::refused::refuser;
use crate::support::{Folder, TREEWIDE, find_program, hex, is_root, skip};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::symlink;
use std::process::Command;

/// No machine hashes this while we look.
const HUGE: u64 = 1 << 40;

/// Replace files while the one before them is being hashed. They are large, and so wait for their turn.
#[test]
fn files_that_are_replaced_while_the_tree_is_hashed() {
    let large = vec![1; 2 << 20];
    for args in ["sum -r d", "sum -r --follow d", "sum -r --threads 1 d", "sum --json -r d"] {
        let folder = Folder::new();
        let names = ["b-link", "c-other", "d-pipe", "e-folder", "f/g/file", "h-same"];
        for name in names {
            folder.write(format!("d/{name}"), &large);
        }
        folder.write("outside/file", "secret");
        // Before a file is deleted, whose inode it could get.
        folder.write("other", "secret");
        File::create(folder.join("d/a")).unwrap().set_len(HUGE).unwrap();
        let mut running = folder.treewide(args).start();
        assert!(running.wait_until_read(&folder.join("d/a"), 4 << 20));
        for name in &names[..4] {
            fs::remove_file(folder.join(format!("d/{name}"))).unwrap();
        }
        symlink(folder.join("outside/file"), folder.join("d/b-link")).unwrap();
        fs::rename(folder.join("other"), folder.join("d/c-other")).unwrap();
        folder.fifo("d/d-pipe");
        fs::create_dir(folder.join("d/e-folder")).unwrap();
        fs::rename(folder.join("d/f/g"), folder.join("moved")).unwrap();
        symlink(folder.join("outside"), folder.join("d/f/g")).unwrap();
        OpenOptions::new().write(true).open(folder.join("d/a")).unwrap().set_len(0).unwrap();
        let ended = running.end();
        assert_eq!(ended.code, Some(1), "{args}: {ended:?}");
        let text = ended.text();
        assert!(!text.contains(&hex("secret")), "{args}: {text}");
        assert!(text.contains(&hex(&large)), "{args}: {text}");
        for name in &names[..5] {
            let message =
                format!("treewide: d/{name}: was replaced while the tree was being hashed");
            assert!(ended.stderr.contains(&message), "{args}: {name}: {}", ended.stderr);
        }
    }
}

/// Where directories do not list the inodes of files, or some files are on another device.
#[test]
fn files_that_are_mounted_or_stacked_are_not_replaced() {
    let folder = Folder::with(&["lower/a", "lower/b", "over"]);
    let (Some(unshare), true) = (find_program("unshare"), is_root()) else {
        return skip("mounted files", "only root may mount");
    };
    if !Command::new(&unshare).args(["-m", "true"]).status().unwrap().success() {
        return skip("mounted files", "unshare -m fails");
    }
    let script = r#"mkdir tree tmp && mount -t tmpfs none tmp && mkdir tmp/upper tmp/work && echo c > tmp/upper/c &&
        mount -t overlay -o lowerdir=lower,upperdir=tmp/upper,workdir=tmp/work none tree || { echo no mount; exit; }
        echo changed > tree/a; mount --bind over tree/b
        "$0" sum -r tree; "$0" sum --no-mmap -r --follow tree"#;
    let ended = folder.program(unshare).args(["-m", "sh", "-c", script, TREEWIDE]).run();
    if ended.text() == "no mount\n" {
        return skip("stacked file systems", ended.stderr);
    }
    let list = [("a", "changed\n"), ("b", "over"), ("c", "c\n")];
    let list: String =
        list.iter().map(|(name, text)| format!("{}  tree/{name}\n", hex(text))).collect();
    ended.is(0, list.repeat(2), "");
}

/// The system may refuse `statx`, and does not name mounts before Linux 5.8.
#[test]
fn mounted_files_are_not_replaced_where_statx_is_refused() {
    let folder = Folder::with(&["over", "tree/a", "tree/b"]);
    let library = match refuser(&folder) {
        Ok(library) => library,
        Err(why) => return skip("mounted files without statx", why),
    };
    let script = "mount --bind over tree/b || { echo no mount; exit; }
        REFUSE=332:1 LD_PRELOAD=$1 \"$0\" sum -r tree";
    let (Some(unshare), true) = (find_program("unshare"), is_root()) else {
        return skip("mounted files without statx", "only root may mount");
    };
    let program = folder.program(unshare).args(["-m", "sh", "-c", script, TREEWIDE]);
    let ended = program.arg(library).run();
    if ended.code == Some(98) || ended.text() == "no mount\n" || ended.stderr.contains("unshare") {
        return skip("mounted files without statx", ended.stderr);
    }
    ended.is(0, format!("{}  tree/a\n{}  tree/b\n", hex("tree/a"), hex("over")), "");
}
