//! Many independent inputs (*blobs*), hashed next to each other in vector registers.
//!
//! A single short input uses one lane of a vector and leaves the other lanes idle. A batch fills them with
//! other inputs, whatever their lengths are.
//!
//! | you have or want | use |
//! |---|---|
//! | one input | [`hash`](crate::hash()), or `hash_parallel` from a few hundred KiB |
//! | digests of a slice of inputs | [`hash_many`](crate::hash_many()) |
//! | a key, a context, or output of another length | [`Batch`] |
//! | threads to spare | `Batch::threads` (feature `rayon`) |
//! | digests in your own buffer | [`Batch::hash_into`], [`Batch::fill`] |
//! | inputs in one buffer with offsets | [`Packed`], for any method of [`Batch`] |
//! | inputs that come one after the other | [`Batch::iter`], [`Batch::for_each`] |
//!
//! Digests are in the order of the inputs, and the same as those of [`hash`](crate::hash()) for each input.
//! Empty inputs are valid, and an empty batch has no digests. A huge input among tiny ones is as fast as it
//! would be alone. When a batch returns megabytes of digests, much of the time goes into new memory for them
//! (on Linux in large pages); [`Batch::hash_into`] writes to your memory instead.
//!
//! The stack that a batch needs on each thread does not depend on the number of blobs: at most 12 KB for blobs
//! of one length up to a chunk, 47 KB for other blobs, 5 KB more for outputs below 32 bytes, and 14 KB more for
//! blobs of 32 KiB to 1 MiB, with 2 KB for each doubling beyond
//! (`results/zen5-2vcpu/limits.md#stack-of-a-batch`). With threads, a batch also needs 1 KB of heap for each
//! leaf (64 KiB to 1 MiB) of the long blobs in progress. For iterators see [`Batch::iter`].

#[cfg(feature = "std")]
mod fresh;
#[cfg(feature = "std")]
mod iter;
mod packed;
#[cfg(feature = "rayon")]
mod threads;
mod window;

#[cfg(feature = "std")]
pub use iter::Hashes;
pub use packed::{Offset, OffsetError, OffsetProblem, Packed};

use core::fmt;
use core::ops::Range;

use crate::hash::Hash;
use crate::hash::as_chaining_values;
use crate::mode::Mode;
use crate::spec::{ChainingValue, OUT_LEN};
use crate::xof::OutputReader;
use window::Places;

/// A complete list of blobs: a slice, array or vector of `AsRef<[u8]>`, or [`Packed`].
///
/// If `as_ref` returns different bytes on different calls, the digest is of one of them, or the call panics.
pub trait Blobs: sealed::Sealed {
    /// Returns the number of blobs.
    fn count(&self) -> usize;

    /// Returns the blob of this index.
    ///
    /// # Panics
    /// If `index` is not less than the number of blobs.
    fn get(&self, index: usize) -> &[u8];

    /// Writes the blobs from index `from` on to `places`.
    #[doc(hidden)]
    #[inline(always)]
    fn slices<'a>(&'a self, from: usize, places: &mut [&'a [u8]]) {
        for (index, place) in places.iter_mut().enumerate() {
            *place = self.get(from + index);
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! slices {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<T: AsRef<[u8]>, $($generics)*> sealed::Sealed for $type {}
        impl<T: AsRef<[u8]>, $($generics)*> Blobs for $type {
            #[inline(always)]
            fn count(&self) -> usize {
                self.len()
            }

            #[inline(always)]
            fn get(&self, index: usize) -> &[u8] {
                self[index].as_ref()
            }

            #[inline(always)]
            fn slices<'a>(&'a self, from: usize, places: &mut [&'a [u8]]) {
                for (place, blob) in places.iter_mut().zip(&self[from..]) {
                    *place = blob.as_ref();
                }
            }
        }
    )*};
}
slices! {
    [] [T];
    [const N: usize] [T; N];
}
#[cfg(feature = "std")]
slices! {
    [] Vec<T>;
}

/// Hashes many inputs on the calling thread, and returns the digests in the order of the inputs.
///
/// The digests are the same as those of a loop of [`hash`](crate::hash()), and for short inputs this is several
/// times as fast as the loop. Inputs may have any lengths, in any mixture. Use it from two inputs on; one
/// input, or a long one, takes as long as with `hash`. [`Batch`] has keys, threads, other lengths of output,
/// your own buffers, Arrow arrays and iterators.
///
/// ```
/// let names = ["ash", "beech", "", "cedar"];
/// let hashes = treewide::hash_many(&names);
/// assert_eq!(hashes[3], treewide::hash(b"cedar"));
/// ```
#[cfg(feature = "std")]
pub fn hash_many<T: AsRef<[u8]>>(inputs: &[T]) -> Vec<Hash> {
    let count = inputs.len();
    fresh::hashes(count, |out| window::digests(&Mode::PLAIN, inputs, 0..count, out))
}

impl Places for &mut [ChainingValue] {
    fn split_off(&mut self, count: usize) -> Self {
        self.split_off_mut(..count).expect("a place for each blob")
    }

