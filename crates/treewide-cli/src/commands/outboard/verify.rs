//! `treewide outboard verify`.

use super::failure::named;
use super::files::{Data, Store};
use super::ranges::PartArgs;
use super::shape::ShapeArgs;
use super::totals::{Part, Totals};
use super::trust::TrustArgs;
use crate::args::color::ColorArgs;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::progress::ProgressArgs;
use crate::args::quiet::QuietArgs;
use crate::args::threads::ThreadsArgs;
use crate::commands::comparing::{self, EXIT};
use crate::commands::help::Notes;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::program::Program;
use crate::shell::stdin::Stdin;
use crate::shell::terminal::Form;
use crate::shell::wording::{count, state_tone, state_word};
use clap::Args;
use indicatif::HumanBytes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::{Flaw, Layout, Outboard};
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

    /// Write one JSON object a line: path, state, start, end; and one that counts
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    #[command(flatten)]
    color: ColorArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl VerifyArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.verify(program))
    }

    fn verify(&self, program: Program) -> anyhow::Result<Outcome> {
        self.color.apply();
        let progress = self.progress.start(!self.quiet.is_on());
        let console = Console::new(program, &progress);
        let hears = progress.hears();
        hears.reached(&self.file);
        let data = Data::open(&self.file)?.counted(hears);
        let (path, shape) = self.shape.find(&self.file, self.part.outboard.as_deref())?;
        let (store, layout) = Store::open(&path, shape, self.part.size.unwrap_or(data.len()))?;
        let mode = self.mode.mode(&Stdin::default())?;
        let (root, is_trusted) =
            self.trust.digest_or_root(&self.file, &path, &store, &layout, mode)?;
        self.part.require(&self.file, &layout)?;
        let inputs = self.trust.inputs(&[&self.file, &path]);
        let mut output = self.output.open(&inputs, Prints::OnlyFailures, &progress)?;
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
                self.line(&mut output, &found)?;
            }
        }
        // What was found may be of two versions of the file.
        data.unchanged(&self.file)?;
        data.is_done();
        progress.finish();
        if self.json && !self.quiet.is_on() {
            let line = self.json(&totals, &layout, covered, is_trusted.then_some(&root));
            output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
        }
        output.finish()?;
        let outcome = totals.outcome();
        if !(self.quiet.is_on() && outcome == Outcome::Success) {
            console.about(
                &self.file,
                summary(&totals, &layout, covered, is_trusted, &path, self.mode.others()),
            );
        }
        Ok(outcome)
    }

    fn line(&self, output: &mut Output<'_>, found: &Flaw) -> anyhow::Result<()> {
        let Range { start, end } = found.range;
        let word = state_word(found.kind);
        if self.json {
            let mut object = Object::about(&self.file);
            object.string("state", word).number("start", start).number("end", end);
            let line = object.finish();
            output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
        } else {
            let word = format!("{:<8}", word.to_uppercase());
            output.verdict("", (state_tone(found.kind), &word), &format!(" {start}..{end}"))?;
        }
        output.flush()
    }

    fn json(
        &self,
        totals: &Totals,
        layout: &Layout,
        covered: u64,
        trusted: Option<&Hash>,
    ) -> String {
        let mut object = Object::about(&self.file);
        let state = match totals.outcome() {
            Outcome::Success => "ok",
            Outcome::SomeFailed => "damaged",
            _ => "unknown",
        };
        object.string("verdict", state).number("bytes", layout.len()).number("covered", covered);
        object.number("group", layout.group().bytes());
        object.number("bad", totals.bad.bytes).number("unknown", totals.unknown.bytes);
        object.number("extra", totals.extra.bytes);
        match trusted {
            Some(digest) => object.string("digest", &digest.to_hex()),
            None => object.null("digest"),
        };
        object.finish()
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
            "unknown, as {} is broken above them, belongs to another digest, has another --order, or was made {others}",
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
