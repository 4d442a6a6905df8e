//! Measures treewide against other hashing libraries: alternately in one process, with confidence intervals, and with
//! reports that can be checked.
//!
//! `main` parses the command line, runs the command and turns the result into an exit code. `command/` has a file for
//! each command, and `measure.rs` has what they share. `dev/bench/README.md` says what is timed in each class, and what
//! the numbers mean.

use std::process::ExitCode;

use clap::Parser as _;

mod busy;
mod cli;
mod command;
mod engine;
mod interrupt;
mod machine;
mod measure;
mod plan;
mod random;
mod report;
mod samples;
mod size;
mod spec;
mod stats;
mod table;
mod validate;
mod work;

fn main() -> ExitCode {
    let command = cli::Cli::parse().command;
    if let Err(error) = treewide::check_environment() {
        eprintln!("treewide-bench: {error}");
        return ExitCode::from(2);
    }
    match command::run(command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("treewide-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}
