//! `treewide sum --check`: check lists exactly as b3sum does.
//!
//! Strict where `treewide check` is forgiving: a list is UTF-8, a digest is 32 bytes in lower case,
//! every line that is not a checksum line counts as a failed check, and a list that cannot be read
//! to its end stops the run. (So does a line of 16 MiB, where b3sum would fill the memory.)

use crate::args::input::{Input, task};
use crate::shell::console::Console;
use crate::shell::output::Output;
use crate::shell::program::Program;
use crate::shell::stdin::{Stdin, is_stdin};
use crate::shell::streams;
use crate::shell::terminal::Form;
use crate::shell::wording::{cause, count};
use anyhow::{Context, bail};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use treewide::OUT_LEN;
use treewide_files::digest::{self, Extent};
use treewide_files::list;
use treewide_files::name::{self, shown};
use treewide_files::{ErrorKind, Event, Item, Source, Whole};

/// A pipe holds this many bytes.
const BUFFER: usize = 64 << 10;

/// Check all lists, and return the number of lines that failed.
///
/// A digest has the usual length, as --check takes no other. An offset is of no use, but b3sum takes it.
pub(crate) fn run(
    input: &Input,
    console: &Console<'_>,
    output: Output<'_>,
    lists: Vec<PathBuf>,
    extent: Extent,
    quiet: bool,
) -> anyhow::Result<u64> {
    let lists = Lists { stdin: &input.stdin, paths: lists.into_iter(), list: None, extent };
    let mut report = Report { console, output, quiet, failures: 0 };
    for event in input.run(lists) {
        report.event(event)?;
    }
    if report.failures > 0 {
        let failed = count(report.failures, "computed checksum");
        console.say(&format!("WARNING: {failed} did NOT match"));
    }
    report.output.finish()?;
    Ok(report.failures)
}

/// The files of one list after the other.
struct Lists<'a> {
    stdin: &'a Stdin,
    paths: std::vec::IntoIter<PathBuf>,
    /// The list that is being read.
    list: Option<List>,
    extent: Extent,
}

/// A list, open for reading line by line.
struct List {
    path: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    is_stream: bool,
    number: u64,
}

/// What a list holds in addition to files to check.
enum Note {
    Malformed(PathBuf, u64, Fault),
    /// The list cannot be read, which ends the run.
    Unreadable(anyhow::Error),
}

impl List {
    fn open(path: PathBuf, standard_input: &Stdin) -> io::Result<Self> {
        let (reader, is_stream): (Box<dyn Read>, bool) = if is_stdin(&path) {
            // A second list from there is empty, and not an error.
            let _ = standard_input.claim("the list");
            (Box::new(streams::Input::open()?), true)
        } else {
            let file = Whole::open(&path)?;
            let is_stream = !file.is_regular();
            (Box::new(file), is_stream)
        };
        let reader = BufReader::with_capacity(BUFFER, reader);
        Ok(Self { path, reader, is_stream, number: 0 })
    }

    /// The next line, or why it is not a checksum line. `None` at the end.
    fn next(&mut self) -> io::Result<Option<Result<Entry, Fault>>> {
        let mut line = Vec::new();
        list::read_line(&mut self.reader, &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(parse(&io::read_to_string(&line[..])?)))
    }
}

impl Source for Lists<'_> {
    type About = Expected;
    type Note = Note;

    fn next(&mut self) -> Option<Item<Expected, Note>> {
        loop {
            let Some(mut list) = self.list.take() else {
                let path = self.paths.next()?;
                let name = shown(&path);
                match List::open(path, self.stdin).map_err(ErrorKind::open).context(name) {
                    Ok(list) => self.list = Some(list),
                    Err(error) => return Some(Item::Note(Note::Unreadable(error))),
                }
                continue;
            };
            let item = match list.next() {
                Ok(None) => continue,
                // Lines before one that is not UTF-8 have been checked by then, as with b3sum.
                Err(error) => {
                    let error =
                        anyhow::Error::new(ErrorKind::read(error)).context(shown(&list.path));
                    return Some(Item::Note(Note::Unreadable(error)));
                }
                Ok(Some(Ok(Entry { listed, path, digest }))) => {
                    Item::File(task(path, self.extent, Expected { listed, digest }))
                }
                Ok(Some(Err(fault))) => {
                    Item::Note(Note::Malformed(list.path.clone(), list.number, fault))
                }
            };
            self.list = Some(list);
            return Some(item);
        }
    }

    fn may_wait(&self) -> bool {
        match &self.list {
            Some(list) => list.is_stream && !list.reader.buffer().contains(&b'\n'),
            // What is not a regular file, standard input above all, may wait to be opened.
            None => self.paths.as_slice().first().is_some_and(|list| !list.is_file()),
        }
    }
}

