//! The name that the program was called by, and speaks by.

use clap::ValueEnum;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

/// The name that begins every message.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Treewide,
    /// Called by this name (a link to the binary), the program is `treewide sum`.
    B3sum,
}

impl Program {
    pub(crate) fn called(argv0: &OsStr) -> Self {
        let path = Path::new(argv0);
        // `b3sum.exe` on Windows; on Unix a name with an extension is another name.
        let stem = if cfg!(windows) { path.file_stem() } else { path.file_name() };
        if stem == Some(OsStr::new(Self::B3sum.name())) { Self::B3sum } else { Self::Treewide }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Treewide => "treewide",
            Self::B3sum => "b3sum",
        }
    }

    /// Whether messages must sound like b3sum's, and say nothing that b3sum would not.
    pub(crate) fn speaks_as_b3sum(self) -> bool {
        self == Self::B3sum
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn called_takes_only_the_exact_name_for_b3sum() {
        for (name, program) in [
            ("/usr/bin/b3sum", Program::B3sum),
            ("b3sum", Program::B3sum),
            ("treewide", Program::Treewide),
            ("b3sum2", Program::Treewide),
        ] {
            assert!(Program::called(OsStr::new(name)) == program, "{name}");
        }
    }
}
