//! Optional system calls may be refused: the digests stay right, or the message says what failed.
//!
//! The ways in which that shows:
//! - flags of opening: `O_NOATIME` (EPERM, EROFS, EINVAL), `O_NONBLOCK` (EINVAL)
//! - places in files: `lseek`, `pread64`; `fcntl` for a second descriptor of standard input
//! - hints and questions: `fadvise64`, `madvise`, `preadv2`, `statx`, `fstatfs`, `ioctl`, `sched_getaffinity`
//! - mappings (`mmap` with `MAP_SHARED`) and threads (`clone3`, `clone`, `mprotect`)
//! - in the end of `-o`: `fchmod`, `fchown`, `fsync`, `renameat2`, `rename`, `linkat`, `unlink`; `socketpair` for signals
//! - any other call, in the long form: every call that `strace` sees
//!
//! `TREEWIDE_TEST_REFUSED=all` runs the long form, which takes minutes: `scripts/slow.sh refused`.

use crate::support::{Ended, Folder, Program, TREEWIDE, find_program, hex, skip, sums};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// EPERM, ENOSYS, EINVAL, EOPNOTSUPP, EROFS.
const ERRORS: [u32; 5] = [1, 38, 22, 95, 30];

/// Numbers of x86-64, with the bits of an argument that select what may be refused.
const RISKY: &[&str] = &[
    "openat:257:2:40000",
    "openat:257:2:800",
    "lseek:8",
    "pread64:17",
    "preadv2:327",
    "fadvise64:221",
    "madvise:28",
    "statx:332",
    "fstatfs:138",
    "fcntl:72",
    "mmap:9:3:1",
    "clone3:435",
    "socketpair:53",
    "fchmod:91",
    "fchown:93",
    "fsync:74",
    "renameat2:316",
    "rename:82",
    "linkat:265",
    "readlink:89",
];

/// Calls of `-o` alone: the short form refuses them nowhere else.
const OF_OUTPUTS: [&str; 6] = ["fchmod", "fchown", "fsync", "renameat2", "rename", "linkat"];

/// Calls without which no program starts, ends or says anything; the loader's and libc's are made before the refusal begins.
const NEEDED: &[(&str, &str)] = &[
    ("execve", "starts the program, before the refusal"),
    ("exit_group", "ends the program"),
    ("exit", "ends a thread"),
    ("write", "prints the results and the messages"),
    ("futex", "glibc aborts where threads cannot wait for each other"),
    ("poll", "the standard library aborts before main, where it looks for closed descriptors"),
    ("mmap", "memory of malloc and stacks; its use for files is refused by its bits"),
    ("munmap", "glibc aborts where a stack cannot be given back"),
    ("sigaltstack", "the standard library aborts before main"),
    ("mprotect", "the standard library panics before main, for the guard of its signal stack"),
    ("rt_sigreturn", "ends a signal handler"),
    ("rt_sigaction", "the standard library aborts before main"),
    ("rseq", "glibc aborts where a thread starts"),
    ("recvfrom", "the thread that waits for signals ends with a message; the results are complete"),
    ("close", "the standard library panics where a folder cannot be closed"),
];

/// What a message has to name one of: a file, or what was tried.
const NAMED: &[&str] = &[
    "empty: ",
    "small: ",
    "middle: ",
    "long: ",
    "mapped: ",
    "tree",
    "SUMS: ",
    "new: ",
    "old: ",
    "-: ",
    "standard input",
    "standard output",
];

const STDIN: &str = "text of standard input";

const COMMANDS: &[&str] = &[
    "sum empty small middle long mapped",
    "sum --threads 1 small middle long mapped",
    "sum --no-mmap --drop-cache long mapped",
    "sum --strategy read small long",
    "sum --strategy read-overlapped small long",
    "sum --strategy pread small long",
    "sum --strategy mmap small long mapped",
    "sum --strategy mmap-parallel small long mapped",
    "sum -r tree",
    "sum small -o new",
    "sum small --force -o old",
    "sum -r tree --force -o old",
    "sum",
    "sum - <long",
    "sum --strategy mmap - <long",
    "sum -r tree --threads 1",
    "check SUMS",
    "check <SUMS",
    "check --threads 1 SUMS",
    "check SUMS --force -o old",
    "sum --check SUMS",
];

pub(crate) struct Machine {
    pub(crate) folder: Folder,
    library: PathBuf,
}

