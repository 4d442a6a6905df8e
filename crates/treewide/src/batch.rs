//! Many independent inputs, *blobs*, hashed side by side.
//!
//! A single short input keeps one lane of a vector busy and leaves the other 15 or 31 idle. A batch
//! fills them with other inputs, whatever their lengths are.
//!
//! | you have | use |
//! |---|---|
//! | one input | [`hash`](crate::hash()), or `hash_parallel` from a few hundred KiB |
//! | a slice of inputs, and want their digests | [`hash_many`](crate::hash_many()) |
//! | a key or a context, or output of another length | [`Batch`] |
//! | threads to spare | `Batch::threads` (feature `rayon`) |
//! | your own place for the digests | [`Batch::hash_into`], [`Batch::fill`] |
//! | inputs in one buffer with offsets | [`Packed`], for any method of [`Batch`] |
//! | inputs that come one after the other | [`Batch::iter`], [`Batch::for_each`] |
//!
//! Digests are in the order of the inputs and the same as of one input at a time. Empty inputs are
//! inputs like others, and an empty batch has no digests. A huge input among tiny ones is hashed as
//! wide as it would be alone. Where megabytes of digests are returned, a good part of the time goes
//! into new memory for them, though Linux is asked for large pages; [`Batch::hash_into`] writes to memory
//! that is there.
//!
//! Beyond inputs and outputs a batch needs stack on each thread, however many blobs there are: at most 12 KB
//! for blobs of one length up to a chunk and 47 KB for others (half of it the chaining values and the slices
//! of the chunks that are sorted at a time: half as many would make mixtures 5 % slower), 5 KB more for
//! outputs below 32 bytes, and 14 KB more where there are blobs of 32 KiB to 1 MiB, with 2 KB for each
//! doubling beyond. Threads need 1 KB of heap for each leaf of long blobs that are being hashed,
//! which are of 64 KiB to 1 MiB. For iterators see [`Batch::iter`].

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

/// Blobs that are all there: slices, arrays and vectors of what is `AsRef<[u8]>`, and [`Packed`].
///
/// Of an `AsRef` that gives other bytes each time it is asked, a digest may be of any of them, or there
/// is a panic.
pub trait Blobs: sealed::Sealed {
    /// How many there are.
    fn count(&self) -> usize;

    /// The blob of that number.
    ///
    /// # Panics
    /// If there is none.
    fn get(&self, index: usize) -> &[u8];

    /// The blobs from that number on, one for each place.
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

/// The digests of many inputs, in their order, on the calling thread: the same as a loop of
/// [`hash`](crate::hash()), many times as fast where the inputs are short.
///
/// Inputs may be of any lengths, in any mixture. Use it as soon as there are two of them; one input
/// costs what `hash` does, and long ones are no slower here. For keys, threads, other lengths of
/// output, your own buffers, Arrow arrays and iterators there is [`Batch`].
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

/// Places of so many bytes each.
struct Bytes<'a> {
    places: &'a mut [u8],
    per: usize,
}

impl Places for Bytes<'_> {
    fn split_off(&mut self, count: usize) -> Self {
        let places = self.places.split_off_mut(..count * self.per);
        Self { places: places.expect("a place for each blob"), per: self.per }
    }

    /// Of digests, or parts of them.
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

/// How to hash many inputs: the mode, the length of outputs, and whether on threads. The methods
/// take inputs in any form, and none of them changes it.
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
/// // Output of 100 bytes each, one after the other, to a buffer that is there.
/// let mut output = [0; 300];
/// Batch::new().output_len(100).fill(&messages, &mut output);
/// ```
///
/// [`hash`](Self::hash) and [`bytes`](Self::bytes) return their results, [`hash_into`](Self::hash_into)
/// and [`fill`](Self::fill) write them; the first of each pair gives [`Hash`](struct@Hash)es and the second
/// [`output_len`](Self::output_len) bytes for each input. [`iter`](Self::iter) and
/// [`for_each`](Self::for_each) do so for iterators. For plain digests of a slice,
/// [`hash_many`](crate::hash_many()) is all it takes; [the module](self) has a table of what to use
/// when.
#[derive(Clone)]
pub struct Batch {
    mode: Mode,
    output_len: usize,
    #[cfg(feature = "rayon")]
    threads: bool,
}

