//! The program `treewide`: hash and check files with BLAKE3.
//!
//! A library only because two programs are made from it: `treewide`, and `python -m treewide`. It is for nothing else,
//! because [`run`] takes the process for its own: it reads and writes the standard streams, may handle signals, and may
//! end the process by one. The work is done by the library `treewide-files` and `treewide-manifest`, which anyone may use.
//!
//! Parse, run, exit code. Each command has its own module in `commands`; a flag's name, its help text and its effect are
//! together in the module that carries it out, in `args` if several commands have it.

#![deny(unsafe_code)]

mod args;
mod cli;
mod commands;
mod shell;

use args::threads;
use cli::Invocation;
use shell::outcome::Outcome;
use shell::{console, inherited, output, signals, usage};
use std::ffi::OsString;

pub use shell::inherited::Inherited;

/// The exit code of bad usage, as `clap` has it.
const BAD_USAGE: u8 = 2;

/// Runs the program, and returns its exit code.
///
/// The first of `args` is the name that the program is called by. The process must be this program's alone: see above.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>, inherited: Inherited) -> u8 {
    inherited::remember(inherited);
    signals::watch_as_first_process();
    let Invocation { program, command } = cli::parse(&args.into_iter().collect::<Vec<_>>());
    let ended = match command {
        Err(text) if text.use_stderr() => Err(text.into()),
        Err(text) => output::print(usage::help(&text).as_bytes()).map(|()| Outcome::Success),
        Ok(command) => {
            let checked = treewide::check_environment().map_err(|error| error.to_string());
            if let Err(error) = checked.and_then(|()| threads::limit_pool()) {
                console::complain(program, &error);
                return BAD_USAGE;
            }
            command.run(program)
        }
    };
    match ended {
        Ok(outcome) => outcome.code(),
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage) => {
                usage::complain(&usage);
                BAD_USAGE
            }
            Err(error) => {
                if output::reader_is_gone(&error) {
                    signals::die_of_broken_pipe();
                }
                console::complain(program, &format!("{error:#}"));
                1
            }
        },
    }
}
