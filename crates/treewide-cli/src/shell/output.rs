//! Where results go: standard output, line by line, or a file that appears all at once.
//!
//! A file named with `-o` is new or empty, unless `--force` is given, and never an input, a listed file or a manifest. It is written
//! next to its final place, under a temporary name, and renamed when it is complete ([`Replacement`]). Until then the previous file stays in place. If we fail
//! or are ended by a signal (except SIGKILL, which cannot be caught) before it is complete, nothing of ours is left.

use crate::shell::descriptor::{Descriptor, descriptor};
use crate::shell::progress::Progress;
use crate::shell::signals;
use crate::shell::stdin::is_stdin;
use crate::shell::streams::{self, Stream};
use crate::shell::terminal::{self, Form};
use crate::shell::tone::Tone;
use crate::shell::usage::wrong_value;
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, bail};
use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_files::name::shown;
use treewide_files::{Replacement, long_path};

/// Bytes of lines that are gathered before they are written, unless they are flushed sooner.
const BUFFER: usize = 64 << 10;

const REPLACED: &str = "is an input, and the output would replace it";

/// Whether a run prints something in any case, or only if something is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prints {
    Always,
    OnlyFailures,
}

/// An open place for results.
pub(crate) struct Output {
    sink: Sink,
    is_terminal: bool,
    has_colors: bool,
    progress: Rc<Progress>,
    identities: Vec<Identity>,
}

enum Sink {
    Stdout(BufWriter<streams::Output>),
    /// A pipe or a device was named: there is nothing to rename.
    Special(PathBuf, BufWriter<File>),
    /// A file that appears in the end, and its name.
    Replacement(PathBuf, Box<Replacement>),
}

impl Output {
    /// Start writing to the file at `path`, or to standard output. This fails now, not after hours of hashing, if the file
    /// cannot be written, if it is one of the `inputs` or standard input, or if it has bytes and `force` is false. (What lists name is
    /// spared when it is read.) It is no more readable than `sources`.
    pub(crate) fn open(
        path: Option<&Path>,
        force: bool,
        (inputs, sources): (&[PathBuf], &[PathBuf]),
        prints: Prints,
        progress: &Rc<Progress>,
    ) -> anyhow::Result<Self> {
        // Before anything is written. What appears later is seen in the end.
        let spared = path.map_or(Ok(()), spare_full);
        let sink = match path {
            Some(path) if path != Path::new("-") => {
                spare_manifest(path)?;
                Sink::open(path, sources)
                    .with_context(|| format!("{}: cannot write the output", shown(path)))?
            }
            _ => Sink::stdout()?,
        };
        if let (Sink::Stdout(_), Prints::Always) = (&sink, prints) {
            Stream::Output.require().context("standard output")?;
        }
        let (identities, is_terminal) = (sink.identities(), sink.is_terminal());
        let has_colors = match &sink {
            Sink::Stdout(_) => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            _ => ColorChoice::global() == ColorChoice::Always,
        };
        let progress = Rc::clone(progress);
        let output = Self { identities, sink, is_terminal, has_colors, progress };
        inputs.iter().try_for_each(|input| output.spare(input))?;
        // It may be an input, a list or a key.
        if output.replaces(|| metadata(&io::stdin())) {
            bail!("standard input: {REPLACED}");
        }
        if let (Sink::Replacement(..), false) = (&output.sink, force) {
            spared?;
        }
        Ok(output)
    }

    /// Whether people read it, and programs do not.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The file that appears in the end, so that a caller can write at any place in it.
    pub(crate) fn file(&self, path: &Path) -> anyhow::Result<File> {
        match &self.sink {
            Sink::Replacement(_, it) => it.file().try_clone().with_context(|| shown(path)),
            Sink::Stdout(_) | Sink::Special(..) => bail!("{}: is not a regular file", shown(path)),
        }
    }

    /// Write one record: a line, as a rule. It may not be seen before [`Self::flush`].
    pub(crate) fn record(
        &mut self,
        form: Form,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        if self.is_terminal && form != Form::Raw {
            let mut line = Vec::new();
            write(&mut line).map_err(|error| self.sink.failure(error))?;
            let line = String::from_utf8_lossy(&line);
            let line = terminal::escape(&line, form);
            return self.write(|to| to.write_all(line.as_bytes()));
        }
        self.write(write)
    }

