//! `scrub`: an update that also reads a part of the files that look unchanged.

use super::make::{OntoArgs, UPDATE};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use clap::Args;
use treewide_manifest::Budget;
use treewide_manifest::machine::Update;

pub(crate) const SCRUB: Notes = Notes {
    exit: UPDATE.exit,
    ..Notes::new(&[
        ("treewide scrub photos.b3 photos", "each night: all files in twenty nights"),
        ("treewide scrub --budget 200G *.b3", "several manifests, each with its verdict"),
    ])
};

/// Read a part of a directory each time, to find rot
///
/// Does what `update` does, and also reads the files that were read longest ago, so that all have their turn. The last lines say since
/// when every file was read, and how many such runs read all. Run it each night.
#[derive(Args)]
#[command(after_help = SCRUB.short(), after_long_help = SCRUB.long())]
pub(crate) struct ScrubArgs {
    /// How much is read of the files that look unchanged: 5%, or 200G
    ///
    /// At least one file is. The index records when each file was read, so that all have their turn.
    #[arg(long, value_name = "PART", default_value = "5%", value_parser = Budget::parse)]
    #[arg(help_heading = "Reading")]
    budget: Budget,

    #[command(flatten)]
    onto: OntoArgs,
}

impl ScrubArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        self.onto.run(program, (false, None), |_| Ok(Update::new().scrub(self.budget)))
    }
}