    fn write(self, write: impl FnOnce(&mut [ChainingValue])) {
        write(self);
    }
}

/// Output places of `per` bytes each.
struct Bytes<'a> {
    places: &'a mut [u8],
    per: usize,
}

impl Places for Bytes<'_> {
    fn split_off(&mut self, count: usize) -> Self {
        let places = self.places.split_off_mut(..count * self.per);
        Self { places: places.expect("a place for each blob"), per: self.per }
    }

    /// Output of at most 32 bytes.
    #[inline(never)]
    fn write(self, write: impl FnOnce(&mut [ChainingValue])) {
        let mut digests = [[0; OUT_LEN]; window::CALL];
        let places = self.places.chunks_exact_mut(self.per);
        write(&mut digests[..places.len()]);
        for (digest, place) in digests.iter().zip(places) {
            place.copy_from_slice(&digest[..self.per]);
        }
    }
}

/// How to hash many inputs: the mode, the length of outputs, and whether to use threads.
///
/// ```
/// use treewide::{Batch, Mode};
///
/// let messages = [b"one".as_slice(), b"two", b"three"];
///
/// // Digests, keyed.
/// let key = [42; 32];
/// # #[cfg(feature = "std")]
/// let codes = Batch::with_mode(Mode::keyed(&key)).hash(&messages);
/// # #[cfg(feature = "std")]
/// assert_eq!(codes[0], treewide::keyed_hash(&key, b"one"));
///
/// // 100 bytes of output each, one after the other, into an existing buffer.
/// let mut output = [0; 300];
/// Batch::new().output_len(100).fill(&messages, &mut output);
/// ```
///
/// | | [`Hash`](struct@Hash) for each input | [`output_len`](Self::output_len) bytes for each input |
/// |---|---|---|
/// | returned | [`hash`](Self::hash) | [`bytes`](Self::bytes) |
/// | written to your buffer | [`hash_into`](Self::hash_into) | [`fill`](Self::fill) |
/// | of an iterator | [`iter`](Self::iter) | [`for_each`](Self::for_each) |
///
/// For plain digests of a slice use [`hash_many`](crate::hash_many()).
#[derive(Clone)]
pub struct Batch {
    mode: Mode,
    output_len: usize,
    #[cfg(feature = "rayon")]
    threads: usize,
}

impl Batch {
    /// Makes a batch for the given mode.
    pub fn with_mode(mode: Mode) -> Self {
        Self {
            mode,
            output_len: OUT_LEN,
            #[cfg(feature = "rayon")]
            threads: 1,
        }
    }

    /// Makes a batch for the plain mode, [`hash`](crate::hash()).
    pub fn new() -> Self {
        Self::with_mode(Mode::PLAIN)
    }

    /// Sets the number of output bytes for each input, for [`bytes`](Self::bytes), [`fill`](Self::fill) and
    /// [`for_each`](Self::for_each). The default is 32.
    ///
    /// Up to 32 bytes take the same time. Longer output is made separately for each input.
    pub fn output_len(mut self, bytes: usize) -> Self {
        self.output_len = bytes;
        self
    }

