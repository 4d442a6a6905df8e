//! Reading inputs: the one place where a file's bytes meet a hasher.
//!
//! Everything about *how* a file is read is the library's business (`treewide::file`); here is what
//! the user says about it, and standard input. Callers know the file's name, so an [`ErrorKind`] is
//! the cause alone.

use crate::device::ByDevice;
use crate::progress::Progress;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use treewide::file::{Options, Report, Strategy};
use treewide::{Hasher, OutputReader};
use treewide_files::{ErrorKind, long_path};

/// The operand that stands for standard input.
const STDIN: &str = "-";

/// A maximum above so many threads for each core is taken as this one: more of them find nothing to
/// do, and a million would keep the machine busy for minutes before the first byte is hashed.
const MOST_PER_CORE: usize = 8;

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
    /// file that shrinks is an error like any other, so that this is a matter of speed only.
    #[arg(long, conflicts_with = "strategy")]
    no_mmap: bool,

    /// How to read files, instead of what is best for each
    ///
    /// auto: what is best; read: one buffer, one thread; read-overlapped: in order, while others hash;
    /// pread: each thread what it hashes; mmap, mmap-parallel: through a mapping, by one thread or
    /// several. What a strategy cannot read, such as a pipe, is read as with auto.
    #[arg(long, value_name = "NAME", default_value = "auto", hide_possible_values = true)]
    #[arg(value_parser = strategies())]
    strategy: Strategy,

    /// Drop what was read from the page cache again, for scans of more than fits into memory
    ///
    /// Files that were in the cache before stay there. Only on Linux.
    #[arg(long)]
    drop_cache: bool,

    /// Tell of files that grow while they are hashed
    ///
    /// A file is hashed up to the length that it has when it is opened, so that a log that is written
    /// to comes to an end. If it is longer afterwards, a message says so; the exit status is as ever.
    /// With --json, `grown_to` is its length then, or null.
    #[arg(long)]
    tell_growth: bool,
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let names = Strategy::ALL.map(Strategy::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Strategy>())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The threads that the variable of rayon asks for.
fn asked_of_rayon() -> Option<usize> {
    std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok()
}

/// Starts rayon's pool with a limit if `RAYON_NUM_THREADS` asks for so many threads (up to 65,535) that
/// to start them would keep the machine busy for minutes. Other pools start when they are needed.
pub(crate) fn limit_pool() -> Result<(), String> {
    let most = MOST_PER_CORE * cores();
    if asked_of_rayon().is_none_or(|asked| asked <= most) {
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(most).build_global();
    pool.map_err(|error| {
        format!("cannot start {most} threads, as RAYON_NUM_THREADS is high: {error}")
    })
}

impl ReadArgs {
    /// The most threads to use, if the user has said so.
    fn threads(&self) -> Option<usize> {
        // Zero means the same as nothing, as it does to rayon.
        self.threads.filter(|&threads| threads > 0)
    }

    /// The threads to share out many files to.
    fn most_threads(&self) -> usize {
        let asked = self.threads().or_else(asked_of_rayon).filter(|&threads| threads > 0);
        asked.map_or_else(cores, |asked| asked.min(MOST_PER_CORE * cores()))
    }

    /// Whether it is up to us how small files are read, so that they may be read many at a time.
    fn may_batch(&self) -> bool {
        self.strategy == Strategy::Auto && !self.drop_cache
    }

    /// Whether to tell of files that grow.
    pub(crate) fn tells_growth(&self) -> bool {
        self.tell_growth
    }

    fn options(&self) -> Options<'static> {
        let options = Options::new()
            .strategy(self.strategy)
            .mapping(!self.no_mmap)
            .drop_cache(self.drop_cache);
        match self.threads() {
            Some(most) => options.threads(most),
            None => options,
        }
    }
}

