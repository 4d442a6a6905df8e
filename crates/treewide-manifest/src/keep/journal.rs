//! Journal of the files that a run has read, so that the next run need not read them again if this one is killed.
//!
//! ```text
//! {"treewide":"journal 1","root":"/home/me/photos","rules":{..}}          a part begins: one for each run
//! {"path":"a.txt","bytes":12,"digest":"..","mtime":..,"ctime":..,...}     files that were read, in order
//! {"long":"b.img","bytes":..,"mtime":..,"piece":67108864,"at":0,"cvs":".."}     pieces of a file that is being read
//! {"check":".."}                                                          the hash of all bytes before this line
//! ```
//!
//! Lines after the last right check do not count: they were being written when the run or the machine was ended. A file has a
//! line only if it has a [key](crate::format::trust), and its line is used only if it still has that key.
//!
//! Of a long file there is a line whenever some of its pieces were read, with their chaining values. They are used on the same
//! terms: the file had a key before they were read, and has it still.
//!
//! A thread of its own writes, so that no one waits for the disk. What is read in the first second is not kept: reading it
//! again takes no longer than that, and most runs are over by then.

use crate::error::Error;
use crate::format::also::{self, Texts};
use crate::format::day::Day;
use crate::format::record::{Facts, FileRecord, Record, What};
use crate::format::regular;
use crate::format::rules::Rules;
use crate::format::trust::Key;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use treewide::{Hasher, OUT_LEN};
use treewide_files::digest::{hex, unhex};
use treewide_files::list::read_line;
use writer::{Place, Shared, Waiting, Writer};

mod writer;

/// The version that is written, and the only one that is read.
const VERSION: &str = "journal 1";
/// What is read is kept after this time.
pub(crate) const FROM: Duration = Duration::from_secs(1);
/// Long files whose pieces are held, at most. One at a time is read, so that each run leaves one that it has not read to its end.
const MOST_BEGUN: usize = 8;
/// Parts that are read next to each other, at most. A run that continues after as many others writes no part.
const PARTS: usize = 200;

/// Where the journal of a list is: `.part` after its name.
pub fn journal_path(list: &Path) -> PathBuf {
    let mut path = list.as_os_str().to_owned();
    path.push(".part");
    path.into()
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
    root: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root_hex: Option<String>,
    rules: Rules,
}

#[derive(Serialize, Deserialize)]
struct Check {
    check: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    bytes: u64,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
    mtime: i64,
    ctime: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ino: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dev: Option<u64>,
    read: String,
    /// Digests by other algorithms. A run that wants others reads the file.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    also: Texts<'static>,
}

/// Pieces of a long file, from one of them on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pieces {
    long: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    long_hex: Option<String>,
    bytes: u64,
    mtime: i64,
    ctime: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ino: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dev: Option<u64>,
    /// The bytes of a piece.
    piece: u64,
    /// The number of the first of them.
    at: u64,
    cvs: String,
}

impl Pieces {
    pub(crate) fn new(name: &[u8], begun: &Begun, at: usize) -> Self {
        let (long, long_hex) = text(name);
        let Begun { bytes, key, piece, .. } = *begun;
        let (mtime, ctime, ino, dev) = (key.mtime, key.ctime, key.inode, key.device);
        let cvs = hex(begun.cvs[at..].as_flattened());
        Self { long, long_hex, bytes, mtime, ctime, ino, dev, piece, at: at as u64, cvs }
    }

    /// Adds them to the known pieces of the file.
    fn add_to(self, known: &mut Vec<(Vec<u8>, Begun)>) -> Option<()> {
        let name = bytes(self.long, self.long_hex)?;
        let key = Key { mtime: self.mtime, ctime: self.ctime, inode: self.ino, device: self.dev };
        let cvs = unhex(self.cvs.as_bytes())?;
        let (cvs, []) = cvs.as_chunks::<OUT_LEN>() else { return None };
        if self.at == 0 {
            let (bytes, piece) = (self.bytes, self.piece);
            known.retain(|(it, _)| *it != name);
            if known.len() == MOST_BEGUN {
                known.remove(0);
            }
            known.push((name, Begun { bytes, key, piece, cvs: cvs.to_vec() }));
            return Some(());
        }
        let (_, there) = known.iter_mut().find(|(it, _)| *it == name)?;
        let follows = (there.bytes, there.key, there.piece, there.cvs.len() as u64)
            == (self.bytes, key, self.piece, self.at);
        follows.then(|| there.cvs.extend_from_slice(cvs))
    }
}

/// A long file that was read up to one of its pieces.
#[derive(Debug)]
pub(crate) struct Begun {
    /// Its length.
    pub(crate) bytes: u64,
    /// Its key before the pieces were read.
    pub(crate) key: Key,
    /// The bytes of a piece.
    pub(crate) piece: u64,
    /// The chaining values of its first pieces.
    pub(crate) cvs: Vec<[u8; OUT_LEN]>,
}

