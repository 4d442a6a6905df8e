//! Writes the lines of a list and of its index.

use crate::format::also;
use crate::format::check::push_end;
use crate::format::day::Day;
use crate::format::facts::Facts as Digest;
use crate::format::index::{FileSystem, Header, LAST_LINE, Mount, Trailer, VERSION};
use crate::format::list;
use crate::format::name::is_listable;
use crate::format::record::{Doubt, Facts, Record, What};
use crate::format::rules::Rules;
use crate::format::trust::Key;
use crate::format::xattrs::{Value, Xattr};
use std::borrow::Cow;
use std::io::{self, Write};
use treewide::Hasher;
use treewide_digests::Algorithm;
use treewide_files::digest::hex;

/// Bytes that are gathered before they are hashed and written: hashing fewer takes more time for each.
const STEP: usize = 64 << 10;

/// Writes the lines of a list and of its index.
pub(crate) struct Lines {
    /// Lines of the list, and of the index, that are not written yet.
    list: Vec<u8>,
    index: Vec<u8>,
    /// Of the list and of the index so far, without those.
    hashers: (Hasher, Hasher),
    written: u64,
    files: u64,
    bytes: u64,
    facts: Digest,
    mounts: Vec<Mount>,
    doubts: u64,
    /// Bytes that are left for them in the last line.
    room: usize,
    day: LastDay,
}

/// The last day that was written, and its text: nearly all lines have the same.
pub(crate) type LastDay = Option<(Day, String)>;

impl Lines {
    /// The lines of an index that begins like this, and of its list.
    pub(crate) fn new(header: &Header) -> Self {
        let first = serde_json::to_string(header).unwrap_or_default() + "\n";
        Self {
            list: Vec::new(),
            index: first.into_bytes(),
            hashers: Default::default(),
            written: 0,
            files: 0,
            bytes: 0,
            facts: Digest::new(&header.rules),
            mounts: Vec::new(),
            doubts: 0,
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
    ) -> Header {
        let (kind, slack_ns) = crate::tree::clock::kind(root);
        Header {
            treewide: VERSION.into(),
            rules: rules.clone(),
            fs: FileSystem { kind: kind.into(), slack_ns },
            began: began.into(),
            also: also.iter().map(|it| it.name().into()).collect(),
        }
    }

    /// Adds the lines of a record, and returns the length of that in the index. A file that no list can name has its digest there.
    pub(crate) fn add(&mut self, record: &Record) -> usize {
        self.written += 1;
        self.facts.add(record);
        let is_listable = is_listable(&record.name);
        if let What::File(file) = &record.what {
            self.files += 1;
            let bytes = file.facts.as_ref().map_or(0, |it| it.bytes);
            self.bytes = self.bytes.saturating_add(bytes);
            self.doubts += u64::from(file.facts.as_ref().is_some_and(|it| it.doubt.is_some()));
            if is_listable {
                list::push(&mut self.list, &record.name, &file.digest);
            }
        }
        let before = self.index.len();
        push_record(&mut self.index, record, !is_listable, &mut self.day);
        self.index.extend_from_slice(b"}\n");
        self.index.len() - before
    }

    /// Whether there is enough to write.
    pub(crate) fn is_enough(&self) -> bool {
        self.list.len().max(self.index.len()) >= STEP
    }

    /// Writes what was gathered into a list and, if there is one, its index; the results of both.
    pub(crate) fn write(
        &mut self,
        list: &mut dyn Write,
        index: Option<&mut dyn Write>,
    ) -> [io::Result<()>; 2] {
        self.hashers.0.update(&self.list);
        self.hashers.1.update(&self.index);
        let index = index.map_or(Ok(()), |it| it.write_all(&self.index));
        let written = [list.write_all(&self.list), index];
        self.list.clear();
        self.index.clear();
        written
    }

    /// Adds the last line of the index, after all others were written, and returns its check.
    pub(crate) fn end(&mut self, trailer: &Trailer) -> String {
        push_end(&mut self.index, &mut self.hashers.1, trailer)
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

    /// The last line, after all others were written.
    pub(crate) fn trailer(&self) -> Trailer {
        Trailer {
            end: self.written,
            files: self.files,
            bytes: self.bytes,
            list: self.hashers.0.finalize().to_hex().to_string(),
            facts: self.facts.clone().finish().to_hex().to_string(),
            mounts: self.mounts.clone(),
            turn: None,
            doubts: Some(self.doubts),
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
    if let Some(Doubt { since, found, said }) = facts.doubt.as_deref() {
        push_text(to, ",\"since\":", &since.to_string());
        found.iter().for_each(|it| push_text(to, ",\"found\":", &hex(it)));
        if !said.is_empty() {
            to.push(b',');
            push_bytes(to, "said", said.as_bytes());
        }
    }
    if facts.accepted {
        to.extend_from_slice(b",\"accepted\":true");
    }
    also::push(to, &facts.also);
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
