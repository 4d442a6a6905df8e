//! Saved state: a hasher as bytes, to continue later, in another process or on another machine.

use core::fmt;

use crate::hasher::Hasher;
use crate::hasher::chunk::PartialChunk;
use crate::hasher::shared::{Parts, Settled};
use crate::mode::Mode;
use crate::oneshot::hash;
use crate::spec::flags::{DERIVE_KEY_MATERIAL, KEYED_HASH};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, IV, MAX_HEIGHT, OUT_LEN, bytes, words};
use crate::subtrees::halves_apart;

const MAGIC: &[u8; 8] = b"treewide";
const VERSION: u8 = 1;
/// Bytes before the stack.
const HEAD: usize = 156;
const MAX: usize = HEAD + MAX_HEIGHT * OUT_LEN + OUT_LEN;

/// A [`Hasher`] as bytes; see [`Hasher::to_state`].
///
/// All numbers are little-endian. Version 1:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `"treewide"` |
/// | 8 | 1 | version, 1 |
/// | 9 | 1 | mode flags: 0 plain, 16 keyed, 64 derive-key |
/// | 10 | 32 | key: the initialisation vector in plain mode, else the key or hashed context (**secret**) |
/// | 42 | 8 | number of the first chunk; not 0 for a subtree of `hazmat` |
/// | 50 | 8 | whole chunks so far, `n` |
/// | 58 | 2 | bytes in the chunk that is being filled, 0 to 1024 |
/// | 60 | 32 | chaining value of the blocks of that chunk that are compressed |
/// | 92 | 64 | the block that is not compressed yet, followed by zeros |
/// | 156 | 32 h | stack of chaining values, highest level first: one for each bit set in `n`, or two if `n` is a power of two above 1 |
/// | 156 + 32 h | 32 | BLAKE3 of all of the above |
///
/// The last field finds accidents, not attackers: an attacker who can change a state can change this field too.
#[derive(Clone)]
pub struct State {
    bytes: [u8; MAX],
    len: usize,
}

impl State {
    /// The bytes to save.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

impl AsRef<[u8]> for State {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Shows the length only: a state is as secret as its input and key.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for State {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
        self.len.zeroize();
    }
}

/// Why [`Hasher::from_state`] refused its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// It does not begin with `"treewide"`.
    NotAState,
    /// This release does not know its version.
    Version(u8),
    /// It is too short or too long: it has this many bytes.
    Length(usize),
    /// Its bytes were changed after it was saved.
    Damaged,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAState => f.write_str("not a saved hasher state"),
            Self::Version(version) => {
                write!(f, "saved hasher state of version {version}; this release reads {VERSION}")
            }
            Self::Length(len) => write!(f, "saved hasher state of the wrong length, {len} bytes"),
            Self::Damaged => f.write_str("saved hasher state is damaged: its check does not match"),
        }
    }
}

impl core::error::Error for StateError {}

impl Hasher {
    /// Saves the state as 188 to 1,916 bytes, from which [`from_state`](Self::from_state) continues.
    ///
    /// The format is versioned and the same on every machine: see [`State`]. What the hasher has gathered is hashed for it,
    /// and the restored hasher has no buffer yet.
    ///
    /// **Secret**: in the keyed and derive-key modes the bytes contain the key. In all modes they
    /// contain up to a block of input, and chaining values of the rest. Protect them as you protect the
    /// key and the input.
    ///
    /// ```
    /// let state = treewide::Hasher::new().update(b"first ").to_state();
    /// let mut hasher = treewide::Hasher::from_state(state.as_bytes())?;
    /// assert_eq!(hasher.update(b"second").finalize(), treewide::hash(b"first second"));
    /// # Ok::<(), treewide::StateError>(())
    /// ```
    pub fn to_state(&self) -> State {
        let Settled { subtrees, chunk } = self.settled();
        let mut state = State { bytes: [0; MAX], len: 0 };
        state.push(MAGIC);
        state.push(&[VERSION, subtrees.mode.flags]);
        state.push(&bytes(&subtrees.mode.key));
        state.push(&subtrees.first_chunk.to_le_bytes());
        state.push(&subtrees.chunks.to_le_bytes());
        state.push(&(chunk.len() as u16).to_le_bytes());
        state.push(&bytes(&chunk.cv));
        state.push(&chunk.block);
        debug_assert_eq!(state.len, HEAD);
        state.push(subtrees.stack.as_flattened());
        let check = hash(state.as_bytes());
        state.push(check.as_bytes());
        state
    }

