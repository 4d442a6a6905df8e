//! `scrub`: an update that also reads a part of the files that look unchanged.

use super::make::{AcceptArgs, Making, UPDATE, WithArgs};
use super::root;
use crate::commands::comparing::run;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use clap::Args;
use std::path::PathBuf;
use treewide_manifest::Budget;
use treewide_manifest::machine::Update;

pub(crate) const SCRUB: Notes = Notes {
    exit: UPDATE.exit,
    ..Notes::new(&[
        ("treewide scrub photos.b3 photos", "each night: all files in twenty nights"),
        ("treewide scrub --budget 200G photos.b3 photos", ""),
    ])
};

/// Read a part of a directory each time, to find rot
///
/// Does what `update` does, and also reads the files that were read longest ago, so that all have their turn. The last lines say since
/// when every file was read, and how many such runs read all. Run it each night.
#[derive(Args)]
#[command(after_help = SCRUB.short(), after_long_help = SCRUB.long())]
pub(crate) struct ScrubArgs {
    /// The list of the manifest, or its directory: X means X.b3
    #[arg(value_name = "X.b3", value_parser = root::list())]
    manifest: PathBuf,

    /// The directory [default: X next to X.b3, or .]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// How much is read of the files that look unchanged: 5%, or 200G
    ///
    /// At least one file is. The index records when each file was read, so that all have their turn.
    #[arg(long, value_name = "PART", default_value = "5%", value_parser = Budget::parse)]
    #[arg(help_heading = "Reading")]
    budget: Budget,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    with: WithArgs,
}

impl ScrubArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || {
            let making = Making {
                path: &self.manifest,
                update: Update::new().scrub(self.budget),
                accept: Some(&self.accept),
                reads_all: false,
                dir: self.dir.as_deref(),
                rules: None,
                lists: &[],
            };
            self.with.make(program, making)
        })
    }
}
