//! Hashing on GPUs: which one is to be used, and which ones there are.

use crate::shell::stdin::{Stdin, is_stdin};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;
use treewide::Mode;
use treewide::file::{check_length, promises_length};
use treewide_files::digest::{Digest, Extent};
use treewide_files::{ErrorKind, Hashed, Progress};
use treewide_gpu::{Choice, Device, DeviceInfo, Error, Ring, Staged, devices};

/// All of a shorter file would be the part that the CPU hashes in any case.
const LEAST: u64 = 256 << 10;

/// Bytes between two steps of the progress.
const STEP: u64 = 64 << 20;

pub(super) fn choices() -> impl TypedValueParser<Value = Choice> {
    PossibleValuesParser::new(["auto", "cpu", "cuda", "wgpu"])
        .try_map(|name| name.parse::<Choice>())
}

/// A device that was asked for, or the one that `auto` takes.
pub(crate) struct ByGpu {
    choice: Choice,
    minimum: Option<u64>,
    forced: Option<Device>,
    /// The device that `auto` takes, opened for the first file that is long enough.
    automatic: OnceLock<Option<Device>>,
    mode: Mode,
}

impl ByGpu {
    pub(super) fn open(choice: Choice, minimum: Option<u64>, mode: &Mode) -> anyhow::Result<Self> {
        let forced = choice.open(minimum, None)?;
        Ok(Self { choice, minimum, forced, automatic: OnceLock::new(), mode: *mode })
    }

    /// Hash the file at `path`, or standard input for `-`. `None` if the CPU is to, as it is for everything
    /// that cannot be read.
    pub(super) fn hash(
        &self,
        path: &Path,
        extent: Extent,
        stdin: &Stdin,
        progress: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        if let Some(device) = &self.forced
            && is_stdin(path)
        {
            let staged = Staged::new(device, &self.mode);
            let stdin = stdin.open();
            return Some(stdin.and_then(|it| absorb(it, staged, progress, path, extent)));
        }
        // A pipe must not be opened twice: its writer would see that no one reads.
        if self.forced.is_none()
            && (is_stdin(path) || !self.may_choose() || !path.metadata().ok()?.is_file())
        {
            return None;
        }
        // If it cannot be opened, the CPU says so in the usual words.
        self.hash_found(&File::open(path).ok()?, path, extent, progress)
    }

    /// Hash a file that is open. `None` as with [`hash`](Self::hash); also if no one has asked for a device and it fails, so
    /// that the CPU starts again.
    pub(super) fn hash_found(
        &self,
        file: &File,
        path: &Path,
        extent: Extent,
        progress: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        if self.forced.is_none() && !self.may_choose() {
            return None;
        }
        let opened = file.metadata().ok().filter(|opened| !opened.is_dir())?;
        let has_length = promises_length(file, &opened);
        if let Some(device) = &self.forced {
            let staged = Staged::new(device, &self.mode);
            if !has_length {
                return Some(absorb(file, staged, progress, path, extent));
            }
            // All of a short file would be the tail, which is the CPU's.
            return (opened.len() >= LEAST)
                .then(|| whole(file, &opened, staged, progress, path, extent));
        }
        let len = opened.len();
        if !has_length || !Choice::is_for_device(self.minimum, Some(len)) {
            return None;
        }
        let open = || self.choice.open(self.minimum, Some(len)).ok().flatten();
        let device = self.automatic.get_or_init(open).as_ref()?;
        match whole(file, &opened, Staged::new(device, &self.mode), progress, path, extent) {
            Err(ErrorKind::Other(_)) => None,
            hashed => Some(hashed),
        }
    }

    /// Whether a file may be long enough for a device that no one has asked for.
    fn may_choose(&self) -> bool {
        self.choice == Choice::Auto && Choice::is_for_device(self.minimum, Some(u64::MAX))
    }
}

/// A file that promises its length.
fn whole(
    file: &File,
    opened: &Metadata,
    staged: Staged,
    progress: &dyn Progress,
    path: &Path,
    extent: Extent,
) -> Result<Hashed, ErrorKind> {
    progress.reached(path);
    let len = opened.len();
    // No more memory than the file needs.
    let part = len.next_power_of_two().clamp(1 << 20, 16 << 20) as usize;
    let mut staged = staged.ring(Ring { part, ..Ring::default() }).map_err(failed)?;
    let mut at = 0;
    while at < len {
        let step = STEP.min(len - at);
        if let Err(error) = staged.update_file(file, at, step) {
            // In the words that the CPU has for it, if the file is the reason.
            check_length(file, opened)?;
            return Err(failed(error));
        }
        progress.hashed(0, step);
        at += step;
    }
    check_length(file, opened)?;
    let digest = Digest::of_output(staged.finalize_xof().map_err(failed)?, extent);
    progress.hashed(1, 0);
    Ok(Hashed { digest, bytes: len, stamps: None })
}

/// A stream whose bytes are shown as they come, however slow it is.
struct Counted<'a, R> {
    from: R,
    progress: &'a dyn Progress,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.progress.hashed(0, read as u64);
        Ok(read)
    }
}

/// A stream.
fn absorb(
    from: impl Read,
    mut staged: Staged,
    progress: &dyn Progress,
    path: &Path,
    extent: Extent,
) -> Result<Hashed, ErrorKind> {
    progress.reached(path);
    let mut bytes = 0;
    let mut from = Counted { from, progress };
    loop {
        let read = staged.update_reader((&mut from).take(STEP)).map_err(failed)?;
        bytes += read;
        if read < STEP {
            break;
        }
    }
    let digest = Digest::of_output(staged.finalize_xof().map_err(failed)?, extent);
    progress.hashed(1, 0);
    Ok(Hashed { digest, bytes, stamps: None })
}

fn failed(error: Error) -> ErrorKind {
    ErrorKind::Other(error.into())
}

/// What `treewide explain` says of GPUs: one line for each, and what `auto` does with a file of that length.
pub(crate) fn explain(len: u64) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let found = devices();
    for found in &found {
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
    if !found.iter().any(is_for_auto) {
        writeln!(text, "auto  the CPU in any case: no GPU can be used")?;
    }
    let is_for_device = Choice::is_for_device(None, Some(len));
    let who = if is_for_device { "a GPU, if one works," } else { "the CPU" };
    writeln!(text, "auto: {who} hashes a file of this length, without --device-minimum")?;
    Ok(text)
}

/// Whether `auto` may take a device.
fn is_for_auto(found: &DeviceInfo) -> bool {
    !found.is_software && found.problem.is_none()
}
