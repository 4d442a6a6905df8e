//! Hashing on GPUs: which one is to be used, and which ones there are.

use crate::input::{Absorbed, Input, is_stdin};
use crate::progress::Progress;
use crate::{Outcome, output};
use clap::{Args, Subcommand};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use treewide_files::ErrorKind;
pub(crate) use treewide_gpu::Mode;
use treewide_gpu::{Choice, Contest, Device, Error, Ring, Staged, TAIL, devices};

/// Bytes between two steps of the progress.
const STEP: u64 = 64 << 20;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct DeviceArgs {
    /// Who hashes: auto, cpu, cuda or wgpu
    ///
    /// auto: the CPU; if it has 16 GiB and 15 seconds of a regular file to go, a GPU gets a part of it
    /// for a trial, and all of it if it would still be done sooner. cuda and wgpu: the first
    /// device that `treewide devices` lists for it, or an error if there is none; files that are small
    /// are the CPU's. The variable TREEWIDE_BACKEND says the same where this is not given.
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    device: Option<Choice>,
}

impl DeviceArgs {
    /// What hashes in this mode; a device that is forced is opened here.
    pub(crate) fn open(&self, mode: &Mode) -> anyhow::Result<ByDevice> {
        let choice = match self.device {
            Some(choice) => choice,
            None => Choice::from_env()?.unwrap_or_default(),
        };
        Ok(ByDevice { choice, device: choice.open()?, mode: *mode })
    }
}

pub(crate) struct ByDevice {
    choice: Choice,
    /// The one that is forced.
    device: Option<Device>,
    mode: Mode,
}

/// The CPU.
impl Default for ByDevice {
    fn default() -> Self {
        Self { choice: Choice::Cpu, device: None, mode: Mode::PLAIN }
    }
}

impl ByDevice {
    /// Hash the file at `path`, or standard input for `-`: its length in bytes and its extended
    /// output. `None` if this is the CPU's, as all is that cannot be read.
    pub(crate) fn hash(
        &self,
        path: &Path,
        input: &Input<'_>,
        progress: &Progress,
    ) -> Option<Result<Absorbed, ErrorKind>> {
        let Some(device) = &self.device else {
            if self.choice != Choice::Auto || is_stdin(path) {
                return None;
            }
            // A pipe must not be opened twice: who writes to it would be told that nobody reads.
            let metadata = path.metadata().ok()?;
            if !metadata.is_file() || metadata.len() < Contest::least() {
                return None;
            }
            let file = File::open(path).ok()?;
            return self.contest(path, &file, metadata.len(), input, progress);
        };
        let staged = Staged::new(device, &self.mode);
        if is_stdin(path) {
            return Some(
                input.stdin().and_then(|stdin| absorb(stdin.lock(), staged, progress, path)),
            );
        }
        // The CPU says what is wrong with it in the same words as ever.
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| !metadata.is_dir())?;
        // Pipes and devices have no length, and some file systems (/proc) say 0 of any file.
        match if metadata.is_file() { metadata.len() } else { 0 } {
            0 => Some(absorb(file, staged, progress, path)),
            // All of it would be the tail, which is the CPU's.
            1..TAIL => None,
            len => Some(whole(&file, len, staged, progress, path)),
        }
    }

    /// The CPU hashes a file, unless a device would be done with it sooner. `None` if it stopped for a
    /// device that then failed.
    fn contest(
        &self,
        path: &Path,
        file: &File,
        len: u64,
        input: &Input<'_>,
        progress: &Progress,
    ) -> Option<Result<Absorbed, ErrorKind>> {
        let contest = Contest::new(file, len).ok()?;
        match input
            .hash_until(path, false, self.mode.hasher(), &|bytes| contest.is_lost_after(bytes))
        {
            Err(ErrorKind::Cancelled) => {
                let staged = Staged::new(&contest.winner()?, &self.mode);
                match whole(file, len, staged, progress, path) {
                    // Nobody has asked for a device: the CPU starts again.
                    Err(ErrorKind::Other(_)) => None,
                    hashed => Some(hashed),
                }
            }
            hashed => Some(hashed),
        }
    }
}

/// A file of known length.
fn whole(
    file: &File,
    len: u64,
    staged: Staged,
    progress: &Progress,
    path: &Path,
) -> Result<Absorbed, ErrorKind> {
    progress.begin(path);
    // No more memory than the file needs.
    let part = len.next_power_of_two().clamp(1 << 20, 16 << 20) as usize;
    let mut staged = staged.ring(Ring { part, ..Ring::default() }).map_err(failed)?;
    let mut at = 0;
    while at < len {
        let step = STEP.min(len - at);
        if let Err(error) = staged.update_file(file, at, step) {
            // In the same words as the CPU.
            return Err(match file.metadata() {
                Ok(now) if now.len() < len => ErrorKind::Shrank { read: now.len(), len },
                _ => failed(error),
            });
        }
        progress.advance(step);
        at += step;
    }
    let output = staged.finalize_xof().map_err(failed)?;
    progress.end();
    let grown_to = file.metadata().map(|now| now.len()).ok().filter(|now| *now > len);
    Ok(Absorbed { bytes: len, grown_to, output })
}

/// A stream.
fn absorb(
    mut from: impl Read,
    mut staged: Staged,
    progress: &Progress,
    path: &Path,
) -> Result<Absorbed, ErrorKind> {
    progress.begin(path);
    let mut bytes = 0;
    loop {
        let read = staged.update_reader((&mut from).take(STEP)).map_err(failed)?;
        bytes += read;
        progress.advance(read);
        if read < STEP {
            break;
        }
    }
    let output = staged.finalize_xof().map_err(failed)?;
    progress.end();
    Ok(Absorbed { bytes, grown_to: None, output })
}

fn failed(error: Error) -> ErrorKind {
    ErrorKind::Other(error.into())
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the GPUs that can hash
    ///
    /// One line each: the backend and the number in it, the name, the memory if the driver tells, and
    /// why it cannot be used, if it cannot. The first usable one of a backend is what `sum --device`
    /// takes. A missing driver is a line too, and no failure.
    Devices,
}

impl Command {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        let mut text = String::new();
        for found in devices() {
            let memory = match found.memory {
                Some(bytes) => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
                None => "memory not known".to_owned(),
            };
            let state = match &found.problem {
                Some(problem) => format!("cannot be used: {problem}"),
                None if found.is_software => "usable, a program on the CPU".to_owned(),
                None => "usable".to_owned(),
            };
            let (backend, index) = (found.backend, found.index);
            writeln!(text, "{backend} {index}  {}  {memory}  {state}", found.name)?;
        }
        output::print(text.as_bytes())?;
        Ok(Outcome::Success)
    }
}
