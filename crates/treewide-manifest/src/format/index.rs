//! The index `X.b3.tw` next to a list: JSON lines for all that a list cannot hold, and for the keys that make later runs quick.
//!
//! ```text
//! {"treewide":"manifest 1","rules":{..},"fs":{..},"began":"2026-11-25T01:13:50Z"}
//! {"path":"a.txt","type":"file","bytes":12,"mtime":..,"ctime":..,"ino":77,"dev":2050,"read":"2026-11-25"}
//! {"path":"b","type":"link","target":"a.txt"}
//! {"end":2,"files":1,"bytes":12,"list":"<hash of X.b3>","facts":"<hash>","check":"<hash of all bytes before this key>"}
//! ```
//!
//! The last line binds it to its list. An index without one, or with that of another list, is not used. `check` shows damage also to
//! times and numbers, which `facts` leaves out: by a wrong time, rot would look like a change.

pub(crate) mod lines;

use crate::format::also::{self, Texts};
use crate::format::check::{END, end_of};
use crate::format::day::Day;
use crate::format::record::{Doubt, Facts, FileRecord, Record, Special, What};
use crate::format::rules::Rules;
use crate::format::trust::Key;
use crate::format::usual::Usual;
use crate::format::xattrs::{Value, Xattr};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use treewide::{Hash, Hasher, OUT_LEN};
use treewide_files::digest::{hex, unhex};
use treewide_files::list::{MAX_LINE, read_line};

/// The version that is written, and the only one that is read.
pub const VERSION: &str = "manifest 1";

/// The last line has fewer bytes.
const LAST_LINE: u64 = 64 << 10;

/// A line that is written has fewer bytes, so that it can be read, also in the past, which adds a digest and other keys to it.
pub(crate) const LINE: usize = MAX_LINE as usize - (4 << 10);

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub treewide: String,
    /// Coverage of the manifest.
    pub rules: Rules,
    /// The file system of the root.
    pub fs: FileSystem,
    /// When the walk began.
    pub began: String,
    /// The names of the algorithms by which it [also](crate::also) has digests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// The file system that a root was on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its name.
    pub kind: String,
    /// The longest step of its clock that was reckoned with, in nanoseconds.
    pub slack_ns: i64,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// The lines between the first and this.
    pub end: u64,
    /// Regular files among them.
    pub files: u64,
    /// Their lengths together.
    pub bytes: u64,
    /// The BLAKE3 hash of the list, in hex.
    pub list: String,
    /// The hash of all facts, in hex: see [`crate::format::facts`].
    pub facts: String,
    /// Directories below the root where something was mounted, if anything below them is recorded, and such files; as many as have room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// The last file that [`scrub`](crate::machine::Update::scrub) has picked: the next run continues after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Mount>,
    /// Files that are in doubt. Without it, any may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubts: Option<u64>,
    /// The check of the last section of the [past](crate::past_path). A manifest that dropped nothing has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// The BLAKE3 hash of all bytes of the index before this key, in hex. Without it an index is damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// A path, as lines of the index have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Its path; U+FFFD stands for bytes that are not UTF-8.
    pub path: String,
    /// All bytes of the path in hex, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
}

impl Mount {
    pub(crate) fn new(name: &[u8]) -> Self {
        let path = String::from_utf8_lossy(name);
        let path_hex = matches!(path, Cow::Owned(_)).then(|| hex(name));
        Self { path: path.into_owned(), path_hex }
    }

    /// The bytes of its path.
    pub(crate) fn name(&self) -> Vec<u8> {
        let other = self.path_hex.as_ref().and_then(|it| unhex(it.as_bytes()));
        other.unwrap_or_else(|| self.path.clone().into_bytes())
    }
}

/// What is said of the index of another list.
pub(crate) const OF_ANOTHER: &str = "it belongs to another list, or the list was changed";

