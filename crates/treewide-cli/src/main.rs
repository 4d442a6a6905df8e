//! `treewide`: hash and check files with BLAKE3.
//!
//! Parse, run, exit code. Each command stands in its own module; a flag's name, its help text and
//! its effect stand together in the module that carries it out. The work is done by the library
//! `treewide-files`.

#![deny(unsafe_code)]

mod b3sum_check;
mod check;
mod cli;
mod console;
mod descriptor;
#[cfg(feature = "gpu")]
mod device;
#[cfg(not(feature = "gpu"))]
#[path = "no_device.rs"]
mod device;
mod docs;
mod explain;
mod help;
mod inherited;
mod input;
mod mode;
mod outcome;
mod output;
mod program;
mod progress;
mod signals;
mod stdin;
mod streams;
mod sum;
mod terminal;
mod threads;
mod version;
mod walk;
mod wording;

use cli::Invocation;
use outcome::Outcome;
use std::process::ExitCode;

/// The exit code of bad usage, as `clap` has it.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    #[cfg(feature = "gpu")]
    inherited::look_for_no_window_system();
    signals::watch_as_first_process();
    let Invocation { program, command } = cli::parse();
    let ended = match command {
        Err(text) => cli::print(&text).map(|()| Outcome::Success),
        Ok(command) => {
            let checked = treewide::check_environment().map_err(|error| error.to_string());
            let checked = checked.and_then(|()| device::check_environment());
            if let Err(error) = checked.and_then(|()| threads::limit_pool()) {
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
            }
            console::complain(program, &format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
