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
            let checked = treewide::check_environment().map_err(|error| error.to_string());
            if let Err(error) = checked.and_then(|()| input::limit_pool()) {
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
