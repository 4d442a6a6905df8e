//! Standard [BLAKE3] digests of GPU memory.
//!
//! [BLAKE3]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

mod adaptive;
mod batch;
mod device;
mod driver;
mod error;
mod gate;
mod merkle;
mod mode;
mod pending;
mod pipeline;
mod plan;
mod pool;
mod resident;
mod slot;
mod staged;
mod twin;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use batch::Offsets;
pub use device::{Backend, Buffer, Device, Found, SharedBuffer, Slice, devices};
pub use error::{Error, ErrorKind};
pub use gate::{Choice, VARIABLE};
pub use mode::Mode;
pub use pending::Pending;
pub use pipeline::Pipeline;
pub use staged::{Cancel, Ring, Staged};
pub use twin::TwinLimits;
