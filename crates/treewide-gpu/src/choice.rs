//! Who hashes bytes of the host: the CPU or a device, by choice or by length.
//!
//! [`threshold`] is the whole decision: a pure function of what the profile says, of where the bytes are,
//! and of whether host and device share one memory. Nothing is tried and nothing is learned.

use crate::device::Device;
use crate::driver::{Backend, Found};
use crate::error::{Error, ErrorKind};
use crate::found::{devices, first_that_works};
use crate::host::staged::Staged;
use std::fmt;
use std::str::FromStr;
use treewide::{Hash, Hasher, Mode, profile};

/// The environment variable that sets what `--device` of the command line sets.
pub const VARIABLE: &str = "TREEWIDE_BACKEND";

/// From how many bytes on `auto` uses a device that shares its memory with the CPU, until `treewide-bench
/// tune` has measured it. A guess: no such device has been measured.
const UNIFIED_FROM: u64 = 16 << 20;

/// Whether every GPU of this platform shares its memory with the CPU. Elsewhere that shows only once a
/// driver is loaded, which takes longer than hashing 16 MiB (results/zen5-2vcpu/auto-gpu.md#opening-a-device),
/// so without a profile none is.
const IS_UNIFIED: bool = cfg!(all(target_vendor = "apple", target_arch = "aarch64"));

/// Who is to hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The first device that works, for at least the length that [`Threshold::here`] gives; else the CPU.
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

/// Where bytes of the host are when the clock starts: each place has a threshold of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// In ordinary memory, copied through pinned buffers: [`Staged`], [`Device::hash_bytes`].
    Staged,
    /// In ordinary memory, pinned where they lie: [`Device::hash_wrapped`].
    Wrapped,
    /// In a file, read into pinned buffers: [`Staged::update_file`].
    File,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Staged, Self::Wrapped, Self::File];

    /// The name of its threshold in a [profile](treewide::profile).
    pub fn name_in_profile(self) -> &'static str {
        match self {
            Self::Staged => "gpu-staged-from",
            Self::Wrapped => "gpu-wrapped-from",
            Self::File => "gpu-file-from",
        }
    }
}

/// What the bytes are: `memory`, `pinned memory` or `files`.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Staged => "memory",
            Self::Wrapped => "pinned memory",
            Self::File => "files",
        })
    }
}

/// From which length on `auto` gives bytes of one class to a device, and why.
///
/// Its text is for people: `a GPU from 67108864 bytes on (gpu-file-from in /etc/treewide.profile)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Where the bytes are.
    pub class: Class,
    /// Bytes from which on a device hashes; `None` if the CPU hashes inputs of every length.
    pub from: Option<u64>,
    /// Who says so.
    pub reason: Reason,
}

/// Who says from which length on a device hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The profile that `TREEWIDE_PROFILE` names.
    Profile,
    /// Nobody has measured it; host and device share one memory, for which there is a default.
    Unified,
    /// Nobody has measured it.
    Unmeasured,
}

/// The threshold of a class: what the profile says, else the default on unified memory, else none.
fn threshold(class: Class, profile: profile::Gpu, is_unified: bool) -> Threshold {
    let measured = match class {
        Class::Staged => profile.staged_from,
        Class::Wrapped => profile.wrapped_from,
        Class::File => profile.file_from,
    };
    let (from, reason) = match measured {
        Some(u64::MAX) => (None, Reason::Profile),
        Some(from) => (Some(from), Reason::Profile),
        None if is_unified => (Some(UNIFIED_FROM), Reason::Unified),
        None => (None, Reason::Unmeasured),
    };
    Threshold { class, from, reason }
}

impl Threshold {
    /// The threshold for devices that have yet to be found: what [`Choice::Auto`] uses. Without a
    /// profile it is `None`, except on Apple silicon, where every GPU has unified memory.
    pub fn here(class: Class) -> Self {
        threshold(class, profile::gpu(), IS_UNIFIED)
    }

    /// Whether a device hashes `len` bytes. An input of unknown length is the CPU's.
    pub fn is_reached(&self, len: Option<u64>) -> bool {
        self.from.zip(len).is_some_and(|(from, len)| len >= from)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Some(from) => write!(f, "a GPU from {from} bytes on (")?,
            None => f.write_str("the CPU (")?,
        }
        match self.reason {
            Reason::Profile => {
                let path = std::env::var_os("TREEWIDE_PROFILE").unwrap_or_default();
                let is = if self.from.is_none() { " is \"never\"" } else { "" };
                write!(f, "{}{is} in {})", self.class.name_in_profile(), path.display())
            }
            Reason::Unified => f.write_str("the default on unified memory until it is measured)"),
            Reason::Unmeasured => f.write_str("no threshold measured)"),
        }
    }
}

impl Choice {
    /// What [`VARIABLE`] says, if it is set and not empty.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if it names no choice.
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