/// The library that refuses system calls, compiled in this folder.
pub(crate) fn refuser(folder: &Folder) -> Result<PathBuf, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err("the numbers of system calls are those of Linux on x86-64".into());
    }
    let cc = find_program("cc").ok_or("there is no cc")?;
    folder.write("refuse.c", include_str!("refuse.c"));
    let args = ["-shared", "-fPIC", "-o", "refuse.so", "refuse.c"];
    let compiled = folder.program(cc).args(args).run();
    if compiled.code != Some(0) {
        return Err(format!("cc cannot compile refuse.c: {}", compiled.stderr));
    }
    Ok(folder.join("refuse.so"))
}

/// What is replaced: a list by a list alone.
fn old(command: &str) -> String {
    if command.starts_with("sum") { sums(&["old"]) } else { "as it was".into() }
}

impl Machine {
    pub(crate) fn new() -> Result<Self, String> {
        let folder = Folder::with(&["small", "tree/a", "tree/d/b"]);
        let library = refuser(&folder)?;
        for (name, len) in
            [("empty", 0), ("middle", 300_000), ("long", 3_000_001), ("mapped", (17 << 20) + 5)]
        {
            let bytes: Vec<u8> = (0..len).map(|at: usize| (at / 1000 + at) as u8).collect();
            folder.write(name, bytes);
        }
        let machine = Self { folder, library };
        let list = machine.folder.treewide("sum empty small middle long mapped tree/d/b").run();
        machine.folder.write("SUMS", list.stdout);
        // openat, always.
        let ended = machine.run("sum small", "257:1");
        if ended.code == Some(98) {
            return Err("seccomp is not allowed here".into());
        }
        ended.fails(1, &["small: cannot open: Operation not permitted"]);
        Ok(machine)
    }