/// Writes the results.
struct Report<'a> {
    console: &'a Console<'a>,
    output: Output<'a>,
    quiet: bool,
    failures: u64,
}

impl Report<'_> {
    fn event(&mut self, event: Event<Expected, Note>) -> anyhow::Result<()> {
        match event {
            Event::File(file, result) => {
                self.output.spare(&file.path)?;
                let Expected { listed, digest } = file.about;
                let (holds, verdict) = match result {
                    // Also under our own name: b3sum writes this line to standard output.
                    Err(error) => (false, format!("FAILED ({})", cause(Program::B3sum, &error))),
                    Ok(hashed) => {
                        let holds = digest::equal(&hashed.digest.into_bytes(), &digest);
                        (holds, String::from(if holds { "OK" } else { "FAILED" }))
                    }
                };
                self.failures += u64::from(!holds);
                if holds && self.quiet {
                    return Ok(());
                }
                self.output.record(Form::Lines, |to| writeln!(to, "{listed}: {verdict}"))
            }
            Event::Note(Note::Malformed(list, number, Fault { cause, named })) => {
                self.output.flush()?;
                named.iter().try_for_each(|path| self.output.spare(path))?;
                self.console.say(&format!("{}:{number}: {cause}", shown(&list)));
                self.failures += 1;
                Ok(())
            }
            Event::Note(Note::Unreadable(error)) => {
                self.output.flush()?;
                Err(error)
            }
            Event::Pause => self.output.flush(),
            Event::Cancelled => bail!("cancelled before the end"),
        }
    }
}

/// What a list says of a file.
struct Expected {
    /// The name as the list has it, announcing backslash and all.
    listed: String,
    digest: Vec<u8>,
}

/// A line of a list.
#[derive(Debug)]
struct Entry {
    /// The name as the list has it, announcing backslash and all.
    listed: String,
    path: PathBuf,
    digest: Vec<u8>,
}

/// Why a line is not a checksum line, and the file that it names all the same.
#[derive(Debug)]
struct Fault {
    cause: &'static str,
    named: Option<PathBuf>,
}

impl From<&'static str> for Fault {
    fn from(cause: &'static str) -> Self {
        Self { cause, named: None }
    }
}

fn parse(line: &str) -> Result<Entry, Fault> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.is_empty() {
        return Err("empty line".into());
    }
    let strict = list::strict(line.as_bytes()).ok_or("invalid check line format")?;
    let path = if strict.has_escapes {
        let name = name::unescape(strict.name).ok_or("invalid backslash escape");
        name.and_then(|name| name::to_path(&name))
    } else {
        name::to_path(strict.name)
    };
    let mark = if strict.has_escapes { "\\" } else { "" };
    let listed = format!("{mark}{}", String::from_utf8_lossy(strict.name));
    match unhex(strict.digits) {
        Ok(digest) => Ok(Entry { listed, path: path?, digest }),
        Err(cause) => Err(Fault { cause, named: path.ok() }),
    }
}

fn unhex(digits: &[u8]) -> Result<Vec<u8>, &'static str> {
    if digits.len() != 2 * OUT_LEN {
        return Err("invalid hash length");
    }
    let is_lower_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digest = digest::unhex(digits).filter(|_| digits.iter().all(is_lower_hex));
    digest.ok_or("invalid hex")
}
