//! State that a process inherits from the one that starts it: descriptors and signals.
//!
//! The ways in which that shows:
//! - standard input is closed: for data, lists and keys; where it is not used, that is not an error
//! - standard output is closed, full (/dev/full), or reports an error when it is closed: for everything that prints
//! - standard input has O_NONBLOCK and bytes come late: data, lists, keys
//! - standard output or standard error has O_NONBLOCK and is full: results, help, messages
//! - a signal is ignored: each that is watched, and SIGPIPE
//! - process 1, on which signals have no effect by default: with and without `-o`, and a closed pipe

use crate::refused::refuser;
use crate::support::{
    Ended, Folder, TREEWIDE, failure, find_program, hex, in_time, is_ignored, is_root, skip, sums,
    wait_for,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const KEY: [u8; 32] = [7; 32];

/// Run `treewide` by a shell that directs its streams.
fn shell(folder: &Folder, args: &str, redirections: &str) -> Ended {
    let script = format!("exec \"$0\" {args} {redirections}");
    folder.program("sh").args(["-c", &script, TREEWIDE]).run()
}

fn folder_with_list() -> Folder {
    let folder = Folder::with(&["a"]);
    folder.write("list", sums(&["a"]));
    folder.write("key", KEY);
    folder
}

#[test]
fn a_closed_input_is_an_error_where_it_is_used() {
    let folder = folder_with_list();
    for args in
        ["sum", "sum a -", "sum - -o out", "sum --keyed a", "sum --check", "check", "check list -"]
    {
        let ended = shell(&folder, args, "<&-");
        ended.fails(failure(args), &["standard input is closed"]);
        assert!(!ended.text().contains(&hex("")), "{args}: {ended:?}");
    }
    for args in ["sum a", "check list", "sum --check list", "sum -r a", "sum --help"] {
        assert_eq!(shell(&folder, args, "<&-").code, Some(0), "{args}");
    }
    for null in ["</dev/null", "<>/dev/null"] {
        shell(&folder, "sum", null).is(0, format!("{}  -\n", hex("")), "");
    }
}

#[test]
fn a_closed_output_is_an_error_where_it_is_used() {
    let folder = folder_with_list();
    let printing = ["sum a", "sum a -o /dev/stdout", "check list", "explain", "--help"];
    for args in printing {
        let message = "is closed; direct it to a file or to /dev/null\n";
        shell(&folder, args, ">&-").fails(failure(args), &["treewide: ", message]);
        assert_eq!(shell(&folder, args, ">/dev/null").code, Some(0), "{args}");
    }
    for args in ["sum a -o out", "check --status list", "sum --check --quiet list"] {
        assert_eq!(shell(&folder, args, ">&-").code, Some(0), "{args}");
    }
    assert_eq!(folder.read("out"), sums(&["a"]));
    // A result that no one would see.
    folder.write("wrong", format!("{}  a\n", hex("b")));
    shell(&folder, "check --quiet wrong", ">&-").fails(3, &["standard output: is closed"]);
    // Standard error as an output.
    assert_eq!(shell(&folder, "sum a -o /dev/stderr", "2>&-").code, Some(1));
    assert_eq!(shell(&folder, "sum a", "2>&-").code, Some(0));
}

#[test]
fn an_output_that_takes_nothing_is_an_error() {
    let folder = folder_with_list();
    if !Path::new("/dev/full").exists() {
        return skip("a full output", "there is no /dev/full");
    }
    for args in [
        "sum a",
        "sum -r .",
        "sum a -o /dev/stdout",
        "sum --raw a",
        "sum --json a",
        "check list",
        "check --json list",
        "sum --check list",
        "explain",
        "man",
        "man sum",
        "completions zsh",
        "--help",
        "--version",
    ] {
        shell(&folder, args, ">/dev/full").fails(failure(args), &["No space left on device"]);
    }
    shell(&folder, "sum a", "1<a").fails(1, &["standard output is open for reading only"]);
}

/// EIO from each `close`.
#[test]
fn an_output_that_fails_when_it_is_closed_is_an_error() {
    let folder = folder_with_list();
    let library = match refuser(&folder) {
        Ok(library) => library,
        Err(why) => return skip("an output that fails when it is closed", why),
    };
    for args in ["sum a", "check list", "sum --check list", "man", "--help", "explain"] {
        let program = folder.treewide(args).env("LD_PRELOAD", &library).env("REFUSE", "3:5");
        program.run().fails(failure(args), &["standard output: cannot write: Input/output error"]);
    }
}

/// A pipe whose end with this number does not block.
fn pipe(without_waiting: usize) -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let end = if without_waiting == 0 { reader.as_fd() } else { writer.as_fd() };
    fcntl_setfl(end, fcntl_getfl(end).unwrap() | OFlags::NONBLOCK).unwrap();
    (reader, writer)
}

