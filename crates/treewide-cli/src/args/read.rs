//! The flags that say how files are read.

use crate::args::threads;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::sync::Arc;
use treewide::Mode;
use treewide::file::Strategy;
use treewide_files::{Options, Progress};

#[derive(Args, Clone)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The maximum number of threads to use
    ///
    /// By default, this is the number of logical cores. If this flag is omitted, or if its value
    /// is 0, RAYON_NUM_THREADS is also respected.
    #[arg(long, alias = "num-threads", value_name = "NUM", hide_short_help = true)]
    threads: Option<usize>,

    /// How to read files
    ///
    /// auto: what is best for each file; read: one buffer, one thread; read-overlapped: one thread reads in
    /// order while others hash; pread: each thread reads what it hashes; mmap, mmap-parallel: through a
    /// mapping, by one thread or several. A file that a strategy cannot read, such as a pipe, is read as with
    /// auto.
    #[arg(long, value_name = "NAME", default_value = "auto", hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    #[arg(value_parser = strategies())]
    strategy: Strategy,

    /// Drop what was read from the page cache again, for scans of more than fits into memory
    ///
    /// Files that were in the cache before stay there. Linux only.
    #[arg(long, hide_short_help = true)]
    drop_cache: bool,
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

    /// For hashing in the plain mode.
    pub(crate) fn plain_options(&self, progress: Arc<dyn Progress>) -> Options {
        self.options(Mode::PLAIN).progress(progress)
    }

    pub(super) fn options(&self, mode: Mode) -> Options {
        let options = Options::new().mode(mode).strategy(self.strategy).drop_cache(self.drop_cache);
        match self.threads() {
            Some(most) => options.threads(most),
            None => options,
        }
    }
}
