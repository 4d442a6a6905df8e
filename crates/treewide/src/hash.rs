//! The digest type.

use core::array::TryFromSliceError;
use core::borrow::Borrow;
use core::fmt;
use core::hint::black_box;
use core::ops::Deref;
use core::str::FromStr;

use crate::spec::{ChainingValue, OUT_LEN};

/// A digest of the default length, 32 bytes.
///
/// `==` takes constant time, also against arrays and slices, so a digest may be compared with one
/// that an attacker chose. There is no `Deref` to bytes, because comparing bytes takes variable time;
/// use [`as_bytes`](Self::as_bytes) where that is safe.
///
/// Hexadecimal output is lower case; input may have either case. The order, that of the bytes, takes variable time.
///
/// ```
/// let hash = treewide::hash(b"treewide");
/// let hex = hash.to_hex();
/// assert_eq!(hash, treewide::Hash::from_hex(&*hex)?);
/// # Ok::<(), treewide::HexError>(())
/// ```
#[derive(Clone, Copy, Hash, Eq, PartialOrd, Ord)]
#[repr(transparent)]
#[allow(
    clippy::derived_hash_with_manual_eq,
    clippy::derive_ord_xor_partial_ord,
    reason = "equality differs in its timing only"
)]
pub struct Hash([u8; OUT_LEN]);

/// Views digests as chaining values, for kernels to write.
pub(crate) fn as_chaining_values(hashes: &mut [Hash]) -> &mut [ChainingValue] {
    // SAFETY: a `Hash` is a chaining value in memory, and any bytes are one.
    unsafe { core::slice::from_raw_parts_mut(hashes.as_mut_ptr().cast(), hashes.len()) }
}

/// Digests as arrays.
pub(crate) fn as_arrays(hashes: &[Hash]) -> &[[u8; OUT_LEN]] {
    // SAFETY: a `Hash` is `repr(transparent)` over such an array.
    unsafe { core::slice::from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
}

impl Hash {
    /// The bytes of the digest. Comparing them takes variable time.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; OUT_LEN] {
        &self.0
    }

    /// Makes a digest from its bytes.
    pub const fn from_bytes(bytes: [u8; OUT_LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes of the digest as a slice. Comparing them takes variable time.
    #[inline]
    pub const fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Makes a digest from its bytes.
    ///
    /// # Errors
    /// If there are not exactly 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, TryFromSliceError> {
        bytes.try_into().map(Self)
    }

    /// Returns the digest as 64 lower-case hexadecimal digits. [`Hex`] dereferences to `str` and needs no
    /// heap.
    pub fn to_hex(&self) -> Hex {
        // Two loops without a table, as compilers make vectors of these.
        let mut digits = [0; 2 * OUT_LEN];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [byte >> 4, byte & 15];
        }
        Hex(digits.map(|digit| digit + if digit > 9 { b'a' - 10 } else { b'0' }))
    }

    /// Parses 64 hexadecimal digits of either case.
    ///
    /// # Errors
    /// If there are not 64 bytes, or if one of them is not a hexadecimal digit.
    pub fn from_hex(hex: impl AsRef<[u8]>) -> Result<Self, HexError> {
        const NONE: u8 = 0xff;
        let hex = hex.as_ref();
        let Ok(hex) = <&[u8; 2 * OUT_LEN]>::try_from(hex) else {
            return Err(HexError(HexProblem::Len(hex.len())));
        };
        // Loops without a table or an early end, likewise.
        let digits = hex.map(|byte| {
            let (number, letter) = (byte.wrapping_sub(b'0'), (byte | 0x20).wrapping_sub(b'a'));
            if number < 10 {
                number
            } else if letter < 6 {
                letter + 10
            } else {
                NONE
            }
        });
        if digits.iter().fold(0, |all, digit| all | digit) == NONE {
            let at = digits.iter().position(|digit| *digit == NONE).expect("there is one");
            return Err(HexError(HexProblem::Byte(hex[at])));
        }
        let mut bytes = [0; OUT_LEN];
        for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl From<[u8; OUT_LEN]> for Hash {
    #[inline]
    fn from(bytes: [u8; OUT_LEN]) -> Self {
        Self(bytes)
    }
}

impl From<Hash> for [u8; OUT_LEN] {
    #[inline]
    fn from(hash: Hash) -> Self {
        hash.0
    }
}

impl FromStr for Hash {
    type Err = HexError;

    fn from_str(hex: &str) -> Result<Self, HexError> {
        Self::from_hex(hex)
    }
}

/// Compares in a time that does not depend on the bytes.
///
/// `black_box` keeps the compiler from an early exit.
#[inline]
fn constant_time_eq(a: &[u8; OUT_LEN], b: &[u8; OUT_LEN]) -> bool {
    let mut difference = 0;
    for (a, b) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        difference |= u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    }
    black_box(difference) == 0
}

/// In constant time.
impl PartialEq for Hash {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        constant_time_eq(&self.0, &other.0)
    }
}

