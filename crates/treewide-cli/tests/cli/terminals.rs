//! Terminals: what is shown there, and what names cannot do there.
//!
//! The ways in which that shows:
//! - names with control characters (C0, DEL, C1), bidirectional controls, line separators, bytes that are not UTF-8: in
//!   results (plain, tagged, JSON), verdicts of both kinds of checks, errors, notes, warnings, usage, progress
//! - standard output and standard error, each a terminal or not; `-o` with a terminal; pipes get the bytes as they are
//! - TERM is dumb, empty or unset: no thread for each file, and no line that is drawn anew
//! - the display: names the file at hand, shows bytes of a slow pipe as they come, is not drawn more often than ten
//!   times a second, needs no second walk, and is gone in the end

use crate::support::{Folder, TREEWIDE, find_program, hex, in_time, skip, wait_for};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// What was written to a terminal so far.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    /// With the line ends that were written.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).replace("\r\n", "\n")
    }
}

/// A terminal, what was written to it, and its name.
fn terminal() -> (File, Screen, PathBuf) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = PathBuf::from(OsStr::from_bytes(ptsname(&controller, vec![]).unwrap().as_bytes()));
    let terminal = OpenOptions::new().read(true).write(true).open(&name).unwrap();
    let (screen, mut controller) = (Screen::default(), File::from(controller));
    let written = screen.clone();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        // An error where no one has the terminal open any more.
        while let Ok(read) = controller.read(&mut bytes) {
            written.0.lock().unwrap().extend(&bytes[..read]);
        }
    });
    (terminal, screen, name)
}

fn treewide(folder: &Folder, args: &str) -> Command {
    let mut command = Command::new(TREEWIDE);
    command.args(args.split_whitespace()).current_dir(folder.path());
    command.env("TERM", "xterm").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// All that was written, once the program has ended and the terminal has it.
fn ended(mut command: Command, screen: &Screen, mut terminal: File) -> String {
    let mut child = command.spawn().unwrap();
    drop(command);
    let status = in_time(move || child.wait().unwrap());
    assert!(status.code().is_some_and(|code| code <= 3), "{status:?}");
    terminal.write_all(b"<END>").unwrap();
    wait_for(|| screen.text().split_once("<END>").map(|(before, _)| before.to_owned()))
}

/// Whether a terminal obeys it.
fn is_command(c: char) -> bool {
    let bidirectional = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}'];
    c != '\n' && c.is_control()
        || bidirectional.contains(&c)
        || matches!(c, '\u{2028}' | '\u{2029}')
}

fn names() -> Vec<OsString> {
    let names: [&[u8]; 11] = [
        b"clear\x1b[2J\x1b[H",
        b"hide\x1b[8mFAILED",
        b"back\x08\x08",
        b"return\rOK",
        b"tab\tbell\x07",
        b"delete\x7f",
        "csi\u{9b}2J".as_bytes(),
        "right\u{202e}left".as_bytes(),
        "isolate\u{2066}\u{200f}mark".as_bytes(),
        "separator\u{2028}line".as_bytes(),
        b"byte\x9b2J\xff",
    ];
    names.map(|name| OsString::from_vec(name.to_vec())).to_vec()
}

/// A name as lists and pipes have it.
fn listed(name: &OsStr) -> String {
    name.to_string_lossy().replace('\\', r"\\").replace('\r', r"\r")
}

