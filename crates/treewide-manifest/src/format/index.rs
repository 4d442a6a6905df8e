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

use crate::format::also::{self, Texts};
use crate::format::day::Day;
use crate::format::facts::Facts as Digest;
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
use treewide_digests::Algorithm;
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
    /// The check of the last section of the [past](crate::past_path). A manifest that dropped nothing has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<String>,
    /// The BLAKE3 hash of all bytes of the index before this key, in hex. The first manifests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// The text before the digits of [`Trailer::check`].
const CHECK: &str = ",\"check\":\"";

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
    untrusted: Option<Times>,
    #[serde(borrow, default)]
    read: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    since: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    found: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    also: Texts<'a>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    target_hex: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    xattrs: Vec<XattrEntry<'a>>,
}

/// Times and numbers of a file without a key.
#[derive(Deserialize)]
struct Times {
    mtime: i64,
    ctime: i64,
    #[serde(default)]
    ino: Option<u64>,
    #[serde(default)]
    dev: Option<u64>,
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
        if self.line.starts_with(b"{\"end\":") {
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
        if let Some(record) = self.usual.parse(&self.line) {
            return Ok(Some(Indexed { record, has_digest: false }));
        }
        parse(&self.line).map(Some).map_err(|cause| format!("line {number}: {cause}"))
    }