/// A line between them, as it is written.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(borrow, default)]
    path_hex: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(borrow, default)]
    digest: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    mode: Option<Cow<'a, str>>,
    #[serde(default)]
    mtime: Option<i64>,
    #[serde(default)]
    ctime: Option<i64>,
    #[serde(default)]
    ino: Option<u64>,
    #[serde(default)]
    dev: Option<u64>,
    #[serde(default)]
    untrusted: Option<Key>,
    #[serde(borrow, default)]
    read: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    since: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    found: Option<Cow<'a, str>>,
    #[serde(default)]
    said: String,
    #[serde(default)]
    accepted: bool,
    #[serde(borrow, default)]
    also: Texts<'a>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    target_hex: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    xattrs: Vec<XattrEntry<'a>>,
}

/// An extended attribute, as it is written.
#[derive(Deserialize)]
struct XattrEntry<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    name_hex: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value_hex: Option<Cow<'a, str>>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(borrow, default)]
    digest: Option<Cow<'a, str>>,
}

/// A record of an index, and the digest of a file that no list can name.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) record: Record,
    pub(crate) has_digest: bool,
}

/// Reads an index.
pub(crate) struct IndexFile {
    pub(crate) header: Header,
    pub(crate) trailer: Trailer,
    lines: BufReader<File>,
    line: Vec<u8>,
    usual: Usual,
    read: u64,
    /// Of the lines so far.
    hasher: Hasher,
}

impl IndexFile {
    /// Opens an index that belongs to the list with this hash.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(file: File, list: &Hash) -> Result<Self, String> {
        let unreadable = |error: io::Error| error.to_string();
        let trailer = last_line(&file).map_err(unreadable)?;
        let mut lines = BufReader::with_capacity(64 << 10, file);
        let mut line = Vec::new();
        read_line(&mut lines, &mut line).map_err(unreadable)?;
        #[derive(Deserialize)]
        struct Version {
            treewide: String,
        }
        let version: Version = serde_json::from_slice(&line)
            .map_err(|_| String::from("its first line is not that of an index"))?;
        if version.treewide != VERSION {
            return Err(format!(
                "it is a {:?}, and this program reads {VERSION:?}",
                version.treewide
            ));
        }
        let header: Header =
            serde_json::from_slice(&line).map_err(|error| format!("its first line: {error}"))?;
        let trailer: Trailer = serde_json::from_slice(&trailer)
            .map_err(|_| String::from("it is cut off: its last line is not that of an index"))?;
        if trailer.list != list.to_hex().as_str() {
            return Err(OF_ANOTHER.into());
        }
        let hasher = Hasher::new().update(&line).clone();
        Ok(Self { header, trailer, lines, line, usual: Usual::default(), read: 0, hasher })
    }

    /// The next record. `None` at the end.
    ///
    /// # Errors
    /// What is wrong with the index; nothing more can be read then.
    pub(crate) fn next(&mut self) -> Result<Option<Indexed>, String> {
        read_line(&mut self.lines, &mut self.line).map_err(|error| error.to_string())?;
        self.read += 1;
        let number = self.read + 1;
        if self.line.starts_with(END) {
            let more = self.lines.fill_buf().map_err(|error| error.to_string())?;
            if self.trailer.end != self.read - 1 || !more.is_empty() {
                return Err(format!(
                    "its last line counts {} lines, and there are others",
                    self.trailer.end
                ));
            }
            return self.check().map(|()| None);
        }
        self.hasher.update(&self.line);
        self.usual.any(&self.line).map(Some).map_err(|cause| format!("line {number}: {cause}"))
    }

    /// An error if the bytes up to the check of the last line, which was read last, are not as they were written.
    fn check(&mut self) -> Result<(), String> {
        // A key that is damaged is not this key, and none is found.
        let is_right =
            |(text, check): (&[u8], &str)| self.hasher.update(text).finalize().to_hex() == *check;
        if !end_of(&self.line).is_some_and(is_right) {
            return Err(
                "it does not have the hash of its bytes: it is damaged, or was edited".into()
            );
        }
        Ok(())
    }
}

/// Parses any line between the first and the last.
pub(crate) fn parse(line: &[u8]) -> Result<Indexed, String> {
    let entry: Entry<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let mut indexed = indexed(&entry)?;
    if let What::Unknown(_, text) = &mut indexed.record.what {
        let end = line.iter().rposition(|byte| *byte == b'}').unwrap_or(0);
        text.extend_from_slice(&line[..end]);
    }
    Ok(indexed)
}