/// Text, and all bytes in hex if it is not UTF-8.
fn text(bytes: &[u8]) -> (String, Option<String>) {
    let shown = String::from_utf8_lossy(bytes).into_owned();
    let is_whole = shown.as_bytes() == bytes;
    (shown, (!is_whole).then(|| hex(bytes)))
}

fn bytes(text: String, hex: Option<String>) -> Option<Vec<u8>> {
    match hex {
        Some(hex) => unhex(hex.as_bytes()),
        None => Some(text.into_bytes()),
    }
}

impl Line {
    /// `None` if it is not a file with a key.
    fn of(record: &Record) -> Option<Self> {
        let What::File(file) = &record.what else { return None };
        let facts = file.facts.as_ref()?;
        let (key, read) = (facts.key?, facts.read?);
        let (path, path_hex) = text(&record.name);
        Some(Self {
            path,
            path_hex,
            bytes: facts.bytes,
            digest: hex(&file.digest),
            mode: facts.mode,
            mtime: key.mtime,
            ctime: key.ctime,
            ino: key.inode,
            dev: key.device,
            read: read.to_string(),
            also: also::texts(&facts.also),
        })
    }

    fn record(self) -> Option<(Vec<u8>, FileRecord)> {
        let name = bytes(self.path, self.path_hex)?;
        let digest: [u8; OUT_LEN] = unhex(self.digest.as_bytes())?.try_into().ok()?;
        let key = Key { mtime: self.mtime, ctime: self.ctime, inode: self.ino, device: self.dev };
        let read = Some(Day::parse(&self.read)?);
        let (mode, key, also) = (self.mode, Some(key), also::parse(&self.also).ok()?);
        let facts = Some(Facts { mode, key, read, also, ..Facts::of(self.bytes) });
        Some((name, FileRecord { digest, facts }))
    }
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
    /// The journal of a run that makes a manifest of `root` with these rules. With `resumes`, what is in the journal that
    /// is at the path is returned, and more is added to it. Without, that journal stays as it is until the run is done,
    /// and no other one is written. Nothing is added before the time `from` has passed.
    ///
    /// # Errors
    /// If the journal that the run would continue with is that of another run, or cannot be read.
    pub(crate) fn begin(
        list: &Path,
        root: &Path,
        rules: &Rules,
        resumes: bool,
        from: Duration,
    ) -> Result<(Self, Option<Taken>), Error> {
        let path = journal_path(list);
        let at_path = |error: io::Error| Error::read(&path, error);
        let root = fs::canonicalize(root).map_err(|error| Error::read(root, error))?;
        let (text, root_hex) = text(root.as_os_str().as_encoded_bytes());
        let header =
            Header { treewide: VERSION.into(), root: text, root_hex, rules: rules.clone() };
        if fs::metadata(&path).is_ok_and(|it| !it.is_file()) {
            let cause = "is not a regular file, and the journal would be there; remove it";
            return Err(at_path(io::Error::other(cause)));
        }
        let there = match OpenOptions::new().read(true).write(resumes).open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) if !resumes => {
                return Ok((Self { path, writer: None, is_ours: false, _held: None }, None));
            }
            Err(error) => return Err(at_path(error)),
        };
        let Some(file) = there else {
            let place = Place::New(path.clone(), fs::metadata(list).ok().map(Box::new));
            let writer = Writer::start(place, &header, Hasher::new(), from);
            return Ok((Self { path, writer, is_ours: true, _held: None }, None));
        };
        if !resumes {
            let is_ours = is_journal(&file);
            if is_ours {
                // That of a run which is under way is not one that was interrupted.
                lock(&file).map_err(at_path)?;
            }
            return Ok((Self { path, writer: None, is_ours, _held: Some(file) }, None));
        }
        lock(&file).map_err(at_path)?;
        let mut read =
            Parts::read(&file, &header).map_err(|cause| at_path(io::Error::other(cause)))?;
        let taken = Taken::open(&path, &mut read).map_err(at_path)?;
        let writer = if read.starts.len() < PARTS {
            file.set_len(read.end).map_err(|error| Error::write(&path, error))?;
            (&file).seek(SeekFrom::End(0)).map_err(at_path)?;
            Writer::start(Place::Open(file), &header, read.hasher, from)
        } else {
            None
        };
        Ok((Self { path, writer, is_ours: true, _held: None }, Some(taken)))
    }

    /// Whether what is read is added to it from now on.
    pub(crate) fn is_kept(&self) -> bool {
        self.writer.as_ref().is_some_and(|it| it.shared.is_kept.load(Ordering::Relaxed))
    }

    /// Whether the file at its path is ours, or will be.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Adds a file that was read.
    pub(crate) fn add(&self, record: Record) {
        if let Some(writer) = &self.writer {
            writer.shared.add(Waiting::File(record));
        }
    }

    /// Where pieces of long files are added.
    pub(crate) fn adder(&self) -> Option<Adder> {
        self.writer.as_ref().map(|writer| Adder(Arc::clone(&writer.shared)))
    }

    /// The manifest is complete: no one needs the journal any more.
    pub(crate) fn remove(mut self) {
        let mut is_there = true;
        if let Some(writer) = self.writer.take() {
            writer.shared.state().waiting.clear();
            let shared = Arc::clone(&writer.shared);
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

/// Adds pieces of long files to a journal.
pub(crate) struct Adder(Arc<Shared>);

impl Adder {
    /// Whether what is read is added from now on.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_kept.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, pieces: Pieces) {
        self.0.add(Waiting::Pieces(pieces));
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

/// The parts of a journal that count.
struct Parts {
    /// Where the lines of each begin.
    starts: Vec<u64>,
    /// Where they end: behind the last right check.
    end: u64,
    /// Of all bytes before the end.
    hasher: Hasher,
    begun: Vec<(Vec<u8>, Begun)>,
}

impl Parts {
    fn read(file: &File, expected: &Header) -> Result<Self, String> {
        let unreadable = |error: io::Error| error.to_string();
        if !is_journal(file) {
            return Err("is not a journal; remove it, or write the list elsewhere".into());
        }
        let mut reader = file;
        reader.rewind().map_err(unreadable)?;
        let mut lines = BufReader::with_capacity(64 << 10, reader);
        let (mut line, mut at, mut hasher) = (Vec::new(), 0, Hasher::new());
        let (starts, begun) = (Vec::new(), Vec::new());
        let mut found = Self { starts, end: 0, hasher: Hasher::new(), begun };
        let (mut starts, mut pieces) = (Vec::new(), Vec::new());
        loop {
            match read_line(&mut lines, &mut line) {
                // No line of ours is that long.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(found),
                read => read.map_err(unreadable)?,
            }
            if line.last() != Some(&b'\n') {
                return Ok(found);
            }
            let is_check = match serde_json::from_slice::<Check>(&line) {
                // The bytes before this line differ from the written ones, or this line does.
                Ok(check) if check.check != hasher.finalize().to_hex().as_str() => {
                    return Ok(found);
                }
                Ok(_) => true,
                Err(_) => false,
            };
            hasher.update(&line);
            at += line.len() as u64;
            if is_check {
                let mut begun = found.begun;
                for pieces in pieces.drain(..) {
                    // What cannot be understood is read again.
                    let _ = Pieces::add_to(pieces, &mut begun);
                }
                found = Self { starts: starts.clone(), end: at, hasher: hasher.clone(), begun };
            } else if line.starts_with(b"{\"long\":") {
                pieces.extend(serde_json::from_slice::<Pieces>(&line).ok());
            } else if line.starts_with(b"{\"treewide\":") {
                expected.is(&line)?;
                starts.push(at);
            }
        }
    }
}

impl Header {
    /// Whether the line is this header; what to do if not.
    fn is(&self, line: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Version {
            treewide: String,
        }
        let remove = "remove it to begin anew";
        let version: Result<Version, _> = serde_json::from_slice(line);
        match version {
            Ok(version) if version.treewide == VERSION => {}
            Ok(version) => {
                let is = version.treewide;
                return Err(format!(
                    "is a {is:?}, and this program continues with {VERSION:?}; {remove}"
                ));
            }
            Err(_) => return Err(format!("is damaged; {remove}")),
        }
        let header: Self = serde_json::from_slice(line)
            .map_err(|error| format!("is damaged, {error}; {remove}"))?;
        if (&header.root, &header.root_hex) != (&self.root, &self.root_hex) {
            let (is, not) = (header.root, &self.root);
            return Err(format!(
                "is of the directory {is}, and not of {not}; name that, or {remove}"
            ));
        }
        if header.rules != self.rules {
            let rules = header.rules.json();
            return Err(format!("was made with other rules, {rules}; give the same, or {remove}"));
        }
        Ok(())
    }
}

/// What runs before this one have read. It is asked in the order of the names.
#[derive(Debug)]
pub(crate) struct Taken {
    cursors: Vec<Cursor>,
    /// Long files that were begun last, by their names.
    pub(crate) begun: Vec<(Vec<u8>, Begun)>,
}

#[derive(Debug)]
struct Cursor {
    lines: BufReader<Take<File>>,
    line: Vec<u8>,
    next: Option<(Vec<u8>, FileRecord)>,
}

impl Taken {
    fn open(path: &Path, parts: &mut Parts) -> io::Result<Self> {
        let ends = parts.starts.iter().skip(1).copied().chain([parts.end]);
        let cursors = parts.starts.iter().zip(ends).map(|(start, end)| {
            let mut file = regular::open(path)?;
            file.seek(SeekFrom::Start(*start))?;
            let lines = BufReader::with_capacity(16 << 10, file.take(end.saturating_sub(*start)));
            let mut cursor = Cursor { lines, line: Vec::new(), next: None };
            cursor.read();
            Ok(cursor)
        });
        let cursors = cursors.collect::<io::Result<_>>()?;
        Ok(Self { cursors, begun: std::mem::take(&mut parts.begun) })
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
            let line = serde_json::from_slice::<Line>(&self.line).ok();
            if let Some(next) = line.and_then(Line::record) {
                self.next = Some(next);
                return;
            }
        }
    }
}
