//! Journal of the files that a run has read, so that the next run need not read them again if this one is killed.
//!
//! ```text
//! {"treewide":"journal 2","root":{"path":"/home/me/photos"}}              a part begins: one for each run
//! {"path":"a.txt","type":"file","digest":"..","bytes":12,"mtime":..,...}  files that were read, in order
//! {"check":".."}                                                          the hash of all bytes before this line
//! ```
//!
//! Lines after the last right check do not count: they were being written when the run or the machine was ended. A file has a
//! line only if it has a [key](crate::format::trust), and its line is used only if it still has that key. So the rules of the run do
//! not matter. Parts of other directories are not used, and stay until a manifest is complete.
//!
//! A journal is a help and nothing else: what cannot be used is left alone, and the run reads what it needs.
//!
//! A thread of its own writes, so that no one waits for the disk. It begins after a second: most runs are over by then, and leave nothing.

use crate::error::Error;
use crate::format::index::{self, Mount};
use crate::format::record::{FileRecord, Record, What};
use crate::format::regular;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;
use treewide::Hasher;
use treewide_files::list::read_line;
use writer::{Place, Writer};

mod writer;

/// The version that is written, and the only one that is read.
const VERSION: &str = "journal 2";
/// The file is written after this time.
pub(crate) const FROM: Duration = Duration::from_secs(1);
/// Parts that are read next to each other, at most. A run that continues after as many others writes no part.
const PARTS: usize = 200;

/// Where the journal of a list is: `.part` after its name.
pub fn journal_path(list: &Path) -> PathBuf {
    regular::with_end(list, ".part")
}

/// Whether a run that made this list was interrupted, and left its journal.
pub fn is_left(list: &Path) -> bool {
    regular::open(&journal_path(list)).is_ok_and(|file| is_journal(&file))
}

/// Whether a run writes the journal of the manifest at `list` now, so that no other one resumes it.
pub fn is_in_use(list: &Path) -> bool {
    let file = regular::open(&journal_path(list));
    !cfg!(windows)
        && file.is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[derive(Serialize, Deserialize)]
struct Header {
    treewide: String,
    root: Mount,
}

#[derive(Serialize, Deserialize)]
struct Check {
    check: String,
}

/// The journal of a run: it writes what was read, and has what runs before it have read.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    writer: Option<Writer>,
    /// A journal of ours is at the path, which no one needs when the manifest is complete.
    is_ours: bool,
    /// The journal of a run that was interrupted, held until this run is done.
    _held: Option<File>,
}

