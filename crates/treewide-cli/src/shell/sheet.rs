//! Writes the rows and the summary of a command as text, as JSON, as paths or on a page, and says its messages.

use crate::args::output::OutputArgs;
use crate::shell::again::Again;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::Output;
use crate::shell::page::Page;
use crate::shell::program::Program;
use crate::shell::progress::Progress;
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown};

/// The form of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    Text,
    Json,
    /// Paths alone, each with a zero byte after it.
    Paths,
}

/// What a command has found out about a path. Every row of every command has these keys in JSON.
pub(crate) struct Row<'a> {
    pub(crate) path: &'a Path,
    pub(crate) verdict: &'a str,
    /// The key `type`.
    pub(crate) kind: &'a str,
    pub(crate) bytes: Option<u64>,
    pub(crate) evidence: Option<&'a str>,
    /// Empty if there is none.
    pub(crate) detail: String,
    /// Adds the other keys.
    pub(crate) more: &'a dyn Fn(&mut Object),
    pub(crate) tone: Tone,
    pub(crate) text: Text<'a>,
}

/// A row for people.
pub(crate) enum Text<'a> {
    /// `CHANGED  path  (detail)`, the word in a column this wide.
    Word(usize),
    /// What is before, in and after the word that has the colour.
    Parts(&'a dyn Fn() -> (String, String, String)),
}

/// The verdict on everything, and counts.
pub(crate) struct Summary<'a> {
    pub(crate) path: &'a Path,
    pub(crate) outcome: Outcome,
    /// The last line for people, and the key `detail`.
    pub(crate) text: String,
    pub(crate) counts: Vec<(&'a str, u64)>,
    /// The least evidence that there is for the verdict, if that is not the same in all runs.
    pub(crate) evidence: Option<&'a str>,
    /// Adds the other keys.
    pub(crate) more: &'a dyn Fn(&mut Object),
}

impl<'a> Row<'a> {
    /// A row with a word of eight letters in front.
    pub(crate) fn new(path: &'a Path, verdict: &'a str, kind: &'a str, tone: Tone) -> Self {
        let (bytes, evidence, detail) = (None, None, String::new());
        let (more, text): (&dyn Fn(&mut Object), _) = (&|_| {}, Text::Word(8));
        Self { path, verdict, kind, bytes, evidence, detail, more, tone, text }
    }

    fn json(&self) -> String {
        let mut object = Object::about(self.path);
        object.string("verdict", self.verdict).string("type", self.kind);
        object.number_or_null("bytes", self.bytes).string_or_null("evidence", self.evidence);
        let detail = Some(&*self.detail).filter(|it| !it.is_empty());
        (self.more)(object.string_or_null("detail", detail));
        object.finish()
    }

    fn parts(&self) -> (String, String, String) {
        let width = match self.text {
            Text::Parts(parts) => return parts(),
            Text::Word(width) => width,
        };
        let word = format!("{:<width$}", self.verdict.to_uppercase());
        // The root has no name.
        let is_root = self.path.as_os_str().is_empty();
        let name = Listed::new(if is_root { Path::new(".") } else { self.path });
        let slash = if self.kind == "directory" { "/" } else { "" };
        let detail =
            if self.detail.is_empty() { String::new() } else { format!("  ({})", self.detail) };
        (String::new(), word, format!(" {name}{slash}{detail}"))
    }
}

impl<'a> Summary<'a> {
    pub(crate) fn new(
        path: &'a Path,
        outcome: Outcome,
        text: String,
        counts: Vec<(&'a str, u64)>,
    ) -> Self {
        Self { path, outcome, text, counts, evidence: None, more: &|_| {} }
    }

    fn json(&self) -> String {
        let mut object = Object::about(self.path);
        object.string("verdict", self.outcome.word()).string("type", "summary");
        object.null("bytes").string_or_null("evidence", self.evidence);
        object.string("detail", &self.text);
        for (key, number) in &self.counts {
            object.number(key, *number);
        }
        (self.more)(&mut object);
        object.finish()
    }
}

/// The place of everything that a command writes and says.
pub(crate) struct Sheet {
    pub(crate) console: Console,
    pub(crate) progress: Rc<Progress>,
    /// `None` when everything is written.
    output: Option<Output>,
    page: Option<Page>,
    form: As,
    quiet: bool,
    again: Again,
    /// The operand that rows are about, where there are several, and whether a line says so.
    name: Option<(String, bool)>,
}

impl Sheet {
    pub(crate) fn new(
        program: Program,
        progress: Rc<Progress>,
        output: Output,
        form: As,
        quiet: bool,
    ) -> Self {
        let console = Console::new(program, Rc::clone(&progress));
        let (output, page, again) = (Some(output), None, Again::default());
        Self { console, progress, output, page, form, quiet, again, name: None }
    }