impl Batch {
    /// For the mode that is given.
    pub fn with_mode(mode: Mode) -> Self {
        Self {
            mode,
            output_len: OUT_LEN,
            #[cfg(feature = "rayon")]
            threads: false,
        }
    }

    /// For the plain mode, [`hash`](crate::hash()).
    pub fn new() -> Self {
        Self::with_mode(Mode::PLAIN)
    }

    /// Bytes of output for each input, of those methods that give bytes; 32 if it is not set.
    ///
    /// Up to 32 bytes cost the same. Longer output is made for each input by itself.
    pub fn output_len(mut self, bytes: usize) -> Self {
        self.output_len = bytes;
        self
    }

    /// Whether to use the threads of the current rayon pool, the one that the caller is in or else
    /// the global one; if it is not set, all is done on the calling thread.
    ///
    /// Threads take parts of the batch in turn, leaves of long inputs among them. Batches that are not
    /// worth it stay on one thread: those of less than 128 KiB, and where the pool sleeps as
    /// [`hash_parallel`](crate::hash_parallel) says.
    #[cfg(feature = "rayon")]
    pub fn threads(mut self, on: bool) -> Self {
        self.threads = on;
        self
    }

    /// The digests of `blobs`, in order.
    #[cfg(feature = "std")]
    pub fn hash<B: Blobs + Sync + ?Sized>(&self, blobs: &B) -> Vec<Hash> {
        fresh::hashes(blobs.count(), |out| self.digests(blobs, out))
    }

    /// Writes the digests of `blobs`, in order, to `out`.
    ///
    /// # Panics
    /// If `out` has not as many places as there are blobs.
    pub fn hash_into<B: Blobs + Sync + ?Sized>(&self, blobs: &B, out: &mut [Hash]) {
        let count = blobs.count();
        assert_eq!(out.len(), count, "a place for each digest");
        self.digests(blobs, as_chaining_values(out));
    }

    fn digests<B: Blobs + Sync + ?Sized>(&self, blobs: &B, out: impl Places + Send) {
        #[cfg(feature = "rayon")]
        if self.threads {
            let part = |range, out| window::digests(&self.mode, blobs, range, out);
            return threads::split(&self.mode, blobs, out, part, |hasher, out| {
                out.write(|out| out[0] = *hasher.finalize().as_bytes());
            });
        }
        window::digests(&self.mode, blobs, 0..blobs.count(), out);
    }

    /// The outputs of `blobs`, [`output_len`](Self::output_len) bytes each, one after the other.
    ///
    /// # Panics
    /// If they are more than an allocation may have.
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
    /// If `out` is shorter or longer than that.
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
        if self.threads {
            let part = |range, out: Bytes<'_>| outputs(&self.mode, blobs, range, out);
            return threads::split(&self.mode, blobs, out, part, |hasher, out| {
                hasher.finalize_xof().fill(out.places);
            });
        }
        outputs(&self.mode, blobs, 0..count, out);
    }

    /// How full the lanes of the kernel in use are with `blobs`: the part of the blocks that its
    /// vector passes take on one thread which are blocks of input or parents. Inputs that are
    /// hashed by themselves are not counted.
    ///
    /// This plans the batch without hashing it: a number for benchmarks and for curiosity.
    pub fn occupancy<B: Blobs + ?Sized>(&self, blobs: &B) -> f64 {
        let (used, held) = window::occupancy(blobs, 0..blobs.count());
        if held == 0 { 1.0 } else { used as f64 / held as f64 }
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

/// Shows the mode and no key.
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
