//! Blobs from an iterator.

use core::fmt;
use std::vec;

use super::Batch;
use crate::hash::Hash;

/// The number of blobs that are taken before the first of their digests is returned. A guess: 16 of the widest passes.
const COUNT: usize = 512;

/// The number of bytes after which no more blobs are taken. A guess: they stay in the second-level cache.
const BYTES: usize = 512 * 1024;

/// With threads, both numbers are multiplied by this. A guess: enough parts for 16 threads.
#[cfg(feature = "rayon")]
const THREADS: usize = 16;

/// An iterator over the digests of another iterator's blobs; see [`Batch::iter`].
pub struct Hashes<I: Iterator> {
    batch: Batch,
    source: Option<I>,
    ready: vec::IntoIter<Hash>,
}

impl Batch {
    /// Returns an iterator over the digests of `blobs`, in order.
    ///
    /// It takes nothing from `blobs` before the first digest is requested. Then it takes and holds blobs until
    /// there are 512 of them, or 512 KiB; with threads 16 times as many.
    ///
    /// ```
    /// use treewide::Batch;
    ///
    /// let lines = "one\ntwo\nthree".lines();
    /// let digests: Vec<_> = Batch::new().iter(lines).collect();
    /// assert_eq!(digests[1], treewide::hash(b"two"));
    /// ```
    pub fn iter<I>(&self, blobs: I) -> Hashes<I::IntoIter>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let (source, ready) = (Some(blobs.into_iter()), Vec::new().into_iter());
        Hashes { batch: self.clone(), source, ready }
    }

    /// Calls `f` with each blob of `blobs` and its output of [`output_len`](Self::output_len) bytes, in order.
    ///
    /// It takes and holds as many blobs at a time as [`iter`](Self::iter); the bytes of outputs count too, if
    /// they are longer than the blobs.
    ///
    /// # Panics
    /// If one output has more bytes than an allocation may have.
    ///
    /// ```
    /// use treewide::Batch;
    ///
    /// Batch::new().output_len(8).for_each(["one", "two"], |blob, output| {
    ///     println!("{blob}: {output:?}");
    ///     assert_eq!(output, &treewide::hash(blob.as_bytes()).as_bytes()[..8]);
    /// });
    /// ```
    pub fn for_each<I>(&self, blobs: I, mut f: impl FnMut(I::Item, &[u8]))
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let mut source = Some(blobs.into_iter());
        let mut output = Vec::new();
        while source.is_some() {
            let blobs = self.take(&mut source, self.output_len);
            output.resize(blobs.len() * self.output_len, 0);
            self.fill(&refs(&blobs), &mut output);
            let mut rest = &output[..];
            for blob in blobs {
                let output = rest.split_off(..self.output_len).expect("one for each blob");
                f(blob, output);
            }
        }
    }

    /// Takes the next blobs of `source`, which becomes `None` at its end. Each blob counts as at least `least` bytes.
    fn take<I>(&self, source: &mut Option<I>, least: usize) -> Vec<I::Item>
    where
        I: Iterator<Item: AsRef<[u8]>>,
    {
        #[cfg(feature = "rayon")]
        let times = if self.threads > 1 { THREADS } else { 1 };
        #[cfg(not(feature = "rayon"))]
        let times = 1;
        let (mut blobs, mut bytes) = (Vec::new(), 0_usize);
        while let Some(iter) = source
            && blobs.len() < times * COUNT
            && bytes < times * BYTES
        {
            match iter.next() {
                Some(blob) => {
                    bytes = bytes.saturating_add(blob.as_ref().len().max(least));
                    blobs.push(blob);
                }
                None => *source = None,
            }
        }
        blobs
    }
}

fn refs<T: AsRef<[u8]>>(blobs: &[T]) -> Vec<&[u8]> {
    blobs.iter().map(AsRef::as_ref).collect()
}

impl<I: Iterator<Item: AsRef<[u8]>>> Iterator for Hashes<I> {
    type Item = Hash;

    #[inline]
    fn next(&mut self) -> Option<Hash> {
        loop {
            if let Some(hash) = self.ready.next() {
                return Some(hash);
            }
            self.source.as_ref()?;
            let blobs = self.batch.take(&mut self.source, 0);
            self.ready = self.batch.hash(&refs(&blobs)).into_iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ready = self.ready.len();
        let (low, high) = self.source.as_ref().map_or((0, Some(0)), Iterator::size_hint);
        (low.saturating_add(ready), high.and_then(|high| high.checked_add(ready)))
    }
}

impl<I: Iterator<Item: AsRef<[u8]>>> core::iter::FusedIterator for Hashes<I> {}

impl<I: Iterator> fmt::Debug for Hashes<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashes").field("batch", &self.batch).finish_non_exhaustive()
    }
}
