//! The list `X.b3`: lines `DIGEST  NAME` in the order of their names, as b3sum writes and reads them.
//!
//! A list is read twice: once to see that every line is good, that the order is right, and which digest the list itself
//! has, before anything else is done; and then line by line, next to the walk. Lists of other programs are also read. If
//! they have another order, they are sorted in memory.

use crate::error::{Error, ErrorKind};
use crate::format::name;
use crate::format::regular;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use treewide::file::read_at;
use treewide::{Hash, Hasher, OUT_LEN};
use treewide_files::is_temporary;
use treewide_files::list::{self, Fault, Lines, Strict};
use treewide_files::name::{shown, unescape};

/// Bytes of a list that is not sorted, at most: it is kept in memory.
const IN_MEMORY: u64 = 256 << 20;

/// Parts of names of lists, such as `SHA256SUMS`, whose digests can look like those of BLAKE3.
const OTHER: [&str; 6] = ["sha1", "sha2", "sha3", "sha5", "md5", "blake2"];

/// A file and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name, relative to the root.
    pub name: Vec<u8>,
    /// The digest.
    pub digest: [u8; OUT_LEN],
    /// U+FFFD stands for a part of the name that the list could not hold.
    pub is_ambiguous: bool,
}

/// A list that was found good.
#[derive(Clone, Debug)]
pub struct List {
    path: PathBuf,
    file: Arc<File>,
    sorted: Option<Arc<Vec<Line>>>,
    hash: Hash,
    lines: u64,
}

/// Reads a file from the beginning, whatever its own position is.
struct Positioned {
    file: Arc<File>,
    at: u64,
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Hashes what is read.
struct Hashing<R> {
    from: R,
    hasher: Arc<Mutex<Hasher>>,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hasher.lock().unwrap_or_else(PoisonError::into_inner).update(&buffer[..read]);
        Ok(read)
    }
}

/// An error if a directory or an index is named in place of the list.
fn is_not_beside_a_list(path: &Path) -> Result<(), Error> {
    let cause = if path.is_dir() {
        let name = shown(path);
        let name = name.trim_end_matches('/');
        format!("is a directory; name its manifest, such as {name}.b3, and the directory after it")
    } else if let Some(cause) = regular::not_a_list(path) {
        cause
    } else {
        return Ok(());
    };
    Err(Error::new(path, ErrorKind::Usage(cause)))
}

impl List {
    /// Reads the whole list at `path` and checks it.
    ///
    /// # Errors
    /// If it is not a regular file, cannot be read, has a line that cannot be used, a name that leads out of the root, two
    /// digests for one name, or no end.
    pub fn open(path: &Path) -> Result<Self, Error> {
        is_not_beside_a_list(path)?;
        let file = regular::open(path).map_err(|error| Error::read(path, error))?;
        is_blake3_by_name(path)?;
        Self::new(path, file).map_err(|error| match kept(path) {
            Some(kept) if matches!(error.kind(), ErrorKind::List(_)) => {
                let text = format!(
                    "or copy {} over it, a whole list that a run could not bring there",
                    shown(&kept)
                );
                error.and(&text)
            }
            _ => error,
        })
    }

    /// Reads a list in a file that has no name; `path` is for messages.
    pub(crate) fn of_file(path: &Path, file: File) -> Result<Self, Error> {
        Self::new(path, file)
    }

    fn new(path: &Path, file: File) -> Result<Self, Error> {
        let file = Arc::new(file);
        let (mut lines, hasher) = hashing(path, &file)?;
        let (mut previous, mut line) = (Line::empty(), Line::empty());
        let (mut count, mut is_sorted) = (0, true);
        while lines.read(&mut line)? {
            match line.name.cmp(&previous.name) {
                Ordering::Less => is_sorted = false,
                Ordering::Equal if line.digest != previous.digest => {
                    return Err(Error::list(path, lines.number, twice(&line.name)));
                }
                Ordering::Equal => {}
                Ordering::Greater => count += 1,
            }
            std::mem::swap(&mut previous, &mut line);
        }
        let hash = hash_of(&hasher);
        let mut list = Self { path: path.into(), file, sorted: None, hash, lines: count };
        if !is_sorted {
            list.sorted = Some(Arc::new(list.sort()?));
            // Two digests for one name are found before any file is looked at.
            let mut all = list.lines();
            while all.next(&mut line)? {}
            list.lines = all.returned;
        }
        Ok(list)
    }

