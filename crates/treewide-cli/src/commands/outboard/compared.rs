//! A file that is compared with its outboard: what `verify` and `repair` have in common.

use super::files::{Data, open_outboard};
use super::group::GroupArgs;
use super::ranges::PartArgs;
use super::trust::TrustArgs;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::args::threads::{Team, ThreadsArgs};
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::Sheet;
use crate::shell::stdin::Stdin;
use clap::Args;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::{Layout, Outboard};

#[derive(Args)]
pub(super) struct ComparedArgs {
    /// The file
    pub(super) file: PathBuf,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    group: GroupArgs,

    #[command(flatten)]
    pub(super) mode: ModeArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// A file, and everything that it is compared by.
pub(super) struct Compared {
    pub(super) sheet: Sheet,
    pub(super) data: Data,
    /// The place of the outboard.
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    pub(super) outboard: Outboard<File>,
    pub(super) root: Hash,
    /// Whether the digest was given.
    pub(super) is_trusted: bool,
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) team: Team,
}

impl ComparedArgs {
    /// Opens the outboard of `data`, and begins the report. `copy` is read as well.
    pub(super) fn begin(
        &self,
        program: Program,
        data: Data,
        copy: Option<&Path>,
    ) -> anyhow::Result<Compared> {
        let (path, group) = self.group.find(&self.file, self.part.outboard.as_deref())?;
        let (store, layout) = open_outboard(&path, group, self.part.size.unwrap_or(data.len()))?;
        let mode = self.mode.mode(&Stdin::default())?;
        let (root, is_trusted) =
            self.trust.digest_or_root(&self.file, &path, &store, &layout, mode)?;
        self.part.require(&self.file, &layout)?;
        let files: Vec<_> = [&*self.file, &path].into_iter().chain(copy).collect();
        let inputs = self.trust.inputs(&files);
        let sheet = self.report.begin(program, &self.output, &inputs, Prints::OnlyFailures)?;
        let hears = sheet.progress.hears();
        hears.reached(&self.file);
        let (data, ranges, team) =
            (data.counted(hears), self.part.groups(&layout), self.threads.team()?);
        let outboard = Outboard::new(&root, layout, mode, store);
        Ok(Compared { sheet, data, path, layout, outboard, root, is_trusted, ranges, team })
    }
}
