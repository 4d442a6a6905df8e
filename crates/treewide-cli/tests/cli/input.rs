//! Files that are not what they were, or that cannot be read at all.

use crate::support::{Folder, TREEWIDE, find_program, hex, in_time, is_ignored, is_root, skip};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

/// No machine hashes this while we look.
const HUGE: u64 = 1 << 40;

fn sparse(folder: &Folder, name: &str) {
    File::create(folder.join(name)).unwrap().set_len(HUGE).unwrap();
}

fn truncate(folder: &Folder, name: &str, len: u64) {
    OpenOptions::new().write(true).open(folder.join(name)).unwrap().set_len(len).unwrap();
}

#[test]
fn lengths_around_every_edge() {
    let folder = Folder::new();
    let mega = 1 << 20;
    let content: Vec<u8> = (0..2 * mega + 2).map(|i: usize| (i % 251) as u8).collect();
    let lens = [
        0,
        1,
        1023,
        1024,
        1025,
        (128 << 10) - 1,
        128 << 10,
        mega - 1,
        mega,
        mega + 1,
        2 * mega + 1,
    ];
    // Growing and shrinking, so that a buffer used again shows what was left in it.
    for len in lens.into_iter().chain(lens.into_iter().rev()) {
        folder.write(len.to_string(), &content[..len]);
    }
    let names: Vec<String> = lens.iter().chain(lens.iter().rev()).map(usize::to_string).collect();
    let expected: String = names
        .iter()
        .map(|name| format!("{}  {name}\n", hex(&content[..name.parse::<usize>().unwrap()])))
        .collect();
    for threads in ["--threads=0", "--threads=1", "--num-threads=3"] {
        let ended = folder.treewide("sum").arg(threads).args(&names).run();
        ended.succeeds_with(&expected);
    }
    for len in lens {
        let ended = folder.treewide("sum --no-names").stdin(&content[..len]).run();
        ended.succeeds_with(hex(&content[..len]) + "\n");
    }
}

#[test]
fn a_file_without_permission() {
    let folder = Folder::with(&["open", "closed", "last"]);
    folder.add_treewide();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let program = if !is_root() {
        folder.program(folder.join("treewide"))
    } else if let Some(setpriv) = find_program("setpriv") {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "./treewide"];
        folder.program(setpriv).args(nobody)
    } else {
        return skip("a file without permission", "root may read all, and there is no setpriv");
    };
    let expected = format!("{}  open\n{}  last\n", hex("open"), hex("last"));
    let message = "treewide: closed: cannot open: Permission denied (os error 13)\n";
    program.args(["sum", "open", "closed", "last"]).run().is(1, expected, message);
}

/// It was there when the directory was listed. A file that shrinks does not raise a signal.
#[test]
#[cfg(target_os = "linux")]
fn files_that_go_while_others_are_hashed() {
    let folder = Folder::with(&["d/c"]);
    // Both large, as small files are hashed while others before them still are.
    sparse(&folder, "d/a");
    sparse(&folder, "d/b");
    let mut running = folder.treewide("sum -r d").start();
    assert!(running.wait_until_read(&folder.join("d/a"), 4 << 20));
    fs::remove_file(folder.join("d/b")).unwrap();
    truncate(&folder, "d/a", 5000);
    let ended = running.end();
    assert_eq!(ended.signal, None);
    assert_eq!(ended.text(), format!("{}  d/c\n", hex("d/c")));
    ended.fails(
        1,
        &[
            "treewide: d/a: file shrank while being hashed: ",
            " of 1099511627776 bytes\n",
            "treewide: d/b: cannot open: No such file or directory (os error 2)\n",
        ],
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_shrinks_while_it_is_checked() {
    let folder = Folder::with(&["b"]);
    sparse(&folder, "a");
    folder.write("list", format!("{}  a\n{}  b\n", "0".repeat(64), hex("b")));
    let mut running = folder.treewide("check list").start();
    assert!(running.wait_until_read(&folder.join("a"), 4 << 20));
    truncate(&folder, "a", 0);
    let ended = running.end();
    assert!(ended.text().starts_with("a: FAILED (file shrank while being hashed: "));
    assert!(ended.text().ends_with("\nb: OK\n"));
    ended.fails(3, &["2 files checked: 1 OK, 1 could not be read"]);
}

/// It counts as it was when it was opened, or a log that is written to would take for ever.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_grows_is_hashed_as_it_was() {
    let content = vec![7; 8 << 20];
    // It may be done before we see it at work, and then this shows nothing.
    for _ in 0..20 {
        let folder = Folder::new();
        folder.write("log", &content);
        let mut running = folder.treewide("sum log").start();
        let in_time = running.wait_until_read(&folder.join("log"), 4 << 20);
        let mut log = OpenOptions::new().append(true).open(folder.join("log")).unwrap();
        log.write_all(&[8; 1 << 20]).unwrap();
        running.end().is(0, format!("{}  log\n", hex(&content)), "");
        if in_time {
            return;
        }
    }
    skip("a file that grows", "it was never seen while it was read");
}

/// Some files say that they are empty (/proc) or longer than they are (/sys).
#[test]
#[cfg(target_os = "linux")]
fn files_with_wrong_lengths() {
    let folder = Folder::new();
    for path in ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"] {
        let Ok(content) = fs::read(path) else {
            skip(path, "there is no such file");
            continue;
        };
        assert_ne!(fs::metadata(path).unwrap().len(), content.len() as u64);
        folder.treewide("sum").arg(path).run().is(0, format!("{}  {path}\n", hex(content)), "");
    }
}

