//! Measures treewide against other hashing libraries: in turns, in one process, with confidence
//! intervals, and with reports that can be checked.
//!
//! `main` reads what was asked for, runs it and turns the result into an exit code; `command/` has a
//! file for each command, `measure.rs` what they share. What is timed in each class, and what the
//! numbers mean, is in `docs/benchmarking.md`.

use std::process::ExitCode;

use clap::Parser as _;

mod busy;
mod cli;
mod command;
mod engine;
mod html;
mod interrupt;
mod machine;
mod measure;
mod plan;
mod random;
mod report;
mod size;
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
