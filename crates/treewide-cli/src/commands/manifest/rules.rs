//! The flags that say what a manifest covers.

use crate::args::cover::CoverArgs;
use crate::shell::console::{Console, complain};
use crate::shell::program::Program;
use clap::Args;
use std::path::PathBuf;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{Report, Rules};

/// What a manifest covers.
#[derive(Args)]
#[command(next_help_heading = "Coverage")]
pub(crate) struct RulesArgs {
    #[command(flatten)]
    cover: CoverArgs,

    /// Follow symbolic links, instead of recording where they lead
    #[arg(long)]
    follow: bool,

    /// Leave other file systems below DIR alone
    #[arg(long)]
    one_file_system: bool,

    /// Also record permission bits
    #[arg(long)]
    modes: bool,

    /// Also record extended attributes, with access lists (not on Windows)
    ///
    /// They are compared each time, also by `update` and `verify --quick`. Those whose names begin with trusted. are recorded
    /// only if the administrator of the machine makes the manifest; others cannot see them.
    #[arg(long)]
    xattrs: bool,
}

impl RulesArgs {
    /// The rules; `None` if nothing was said of them.
    pub(super) fn rules(&self) -> anyhow::Result<Option<Rules>> {
        let rules = Rules {
            follow: self.follow,
            one_file_system: self.one_file_system,
            modes: self.modes,
            xattrs: if self.xattrs { Xattrs::readable() } else { Xattrs::None },
            ..self.cover.rules()?
        };
        Ok((rules != Rules::default()).then_some(rules))
    }

    /// The rules that are recorded, and these.
    pub(super) fn added_to(&self, mut old: Rules) -> anyhow::Result<Option<Rules>> {
        let Some(new) = self.rules()? else { return Ok(None) };
        old.exclude.extend(
            new.exclude.into_iter().filter(|it| !old.exclude.contains(it)).collect::<Vec<_>>(),
        );
        old.hidden &= new.hidden;
        old.follow |= new.follow;
        old.one_file_system |= new.one_file_system;
        old.modes |= new.modes;
        old.xattrs = old.xattrs.max(new.xattrs);
        Ok(Some(old))
    }

    /// The files that rules are read from.
    pub(super) fn files(&self) -> &[PathBuf] {
        self.cover.files()
    }

    /// Says which rules that were given matched nothing.
    pub(super) fn say_what_is_idle(&self, console: &Console, report: &Report) {
        for rule in report.idle_rules.iter().filter(|it| self.cover.has_named(it)) {
            let rule = treewide_files::name::shown_text(rule);
            console.say(&format!("--exclude {rule}: nothing has such a name"));
        }
    }

    /// Says what the rules cannot cover.
    pub(super) fn say_what_is_unseen(&self, program: Program) {
        if self.xattrs && Xattrs::readable() == Xattrs::WithoutTrusted {
            let text = "extended attributes trusted.* are not recorded: only the administrator of the machine sees them";
            complain(program, text);
        }
    }
}
