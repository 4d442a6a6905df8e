//! The ways of reading a file, and their names.

use std::fmt;
use std::str::FromStr;

/// How a file is read. See [the table](crate::file#which-strategy-is-used-when).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The best strategy for the file.
    #[default]
    Auto,
    /// One buffer, one thread.
    Read,
    /// One thread at a time reads the next tile in order, while the others hash theirs.
    ReadOverlapped,
    /// Several threads; each reads the tile that it hashes, at its place in the file.
    Pread,
    /// A mapping, one thread.
    Mmap,
    /// A mapping, several threads.
    MmapParallel,
}

impl Strategy {
    /// Every strategy, `Auto` first.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::Read, Self::ReadOverlapped, Self::Pread, Self::Mmap, Self::MmapParallel];

    /// Returns the name that [`FromStr`] accepts, such as `read-overlapped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Read => "read",
            Self::ReadOverlapped => "read-overlapped",
            Self::Pread => "pread",
            Self::Mmap => "mmap",
            Self::MmapParallel => "mmap-parallel",
        }
    }

    pub(super) fn maps(self) -> bool {
        matches!(self, Self::Mmap | Self::MmapParallel)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that no [`Strategy`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Strategy::ALL.iter().map(|strategy| strategy.name()).collect();
        write!(f, "no strategy is called {:?}; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.name() == name);
        found.ok_or_else(|| UnknownStrategy(name.to_owned()))
    }
}