/// The last line, without its end; an empty one if it is cut off or too long.
pub(crate) fn last_line(mut file: &File) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(LAST_LINE)))?;
    let mut tail = Vec::new();
    file.take(LAST_LINE).read_to_end(&mut tail)?;
    file.rewind()?;
    let Some(rest) = tail.strip_suffix(b"\n") else { return Ok(Vec::new()) };
    let start = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(rest[start..].to_vec())
}

/// The bytes of a text, or those in hex if it is not UTF-8.
fn bytes(text: &str, hex: &Option<Cow<'_, str>>) -> Result<Vec<u8>, &'static str> {
    match hex {
        Some(hex) => unhex(hex.as_bytes()).ok_or("hex digits are wrong"),
        None => Ok(text.as_bytes().to_vec()),
    }
}

fn xattr(entry: &XattrEntry<'_>) -> Result<Xattr, &'static str> {
    let name = bytes(&entry.name, &entry.name_hex)?;
    let hash = || unhex(entry.digest.as_ref()?.as_bytes())?.try_into().ok();
    let value = match (&entry.value, entry.bytes) {
        (Some(value), None) => Value::Bytes(bytes(value, &entry.value_hex)?),
        (None, Some(len)) => Value::Hash(len, hash().ok_or("the digest of an attribute is wrong")?),
        _ => return Err("an attribute has no value, or two"),
    };
    Ok(Xattr { name, value })
}

fn indexed(entry: &Entry<'_>) -> Result<Indexed, &'static str> {
    let mut name = bytes(&entry.path, &entry.path_hex)?;
    crate::format::name::checked(&name)
        .ok()
        .filter(|it| *it == name)
        .ok_or("its path leads elsewhere")?;
    let mode = match &entry.mode {
        Some(mode) => Some(u32::from_str_radix(mode, 8).map_err(|_| "its mode is not octal")?),
        None => None,
    };
    let (what, has_digest) = match &*entry.kind {
        "file" => {
            let hash = |it: &Cow<'_, str>| unhex(it.as_bytes()).and_then(|it| it.try_into().ok());
            let digest = entry.digest.as_ref().map(hash);
            let key = match (entry.mtime, entry.ctime) {
                (Some(mtime), Some(ctime)) => {
                    Some(Key { mtime, ctime, inode: entry.ino, device: entry.dev })
                }
                _ => None,
            };
            let read = entry.read.as_ref().and_then(|text| Day::parse(text));
            let has_digest = digest.is_some();
            // A list alone says no length.
            if entry.bytes.is_none() && !has_digest {
                return Err("a file without its length");
            }
            let digest = digest.unwrap_or(Some([0; OUT_LEN])).ok_or("its digest is wrong")?;
            let untrusted = entry.untrusted.filter(|_| key.is_none());
            let also = also::parse(&entry.also)?;
            let found = entry.found.as_ref().and_then(hash);
            let since = entry.since.as_ref().and_then(|text| Day::parse(text));
            let said = entry.said.clone();
            let doubt = since.map(|since| Box::new(Doubt { since, found, said }));
            let accepted = entry.accepted;
            let of = |bytes| Facts { bytes, mode, key, untrusted, read, doubt, accepted, also };
            let facts = entry.bytes.map(of);
            (What::File(FileRecord { digest, facts }), has_digest)
        }
        "link" => {
            let target = entry.target.as_ref().ok_or("a link without its target")?;
            (What::Link(bytes(target, &entry.target_hex)?), false)
        }
        "dir" => {
            name.push(b'/');
            (What::Directory(mode), false)
        }
        "pipe" => (What::Special(Special::Pipe), false),
        "socket" => (What::Special(Special::Socket), false),
        "device" => (What::Special(Special::Device), false),
        other => {
            let cause =
                format!("the manifest calls it a {other:?}, which this program does not know");
            (What::Unknown(cause, Vec::new()), false)
        }
    };
    let xattrs = entry.xattrs.iter().map(xattr).collect::<Result<Vec<_>, _>>()?;
    if !xattrs.is_sorted_by(|a, b| a.name < b.name) {
        return Err("its attributes are not in the order of their names");
    }
    Ok(Indexed { record: Record { name, what, xattrs }, has_digest })
}
