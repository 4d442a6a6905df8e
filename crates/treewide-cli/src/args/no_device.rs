//! Stands in for `device.rs` in a program that was built without the feature `gpu`: nothing is hashed by a device, and
//! what asks for one is refused in words that say how to get it.

use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::stdin::Stdin;
use crate::shell::usage;
use clap::{Args, Subcommand};
use std::fs::File;
use std::path::Path;
use treewide::Mode;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, Hashed, Progress};

pub(crate) const NOTES: Notes =
    Notes::new(&[("cargo install treewide-cli --features gpu", "a build that has GPU support")]);

/// The variable that `--device` takes its value from by default.
const VARIABLE: &str = "TREEWIDE_BACKEND";

const NO_SUPPORT: &str = "this program was built without GPU support; `cargo install treewide-cli --features gpu` \
                          installs one that has it";

/// The names that a build with the feature `gpu` knows; here the CPU hashes in any case.
fn device(name: &str) -> Result<(), String> {
    match name {
        "auto" | "cpu" => Ok(()),
        "cuda" | "wgpu" => Err(format!("{name}: {NO_SUPPORT}")),
        _ => Err(format!("'{name}' is not one of auto, cpu, cuda, wgpu")),
    }
}

/// An error if the environment asks for a device.
pub(crate) fn check_environment() -> Result<(), String> {
    let name = std::env::var_os(VARIABLE).unwrap_or_default();
    if name.is_empty() {
        return Ok(());
    }
    device(&name.to_string_lossy()).map_err(|error| format!("{VARIABLE}: {error}"))
}

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct DeviceArgs {
    /// Who hashes: auto or cpu, which are the same in this program
    ///
    /// It was built without GPU support: a build with the feature gpu takes cuda and wgpu as well. Without this option,
    /// the environment variable TREEWIDE_BACKEND sets it.
    #[arg(long, value_name = "NAME", conflicts_with = "check", value_parser = device)]
    device: Option<()>,
}

impl DeviceArgs {
    pub(crate) fn open(&self, _: &Mode) -> anyhow::Result<ByDevice> {
        let DeviceArgs { device: _ } = self;
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
pub(crate) enum Command {
    /// List the GPUs that can hash
    ///
    /// This program was built without GPU support and refuses this command. A build with the feature gpu has it.
    #[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
    Devices,
}

impl Command {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        match self {
            Self::Devices => Err(usage::wrong_value(NO_SUPPORT).into()),
        }
    }
}

/// Nothing, as there is no choice.
pub(crate) fn explain(_: u64) -> String {
    String::new()
}
