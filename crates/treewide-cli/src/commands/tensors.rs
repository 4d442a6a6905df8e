//! `treewide tensors`: the digests of the tensors of a model, and what differs between two models.

mod lines;

use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::args::threads::{Team, ThreadsArgs};
use crate::commands::comparing;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Prints, spare_below};
use crate::shell::program::Program;
use crate::shell::progress::Progress;
use crate::shell::sheet::Summary;
use crate::shell::usage;
use crate::shell::wording::count;
use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide::Hash;
use treewide_files::list::json::Object;
use treewide_files::name::{shown, shown_text};
use treewide_tensors::{
    Comparison, Model, Options, Tensor, Tensors, compare, difference, list, strip,
};

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "the tensors are printed, or nothing differs"),
        ("1", "something differs, or the fingerprint is another one"),
        ("2", "invalid usage"),
        ("3", "undetermined: a file could not be read, or is damaged (takes priority over 1)"),
    ],
    ..Notes::new(&[
        ("treewide tensors model.safetensors >model.tensors.b3", "a digest for each tensor"),
        ("b3sum model.tensors.b3", "the fingerprint of the model"),
        ("treewide tensors base.tensors.b3 finetuned/", "what did the training touch?"),
        ("treewide tensors --values old.safetensors new.safetensors", "and by how much?"),
    ])
};

/// Print digests of the tensors of a model, or compare two models
///
/// A model is a .safetensors file, an index (.safetensors.index.json), a directory as the Hub has it, or a .gguf file (the first part,
/// if it is split). The digest of a tensor is that of its bytes, so it is the same in every file and however the model is cut
/// into files. A list that this command wrote takes the place of a model. The digest of
/// the list is the fingerprint of the model. It does not cover metadata, configuration and tokenizer.
///
/// With a second model, a line is written for each tensor that is CHANGED, RETYPED, RESHAPED, MOVED, ADDED or REMOVED, and a last line on
/// standard error counts all.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct TensorsArgs {
    /// The model, or its list
    #[arg(value_name = "A")]
    old: PathBuf,

    /// The model, or list, that A is compared with
    #[arg(value_name = "B")]
    new: Option<PathBuf>,

    /// Leave out PREFIX wherever a part of a name begins with it, such as `_orig_mod.`
    ///
    /// It is left out of the names of both models, before anything is printed or compared. May be given several times.
    #[arg(long, value_name = "PREFIX", value_parser = prefix, help_heading = "Verdict")]
    strip: Vec<String>,

    /// Say by how much tensors differ that are CHANGED or RETYPED
    ///
    /// These are the rows that differ, how many values are equal, the largest difference, and the norm of the differences, in norms
    /// of the tensor in A. A row is what is at one place of the first dimension. These tensors are read a second time, so neither A
    /// nor B may be a list.
    #[arg(long, requires = "new", help_heading = "Verdict")]
    values: bool,

    /// Print and compare nothing unless A has this fingerprint
    #[arg(long, value_name = "FINGERPRINT", value_parser = fingerprint, help_heading = "Verdict")]
    expect: Option<Hash>,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn prefix(text: &str) -> Result<String, &'static str> {
    if text.ends_with('.') { Ok(text.to_owned()) } else { Err("a prefix of names ends in a dot") }
}

fn fingerprint(text: &str) -> Result<Hash, String> {
    Hash::from_hex(text).map_err(|error| error.to_string())
}

