//! The flags that say what below a directory is left out: the same in every command.

use crate::shell::usage::wrong_value;
use clap::Args;
use std::path::PathBuf;
use treewide_files::name::shown;
use treewide_files::walk::{Found, Walk};
use treewide_manifest::{Globs, Rules};

/// What systems put next to the files of people.
const JUNK: [&str; 5] = [".DS_Store", "Thumbs.db", "@eaDir/", ".Trash*/", "lost+found/"];

#[derive(Args)]
#[command(next_help_heading = "Coverage")]
pub(crate) struct CoverArgs {
    /// Exclude paths that match GLOB, and everything below them
    ///
    /// A glob without `/` matches a name at any depth (*.tmp), one with `/` a path from the directory on (/a/b, a/**/b);
    /// one that ends in `/` matches directories only.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Read globs from a file, one a line; empty lines and lines that begin with # are passed over
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    exclude_from: Vec<PathBuf>,

    /// Leave out .DS_Store, Thumbs.db, @eaDir, .Trash* and lost+found
    #[arg(long)]
    no_junk: bool,

    /// Leave out files and directories whose name begins with a dot
    #[arg(long)]
    no_hidden: bool,
}

impl CoverArgs {
    /// What is covered.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        let mut exclude = self.exclude.clone();
        for path in &self.exclude_from {
            let text = std::fs::read_to_string(path)
                .map_err(|error| anyhow::anyhow!("{}: {error}", shown(path)))?;
            // Editors on Windows put a mark before the first rule.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            exclude.extend(lines.map(str::to_owned));
        }
        exclude.extend(JUNK.iter().filter(|_| self.no_junk).map(|it| (*it).to_owned()));
        // A glob that cannot be parsed is reported before anything is written.
        Globs::new(&exclude).map_err(wrong_value)?;
        Ok(Rules { exclude, hidden: !self.no_hidden, ..Rules::default() })
    }

    /// The files that rules are read from.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.exclude_from
    }

    /// Whether a person named this rule.
    pub(crate) fn has_named(&self, rule: &str) -> bool {
        !(self.no_junk && JUNK.contains(&rule))
    }
}

/// The files that a walk finds.
pub(crate) fn files(walk: Walk) -> impl Iterator<Item = PathBuf> {
    walk.into_iter().filter_map(|found| match found {
        Found::File { path, .. } => Some(path),
        _ => None,
    })
}