    /// Write a line with a verdict, which has its colour where the output has colours.
    pub(crate) fn verdict(
        &mut self,
        before: &str,
        (tone, word): (Tone, &str),
        after: &str,
    ) -> anyhow::Result<()> {
        let shown = |text| match self.is_terminal {
            true => terminal::escape(text, Form::Lines),
            false => Cow::Borrowed(text),
        };
        let has_colors = self.has_colors && !word.is_empty();
        let word = if has_colors { tone.paint(word) } else { word.to_owned() };
        let line = format!("{}{word}{}\n", shown(before), shown(after));
        self.write(|to| to.write_all(line.as_bytes()))
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        // A writer that is full writes by itself, into the progress line; so it is never full.
        if matches!(&self.sink, Sink::Stdout(writer) if writer.buffer().len() > BUFFER / 2) {
            self.flush()?;
        }
        let sink = &mut self.sink;
        let result = match sink {
            Sink::Stdout(writer) => write(writer),
            Sink::Special(_, writer) => write(writer),
            Sink::Replacement(_, replacement) => write(replacement),
        };
        result.map_err(|error| sink.failure(error))
    }

    /// Let the reader of the other end see the records so far.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        let result = match &mut self.sink {
            Sink::Stdout(writer) if self.progress.shares_terminal_with_stdout() => {
                self.progress.pause(|| writer.flush())
            }
            Sink::Stdout(writer) => writer.flush(),
            Sink::Special(_, writer) => writer.flush(),
            // No one sees it before it is complete.
            Sink::Replacement(..) => Ok(()),
        };
        result.map_err(|error| self.sink.failure(error))
    }

    /// Everything was written: let the file appear.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let result = match &mut self.sink {
            Sink::Stdout(writer) => writer.flush().and_then(|()| writer.get_ref().close()),
            Sink::Special(_, writer) => {
                writer.flush().and_then(|()| streams::close(writer.get_ref()))
            }
            Sink::Replacement(_, replacement) => replacement.complete(),
        };
        result.map_err(|error| self.sink.failure(error))?;
        if let Sink::Replacement(name, replacement) = self.sink {
            let mut unfinished = signals::unfinished();
            let temporary = replacement.temporary().to_owned();
            let appeared = replacement.appear();
            // It has its name now, or stays under the temporary one.
            unfinished.retain(|it| *it != temporary);
            let left = appeared.map_err(|error| WriteError { place: shown(&name), error })?;
            if let Some((path, error)) = left {
                let path = shown(&path);
                bail!(
                    "{path}: this temporary file cannot be removed: {error}; {} is complete",
                    shown(&name)
                );
            }
        }
        Ok(())
    }

    /// An error if this file, which the run reads, would be gone when everything is done.
    pub(crate) fn spare(&self, input: &Path) -> anyhow::Result<()> {
        // Standard input is looked at when the run begins.
        if !is_stdin(input) && self.replaces(|| found(input)) {
            bail!("{}: {REPLACED}", shown(input));
        }
        Ok(())
    }

    /// An error if this output would replace a file below this folder: each of them is an input.
    pub(crate) fn spare_below(&self, folder: PathBuf) -> anyhow::Result<()> {
        match &self.sink {
            Sink::Replacement(path, _) => spare_below(path, &[folder]),
            Sink::Stdout(_) | Sink::Special(..) => Ok(()),
        }
    }

    fn replaces(&self, input: impl FnOnce() -> Option<Metadata>) -> bool {
        // No one asks the system where the answer cannot be yes.
        self.identities.iter().any(|it| it.written_as == WrittenAs::NamedFile)
            && input()
                .and_then(|it| Identity::of(&it, WrittenAs::NamedFile))
                .is_some_and(|it| self.identities.contains(&it))
    }

    /// The file that appears in the end and the one that is written until then: both are ours, and not found by the run.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        match &self.sink {
            Sink::Replacement(name, replacement) => {
                vec![name.clone(), replacement.temporary().to_owned()]
            }
            Sink::Stdout(_) | Sink::Special(..) => Vec::new(),
        }
    }

    /// Which files this run is writing.
    pub(crate) fn written(&self) -> Written {
        Written(self.identities.clone())
    }
}

/// An error if the file has bytes: only `--force` replaces them.
fn spare_full(path: &Path) -> anyhow::Result<()> {
    match path.metadata() {
        Ok(there) if there.len() > 0 => {
            let text = format!("{}: exists and is not empty; --force replaces it", shown(path));
            Err(wrong_value(text).into())
        }
        _ => Ok(()),
    }
}

