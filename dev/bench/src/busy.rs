//! A busy machine: other processes keep every CPU busy while a row is measured.

use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

/// Processes that end when this is dropped.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// One process for each CPU.
    pub(crate) fn start(cpus: u32) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let mut busy = Self(vec![]);
        for _ in 0..cpus {
            let mut command = Command::new(&program);
            // Its end of the pipe closes when this process ends, however it ends.
            command.arg(SPIN).stdin(Stdio::piped()).stdout(Stdio::null());
            busy.0.push(command.spawn().context("cannot start a process to keep a CPU busy")?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The hidden command that such a process runs.
pub(crate) const SPIN: &str = "spin";

/// Keeps a CPU busy until standard input ends.
pub(crate) fn spin() {
    std::thread::spawn(|| {
        let mut input = vec![0_u8; 1 << 16];
        loop {
            let hash = blake3::hash(&input);
            input[..32].copy_from_slice(hash.as_bytes());
        }
    });
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
