//! Files: programs that hash one, each sample from the start of a process to its end, and the library in this process next
//! to a device.

use std::ffi::OsStr;
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::NamedTempFile;
use treewide::file::Options;

use super::Task;
use crate::interrupt;
use crate::spec::Spec;

/// The rest between processes, so that the system finishes the last one: unmaps its pages, ends its threads.
const COOL_DOWN: Duration = Duration::from_millis(20);

/// A file with the beginning of the stream; it is removed when this is dropped.
pub(crate) struct FileOnDisk {
    file: NamedTempFile,
    len: u64,
}

impl FileOnDisk {
    pub(crate) fn create(content: &[u8]) -> Result<Self> {
        let name = || format!("cannot write a file of {} bytes in this folder", content.len());
        let mut file = NamedTempFile::with_prefix_in(".treewide-bench-", ".").with_context(name)?;
        interrupt::remove(file.path());
        file.write_all(content).with_context(name)?;
        // Pages that are yet to be written cannot be dropped from the cache.
        file.as_file().sync_all().with_context(name)?;
        Ok(Self { file, len: content.len() as u64 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// The task of a side and the version of its program, or why there is none.
pub(crate) fn task(spec: &Spec, path: &Path) -> Result<(Box<dyn Task>, String), String> {
    let threads = spec.threads().to_string();
    let way = spec.kernel.as_deref();
    let mut command;
    match spec.engine.as_str() {
        "treewide-cli" => {
            command = Command::new(found("TREEWIDE", "treewide")?);
            command.args(["sum", "--num-threads", &threads]);
            if let Some(way) = way {
                command.args(["--strategy", way]);
            }
        }
        "b3sum" => {
            command = Command::new(found("B3SUM", "b3sum")?);
            command.args(["--num-threads", &threads]);
            match way {
                None => {}
                Some("no-mmap") => _ = command.arg("--no-mmap"),
                Some(way) => return Err(format!("b3sum has no way '{way}', only no-mmap")),
            }
        }
        name => {
            let message = "is not a program to compare; use treewide-cli or b3sum";
            return Err(format!("{name} {message}"));
        }
    }
    let version = [version(command.get_program())?, way.unwrap_or_default().to_owned()];
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut task = Process(command);
    // The first run says whether it works.
    task.run().map_err(|error| format!("{error:#}"))?;
    Ok((Box::new(task), version.join(" ").trim().to_owned()))
}

/// The version that a program prints, so that a report says what it timed.
fn version(program: &OsStr) -> Result<String, String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| format!("cannot run {}: {error}", program.to_string_lossy()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}

/// The program that an environment variable names, or the one in PATH.
fn found(variable: &str, name: &str) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let found = std::env::split_paths(&path).map(|dir| dir.join(&name)).find(|it| it.is_file());
    found.ok_or_else(|| format!("there is no {name} in PATH; {variable} may name one"))
}

struct Process(Command);

impl Process {
    fn run(&mut self) -> Result<(Duration, [u8; 32])> {
        std::thread::sleep(COOL_DOWN);
        let start = Instant::now();
        let output = self.0.output();
        let time = start.elapsed();
        let program = self.0.get_program().to_string_lossy().into_owned();
        let output = output.with_context(|| format!("cannot run {program}"))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{program}: {}", error.trim().lines().next().unwrap_or("failed"));
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let word = said.split_whitespace().next();
        let digest = word.and_then(|word| blake3::Hash::from_hex(word).ok());
        Ok((time, *digest.with_context(|| format!("{program} prints no digest"))?.as_bytes()))
    }
}

impl Task for Process {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        (0..calls).map(|_| Ok(self.run()?.0)).sum()
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        Ok(blake3::hash(&self.run()?.1))
    }
}

/// A file that this process hashes with the library's choices: the CPU side next to a device.
pub(crate) fn in_this_process(path: PathBuf, threads: usize) -> Box<dyn Task> {
    Box::new(InThisProcess { path, threads })
}

struct InThisProcess {
    path: PathBuf,
    threads: usize,
}

impl InThisProcess {
    fn hash(&self) -> Result<treewide::Hash> {
        Ok(Options::new().threads(self.threads).hash(&self.path)?.hash())
    }
}

impl Task for InThisProcess {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(self.hash()?);
        }
        Ok(start.elapsed())
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        Ok(blake3::hash(self.hash()?.as_bytes()))
    }
}
