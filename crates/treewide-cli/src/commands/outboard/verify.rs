//! `treewide outboard verify`.

use super::compared::{Compared, ComparedArgs};
use super::failure::named;
use super::files::Data;
use super::totals::{Part, Totals};
use crate::commands::comparing::{self, EXIT};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::sheet::Summary;
use crate::shell::wording::{count, state_tone, state_word};
use clap::Args;
use indicatif::HumanBytes;
use std::path::Path;
use treewide::outboard::Layout;
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
    #[command(flatten)]
    compared: ComparedArgs,
}

impl VerifyArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.verify(program))
    }

    fn verify(&self, program: Program) -> anyhow::Result<Outcome> {
        let (file, mode) = (&self.compared.file, &self.compared.mode);
        let compared = self.compared.begin(program, Data::open(file)?, None)?;
        let Compared { mut sheet, data, path, layout, outboard, root, is_trusted, ranges, team } =
            compared;
        let covered = ranges.iter().map(|range| range.end.min(layout.len()) - range.start).sum();
        sheet.progress.expects_bytes(Some(covered));
        sheet.progress.show();
        let mut totals = Totals::default();
        for range in &ranges {
            // The damage is found in order, as the iterator goes; a long range by all threads.
            let mut damage = outboard.damage(&data, range.clone());
            while let Some(found) = team.run(|| damage.next()) {
                let found = found.map_err(|error| match data.unchanged(file) {
                    Ok(()) => named(&error, file, &path),
                    Err(changed) => changed,
                })?;
                totals.add(&found, &layout);
                let state = (state_tone(found.kind), state_word(found.kind));
                super::row(&mut sheet, file, state, &found.range)?;
                sheet.flush()?;
            }
        }
        // What was found may be of two versions of the file.
        data.unchanged(file)?;
        data.is_done();
        let text = summary(&totals, &layout, covered, is_trusted, &path, mode.others());
        let text = format!("{}: {text}", shown(file));
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
        let summary = Summary::new(file, totals.outcome(), text, counts);
        sheet.end(&Summary { more: &more, ..summary })
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
