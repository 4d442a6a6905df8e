//! Digests by other algorithms: recorded next to BLAKE3, and printed as a list.

use crate::args::algorithm;
use clap::Args;
use treewide_digests::Algorithm;
use treewide_manifest::machine::Update;

#[derive(Args)]
pub(crate) struct AlsoArgs {
    /// Record digests by other algorithms as well, from the same reading: sha256, or sha256,md5
    ///
    /// They are in the index, and X.b3 stays as it is. `treewide manifest lines --algorithm sha256 X.b3` prints a list of them, which
    /// sha256sum checks. `update` and `scrub` carry them on without this option; with it, they add an algorithm and read the files that
    /// have no digest by it. One thread reads a file, and several threads read several files. A file that has an outboard is read twice.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Reading")]
    #[arg(value_parser = algorithm::parser(|it| it.tag().is_some() && *it != Algorithm::BLAKE3))]
    also: Vec<Algorithm>,
}

impl AlsoArgs {
    pub(crate) fn apply(&self, update: Update) -> Update {
        update.also(&*self.also)
    }
}
