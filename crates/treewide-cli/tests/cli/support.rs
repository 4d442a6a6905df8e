//! Running programs in a folder of their own, with a time limit.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

#[path = "../../../treewide-manifest/tests/common/aged.rs"]
mod aged;
use aged::waiting::LIMIT;
pub(crate) use aged::waiting::{wait_for, wait_until_links_count};

pub(crate) const TREEWIDE: &str = env!("CARGO_BIN_EXE_treewide");

/// A folder with files for one test, gone afterwards.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With files of the given names, each containing its name.
    pub(crate) fn with(names: &[&str]) -> Self {
        let folder = Self::new();
        for name in names {
            folder.write(name, name);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Write a file, and the folders it is in.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes the index of a manifest as a program does that knows the format, with the check of these bytes.
    pub(crate) fn forge_index(&self, name: &str, text: &str) {
        let key = ",\"check\":\"";
        let (before, _) = text.rsplit_once(key).unwrap();
        self.write(name, format!("{before}{key}{}\"}}\n", hex(before)));
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<OsString> {
        let mut names: Vec<_> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// Waits until all files are old enough for keys, and later changes have later times.
    pub(crate) fn age(&self) {
        aged::age(self.path());
    }

    pub(crate) fn fifo(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.join(name)).status().unwrap().success());
    }

    /// The program in this folder, where anyone may run it. `cp` writes it: while this process has it open for writing, a child that another
    /// test starts has it open too, and a busy text can not be run.
    pub(crate) fn add_treewide(&self) {
        let copied = Command::new("cp").args([TREEWIDE.as_ref(), self.path()]).status().unwrap();
        assert!(copied.success());
    }

    /// `treewide` with these arguments, separated by blanks, in this folder.
    pub(crate) fn treewide(&self, args: &str) -> Program {
        self.program(TREEWIDE).args(args.split_whitespace())
    }

    /// These words as a command whose standard output is a pipe that no process reads, after some lines of shell. The shell makes the pipe:
    /// a reader of this process would live on in the children of other tests, until they run their programs.
    pub(crate) fn unread(
        &self,
        first: &str,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Program {
        let script =
            "[ -p unread ] || mkfifo unread; exec 3<>unread 4>unread 3<&-; exec \"$@\" >&4 4>&-";
        self.program("sh").args(["-c", &format!("{first} {script}"), "sh"]).args(words)
    }

    /// A command line as it is pasted into a shell.
    pub(crate) fn paste(&self, line: &str) -> Ended {
        let program = Path::new(TREEWIDE).parent().unwrap().to_str().unwrap();
        let line = format!("PATH={program}:$PATH; {line}");
        self.program("sh").args(["-c", &line]).run()
    }

    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Program {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env_remove("RUST_BACKTRACE").env_remove("COLUMNS");
        Program { command, stdin: Vec::new(), file: None }
    }
}

/// A program about to be run.
pub(crate) struct Program {
    command: Command,
    stdin: Vec<u8>,
    /// Standard input, instead of a pipe.
    file: Option<PathBuf>,
}

impl Program {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// In this folder.
    pub(crate) fn at(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Call it by another name than its file's.
    pub(crate) fn named(mut self, argv0: &str) -> Self {
        self.command.arg0(argv0);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = bytes.as_ref().to_vec();
        self
    }

    /// With this file as standard input.
    pub(crate) fn stdin_file(mut self, path: PathBuf) -> Self {
        self.file = Some(path);
        self
    }

    /// As a user who may do nothing that root or the owner of files may do. Only root can do that.
    pub(crate) fn by_nobody(mut self) -> Self {
        self.command.uid(65534).gid(65534);
        self
    }

    /// Whether it can be started.
    pub(crate) fn can_start(mut self) -> bool {
        self.command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    }

    /// Start it with pipes for everything; the test does the rest.
    pub(crate) fn start(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(self.command.spawn().unwrap())
    }

    pub(crate) fn run(mut self) -> Ended {
        let bytes = std::mem::take(&mut self.stdin);
        if let Some(path) = self.file.take() {
            self.command.stdin(fs::File::open(path).unwrap());
            self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
            return Running(self.command.spawn().unwrap()).end();
        }
        let mut running = self.start();
        let mut stdin = running.0.stdin.take().unwrap();
        // It may end without having read everything.
        thread::spawn(move || drop(stdin.write_all(&bytes)));
        running.end()
    }
}

/// A program under way.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits until the program is in the middle of this file, which is longer than these bytes, while the others and the fronts of all have
    /// fewer. `false` if it was done sooner.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_until_read(&mut self, path: &Path, bytes: u64) -> bool {
        let process = PathBuf::from(format!("/proc/{}", self.0.id()));
        let path = path.canonicalize().unwrap();
        let is_reading = || {
            let io = fs::read_to_string(process.join("io")).ok()?;
            let read: u64 = io.lines().next()?.strip_prefix("rchar:")?.trim().parse().ok()?;
            // A line of a mapping: the addresses, what is allowed, the place in the file, the device, the inode, the path.
            let maps = fs::read_to_string(process.join("maps")).ok()?;
            let of_path = maps.lines().filter(|line| line.ends_with(path.to_str().unwrap()));
            let places = of_path.filter_map(|line| line.split(' ').nth(2));
            let mapped = places.filter_map(|it| u64::from_str_radix(it, 16).ok()).max();
            let mut open = fs::read_dir(process.join("fd")).ok()?.flatten();
            let is_open = open.any(|fd| fs::read_link(fd.path()).is_ok_and(|it| it == path));
            (is_open && read.max(mapped.unwrap_or(0)) >= bytes).then_some(true)
        };
        wait_for(|| is_reading().or_else(|| self.0.try_wait().unwrap().map(|_| false)))
    }

    /// Wait for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        drop(self.0.stdin.take());
        let pid = self.0.id();
        let kill = || drop(Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status());
        let output = in_time_or(kill, move || self.0.wait_with_output().unwrap());
        Ended {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The result of work that waits for ever if the program is wrong.
#[track_caller]
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    in_time_or(|| (), work)
}

/// The same; first, work that hangs is given up.
#[track_caller]
fn in_time_or<T: Send + 'static>(
    give_up: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(LIMIT).unwrap_or_else(|_| {
        give_up();
        panic!("it hangs, or panicked")
    })
}

/// What became of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// It ended with this code and printed exactly this.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: impl AsRef<str>, stderr: impl AsRef<str>) {
        assert_eq!(String::from_utf8_lossy(&self.stdout), stdout.as_ref(), "{self:?}");
        assert_eq!(self.stderr, stderr.as_ref());
        assert_eq!(self.code, Some(code), "{self:?}");
    }

    /// The command line that a message names.
    #[track_caller]
    pub(crate) fn way_out(&self) -> &str {
        let at = self.stderr.rfind("treewide ").unwrap_or_else(|| panic!("no way out: {self:?}"));
        self.stderr[at..].split(['`', '\n']).next().unwrap()
    }

    #[track_caller]
    pub(crate) fn succeeds_with(&self, stdout: impl AsRef<str>) {
        self.is(0, stdout, "");
    }

    /// It ended with this code, and standard error has each of these in it.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, stderr_has: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in stderr_has {
            assert!(self.stderr.contains(part), "no {part:?} in {:?}", self.stderr);
        }
        self
    }
}

/// The exit code of a command that could not do its work: `check` cannot say then whether a file is as listed.
pub(crate) fn failure(args: &str) -> i32 {
    if args.starts_with("check") { 3 } else { 1 }
}

/// The digest as lists have it, by the oracle.
pub(crate) fn hex(content: impl AsRef<[u8]>) -> String {
    blake3::hash(content.as_ref()).to_hex().to_string()
}

/// The lines of a list of files that contain their names.
pub(crate) fn sums(names: &[&str]) -> String {
    names.iter().map(|name| format!("{}  {name}\n", hex(name))).collect()
}

/// Say that, and why, a case is left out.
pub(crate) fn skip(what: &str, why: impl Display) {
    println!("SKIPPED: {what}: {why}");
}

pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// The program on PATH, if it is there.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// As under nohup, or in a shell's background.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.unwrap_or("0").trim(), 16).unwrap();
    mask >> (signal - 1) & 1 == 1
}
