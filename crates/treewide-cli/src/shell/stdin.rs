//! Standard input, which can be read only once.

#[cfg(unix)]
use crate::shell::streams;
use crate::shell::streams::Input;
use std::cell::Cell;
use std::path::Path;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, Hashed, Options};

/// The operand that stands for standard input.
const STDIN: &str = "-";

/// Whether the operand stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Who reads standard input.
#[derive(Default)]
pub(crate) struct Stdin {
    claim: Cell<Option<&'static str>>,
}

impl Stdin {
    /// Open standard input for `what`, so that it cannot be used for anything else any more.
    pub(crate) fn claim(&self, what: &'static str) -> Result<Input, ErrorKind> {
        let input = self.open()?;
        self.claim.set(Some(what));
        Ok(input)
    }

    /// Standard input, if it was not used for something else already.
    pub(crate) fn open(&self) -> Result<Input, ErrorKind> {
        match self.claim.get() {
            None => Ok(Input::open()?),
            Some(claim) => {
                let cause = format!("standard input is already in use for {claim}");
                Err(ErrorKind::Other(cause.into()))
            }
        }
    }

    /// Hash standard input from where it is. If it is a file, it is hashed as fast as one.
    #[cfg(unix)]
    pub(crate) fn hash(&self, options: &Options, extent: Extent) -> Result<Hashed, ErrorKind> {
        let stdin = self.open()?;
        match streams::copy() {
            Ok(file) => options.hash_file(&file, Path::new(STDIN), extent),
            // Without a second descriptor it is only read more slowly.
            Err(_) => options.hash_reader(stdin, Path::new(STDIN), extent),
        }
    }

    /// Hash standard input.
    #[cfg(not(unix))]
    pub(crate) fn hash(&self, options: &Options, extent: Extent) -> Result<Hashed, ErrorKind> {
        options.hash_reader(self.open()?, Path::new(STDIN), extent)
    }
}