/// Waits until a thread of the program waits for a descriptor, or the program has ended. Where the system does not say that, no one waits.
fn wait_until_it_polls(child: &mut Child) {
    // `poll` and `ppoll` on x86-64, `ppoll` on AArch64.
    const CALLS: [&str; 3] = ["7 ", "271 ", "73 "];
    if fs::read("/proc/self/syscall").is_err() {
        return skip("a program that waits", "the system does not say which call it is in");
    }
    wait_for(|| {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).ok();
        let calls = tasks.into_iter().flatten().flatten();
        let mut calls = calls.filter_map(|it| fs::read_to_string(it.path().join("syscall")).ok());
        let polls = calls.any(|call| CALLS.iter().any(|it| call.starts_with(it)));
        (polls || child.try_wait().unwrap().is_some()).then_some(())
    });
}

/// Run with an input that does not block, and whose bytes come late and in pieces.
fn with_late_input(folder: &Folder, args: &str, bytes: &[u8]) -> std::process::Output {
    let (reader, mut writer) = pipe(0);
    let mut program = Command::new(TREEWIDE);
    program.args(args.split(' ')).current_dir(folder.path()).stdin(reader);
    let mut program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for half in bytes.chunks(bytes.len().div_ceil(2)) {
        wait_for(|| (rustix::io::ioctl_fionread(&writer).unwrap() == 0).then_some(()));
        wait_until_it_polls(&mut program);
        writer.write_all(half).unwrap();
    }
    drop(writer);
    in_time(move || program.wait_with_output().unwrap())
}

#[test]
fn an_input_that_does_not_block_is_waited_for() {
    let folder = folder_with_list();
    let keyed = format!("{}  a\n", blake3::keyed_hash(&KEY, b"a"));
    folder.write("keyed", &keyed);
    let of_input = format!("{}  -\n", hex("bytes"));
    let list = sums(&["a"]);
    for (args, bytes, stdout) in [
        ("sum", &b"bytes"[..], &of_input[..]),
        ("sum -", b"bytes", &of_input),
        ("sum --threads 1", b"bytes", &of_input),
        ("sum --strategy read", b"bytes", &of_input),
        ("sum --keyed a", &KEY, &keyed),
        ("check --keyed keyed", &KEY, "a: OK\n"),
        ("check", list.as_bytes(), "a: OK\n"),
        ("check -", list.as_bytes(), "a: OK\n"),
        ("sum --check", list.as_bytes(), "a: OK\n"),
    ] {
        let ended = with_late_input(&folder, args, bytes);
        assert_eq!(String::from_utf8_lossy(&ended.stdout), stdout, "{args}: {ended:?}");
        assert_eq!(ended.status.code(), Some(0), "{args}: {ended:?}");
    }
}

/// Run with an output that does not block and is read late. Returns what was read, and the exit code.
fn with_late_reader(folder: &Folder, args: &[String], stream: u8) -> (String, Option<i32>) {
    let (mut reader, writer) = pipe(1);
    let mut program = Command::new(TREEWIDE);
    program.args(args).current_dir(folder.path());
    match stream {
        1 => program.stdout(writer).stderr(Stdio::null()),
        _ => program.stdout(Stdio::null()).stderr(writer),
    };
    let mut child = program.stdin(Stdio::null()).spawn().unwrap();
    // It has the other end.
    drop(program);
    wait_until_it_polls(&mut child);
    in_time(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        (text, child.wait().unwrap().code())
    })
}

#[test]
fn an_output_that_does_not_block_is_waited_for() {
    let folder = folder_with_list();
    let words = |args: &str| args.split(' ').map(String::from).collect::<Vec<_>>();
    let many = |first: &str, name: &str| [words(first), vec![name.into(); 4000]].concat();
    let (text, code) = with_late_reader(&folder, &many("sum", "a"), 1);
    assert!(text == sums(&["a"; 4000]) && code == Some(0), "{code:?}: {} bytes", text.len());
    let (text, code) = with_late_reader(&folder, &words("sum --length 1000000 a"), 1);
    assert_eq!((text.len(), code), (2_000_000 + "  a\n".len(), Some(0)));
    let (text, code) = with_late_reader(&folder, &many("check", "list"), 1);
    assert!(text == "a: OK\n".repeat(4000) && code == Some(0));
    // A help text fits into a pipe, so these do not have to wait; but they must not fail.
    for args in ["--help", "man sum", "completions bash"] {
        let (text, code) = with_late_reader(&folder, &words(args), 1);
        assert!(!text.is_empty() && code == Some(0), "{args}");
    }
    let (text, code) = with_late_reader(&folder, &many("sum", "missing"), 2);
    assert_eq!(text.matches("treewide: missing: cannot open: No such file").count(), 4000);
    assert_eq!(code, Some(1));
}

