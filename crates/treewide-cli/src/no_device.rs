//! What is left of `device.rs` in a program that was built without the feature `gpu`: nothing.

use crate::Outcome;
use crate::input::{Absorbed, Input};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use std::path::Path;
use treewide::KEY_LEN;
use treewide_files::ErrorKind;

#[derive(Args)]
pub(crate) struct DeviceArgs {}

impl DeviceArgs {
    pub(crate) fn open(&self, _: &Mode) -> anyhow::Result<ByDevice> {
        Ok(ByDevice {})
    }
}

/// No device takes a mode.
#[derive(Clone)]
pub(crate) struct Mode;

impl Mode {
    pub(crate) const PLAIN: Self = Self;

    pub(crate) fn keyed(_: &[u8; KEY_LEN]) -> Self {
        Self
    }

    pub(crate) fn derive_key(_: &str) -> Self {
        Self
    }
}

#[derive(Default)]
pub(crate) struct ByDevice {}

impl ByDevice {
    /// Nothing is hashed by a device.
    pub(crate) fn hash(
        &self,
        _: &Path,
        _: &Input<'_>,
        _: &Progress,
    ) -> Option<Result<Absorbed, ErrorKind>> {
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
