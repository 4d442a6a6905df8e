//! Who hashes: the CPU or a device, by choice or by itself.

use crate::adaptive::Adaptive;
use crate::staged::{Engine, Staged};
use crate::{Backend, Device, Error, ErrorKind, Found, Mode, devices};
use std::fmt;
use std::str::FromStr;
use treewide::{Hash, profile};

/// The variable that forces a choice.
pub const VARIABLE: &str = "TREEWIDE_BACKEND";

/// Who is to hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Whoever is quicker. Software that passes for a GPU is never chosen.
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
    /// What [`VARIABLE`] says, if it is set and not empty.
    ///
    /// # Errors
    /// If it is no choice.
    pub fn from_env() -> Result<Option<Self>, Error> {
        match std::env::var_os(VARIABLE) {
            None => Ok(None),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => text
                .to_string_lossy()
                .parse()
                .map(Some)
                .map_err(|error: Error| Error::invalid(format_args!("{VARIABLE}: {error}"))),
        }
    }

    /// The device of this choice; none for the CPU, and none for [`Auto`](Self::Auto), where a device
    /// is opened only once it would pay: see [`stage`](Self::stage).
    ///
    /// # Errors
    /// If there is no such device. The message says what was found.
    pub fn open(self) -> Result<Option<Device>, Error> {
        let backend = match self {
            Self::Auto | Self::Cpu => return Ok(None),
            Self::Cuda => Backend::Cuda,
            Self::Wgpu => Backend::Wgpu,
        };
        let found = devices();
        let usable = |found: &&Found| found.backend == backend && found.problem.is_none();
        match found.iter().find(usable) {
            Some(found) => found.open().map(Some),
            None => Err(absent(backend, &found)),
        }
    }

    /// Hashes bytes of the host by this choice. `len` is how many will come, if that is known.
    ///
    /// With [`Auto`](Self::Auto) the CPU starts; of inputs that take it a quarter of a minute and more a
    /// device gets parts for a trial, and the rest if it is quicker; none where a [profile](treewide::profile) says that
    /// none is quicker at that length (`gpu-staged-from`). If it fails meanwhile, so does the hash: then
    /// [`Cpu`](Self::Cpu) is the choice. The CPU hashes each piece where it lies, like
    /// [`Hasher::update_rayon`](treewide::Hasher::update_rayon): larger pieces are better. Files have
    /// [`Contest`](crate::Contest), which reads them by better ways than this.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn stage(self, mode: &Mode, len: Option<u64>) -> Result<Staged, Error> {
        Ok(match self.open()? {
            Some(device) => Staged::new(&device, mode),
            None => {
                let mut staged = Staged::with_engine(Engine::Cpu, mode);
                let from = || profile::gpu().staged_from.unwrap_or(0);
                staged.adaptive = (self == Self::Auto).then(|| Adaptive::new(len, from()));
                staged
            }
        })
    }
}

impl Device {
    /// The digest of bytes of the host by whoever is quicker: by this device from the lengths on that a
    /// [profile](treewide::profile) names, through its ring (`gpu-staged-from`) or pinned where they lie
    /// (`gpu-wrapped-from`); below, and where no profile says anything, by the threads of the current
    /// rayon pool.
    ///
    /// ```
    /// # fn main() -> Result<(), treewide_gpu::Error> {
    /// use treewide_gpu::{Device, Mode, TwinLimits};
    ///
    /// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
    /// assert_eq!(device.hash_auto(&Mode::PLAIN, b"abc")?, treewide::hash(b"abc"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    pub fn hash_auto(&self, mode: &Mode, bytes: &[u8]) -> Result<Hash, Error> {
        match quicker(profile::gpu(), bytes.len() as u64) {
            Quicker::Cpu => Ok(mode.hasher().update_rayon(bytes).finalize()),
            Quicker::Staged => self.hash_bytes(mode, bytes),
            Quicker::Wrapped => self.hash_wrapped(mode, bytes),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Quicker {
    Cpu,
    Staged,
    Wrapped,
}

/// Who is, of bytes in ordinary memory.
fn quicker(gpu: profile::Gpu, len: u64) -> Quicker {
    let is_from = |from: Option<u64>| from.is_some_and(|from| len >= from);
    match (is_from(gpu.staged_from), is_from(gpu.wrapped_from)) {
        // Pinning takes longer than copying where both pay.
        (true, _) => Quicker::Staged,
        (false, true) => Quicker::Wrapped,
        (false, false) => Quicker::Cpu,
    }
}

fn absent(backend: Backend, found: &[Found]) -> Error {
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
                let cause = format_args!("'{text}' is none of auto, cpu, cuda, wgpu");
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
    fn the_profile_says_who_is_quicker() {
        let mut gpu = profile::Gpu::default();
        assert_eq!(quicker(gpu, u64::MAX), Quicker::Cpu, "nobody knows");
        (gpu.staged_from, gpu.wrapped_from) = (Some(100), Some(50));
        assert_eq!(quicker(gpu, 49), Quicker::Cpu);
        assert_eq!(quicker(gpu, 50), Quicker::Wrapped);
        assert_eq!(quicker(gpu, 100), Quicker::Staged);
        (gpu.staged_from, gpu.wrapped_from) = (Some(u64::MAX), None);
        assert_eq!(quicker(gpu, 1 << 60), Quicker::Cpu);
    }
}