    /// Runs treewide, with an old file `old`, while that call is refused.
    pub(crate) fn run(&self, command: &str, refusal: &str) -> Ended {
        for name in ["new", "old"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        self.folder.write("old", old(command));
        self.program(command).env("LD_PRELOAD", &self.library).env("REFUSE", refusal).run()
    }

    fn program(&self, command: &str) -> Program {
        match command.split_once('<') {
            Some((command, file)) => {
                self.folder.treewide(command).stdin_file(self.folder.join(file))
            }
            None => self.folder.treewide(command).stdin(STDIN),
        }
    }

    /// The numbers and names of the calls of this command.
    fn calls(&self, command: &str) -> Result<Vec<(String, String)>, String> {
        let strace = find_program("strace").ok_or("there is no strace")?;
        let args = ["-f", "-n", "-o", "calls", TREEWIDE];
        self.folder.write("old", old(command));
        let (command, stdin) = match command.split_once('<') {
            Some((command, file)) => (command, fs::read(self.folder.join(file)).unwrap()),
            None => (command, STDIN.into()),
        };
        let traced = self.folder.program(strace).args(args);
        let traced = traced.args(command.split_whitespace()).stdin(stdin).run();
        if traced.code != Some(0) {
            return Err(format!("strace: {}", traced.stderr));
        }
        let mut calls = BTreeMap::new();
        for line in self.folder.read("calls").lines() {
            let Some((number, rest)) = line.split_once('[').and_then(|it| it.1.split_once(']'))
            else {
                continue;
            };
            let (Ok(number), Some((name, _))) =
                (number.trim().parse::<u32>(), rest.trim().split_once('('))
            else {
                continue;
            };
            // The end of a call that another thread interrupted has no name here.
            if !name.starts_with('<') {
                calls.insert(name.to_owned(), number.to_string());
            }
        }
        let needed = |name: &str| NEEDED.iter().any(|it| it.0 == name);
        Ok(calls.into_iter().filter(|(name, _)| !needed(name)).collect())
    }

    /// What is wrong with a run, if anything.
    fn judge(&self, command: &str, ended: &Ended) -> Result<(), String> {
        let hex_of = |name: &str| hex(fs::read(self.folder.join(name)).unwrap());
        let (command, file) = command.split_once('<').unwrap_or((command, ""));
        let to_file = command.split_once("-o ").map(|(_, name)| name);
        let mut text = String::from_utf8_lossy(&ended.stdout).into_owned();
        if let Some(name) = to_file {
            text += &fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        }
        let list = if command.contains("check") {
            ["empty", "small", "middle", "long", "mapped", "tree/d/b"]
                .map(|name| format!("{name}: OK\n"))
                .concat()
        } else if command == "sum" {
            format!("{}  -\n", hex(STDIN))
        } else if !file.is_empty() {
            format!("{}  -\n", hex_of(file))
        } else {
            let names = command
                .split(' ')
                .filter(|word| Some(*word) != to_file && self.folder.join(word).is_file());
            let mut names: Vec<&str> = names.collect();
            if command.contains("-r") {
                names = vec!["tree/a", "tree/d/b"];
            }
            names.iter().map(|name| format!("{}  {name}\n", hex_of(name))).collect()
        };
        if ended.signal.is_some() || ended.stderr.contains("panicked") {
            return Err("was killed or panicked".into());
        }
        match ended.code {
            Some(0) if text == list => Ok(()),
            Some(0) => Err("succeeds with another list".into()),
            Some(1 | 2) => {
                // Not in the verdicts of `sum --check`, which are b3sum's.
                let is_bare =
                    |line: &&str| line.contains("(os error ") && !line.contains("cannot ");
                if let Some(line) = ended.stderr.lines().find(is_bare) {
                    return Err(format!("does not say what was tried: {line}"));
                }
                let wrong = text.lines().find(|line| {
                    line.len() > 64
                        && line.is_char_boundary(64)
                        && line[..64].bytes().all(|it| it.is_ascii_hexdigit())
                        && !list.contains(line)
                });
                match wrong {
                    Some(line) => Err(format!("wrong digest: {line}")),
                    // Verdicts of `check` name the file as well.
                    None if !NAMED
                        .iter()
                        .any(|name| ended.stderr.contains(name) || text.contains(name)) =>
                    {
                        Err("names neither a file nor what was tried".into())
                    }
                    None => Ok(()),
                }
            }
            _ => Err("ends in another way".into()),
        }
    }
}

#[test]
fn refused_calls_change_no_digest() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("refused system calls", why),
    };
    let all = std::env::var_os("TREEWIDE_TEST_REFUSED").is_some_and(|value| value == "all");
    let mut bad = Vec::new();
    let mut cases = 0;
    for (index, command) in COMMANDS.iter().enumerate() {
        let mut calls: Vec<(String, String)> = RISKY
            .iter()
            .filter_map(|it| it.split_once(':'))
            .filter(|(name, _)| all || command.contains("-o ") || !OF_OUTPUTS.contains(name))
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
            .collect();
        if all {
            match machine.calls(command) {
                Ok(found) => calls.extend(found),
                Err(why) => return skip("every system call", why),
            }
        }
        for (place, (name, call)) in calls.iter().enumerate() {
            let (number, bits) =
                call.split_once(':').map_or((&call[..], None), |it| (it.0, Some(it.1)));
            for (turn, error) in ERRORS.iter().enumerate() {
                // The short form takes one error for each call and command, another one each time.
                if !all && (index + place) % ERRORS.len() != turn {
                    continue;
                }
                let bits = bits.map(|bits| format!(":{bits}")).unwrap_or_default();
                let refusal = format!("{number}:{error}{bits}");
                let ended = machine.run(command, &refusal);
                cases += 1;
                if let Err(why) = machine.judge(command, &ended) {
                    let Ended { code, signal, stderr, .. } = ended;
                    bad.push(format!(
                        "{name} {refusal}: treewide {command}: {why}: {code:?} {signal:?} {stderr}"
                    ));
                }
            }
        }
    }
    println!("refused calls: {cases} cases");
    assert!(bad.is_empty(), "{} of {cases}:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn refused_courtesies_are_not_errors() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("refused courtesies", why),
    };
    for (command, refusals) in [
        (
            "sum long",
            &["257:30:2:40000", "257:22:2:40000", "8:1", "17:38", "327:22", "9:1:3:1"][..],
        ),
        // Not `-r`: glibc itself opens folders with O_NONBLOCK.
        ("sum tree/a tree/d/b", &["257:22:2:800", "257:30:2:40000", "332:1"]),
        ("sum", &["72:1", "8:22"]),
        ("sum small -o new", &["74:22", "91:1", "53:1", "316:22", "316:1", "435:1"]),
        ("sum small --force -o old", &["74:22", "91:1", "93:1", "82:16", "435:1"]),
    ] {
        for refusal in refusals {
            let ended = machine.run(command, refusal);
            assert_eq!(machine.judge(command, &ended), Ok(()), "{command}: {refusal}");
            assert_eq!(ended.code, Some(0), "{command}: {refusal}: {}", ended.stderr);
        }
    }
}
