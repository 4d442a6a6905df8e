//! Standard [BLAKE3] digests of GPU memory.
//!
//! [BLAKE3]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

mod device;
mod driver;
mod error;
mod mode;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use device::{Backend, Buffer, Device, Found};
pub use error::{Error, ErrorKind};
pub use mode::Mode;
