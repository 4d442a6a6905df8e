//! Stands in for `device.rs` in a program that was built without the feature `gpu`: nothing is hashed by a device.

use crate::outcome::Outcome;
use crate::stdin::Stdin;
use clap::{Args, Subcommand};
use std::fs::File;
use std::path::Path;
use treewide::Mode;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, Hashed, Progress};

#[derive(Args)]
pub(crate) struct DeviceArgs {}

impl DeviceArgs {
    pub(crate) fn open(&self, _: &Mode) -> anyhow::Result<ByDevice> {
        Ok(ByDevice {})
    }
}

#[derive(Default)]
pub(crate) struct ByDevice {}

impl ByDevice {
    /// Nothing is hashed by a device.
    pub(crate) fn hash(
        &self,
        _: &Path,
        _: Extent,
        _: &Stdin,
        _: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        None
    }

    /// Neither is what a walk has found.
    pub(crate) fn hash_found(
        &self,
        _: &File,
        _: &Path,
        _: Extent,
        _: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        None
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {}

impl Command {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        match *self {}
    }
}

/// Nothing, as there is no choice.
pub(crate) fn explain(_: u64) -> String {
    String::new()
}
