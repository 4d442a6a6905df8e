//! `snapshot --against`: the files of a tree are as a list of another program says, or no manifest of them is written.

use crate::commands::check::row;
use crate::shell::console::complain;
use crate::shell::program::Program;
use crate::shell::sheet::Sheet;
use crate::shell::stdin::is_stdin;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use clap::Args;
use std::path::{Path, PathBuf};
use treewide_digests::check::Status;
use treewide_files::list::Lines;
use treewide_manifest::journal;
use treewide_manifest::machine::{Against, Compared};

#[derive(Args)]
pub(super) struct AgainstArgs {
    /// Compare the files with a list of digests in the same reading, and write no manifest if one is not as listed
    ///
    /// The list may be any that `treewide check` reads, such as SHA256SUMS. Its names are relative to DIR, also if the list is elsewhere. A
    /// listed file that has another digest, is missing, or could not be compared ends the run with 1, and so does a list that seems to be
    /// cut off or names no file. A manifest that is there stays as it is. Files that no list names are recorded, and counted in the end.
    #[arg(long, value_name = "LIST", help_heading = "Verdict")]
    against: Vec<PathBuf>,
}

impl AgainstArgs {
    /// The lists.
    pub(super) fn lists(&self) -> &[PathBuf] {
        &self.against
    }

    /// The digests that lists have of files in `dir`. `None`, after messages, if a list cannot be relied on.
    pub(super) fn read(&self, program: Program, dir: &Path) -> anyhow::Result<Option<Against>> {
        let lines = |list: &PathBuf| match is_stdin(list) {
            true => (list.clone(), Lines::new(std::io::stdin(), true)),
            false => (list.clone(), Lines::open(list)),
        };
        let say = &mut |text: String| complain(program, &text);
        Ok(Against::of_lists(self.against.iter().map(lines), dir, say)?)
    }
}

/// Says what came of comparing, and whether the manifest may appear.
pub(super) fn say(
    compared: &Compared,
    list: &Path,
    is_quiet: bool,
    sheet: &mut Sheet,
) -> anyhow::Result<bool> {
    for finding in &compared.differ {
        let tone = if finding.status == Status::Failed { Tone::Bad } else { Tone::Unknown };
        row::write(sheet, finding, "file", (tone, "FAILED"))?;
    }
    sheet.flush()?;
    let console = &sheet.console;
    let (total, is_success) = (compared.total(), compared.is_success());
    if !is_quiet || !is_success {
        let unlisted = match compared.unlisted {
            0 => String::new(),
            number => format!("; {} not listed", count(number, "file")),
        };
        console.say(&format!("{total}{unlisted}"));
    }
    if !is_success {
        let kept = match journal::is_left(list) {
            true => "; what was read is kept for that",
            false => "",
        };
        let text = "was not written, because it would record these files as they are; restore them, or take them out of the list, \
                    and run this again";
        console.about(list, format_args!("{text}{kept}"));
    }
    Ok(is_success)
}
