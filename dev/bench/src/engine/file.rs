//! Files. Every sample is its own process, so that no sample finds buffers, mappings or threads of another.
//!
//! A strategy of the library runs in this program, which prints how long the hashing took: the start and the end of the
//! process are not timed. A program such as `b3sum` is timed from its start to its end. The two are never sides of one
//! row.

use std::ffi::OsStr;
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::NamedTempFile;
use treewide::file::{Options, Strategy};

use super::Task;
use crate::interrupt;
use crate::spec::Spec;
use crate::work::Cache;

/// The hidden command that hashes one file.
pub(crate) const CHILD: &str = "hash-file";

/// The rest between processes, so that the system finishes the last one: unmaps its pages, ends its threads.
const COOL_DOWN: Duration = Duration::from_millis(20);

/// A file with the beginning of the stream; it is removed when this is dropped.
pub(crate) struct FileOnDisk {
    file: NamedTempFile,
    len: u64,
}

impl FileOnDisk {
    pub(crate) fn create(dir: Option<&Path>, content: &[u8]) -> Result<Self> {
        let dir = dir.unwrap_or(Path::new("."));
        let name =
            || format!("cannot write a file of {} bytes in {}", content.len(), dir.display());
        let mut file = NamedTempFile::with_prefix_in(".treewide-bench-", dir).with_context(name)?;
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

/// Programs that can be sides.
pub(crate) const PROGRAMS: [&str; 2] = ["treewide-cli", "b3sum"];

/// The task of a side and the version of its program, or why there is none.
pub(crate) fn task(
    spec: &Spec,
    program: bool,
    cache: Cache,
    path: &Path,
) -> Result<(Box<dyn Task>, String), String> {
    let threads = spec.threads().to_string();
    let way = spec.kernel.as_deref();
    let mut command;
    match (program, spec.engine.as_str()) {
        (false, "treewide") => {
            let own = std::env::current_exe().map_err(|error| error.to_string())?;
            command = Command::new(own);
            command.args([CHILD, way.unwrap_or("auto"), &threads]);
        }
        (true, "treewide-cli") => {
            command = Command::new(found("TREEWIDE", "treewide")?);
            command.args(["sum", "--num-threads", &threads]);
            if let Some(way) = way {
                command.args(["--strategy", way]);
            }
        }
        (true, "b3sum") => {
            command = Command::new(found("B3SUM", "b3sum")?);
            command.args(["--num-threads", &threads]);
            match way {
                None => {}
                Some("no-mmap") => _ = command.arg("--no-mmap"),
                Some(way) => return Err(format!("b3sum has no way '{way}', only no-mmap")),
            }
        }
        (true, name) => {
            return Err(format!(
                "{name} is not a program to compare; use {}",
                PROGRAMS.join(" or ")
            ));
        }
        (false, name) => return Err(format!("{name} has no strategies for files")),
    }
    let mut variant = way.unwrap_or_default().to_owned();
    if program {
        variant = [version(command.get_program())?, variant].join(" ").trim().to_owned();
    }
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut task = Process { command, program, cache, path: path.to_owned() };
    task.run().map_err(|error| format!("{error:#}"))?;
    Ok((Box::new(task), variant))
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

struct Process {
    command: Command,
    program: bool,
    cache: Cache,
    path: PathBuf,
}

impl Process {
    /// Nanoseconds and the digest.
    fn run(&mut self) -> Result<(u64, [u8; 32])> {
        std::thread::sleep(COOL_DOWN);
        if self.cache == Cache::Cold {
            drop_from_cache(&self.path)?;
        }
        let start = Instant::now();
        let output = self.command.output();
        let whole = start.elapsed().as_nanos() as u64;
        let program = self.command.get_program().to_string_lossy().into_owned();
        let output = output.with_context(|| format!("cannot run {program}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{program}: {}", error.trim().lines().next().unwrap_or("failed"));
        }
        let mut words = said.split_whitespace();
        let digest = words.next().and_then(|word| blake3::Hash::from_hex(word).ok());
        let digest = *digest.with_context(|| format!("{program} prints no digest"))?.as_bytes();
        let ns =
            if self.program { Some(whole) } else { words.next().and_then(|it| it.parse().ok()) };
        Ok((ns.with_context(|| format!("{program} prints no time"))?, digest))
    }
}

impl Task for Process {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        (0..calls).map(|_| Ok(Duration::from_nanos(self.run()?.0))).sum()
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        Ok(blake3::hash(&self.run()?.1))
    }
}

#[cfg(target_os = "linux")]
fn drop_from_cache(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path)?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .context("cannot drop a file from the page cache")?;
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6]; // tmpfs, ramfs
    let kind = rustix::fs::fstatfs(&file).map_or(0, |it| it.f_type as u64);
    // A read that must not wait for a device gets nothing now; or the file system cannot tell.
    let mut byte = [0];
    let slices = &mut [std::io::IoSliceMut::new(&mut byte)];
    let at_once = rustix::io::preadv2(&file, slices, 0, rustix::io::ReadWriteFlags::NOWAIT);
    if at_once == Ok(1) || IN_MEMORY.contains(&kind) {
        bail!(
            "a file in {} is never cold: its file system has no device, or something else reads it",
            path.parent().unwrap_or(path).display()
        );
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn drop_from_cache(_path: &Path) -> Result<()> {
    bail!("cold files are known on Linux only: no way to drop one from the cache")
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

/// Hashes a file in a way, a strategy, and prints digest and nanoseconds.
pub(crate) fn child(way: &str, threads: usize, path: &Path) -> Result<()> {
    let strategy: Strategy = way.parse()?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let start = Instant::now();
    let hashed = Options::new().strategy(strategy).threads(threads).hash(path)?;
    let hash = hashed.hash();
    println!("{hash} {}", start.elapsed().as_nanos());
    Ok(())
}