/// Whatever can be hashed, and what it takes to read it.
pub(crate) struct Input<'a> {
    options: Options<'static>,
    threads: usize,
    may_batch: bool,
    tells_growth: bool,
    progress: &'a Progress,
    device: ByDevice,
    /// What standard input was used for already, if it was.
    stdin_claim: Option<&'static str>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(args: &ReadArgs, progress: &'a Progress) -> Self {
        Self {
            options: args.options(),
            threads: args.most_threads(),
            may_batch: args.may_batch(),
            tells_growth: args.tells_growth(),
            progress,
            device: ByDevice::default(),
            stdin_claim: None,
        }
    }

    /// The most threads to use, this one counted.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether small files may be read in another way than by [`Self::hash`].
    pub(crate) fn may_batch(&self) -> bool {
        self.may_batch
    }

    /// Whether anyone wants to know of files that grow.
    pub(crate) fn tells_growth(&self) -> bool {
        self.tells_growth
    }

    /// Note that standard input is used for `what`, and cannot be used for anything else any more.
    pub(crate) fn claim_stdin(&mut self, what: &'static str) -> Result<(), ErrorKind> {
        match self.stdin_claim {
            Some(claim) => Err(stdin_claimed(claim)),
            None => {
                self.stdin_claim = Some(what);
                Ok(())
            }
        }
    }

    /// Have a device hash what it is quicker at, or is asked to.
    pub(crate) fn set_device(&mut self, device: ByDevice) {
        self.device = device;
    }

    /// What the device makes of the file at `path`, or of standard input for `-`: its length in bytes
    /// and its extended output. `None` if it is for [`Self::hash`].
    pub(crate) fn hash_by_device(&self, path: &Path) -> Option<Result<Absorbed, ErrorKind>> {
        self.device.hash(path, self, self.progress)
    }

    /// Standard input, if it was not used for something else already.
    pub(crate) fn stdin(&self) -> Result<io::Stdin, ErrorKind> {
        match self.stdin_claim {
            Some(claim) => Err(stdin_claimed(claim)),
            None => Ok(io::stdin()),
        }
    }

    /// Hash the file at `path`, or standard input for `-`, with a hasher that has absorbed nothing. What
    /// was `regular` when it was found must be so still.
    pub(crate) fn hash(
        &self,
        path: &Path,
        regular: bool,
        hasher: Hasher,
    ) -> Result<Absorbed, ErrorKind> {
        self.hash_until(path, regular, hasher, &|_| false)
    }

    /// The same, until `is_over` says so of the bytes that were read: then the error is that it was
    /// stopped.
    pub(crate) fn hash_until(
        &self,
        path: &Path,
        regular: bool,
        mut hasher: Hasher,
        is_over: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Absorbed, ErrorKind> {
        self.progress.begin(path);
        let advance = |bytes| {
            self.progress.advance(bytes);
            if is_over(bytes) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = self.options.watch(&advance);
        let report = if !is_stdin(path) {
            let file = long_path::open(path, regular)?;
            if regular {
                check_regular(&file)?;
            }
            options.update_file(&mut hasher, &file, path)?
        } else {
            hash_stdin(options, &mut hasher, self.stdin()?)?
        };
        self.progress.end();
        let (bytes, grown_to) = (report.bytes(), report.grown_to());
        Ok(Absorbed { bytes, grown_to, output: hasher.finalize_xof() })
    }
}

/// What was read and hashed.
pub(crate) struct Absorbed {
    pub(crate) bytes: u64,
    /// The length of a file that grew meanwhile.
    pub(crate) grown_to: Option<u64>,
    pub(crate) output: OutputReader,
}

/// Standard input from where it is: also a file is fast then.
#[cfg(unix)]
fn hash_stdin(
    options: Options<'_>,
    hasher: &mut Hasher,
    stdin: io::Stdin,
) -> Result<Report, ErrorKind> {
    use std::os::fd::AsFd;

    let stdin = File::from(stdin.as_fd().try_clone_to_owned()?);
    Ok(options.update_file(hasher, &stdin, STDIN).map_err(treewide::file::Error::into_kind)?)
}

#[cfg(not(unix))]
fn hash_stdin(
    options: Options<'_>,
    hasher: &mut Hasher,
    stdin: io::Stdin,
) -> Result<Report, ErrorKind> {
    Ok(options.update_reader(hasher, stdin)?)
}

/// An error if a file that was regular when it was found is another one now.
pub(crate) fn check_regular(file: &File) -> Result<(), ErrorKind> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(ErrorKind::Replaced) }
}

/// Whether the operand stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

fn stdin_claimed(claim: &str) -> ErrorKind {
    ErrorKind::Other(format!("standard input is already in use for {claim}").into())
}
