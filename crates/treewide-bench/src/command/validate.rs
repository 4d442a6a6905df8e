//! Checks reports.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::validate;

/// Exit code 1 if a report is not what it says.
pub(super) fn run(args: &cli::Validate) -> Result<ExitCode> {
    let mut wrong = false;
    for path in &args.files {
        let faults = validate::file(path, args.record)?;
        wrong |= !faults.is_empty();
        if faults.is_empty() {
            super::print(&format!("{}: valid\n", path.display()))?;
        }
        for fault in faults {
            super::print(&format!("{}: {fault}\n", path.display()))?;
        }
    }
    Ok(ExitCode::from(u8::from(wrong)))
}
