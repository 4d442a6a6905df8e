//! `treewide outboard root`.

use super::files::Store;
use super::ranges::bytes;
use super::shape::ShapeArgs;
use super::trust;
use crate::help::Notes;
use crate::outcome::Outcome;
use crate::output;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use treewide_files::name::shown;

const ROOT: Notes = Notes::new(&[
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
}

impl RootArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let shape = self.shape.shape(Some(&self.file));
        let len = match self.len {
            Some(len) => len,
            None => self.len(shape.is_bao, shape.group.bytes())?,
        };
        let (store, layout) = Store::open(&self.file, shape, len)?;
        let root = trust::root(&self.file, &store, &layout)?;
        output::print(format!("{root}\n").as_bytes())?;
        Ok(Outcome::Success)
    }

    /// A length that fits the outboard.
    fn len(&self, is_bao: bool, group: u64) -> anyhow::Result<u64> {
        if is_bao {
            let mut header = [0; 8];
            let file = treewide::file::open_at_once(&self.file)?;
            let read = treewide::outboard::ReadAt::read_exact_at(&file, &mut header, 0);
            read.map_err(|error| anyhow::anyhow!("{}: {error}", shown(&self.file)))?;
            return Ok(u64::from_le_bytes(header));
        }
        let size = std::fs::metadata(&self.file).with_context(|| shown(&self.file))?.len();
        Ok((size / 64).saturating_add(1).saturating_mul(group))
    }
}
