//! What is left of `device.rs` in a program that was built without the feature `gpu`: nothing.

use crate::Outcome;
use crate::input::{Input, InputError};
use crate::mode::Mode;
use clap::{Args, Subcommand};
use std::path::Path;
use treewide::OutputReader;

#[derive(Args)]
pub(crate) struct DeviceArgs {}

impl DeviceArgs {
    pub(crate) fn open(&self, _: &Mode) -> anyhow::Result<ByDevice> {
        Ok(ByDevice)
    }
}

pub(crate) struct ByDevice;

impl ByDevice {
    /// Nothing is hashed by a device.
    pub(crate) fn hash(
        &self,
        _: &Path,
        _: &Input<'_>,
    ) -> Option<Result<(u64, OutputReader), InputError>> {
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
