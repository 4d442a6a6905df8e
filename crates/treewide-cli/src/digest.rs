//! Which bytes of the extended output make up a digest, and how they are written.

use std::io::{self, Write};
use treewide::{BLOCK_LEN, Hash, Hasher, OUT_LEN, OutputReader};

/// How many bytes of output are produced and encoded at a time: any multiple of a block will do.
const STEP: usize = 64 * BLOCK_LEN;

/// A stretch of the extended output.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) seek: u64,
    pub(crate) len: u64,
}

impl Extent {
    /// An error if it passes the end of the output: b3sum prints something there, but no BLAKE3.
    pub(crate) fn new(seek: u64, len: u64) -> Result<Self, String> {
        let rest = u64::MAX - seek;
        if len <= rest {
            return Ok(Self { seek, len });
        }
        Err(format!(
            "--seek {seek} leaves {rest} bytes of extended output, which ends after 2^64 - 1, not {len}"
        ))
    }
}

/// The digest of one input, of any length, produced as it is written.
pub(crate) struct Digest {
    output: Source,
    len: u64,
}

/// Where the bytes of a digest come from.
enum Source {
    /// They begin the extended output, and are all here.
    Hash(Hash),
    Output(Box<OutputReader>),
}

impl Digest {
    pub(crate) fn new(hasher: &Hasher, extent: Extent) -> Self {
        Self::of_output(hasher.finalize_xof(), extent)
    }

    pub(crate) fn of_output(mut output: OutputReader, extent: Extent) -> Self {
        output.set_position(extent.seek);
        Self { output: Source::Output(Box::new(output)), len: extent.len }
    }

    /// The digest of an input whose hash is known, if that is all it takes.
    pub(crate) fn of_hash(hash: &Hash, extent: Extent) -> Option<Self> {
        let is_beginning = extent.seek == 0 && extent.len <= OUT_LEN as u64;
        is_beginning.then_some(Self { output: Source::Hash(*hash), len: extent.len })
    }

    pub(crate) fn write_hex(self, to: &mut dyn Write) -> io::Result<()> {
        let mut hex = Vec::with_capacity(2 * STEP.min(self.len as usize));
        self.each_step(|bytes| {
            hex.clear();
            push_hex(&mut hex, bytes);
            to.write_all(&hex)
        })
    }

    pub(crate) fn write_raw(self, to: &mut dyn Write) -> io::Result<()> {
        self.each_step(|bytes| to.write_all(bytes))
    }

    /// The whole digest at once, for one that is known to fit in memory.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len as usize);
        let _ = self.write_raw(&mut all); // writing to memory cannot fail
        all
    }

    fn each_step(mut self, mut step: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let output = match &mut self.output {
            Source::Hash(hash) => return step(&hash.as_bytes()[..self.len as usize]),
            Source::Output(output) => output,
        };
        let mut buffer = [0; STEP];
        while self.len > 0 {
            let take = self.len.min(STEP as u64) as usize;
            output.fill(&mut buffer[..take]);
            step(&buffer[..take])?;
            self.len -= take as u64;
        }
        Ok(())
    }
}

/// Equality in a time that depends on the length alone.
pub(crate) fn equal(left: &[u8], right: &[u8]) -> bool {
    let difference = left.iter().zip(right).fold(0, |seen, (a, b)| seen | (a ^ b));
    left.len() == right.len() && std::hint::black_box(difference) == 0
}

/// Lower-case hex, as in every list.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = Vec::with_capacity(2 * bytes.len());
    push_hex(&mut hex, bytes);
    hex.into_iter().map(char::from).collect()
}

/// The bytes that hex digits of either case stand for; `None` if they are not pairs of digits.
pub(crate) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(16 * digit(high)? + digit(low)?)).collect()
}

fn push_hex(hex: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        hex.push(DIGITS[usize::from(byte >> 4)]);
        hex.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_both_ways() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(hex(&bytes).as_bytes()), Some(bytes.clone()));
        assert_eq!(unhex(hex(&bytes).to_uppercase().as_bytes()), Some(bytes));
        assert_eq!(unhex(b"0"), None);
        assert_eq!(unhex(b"0g"), None);
        assert_eq!(unhex("é".as_bytes()), None);
    }

    #[test]
    fn a_digest_is_its_extent_of_the_output() {
        let mut expected = vec![0; 3 * STEP];
        Hasher::new().finalize_xof().fill(&mut expected);
        for (seek, len) in [(0, 0), (0, 32), (1, 63), (63, STEP + 1), (STEP, 2 * STEP)] {
            let digest = Digest::new(&Hasher::new(), Extent { seek: seek as u64, len: len as u64 });
            assert_eq!(digest.bytes(), expected[seek..seek + len], "{len} bytes from {seek}");
        }
        let hash = Hasher::new().finalize();
        for (seek, len) in [(0, 0), (0, 1), (0, 31), (0, 32)] {
            let digest = Digest::of_hash(&hash, Extent { seek, len }).unwrap();
            assert_eq!(digest.bytes(), expected[..len as usize], "{len} bytes of a hash");
        }
        for (seek, len) in [(1, 1), (0, 33), (32, 0)] {
            assert!(Digest::of_hash(&hash, Extent { seek, len }).is_none());
        }
    }

    #[test]
    fn equality_needs_equal_lengths() {
        assert!(equal(b"ab", b"ab"));
        assert!(!equal(b"ab", b"ac"));
        assert!(!equal(b"ab", b"a"));
        assert!(!equal(b"", b"a"));
    }
}