#[test]
fn a_named_pipe_is_read_when_it_is_named() {
    let folder = Folder::new();
    folder.fifo("pipe");
    let running = folder.treewide("sum pipe").start();
    let pipe = folder.join("pipe");
    in_time(move || fs::write(pipe, "through the pipe").unwrap());
    running.end().is(0, format!("{}  pipe\n", hex("through the pipe")), "");
}

/// Each way of reading ends at Ctrl-C, and takes no more memory for a longer file.
#[test]
#[cfg(target_os = "linux")]
fn files_longer_than_our_patience() {
    const MIB: u64 = 1 << 10; // in units of /proc
    let folder = Folder::new();
    sparse(&folder, "a");
    for strategy in ["auto", "read", "read-overlapped", "pread", "mmap", "mmap-parallel"] {
        let mut running = folder.treewide("sum a --drop-cache --strategy").arg(strategy).start();
        assert!(running.wait_until_read(
            &folder.join("a"),
            if strategy.starts_with("mmap") { 400 } else { 100 } << 20
        ));
        let status = fs::read_to_string(format!("/proc/{}/status", running.0.id())).unwrap();
        let size = |key| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let anonymous = size("RssAnon:");
        assert!(anonymous < 64 * MIB, "{strategy}: {anonymous} kB");
        // What is mapped at a time, and the program itself.
        let mapped = size("RssFile:");
        assert!(mapped < 300 * MIB, "{strategy}: {mapped} kB");
        // In the background of a shell INT is ignored.
        let (name, number) = if is_ignored(2) { ("TERM", 15) } else { ("INT", 2) };
        running.signal(name);
        let ended = running.end();
        assert_eq!(ended.signal, Some(number), "{strategy}");
        assert_eq!(ended.text(), "");
    }
}

/// Whatever the strategy, the same lines, and the same words for a file that shrinks.
#[test]
#[cfg(target_os = "linux")]
fn strategies_by_name() {
    let folder = Folder::new();
    let content: Vec<u8> = (0..20 << 20).map(|i: usize| (i % 251) as u8).collect();
    folder.write("long", &content);
    folder.write("short", "short");
    folder.write("empty", "");
    let expected: String = [("long", hex(&content)), ("short", hex("short")), ("empty", hex(""))]
        .iter()
        .map(|(name, digest)| format!("{digest}  {name}\n"))
        .collect();
    for strategy in ["auto", "read", "read-overlapped", "pread", "mmap", "mmap-parallel"] {
        let sum = folder.treewide("sum long short empty --strategy").arg(strategy);
        sum.run().succeeds_with(&expected);
        let sum = folder.treewide("sum --no-names --strategy").arg(strategy).stdin(&content);
        sum.run().succeeds_with(hex(&content) + "\n");
    }
    folder.treewide("sum --drop-cache long short empty").run().succeeds_with(&expected);
    folder.treewide("sum --no-mmap long short empty").run().succeeds_with(&expected);
    folder.treewide("sum long --strategy fast").run().fails(2, &["invalid value 'fast'"]);
    folder.treewide("sum long --strategy mmap --no-mmap").run().fails(2, &["cannot be used with"]);
    // From where standard input is, and to its end.
    let script = "(head -c 1048576 >head; \"$0\" sum --no-names; cat) <long";
    let ended = folder.program("sh").args(["-c", script, TREEWIDE]).run();
    ended.succeeds_with(hex(&content[1 << 20..]) + "\n");
}

#[test]
fn keys_from_standard_input() {
    let folder = Folder::with(&["a"]);
    let keyed = blake3::keyed_hash(&[9; 32], b"a").to_hex();
    let sum = |key: &[u8]| folder.treewide("sum --keyed a").stdin(key).run();
    sum(&[9; 32]).succeeds_with(format!("{keyed}  a\n"));
    sum(&[9; 31]).fails(1, &["treewide: expected 32 key bytes from standard input, found 31\n"]);
    sum(&[9; 33]).fails(1, &["treewide: more than 32 key bytes on standard input"]);
    let both = folder.treewide("sum --keyed a - a").stdin([9; 32]).run();
    assert_eq!(both.text(), format!("{keyed}  a\n").repeat(2));
    both.fails(1, &["treewide: -: standard input is already in use for the key\n"]);
}

#[test]
fn threads_are_a_maximum() {
    let folder = Folder::new();
    let content = vec![7; 3 << 20];
    folder.write("a", &content);
    let expected = format!("{}  a\n", hex(&content));
    for threads in ["0", "1", "2", "1000000", "18446744073709551615"] {
        let sum = folder.treewide("sum a --threads").arg(threads).run();
        sum.succeeds_with(&expected);
        let sum = folder.treewide("sum a").env("RAYON_NUM_THREADS", threads).run();
        sum.succeeds_with(&expected);
    }
    folder.treewide("sum a").env("RAYON_NUM_THREADS", "many").run().fails(0, &[]);
}

/// Where not a single thread can be started, the one there is has to do.
#[test]
fn no_threads_to_be_had() {
    let Some(setpriv) = find_program("setpriv").filter(|_| is_root()) else {
        return skip(
            "a limit of threads",
            "it takes root and setpriv to have it for this test alone",
        );
    };
    let folder = Folder::new();
    let content = vec![7; 3 << 20];
    folder.write("a", &content);
    folder.add_treewide();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // A user of its own, so that the limit counts no other processes.
    let limited = format!(
        "ulimit -u 1 && exec '{}' --reuid=64123 --clear-groups ./treewide sum --threads 4 a",
        setpriv.display(),
    );
    let ended = folder.program("bash").arg("-c").arg(limited).run();
    ended.succeeds_with(format!("{}  a\n", hex(&content)));
}