    /// Lets a line with this name come before the rows, and the name before the counts.
    pub(crate) fn set_name(&mut self, name: &Path) {
        self.name = Some((shown(name), false));
    }

    /// The text, after the name.
    pub(crate) fn named(&self, text: String) -> String {
        self.name.as_ref().map_or(text.clone(), |(name, _)| format!("{name}: {text}"))
    }

    /// Lets rows be paths alone.
    pub(crate) fn as_paths(&mut self) {
        self.form = As::Paths;
    }

    /// Also writes a page, if one was asked for.
    pub(crate) fn with_page(
        &mut self,
        path: Option<&Path>,
        output: &OutputArgs,
        inputs: &[PathBuf],
    ) -> anyhow::Result<()> {
        let open = |path| Page::open((path, output.force()), inputs, &self.progress);
        self.page = path.map(open).transpose()?;
        Ok(())
    }

    /// Where rows go.
    pub(crate) fn output(&mut self) -> &mut Output {
        self.output.as_mut().expect("nothing is written after the end")
    }

    /// The files that appear in the end, and the temporary ones.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let of_output = self.output.iter().flat_map(Output::places);
        of_output.chain(self.page.iter().flat_map(Page::places)).collect()
    }

    /// Writes a row.
    pub(crate) fn row(&mut self, row: &Row<'_>) -> anyhow::Result<()> {
        if let Some(page) = &mut self.page {
            page.row(&row.json())?;
        }
        match self.form {
            As::Json => self.output().record(Form::Json, |to| to.write_all(row.json().as_bytes())),
            As::Paths => {
                let path = row.path.as_os_str().as_encoded_bytes();
                let slash: &[u8] = if row.kind == "directory" { b"/\0" } else { b"\0" };
                self.output().record(Form::Raw, |to| to.write_all(&[path, slash].concat()))
            }
            As::Text => {
                let (before, word, after) = row.parts();
                match row.tone {
                    Tone::Bad | Tone::Changed | Tone::Unknown => {
                        self.again.problem(|| format!("{before}{word}{after}"));
                    }
                    Tone::Good | Tone::Moved => self.again.line(),
                }
                if let Some((name, is_said @ false)) = &mut self.name {
                    *is_said = true;
                    let name = format!("{name}:");
                    self.output().verdict(&name, (Tone::Good, ""), "")?;
                }
                self.output().verdict(&before, (row.tone, &word), &after)
            }
        }
    }

    /// Lets what was written so far be seen.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.output().flush()
    }

    /// Lets the output appear without a summary.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        self.output.take().map_or(Ok(()), Output::finish)?;
        self.progress.finish();
        Ok(())
    }

    /// Writes the summary for programs, lets files appear, and ends the progress.
    pub(crate) fn close(&mut self, summary: &Summary<'_>) -> anyhow::Result<()> {
        if let (As::Json, false) = (self.form, self.quiet) {
            let line = summary.json();
            self.output().record(Form::Json, |to| to.write_all(line.as_bytes()))?;
        }
        self.finish()?;
        self.page.take().map_or(Ok(()), |page| page.finish(&summary.json()))?;
        self.again.say(&self.console, "the problems again:");
        Ok(())
    }

    /// Writes and says everything that comes last.
    pub(crate) fn end(&mut self, summary: &Summary<'_>) -> anyhow::Result<Outcome> {
        self.close(summary)?;
        let is_silent = self.quiet && summary.outcome == Outcome::Success;
        if !is_silent && !summary.text.is_empty() {
            self.console.say(&summary.text);
        }
        Ok(summary.outcome)
    }
}
