//! Many inputs of the host, one after the other, several on their way.

use crate::device::Device;
use crate::driver::Kind;
use crate::error::Error;
use crate::host::place::{Origin, Place, Tree};
use std::collections::VecDeque;
use treewide::{Hash, Mode};

/// Hashes inputs of the host as they come, with a fixed number on their way: what a server does with
/// requests. Digests come in the order of the inputs. It allocates its memory once: pinned memory and memory
/// of the device for each input on its way.
///
/// ```
/// # fn main() -> Result<(), treewide_gpu::Error> {
/// use treewide_gpu::{Device, Mode, Pipeline, TwinLimits};
///
/// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
/// let mut pipeline = Pipeline::new(&device, &Mode::PLAIN, 2, 1 << 20)?;
/// let mut hashes = Vec::new();
/// for input in ["a", "b", "c"] {
///     hashes.extend(pipeline.push(input.as_bytes())?); // the oldest, if all places are taken
/// }
/// while let Some(hash) = pipeline.pop()? {
///     hashes.push(hash);
/// }
/// assert_eq!(hashes[2], treewide::hash(b"c"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pipeline {
    device: Device,
    mode: Mode,
    most_bytes: u64,
    free: Vec<Place>,
    /// The oldest first.
    busy: VecDeque<Place>,
}

impl Pipeline {
    /// A pipeline with places for `in_flight` inputs of at most `most_bytes` bytes each.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::error::ErrorKind::Invalid) if `in_flight` is 0, and
    /// [`ErrorKind::OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if there is no memory for the places.
    pub fn new(
        device: &Device,
        mode: &Mode,
        in_flight: usize,
        most_bytes: u64,
    ) -> Result<Self, Error> {
        if in_flight == 0 {
            return Err(Error::invalid("a pipeline with no input on its way"));
        }
        let places = (0..in_flight).map(|i| Place::new(device, most_bytes.max(1), 1 + i));
        Ok(Self {
            device: device.clone(),
            mode: *mode,
            most_bytes,
            free: places.collect::<Result<_, _>>()?,
            busy: VecDeque::new(),
        })
    }

    /// Inputs on their way.
    pub fn len(&self) -> usize {
        self.busy.len()
    }

    /// Whether no input is on its way.
    pub fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// Starts an input. If all places are taken, it waits for the oldest input and returns its digest.
    ///
    /// # Errors
    /// If the input is too long, or the device failed. Inputs on their way
    /// stay there, except the input that failed.
    pub fn push(&mut self, input: &[u8]) -> Result<Option<Hash>, Error> {
        self.push_with(input.len() as u64, |place| {
            place.copy_from_slice(input);
            Ok(())
        })
    }

    /// Hands over, as [`push`](Self::push), an input of `len` bytes that `fill` writes to pinned memory
    /// itself: from a file or a socket, without another copy.
    ///
    /// # Errors
    /// As of [`push`](Self::push), and the errors of `fill`, after which nothing is started.
    pub fn push_with(
        &mut self,
        len: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<Option<Hash>, Error> {
        if len > self.most_bytes {
            let most = self.most_bytes;
            return Err(Error::invalid(format_args!("{len} bytes to places of {most}")));
        }
        let done = if self.free.is_empty() { self.pop()? } else { None };
        let Some(mut place) = self.free.pop() else { return Ok(done) };
        let started = place.bytes(&self.device).and_then(|place| fill(&mut place[..len as usize]));
        let tree = Tree { at: 0, len, counter: 0 };
        let started = started.and_then(|()| {
            place.start(&self.device, &self.mode, Kind::Digest, Origin::Staging, len, &[tree])
        });
        if let Err(error) = started {
            self.free.push(place);
            return Err(error);
        }
        self.busy.push_back(place);
        Ok(done)
    }

    /// Waits for the oldest input; `None` if there is none.
    ///
    /// # Errors
    /// If the device failed with it.
    pub fn pop(&mut self) -> Result<Option<Hash>, Error> {
        let Some(mut place) = self.busy.pop_front() else { return Ok(None) };
        let result = place.wait();
        self.free.push(place);
        Ok(result?.first().copied().map(Hash::from_bytes))
    }
}

/// Waits until the device does nothing more with its memory.
impl Drop for Pipeline {
    fn drop(&mut self) {
        self.free.drain(..).chain(self.busy.drain(..)).for_each(Place::done);
    }
}
