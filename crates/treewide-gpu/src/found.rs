//! Finding devices and opening them, by whatever backend: the only place that knows all backends.

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::twin::{Twin, TwinLimits};
#[cfg(feature = "wgpu")]
use crate::backend::wgpu;
use crate::device::Device;
use crate::driver::{Backend, DeviceInfo, Driver};
use crate::error::{Error, ErrorKind};
use std::sync::Arc;
use treewide::Mode;

/// All devices that the drivers on this machine know of, and for each driver that is missing or broken one
/// entry that says so. CUDA comes first.
///
/// Each device is opened for a moment to see whether that works, which can take tenths of a second.
pub fn devices() -> Vec<DeviceInfo> {
    find(true)
}

#[cfg_attr(not(feature = "wgpu"), allow(unused_variables))]
fn find(try_all: bool) -> Vec<DeviceInfo> {
    #[allow(unused_mut)] // without backends
    let mut found = Vec::new();
    #[cfg(feature = "cuda")]
    found.extend(cuda::find());
    #[cfg(feature = "wgpu")]
    found.extend(wgpu::find(try_all));
    found
}

/// The first device that is not software and hashes a sample as the CPU does.
pub(crate) fn first_that_works() -> Option<Device> {
    // Not all are tried before, as each is when it is opened.
    first(find(false), DeviceInfo::open)
}

fn first(
    found: Vec<DeviceInfo>,
    open: impl Fn(&DeviceInfo) -> Result<Device, Error>,
) -> Option<Device> {
    let mut found = found.into_iter().filter(|it| !it.is_software && it.problem.is_none());
    found.find_map(|found| open(&found).ok().filter(|device| works(device).unwrap_or(false)))
}

/// Whether a device gives the right digest of a sample of several tiles and a ragged end.
fn works(device: &Device) -> Result<bool, Error> {
    let sample: Vec<u8> = (0..300_001).map(|i| (i % 251) as u8).collect();
    let hash = device.hash(&Mode::PLAIN, &device.upload(&sample)?).wait()?;
    Ok(hash == treewide::hash(&sample))
}

impl DeviceInfo {
    /// Opens it.
    ///
    /// # Errors
    /// What [`problem`](Self::problem) says, or what has happened since.
    pub fn open(&self) -> Result<Device, Error> {
        match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => Device::open(self.backend, self.index),
        }
    }
}

impl Device {
    /// Opens a device by the number that [`devices`] gives it.
    ///
    /// # Errors
    /// If there is no such device, or it cannot be used, or this program was built without the
    /// backend.
    pub fn open(backend: Backend, index: usize) -> Result<Self, Error> {
        let driver: Arc<dyn Driver> = match backend {
            Backend::Twin => Arc::new(Twin::new(TwinLimits::default())),
            #[cfg(feature = "cuda")]
            Backend::Cuda => cuda::open(index)?,
            #[cfg(feature = "wgpu")]
            Backend::Wgpu => wgpu::open(index)?,
            #[allow(unreachable_patterns)] // with all backends
            _ => {
                let cause = format_args!("{backend} device {index}: this program has no {backend}");
                return Err(Error::new(ErrorKind::NoDevice, cause));
            }
        };
        Ok(Self::of_driver(driver))
    }

    /// The twins of the kernels on the CPU, for tests: a device that is always there, and has the
    /// limits that are asked for.
    pub fn twin(limits: TwinLimits) -> Self {
        Self::of_driver(Arc::new(Twin::new(limits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broken::{self, Fate};

    #[test]
    fn first_takes_no_software_and_nothing_that_fails_or_lies() {
        let found = |name: &str, is_software, problem: bool| DeviceInfo {
            backend: Backend::Wgpu,
            index: 0,
            name: name.into(),
            memory: None,
            is_software,
            problem: problem.then(|| Error::invalid("broken")),
        };
        let open = |found: &DeviceInfo| {
            let fate = match &*found.name {
                "works" => Fate::Works,
                "lies" => Fate::Lies,
                "lost" => Fate::LostAfter(1),
                "full" => Fate::Full,
                "closed" => return Err(Error::invalid("it cannot be opened")),
                other => panic!("{other} was opened"),
            };
            Ok(broken::device(fate))
        };
        let bad = [
            found("lavapipe", true, false),
            found("a problem", false, true),
            found("closed", false, false),
            found("lies", false, false),
            found("lost", false, false),
            found("full", false, false),
        ];
        assert!(first(bad.to_vec(), open).is_none());
        let all = [&bad[..], &[found("works", false, false)]].concat();
        let device = first(all, open).expect("the last");
        assert_eq!(device.hash_bytes(&Mode::PLAIN, b"abc").unwrap(), treewide::hash(b"abc"));
    }
}
