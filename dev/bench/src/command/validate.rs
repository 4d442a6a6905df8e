//! Checks reports.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::samples;
use crate::validate::{self, Asked};

/// Exit code 1 if a report is not valid, 2 if one could not be read.
pub(super) fn run(args: &cli::Validate) -> Result<ExitCode> {
    let asked = if args.record { Asked::Record } else { Asked::Whole };
    let mut code = 0;
    for path in &args.files {
        let name = path.display();
        let result = match samples::are_in(path) {
            true => samples::file(path).map(|it| it.map(drop)),
            false => validate::file(path, asked).map(|it| it.map(drop)),
        };
        match result {
            Ok(Ok(())) => super::print(&format!("{name}: valid\n"))?,
            Ok(Err(faults)) => {
                code = code.max(1);
                for fault in faults {
                    super::print(&format!("{name}: {fault}\n"))?;
                }
            }
            Err(error) => {
                code = 2;
                eprintln!("treewide-bench: {error:#}");
            }
        }
    }
    Ok(ExitCode::from(code))
}