#[test]
fn names_send_no_commands_to_a_terminal() {
    let folder = Folder::new();
    let mut list = String::new();
    for name in names() {
        folder.write(&name, "content");
        // Both verdicts, with the name as the file system has it, wherever a list can have it.
        let name = name.to_string_lossy();
        list += &format!("{}  {name}\n{}  {name}\n", hex("content"), hex("other"));
    }
    folder.write("list", list);
    folder.write("notalist", format!("{}x{}  \u{1b}[2J\n\u{1b}[2Jx\n", hex("a"), hex("a")));
    folder.fifo("pipe\u{1b}[2J");
    std::os::unix::fs::symlink("nowhere", folder.join("link\u{1b}[2J")).unwrap();
    let all: Vec<Vec<OsString>> = vec![
        names(),
        vec!["-r".into(), ".".into()],
        vec!["-r".into(), "--follow".into(), ".".into()],
        [vec!["--tag".into()], names()].concat(),
        [vec!["--json".into()], names()].concat(),
        [vec!["--json".into(), "missing\u{1b}[2J\u{202e}".into()], names()].concat(),
        vec!["missing\u{1b}[2J\u{202e}".into()],
        vec!["--check".into(), "list".into()],
        vec!["--check".into(), "missing\u{1b}[2J\u{9b}".into()],
        vec!["--check".into(), "notalist".into()],
        vec!["--bad\u{1b}[2J\u{202e}".into()],
        vec!["-o".into(), "no/\u{1b}[2J\u{202e}".into(), "list".into()],
    ];
    let sums = all.into_iter().map(|args| [vec![OsString::from("sum")], args].concat());
    let checks = ["check list", "check --json list", "check notalist", "check --warn notalist"]
        .map(|args| args.split(' ').map(OsString::from).collect());
    let other =
        [vec!["\u{1b}[2J\u{202e}".into()], vec!["check".into(), "no\u{202e}\u{1b}c".into()]];
    let mut cases = 0;
    for args in sums.chain(checks).chain(other) {
        for streams in 1..=3 {
            let (end, screen, _) = terminal();
            let mut command = treewide(&folder, "");
            command.args(&args).stdout(Stdio::null()).stderr(Stdio::null());
            if streams & 1 != 0 {
                command.stdout(end.try_clone().unwrap());
            }
            if streams & 2 != 0 {
                command.stderr(end.try_clone().unwrap());
            }
            let text = ended(command, &screen, end);
            // Our own commands: the colours of verdicts, and the line of progress where the machine is slow.
            let own = ["\u{1b}[32m", "\u{1b}[1;31m", "\u{1b}[35m", "\u{1b}[0m", "\r\u{1b}[2K"];
            let text = own.iter().fold(text, |text, own| text.replace(own, ""));
            let commands: Vec<char> = text.chars().filter(|c| is_command(*c)).collect();
            assert!(commands.is_empty(), "{args:?} {streams}: {text:?}");
            assert!(streams != 3 || !text.is_empty(), "{args:?}");
            cases += 1;
        }
    }
    println!("{cases} cases");
}

#[test]
fn names_are_recognised_on_a_terminal() {
    let folder = Folder::with(&["a\u{1b}[2J", "b\u{202e}"]);
    let (end, screen, _) = terminal();
    let mut command = treewide(&folder, "sum -r .");
    command.stdout(end.try_clone().unwrap());
    let expected =
        format!("{}  ./a\\u{{1b}}[2J\n{}  ./b\\u{{202e}}\n", hex("a\u{1b}[2J"), hex("b\u{202e}"));
    assert_eq!(ended(command, &screen, end), expected);
    let (end, screen, _) = terminal();
    let mut command = treewide(&folder, "sum --json -r .");
    command.stdout(end.try_clone().unwrap());
    let text = ended(command, &screen, end);
    let mut paths = Vec::new();
    for line in text.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        paths.push(object["path"].as_str().unwrap().to_owned());
    }
    assert_eq!(paths, ["./a\u{1b}[2J", "./b\u{202e}"], "JSON has the same names on a terminal");
}

