//! Manifests of trees: what `snapshot`, `verify`, `update`, `diff` and `manifest` have in common.
//!
//! The library `treewide-manifest` decides everything; here are words, lines and exit codes.

pub(crate) mod compare;
mod html;
pub(crate) mod make;
mod report;
pub(crate) mod show;

use crate::console::complain;
use crate::outcome::Outcome;
use crate::output;
use crate::program::Program;
use clap::Args;
use std::path::{Path, PathBuf};
use treewide_manifest::record::Type;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{ErrorKind, Finding, Globs, Manifest, Rules, Verdict};

/// Exit codes of the commands that compare.
pub(crate) const EXIT: &[(&str, &str)] = &[
    ("0", "everything is as recorded"),
    ("1", "something differs"),
    ("2", "invalid usage"),
    (
        "3",
        "nobody can say: a file cannot be read, or the manifest is damaged (also if something differs as well)",
    ),
];

/// Runs a command. What stops it is exit code 3, because nobody can say then whether the tree differs.
pub(crate) fn run(
    program: Program,
    command: impl FnOnce() -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    match command() {
        Err(error) if !output::reader_is_gone(&error) && !error.is::<clap::Error>() => {
            complain(program, &format!("{error:#}"));
            let is_usage = matches!(
                error
                    .downcast_ref::<treewide_manifest::Error>()
                    .map(treewide_manifest::Error::kind),
                Some(ErrorKind::Usage(_))
            );
            Ok(if is_usage { Outcome::BadUsage } else { Outcome::CannotTell })
        }
        ended => ended,
    }
}

/// What a manifest covers.
#[derive(Args)]
#[command(next_help_heading = "Coverage")]
pub(crate) struct RulesArgs {
    /// Leave out paths that match a glob, and what is below them
    ///
    /// A glob without `/` matches a name at any depth (*.tmp), one with `/` a path from the root on (/a/b, a/**/b);
    /// one that ends in `/` matches directories only. The rules are recorded, and `verify` and `update` use them.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Read globs from a file, one a line; empty lines and lines that begin with # are passed over
    #[arg(long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,

    /// Leave out files and directories whose name begins with a dot
    #[arg(long)]
    no_hidden: bool,

    /// Follow symbolic links, instead of recording where they lead
    #[arg(long)]
    follow: bool,

    /// Leave other file systems below DIR alone
    #[arg(long)]
    one_file_system: bool,

    /// Record permission bits, too
    #[arg(long)]
    modes: bool,

    /// Record extended attributes, too, with access lists (not on Windows)
    ///
    /// They are compared each time, also by `update` and `verify --quick`. Those whose names begin with trusted. are recorded
    /// only if the administrator of the machine makes the manifest; others cannot see them.
    #[arg(long)]
    xattrs: bool,
}

impl RulesArgs {
    /// The rules; `None` if nothing was said of them.
    fn rules(&self) -> anyhow::Result<Option<Rules>> {
        let mut exclude = self.exclude.clone();
        for path in &self.exclude_from {
            let text = std::fs::read_to_string(path).map_err(|error| {
                anyhow::anyhow!("{}: {error}", treewide_files::name::shown(path))
            })?;
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            exclude.extend(lines.map(str::to_owned));
        }
        // A glob that cannot be parsed is told before anything is written.
        Globs::new(&exclude)?;
        let rules = Rules {
            exclude,
            hidden: !self.no_hidden,
            follow: self.follow,
            one_file_system: self.one_file_system,
            modes: self.modes,
            xattrs: if self.xattrs { Xattrs::readable() } else { Xattrs::None },
        };
        Ok((rules != Rules::default()).then_some(rules))
    }

    /// Says what the rules cannot cover.
    fn say_what_is_unseen(&self, program: Program) {
        if self.xattrs && Xattrs::readable() == Xattrs::WithoutTrusted {
            let text = "extended attributes trusted.* are not recorded: only the administrator of the machine sees them";
            complain(program, text);
        }
    }
}

/// Whether it is about a file that was not read because its key is as recorded, for the progress.
fn is_passed(finding: &Finding) -> bool {
    finding.kind == Type::File && finding.verdict == (Verdict::Same { read: false })
}

/// The most records whose paths are looked for where no directory is named.
const LOOKED_FOR: usize = 1000;

/// The tree: `.` if none is named, and if it has anything that `manifest` has. Else another tree would pass for one that was
/// emptied and filled, and `update` would record it.
fn root<'a>(dir: Option<&'a Path>, manifest: Option<&Manifest>) -> anyhow::Result<&'a Path> {
    let here = Path::new(".");
    let (None, Some(manifest)) = (dir, manifest) else { return Ok(dir.unwrap_or(here)) };
    let mut missing = 0;
    for record in manifest.records()?.take(LOOKED_FOR) {
        let record = record?;
        match treewide_files::name::os_path(record.bare()) {
            Ok(name) if here.join(&name).symlink_metadata().is_ok() => return Ok(here),
            _ => missing += 1,
        }
    }
    if missing > 0 {
        let list = treewide_files::name::shown(manifest.list().path());
        anyhow::bail!(
            "{list}: nothing that it lists is in this directory ({missing} looked for); name its directory behind it, or \
             '.' for this one"
        );
    }
    Ok(here)
}
