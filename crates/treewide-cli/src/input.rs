//! What is hashed, and how: the flags about reading, standard input, and devices.

use crate::descriptor;
use crate::device::ByDevice;
use crate::mode::ModeArgs;
use crate::progress::Progress;
use crate::stdin::{Stdin, is_stdin};
use crate::threads;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treewide::Mode;
use treewide::file::Strategy;
use treewide_files::check;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, HashAlone, Hashed, Kind, Options, Run, Source, Task};

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The maximum number of threads to use
    ///
    /// By default, this is the number of logical cores. If this flag is omitted, or if its value
    /// is 0, RAYON_NUM_THREADS is also respected.
    #[arg(long, visible_alias = "num-threads", value_name = "NUM")]
    threads: Option<usize>,

    /// Do not map files into memory
    ///
    /// Without --strategy: files that would be mapped are read by several threads instead. A mapped
    /// file that shrinks is an error like any other, so this affects only the speed.
    #[arg(long, conflicts_with = "strategy")]
    no_mmap: bool,

    /// How to read files
    ///
    /// auto: what is best for each file; read: one buffer, one thread; read-overlapped: one thread reads in
    /// order while others hash; pread: each thread reads what it hashes; mmap, mmap-parallel: through a
    /// mapping, by one thread or several. A file that a strategy cannot read, such as a pipe, is read as with
    /// auto.
    #[arg(long, value_name = "NAME", default_value = "auto", hide_possible_values = true)]
    #[arg(value_parser = strategies())]
    strategy: Strategy,

    /// Drop what was read from the page cache again, for scans of more than fits into memory
    ///
    /// Files that were in the cache before stay there. Linux only.
    #[arg(long)]
    drop_cache: bool,

    /// Report files that grow while they are being hashed
    ///
    /// A file is hashed up to the length that it has when it is opened, so that hashing a growing log comes to
    /// an end. If the file is longer afterwards, a message says so; the exit status does not change.
    /// With --json, `grown_to` is the new length, or null.
    #[arg(long)]
    tell_growth: bool,
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let names = Strategy::ALL.map(Strategy::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Strategy>())
}

impl ReadArgs {
    /// The most threads to use, if the user has said so. Zero means the same as nothing, as it does to rayon.
    fn threads(&self) -> Option<usize> {
        self.threads.filter(|&threads| threads > 0).or_else(threads::asked_of_rayon)
    }

    /// Whether to report files that grow.
    pub(crate) fn tells_growth(&self) -> bool {
        self.tell_growth
    }

    /// For hashing in the plain mode.
    pub(crate) fn plain_options(&self, progress: Arc<dyn treewide_files::Progress>) -> Options {
        self.options(Mode::PLAIN).progress(progress)
    }

    fn options(&self, mode: Mode) -> Options {
        let options = Options::new()
            .mode(mode)
            .strategy(self.strategy)
            .mapping(!self.no_mmap)
            .drop_cache(self.drop_cache)
            .report_growth(self.tell_growth);
        match self.threads() {
            Some(most) => options.threads(most),
            None => options,
        }
    }
}

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

    pub(crate) fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Let a device hash the files that it is for.
    pub(crate) fn set_device(&mut self, device: ByDevice) {
        self.device = device;
    }

    /// Hash what `source` finds, except what may have no end.
    pub(crate) fn run_without_streams<S: Source>(&self, source: S) -> Run<S, impl HashAlone> {
        self.options.run_with(source, |path: &Path, extent: Extent| {
            let refused = if is_stdin(path) { None } else { check::refuse_stream(path) };
            refused.or_else(|| self.hash_path(path, extent))
        })
    }

    /// Hash what `source` finds.
    pub(crate) fn run<S: Source>(&self, source: S) -> Run<S, impl HashAlone> {
        self.options.run_with(source, self)
    }

    fn hash_path(&self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>> {
        if let Err(error) = descriptor::require(path) {
            return Some(Err(error.into()));
        }
        let by_device = self.device.hash(path, extent, &self.stdin, &*self.progress);
        by_device.or_else(|| is_stdin(path).then(|| self.stdin.hash(&self.options, extent)))
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
}

/// The task of hashing an operand, or a file that a list names; `-` is standard input.
pub(crate) fn task<A>(path: PathBuf, extent: Extent, about: A) -> Task<A> {
    let kind = if is_stdin(&path) { Kind::Alone } else { Kind::Unknown };
    Task { path, kind, extent, about }
}

/// What a message says of a file that grew.
pub(crate) fn growth(hashed: &Hashed) -> Option<String> {
    let now = hashed.grown_to?;
    Some(format!("file grew while being hashed: {} of {now} bytes", hashed.bytes))
}
