//! Inputs to hash: operands, lists and the files that walks find, on the CPU or a device.

use crate::args::device::ByDevice;
use crate::args::mode::ModeArgs;
use crate::args::read::ReadArgs;
use crate::shell::progress::Progress;
use crate::shell::stdin::{Stdin, is_stdin};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treewide::Mode;
use treewide_files::check;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, HashAlone, Hashed, Kind, Options, Other, Run, Source, Task};

/// Everything that hashes a file or standard input.
pub(crate) struct Input {
    options: Options,
    mode: Mode,
    progress: Arc<dyn treewide_files::Progress>,
    device: ByDevice,
    pub(crate) stdin: Stdin,
}

impl Input {
    /// In keyed mode, this reads the key.
    pub(crate) fn new(
        read: &ReadArgs,
        mode: &ModeArgs,
        progress: &Progress,
    ) -> anyhow::Result<Self> {
        let stdin = Stdin::default();
        let mode = mode.mode(&stdin)?;
        let (progress, device) = (progress.hears(), ByDevice::default());
        let options = read.options(mode).progress(Arc::clone(&progress));
        Ok(Self { options, mode, progress, device, stdin })
    }

    /// Whether files may be mapped into memory.
    pub(crate) fn mapping(self, mapping: bool) -> Self {
        Self { options: self.options.mapping(mapping), ..self }
    }

    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Let a device hash the files that it is for.
    pub(crate) fn set_device(&mut self, device: ByDevice) {
        self.device = device;
    }

    /// Hash what `source` finds, except what may have no end.
    pub(crate) fn run_without_streams<S: Source>(&self, source: S) -> Run<S, impl HashAlone> {
        self.options.run_with(source, WithoutStreams(self))
    }

    /// Hash what `source` finds.
    pub(crate) fn run<S: Source>(&self, source: S) -> Run<S, impl HashAlone> {
        self.options.run_with(source, self)
    }

    fn hash_path(&self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>> {
        let by_device = self.device.hash(path, extent, &self.stdin, &*self.progress);
        by_device.or_else(|| is_stdin(path).then(|| self.stdin.hash(&self.options, extent)))
    }
}

impl Input {
    /// The system does not say how long it is, and no digest of it needs to know.
    fn feed_stdin(&self, path: &Path, other: &mut dyn Other) -> Result<Hashed, ErrorKind> {
        let stdin = self.stdin.claim("an earlier `-`")?;
        self.options.feed_reader(stdin, path, other)
    }
}

impl HashAlone for &Input {
    fn hash_alone(&mut self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>> {
        self.hash_path(path, extent)
    }

    fn hash_found(
        &mut self,
        file: &File,
        path: &Path,
        extent: Extent,
    ) -> Option<Result<Hashed, ErrorKind>> {
        self.device.hash_found(file, path, extent, &*self.progress)
    }

    fn read_alone(
        &mut self,
        path: &Path,
        other: &mut dyn Other,
    ) -> Option<Result<Hashed, ErrorKind>> {
        is_stdin(path).then(|| self.feed_stdin(path, other))
    }
}

/// Hashes all but what may have no end.
struct WithoutStreams<'a>(&'a Input);

impl HashAlone for WithoutStreams<'_> {
    fn hash_alone(&mut self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>> {
        let refused = if is_stdin(path) { None } else { check::refuse_stream(path) };
        refused.or_else(|| self.0.hash_path(path, extent))
    }

    fn read_alone(
        &mut self,
        path: &Path,
        other: &mut dyn Other,
    ) -> Option<Result<Hashed, ErrorKind>> {
        if !is_stdin(path) {
            return check::refuse_stream(path);
        }
        Some(self.0.feed_stdin(path, other))
    }
}

/// The task of hashing an operand, or a file that a list names; `-` is standard input.
pub(crate) fn task<A>(path: PathBuf, extent: Extent, about: A) -> Task<A> {
    let kind = if is_stdin(&path) { Kind::Alone } else { Kind::Unknown };
    Task { path, kind, extent, about }
}