    /// Sets the most threads to use, including the calling thread; `usize::MAX` means all threads of the pool. The
    /// default is 1. The others come from the current rayon pool: that of the calling thread, or else the global pool.
    ///
    /// Threads take parts of the batch, or leaves of its long inputs, until nothing is left. The number of threads
    /// follows from the number of bytes, as for [`hash_parallel`](crate::hash_parallel).
    #[cfg(feature = "rayon")]
    pub fn threads(mut self, most: usize) -> Self {
        self.threads = most;
        self
    }

    /// Returns the digests of `blobs`, in order.
    #[cfg(feature = "std")]
    pub fn hash<B: Blobs + Sync + ?Sized>(&self, blobs: &B) -> Vec<Hash> {
        fresh::hashes(blobs.count(), |out| self.digests(blobs, out))
    }

    /// Writes the digests of `blobs`, in order, to `out`.
    ///
    /// # Panics
    /// If the length of `out` is not the number of blobs.
    pub fn hash_into<B: Blobs + Sync + ?Sized>(&self, blobs: &B, out: &mut [Hash]) {
        let count = blobs.count();
        assert_eq!(out.len(), count, "a place for each digest");
        self.digests(blobs, as_chaining_values(out));
    }

    fn digests<B: Blobs + Sync + ?Sized>(&self, blobs: &B, out: impl Places + Send) {
        #[cfg(feature = "rayon")]
        if self.threads > 1 {
            let part = |range, out| window::digests(&self.mode, blobs, range, out);
            return threads::split(&self.mode, self.threads, blobs, out, part, |hasher, out| {
                out.write(|out| out[0] = *hasher.finalize().as_bytes());
            });
        }
        window::digests(&self.mode, blobs, 0..blobs.count(), out);
    }

    /// Returns the outputs of `blobs`, [`output_len`](Self::output_len) bytes each, one after the other.
    ///
    /// # Panics
    /// If they have more bytes than an allocation may have.
    #[cfg(feature = "std")]
    pub fn bytes<B: Blobs + Sync + ?Sized>(&self, blobs: &B) -> Vec<u8> {
        let len = blobs.count().checked_mul(self.output_len).expect("output of that many bytes");
        let mut bytes = vec![0; len];
        self.fill(blobs, &mut bytes);
        bytes
    }

    /// Writes the outputs of `blobs`, [`output_len`](Self::output_len) bytes each, one after the
    /// other, to `out`.
    ///
    /// # Panics
    /// If `out` has not exactly that length.
    pub fn fill<B: Blobs + Sync + ?Sized>(&self, blobs: &B, out: &mut [u8]) {
        let (count, per) = (blobs.count(), self.output_len);
        assert_eq!(
            Some(out.len()),
            count.checked_mul(per),
            "{per} bytes for each of {count} blobs"
        );
        if per == 0 {
            return;
        }
        let out = Bytes { places: out, per };
        #[cfg(feature = "rayon")]
        if self.threads > 1 {
            let part = |range, out: Bytes<'_>| outputs(&self.mode, blobs, range, out);
            return threads::split(&self.mode, self.threads, blobs, out, part, |hasher, out| {
                hasher.finalize_xof().fill(out.places);
            });
        }
        outputs(&self.mode, blobs, 0..count, out);
    }
}

fn outputs<B: Blobs + ?Sized>(mode: &Mode, blobs: &B, range: Range<usize>, out: Bytes<'_>) {
    if out.per < OUT_LEN {
        window::digests(mode, blobs, range, out);
    } else if out.per == OUT_LEN {
        window::digests(mode, blobs, range, out.places.as_chunks_mut().0);
    } else {
        let mut places = out.places.chunks_exact_mut(out.per);
        window::roots(mode, blobs, range, |root| {
            OutputReader::new(root).fill(places.next().expect("one for each blob"));
        });
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the mode, and no key.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mode, output_len) = (&self.mode, &self.output_len);
        let mut debug = f.debug_struct("Batch");
        debug.field("mode", mode).field("output_len", output_len).finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Batch {
    fn zeroize(&mut self) {
        self.mode.zeroize();
    }
}