    fn sort(&self) -> Result<Vec<Line>, Error> {
        let mut reader =
            Reader::new(&self.path, Positioned { file: Arc::clone(&self.file), at: 0 })?;
        let (mut lines, mut line, mut bytes) = (Vec::new(), Line::empty(), 0);
        while reader.read(&mut line)? {
            bytes += (line.name.len() + size_of::<Line>()) as u64;
            if bytes > IN_MEMORY {
                let cause = "is not sorted by name and too long to sort in memory; sort it first, \
                             as with LC_ALL=C sort -k 2";
                return Err(Error::new(&self.path, ErrorKind::List(cause.into())));
            }
            lines.push(line.clone());
        }
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(lines)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The BLAKE3 hash of the bytes of the list.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The number of files that it names.
    pub fn len(&self) -> u64 {
        self.lines
    }

    /// Whether it names no file.
    pub fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Its lines in the order of their names, each name once.
    pub fn lines(&self) -> InOrder {
        let lines = match &self.sorted {
            Some(lines) => Ordered::Memory(Arc::clone(lines), 0),
            None => Ordered::Opening(Arc::clone(&self.file)),
        };
        let hash = self.hash;
        InOrder { hash, path: self.path.clone(), lines, previous: None, returned: 0 }
    }
}

/// The lines of a list in the order of their names.
pub struct InOrder {
    path: PathBuf,
    /// What all bytes have together, so that the list that is read again is the one that was checked.
    hash: Hash,
    lines: Ordered,
    previous: Option<Line>,
    returned: u64,
}

enum Ordered {
    Opening(Arc<File>),
    File(Box<Reader>, Arc<Mutex<Hasher>>),
    Memory(Arc<Vec<Line>>, usize),
}

impl std::fmt::Debug for InOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InOrder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl InOrder {
    fn read(&mut self, line: &mut Line) -> Result<bool, Error> {
        loop {
            match &mut self.lines {
                Ordered::Opening(file) => {
                    let (reader, hasher) = hashing(&self.path, file)?;
                    self.lines = Ordered::File(Box::new(reader), hasher);
                }
                Ordered::File(reader, hasher) => {
                    let is_line = reader.read(line)?;
                    return if is_line || hash_of(hasher) == self.hash {
                        Ok(is_line)
                    } else {
                        Err(changed(&self.path))
                    };
                }
                Ordered::Memory(lines, at) => {
                    let Some(next) = lines.get(*at) else { return Ok(false) };
                    *at += 1;
                    line.clone_from(next);
                    return Ok(true);
                }
            }
        }
    }

    /// Puts the next line into `line`; `false` at the end.
    ///
    /// # Errors
    /// If a name has two digests, or the list has changed since it was opened.
    pub fn next(&mut self, line: &mut Line) -> Result<bool, Error> {
        loop {
            if !self.read(line)? {
                return Ok(false);
            }
            match &mut self.previous {
                None => self.previous = Some(line.clone()),
                Some(before) => {
                    match line.name.cmp(&before.name) {
                        Ordering::Greater => {}
                        Ordering::Equal if line.digest == before.digest => continue,
                        Ordering::Equal => {
                            let cause = twice(&line.name);
                            return Err(Error::new(&self.path, ErrorKind::List(cause)));
                        }
                        Ordering::Less => return Err(changed(&self.path)),
                    }
                    before.name.clone_from(&line.name);
                    before.digest = line.digest;
                }
            }
            self.returned += 1;
            return Ok(true);
        }
    }
}

fn changed(path: &Path) -> Error {
    let cause = "changed while it was being read; run it again";
    Error::new(path, ErrorKind::List(cause.into()))
}

/// A reader, and what hashes all that it reads.
fn hashing(path: &Path, file: &Arc<File>) -> Result<(Reader, Arc<Mutex<Hasher>>), Error> {
    let hasher = Arc::new(Mutex::new(Hasher::new()));
    let reader =
        Hashing { from: Positioned { file: Arc::clone(file), at: 0 }, hasher: Arc::clone(&hasher) };
    Ok((Reader::new(path, reader)?, hasher))
}

fn hash_of(hasher: &Mutex<Hasher>) -> Hash {
    hasher.lock().unwrap_or_else(PoisonError::into_inner).finalize()
}

pub(crate) fn twice(name: &[u8]) -> String {
    let shown = treewide_files::name::shown(&name::path(name));
    format!("{shown} is listed twice, with two digests; leave out the line that is wrong")
}

impl Line {
    /// Writes it as b3sum does, with a line end.
    pub fn push_to(&self, to: &mut Vec<u8>) {
        push(to, &self.name, &self.digest);
    }

    /// An empty entry for [`InOrder::next`] to fill.
    pub fn empty() -> Self {
        Self { name: Vec::new(), digest: [0; OUT_LEN], is_ambiguous: false }
    }
}

/// Reads lines as they stand.
pub(crate) struct Reader {
    path: PathBuf,
    lines: Lines,
    number: u64,
    /// Whether names may lead anywhere: they are only shown.
    any_names: bool,
    /// The length of the last file, if its line is of JSON; only of lists with any names.
    pub(crate) size: Option<u64>,
}

/// A whole list that could not get to its place, next to this one: a run was killed while it overwrote that.
fn kept(list: &Path) -> Option<PathBuf> {
    let folder = list.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let is_kept = |path: &PathBuf| {
        is_temporary(path.file_name().unwrap_or_default())
            && path.metadata().is_ok_and(|it| it.permissions().readonly())
            && regular::open(path)
                .is_ok_and(|it| List::new(path, it).is_ok_and(|list| !list.is_empty()))
    };
    std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|it| list.with_file_name(it.file_name()))
        .find(is_kept)
}