const SIGNALS: [(&str, i32); 7] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("USR1", if cfg!(target_os = "linux") { 10 } else { 30 }),
    ("USR2", if cfg!(target_os = "linux") { 12 } else { 31 }),
    ("ALRM", 14),
    ("TERM", 15),
];

#[test]
fn signals_that_are_ignored_stay_ignored() {
    for (name, _) in SIGNALS {
        let folder = Folder::with(&["a"]);
        let script = format!("trap '' {name}; exec '{TREEWIDE}' sum - -o list");
        let mut running = folder.program("sh").arg("-c").arg(script).start();
        wait_for(|| (folder.names().len() == 2).then_some(()));
        running.signal(name);
        running.0.stdin.as_mut().unwrap().write_all(b"text").unwrap();
        running.end().is(0, "", "");
        assert_eq!(folder.read("list"), format!("{}  -\n", hex("text")), "{name}");
    }
}

#[test]
fn a_broken_pipe_that_is_ignored_is_an_error() {
    let folder = folder_with_list();
    for (trap, code, stderr) in [
        (
            "trap '' PIPE;",
            (Some(1), None),
            "treewide: standard output: cannot write: Broken pipe (os error 32)\n",
        ),
        ("trap - PIPE;", (None, Some(13)), ""),
    ] {
        let ended = folder.unread(trap, [TREEWIDE, "sum", "a"]).run();
        assert_eq!((ended.code, ended.signal), code, "{trap}");
        assert_eq!(ended.stderr, stderr, "{trap}");
    }
}

/// Run a script in which `treewide` is process 1.
fn as_first_process(folder: &Folder, args: &str) -> Option<Command> {
    let unshare = find_program("unshare").filter(|_| cfg!(target_os = "linux") && is_root())?;
    let options = ["--pid", "--fork", "--kill-child"];
    let may = Command::new(&unshare).args(options).arg("true").output();
    if !may.is_ok_and(|it| it.status.success()) {
        return None;
    }
    let mut command = Command::new(unshare);
    command.args(options).arg(TREEWIDE).args(args.split(' ')).current_dir(folder.path());
    Some(command)
}

const NOT_FIRST: &str = "only root may start a process 1 (unshare --pid)";

#[test]
fn process_1_ends_by_signals() {
    for (name, number) in SIGNALS {
        if is_ignored(number) {
            skip(name, "this process ignores it, and so do its children");
            continue;
        }
        for args in ["sum a - --force -o list", "sum a -", "check"] {
            let folder = folder_with_list();
            let Some(mut command) = as_first_process(&folder, args) else {
                return skip("signals for process 1", NOT_FIRST);
            };
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            // When it reads, it watches signals.
            let first = wait_for(|| {
                let children = format!("/proc/{0}/task/{0}/children", child.id());
                let pid = fs::read_to_string(children).ok()?.trim().to_owned();
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
                (name == "treewide\n" && watches(&pid, number)).then_some(pid)
            });
            assert!(Command::new("kill").args(["-s", name, &first]).status().unwrap().success());
            let input = child.stdin.take();
            let status = in_time(move || child.wait().unwrap());
            drop(input);
            assert_eq!(status.code(), Some(128 + number), "{args}: {name}: {status:?}");
            assert_eq!(folder.names(), ["a", "key", "list"], "{args}: {name}");
            assert_eq!(folder.read("list"), sums(&["a"]), "{args}: {name}");
        }
    }
}

/// Whether the process has a handler for the signal.
fn watches(pid: &str, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[test]
fn process_1_ends_when_its_reader_is_gone() {
    let folder = folder_with_list();
    for args in ["sum a", "sum --raw a", "check list", "man", "sum --help"] {
        let Some(command) = as_first_process(&folder, args) else {
            return skip("a broken pipe for process 1", NOT_FIRST);
        };
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        folder.unread("", words).run().is(128 + 13, "", "");
    }
}

/// If 1 or 2 were free, the first file that is opened would get the number.
#[test]
fn messages_do_not_go_into_files() {
    let folder = folder_with_list();
    for streams in ["<&- >&- 2>&-", "<&- 2>&-", ">&- 2>&-"] {
        for args in ["sum a missing", "sum -r . missing -o out", "check list missing"] {
            let _ = fs::remove_file(folder.join("out"));
            let code = shell(&folder, args, streams).code;
            assert_eq!(code, Some(failure(args)), "{args} {streams}");
            assert_eq!(folder.read("a") + &folder.read("list"), format!("a{}", sums(&["a"])));
        }
    }
}