impl Journal {
    /// The journal of a run that makes a manifest of `root`. With `resumes`, what is in the journal that is at the path is returned,
    /// and more is added to it. Without, that journal stays as it is until the run is done, and no other one is written. Nothing is
    /// written before the time `from` has passed.
    ///
    /// # Errors
    /// If another run is writing it.
    pub(crate) fn begin(
        list: &Path,
        root: &Path,
        resumes: bool,
        from: Duration,
    ) -> Result<(Self, Found), Error> {
        let path = journal_path(list);
        let root = fs::canonicalize(root).map_err(|error| Error::read(root, error))?;
        let root = Mount::new(root.as_os_str().as_encoded_bytes());
        let header = Header { treewide: VERSION.into(), root };
        let mut journal = Self { path, writer: None, is_ours: false, _held: None };
        let opened = match fs::symlink_metadata(&journal.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let place = Place::New(journal.path.clone(), fs::metadata(list).ok().map(Box::new));
                journal.writer = Writer::start(place, &header, Hasher::new(), from);
                journal.is_ours = true;
                return Ok((journal, Found::default()));
            }
            Err(error) => Err(error),
            Ok(there) if !there.is_file() => Err(io::Error::other("is not a regular file")),
            Ok(_) => OpenOptions::new().read(true).write(resumes).open(&journal.path),
        };
        let file = match opened {
            Ok(file) if is_journal(&file) => file,
            Ok(_) => return Ok((journal, Found::unused("is not a journal".into()))),
            Err(error) => return Ok((journal, Found::unused(error.to_string()))),
        };
        // That of a run which is under way is not one that was interrupted.
        lock(&file).map_err(|error| Error::read(&journal.path, error))?;
        journal.is_ours = true;
        if !resumes {
            journal._held = Some(file);
            return Ok((journal, Found::default()));
        }
        let mut found = Found::default();
        match journal.resume(file, &header, from, &mut found) {
            Ok(()) => Ok((journal, found)),
            Err(error) => Ok((journal, Found::unused(error.to_string()))),
        }
    }

    fn resume(
        &mut self,
        file: File,
        header: &Header,
        from: Duration,
        found: &mut Found,
    ) -> io::Result<()> {
        let parts = Parts::read(&file, header)?;
        found.taken = Some(Taken::open(&self.path, &parts)?);
        found.note = parts.note;
        if parts.starts.len() < PARTS {
            file.set_len(parts.end)?;
            (&file).seek(SeekFrom::End(0))?;
            self.writer = Writer::start(Place::Open(file), header, parts.hasher, from);
        }
        Ok(())
    }

    /// Whether what is read is added to it.
    pub(crate) fn is_kept(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether the file at its path is ours, or will be.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Adds a file that was read.
    pub(crate) fn add(&self, record: Record) {
        if let Some(writer) = &self.writer {
            writer.shared.add(record);
        }
    }

    /// The manifest is complete: no one needs the journal any more.
    pub(crate) fn remove(mut self) {
        let mut is_there = true;
        if let Some(writer) = self.writer.take() {
            writer.shared.state().waiting.clear();
            let shared = writer.shared.clone();
            drop(writer);
            // If there is one that this run has not made, it is that of another run.
            is_there = shared.has_file.load(Ordering::Relaxed);
        }
        if self.is_ours && is_there {
            // If it stays, the next run says that it is there.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the file is one, of any version.
fn is_journal(mut file: &File) -> bool {
    const BEGINS: &[u8] = b"{\"treewide\":\"journal ";
    let mut begin = [0; BEGINS.len()];
    file.metadata().is_ok_and(|it| it.is_file())
        && file.read_exact(&mut begin).is_ok()
        && begin == BEGINS
}

/// No one else continues with it at the same time.
fn lock(file: &File) -> io::Result<()> {
    // On Windows a locked file cannot be read.
    if cfg!(windows) {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another program is writing it; wait until that is done"))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// What was found in place of the journal.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) taken: Option<Taken>,
    /// Why it, or a part of it, is not used.
    pub(crate) note: Option<String>,
}

impl Found {
    fn unused(note: String) -> Self {
        Self { taken: None, note: Some(note) }
    }
}

/// The parts of a journal that count.
#[derive(Clone)]
struct Parts {
    /// Where the lines of each begin, and whether they are used.
    starts: Vec<(u64, bool)>,
    /// Where they end: behind the last right check.
    end: u64,
    /// Of all bytes before the end.
    hasher: Hasher,
    note: Option<String>,
}

impl Parts {
    fn read(file: &File, expected: &Header) -> io::Result<Self> {
        let mut reader = file;
        reader.rewind()?;
        let mut lines = BufReader::with_capacity(64 << 10, reader);
        let mut line = Vec::new();
        let mut all = Self { starts: Vec::new(), end: 0, hasher: Hasher::new(), note: None };
        let mut found = all.clone();
        loop {
            match read_line(&mut lines, &mut line) {
                // No line of ours is that long.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => break,
                read => read?,
            }
            if line.last() != Some(&b'\n') {
                break;
            }
            let is_check = match serde_json::from_slice::<Check>(&line) {
                // The bytes before this line differ from the written ones, or this line does.
                Ok(check) if check.check != all.hasher.finalize().to_hex().as_str() => break,
                is_check => is_check.is_ok(),
            };
            all.hasher.update(&line);
            all.end += line.len() as u64;
            if is_check {
                found = all.clone();
            } else if line.starts_with(b"{\"treewide\":") {
                let unused = expected.is(&line).err();
                all.starts.push((all.end, unused.is_none()));
                all.note = unused.or(all.note);
            }
        }
        found.note = all.note;
        Ok(found)
    }
}

impl Header {
    /// Whether the line is this header; why not.
    fn is(&self, line: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Version {
            treewide: String,
        }
        let damaged = |_| "a part of it is damaged".to_owned();
        let version: Version = serde_json::from_slice(line).map_err(damaged)?;
        if version.treewide != VERSION {
            return Err(format!("is a {:?}, and this program reads {VERSION:?}", version.treewide));
        }
        let header: Self = serde_json::from_slice(line).map_err(damaged)?;
        match header.root == self.root {
            true => Ok(()),
            false => Err(format!("a part of it is of the directory {}", header.root.path)),
        }
    }
}

/// What runs before this one have read. It is asked in the order of the names.
#[derive(Debug)]
pub(crate) struct Taken {
    cursors: Vec<Cursor>,
}

#[derive(Debug)]
struct Cursor {
    lines: BufReader<Take<File>>,
    line: Vec<u8>,
    next: Option<(Vec<u8>, FileRecord)>,
}

impl Taken {
    fn open(path: &Path, parts: &Parts) -> io::Result<Self> {
        let ends = parts.starts.iter().skip(1).map(|it| it.0).chain([parts.end]);
        let used = parts.starts.iter().zip(ends).filter(|((_, is_used), _)| *is_used);
        let cursors = used.map(|((start, _), end)| {
            let mut file = regular::open(path)?;
            file.seek(SeekFrom::Start(*start))?;
            let lines = BufReader::with_capacity(16 << 10, file.take(end.saturating_sub(*start)));
            let mut cursor = Cursor { lines, line: Vec::new(), next: None };
            cursor.read();
            Ok(cursor)
        });
        Ok(Self { cursors: cursors.collect::<io::Result<_>>()? })
    }

    /// What the last run that has read the file with this name found.
    pub(crate) fn find(&mut self, name: &[u8]) -> Option<FileRecord> {
        let mut found = None;
        for cursor in &mut self.cursors {
            while cursor.next.as_ref().is_some_and(|(it, _)| &it[..] < name) {
                cursor.read();
            }
            if cursor.next.as_ref().is_some_and(|(it, _)| it == name) {
                found = cursor.next.take().map(|(_, file)| file);
                cursor.read();
            }
        }
        found
    }
}

impl Cursor {
    /// The next file. What cannot be read is not used, and its file is read again.
    fn read(&mut self) {
        self.next = None;
        while read_line(&mut self.lines, &mut self.line).is_ok() && !self.line.is_empty() {
            let line = index::parse(&self.line).ok().filter(|it| it.has_digest);
            if let Some(Record { name, what: What::File(file), .. }) = line.map(|it| it.record) {
                self.next = Some((name, file));
                return;
            }
        }
    }
}