    /// Opens the device that is to hash `len` bytes of that class; `None` if the CPU is to.
    ///
    /// [`Auto`](Self::Auto) looks for a device only if the length is known and reaches the threshold,
    /// and takes the first that gives the right digest of a sample. Opening takes tenths of a second: programs
    /// that hash many inputs keep the device.
    ///
    /// # Errors
    /// [`ErrorKind::NoDevice`] if a backend was chosen and has no device that can be used. The message says
    /// what was found.
    pub fn open(self, class: Class, len: Option<u64>) -> Result<Option<Device>, Error> {
        let backend = match self {
            Self::Cpu => return Ok(None),
            Self::Auto if Threshold::here(class).is_reached(len) => return Ok(first_that_works()),
            Self::Auto => return Ok(None),
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
    /// Where the CPU hashes, it hashes each piece where it lies, like
    /// [`Hasher::update_rayon`](treewide::Hasher::update_rayon): larger pieces are faster.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn stage(self, mode: &Mode, len: Option<u64>) -> Result<Staged, Error> {
        Ok(match self.open(Class::Staged, len)? {
            Some(device) => Staged::new(&device, mode),
            None => Staged::on_cpu(mode),
        })
    }
}

impl Device {
    /// From which length on [`hash_auto`](Self::hash_auto) gives bytes of that class to this device.
    pub fn threshold(&self, class: Class) -> Threshold {
        threshold(class, profile::gpu(), self.is_unified())
    }

    /// The digest of bytes in ordinary memory, by this device from its [`threshold`](Self::threshold) on:
    /// through its ring, or pinned where they lie. Shorter inputs are hashed by the threads of the current
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
        let len = Some(bytes.len() as u64);
        // Pinning takes longer than copying where both are faster than the CPU.
        if self.threshold(Class::Staged).is_reached(len) {
            self.hash_bytes(mode, bytes)
        } else if self.threshold(Class::Wrapped).is_reached(len) {
            self.hash_wrapped(mode, bytes)
        } else {
            Ok(Hasher::with_mode(*mode).update_rayon(bytes).finalize())
        }
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

    /// A profile with these values for staged, wrapped and file.
    fn profile([staged, wrapped, file]: [Option<u64>; 3]) -> profile::Gpu {
        let mut gpu = profile::Gpu::default();
        (gpu.staged_from, gpu.wrapped_from, gpu.file_from) = (staged, wrapped, file);
        gpu
    }

    #[test]
    fn threshold_of_each_class() {
        use Class::{File, Staged, Wrapped};
        use Reason::{Profile, Unified, Unmeasured};
        let never = Some(u64::MAX);
        let nothing = [None; 3];
        let all = [Some(8), never, Some(0)];
        let default = Some(16 << 20);
        for (says, class, is_unified, from, reason) in [
            (nothing, Staged, false, None, Unmeasured),
            (nothing, Wrapped, false, None, Unmeasured),
            (nothing, File, false, None, Unmeasured),
            (nothing, Staged, true, default, Unified),
            (nothing, Wrapped, true, default, Unified),
            (nothing, File, true, default, Unified),
            (all, Staged, false, Some(8), Profile),
            (all, Wrapped, false, None, Profile),
            (all, File, false, Some(0), Profile),
            (all, Staged, true, Some(8), Profile),
            (all, Wrapped, true, None, Profile),
            (all, File, true, Some(0), Profile),
            // A profile speaks for the classes that it names.
            ([Some(8), None, None], File, false, None, Unmeasured),
            ([Some(8), None, None], File, true, default, Unified),
            ([None, None, Some(8)], Staged, false, None, Unmeasured),
        ] {
            let expected = Threshold { class, from, reason };
            assert_eq!(threshold(class, profile(says), is_unified), expected, "{says:?}");
        }
    }

    #[test]
    fn threshold_is_reached_by_a_known_length() {
        let of = |from| Threshold { class: Class::File, from, reason: Reason::Profile };
        for (from, len, expected) in [
            (Some(100), Some(99), false),
            (Some(100), Some(100), true),
            (Some(100), None, false),
            (Some(0), Some(0), true),
            (None, Some(u64::MAX), false),
            (None, None, false),
        ] {
            assert_eq!(of(from).is_reached(len), expected, "{len:?} from {from:?}");
        }
    }

    #[test]
    fn threshold_says_why() {
        let text = |says, is_unified| threshold(Class::File, profile(says), is_unified).to_string();
        assert_eq!(text([None; 3], false), "the CPU (no threshold measured)");
        let unified =
            "a GPU from 16777216 bytes on (the default on unified memory until it is measured)";
        assert_eq!(text([None; 3], true), unified);
        let profiled = text([None, None, Some(70)], false);
        assert!(profiled.starts_with("a GPU from 70 bytes on (gpu-file-from in "), "{profiled}");
        let never = text([None, None, Some(u64::MAX)], true);
        assert!(never.starts_with("the CPU (gpu-file-from is \"never\" in "), "{never}");
    }
}