/// In constant time.
impl PartialEq<[u8; OUT_LEN]> for Hash {
    #[inline]
    fn eq(&self, other: &[u8; OUT_LEN]) -> bool {
        constant_time_eq(&self.0, other)
    }
}

/// In constant time if the slice has 32 bytes; no other is equal.
impl PartialEq<[u8]> for Hash {
    #[inline]
    fn eq(&self, other: &[u8]) -> bool {
        other.try_into().is_ok_and(|other| constant_time_eq(&self.0, other))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hash").field(&self.to_hex().as_str()).finish()
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Hash {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// As a newtype of a sequence of 32 bytes, the form that the `blake3` crate writes: some formats, such as RON, write the
/// name. Byte strings are read too.
#[cfg(feature = "serde")]
impl serde::Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("Hash", &self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Hash;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{OUT_LEN} bytes")
            }

            fn visit_newtype_struct<D: serde::Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<Hash, D::Error> {
                inner.deserialize_tuple(OUT_LEN, self)
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Hash, E> {
                Hash::from_slice(bytes).map_err(|_| E::invalid_length(bytes.len(), &self))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Hash, A::Error> {
                let mut bytes = [0; OUT_LEN];
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = seq
                        .next_element()?
                        .ok_or_else(|| serde::de::Error::invalid_length(i, &self))?;
                }
                Ok(Hash(bytes))
            }
        }

        deserializer.deserialize_newtype_struct("Hash", Visitor)
    }
}

/// The 64 hexadecimal digits of a [`Hash`](struct@Hash); derefs to `str`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex([u8; 2 * OUT_LEN]);

impl Hex {
    /// The digits.
    pub fn as_str(&self) -> &str {
        // SAFETY: all that makes a value writes digits.
        unsafe { core::str::from_utf8_unchecked(&self.0) }
    }
}

impl Deref for Hex {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Hex {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Hex {
    fn borrow(&self) -> &str {
        self
    }
}

/// As `str` does, which `Borrow<str>` asks for.
impl core::hash::Hash for Hex {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq<str> for Hex {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<Hex> for str {
    fn eq(&self, other: &Hex) -> bool {
        self == other.as_str()
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Hex {
    /// Leaves digits, as the text must stay one: sixty-four zeros.
    fn zeroize(&mut self) {
        self.0.zeroize();
        self.0 = [b'0'; 2 * OUT_LEN];
    }
}

/// Why [`Hash::from_hex`] refused its input; the text names the length or the byte.
#[derive(Clone, Debug)]
pub struct HexError(HexProblem);

#[derive(Clone, Debug)]
enum HexProblem {
    Byte(u8),
    Len(usize),
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            HexProblem::Byte(byte) if byte.is_ascii() => {
                write!(f, "invalid hex character: {:?}", char::from(byte))
            }
            HexProblem::Byte(byte) => write!(f, "invalid hex character: 0x{byte:x}"),
            HexProblem::Len(len) => write!(f, "expected 64 hex bytes, received {len}"),
        }
    }
}

impl core::error::Error for HexError {}
