//! What follows from the definition of the command line: completions and man pages.

use crate::outcome::Outcome;
use crate::output;
use anyhow::Context;
use clap::{Args, Command, ValueEnum};
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
    /// Print completions for the command line that `root` defines.
    pub(crate) fn run(&self, mut root: Command) -> anyhow::Result<Outcome> {
        let (name, mut text) = (root.get_name().to_owned(), Vec::new());
        clap_complete::generate(self.shell, &mut root, name, &mut text);
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
    /// Print a page of the command line that `root` defines.
    pub(crate) fn run(&self, mut root: Command) -> anyhow::Result<Outcome> {
        // Each command then knows that it is `treewide sum`, and its page that it is `treewide-sum`.
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
