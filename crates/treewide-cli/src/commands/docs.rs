//! Completions and man pages, both generated from the definition of the command line.

use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use anyhow::Context;
use clap::error::ErrorKind;
use clap::{Args, Command};
use clap_complete::Shell;

pub(crate) const COMPLETIONS: Notes = Notes::new(&[
    ("treewide completions bash >~/.local/share/bash-completion/completions/treewide", ""),
    ("treewide completions bash --for b3sum >~/.local/share/bash-completion/completions/b3sum", ""),
    ("treewide completions zsh >~/.zfunc/_treewide", "in a folder of `fpath`"),
    ("treewide completions fish >~/.config/fish/completions/treewide.fish", ""),
]);

pub(crate) const MAN: Notes = Notes::new(&[
    ("treewide man sum | man -l -", "read a page"),
    ("treewide man outboard verify | man -l -", "that of a command of a command"),
    ("treewide man sum >~/.local/share/man/man1/treewide-sum.1", "install it"),
]);

/// Print completions for a shell
///
/// Each name of the program has completions of its own: install those for b3sum as well where a link of that name
/// leads to this program.
#[derive(Args)]
#[command(after_help = COMPLETIONS.short(), after_long_help = COMPLETIONS.long())]
pub(crate) struct CompletionsArgs {
    /// The shell in which to complete commands
    shell: Shell,

    /// The name by which the program is called
    #[arg(long = "for", value_name = "NAME", default_value_t = Program::Treewide)]
    program: Program,
}

impl CompletionsArgs {
    /// Print completions for the command line that `root` defines for a program.
    pub(crate) fn run(&self, root: impl Fn(Program) -> Command) -> anyhow::Result<Outcome> {
        let (name, mut text) = (self.program.name(), Vec::new());
        clap_complete::generate(self.shell, &mut root(self.program), name, &mut text);
        if self.shell == Shell::Bash {
            text.extend(BASH.replace("NAME", name).bytes());
        }
        output::print(&text)?;
        Ok(Outcome::Success)
    }
}

/// What clap makes for bash offers options in place of every word, so that an empty one becomes their common start `-`
/// and no file is offered. This takes the place of its registration.
const BASH: &str = r#"
# Options are for words that begin with a dash. Where nothing else is left, bash completes the names of files.
_NAME_words() {
    _NAME "$@"
    [[ $2 != -* ]] || return 0
    local word words=()
    for word in "${COMPREPLY[@]}"; do
        [[ $word == -* ]] || words+=("$word")
    done
    COMPREPLY=(${words[@]+"${words[@]}"})
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _NAME_words -o nosort -o bashdefault -o default NAME
else
    complete -F _NAME_words -o bashdefault -o default NAME
fi
"#;

/// Print a man page
#[derive(Args)]
#[command(after_help = MAN.short(), after_long_help = MAN.long())]
pub(crate) struct ManArgs {
    /// The command that the page is about, such as `outboard verify`; without it, the program as a whole
    #[arg(num_args = 0..=2)]
    command: Vec<String>,
}

impl ManArgs {
    /// Print a page of the command line that `root` defines, with its notes.
    pub(crate) fn run(
        &self,
        root: Command,
        notes: impl Fn(&[String]) -> Notes,
    ) -> anyhow::Result<Outcome> {
        // `treewide help` has no page.
        let mut root = root
            .disable_help_subcommand(true)
            .mut_subcommands(|command| command.disable_help_subcommand(true));
        // Each command then knows that it is `treewide sum`, and its page that it is `treewide-sum`.
        root.build();
        let mut page = root;
        for name in &self.command {
            page = command_of(&page, name)?.clone();
        }
        let text = render(page, &notes(&self.command)).context("cannot render the man page")?;
        output::print(&text)?;
        Ok(Outcome::Success)
    }
}

/// The command of another with this name.
fn command_of<'a>(command: &'a Command, name: &str) -> Result<&'a Command, clap::Error> {
    command.find_subcommand(name).ok_or_else(|| {
        let all: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        let of = command.get_bin_name().unwrap_or_default();
        let text = format!("`{of}` has no command `{name}`; it has {all}\n");
        clap::Error::raw(ErrorKind::InvalidSubcommand, text)
    })
}

/// The page, with sections of their own for the help below the options.
fn render(command: Command, notes: &Notes) -> std::io::Result<Vec<u8>> {
    let (has_commands, page) = (command.has_subcommands(), clap_mangen::Man::new(command));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    notes.sections().to_writer(&mut text)?;
    page.render_version_section(&mut text)?;
    Ok(text)
}
