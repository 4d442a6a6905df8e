//! `treewide outboard create`.

use super::files::Data;
use super::group::{self, GroupArgs};
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::args::threads::ThreadsArgs;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Text};
use crate::shell::stdin::Stdin;
use crate::shell::tone::Tone;
use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use std::ops::ControlFlow;
use std::path::PathBuf;
use treewide::file::{Options, OutboardError};
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown};

pub(super) const CREATE: Notes = Notes::new(&[
    ("treewide outboard create disk.img >>SUMS", "disk.img.obao4, and the line of b3sum"),
    ("treewide outboard create --group 1M disk.img", "disk.img.obao10, a 16th of the default"),
]);

/// Write the outboard of a file, and print its digest as b3sum does
///
/// The outboard appears when it is complete. It takes as long as hashing the file.
#[derive(Args)]
#[command(after_help = CREATE.short(), after_long_help = CREATE.long())]
pub(super) struct CreateArgs {
    /// The file
    file: PathBuf,

    /// Where to write the outboard [default: FILE.obao4, or another number for other groups]
    #[arg(short, long, value_name = "OUTBOARD", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace a file that is not empty
    #[arg(long, help_heading = "Output")]
    force: bool,

    #[command(flatten)]
    group: GroupArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    report: ReportArgs,
}

impl CreateArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        let (group, mode) =
            (self.group.of(self.output.as_deref()), self.mode.mode(&Stdin::default())?);
        let path = self.output.clone().unwrap_or_else(|| group::path(&self.file, group));
        if let Some(named) = group::of_name(&path).filter(|named| *named != group) {
            bail!(
                "{}: its name says groups of {}, and groups of {} were asked for, so that no one could read it by its name; end \
                 it in .{}, or in a suffix that says nothing",
                shown(&path),
                HumanBytes(named.bytes()),
                HumanBytes(group.bytes()),
                group::ending(group)
            );
        }
        let (data, file) = (Data::open(&self.file)?, std::slice::from_ref(&self.file));
        let mut sheet = self.report.begin(program, &OutputArgs::default(), file, Prints::Always)?;
        let hears = sheet.progress.hears();
        hears.reached(&self.file);
        let (files, prints) = ((file, file), Prints::Always);
        let output = Output::open(Some(&path), self.force, files, prints, &sheet.progress)?;
        let mut store = output.file(&path)?;
        sheet.progress.expects_bytes(Some(data.len()));
        sheet.progress.show();
        let team = self.threads.team()?;
        let options = Options::new().mode(mode).watch(|bytes| {
            hears.hashed(0, bytes);
            ControlFlow::Continue(())
        });
        let made = team.run(|| options.outboard_file(data.file(), &self.file, group, &mut store));
        let made = made.map_err(|error| match (data.unchanged(&self.file), error) {
            (Err(changed), _) => changed,
            (Ok(()), OutboardError::Outboard(error)) => {
                anyhow::anyhow!("{}: {error}", shown(&path))
            }
            (Ok(()), OutboardError::Data(error)) => {
                anyhow::anyhow!("{}: {}", shown(&self.file), error.kind())
            }
            (Ok(()), error) => error.into(),
        })?;
        data.unchanged(&self.file)?;
        hears.hashed(1, 0);
        output.finish()?;
        let (digest, layout, name) = (made.digest.to_hex(), made.layout, Listed::new(&self.file));
        let line = || {
            let line = format!("{}{digest}  {}", name.mark(), name.text());
            (line, String::new(), String::new())
        };
        let more = |object: &mut Object| {
            object.string("digest", &digest);
            object.path("outboard", &path).number("outboard_bytes", layout.bytes());
            object.number("group", layout.group().bytes());
        };
        sheet.row(&Row {
            bytes: Some(layout.len()),
            evidence: Some("read"),
            more: &more,
            text: Text::Parts(&line),
            ..Row::new(&self.file, "hashed", "file", Tone::Good)
        })?;
        sheet.finish()?;
        Ok(Outcome::Success)
    }
}
