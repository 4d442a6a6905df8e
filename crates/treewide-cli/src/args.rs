//! Groups of flags that several commands have: name, help text and effect together.

#[cfg(feature = "gpu")]
pub(crate) mod device;
#[cfg(not(feature = "gpu"))]
#[path = "args/no_device.rs"]
pub(crate) mod device;
pub(crate) mod input;
pub(crate) mod mode;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod read;
pub(crate) mod sizes;
pub(crate) mod threads;
pub(crate) mod walk;
