//! `snapshot --against`: the files of a tree are as a list of another program says, or no manifest of them is written.

use crate::commands::check::json::json;
use crate::shell::console::{Console, complain};
use crate::shell::output::{Output, Prints, Writes};
use crate::shell::program::Program;
use crate::shell::progress::Progress;
use crate::shell::stdin::is_stdin;
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use anyhow::Context;
use clap::Args;
use std::path::{Component, Path, PathBuf};
use treewide_digests::check::Status;
use treewide_digests::{List, Reading};
use treewide_files::check::{ListedFiles, Malformed, Note, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::{Listed, shown, shown_text};
use treewide_files::{Item, Source};
use treewide_manifest::journal;
use treewide_manifest::machine::{Against, Compared};

#[derive(Args)]
pub(super) struct AgainstArgs {
    /// Compare the files with a list of digests in the same reading, and write no manifest if one is not as listed
    ///
    /// The list may be any that `treewide check` reads, such as SHA256SUMS. Its names are relative to DIR, also if the list is elsewhere. A
    /// listed file that has another digest, is missing, or could not be compared ends the run with 1, and so does a list that seems to be
    /// cut off or names no file. A manifest that is there stays as it is. Files that no list names are recorded, and counted in the end.
    #[arg(long, value_name = "LIST", help_heading = "Verdict")]
    against: Vec<PathBuf>,
}

/// A directory, by several paths, and the digests that its files should have.
struct Reader<'a> {
    program: Program,
    dir: &'a Path,
    whole: PathBuf,
    /// The same with the links that the shell followed to the working directory.
    shown: Option<PathBuf>,
    against: Against,
    /// What makes a list unusable.
    faults: u64,
}

impl AgainstArgs {
    /// The lists.
    pub(super) fn lists(&self) -> &[PathBuf] {
        &self.against
    }

    /// The digests that lists have of files in `dir`. `None`, after messages, if a list cannot be relied on.
    pub(super) fn read(&self, program: Program, dir: &Path) -> anyhow::Result<Option<Against>> {
        let whole = dir.canonicalize().with_context(|| format!("{}: cannot read", shown(dir)))?;
        let here = std::env::var_os("PWD").map(PathBuf::from);
        let shown =
            here.map(|it| it.join(dir)).filter(|it| it.canonicalize().is_ok_and(|it| it == whole));
        let mut reader = Reader { program, dir, whole, shown, against: Against::new(), faults: 0 };
        self.against.iter().try_for_each(|list| reader.read(list))?;
        if reader.faults > 0 {
            let lists = if self.against.len() == 1 { "the list" } else { "a list" };
            let text = format!("{lists} cannot be relied on, so nothing was read or written");
            complain(program, &text);
        }
        Ok((reader.faults == 0).then_some(reader.against))
    }
}

impl Reader<'_> {
    fn fault(&mut self, about: &str, cause: &str) {
        self.faults += 1;
        complain(self.program, &format!("{about}: {}", shown_text(cause)));
    }

    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let at_list = || format!("{}: cannot read", shown(path));
        let lines = match is_stdin(path) {
            true => Lines::new(std::io::stdin(), true),
            false => Lines::open(path),
        };
        let lines = lines.with_context(at_list)?;
        // Names that are relative to the list are so to the directory, unless the list is below it.
        let in_dir = path.canonicalize().ok().filter(|it| it.starts_with(&self.whole));
        let named = in_dir.unwrap_or_else(|| path.file_name().unwrap_or_default().into());
        let list = List::new(&named, Reading::default());
        let mut files = ListedFiles::new(lines, list, false).relative_to(self.dir);
        let (mut found, mut malformed) = (0, 0);
        while let Some(item) = files.next() {
            match item {
                Item::File(file) => {
                    found += 1;
                    match self.name(&file.path) {
                        Ok(name) => self.against.expect(name, file.about),
                        Err(cause) => self.fault(&shown(&file.path), cause),
                    }
                }
                Item::Note(Note::Settled { path, verdict, .. }) => {
                    let cause = match verdict {
                        Verdict::Unverified(cause) => cause,
                        Verdict::Unreadable(cause) => cause.to_string(),
                        _ => String::new(),
                    };
                    self.fault(&shown(&path), &cause);
                }
                Item::Note(Note::Malformed(Malformed {
                    number,
                    cause,
                    is_cut,
                    has_digest,
                    ..
                })) => match is_cut || has_digest {
                    true => self.fault(&format!("{}:{number}", shown(path)), &cause),
                    false => malformed += 1,
                },
                Item::Note(Note::Unreadable(error)) => {
                    return Err(error).with_context(at_list);
                }
            }
        }
        if malformed > 0 {
            let lines = count(malformed, "malformed line");
            complain(self.program, &format!("{}: {lines} passed over", shown(path)));
        }
        if found == 0 && self.faults == 0 {
            self.fault(&shown(path), "names no file with a digest");
        }
        Ok(())
    }

    /// The name that the manifest has for this path.
    fn name(&self, path: &Path) -> Result<Vec<u8>, &'static str> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err("is named as a directory");
        }
        // As it was named, without links, and as the shell shows it.
        let dirs = [Some(self.dir.to_owned()), Some(self.whole.clone()), self.shown.clone()];
        let below = dirs.iter().flatten().find_map(|dir| path.strip_prefix(dir).ok());
        let mut name = Vec::new();
        for part in
            below.ok_or("is not in the directory, so that nothing compares it")?.components()
        {
            match part {
                Component::CurDir => continue,
                Component::Normal(part) => name.extend([b"/", part.as_encoded_bytes()].concat()),
                _ => return Err("has .. in its name; names are relative to the directory"),
            }
        }
        Ok(name.split_off(1.min(name.len())))
    }
}

/// Says what came of comparing, and whether the manifest may appear.
pub(super) fn say(
    compared: &Compared,
    list: &Path,
    (is_json, is_quiet): (bool, bool),
    console: &Console<'_>,
    progress: &Progress,
) -> anyhow::Result<bool> {
    let mut output = Output::open(None, &[], Prints::OnlyFailures, progress, Writes::Report)?;
    for finding in &compared.differ {
        if is_json {
            let line = json(finding);
            output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
            continue;
        }
        let tone = if finding.status == Status::Failed { Tone::Bad } else { Tone::Unknown };
        let cause = finding.cause.as_ref().map(|it| format!(" ({})", shown_text(it)));
        let name = format!("{}: ", Listed::new(&finding.path));
        output.verdict(&name, (tone, "FAILED"), &cause.unwrap_or_default())?;
    }
    output.finish()?;
    let (total, is_success) = (compared.total(), compared.is_success());
    if !is_quiet || !is_success {
        let unlisted = match compared.unlisted {
            0 => String::new(),
            number => format!("; {} not listed", count(number, "file")),
        };
        console.say(&format!("{total}{unlisted}"));
    }
    if !is_success && compared.ok == 0 && total.absent > 0 {
        console.say("no listed file is as listed; names in the list are relative to the directory");
    }
    if !is_success {
        let kept = match journal::is_left(list) {
            true => "; what was read is kept for that",
            false => "",
        };
        let text = "was not written, because it would record these files as they are; restore them, or take them out of the list, \
                    and run this again";
        console.about(list, format_args!("{text}{kept}"));
    }
    Ok(is_success)
}