/// An error if a manifest would lose a part.
fn spare_manifest(path: &Path) -> anyhow::Result<()> {
    let Some(list) = treewide_manifest::machine::manifest_at(path) else { return Ok(()) };
    let (name, list) = (shown(path), shown(&list));
    let text = format!(
        "{name}: is a part of the manifest {list}, which would be lost; name another file, or move the manifest away"
    );
    Err(wrong_value(text).into())
}

/// An error if the output would replace a file below one of the `inputs`, which are read as a whole.
pub(crate) fn spare_below(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    // Links are followed, as when it is replaced.
    let Some(place) = path.canonicalize().ok().filter(|it| it.is_file()) else { return Ok(()) };
    let is_below = |it: &&PathBuf| {
        it.is_dir() && it.canonicalize().is_ok_and(|folder| place.starts_with(folder))
    };
    let Some(folder) = inputs.iter().find(is_below) else { return Ok(()) };
    let (path, folder) = (shown(path), shown(folder));
    let text = format!(
        "{path}: is a file in {folder}, which is an input, and the output would replace it; name another file"
    );
    Err(wrong_value(text).into())
}

/// The files that a run is writing.
pub(crate) struct Written(Vec<Identity>);

impl Written {
    /// Whether the named file is what standard output was directed to.
    pub(crate) fn is_standard_output(&self, path: &Path) -> bool {
        let is_output = |it: &Identity| it.written_as == WrittenAs::StandardOutput;
        // No one asks the system where the answer cannot be yes.
        self.0.iter().any(is_output)
            && !is_stdin(path)
            && found(path)
                .and_then(|it| Identity::of(&it, WrittenAs::StandardOutput))
                .is_some_and(|it| self.0.contains(&it))
    }

    /// Whether the file found by a walk is one of them.
    ///
    /// `inode` is what the walk knows of the file without asking the system again.
    pub(crate) fn is_at(&self, path: &Path, inode: u64) -> Option<WrittenAs> {
        let candidate = self.0.iter().find(|identity| identity.inode == inode)?;
        (Identity::of(&fs::metadata(path).ok()?, candidate.written_as)?.device == candidate.device)
            .then_some(candidate.written_as)
    }
}

