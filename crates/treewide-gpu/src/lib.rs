//! Standard [BLAKE3] digests of GPU memory, and of bytes that a GPU hashes faster than the CPU.
//!
//! A [`Device`] is a GPU behind one of two interfaces: NVIDIA's driver (feature `cuda`), or Vulkan, Metal and
//! DX12 (feature `wgpu`). The program looks for both when it runs. [`devices`] lists what it finds and what is
//! wrong with it; nothing panics where there is no GPU.
//!
//! ```no_run
//! # fn main() -> Result<(), treewide_gpu::Error> {
//! use treewide_gpu::{Mode, devices};
//!
//! let found = devices();
//! let Some(found) = found.iter().find(|it| it.problem.is_none() && !it.is_software) else {
//!     return Ok(()); // no GPU that can be used: each entry says why, or is software on the CPU
//! };
//! let device = found.open()?;
//! let buffer = device.upload(b"bytes that are on the device")?;
//! println!("{}", device.hash(&Mode::PLAIN, &buffer).wait()?);
//! # Ok(())
//! # }
//! ```
//!
//! | the bytes are | use |
//! |---|---|
//! | on the device | [`Device::hash`], [`list`](Device::list), [`batch`](Device::batch), [`xof`](Device::xof), [`subtrees`](Device::subtrees), [`hash_parts`](Device::hash_parts) |
//! | on the host, or come from a file or stream | [`Staged`], [`Device::hash_bytes`], [`Device::wrap`] |
//! | in memory that both share | [`Device::allocate_shared`] |
//! | in many requests, one after the other | [`Pipeline`] |
//! | on the host, for whichever of CPU and GPU is faster at that length | [`Choice`] |
//!
//! Lengths are numbers of bytes, of any size. Inputs may start at any byte; places for results start at
//! multiples of 4. A device does its work in the order of the calls. [`Pending::wait`] waits for a result.
//!
//! [BLAKE3]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

mod backend;
#[cfg(test)]
mod broken;
mod choice;
mod device;
mod driver;
mod error;
mod found;
mod host;
mod memory;
mod pending;
mod plan;
mod pool;
mod resident;
mod root;

#[cfg(feature = "cuda")]
pub use backend::cuda;
pub use backend::twin::TwinLimits;
#[cfg(feature = "wgpu")]
pub use backend::wgpu;
pub use choice::Choice;
pub use device::Device;
pub use driver::{Backend, DeviceInfo};
pub use error::{Error, ErrorKind};
pub use found::devices;
pub use host::pipeline::Pipeline;
pub use host::ring::Ring;
pub use host::staged::Staged;
pub use host::wrapped::Wrapped;
pub use memory::{Buffer, SharedBuffer, Slice};
pub use pending::Pending;
pub use resident::batch::Offsets;
pub use resident::parts::Runs;
pub use treewide::Mode;
