//! `treewide outboard diff`.

use super::files::Store;
use super::shape::ShapeArgs;
use super::trust;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::stdin::Stdin;
use crate::shell::terminal::Form;
use anyhow::{Context, bail};
use clap::Args;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use treewide::Mode;
use treewide::outboard::{Error, Outboard};
use treewide_files::list::json::Object;
use treewide_files::name::shown;

pub(super) const DIFF: Notes = Notes {
    exit: &[
        ("0", "the two files are the same"),
        ("1", "they differ"),
        ("2", "invalid usage"),
        ("3", "undetermined: an outboard could not be read, or is damaged"),
    ],
    ..Notes::new(&[
        ("treewide outboard diff monday.obao4 friday.obao4", "which bytes differ?"),
        (
            "treewide outboard diff a.tree b.tree --group 1M",
            "with names that do not say the groups",
        ),
    ])
};

/// Print the ranges in which two files differ, without reading them
///
/// Reads the two outboards only, and of them what is above the differences. Ranges are whole groups, the last one too. Only
/// bytes at the same place are compared.
#[derive(Args)]
#[command(after_help = DIFF.short(), after_long_help = DIFF.long())]
pub(super) struct DiffArgs {
    /// The outboard of the old file
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The outboard of the new file
    #[arg(id = "file", value_name = "NEW")]
    new: PathBuf,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl DiffArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.diff(program))
    }

    fn diff(&self, program: Program) -> anyhow::Result<Outcome> {
        let mode = self.mode.mode(&Stdin::default())?;
        let old = self.open(&self.old, mode)?;
        let new = self.open(&self.new, mode)?;
        let (group, other) = (new.layout().group().bytes(), old.layout().group().bytes());
        if group != other {
            bail!(
                "{}: has groups of {}, and {} has groups of {}; make one of them again, with --group",
                shown(&self.new),
                HumanBytes(group),
                shown(&self.old),
                HumanBytes(other)
            );
        }
        let inputs = [self.old.clone(), self.new.clone()];
        let mut sheet = self.report.begin(program, &self.output, &inputs, Prints::OnlyFailures)?;
        let (mut ranges, mut differ) = (0, 0);
        for range in new.differences(&old) {
            let range = range.map_err(|error| self.named(&error))?;
            ranges += 1;
            differ += range.end - range.start;
            let (form, line) = match self.report.json() {
                true => {
                    let mut object = Object::about(&self.new);
                    object.number("start", range.start).number("end", range.end);
                    (Form::Json, object.finish())
                }
                false => (Form::Lines, format!("{}..{}\n", range.start, range.end)),
            };
            sheet.output().record(form, |to| to.write_all(line.as_bytes()))?;
        }
        sheet.finish()?;
        if !(self.report.quiet() && ranges == 0) {
            let longest = new.layout().len().max(old.layout().len());
            let (differ, of) = (HumanBytes(differ), HumanBytes(longest));
            sheet.console.say(&match ranges {
                0 => format!("no difference in {of}"),
                1 => format!("1 range differs: {differ} of {of}"),
                _ => format!("{ranges} ranges differ: {differ} of {of}"),
            });
        }
        Ok(if ranges == 0 { Outcome::Success } else { Outcome::SomeFailed })
    }

    fn open(&self, path: &Path, mode: Mode) -> anyhow::Result<Outboard<Store>> {
        let shape = self.shape.shape(Some(path));
        let (store, layout) = Store::open_alone(path, shape)?;
        let root = trust::root(path, &store, &layout, mode)?;
        let root = root.with_context(|| format!("{}: {}", shown(path), trust::EMPTY))?;
        Ok(Outboard::new(&root, layout, mode, store))
    }

    /// Which of the two is broken is not known.
    fn named(&self, error: &Error) -> anyhow::Error {
        anyhow::anyhow!("{} or {}: {error}", shown(&self.old), shown(&self.new))
    }
}