#[test]
fn pipes_and_files_get_names_as_they_are() {
    let folder = Folder::new();
    for name in names() {
        folder.write(&name, "content");
    }
    // The messages go to a terminal, and the results do not.
    let (end, _screen, _) = terminal();
    let mut command = treewide(&folder, "sum");
    command.args(names()).stderr(end);
    let sums = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let mut expected = String::new();
    for name in names() {
        let mark = if listed(&name).contains('\\') { "\\" } else { "" };
        expected += &format!("{mark}{}  {}\n", hex("content"), listed(&name));
    }
    assert_eq!(sums, expected);
    let file = treewide(&folder, "sum -o SUMS").args(names()).output().unwrap();
    assert!(file.status.success());
    assert_eq!(folder.read("SUMS"), expected);
    // Without the name that is not UTF-8.
    folder.write(
        "SUMS",
        expected.lines().take(10).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let verdicts = treewide(&folder, "check SUMS").output().unwrap();
    let verdicts = String::from_utf8(verdicts.stdout).unwrap();
    for name in &names()[..10] {
        assert!(verdicts.contains(&format!("{}: OK\n", listed(name))), "{name:?}: {verdicts}");
    }
}

#[test]
fn raw_digests_are_written_as_they_are() {
    let folder = Folder::with(&["a"]);
    let (end, screen, name) = terminal();
    let mut command = treewide(&folder, "sum --raw --length 200 a");
    // Without the terminal's own changes of line ends.
    let mut modes = rustix::termios::tcgetattr(&end).unwrap();
    modes.make_raw();
    rustix::termios::tcsetattr(&end, rustix::termios::OptionalActions::Now, &modes).unwrap();
    command.stdout(end.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    assert!(in_time(move || child.wait().unwrap()).success());
    let mut digest = vec![0; 200];
    blake3::Hasher::new().update(b"a").finalize_xof().fill(&mut digest);
    wait_for(|| (screen.0.lock().unwrap().len() >= 200).then_some(()));
    assert_eq!(*screen.0.lock().unwrap(), digest);
    // And a terminal may be named as an output.
    folder.write("b\u{1b}[2J", "b");
    let mut command = treewide(&folder, "sum b\u{1b}[2J -o");
    command.arg(name);
    let text = ended(command, &screen, end);
    assert!(!text[text.len() - 30..].contains(is_command), "{text:?}");
}

/// Feed a pipe, wait, and end it.
fn feed(folder: &Folder, pipe: &str, wait: impl FnOnce() + Send + 'static) {
    let pipe = folder.join(pipe);
    in_time(move || {
        let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
        pipe.write_all(&[1; 1000]).unwrap();
        wait();
    });
}

/// Until the screen shows all of this.
fn shows(screen: &Screen, parts: &'static [&'static str]) -> impl FnOnce() + use<> {
    let screen = screen.clone();
    move || {
        wait_for(|| {
            let text = screen.text();
            parts.iter().all(|part| text.contains(part)).then_some(())
        });
    }
}

/// Until a program that is started now has shown its display, and one that was started before would have.
fn another_shows() {
    let folder = Folder::new();
    folder.fifo("pipe");
    let (end, screen, _) = terminal();
    let mut command = treewide(&folder, "sum pipe");
    command.stdout(Stdio::null()).stderr(end);
    let child = command.spawn().unwrap();
    drop(command);
    feed(&folder, "pipe", shows(&screen, &["1000 B"]));
    assert!(in_time(move || child.wait_with_output().unwrap()).status.success());
}

#[test]
fn a_display_appears_by_itself_and_goes_again() {
    for (args, is_shown) in [("sum a pipe", true), ("sum --no-progress a pipe", false)] {
        let folder = Folder::with(&["a"]);
        folder.fifo("pipe");
        let (end, screen, _) = terminal();
        let mut command = treewide(&folder, args);
        command.stdout(end.try_clone().unwrap()).stderr(end.try_clone().unwrap());
        let feeder = thread::spawn({
            let screen = screen.clone();
            move || match is_shown {
                true => feed(&folder, "pipe", shows(&screen, &[" file", "1001 B", "B/s"])),
                false => feed(&folder, "pipe", another_shows),
            }
        });
        let text = ended(command, &screen, end);
        feeder.join().unwrap();
        let digests = format!("{}  a\n{}  pipe\n", hex("a"), hex([1; 1000]));
        match is_shown {
            true => assert!(digests.lines().all(|line| text.contains(line)), "{text:?}"),
            false => assert_eq!(text, digests),
        }
        // A pipe has no length, so there is no total to make up. Nothing of the display stays.
        assert!(!text.contains('%'), "{text:?}");
        let last = text.rsplit("\u{1b}[2K").next().filter(|_| is_shown);
        assert_eq!(last.unwrap_or_default().trim(), "", "{text:?}");
    }
}

#[test]
fn a_slow_pipe_shows_its_bytes_and_its_name() {
    for args in ["sum", "sum --threads 1", "sum --strategy read"] {
        let folder = Folder::new();
        folder.fifo("pipe\u{1b}[31m");
        let (end, screen, _) = terminal();
        let mut command = treewide(&folder, args);
        command.arg("pipe\u{1b}[31m").stdout(Stdio::null()).stderr(end.try_clone().unwrap());
        let child = command.spawn().unwrap();
        drop(command);
        feed(&folder, "pipe\u{1b}[31m", shows(&screen, &["1000 B", r"pipe\u{1b}[31m"]));
        assert!(in_time(move || child.wait_with_output().unwrap()).status.success());
        drop(end);
    }
}

#[test]
fn a_long_file_is_named_with_its_length() {
    let folder = Folder::with(&["small"]);
    fs::create_dir(folder.join("d")).unwrap();
    File::create(folder.join("d/long")).unwrap().set_len(1 << 40).unwrap();
    for (args, parts) in [
        ("sum small d/long", &["1.00 TiB", "left", "d/long"]),
        ("sum -r d", &["of 1.00 TiB (0%)", "left", "d/long"]),
    ] {
        let (end, screen, _) = terminal();
        let mut command = treewide(&folder, args);
        command.stdout(Stdio::null()).stderr(end.try_clone().unwrap());
        let mut child = command.spawn().unwrap();
        shows(&screen, parts)();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn the_line_is_drawn_at_most_ten_times_a_second() {
    let folder = Folder::new();
    folder.fifo("pipe");
    for index in 0..3000 {
        folder.write(format!("d/{index}"), "x");
    }
    let (end, screen, _) = terminal();
    let mut command = treewide(&folder, "sum -r pipe d");
    command.stdout(Stdio::null()).stderr(end.try_clone().unwrap());
    let started = Instant::now();
    let child = command.spawn().unwrap();
    drop(command);
    feed(&folder, "pipe", shows(&screen, &["pipe"]));
    assert!(in_time(move || child.wait_with_output().unwrap()).status.success());
    let elapsed = started.elapsed();
    drop(end);
    // Each drawing waits for this long, however busy the machine is; and the line is wiped away in the end.
    let most = elapsed.as_millis() / 100 + 1;
    let drawn = screen.text().matches("\u{1b}[2K").count() as u128;
    assert!(drawn <= most, "{drawn} of {most}");
    wait_for(|| screen.text().ends_with("\r\u{1b}[2K").then_some(()));
}

#[test]
fn no_thread_for_each_file_and_no_second_walk() {
    let Some(strace) = find_program("strace") else {
        return skip("threads of the display", "there is no strace");
    };
    for term in [None, Some("dumb"), Some(""), Some("xterm")] {
        let folder = Folder::new();
        folder.fifo("pipe");
        for index in 0..500 {
            folder.write(format!("d/{index}"), "x");
        }
        let (end, screen, _) = terminal();
        let mut command = Command::new(&strace);
        let options = ["-f", "-o", "calls", "-e", "trace=clone,clone3,getdents64"];
        command.args(options).arg(TREEWIDE).args(["sum", "--threads", "1", "-r", "pipe", "d"]);
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        match term {
            Some(term) => command.env("TERM", term),
            None => command.env_remove("TERM"),
        };
        command.stderr(end.try_clone().unwrap());
        let child = command.spawn().unwrap();
        drop(command);
        match term {
            Some("xterm") => feed(&folder, "pipe", shows(&screen, &["\u{1b}[2K"])),
            _ => feed(&folder, "pipe", another_shows),
        }
        let output = in_time(move || child.wait_with_output().unwrap());
        drop(end);
        if !output.status.success() && screen.text().contains("PTRACE") {
            return skip("threads of the display", screen.text());
        }
        let calls = folder.read("calls");
        let threads = calls.lines().filter(|line| line.contains(" clone")).count();
        assert!(threads <= 4, "{term:?}: {threads} threads");
        // One for the names of `d`, one that finds its end; twice as many if the names do not fit.
        let reads = calls.lines().filter(|line| line.contains("getdents64(")).count();
        assert!(reads <= 3, "{term:?}: {reads} readings of the folder\n{calls}");
        let is_drawn = screen.text().contains("\u{1b}[2K");
        assert_eq!(is_drawn, term == Some("xterm"), "{term:?}: {:?}", screen.text());
    }
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let folder = Folder::with(&["a"]);
    for (args, line) in [("sum a", None), ("sum --progress a", Some("progress: 1 file, 1 B"))] {
        for term in ["dumb", ""] {
            let (end, screen, _) = terminal();
            let mut command = treewide(&folder, args);
            command.env("TERM", term).stdout(Stdio::null()).stderr(end.try_clone().unwrap());
            let text = ended(command, &screen, end);
            assert!(!text.contains(is_command), "{text:?}");
            match line {
                Some(line) => assert!(text.starts_with(line), "{args}: {text:?}"),
                None => assert_eq!(text, "", "{args}"),
            }
        }
    }
}
