//! `treewide outboard verify`.

use super::failure::named;
use super::files::{Data, open_outboard};
use super::group::GroupArgs;
use super::ranges::PartArgs;
use super::totals::{Part, Totals};
use super::trust::TrustArgs;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::args::threads::ThreadsArgs;
use crate::commands::comparing::{self, EXIT};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::Summary;
use crate::shell::stdin::Stdin;
use crate::shell::wording::{count, state_tone, state_word};
use clap::Args;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide::outboard::{Layout, Outboard};
use treewide_files::list::json::Object;
use treewide_files::name::shown;

pub(super) const VERIFY: Notes = Notes {
    exit: EXIT,
    ..Notes::new(&[
        (
            "treewide outboard verify disk.img --expect HEX",
            "read everything, and name what is damaged",
        ),
        ("treewide outboard verify disk.img --expect SUMS --range 1G..+1M", "read 1 MiB"),
        ("treewide outboard verify disk.img", "is it consistent with its outboard?"),
    ])
};

/// Verify a file, or ranges of it, and name the bytes that are damaged
///
/// Reads the ranges and the part of the outboard above them. BAD bytes are not those of the digest. UNKNOWN bytes are below a
/// broken part of the outboard: nothing is known of them. EXTRA bytes are past the end. Without --expect, the file is compared
/// with its outboard only, which shows accidents, not attackers.
#[derive(Args)]
#[command(after_help = VERIFY.short(), after_long_help = VERIFY.long())]
pub(super) struct VerifyArgs {
    /// The file
    file: PathBuf,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    group: GroupArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl VerifyArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.verify(program))
    }

    fn verify(&self, program: Program) -> anyhow::Result<Outcome> {
        let data = Data::open(&self.file)?;
        let (path, group) = self.group.find(&self.file, self.part.outboard.as_deref())?;
        let (store, layout) = open_outboard(&path, group, self.part.size.unwrap_or(data.len()))?;
        let mode = self.mode.mode(&Stdin::default())?;
        let (root, is_trusted) =
            self.trust.digest_or_root(&self.file, &path, &store, &layout, mode)?;
        self.part.require(&self.file, &layout)?;
        let inputs = self.trust.inputs(&[&self.file, &path]);
        let mut sheet = self.report.begin(program, &self.output, &inputs, Prints::OnlyFailures)?;
        let progress = Rc::clone(&sheet.progress);
        let hears = progress.hears();
        hears.reached(&self.file);
        let data = data.counted(hears);
        let ranges = self.part.groups(&layout);
        let covered = ranges.iter().map(|range| range.end.min(layout.len()) - range.start).sum();
        progress.show(move || Some(covered));
        let team = self.threads.team()?;
        let outboard = Outboard::new(&root, layout, mode, store);
        let mut totals = Totals::default();
        for range in &ranges {
            // The damage is found in order, as the iterator goes; a long range by all threads.
            let mut damage = outboard.damage(&data, range.clone());
            while let Some(found) = team.run(|| damage.next()) {
                let found = found.map_err(|error| match data.unchanged(&self.file) {
                    Ok(()) => named(&error, &self.file, &path),
                    Err(changed) => changed,
                })?;
                totals.add(&found, &layout);
                super::row(
                    &mut sheet,
                    &self.file,
                    (state_tone(found.kind), state_word(found.kind)),
                    &found.range,
                )?;
                sheet.flush()?;
            }
        }
        // What was found may be of two versions of the file.
        data.unchanged(&self.file)?;
        data.is_done();
        progress.finish();
        let text = summary(&totals, &layout, covered, is_trusted, &path, self.mode.others());
        let text = format!("{}: {text}", shown(&self.file));
        let counts = vec![
            ("length", layout.len()),
            ("covered", covered),
            ("group", layout.group().bytes()),
            ("bad", totals.bad.bytes),
            ("unknown", totals.unknown.bytes),
            ("extra", totals.extra.bytes),
        ];
        let digest = is_trusted.then(|| root.to_hex());
        let more = |object: &mut Object| {
            object.string_or_null("digest", digest.as_deref());
        };
        let outcome = totals.outcome();
        sheet.end(&Summary { path: &self.file, outcome, text, counts, evidence: None, more: &more })
    }
}

fn summary(
    totals: &Totals,
    layout: &Layout,
    covered: u64,
    is_trusted: bool,
    outboard: &Path,
    others: &str,
) -> String {
    let group = layout.group().bytes();
    let groups = covered.div_ceil(group).max(1);
    let of = |part: &Part, word: &str| {
        let verb = if part.groups == 1 { "is" } else { "are" };
        format!(
            "{} of {} {verb} {word}: {} ({} of {})",
            part.groups,
            count(groups, "group"),
            part.named(),
            HumanBytes(part.bytes),
            HumanBytes(covered),
        )
    };
    let mut said = Vec::new();
    if totals.bad.ranges > 0 {
        said.push(of(&totals.bad, "bad"));
    }
    if totals.unknown.ranges > 0 {
        let broken = format!(
            "unknown, as {} is broken above them, belongs to another digest, or was made {others}",
            shown(outboard)
        );
        said.push(of(&totals.unknown, &broken));
    }
    if totals.extra.ranges > 0 {
        said.push(format!(
            "{} too many at the end: {}",
            HumanBytes(totals.extra.bytes),
            totals.extra.named()
        ));
    }
    if !said.is_empty() {
        if totals.unknown.ranges == 0 {
            said.push("the outboard is intact there".to_owned());
        }
        return said.join("; ");
    }
    let what = format!("{} in {}", HumanBytes(covered), count(groups, "group"));
    match is_trusted {
        true => format!("verified: {what}"),
        false => format!(
            "consistent with its outboard {}: {what}; nothing was verified, because no digest was given with --expect",
            shown(outboard)
        ),
    }
}