    /// Restores the hasher that [`to_state`](Self::to_state) saved.
    ///
    /// # Errors
    /// If the bytes are not a state, have an unknown version or the wrong length, or were changed in any
    /// bit. The check is not a signature: accept a state only from a source from which you would accept
    /// the key.
    pub fn from_state(state: &[u8]) -> Result<Self, StateError> {
        fn take<const N: usize>(state: &[u8], at: usize) -> [u8; N] {
            state[at..at + N].try_into().expect("N bytes")
        }
        if !state.starts_with(MAGIC) {
            return Err(StateError::NotAState);
        }
        match state.get(8) {
            Some(&VERSION) => {}
            Some(&version) => return Err(StateError::Version(version)),
            None => return Err(StateError::Length(state.len())),
        }
        if state.len() < HEAD + OUT_LEN || state.len() > MAX {
            return Err(StateError::Length(state.len()));
        }
        let first_chunk = u64::from_le_bytes(take(state, 42));
        let chunks = u64::from_le_bytes(take(state, 50));
        let height = if halves_apart(chunks) { 2 } else { chunks.count_ones() as usize };
        if state.len() != HEAD + (height + 1) * OUT_LEN {
            return Err(StateError::Length(state.len()));
        }
        let (body, check) = state.split_at(state.len() - OUT_LEN);
        if hash(body) != *check {
            return Err(StateError::Damaged);
        }

        // The check matches, but no hasher writes such a state.
        let mode = Mode { key: words(&take(state, 10)), flags: state[9] };
        let chunk_len = usize::from(u16::from_le_bytes(take(state, 58)));
        // The last block is not compressed: it may need the flags of the end.
        let blocks = chunk_len.saturating_sub(1) / BLOCK_LEN;
        let block: [u8; BLOCK_LEN] = take(state, 92);
        let block_len = chunk_len.min(CHUNK_LEN) - blocks.min(15) * BLOCK_LEN;
        let max_chunks =
            if first_chunk == 0 { 1 << MAX_HEIGHT } else { 1 << first_chunk.trailing_zeros() };
        let sound = [0, KEYED_HASH, DERIVE_KEY_MATERIAL].contains(&mode.flags)
            && (mode.flags != 0 || mode.key == IV)
            && chunk_len <= CHUNK_LEN
            && first_chunk < 1 << MAX_HEIGHT
            && chunks < max_chunks + u64::from(chunk_len == 0)
            // The count of bytes is a u64, one short of 2^54 whole chunks.
            && chunks
                .checked_mul(CHUNK_LEN as u64)
                .is_some_and(|len| len.checked_add(chunk_len as u64).is_some())
            && (blocks > 0 || words(&take(state, 60)) == mode.key)
            && (chunk_len > 0 || chunks != 1)
            && block[block_len.min(BLOCK_LEN)..].iter().all(|&byte| byte == 0);
        if !sound {
            return Err(StateError::Damaged);
        }
        let mut hasher = Self::with_mode(mode);
        let Parts { subtrees, chunk, .. } = hasher.parts();
        (subtrees.first_chunk, subtrees.chunks) = (first_chunk, chunks);
        body[HEAD..].as_chunks().0.iter().for_each(|node| subtrees.stack.push(*node));
        let (block_len, blocks) = (block_len as u8, blocks as u8);
        *chunk = PartialChunk { cv: words(&take(state, 60)), block, block_len, blocks };
        Ok(hasher)
    }
}