    /// An error if the bytes up to the check of the last line, which was read last, are not as they were written.
    fn check(&mut self) -> Result<(), String> {
        let Some(check) = &self.trailer.check else { return Ok(()) };
        let at = self.line.windows(CHECK.len()).rposition(|it| it == CHECK.as_bytes());
        self.hasher.update(&self.line[..at.unwrap_or(0)]);
        if self.hasher.finalize().to_hex().as_str() != check {
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
            let bytes = entry.bytes.ok_or("a file without its length")?;
            let has_digest = digest.is_some();
            let digest = digest.unwrap_or(Some([0; OUT_LEN])).ok_or("its digest is wrong")?;
            let untrusted = entry.untrusted.as_ref().filter(|_| key.is_none()).map(|it| Key {
                mtime: it.mtime,
                ctime: it.ctime,
                inode: it.ino,
                device: it.dev,
            });
            let also = also::parse(&entry.also)?;
            let found = entry.found.as_ref().and_then(hash);
            let since = entry.since.as_ref().and_then(|text| Day::parse(text));
            let doubt = since.map(|since| Box::new(Doubt { since, found }));
            let facts = Some(Facts { bytes, mode, key, untrusted, read, doubt, also });
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

/// Writes the lines of an index.
pub(crate) struct Lines {
    written: u64,
    files: u64,
    bytes: u64,
    facts: Digest,
    mounts: Vec<Mount>,
    /// Bytes that are left for them in the last line.
    room: usize,
    day: LastDay,
}

/// The last day that was written, and its text: nearly all lines have the same.
pub(crate) type LastDay = Option<(Day, String)>;

impl Lines {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            written: 0,
            files: 0,
            bytes: 0,
            facts: Digest::new(rules),
            mounts: Vec::new(),
            room: LAST_LINE as usize - (32 << 10),
            day: None,
        }
    }

    /// The first line, of a walk that began then.
    pub(crate) fn header(
        rules: &Rules,
        root: &std::path::Path,
        also: &[Algorithm],
        began: &str,
    ) -> String {
        let (kind, slack_ns) = crate::tree::clock::kind(root);
        let header = Header {
            treewide: VERSION.into(),
            rules: rules.clone(),
            fs: FileSystem { kind: kind.into(), slack_ns },
            began: began.into(),
            also: also.iter().map(|it| it.name().into()).collect(),
        };
        serde_json::to_string(&header).unwrap_or_default() + "\n"
    }

    /// Adds the line of a record to `to`. A file that no list can name has its digest here.
    pub(crate) fn push(&mut self, to: &mut Vec<u8>, record: &Record) {
        self.written += 1;
        self.facts.add(record);
        if let What::File(file) = &record.what {
            self.files += 1;
            let bytes = file.facts.as_ref().map_or(0, |it| it.bytes);
            self.bytes = self.bytes.saturating_add(bytes);
        }
        let has_digest = !crate::format::name::is_listable(&record.name);
        push_record(to, record, has_digest, &mut self.day);
        to.extend_from_slice(b"}\n");
    }

    /// Notes a place where something was mounted, if the last line has room for it.
    pub(crate) fn mount(&mut self, name: &[u8]) {
        let mount = Mount::new(name);
        // With a comma.
        let len = serde_json::to_string(&mount).unwrap_or_default().len() + 1;
        if let Some(room) = self.room.checked_sub(len) {
            self.room = room;
            self.mounts.push(mount);
        }
    }

    pub(crate) fn trailer(&self, list: &Hash) -> Trailer {
        Trailer {
            end: self.written,
            files: self.files,
            bytes: self.bytes,
            list: list.to_hex().to_string(),
            facts: self.facts.clone().finish().to_hex().to_string(),
            mounts: self.mounts.clone(),
            turn: None,
            past: None,
            check: None,
        }
    }
}

/// Adds the line of a record, without its end.
pub(crate) fn push_record(
    to: &mut Vec<u8>,
    record: &Record,
    has_digest: bool,
    last_day: &mut LastDay,
) {
    if let What::Unknown(_, line) = &record.what {
        to.extend_from_slice(line);
        return;
    }
    to.push(b'{');
    push_bytes(to, "path", record.bare());
    let kind = match record.what {
        What::Directory(_) => "dir",
        _ => record.kind().word(),
    };
    push_text(to, ",\"type\":", kind);
    match &record.what {
        What::File(file) => {
            if has_digest {
                push_text(to, ",\"digest\":", &hex(&file.digest));
            }
            if let Some(facts) = &file.facts {
                push_facts(to, facts, last_day);
            }
        }
        What::Link(target) => {
            to.push(b',');
            push_bytes(to, "target", target);
        }
        What::Directory(Some(mode)) => push_mode(to, *mode),
        What::Directory(None) | What::Special(_) | What::Unknown(..) => {}
    }
    if !record.xattrs.is_empty() {
        push_xattrs(to, &record.xattrs);
    }
}

fn push_facts(to: &mut Vec<u8>, facts: &Facts, last_day: &mut LastDay) {
    push_number(to, ",\"bytes\":", facts.bytes);
    if let Some(mode) = facts.mode {
        push_mode(to, mode);
    }
    match (&facts.key, &facts.untrusted) {
        (Some(key), _) => {
            to.push(b',');
            push_key(to, key);
        }
        (None, untrusted) => {
            to.extend_from_slice(b",\"mtime\":null");
            if let Some(key) = untrusted {
                to.extend_from_slice(b",\"untrusted\":{");
                push_key(to, key);
                to.push(b'}');
            }
        }
    }
    if let Some(read) = facts.read {
        let day = last_day.take().filter(|(day, _)| *day == read);
        let (_, text) = last_day.insert(day.unwrap_or_else(|| (read, read.to_string())));
        push_text(to, ",\"read\":", text);
    }
    if let Some(Doubt { since, found }) = facts.doubt.as_deref() {
        push_text(to, ",\"since\":", &since.to_string());
        found.iter().for_each(|it| push_text(to, ",\"found\":", &hex(it)));
    }
    also::push(to, &facts.also);
}

/// Completes the last line: `before` has hashed all bytes of the index up to the `}` of a line without a check.
pub(crate) fn end_of_check(before: &Hasher) -> String {
    format!("{CHECK}{}\"}}\n", before.finalize())
}

fn push_number(to: &mut Vec<u8>, key: &str, number: impl itoa::Integer) {
    to.extend_from_slice(key.as_bytes());
    to.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push_key(to: &mut Vec<u8>, key: &Key) {
    push_number(to, "\"mtime\":", key.mtime);
    push_number(to, ",\"ctime\":", key.ctime);
    if let Some(inode) = key.inode {
        push_number(to, ",\"ino\":", inode);
    }
    if let Some(device) = key.device {
        push_number(to, ",\"dev\":", device);
    }
}

fn push_mode(to: &mut Vec<u8>, mode: u32) {
    use std::io::Write;
    let _ = write!(to, ",\"mode\":\"{mode:04o}\"");
}

fn push_xattrs(to: &mut Vec<u8>, xattrs: &[Xattr]) {
    let mut before: &[u8] = b",\"xattrs\":[{";
    for Xattr { name, value } in xattrs {
        to.extend_from_slice(before);
        before = b",{";
        push_bytes(to, "name", name);
        to.push(b',');
        match value {
            Value::Bytes(value) => push_bytes(to, "value", value),
            Value::Hash(len, hash) => {
                push_number(to, "\"bytes\":", *len);
                push_text(to, ",\"digest\":", &hex(hash));
            }
        }
        to.push(b'}');
    }
    to.push(b']');
}

/// A text that needs no escapes.
fn push_text(to: &mut Vec<u8>, key: &str, text: &str) {
    to.extend_from_slice(key.as_bytes());
    to.push(b'"');
    to.extend_from_slice(text.as_bytes());
    to.push(b'"');
}

/// A string, and its bytes in hex if it is not UTF-8.
pub(crate) fn push_bytes(to: &mut Vec<u8>, key: &str, bytes: &[u8]) {
    to.push(b'"');
    to.extend_from_slice(key.as_bytes());
    to.extend_from_slice(b"\":");
    // Without a branch for each byte.
    let is_special = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\') | (byte >= 0x80);
    if !bytes.iter().fold(false, |found, byte| found | is_special(*byte)) {
        to.push(b'"');
        to.extend_from_slice(bytes);
        to.push(b'"');
        return;
    }
    let shown = String::from_utf8_lossy(bytes);
    to.extend_from_slice(serde_json::Value::from(&*shown).to_string().as_bytes());
    if matches!(shown, Cow::Owned(_)) {
        push_text(to, &format!(",\"{key}_hex\":"), &hex(bytes));
    }
}
