//! Which bytes of the extended output make up a digest, and how a digest is written.

use std::fmt;
use std::io::{self, Write};
use treewide::{BLOCK_LEN, Hash, Hasher, OUT_LEN, OutputReader};

/// Bytes of output that are produced and encoded at a time: any multiple of a block will do.
const STEP: usize = 64 * BLOCK_LEN;

/// A range of the extended output: the bytes that make up a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    seek: u64,
    len: u64,
}

impl Extent {
    /// The first 32 bytes: the digest that [`treewide::hash`] returns.
    pub const HASH: Self = Self { seek: 0, len: OUT_LEN as u64 };

    /// No byte, where the BLAKE3 digest of a file is not wanted.
    pub const NONE: Self = Self { seek: 0, len: 0 };

    /// `len` bytes from byte `seek` on.
    ///
    /// # Errors
    /// If the range passes the end of the output, which is 2^64 - 1 bytes long. (b3sum prints something
    /// there, but it is not BLAKE3.)
    pub fn new(seek: u64, len: u64) -> Result<Self, ExtentError> {
        let rest = u64::MAX - seek;
        if len <= rest { Ok(Self { seek, len }) } else { Err(ExtentError { seek, len }) }
    }

    /// Where the range begins.
    pub fn seek(self) -> u64 {
        self.seek
    }

    /// The bytes in the range.
    #[expect(clippy::len_without_is_empty, reason = "an empty digest is not special")]
    pub fn len(self) -> u64 {
        self.len
    }
}

/// [`Extent::HASH`].
impl Default for Extent {
    fn default() -> Self {
        Self::HASH
    }
}

/// A range that passes the end of the extended output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentError {
    seek: u64,
    len: u64,
}

impl fmt::Display for ExtentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seek, len } = self;
        let rest = u64::MAX - seek;
        write!(
            f,
            "seek {seek} leaves {rest} bytes of extended output, which ends after 2^64 - 1, not {len}"
        )
    }
}

impl std::error::Error for ExtentError {}

/// The digest of one input, of any length. Its bytes are produced while they are written.
#[derive(Clone, Debug)]
pub struct Digest {
    output: Output,
    len: u64,
}

/// Where the bytes of a digest come from.
#[derive(Clone, Debug)]
enum Output {
    /// They begin the extended output, and are all here.
    Hash(Hash),
    Reader(Box<OutputReader>),
}

impl Digest {
    /// Takes the digest of the input of `hasher`.
    pub fn new(hasher: &Hasher, extent: Extent) -> Self {
        Self::of_output(hasher.finalize_xof(), extent)
    }

    /// The digest that is `extent` of this output, wherever its position is.
    pub fn of_output(mut output: OutputReader, extent: Extent) -> Self {
        output.set_position(extent.seek);
        Self { output: Output::Reader(Box::new(output)), len: extent.len }
    }

    /// The digest of an input whose hash is known, if `extent` is the hash or its beginning.
    pub fn of_hash(hash: &Hash, extent: Extent) -> Option<Self> {
        let is_beginning = extent.seek == 0 && extent.len <= OUT_LEN as u64;
        is_beginning.then_some(Self { output: Output::Hash(*hash), len: extent.len })
    }

    /// The digest of a file whose BLAKE3 digest was not asked for.
    pub(crate) fn empty() -> Self {
        Self { output: Output::Hash(Hash::from_bytes([0; OUT_LEN])), len: 0 }
    }

    /// The bytes in the digest.
    #[expect(clippy::len_without_is_empty, reason = "an empty digest is not special")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The hash, if the digest is all of it and is in memory.
    pub fn hash(&self) -> Option<Hash> {
        match &self.output {
            Output::Hash(hash) if self.len == OUT_LEN as u64 => Some(*hash),
            _ => None,
        }
    }

    /// Writes the digest in lower-case hex.
    ///
    /// # Errors
    /// The errors of `to`.
    pub fn write_hex(self, to: &mut dyn Write) -> io::Result<()> {
        let mut hex = Vec::with_capacity(2 * STEP.min(self.len as usize));
        self.each_step(|bytes| {
            hex.clear();
            push_hex(&mut hex, bytes);
            to.write_all(&hex)
        })
    }

    /// Writes the bytes of the digest.
    ///
    /// # Errors
    /// The errors of `to`.
    pub fn write_raw(self, to: &mut dyn Write) -> io::Result<()> {
        self.each_step(|bytes| to.write_all(bytes))
    }

    /// All bytes of the digest. It must fit in memory.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len as usize);
        let _ = self.write_raw(&mut all); // writing to memory cannot fail
        all
    }

    fn each_step(mut self, mut step: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let output = match &mut self.output {
            Output::Hash(hash) => return step(&hash.as_bytes()[..self.len as usize]),
            Output::Reader(output) => output,
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

/// The digest in lower-case hex.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Text<'a, 'b>(&'a mut fmt::Formatter<'b>);

        impl Write for Text<'_, '_> {
            fn write(&mut self, hex: &[u8]) -> io::Result<usize> {
                let hex = str::from_utf8(hex).map_err(io::Error::other)?;
                self.0.write_str(hex).map_err(io::Error::other)?;
                Ok(hex.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        self.clone().write_hex(&mut Text(f)).map_err(|_| fmt::Error)
    }
}

/// Whether two digests are equal, in a time that depends on their lengths alone.
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    let difference = left.iter().zip(right).fold(0, |seen, (a, b)| seen | (a ^ b));
    left.len() == right.len() && std::hint::black_box(difference) == 0
}

/// Lower-case hex, as in every list.
pub fn hex(bytes: &[u8]) -> String {
    let mut hex = Vec::with_capacity(2 * bytes.len());
    push_hex(&mut hex, bytes);
    hex.into_iter().map(char::from).collect()
}

/// The bytes that hex digits of either case stand for. `None` if they are not pairs of digits.
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(pairs.len());
    for &[high, low] in pairs {
        bytes.push(16 * digit(high)? + digit(low)?);
    }
    Some(bytes)
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
            assert_eq!(digest.to_string(), hex(&expected[seek..seek + len]));
            assert_eq!(digest.into_bytes(), expected[seek..seek + len], "{len} bytes from {seek}");
        }
        let hash = Hasher::new().finalize();
        for (seek, len) in [(0, 0), (0, 1), (0, 31), (0, 32)] {
            let digest = Digest::of_hash(&hash, Extent { seek, len }).unwrap();
            assert_eq!(digest.into_bytes(), expected[..len as usize], "{len} bytes of a hash");
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