impl TensorsArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.tensors(program))
    }

    fn tensors(&self, program: Program) -> anyhow::Result<Outcome> {
        let old = Model::open(&self.old)?;
        let new = self.new.as_deref().map(Model::open).transpose()?;
        let paths = [Some(&self.old), self.new.as_ref()].into_iter().flatten();
        let sides = [Some(&old), new.as_ref()].into_iter().flatten();
        if let (true, Some(path)) = (self.values, paths.clone().find(|path| list::is_list(path))) {
            let text =
                format!("{}: is a list, and --values reads models a second time", shown(path));
            return Err(usage::wrong_value(text).into());
        }
        let read = sides.clone().flat_map(Model::files).map(Path::to_owned);
        let inputs: Vec<PathBuf> =
            paths.filter(|path| path.is_file()).cloned().chain(read).collect();
        let prints = if new.is_some() { Prints::OnlyFailures } else { Prints::Always };
        if let Some(file) = self.output.file() {
            let operands = [Some(&self.old), self.new.as_ref()].into_iter().flatten().cloned();
            spare_below(file, &operands.collect::<Vec<_>>())?;
        }
        let is_list = new.is_none() && !self.report.json();
        let sources = if is_list { &[][..] } else { &inputs };
        let mut sheet =
            self.report.begin_from(program, &self.output, (&inputs, sources), prints)?;
        let progress = Rc::clone(&sheet.progress);
        let unread: Vec<_> = sides.clone().flat_map(Model::not_read).map(|it| shown(it)).collect();
        let total = sides.map(Model::bytes).sum();
        progress.expects_bytes(Some(total));
        progress.show();
        let team = self.threads.team()?;
        let bytes = old.bytes();
        let is = self.digests(&old, &self.old, &team, &progress)?;
        let found = list::fingerprint(&is);
        if self.expect.is_some_and(|expected| expected != found) {
            progress.finish();
            sheet.console.about(&self.old, format_args!("has another fingerprint: {found}"));
            return Ok(Outcome::SomeFailed);
        }
        let (Some(new), Some(path)) = (new, &self.new) else {
            progress.finish();
            lines::list(&mut sheet, &is, self.report.json())?;
            let tensors = is.len() as u64;
            let size = if bytes > 0 { format!(", {}", HumanBytes(bytes)) } else { String::new() };
            let not_read = not_read(&unread);
            let text = format!("fingerprint {found}: {}{size}{not_read}", count(tensors, "tensor"));
            let more = |object: &mut Object| {
                object.string("fingerprint", &found.to_hex()).strings("not_read", &unread);
            };
            let counts = vec![("tensors", tensors)];
            let summary = Summary::new(&self.old, Outcome::Success, text, counts);
            let summary = Summary { more: &more, ..summary };
            sheet.close(&summary)?;
            if (stderr().is_terminal() || !unread.is_empty()) && !self.report.quiet() {
                sheet.console.say(&summary.text);
            }
            return Ok(summary.outcome);
        };
        let now = self.digests(&new, path, &team, &progress)?;
        let mut compared = compare(&is, &now);
        let (old, new) = (self.places(&old), self.places(&new));
        for finding in &mut compared.findings {
            if let (Some(&old), Some(&new)) = (old.get(&finding.name), new.get(&finding.name)) {
                finding.difference = difference(old, new)?;
            }
            lines::finding(&mut sheet, finding)?;
        }
        let (text, outcome) = (
            Self::counts(&compared) + &not_read(&unread),
            Outcome::of(u64::from(!compared.is_same())),
        );
        let more = |object: &mut Object| {
            object.raw("differs", !compared.is_same()).strings("not_read", &unread);
        };
        let summary = Summary::new(&self.old, outcome, text, compared.counts());
        sheet.end(&Summary { more: &more, ..summary })?;
        if let ([first, others @ ..], false) = (&*compared.prefixes, self.report.quiet()) {
            let (short, long) = if compared.new_has_prefixes { ("A", "B") } else { ("B", "A") };
            let (mut names, mut flags) =
                (shown_text(first), format!("--strip {}", shown_text(first)));
            for it in others {
                names += &format!(" and {}", shown_text(it));
                flags += &format!(" --strip {}", shown_text(it));
            }
            let it = if others.is_empty() { "it" } else { "them" };
            sheet.console.say(&format!(
                "{long} has the names of {short} behind {names}; {flags} leaves {it} out"
            ));
        }
        Ok(outcome)
    }

    /// The tensors of a model or list, without the prefixes.
    fn digests(
        &self,
        model: &Model,
        path: &Path,
        team: &Team,
        progress: &Progress,
    ) -> anyhow::Result<Tensors> {
        let options = Options { progress: progress.hears(), ..Options::default() };
        let found = team.run(|| model.digests(&options))?;
        let mut stripped = Tensors::default();
        for (name, tensor) in found.iter() {
            let name = self.name(name);
            if stripped.insert(name.clone(), tensor.clone()).is_some() {
                let (name, prefixes) = (shown_text(&name), self.strip.join(" and "));
                bail!("{}: without {prefixes}, two tensors have the name {name}", shown(path));
            }
        }
        let names = found.aliases.iter().map(|(name, of)| (self.name(name), self.name(of)));
        stripped.aliases = names.collect();
        Ok(stripped)
    }

    /// The places of the tensors of a model by their names without the prefixes, if values are compared.
    fn places<'a>(&self, model: &'a Model) -> HashMap<String, (&'a Path, &'a Tensor)> {
        let places = self.values.then(|| model.places()).into_iter().flatten();
        places.map(|place| (self.name(&place.1.name), place)).collect()
    }

    /// A name without the prefixes.
    fn name(&self, name: &str) -> String {
        self.strip.iter().fold(name.to_owned(), |name, prefix| strip(&name, prefix))
    }

    /// Counts what differs.
    fn counts(compared: &Comparison) -> String {
        let mut counts = compared.counts();
        counts.retain(|&(word, number)| number > 0 || word == "same");
        let counts: Vec<_> =
            counts.iter().map(|(word, number)| format!("{number} {word}")).collect();
        let (old, new) = compared.names;
        format!("{old} and {}: {}", count(new as u64, "tensor"), counts.join(", "))
    }
}

/// Names files with weights that were not read.
fn not_read(unread: &[String]) -> String {
    match unread {
        [] => String::new(),
        [one] => format!("; {one} was not read"),
        [one, more @ ..] => {
            format!("; {one} and {} were not read", count(more.len() as u64, "other file"))
        }
    }
}
