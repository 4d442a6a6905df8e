//! Who hashes files: the CPU, or a GPU in a build with the feature `gpu`.

#[cfg(feature = "gpu")]
mod gpu;

use crate::shell::stdin::Stdin;
use clap::Args;
use std::fs::File;
use std::path::Path;
use treewide::Mode;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, Hashed, Progress};

#[cfg(feature = "gpu")]
pub(crate) use gpu::explain;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct DeviceArgs {
    /// Who hashes: auto, cpu, cuda or wgpu
    ///
    /// auto: a device hashes regular files from --device-minimum on, and the CPU everything else. cuda and wgpu: the first usable device of that backend, or an error if there is
    /// none; the CPU hashes small files. `treewide explain` lists the devices, and says what auto does.
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "NAME", default_value = "auto", conflicts_with = "check")]
    #[arg(value_parser = gpu::choices(), hide_possible_values = true, hide_short_help = true)]
    device: treewide_gpu::Choice,
    /// Shortest file that `--device auto` gives to a GPU, such as 64M
    ///
    /// Without it, that is 16M on Apple silicon, and no file elsewhere. In a clone of the repository, `cargo run --release -p treewide-bench --features gpu -- tune` measures it.
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "SIZE", conflicts_with = "check", value_parser = treewide_files::size::parse)]
    #[arg(hide_short_help = true)]
    device_minimum: Option<u64>,
}

/// Who hashes the files of a run.
#[derive(Default)]
pub(crate) enum ByDevice {
    #[default]
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(gpu::ByGpu),
}

#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "the CPU needs none of them"))]
impl DeviceArgs {
    /// What hashes in this mode; a device that is forced is opened here.
    pub(crate) fn open(&self, mode: &Mode) -> anyhow::Result<ByDevice> {
        #[cfg(feature = "gpu")]
        if self.device != treewide_gpu::Choice::Cpu {
            return Ok(ByDevice::Gpu(gpu::ByGpu::open(self.device, self.device_minimum, mode)?));
        }
        Ok(ByDevice::Cpu)
    }
}

#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "the CPU needs none of them"))]
impl ByDevice {
    /// Hash the file at `path`, or standard input for `-`. `None` if the CPU is to, as it is for everything
    /// that cannot be read.
    pub(crate) fn hash(
        &self,
        path: &Path,
        extent: Extent,
        stdin: &Stdin,
        progress: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        match self {
            Self::Cpu => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.hash(path, extent, stdin, progress),
        }
    }

    /// Hash a file that is open. `None` as with [`hash`](Self::hash).
    pub(crate) fn hash_found(
        &self,
        file: &File,
        path: &Path,
        extent: Extent,
        progress: &dyn Progress,
    ) -> Option<Result<Hashed, ErrorKind>> {
        match self {
            Self::Cpu => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.hash_found(file, path, extent, progress),
        }
    }
}
