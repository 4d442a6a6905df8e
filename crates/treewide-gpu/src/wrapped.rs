//! Bytes of the host that the device copies from where they lie.

use crate::driver::{Kind, Pinned};
use crate::parts::{CHUNK, Parts, Root, halves};
use crate::slot::{Slot, Source, Tree};
use crate::{Device, Error, Mode, Ring, TAIL};
use treewide::Hash;

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
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the device cannot pin this memory;
    /// with wgpu none can.
    pub fn wrap<T>(&self, bytes: &[u8], work: impl FnOnce(&Wrapped<'_>) -> T) -> Result<T, Error> {
        // SAFETY: the bytes are borrowed for all of this function, at the end of which, or of a panic
        // of `work`, they are unpinned: callers get no more than a reference. Drivers wait for copies
        // before that.
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
            return Ok(mode.hasher().update(bytes).finalize());
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
        let Ring { part, parts: most } = Ring::default();
        let len = self.bytes.len() as u64;
        if len < TAIL {
            return Ok(mode.hasher().update(self.bytes).finalize());
        }
        let mut slots = Slots(Vec::new());
        if len <= part as u64 {
            let values = self.start(&mut slots, 0, mode, 0, len, &halves(len))?.wait()?;
            return Ok(Root::Parent(values[0], values[1], *mode).hash());
        }
        let mut parts = Parts::new(mode);
        for (i, bytes) in self.bytes.chunks(part).enumerate() {
            let (at, slot) = ((i * part) as u64, i % most);
            if let Some(slot) = slots.0.get_mut(slot) {
                slot.wait()?.into_iter().for_each(|value| parts.add(value, 1));
            }
            let len = bytes.len() as u64;
            self.start(
                &mut slots,
                slot,
                mode,
                at,
                len,
                &[Tree { at: 0, len, counter: at / CHUNK }],
            )?;
        }
        let (whole, count) = (self.bytes.len().div_ceil(part), slots.0.len());
        for i in 0..count {
            let slot = &mut slots.0[(whole + i) % count];
            slot.wait()?.into_iter().for_each(|value| parts.add(value, 1));
        }
        Ok(parts.root().hash())
    }

    /// Starts a part, in a slot that is free, or new.
    fn start<'a>(
        &self,
        slots: &'a mut Slots,
        slot: usize,
        mode: &Mode,
        at: u64,
        len: u64,
        trees: &[Tree],
    ) -> Result<&'a mut Slot, Error> {
        if slot == slots.0.len() {
            slots.0.push(Slot::new(self.device, Ring::default().part as u64, 1 + slot)?);
        }
        let slot = &mut slots.0[slot];
        let source = Source::Pinned { memory: &*self.pinned, at };
        slot.start(self.device, mode, Kind::Subtree, source, len, trees)?;
        Ok(slot)
    }
}

/// Whose memory goes back to the pool.
struct Slots(Vec<Slot>);

impl Drop for Slots {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Slot::done);
    }
}
