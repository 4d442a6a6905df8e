//! `treewide outboard root`.

use super::files::Store;
use super::shape::ShapeArgs;
use super::trust;
use crate::args::mode::ModeArgs;
use crate::args::sizes::bytes;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::stdin::Stdin;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use treewide_files::name::shown;

pub(super) const ROOT: Notes = Notes::new(&[
    ("treewide outboard root disk.img.obao4", "the digest that it stands for"),
    ("treewide outboard root disk.tree --group 1M --order post", ""),
]);

/// Print the digest that an outboard stands for
///
/// It follows from one pair, and no data is read: the data may have another digest.
#[derive(Args)]
#[command(after_help = ROOT.short(), after_long_help = ROOT.long())]
pub(super) struct RootArgs {
    /// The outboard
    #[arg(value_name = "OUTBOARD")]
    file: PathBuf,

    /// The bytes of the data: an outboard of another length is an error
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    len: Option<u64>,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    mode: ModeArgs,
}

impl RootArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let shape = self.shape.shape(Some(&self.file));
        let (store, layout) = Store::open_alone(&self.file, shape, self.len)?;
        let root = trust::root(&self.file, &store, &layout, self.mode.mode(&Stdin::default())?)?;
        let root = root.with_context(|| format!("{}: {}", shown(&self.file), trust::EMPTY))?;
        output::print(format!("{root}\n").as_bytes())?;
        Ok(Outcome::Success)
    }
}
