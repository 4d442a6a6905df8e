//! Devices and their buffers, whatever the backend.

use crate::Error;
use crate::driver::{Driver, Handle, Info};
use std::fmt;
use std::sync::Arc;

/// Which interface a device is reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The CPU twins of the kernels: for tests, slow.
    Twin,
    /// NVIDIA's driver.
    Cuda,
    /// Vulkan, Metal or DX12.
    Wgpu,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Twin => "twin",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
        })
    }
}

/// A device that was found, usable or not. Each backend has a function `find() -> Vec<Found>`, which
/// never panics, and `open(index) -> Result<Arc<dyn Driver>, Error>`.
#[derive(Clone, Debug)]
pub struct Found {
    /// By which interface.
    pub backend: Backend,
    /// Its number among the devices of this backend.
    pub index: usize,
    /// The name that the driver gives it, or the interface where there is no device to name.
    pub name: String,
    /// Bytes of memory, if the driver tells.
    pub memory: Option<u64>,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<Error>,
}

/// A device that can hash. Cheap to clone: clones are the same device.
#[derive(Clone, Debug)]
pub struct Device {
    driver: Arc<dyn Driver>,
}

impl Device {
    /// What a backend opened.
    #[allow(dead_code)] // Without backends there is nothing to open.
    pub(crate) fn of_driver(driver: Arc<dyn Driver>) -> Self {
        Self { driver }
    }

    pub(crate) fn info(&self) -> &Info {
        self.driver.info()
    }

    /// The name that the driver gives it.
    pub fn name(&self) -> &str {
        &self.info().name
    }
}

/// Memory of a device.
#[derive(Clone, Debug)]
pub struct Buffer {
    memory: Handle,
    len: u64,
}

impl Buffer {
    /// Memory that a backend made or borrowed, of which `len` bytes count.
    #[allow(dead_code)] // As above.
    pub(crate) fn of_memory(memory: Handle, len: u64) -> Self {
        Self { memory, len }
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
