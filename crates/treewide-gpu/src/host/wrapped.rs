//! Bytes of the host that the device copies from where they lie.

use crate::device::Device;
use crate::driver::Pinned;
use crate::error::Error;
use crate::host::ring::{Places, Ring, TAIL};
use treewide::{Hash, Hasher, Mode};

/// Bytes of the host that are pinned: see [`Device::wrap`].
#[derive(Debug)]
pub struct Wrapped<'a> {
    device: &'a Device,
    bytes: &'a [u8],
    pinned: Box<dyn Pinned>,
}

impl Device {
    /// Pins bytes of the host where they lie, for as long as `work` runs, so that the device copies
    /// them by itself: no copy on the host.
    ///
    /// Pinning takes longer than copying, so it pays for memory that is hashed more than once, or that
    /// the caller has pinned before.
    ///
    /// ```
    /// # fn main() -> Result<(), treewide_gpu::Error> {
    /// use treewide_gpu::{Device, Mode, TwinLimits};
    ///
    /// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
    /// let bytes = vec![5; 1 << 20];
    /// let hash = device.wrap(&bytes, |wrapped| wrapped.hash(&Mode::PLAIN))??;
    /// assert_eq!(hash, treewide::hash(&bytes));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::error::ErrorKind::Unsupported) if the device cannot pin this memory;
    /// with wgpu none can.
    pub fn wrap<T>(&self, bytes: &[u8], work: impl FnOnce(&Wrapped<'_>) -> T) -> Result<T, Error> {
        // SAFETY: the bytes are borrowed until this function ends. Then, or when `work` panics, they are
        // unpinned, since callers get only a reference. Drivers wait for copies before that.
        let pinned = unsafe { self.driver().pin(bytes) }?;
        Ok(work(&Wrapped { device: self, bytes, pinned }))
    }

    /// The digest of bytes of the host that are pinned for the time of this call: see
    /// [`wrap`](Self::wrap).
    ///
    /// # Errors
    /// As of [`wrap`](Self::wrap), and if the device fails.
    pub fn hash_wrapped(&self, mode: &Mode, bytes: &[u8]) -> Result<Hash, Error> {
        if (bytes.len() as u64) < TAIL {
            return Ok(Hasher::with_mode(*mode).update(bytes).finalize());
        }
        self.wrap(bytes, |wrapped| wrapped.hash(mode))?
    }
}

impl Wrapped<'_> {
    /// Their digest.
    ///
    /// # Errors
    /// If the device fails.
    pub fn hash(&self, mode: &Mode) -> Result<Hash, Error> {
        let len = self.bytes.len() as u64;
        if len < TAIL {
            return Ok(Hasher::with_mode(*mode).update(self.bytes).finalize());
        }
        let ring = Ring::default();
        let (part, mut places) = (ring.part as u64, Places::new(self.device, mode, ring));
        if len <= part {
            return Ok(places.finish_pinned(&*self.pinned, len)?.hash());
        }
        for at in (0..len).step_by(ring.part) {
            places.start_pinned(&*self.pinned, at, part.min(len - at))?;
        }
        Ok(places.finish()?.hash())
    }
}
