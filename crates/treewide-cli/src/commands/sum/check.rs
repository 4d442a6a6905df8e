//! `treewide sum --check`: the engine of `treewide check` in the words of b3sum.
//!
//! Lists are read exactly as b3sum reads them ([`Reading::b3sum`]), every line that is not a checksum line counts as a
//! failed check, and a list that cannot be read to its end stops the run. (A line of 16 MiB does too, where b3sum would
//! fill the memory.)

use crate::args::input::Input;
use crate::shell::sheet::Sheet;
use crate::shell::streams;
use crate::shell::terminal::Form;
use crate::shell::wording::count;
use anyhow::{Context, bail};
use std::path::PathBuf;
use treewide_digests::Reading;
use treewide_digests::check::{Check, Event, Operands, Status};
use treewide_files::list::Lines;
use treewide_files::name::shown;

/// Check all lists, and return the number of lines that failed.
///
/// A digest has the usual length, as --check takes no other. An offset is of no use, but b3sum takes it.
pub(crate) fn run(
    input: &Input,
    sheet: &mut Sheet,
    lists: Vec<PathBuf>,
    seek: u64,
    quiet: bool,
) -> anyhow::Result<u64> {
    let reading = Reading { b3sum: Some(seek), ..Reading::default() };
    let check = Check { reading, ..Check::default() };
    let open = || {
        // A second list from there is empty, and not an error.
        let _ = input.stdin.claim("the list");
        Ok(Lines::utf8(streams::Input::open()?, true))
    };
    let mut failures = 0;
    for event in &mut check.results(input.run(Operands::new(check, lists).stdin(open))) {
        match event {
            Event::Finding(finding) => {
                sheet.output().spare(&finding.path)?;
                let verdict = match (finding.status, finding.cause) {
                    (Status::Ok, _) if quiet => continue,
                    (Status::Ok, _) => "OK".to_owned(),
                    (Status::Failed, _) | (_, None) => "FAILED".to_owned(),
                    // Also under our own name: b3sum writes this line to standard output.
                    (_, Some(cause)) => format!("FAILED ({cause})"),
                };
                failures += u64::from(finding.status != Status::Ok);
                let listed = finding.listed.unwrap_or_default();
                sheet.output().record(Form::Lines, |to| writeln!(to, "{listed}: {verdict}"))?;
            }
            Event::Malformed(list, line) => {
                sheet.flush()?;
                sheet.console.say(&format!("{}:{}: {}", shown(&list), line.number, line.cause));
                failures += 1;
            }
            Event::ListEnd(end) => {
                sheet.flush()?;
                end.end.with_context(|| shown(&end.list))?;
            }
            Event::Pause => sheet.flush()?,
            Event::Cancelled => bail!("cancelled before the end"),
            // No list is a directory.
            Event::Place(_) | Event::Store(_) | Event::StoreEnd(_) => {}
        }
    }
    if failures > 0 {
        let failed = count(failures, "computed checksum");
        sheet.console.say(&format!("WARNING: {failed} did NOT match"));
    }
    Ok(failures)
}