/// An error if the name of a list says another algorithm.
fn is_blake3_by_name(list: &Path) -> Result<(), Error> {
    let name = list.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".b3") || OTHER.iter().all(|it| !name.contains(it)) {
        return Ok(());
    }
    let cause = "has digests of another algorithm than BLAKE3, by its name: `treewide check` reads it; rename it if it \
                 is a list of BLAKE3";
    Err(Error::new(list, ErrorKind::List(cause.into())))
}

impl Reader {
    fn new(path: &Path, bytes: impl Read + Send + 'static) -> Result<Self, Error> {
        Self::of(path, Lines::new(bytes, false), false)
    }

    /// Reads a list as any program wrote it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        is_not_beside_a_list(path)?;
        is_blake3_by_name(path)?;
        Self::of(path, Lines::open(path), true)
    }

    fn of(path: &Path, lines: io::Result<Lines>, any_names: bool) -> Result<Self, Error> {
        let lines = lines.map_err(|error| Error::read(path, error))?;
        Ok(Self { path: path.into(), lines, number: 0, any_names, size: None })
    }

    /// Puts the next line into `line`; `false` at the end.
    pub(crate) fn read(&mut self, into: &mut Line) -> Result<bool, Error> {
        loop {
            let next = self.lines.next().map_err(|error| Error::read(&self.path, error))?;
            let Some((number, line)) = next else {
                let cause = "the list may be cut off here: no line end";
                let is_cut = self.lines.is_endless();
                let error = || Error::list(&self.path, self.number, cause);
                return if is_cut { Err(error()) } else { Ok(false) };
            };
            self.number = number;
            self.size = None;
            if self.any_names && line.starts_with(b"{") {
                let object = serde_json::from_slice::<serde_json::Value>(line).ok();
                self.size = object.and_then(|it| it.get("bytes")?.as_u64());
            }
            let is_line = parse(line, self.any_names, into);
            if is_line.map_err(|cause| Error::list(&self.path, number, cause))? {
                return Ok(true);
            }
        }
    }
}

/// Parses a line; `false` if it is empty or a comment.
fn parse(line: &[u8], any_names: bool, into: &mut Line) -> Result<bool, String> {
    if let Some(Strict { has_escapes, digits, name: written, is_tagged: false }) =
        list::strict(line)
        && let Ok(digest) = Hash::from_hex(digits)
    {
        into.digest = digest.into();
        into.name.clear();
        if has_escapes {
            let plain = unescape(written).ok_or("file name with an invalid escape")?;
            into.name.extend_from_slice(checked(&plain, any_names)?);
        } else {
            into.name.extend_from_slice(checked(written, any_names)?);
        }
        into.is_ambiguous = !name::is_listable(&into.name);
        return Ok(true);
    }
    let wrong_len =
        |len| format!("digest of {len} bytes instead of 32; make the list without --length");
    let entry = match list::parse(line, None) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(false),
        Err(Fault::Digest { digest: Some(it), .. }) if it.len() != OUT_LEN => {
            return Err(wrong_len(it.len()));
        }
        Err(fault) => return Err(format!("{fault}; correct or remove the line")),
    };
    let len = entry.digest.len();
    into.digest = entry.digest.try_into().map_err(|_| wrong_len(len))?;
    into.name.clear();
    into.name.extend_from_slice(checked(&entry.name, any_names)?);
    into.is_ambiguous = entry.name_is != list::NameIs::Exact && !name::is_listable(&into.name);
    Ok(true)
}

/// A name without the `./` before it. Any that leads to a file is good, or only one that a manifest can have.
fn checked(mut name: &[u8], any_names: bool) -> Result<&[u8], &'static str> {
    if !any_names {
        return name::checked(name);
    }
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    match name.is_empty() || name.contains(&0) {
        true => Err("no file can have this name; remove the line"),
        false => Ok(name),
    }
}

/// Writes a line of a list.
pub(crate) fn push(to: &mut Vec<u8>, name: &[u8], digest: &[u8; OUT_LEN]) {
    push_digits(to, name, Hash::from_bytes(*digest).to_hex().as_bytes());
}

/// Writes a line, as b3sum, sha256sum and others do.
pub(crate) fn push_digits(to: &mut Vec<u8>, name: &[u8], digits: &[u8]) {
    let is_special = |byte: u8| (byte == b'\\') | (byte == b'\n') | (byte == b'\r');
    let has_escapes = name.iter().fold(false, |found, byte| found | is_special(*byte));
    if has_escapes {
        to.push(b'\\');
    }
    to.extend_from_slice(digits);
    to.extend_from_slice(b"  ");
    if name == b"-" {
        // Alone, that is standard input.
        to.extend_from_slice(b"./");
    }
    if !has_escapes {
        to.extend_from_slice(name);
    }
    for byte in name.iter().filter(|_| has_escapes) {
        match byte {
            b'\\' => to.extend_from_slice(b"\\\\"),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            byte => to.push(*byte),
        }
    }
    to.push(b'\n');
}
