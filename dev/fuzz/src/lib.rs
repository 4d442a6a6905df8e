//! Shared by the fuzz targets: inputs larger than the fuzzer makes, and modes with their oracle.

use arbitrary::Arbitrary;

/// An input of up to 256 KiB out of a few bytes: the fuzzer finds lengths and contents faster than
/// it would copy chunks.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    len: u32,
    seed: u8,
    bytes: Vec<u8>,
}

impl Input {
    /// The bytes repeated, each time other by one, so that no two chunks are equal. Small lengths are as
    /// likely as large ones.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes_to(18)
    }

    /// Returns an input of up to `2^bits` bytes.
    pub fn bytes_to(&self, bits: u32) -> Vec<u8> {
        let len = (self.len & ((1 << (self.len >> 27).min(bits)) - 1)) as usize;
        let mut turn = self.seed;
        let mut out = Vec::with_capacity(len + self.bytes.len());
        while out.len() < len {
            out.extend(self.bytes.iter().map(|byte| byte.wrapping_add(turn)));
            out.push(turn);
            turn = turn.wrapping_mul(5).wrapping_add(1);
        }
        out.truncate(len);
        out
    }
}

#[derive(Arbitrary, Clone, Debug)]
pub enum Mode {
    Hash,
    Keyed([u8; 32]),
    DeriveKey(String),
}

impl Mode {
    pub fn mode(&self) -> treewide::Mode {
        match self {
            Self::Hash => treewide::Mode::PLAIN,
            Self::Keyed(key) => treewide::Mode::keyed(key),
            Self::DeriveKey(context) => treewide::Mode::derive_key(context),
        }
    }

    pub fn hasher(&self) -> treewide::Hasher {
        treewide::Hasher::with_mode(self.mode())
    }

    pub fn oracle(&self) -> blake3::Hasher {
        match self {
            Self::Hash => blake3::Hasher::new(),
            Self::Keyed(key) => blake3::Hasher::new_keyed(key),
            Self::DeriveKey(context) => blake3::Hasher::new_derive_key(context),
        }
    }

    pub fn one_shot(&self, input: &[u8]) -> [u8; 32] {
        match self {
            Self::Hash => treewide::hash(input).into(),
            Self::Keyed(key) => treewide::keyed_hash(key, input).into(),
            Self::DeriveKey(context) => treewide::derive_key(context, input),
        }
    }

    pub fn expected(&self, input: &[u8]) -> [u8; 32] {
        self.oracle().update(input).finalize().into()
    }
}

/// The names of the kernels that this CPU runs.
pub fn kernels() -> Vec<&'static str> {
    let all = treewide::kernel::all().iter();
    all.filter(|kernel| kernel.is_supported()).map(|kernel| kernel.name()).collect()
}
