//! `treewide outboard create`.

use super::files::Data;
use super::group::{self, GroupArgs};
use crate::args::mode::ModeArgs;
use crate::args::report::ProgressArgs;
use crate::args::threads::ThreadsArgs;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use crate::shell::signals;
use crate::shell::stdin::Stdin;
use anyhow::{Context, bail};
use clap::Args;
use indicatif::HumanBytes;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::file::{Options, OutboardError};
use treewide::outboard::Layout;
use treewide_files::Replacement;
use treewide_files::digest::{Digest, Extent};
use treewide_files::list;
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

    /// Write a JSON object instead of a line: path, digest, bytes, outboard, outboard_bytes, group
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    group: GroupArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl CreateArgs {
    pub(super) fn run(&self, _: Program) -> anyhow::Result<Outcome> {
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
        let progress = self.progress.start(true);
        let hears = progress.hears();
        hears.reached(&self.file);
        let data = Data::open(&self.file)?;
        if data.is_at(&path, &self.file) {
            bail!("{}: is the file itself, which its outboard would replace", shown(&path));
        }
        output::spare_manifest(&path)?;
        if !self.force {
            output::spare_full(&path)?;
        }
        let mut replacement = begin(&path, &self.file)?;
        let len = data.len();
        progress.show(move || Some(len));
        let mut store = replacement.file().try_clone().with_context(|| shown(&path))?;
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
        let digest = made.digest;
        hears.hashed(1, 0);
        progress.finish();
        replacement.complete().with_context(|| shown(&path))?;
        appear(replacement, &path)?;
        self.say(&path, &digest, &made.layout)?;
        Ok(Outcome::Success)
    }

    fn say(&self, path: &Path, digest: &Hash, layout: &Layout) -> anyhow::Result<()> {
        let mut text = Vec::new();
        if self.json {
            let mut object = list::json::Object::about(&self.file);
            object.string("verdict", "hashed").string("type", "file");
            object.number("bytes", layout.len()).string("evidence", "read").null("detail");
            object.string("digest", &digest.to_hex());
            object.path("outboard", path).number("outboard_bytes", layout.bytes());
            text.extend(object.number("group", layout.group().bytes()).finish().bytes());
        } else {
            let digest = Digest::of_hash(digest, Extent::default()).expect("the whole digest");
            list::write_plain(&mut text, &Listed::new(&self.file), digest)?;
        }
        output::print(&text)
    }
}

/// Begins to write a file that appears when it is complete.
fn begin(path: &Path, data: &Path) -> anyhow::Result<Replacement> {
    // Without it, a signal leaves the temporary file behind; that is not a reason to do nothing at all.
    let _ = signals::watch();
    let mut unfinished = signals::unfinished();
    let replacement = Replacement::begin_of(path, [data])
        .with_context(|| format!("{}: cannot write the outboard", shown(path)))?;
    unfinished.push(replacement.temporary().to_owned());
    Ok(replacement)
}

fn appear(replacement: Replacement, path: &Path) -> anyhow::Result<()> {
    let mut unfinished = signals::unfinished();
    let appeared = replacement.appear();
    unfinished.clear();
    match appeared.with_context(|| shown(path))? {
        None => Ok(()),
        Some((left, error)) => bail!(
            "{}: this temporary file cannot be removed: {error}; {} is complete",
            shown(&left),
            shown(path)
        ),
    }
}
