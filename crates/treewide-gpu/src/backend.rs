//! Backends run the stages: a folder for each [`Driver`](crate::driver::Driver).

#[cfg(feature = "cuda")]
pub mod cuda;
pub(crate) mod twin;
#[cfg(feature = "wgpu")]
pub mod wgpu;
