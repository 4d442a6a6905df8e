//! Record of one path in a manifest.

use crate::format::also::Also;
use crate::format::day::Day;
use crate::format::trust::Key;
use crate::format::xattrs::Xattr;
use treewide::OUT_LEN;

/// A path and what is recorded of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The bytes of the path relative to the root. That of a directory has a `/` at its end, which gives the order.
    pub name: Vec<u8>,
    /// Type, with the facts of that type.
    pub what: What,
    /// Its extended attributes, in the order of their names, if they are recorded.
    pub xattrs: Vec<Xattr>,
}

/// Types of paths, with their facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File(FileRecord),
    /// A symbolic link, and the bytes that it holds.
    Link(Vec<u8>),
    /// A directory, and its permission bits if they are recorded.
    Directory(Option<u32>),
    /// A named pipe, a socket or a device.
    Special(Special),
    /// Something that cannot be compared: why, and its line in an index, without the `}` at the end.
    Unknown(String, Vec<u8>),
}

/// Record of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// The BLAKE3 hash of its content.
    pub digest: [u8; OUT_LEN],
    /// Facts from the index, if there is one.
    pub facts: Option<Facts>,
}

/// The ctime of a file whose content was never seen to be the recorded one.
const NEVER: i64 = i64::MIN;

/// Facts about a regular file in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its length.
    pub bytes: u64,
    /// Its permission bits, if they are recorded.
    pub mode: Option<u32>,
    /// How a later run sees that no program wrote to it; `None` if nothing shows that.
    pub key: Option<Key>,
    /// Times and numbers of a file without a key. They say nothing of whether someone wrote to it, but how its content can
    /// differ: see [`Key::moved`].
    pub untrusted: Option<Key>,
    /// When it was last read and was as recorded.
    pub read: Option<Day>,
    /// The last run did not find it as recorded. It is read each time.
    pub doubt: Option<Box<Doubt>>,
    /// Someone accepted the recorded content, which was in doubt.
    pub accepted: bool,
    /// Digests of the content that has the recorded one, by other algorithms.
    pub also: Also,
}

/// A file that is not as recorded, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The day of the first run that said so.
    pub since: Day,
    /// The BLAKE3 hash of the content that it had when it was last read since; `None` if it was not.
    pub found: Option<[u8; OUT_LEN]>,
    /// Details of the first verdict, for people. Empty if it was not read since.
    pub said: String,
}

impl Facts {
    /// Facts of a file whose length alone is known.
    pub(crate) fn of(bytes: u64) -> Self {
        let (key, untrusted, also) = (None, None, Also::new());
        Self { bytes, mode: None, key, untrusted, read: None, doubt: None, accepted: false, also }
    }

    /// Whether the last run that looked at it found it as recorded.
    pub(crate) fn is_proven(&self) -> bool {
        self.read.is_some() && self.doubt.is_none()
    }

    /// The doubt, from today on if there was none.
    fn is_not(&mut self) -> &mut Doubt {
        let new = || Box::new(Doubt { since: Day::today(), found: None, said: String::new() });
        self.doubt.get_or_insert_with(new)
    }

    /// Its times and numbers when its content was as recorded.
    pub(crate) fn seen(&self) -> Option<&Key> {
        self.key.as_ref().or(self.untrusted.as_ref())
    }

    /// The same, where its content was seen with them. See [`doubt`](Self::doubt).
    pub(crate) fn timed(&self) -> Option<&Key> {
        self.seen().filter(|it| it.ctime != NEVER)
    }

    /// Notes that the file with these times and numbers has this other content, so that it is found under another name as well, and
    /// each run reads it. Its mtime and ctime stay as they were with the recorded content.
    pub(crate) fn doubt(
        &mut self,
        now: Option<&Key>,
        bytes: u64,
        (found, said): ([u8; OUT_LEN], String),
    ) {
        let doubt = self.is_not();
        doubt.found = Some(found);
        if doubt.said.is_empty() {
            doubt.said = said;
        }
        let Some(now) = now else { return };
        let now = match self.timed() {
            // Nothing else would say next time that it moved.
            Some(seen) if seen.ctime == now.ctime => return,
            Some(seen) => {
                // That of a copy with times of its own is its own.
                let mtime = seen.moved(now).map_or(now.mtime, |_| seen.mtime);
                let (inode, device) = (now.inode.or(seen.inode), now.device.or(seen.device));
                Key { mtime, inode, device, ctime: seen.ctime }
            }
            None => {
                self.bytes = bytes;
                Key { ctime: NEVER, ..*now }
            }
        };
        (self.key, self.untrusted) = (None, Some(now));
    }

    /// Whether every run reads it, whatever else it is to read: nothing shows that it is unchanged, or it is not.
    pub(crate) fn is_read_always(&self) -> bool {
        self.key.is_none() || !self.is_proven()
    }
}

/// Files that are not hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl Special {
    /// The word in the index.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }

    /// Parses the word of a walk.
    pub(crate) fn of_walk(kind: &str) -> Self {
        match kind {
            "a named pipe" => Self::Pipe,
            "a socket" => Self::Socket,
            _ => Self::Device,
        }
    }
}

/// Type of a path, as a word for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// Anything else.
    Special(Special),
    /// Not known.
    Unknown,
}

impl Type {
    /// The word for it: `file`, `link`, `directory`, `pipe`, `socket`, `device`.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
            Self::Directory => "directory",
            Self::Special(special) => special.word(),
            Self::Unknown => "something",
        }
    }
}

/// For [`Records`](crate::Records) to fill.
impl Default for Record {
    fn default() -> Self {
        Self::new(Vec::new(), What::Directory(None))
    }
}

impl Record {
    /// A path without extended attributes.
    pub fn new(name: impl Into<Vec<u8>>, what: What) -> Self {
        Self { name: name.into(), what, xattrs: Vec::new() }
    }

    /// The name without the `/` at the end of that of a directory.
    pub fn bare(&self) -> &[u8] {
        match self.what {
            What::Directory(_) => self.name.strip_suffix(b"/").unwrap_or(&self.name),
            _ => &self.name,
        }
    }

    /// Notes that a file could not be looked at: every run reads it, and no one takes it for a copy. Its times stay.
    pub(crate) fn distrust(&mut self) {
        if let What::File(FileRecord { facts, .. }) = &mut self.what {
            let facts = facts.get_or_insert(Facts::of(0));
            facts.untrusted = facts.key.take().or(facts.untrusted);
            facts.is_not();
        }
    }

    /// Notes that someone accepted its content, which was in doubt.
    pub(crate) fn accept(&mut self) {
        if let What::File(FileRecord { facts: Some(facts), .. }) = &mut self.what {
            facts.accepted = true;
        }
    }

    /// [`bare`](Self::bare), of a record that is not needed any more.
    pub(crate) fn into_bare(self) -> Vec<u8> {
        let len = self.bare().len();
        let mut name = self.name;
        name.truncate(len);
        name
    }

    /// The facts about a file.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        match &self.what {
            What::File(file) => file.facts.as_ref(),
            _ => None,
        }
    }

    /// Returns the type.
    pub fn kind(&self) -> Type {
        match self.what {
            What::File(_) => Type::File,
            What::Link(_) => Type::Link,
            What::Directory(_) => Type::Directory,
            What::Special(special) => Type::Special(special),
            What::Unknown(..) => Type::Unknown,
        }
    }
}
