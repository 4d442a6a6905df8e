//! What the definition of the command line can tell about itself: completions, man pages.

use crate::cli::Treewide;
use crate::{Outcome, output};
use anyhow::Context;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

/// Print completions for a shell
///
/// For example, for bash: treewide completions bash >
/// ~/.local/share/bash-completion/completions/treewide
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell in which to complete commands
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Treewide::command(), "treewide", &mut text);
        output::print(&text)?;
        Ok(Outcome::Success)
    }
}

/// Print a man page
///
/// To read one: treewide man sum | man -l -. To install it: treewide man sum >
/// ~/.local/share/man/man1/treewide-sum.1
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command that the page is about; without it, the program as a whole
    command: Option<Page>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Page {
    Sum,
    Check,
    Explain,
    Completions,
    Man,
}

impl ManArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        let mut root = Treewide::command();
        // So that each command knows to be `treewide sum`, and its page `treewide-sum`.
        root.build();
        let page = match self.command.and_then(|page| page.to_possible_value()) {
            None => root,
            Some(page) => root
                .find_subcommand(page.get_name())
                .with_context(|| format!("there is no command {}", page.get_name()))?
                .clone(),
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).context("cannot render the man page")?;
        output::print(&text)?;
        Ok(Outcome::Success)
    }
}
