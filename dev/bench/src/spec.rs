//! A side: an engine, perhaps its kernel, and a number of threads.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result};

/// A side as people write it: `ENGINE[:KERNEL][@THREADS]`, with `all` for as many threads as CPUs. For files, a strategy
/// or a program's way of reading is in the place of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) engine: String,
    pub(crate) kernel: Option<String>,
    pub(crate) threads: Option<usize>,
}

impl FromStr for Spec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (rest, threads) = match text.split_once('@') {
            Some((rest, threads)) => {
                let threads = match threads {
                    "all" => Some(std::thread::available_parallelism().map_or(1, usize::from)),
                    number => number.parse().ok().filter(|&n| n > 0),
                };
                (rest, Some(threads.with_context(|| format!("'{text}': no number of threads"))?))
            }
            None => (text, None),
        };
        let (engine, kernel) = match rest.split_once(':') {
            Some((engine, kernel)) => (engine, Some(kernel.to_owned())),
            None => (rest, None),
        };
        Ok(Self { engine: engine.to_owned(), kernel, threads })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.engine)?;
        if let Some(kernel) = &self.kernel {
            write!(f, ":{kernel}")?;
        }
        match self.threads {
            Some(threads) if threads > 1 => write!(f, "@{threads}"),
            _ => Ok(()),
        }
    }
}

impl Spec {
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or(1)
    }

    /// Sets the number of threads, if the side does not have one.
    pub(crate) fn on(mut self, threads: usize) -> Self {
        self.threads.get_or_insert(threads);
        self
    }
}

/// Sides must have different names: the second `blake3` becomes `blake3#2`.
pub(crate) fn names(sides: &[Spec]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for side in sides {
        let plain = side.to_string();
        let same = sides[..names.len()].iter().filter(|it| it.to_string() == plain).count();
        names.push(if same == 0 { plain } else { format!("{plain}#{}", same + 1) });
    }
    names
}
