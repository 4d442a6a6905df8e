//! Many files at once: in order, as one at a time would do it, and within bounds.

use crate::support::{Ended, Folder, TREEWIDE, hex, in_time};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

const KIB: usize = 1 << 10;

/// Files of lengths around every edge of reading, batching and hashing alone; names and contents.
fn mixture(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let edges = [
        0,
        1,
        1024,
        1025,
        128 * KIB - 1,
        128 * KIB,
        128 * KIB + 1,
        1024 * KIB - 1,
        1024 * KIB,
        1024 * KIB + 1,
        3000 * KIB,
    ];
    // Mostly short ones, and an edge now and then, next to different neighbours every time.
    let lens = (0..600_usize).map(|i| if i % 17 == 0 { edges[i / 17 % 11] } else { i * 37 % 9000 });
    let mut files: Vec<_> = lens
        .enumerate()
        .map(|(i, len)| {
            let content: Vec<u8> = (0..len).map(|at| (at * 31 + i * 7 + at / 251) as u8).collect();
            (format!("d/{:02}/{i:03}", i % 13), content)
        })
        .collect();
    files.sort();
    for (name, content) in &files {
        folder.write(name, content);
    }
    files
}

#[test]
fn any_number_of_threads_gives_the_same_lines() {
    let folder = Folder::new();
    let files = mixture(&folder);
    let lines = |digest: &dyn Fn(&[u8]) -> String| -> String {
        files.iter().map(|(name, content)| format!("{}  {name}\n", digest(content))).collect()
    };
    let output = |hasher: &blake3::Hasher, seek: u64, len: usize| {
        let mut bytes = vec![0; len];
        let mut reader = hasher.finalize_xof();
        reader.set_position(seek);
        reader.fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let plain = lines(&|content| hex(content));
    let short = lines(&|content| output(blake3::Hasher::new().update(content), 0, 5));
    let long = lines(&|content| output(blake3::Hasher::new().update(content), 3, 100));
    let keyed = lines(&|content| blake3::keyed_hash(&[7; 32], content).to_hex().to_string());
    let derived = lines(&|content| hex_of(&blake3::derive_key("context", content)));
    for threads in [1, 3, 8] {
        let run = |args: &str, stdin: &[u8]| {
            let command = format!("sum --threads {threads} -r d {args}");
            folder.treewide(&command).stdin(stdin).run()
        };
        run("", b"").succeeds_with(&plain);
        run("--length 5", b"").succeeds_with(&short);
        run("--length 100 --seek 3", b"").succeeds_with(&long);
        run("--keyed", &[7; 32]).succeeds_with(&keyed);
        run("--derive-key context", b"").succeeds_with(&derived);
        run("--strategy read", b"").succeeds_with(&plain);
        let names = files.iter().map(|(name, _)| name);
        let sum = folder.treewide("sum --threads").arg(threads.to_string()).args(names).run();
        sum.succeeds_with(&plain);
        for check in ["check --quiet --threads", "sum --check --quiet --threads"] {
            let check = folder.treewide(check).arg(threads.to_string()).stdin(&plain).run();
            check.succeeds_with("");
        }
    }
    println!("threads, modes and lengths: {} cases", 4 * 9 * files.len());
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A pipe may wait for the program that reads the lines before it.
#[test]
fn a_pipe_keeps_no_line_waiting_that_comes_before_it() {
    let folder = Folder::with(&["a", "b", "c"]);
    folder.fifo("pipe");
    for threads in ["1", "4"] {
        let mut running = folder.treewide("sum a b pipe c --threads").arg(threads).start();
        let mut stdout = BufReader::new(running.0.stdout.take().unwrap());
        let pipe = folder.join("pipe");
        let text = in_time(move || {
            let mut text = String::new();
            stdout.read_line(&mut text).unwrap();
            stdout.read_line(&mut text).unwrap();
            fs::write(pipe, "through the pipe").unwrap();
            while stdout.read_line(&mut text).unwrap() > 0 {}
            text
        });
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("{}  {name}\n", hex(name)));
        assert_eq!(text, format!("{a}{b}{}  pipe\n{c}", hex("through the pipe")));
        running.end().is(0, "", "");
    }
}

/// Each line of a list is answered before the next one is asked for.
#[test]
fn a_list_that_comes_line_by_line_is_checked_line_by_line() {
    let folder = Folder::with(&["a", "b"]);
    for command in ["check", "sum --check"] {
        let mut running = folder.treewide(command).start();
        let mut stdin = running.0.stdin.take().unwrap();
        let mut stdout = BufReader::new(running.0.stdout.take().unwrap());
        let text = in_time(move || {
            let mut text = String::new();
            for name in ["a", "b"] {
                writeln!(stdin, "{}  {name}", hex(name)).unwrap();
                stdout.read_line(&mut text).unwrap();
            }
            text
        });
        assert_eq!(text, "a: OK\nb: OK\n");
        assert_eq!(running.end().code, Some(0));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_say_they_are_empty_among_others() {
    let folder = Folder::with(&["a", "empty-not"]);
    folder.write("empty", "");
    let proc = "/proc/version";
    let Ok(content) = fs::read(proc) else {
        return crate::support::skip(proc, "there is no such file");
    };
    let ended = folder.treewide("sum a empty /proc/version empty-not").run();
    let mut expected = format!("{}  a\n{}  empty\n", hex("a"), hex(""));
    expected += &format!("{}  {proc}\n{}  empty-not\n", hex(content), hex("empty-not"));
    ended.succeeds_with(expected);
}

/// Deeper than any name may be long.
#[test]
fn three_thousand_directories_in_one_another() {
    let folder = Folder::with(&["d/first"]);
    // A thousand at a time, each new thousand around those before.
    let thousand = "d/".repeat(1000);
    fs::create_dir(folder.join("inner")).unwrap();
    folder.write("inner/last", "last");
    folder.write("inner/large", vec![7; 3000 * KIB]);
    for _ in 0..3 {
        fs::create_dir_all(folder.join(format!("outer/{thousand}"))).unwrap();
        fs::rename(folder.join("inner"), folder.join(format!("outer/{thousand}d"))).unwrap();
        fs::rename(folder.join("outer"), folder.join("inner")).unwrap();
    }
    fs::rename(folder.join("inner"), folder.join("d/deep")).unwrap();
    folder.write("d/end", "end");
    let plain = folder.treewide("sum -r d").run();
    let check = folder.treewide("check --quiet").stdin(&plain.stdout).run();
    let following = folder.treewide("sum -r --follow d").run();
    // The usual way to remove it would need a name for it.
    let removed = Command::new("rm").arg("-rf").arg(folder.join("d")).status().unwrap();
    assert!(removed.success());

    let deep = format!("d/deep{}", "/d".repeat(3_003));
    let [last, large] = [hex("last"), hex(vec![7; 3000 * KIB])];
    let around = format!("{}  d/end\n{}  d/first\n", hex("end"), hex("d/first"));
    if cfg!(target_os = "linux") {
        let below = format!("{large}  {deep}/large\n{last}  {deep}/last\n");
        // No one wants to see these names.
        assert_eq!((plain.code, &plain.stderr[..]), (Some(0), ""));
        assert!(plain.text() == below + &around, "{} bytes", plain.stdout.len());
        check.is(0, "", "");
    }
    // Where loops are possible, or elsewhere, what is too deep is an error, and said once.
    assert_eq!(following.text(), around);
    following.fails(1, &["/d: File name too long (os error ", "; start from a directory further"]);
    assert_eq!(following.stderr.lines().count(), 1, "{}", following.stderr);
}

#[test]
fn files_that_disappear_during_the_walk() {
    let folder = Folder::new();
    let names: Vec<String> = (0..3000).map(|i| format!("d/{:02}/{i:04}", i / 100)).collect();
    for name in &names {
        folder.write(name, name);
    }
    let running = folder.treewide("sum -r d").start();
    let removed: Vec<&String> = names.iter().skip(1).step_by(2).collect();
    for name in removed.iter().rev() {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let ended = running.end();
    let mut listed: Vec<&str> = Vec::new();
    for line in ended.text().lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(digest, hex(name));
        listed.push(name);
    }
    assert!(listed.is_sorted());
    for name in names.iter().step_by(2) {
        assert!(listed.binary_search(&&name[..]).is_ok(), "{name}");
    }
    // Files that were found, and gone when they were to be opened. They may be listed at the end again.
    for line in ended.stderr.lines() {
        let is_known = line.ends_with(": cannot open: No such file or directory (os error 2)")
            || line.ends_with("could not be hashed:")
            || line.ends_with("more, see above");
        assert!(is_known, "{line}");
    }
    assert_eq!(ended.code, Some(i32::from(!ended.stderr.is_empty())), "{}", ended.stderr);
    println!("files removed during the walk: {} cases", removed.len());
}

#[test]
fn names_of_any_bytes_in_a_tree() {
    let folder = Folder::new();
    let names: [&[u8]; 5] = [b"d/\xff", b"d/a\nb", b"d/a\\b", b"d/\xc3(", b"d/ "];
    for name in names {
        folder.write(Path::new(std::ffi::OsStr::from_bytes(name)), name);
    }
    let json = folder.treewide("sum --json -r d").run();
    assert_eq!(json.code, Some(0));
    let check = folder.treewide("check --threads 2").stdin(&json.stdout).run();
    check.fails(0, &["5 files checked: 5 OK"]);
}

fn with_failures(folder: &Folder, flags: &str, missing: usize, good: usize) -> Ended {
    let names = (0..missing).map(|i| format!("missing{i}")).chain(vec!["a".into(); good]);
    folder.treewide("sum").args(flags.split_whitespace()).args(names).run()
}

#[test]
fn failures_that_are_out_of_sight_are_listed_at_the_end() {
    let folder = Folder::with(&["a"]);
    let cause = "cannot open: No such file or directory (os error 2)";
    let once = format!("treewide: missing0: {cause}\n");
    // In sight.
    with_failures(&folder, "", 1, 20).is(1, format!("{}  a\n", hex("a")).repeat(20), &once);
    let ended = with_failures(&folder, "", 1, 100);
    let end =
        format!("treewide: 1 of 101 files could not be hashed:\ntreewide:   missing0: {cause}\n");
    ended.is(1, format!("{}  a\n", hex("a")).repeat(100), once.clone() + &end);
    let ended = with_failures(&folder, "", 30, 100);
    ended
        .fails(1, &["30 of 130 files could not be hashed:", "  missing19: ", "  and 10 more, see"]);
    assert_eq!(ended.stderr.lines().count(), 30 + 1 + 20 + 1);
    // Asked for quiet, or under the name of a program that does no such thing.
    with_failures(&folder, "-q", 1, 100).is(1, ended.text(), &once);
    let names = std::iter::once("missing0").chain(vec!["a"; 100]);
    let as_b3sum = folder.program(TREEWIDE).named("b3sum").args(names).run();
    let once = once.replace("treewide", "b3sum").replace("cannot open: ", "");
    assert_eq!(as_b3sum.stderr, once);
}

#[test]
fn quiet_means_errors_alone() {
    let folder = Folder::with(&["d/f"]);
    folder.fifo("d/pipe");
    std::os::unix::fs::symlink("f", folder.join("d/link")).unwrap();
    folder.write("d/bad", "");
    let list = folder.treewide("sum -q -r d").run();
    list.is(0, format!("{}  d/bad\n{}  d/f\n", hex(""), hex("d/f")), "");
    folder.write("d/bad", "changed");
    let ended = folder.treewide("sum -q --check").stdin(&list.stdout).run();
    ended.fails(1, &["1 computed checksum did NOT match"]);
    assert_eq!(ended.text(), "d/bad: FAILED\n");
}

/// Neither many threads nor deep or wide trees take many open files.
#[test]
fn open_files_are_few() {
    let folder = Folder::new();
    let deep = "deep/".repeat(100);
    for i in 0..400 {
        let place =
            if i % 2 == 0 { format!("d/{:03}/{i}", i % 100) } else { format!("d/{deep}{i}") };
        folder.write(place, i.to_string());
    }
    let limited = format!("ulimit -n 40; '{TREEWIDE}' sum -r d --threads 16");
    let ended = folder.program("sh").arg("-c").arg(limited).run();
    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
    assert_eq!(ended.text().lines().count(), 400);
}