impl Sink {
    fn open(path: &Path, sources: &[PathBuf]) -> anyhow::Result<Self> {
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => bail!("is a directory; name a file in it"),
            Ok(there) => match descriptor(path) {
                // Its file is the shell's, which has written to it, and may continue after us.
                Some(Descriptor::Ours(1)) => Self::stdout(),
                Some(Descriptor::Ours(2)) => Self::stderr(path),
                // A file that we opened by this name would have a place of its own to write at.
                Some(Descriptor::Ours(number)) if there.is_file() => bail!(
                    "is an open file that nothing can be added to by this name; direct standard \
                     output there, by >&{number}"
                ),
                Some(Descriptor::Foreign) if there.is_file() => bail!(
                    "is an open file of another process or thread, whose writing would be lost; \
                     name the file itself"
                ),
                _ if there.is_file() => Self::replacement(path, sources),
                _ => {
                    let file = OpenOptions::new().write(true).open(path)?;
                    Ok(Self::Special(path.to_owned(), BufWriter::new(file)))
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::replacement(path, sources)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn stdout() -> anyhow::Result<Self> {
        #[cfg(unix)]
        if rustix::fs::fcntl_getfl(io::stdout())
            .is_ok_and(|flags| flags & rustix::fs::OFlags::ACCMODE == rustix::fs::OFlags::RDONLY)
        {
            bail!("standard output is open for reading only");
        }
        let stdout = streams::Output::new(Stream::Output);
        Ok(Self::Stdout(BufWriter::with_capacity(BUFFER, stdout)))
    }

    #[cfg(unix)]
    fn stderr(path: &Path) -> anyhow::Result<Self> {
        use std::os::fd::AsFd;
        Stream::Error.require()?;
        let file = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        Ok(Self::Special(path.to_owned(), BufWriter::new(file)))
    }

    #[cfg(not(unix))]
    fn stderr(_: &Path) -> anyhow::Result<Self> {
        unreachable!("there are no names of descriptors")
    }

    fn replacement(path: &Path, sources: &[PathBuf]) -> anyhow::Result<Self> {
        // Without it, a signal leaves the temporary file behind; that is not a reason to do nothing at all.
        let _ = signals::watch();
        let mut unfinished = signals::unfinished();
        let replacement = Replacement::begin_of(path, sources.iter().map(|it| &**it))?;
        unfinished.push(replacement.temporary().to_owned());
        Ok(Self::Replacement(path.to_owned(), Box::new(replacement)))
    }

    fn failure(&self, error: io::Error) -> anyhow::Error {
        let place = match self {
            Self::Stdout(_) => "standard output".into(),
            Self::Special(path, _) => shown(path),
            Self::Replacement(name, _) => shown(name),
        };
        WriteError { place, error }.into()
    }

    fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout(_) => io::stdout().is_terminal(),
            Self::Special(_, writer) => writer.get_ref().is_terminal(),
            Self::Replacement(..) => false,
        }
    }

    fn identities(&self) -> Vec<Identity> {
        let found = match self {
            Self::Stdout(_) => {
                vec![metadata(&io::stdout()).map(|it| (it, WrittenAs::StandardOutput))]
            }
            Self::Special(_, writer) => {
                // The bytes on a disk are lost, as those in a file.
                let metadata = writer.get_ref().metadata().ok();
                vec![metadata.map(|it| match is_block_device(&it) {
                    true => (it, WrittenAs::NamedFile),
                    false => (it, WrittenAs::StandardOutput),
                })]
            }
            Self::Replacement(_, replacement) => {
                vec![replacement.file().metadata().ok(), replacement.previous().cloned()]
                    .into_iter()
                    .map(|metadata| metadata.map(|it| (it, WrittenAs::NamedFile)))
                    .collect()
            }
        };
        let lasting = |it: &Metadata| it.is_file() || is_block_device(it);
        let lasting = found.into_iter().flatten().filter(|(metadata, _)| lasting(metadata));
        lasting.filter_map(|(metadata, written_as)| Identity::of(&metadata, written_as)).collect()
    }
}

/// The role in which a file is written by this run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenAs {
    /// It was named with `-o`, or is the temporary file for that.
    NamedFile,
    /// Standard output was redirected to it.
    StandardOutput,
}

/// The numbers by which a file is recognised, whatever it is called.
#[derive(Clone, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    written_as: WrittenAs,
}

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata, written_as: WrittenAs) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        // A device may have several nodes.
        let (device, inode) = match is_block_device(metadata) {
            true => (metadata.rdev(), u64::MAX),
            false => (metadata.dev(), metadata.ino()),
        };
        Some(Self { device, inode, written_as })
    }

    /// Without such numbers no file is recognised.
    #[cfg(not(unix))]
    fn of(_: &Metadata, _: WrittenAs) -> Option<Self> {
        None
    }
}

#[cfg(unix)]
fn is_block_device(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_block_device(_: &Metadata) -> bool {
    false
}

/// The metadata of this place, however long its name is.
fn found(path: &Path) -> Option<Metadata> {
    match fs::metadata(path) {
        Err(error) if long_path::is_too_long(&error) => {
            long_path::open(path, true).ok()?.metadata().ok()
        }
        found => found.ok(),
    }
}

/// What a stream is directed to, unless it is a terminal.
#[cfg(unix)]
fn metadata(stream: &(impl std::os::fd::AsFd + io::IsTerminal)) -> Option<Metadata> {
    if stream.is_terminal() {
        return None;
    }
    File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

#[cfg(not(unix))]
fn metadata<T>(_: &T) -> Option<Metadata> {
    None
}

/// Results could not be written, which ends the run.
#[derive(Debug)]
struct WriteError {
    place: String,
    error: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, error } = self;
        match error.raw_os_error() {
            Some(_) => write!(f, "{place}: cannot write: {error}"),
            // An error of ours names the reason itself.
            None => write!(f, "{place}: {error}"),
        }
    }
}

impl std::error::Error for WriteError {}

/// Print a text to standard output.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    let mut stdout = streams::Output::new(Stream::Output);
    let printed =
        stdout.write_all(text).and_then(|()| stdout.flush()).and_then(|()| stdout.close());
    printed.map_err(|error| WriteError { place: "standard output".into(), error }.into())
}

/// Whether the run ended because the reader of its output went away. No one needs a message about that.
pub(crate) fn reader_is_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<WriteError>()
        .is_some_and(|failure| failure.error.kind() == io::ErrorKind::BrokenPipe)
}
