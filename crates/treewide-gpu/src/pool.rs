//! Memory that is used again: of the device, and of the host for copies to it.

use crate::driver::{Driver, Handle, Region, Staging};
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The least that is allocated; all sizes are powers of two.
const LEAST: u64 = 4096;

/// Memory between two uses; its bytes of each kind are limited.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: BTreeMap<u64, Vec<Handle>>,
    /// Bytes of all that is free, and how many may be.
    bytes: u64,
    most: u64,
    /// Pinned memory, the one that was used last at the end, and its bytes.
    stagings: Vec<(u64, Box<dyn Staging>)>,
    pinned: u64,
}

impl Pool {
    pub(crate) fn new(most: u64) -> Self {
        let (free, stagings) = (BTreeMap::new(), Vec::new());
        Self { state: Mutex::new(State { free, bytes: 0, most, stagings, pinned: 0 }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of at least that many bytes.
    pub(crate) fn take(self: &Arc<Self>, driver: &dyn Driver, len: u64) -> Result<Scratch, Error> {
        let size = len.max(LEAST).next_power_of_two().min(driver.info().most_bytes).max(len);
        let mut state = self.lock();
        let free = state.free.get_mut(&size).and_then(Vec::pop);
        if free.is_some() {
            state.bytes -= size;
        }
        drop(state);
        let memory = match free {
            Some(memory) => memory,
            None => match driver.allocate(size) {
                Ok(memory) => memory,
                // What we keep may be what is missing.
                Err(_) if self.release() => driver.allocate(size)?,
                Err(error) => return Err(error),
            },
        };
        Ok(Scratch { pool: self.clone(), region: Region { memory, at: 0, len } })
    }

    /// Pinned memory of the host, of that many bytes.
    pub(crate) fn take_staging(
        self: &Arc<Self>,
        driver: &dyn Driver,
        len: u64,
    ) -> Result<Pinnable, Error> {
        let mut state = self.lock();
        let kept = state.stagings.iter().rposition(|(size, _)| *size == len);
        let kept = kept.map(|i| state.stagings.remove(i).1);
        state.pinned -= if kept.is_some() { len } else { 0 };
        drop(state);
        let staging = match kept {
            Some(staging) => staging,
            None => driver.staging(len)?,
        };
        Ok(Pinnable { pool: self.clone(), staging, len })
    }

    /// Frees all memory of the device that is kept; whether there was any.
    pub(crate) fn release(&self) -> bool {
        let mut state = self.lock();
        state.bytes = 0;
        !std::mem::take(&mut state.free).is_empty()
    }
}

impl State {
    /// Frees the pinned memory that was used least recently, until there is no more than may be.
    fn shrink(&mut self) {
        while self.pinned > self.most {
            self.pinned -= self.stagings.remove(0).0;
        }
    }
}

/// Memory of a pool. It is freed when dropped, as the device may still work with it; once it does no
/// more, [`done`](Self::done) gives it back to the pool instead.
#[derive(Debug)]
pub(crate) struct Scratch {
    pool: Arc<Pool>,
    pub(crate) region: Region,
}

impl Scratch {
    pub(crate) fn done(self) {
        let size = self.region.memory.len();
        let mut state = self.pool.lock();
        if state.bytes + size <= state.most {
            state.bytes += size;
            state.free.entry(size).or_default().push(self.region.memory);
        }
    }
}

/// Pinned memory of a pool; it waits itself for copies from it.
#[derive(Debug)]
pub(crate) struct Pinnable {
    pool: Arc<Pool>,
    pub(crate) staging: Box<dyn Staging>,
    len: u64,
}

impl Pinnable {
    pub(crate) fn done(self) {
        let mut state = self.pool.lock();
        state.pinned += self.len;
        state.stagings.push((self.len, self.staging));
        state.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::twin::Twin;
    use crate::backend::twin::TwinLimits;

    #[test]
    fn no_more_than_so_much_is_kept() {
        let twin = Twin::new(TwinLimits::default());
        let pool = Arc::new(Pool::new(100_000));
        for _ in 0..3 {
            let many: Vec<_> = (0..10).map(|_| pool.take(&twin, 30_000).unwrap()).collect();
            many.into_iter().for_each(Scratch::done);
            assert_eq!(pool.lock().bytes, 98_304, "three of 32 KiB");
            let many: Vec<_> =
                (1..=10).map(|i| pool.take_staging(&twin, 10_000 * i).unwrap()).collect();
            many.into_iter().for_each(Pinnable::done);
            let state = pool.lock();
            assert_eq!((state.pinned, state.stagings.len()), (100_000, 1), "the last one");
        }
        let again = pool.take_staging(&twin, 100_000).unwrap();
        assert_eq!(pool.lock().pinned, 0);
        drop(again);
    }
}
