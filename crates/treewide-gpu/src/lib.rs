//! Standard [BLAKE3] digests of GPU memory, and of what a GPU can hash quicker than the CPU.
//!
//! A [`Device`] is a GPU behind one of two interfaces, both looked for at run time: NVIDIA's driver
//! (feature `cuda`), and Vulkan, Metal or DX12 (feature `wgpu`). [`devices`] lists what there is, and
//! what is wrong with it; nothing panics where there is no GPU.
//!
//! ```no_run
//! # fn main() -> Result<(), treewide_gpu::Error> {
//! use treewide_gpu::{Mode, devices};
//!
//! let found = devices();
//! let Some(device) = found.iter().find_map(|found| found.open().ok()) else {
//!     return Ok(()); // no GPU that can be used; each entry's `problem` says why
//! };
//! let buffer = device.upload(b"bytes that are on the device")?;
//! println!("{}", device.hash(&Mode::PLAIN, &buffer).wait()?);
//! # Ok(())
//! # }
//! ```
//!
//! | the bytes are | use |
//! |---|---|
//! | on the device | [`Device::hash`], [`list`](Device::list), [`batch`](Device::batch), [`xof`](Device::xof), [`subtree`](Device::subtree), [`merkle_root`](Device::merkle_root) |
//! | on the host, or come from a file or stream | [`Staged`], [`Device::hash_bytes`], [`Device::wrap`] |
//! | in memory that both share | [`Device::allocate_shared`] |
//! | those of many requests | [`Pipeline`] |
//! | wherever the CPU or a device is quicker | [`Choice`], [`Contest`], [`Device::hash_auto`] |
//!
//! Lengths are in bytes, of any number; inputs may start at any byte, places for results at multiples
//! of 4. What is started is done in the order of the calls, and waited for by [`Pending::wait`] or
//! `.await`.
//!
//! [BLAKE3]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

mod adaptive;
mod batch;
mod cancel;
mod contest;
mod device;
mod driver;
mod error;
mod gate;
mod merkle;
mod mode;
#[cfg(test)]
mod model;
mod parts;
mod pending;
mod pipeline;
mod plan;
mod pool;
mod resident;
mod slot;
mod staged;
#[cfg(test)]
mod stand_in;
mod trial;
mod twin;
mod wrapped;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use batch::Offsets;
pub use cancel::Cancel;
pub use contest::Contest;
pub use device::{Backend, Buffer, Device, Found, SharedBuffer, Slice, devices};
pub use error::{Error, ErrorKind};
pub use gate::{Choice, VARIABLE};
pub use mode::Mode;
pub use pending::Pending;
pub use pipeline::Pipeline;
pub use staged::{Ring, Staged, TAIL};
pub use twin::TwinLimits;
pub use wrapped::Wrapped;
