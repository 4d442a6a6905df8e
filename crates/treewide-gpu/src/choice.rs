//! Who hashes bytes of the host: the CPU or a device, by choice or by length.
//!
//! The whole decision is a length: an argument, or a default where host and device share one memory. Nothing is tried and
//! nothing is learned.

use crate::device::Device;
use crate::driver::{Backend, DeviceInfo};
use crate::error::{Error, ErrorKind};
use crate::found::{devices, first_that_works};
use std::fmt;
use std::str::FromStr;

/// From how many bytes on `auto` uses a device that shares its memory with the CPU, unless the program says otherwise. A guess: no such device has been measured.
const UNIFIED_FROM: u64 = 16 << 20;

/// Whether every GPU of this platform shares its memory with the CPU. Elsewhere that shows only once a
/// driver is loaded, which takes longer than hashing 16 MiB (results/zen5-2vcpu/auto-gpu.md#opening-a-device),
/// so none is.
const IS_UNIFIED: bool = cfg!(all(target_vendor = "apple", target_arch = "aarch64"));

/// Who is to hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The first device that works, from a [length](Self::is_for_device) on; else the CPU.
    /// Software that passes for a GPU is never chosen.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The first CUDA device.
    Cuda,
    /// The first device of Vulkan, Metal or DX12.
    Wgpu,
}

impl Choice {
    /// Whether [`Auto`](Self::Auto) gives an input of `len` bytes to a device, if one works: from `minimum` bytes on. Without a
    /// minimum that is from 16 MiB on where every GPU shares its memory with the CPU, on Apple silicon, and never
    /// elsewhere. An input of unknown length is the CPU's. `treewide-bench tune` finds a minimum for a machine.
    pub fn is_for_device(minimum: Option<u64>, len: Option<u64>) -> bool {
        let least = minimum.or(IS_UNIFIED.then_some(UNIFIED_FROM));
        least.zip(len).is_some_and(|(least, len)| len >= least)
    }

    /// Opens the device that is to hash `len` bytes; `None` if the CPU is to.
    ///
    /// [`Auto`](Self::Auto) looks for a device only if the length [is for one](Self::is_for_device), and takes the first that gives the right digest of a sample. Opening takes tenths of a second: programs
    /// that hash many inputs keep the device.
    ///
    /// # Errors
    /// [`ErrorKind::NoDevice`] if a backend was chosen and has no device that can be used. The message says
    /// what was found.
    pub fn open(self, minimum: Option<u64>, len: Option<u64>) -> Result<Option<Device>, Error> {
        let backend = match self {
            Self::Cpu => return Ok(None),
            Self::Auto if Self::is_for_device(minimum, len) => return Ok(first_that_works()),
            Self::Auto => return Ok(None),
            Self::Cuda => Backend::Cuda,
            Self::Wgpu => Backend::Wgpu,
        };
        let found = devices();
        let usable = |found: &&DeviceInfo| found.backend == backend && found.problem.is_none();
        match found.iter().find(usable) {
            Some(found) => found.open().map(Some),
            None => Err(absent(backend, &found)),
        }
    }
}

fn absent(backend: Backend, found: &[DeviceInfo]) -> Error {
    let mut cause = format!("there is no {backend} device that can be used");
    if found.is_empty() {
        cause += "; this program was built without GPU backends";
    }
    for found in found {
        cause += &format!("; {} {}: {}", found.backend, found.index, found.name);
        if let Some(problem) = &found.problem {
            cause += &format!(" ({problem})");
        }
    }
    Error::new(ErrorKind::NoDevice, cause)
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "cuda" => Self::Cuda,
            "wgpu" => Self::Wgpu,
            _ => {
                let cause = format_args!("'{text}' is not one of auto, cpu, cuda, wgpu");
                return Err(Error::invalid(cause));
            }
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_gives_a_device_what_reaches_the_minimum() {
        for (minimum, len, expected) in [
            (Some(100), Some(99), false),
            (Some(100), Some(100), true),
            (Some(100), None, false),
            (Some(0), Some(0), true),
            (Some(u64::MAX), Some(u64::MAX - 1), false),
            (None, Some(u64::MAX), IS_UNIFIED),
            (None, None, false),
        ] {
            assert_eq!(Choice::is_for_device(minimum, len), expected, "{len:?} from {minimum:?}");
        }
    }
}
