//! Reading inputs: the one place where a file's bytes meet a hasher.
//!
//! Everything about *how* a file is read lives behind [`Input::hash`], which absorbs the whole of
//! a file or of standard input and says how many bytes it was, or why it could not. Callers know
//! the file's name, so an [`InputError`] is the cause alone.
//!
//! A regular file counts with the length it had when it was opened: bytes appended meanwhile are
//! not read, so a growing log cannot keep us for ever, and bytes cut off meanwhile are an error,
//! since the digest would be of a file that never was. We read rather than map: a mapping of a
//! file that shrinks is a SIGBUS.

use crate::progress::Progress;
use clap::Args;
use std::cell::OnceCell;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use treewide::Hasher;

/// The operand that stands for standard input.
const STDIN: &str = "-";

/// One read at a time, into a buffer that is used again for every file.
const BUFFER_LEN: usize = 1 << 20;

/// Below this a buffer is hashed by the calling thread. Not measured yet: the library's own
/// policy (`update_rayon`) is to decide once it has one.
const PARALLEL_LEN: usize = 128 << 10;

/// A maximum above so many threads for each core is taken as this one: more of them find nothing to
/// do, and a million would keep the machine busy for minutes before the first byte is hashed.
const MOST_PER_CORE: usize = 8;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The maximum number of threads to use
    ///
    /// By default, this is the number of logical cores. If this flag is omitted, or if its value
    /// is 0, RAYON_NUM_THREADS is also respected.
    #[arg(long, visible_alias = "num-threads", value_name = "NUM")]
    threads: Option<usize>,

    /// Disable memory mapping
    ///
    /// Accepted for b3sum's sake: files are read, not mapped, in any case.
    #[arg(long)]
    no_mmap: bool,
}

impl ReadArgs {
    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let variable = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
        // Zero means the same as nothing, as it does to rayon.
        let asked = self.threads.filter(|&threads| threads > 0).or_else(variable);
        match asked {
            None | Some(0) => cores,
            Some(asked) => asked.min(MOST_PER_CORE * cores),
        }
    }
}

/// Whatever can be hashed, and what it takes to read it.
pub(crate) struct Input<'a> {
    threads: usize,
    pool: OnceCell<Option<rayon::ThreadPool>>,
    buffer: Vec<u8>,
    progress: &'a Progress,
    /// What standard input was used for already, if it was.
    stdin_claim: Option<&'static str>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(args: &ReadArgs, progress: &'a Progress) -> Self {
        Self {
            threads: args.threads(),
            pool: OnceCell::new(),
            buffer: Vec::new(),
            progress,
            stdin_claim: None,
        }
    }

    /// Note that standard input is used for `what`, and cannot be used for anything else any more.
    pub(crate) fn claim_stdin(&mut self, what: &'static str) -> Result<(), InputError> {
        match self.stdin_claim {
            Some(claim) => Err(InputError::StdinClaimed(claim)),
            None => {
                self.stdin_claim = Some(what);
                Ok(())
            }
        }
    }

    /// Absorb the file at `path`, or standard input for `-`, and return its length in bytes.
    ///
    /// On an error the hasher has absorbed some unknown part, and is of no use.
    pub(crate) fn hash(&mut self, path: &Path, hasher: &mut Hasher) -> Result<u64, InputError> {
        self.progress.begin(path);
        let bytes = if is_stdin(path) {
            match self.stdin_claim {
                Some(claim) => return Err(InputError::StdinClaimed(claim)),
                None => self.absorb(&mut io::stdin().lock(), None, hasher)?,
            }
        } else {
            self.hash_file(path, hasher)?
        };
        self.progress.end();
        Ok(bytes)
    }

    fn hash_file(&mut self, path: &Path, hasher: &mut Hasher) -> Result<u64, InputError> {
        let mut file = File::open(path)?;
        let opened = file.metadata()?;
        // Pipes and devices have no length, and some file systems (/proc) say 0 of any file.
        let len = (opened.is_file() && opened.len() > 0).then_some(opened.len());
        let read = self.absorb(&mut file, len, hasher)?;
        match len {
            Some(len) if read < len && was_changed(&opened, &file.metadata()?) => {
                Err(InputError::Shrank { read, len })
            }
            _ => Ok(read),
        }
    }

    /// Absorb `len` bytes, or all there are, and return how many these were.
    fn absorb(
        &mut self,
        from: &mut dyn Read,
        len: Option<u64>,
        hasher: &mut Hasher,
    ) -> Result<u64, InputError> {
        // The buffer is allocated here for the first time, and only as long as a file needs.
        let wanted = len.map_or(BUFFER_LEN, |len| len.min(BUFFER_LEN as u64) as usize);
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < wanted {
            buffer.resize(wanted, 0);
        }
        let result = self.absorb_through(&mut buffer, from, len, hasher);
        self.buffer = buffer;
        result
    }

    fn absorb_through(
        &self,
        buffer: &mut [u8],
        from: &mut dyn Read,
        len: Option<u64>,
        hasher: &mut Hasher,
    ) -> Result<u64, InputError> {
        let mut absorbed = 0;
        loop {
            let left = len.map_or(u64::MAX, |len| len - absorbed);
            let wanted = left.min(buffer.len() as u64) as usize;
            let filled = self.fill(&mut buffer[..wanted], from)?;
            self.update(hasher, &buffer[..filled]);
            absorbed += filled as u64;
            if filled < wanted || absorbed == len.unwrap_or(u64::MAX) {
                return Ok(absorbed);
            }
        }
    }

    /// Fill the buffer as far as there are bytes, and return how far.
    fn fill(&self, buffer: &mut [u8], from: &mut dyn Read) -> Result<usize, InputError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match from.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    self.progress.advance(read as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }

    fn update(&self, hasher: &mut Hasher, bytes: &[u8]) {
        let pool = if self.threads > 1 && bytes.len() >= PARALLEL_LEN { self.pool() } else { None };
        match pool {
            Some(pool) => pool.install(|| hasher.update_rayon(bytes)),
            None => hasher.update(bytes),
        };
    }

    /// The threads to hash with; `None` if the system gives us none, and this one has to do.
    fn pool(&self) -> Option<&rayon::ThreadPool> {
        // Started with the first large input, so that small ones never pay for it.
        let start = || rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().ok();
        self.pool.get_or_init(start).as_ref()
    }
}

/// Whether the operand stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Whether a file that ended early did so because someone cut it.
///
/// There are files (/sys) whose length is only ever a guess: they end early and stay as they were.
fn was_changed(before: &Metadata, after: &Metadata) -> bool {
    before.len() != after.len() || before.modified().ok() != after.modified().ok()
}

/// Why an input could not be hashed; the caller knows its name.
#[derive(Debug)]
pub(crate) enum InputError {
    /// It could not be opened or read.
    Io(io::Error),
    /// It ended before the length that it had when it was opened.
    Shrank { read: u64, len: u64 },
    /// It is standard input, which was already used for something else.
    StdinClaimed(&'static str),
}

impl InputError {
    /// The kind of the operating system's error, if it is one.
    pub(crate) fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Io(error) => Some(error.kind()),
            _ => None,
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Shrank { read, len } => {
                write!(f, "file shrank while being hashed: {read} of {len} bytes")
            }
            Self::StdinClaimed(claim) => {
                write!(f, "standard input is already in use for {claim}")
            }
        }
    }
}

impl std::error::Error for InputError {}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
