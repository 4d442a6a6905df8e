//! `treewide`: hash and check files with BLAKE3.
//!
//! Parse, run, exit code. Each command stands in its own module; a flag's name, its help text and
//! its effect stand together in the module that carries it out.

#![forbid(unsafe_code)]

mod b3sum_check;
mod check;
mod cli;
mod console;
#[cfg(feature = "gpu")]
mod device;
#[cfg(not(feature = "gpu"))]
#[path = "no_device.rs"]
mod device;
mod docs;
mod explain;
mod input;
mod lanes;
mod mode;
mod output;
mod pipeline;
mod progress;
mod signals;
mod sum;
mod walk;

use cli::Invocation;
use std::process::ExitCode;
use treewide::{kernel, profile};
use treewide_files::name::shown_text;

/// The variable by which users choose a kernel.
const KERNEL: &str = "TREEWIDE_KERNEL";
/// The exit code of bad usage, as `clap` has it.
const BAD_USAGE: u8 = 2;

/// How a run ended that was not cut short: the exit code says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything asked for was done (exit code 0).
    Success,
    /// At least one file or check failed; the others were done (exit code 1).
    SomeFailed,
}

impl Outcome {
    /// `Success` if nothing failed.
    pub(crate) fn of(failures: u64) -> Self {
        if failures == 0 { Self::Success } else { Self::SomeFailed }
    }
}

fn main() -> ExitCode {
    let Invocation { program, command } = cli::parse();
    let ended = match command {
        Err(text) => output::printed(text.print()).map(|()| Outcome::Success),
        Ok(command) => {
            if let Err(error) = choose() {
                console::complain(program, &error);
                return ExitCode::from(BAD_USAGE);
            }
            command.run(program)
        }
    };
    match ended {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::SomeFailed) => ExitCode::FAILURE,
        Err(error) => {
            if output::reader_is_gone(&error) {
                signals::die_of_broken_pipe();
            } else {
                console::complain(program, &format!("{error:#}"));
            }
            ExitCode::FAILURE
        }
    }
}

/// Reads the user's choices now, as the library would panic over a wrong one at the first hash.
fn choose() -> Result<(), String> {
    let name = std::env::var_os(KERNEL).unwrap_or_default();
    if !name.is_empty() {
        let name = name.to_string_lossy();
        let forced = kernel::force(&name);
        forced.map_err(|error| format!("{KERNEL}={}: {error}", shown_text(&name)))?;
    }
    profile::load().map_err(|error| error.to_string())
}
