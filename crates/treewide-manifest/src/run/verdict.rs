//! Verdicts on paths, and their counts.

use crate::format::day::Day;
use crate::format::name;
use crate::format::record::{Doubt, Facts, Type};
use crate::format::xattrs::XattrChange;
use crate::keep::located::Located;
use std::fmt;
use std::path::PathBuf;

/// A path and the verdict on it. Every path has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The bytes of the path, relative to the root.
    pub name: Vec<u8>,
    /// Type, or the recorded type if it is gone.
    pub kind: Type,
    /// The verdict.
    pub verdict: Verdict,
    /// How the verdict is known. `None` where nothing is.
    pub evidence: Option<Evidence>,
    /// Which bytes of a file are not as recorded, if its content is not and there are [outboards](crate::Outboards).
    pub located: Option<Located>,
    /// The record of the path in the [past](crate::past_path).
    pub then: Option<Then>,
    /// Findings of runs before this one about a file that is in doubt or cannot be read. `None` if this is the first.
    pub since: Option<Since>,
}

/// Findings of runs before this one about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// Since when.
    pub day: Day,
    /// When it was last read as recorded.
    pub read: Option<Day>,
    /// Details of the first verdict.
    pub said: String,
}

/// The record of a path in the past of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Then {
    /// When the manifest had it last: when a run began that dropped or replaced its record.
    pub until: String,
    /// Whether the file is as it was then.
    pub as_then: bool,
    /// Whether the manifest has no record of the path.
    pub is_back: bool,
}

impl Then {
    /// The day, for people.
    fn day(&self) -> &str {
        self.until.get(..10).unwrap_or(&self.until)
    }
}

impl Finding {
    /// The path, relative to the root.
    pub fn path(&self) -> PathBuf {
        name::path(&self.name)
    }

    /// Details of the verdict. Empty if there are none.
    pub fn detail(&self) -> String {
        let Some(Since { day, read, said }) = &self.since else { return self.told() };
        // Later ones compare times that were not recorded with the content.
        let is_first = !said.is_empty() && self.verdict.is_doubtful();
        let mut text = if is_first { said.clone() } else { self.told() };
        text += if text.is_empty() { "" } else { "; " };
        text += &format!("since {day}");
        read.iter().for_each(|it| text += &format!("; what is recorded was last read on {it}"));
        text
    }

    /// The same, without runs before this one.
    pub(crate) fn told(&self) -> String {
        match (&self.verdict, &self.then) {
            (verdict, None) | (verdict @ Verdict::Suspect { from: Some(_), .. }, _) => {
                verdict.detail()
            }
            (verdict @ Verdict::Suspect { moved, .. }, _) if moved.is_empty() => verdict.detail(),
            (Verdict::Rot { .. } | Verdict::Suspect { .. }, Some(then)) => {
                format!("size and mtime are as they were until {}, the content is not", then.day())
            }
            (_, Some(then)) => {
                let not = if then.as_then { "" } else { "not " };
                format!("{not}as it was until {}", then.day())
            }
        }
    }
}

/// An enum, all of its values, and their words.
macro_rules! words {
    ($(#[$of:meta])* $name:ident { $($(#[$about:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum $name {
            $($(#[$about])* $value,)*
        }

        impl $name {
            /// All, in this order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$value),*];

            /// The word for it, as in `--json`.
            pub fn word(self) -> &'static str {
                match self { $(Self::$value => $word,)* }
            }
        }
    };
}

words! {
    /// How a verdict is known, from the strongest to the weakest.
    Evidence {
        /// What a file or a link holds was read in this run.
        Read = "read",
        /// What the system says of it, such as size, times and inode.
        Metadata = "metadata",
        /// What a store says of it, such as an ETag, a version or a checksum.
        Attested = "attested",
        /// What a manifest says of it.
        Claimed = "claimed",
    }
}

/// Verdict on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as recorded. [`Finding::evidence`] says whether its content was read, or only its key compared.
    Same,
    /// Its content is as recorded; times, inode or device are not.
    Touched,
    /// It is not as recorded.
    Changed(Change),
    /// Its content is not as recorded, and nothing shows that anybody wrote to it.
    Rot {
        /// It was written so shortly before it was recorded that a write after that may have left its times as they were.
        racy: bool,
    },
    /// Its content is not as recorded, while size and mtime are. Other things moved, which say nothing of the content.
    Suspect {
        /// Such as `ctime`: by `chmod`, a new hard link, a copy or a restored backup. Empty if it has the content of a file in doubt, which may be itself.
        moved: Vec<&'static str>,
        /// The recorded path that has its inode, mtime and size, or its content and is in doubt, if that is another one.
        from: Option<Vec<u8>>,
    },
    /// Its content is not as recorded, which is in doubt, and someone accepts it: the new digest is recorded.
    Accepted,
    /// Something else is in its place.
    ReplacedType {
        /// What was recorded.
        was: Type,
    },
    /// It is not recorded.
    Added,
    /// It does not exist any more.
    Removed {
        /// A path that has its content now, if another file took its name.
        still_at: Option<Vec<u8>>,
    },
    /// It is what was recorded at another path, where nothing is now.
    Moved {
        /// That path.
        from: Vec<u8>,
    },
    /// It is not recorded, and has the content of a file that moved.
    Copied {
        /// Where that content was recorded.
        from: Vec<u8>,
    },
    /// Its name has the same letters as one that is recorded, in another Unicode form.
    Renamed {
        /// That name.
        from: Vec<u8>,
    },
    /// It changed each time while it was being read.
    Changing,
    /// It could not be read, and why.
    Unreadable(String),
    /// What is recorded cannot be compared, and why.
    NotCheckable(String),
}

/// How a path differs from the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The content of a file.
    Content {
        /// No times are recorded, as by a list without an index: rot looks like an edit.
        untimed: bool,
    },
    /// Permission bits: what they were and are.
    Mode(u32, u32),
    /// What a link holds: what it was and is.
    Target(Vec<u8>, Vec<u8>),
    /// Extended attributes, in the order of their names. Everything else that is recorded is as it was.
    Xattrs(Vec<XattrChange>),
}

/// Attributes that are named, at most.
const NAMED: usize = 5;

/// Such as `user.note "a" -> "b", and 2 more attributes`.
fn named(changes: &[XattrChange]) -> String {
    let mut parts: Vec<String> = changes.iter().take(NAMED).map(XattrChange::to_string).collect();
    let more = changes.len() - parts.len();
    if more > 0 {
        parts.push(format!(
            "and {more} more {}",
            if more == 1 { "attribute" } else { "attributes" }
        ));
    }
    parts.join(", ")
}

words! {
    /// The kinds of verdicts, in the order in which they are counted for people.
    Class {
        /// [`Verdict::Same`].
        Same = "same",
        /// [`Verdict::Touched`].
        Touched = "touched",
        /// [`Verdict::Changed`].
        Changed = "changed",
        /// [`Verdict::Rot`].
        Rot = "rot",
        /// [`Verdict::Suspect`].
        Suspect = "suspect",
        /// [`Verdict::Accepted`].
        Accepted = "accepted",
        /// [`Verdict::ReplacedType`].
        ReplacedType = "replaced-type",
        /// [`Verdict::Moved`].
        Moved = "moved",
        /// [`Verdict::Renamed`].
        Renamed = "renamed",
        /// [`Verdict::Copied`].
        Copied = "copied",
        /// [`Verdict::Added`].
        Added = "added",
        /// [`Verdict::Removed`].
        Removed = "removed",
        /// [`Verdict::Changing`].
        Changing = "changing",
        /// [`Verdict::Unreadable`].
        Unreadable = "unreadable",
        /// [`Verdict::NotCheckable`].
        NotCheckable = "not-checkable",
    }
}

impl Class {
    /// Whether the tree differs from the record.
    pub fn differs(self) -> bool {
        !matches!(self, Self::Same | Self::Touched) && !self.is_unknown()
    }

    /// Whether no one can say if the path differs.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Changing | Self::Unreadable | Self::NotCheckable)
    }
}

impl Verdict {
    /// Its kind.
    pub fn class(&self) -> Class {
        match self {
            Self::Same => Class::Same,
            Self::Touched => Class::Touched,
            Self::Changed(_) => Class::Changed,
            Self::Rot { .. } => Class::Rot,
            Self::Suspect { .. } => Class::Suspect,
            Self::Accepted => Class::Accepted,
            Self::ReplacedType { .. } => Class::ReplacedType,
            Self::Added => Class::Added,
            Self::Removed { .. } => Class::Removed,
            Self::Moved { .. } => Class::Moved,
            Self::Copied { .. } => Class::Copied,
            Self::Renamed { .. } => Class::Renamed,
            Self::Changing => Class::Changing,
            Self::Unreadable(_) => Class::Unreadable,
            Self::NotCheckable(_) => Class::NotCheckable,
        }
    }

    /// The path that it names besides that of the finding.
    pub fn from(&self) -> Option<&[u8]> {
        match self {
            Self::Moved { from } | Self::Copied { from } | Self::Renamed { from } => Some(from),
            Self::Suspect { from, .. } => from.as_deref(),
            _ => None,
        }
    }

    /// Whether the content differs, and nothing proves that someone wants it to: the old digest is worth keeping.
    pub fn is_doubtful(&self) -> bool {
        matches!(
            self,
            Self::Rot { .. }
                | Self::Suspect { .. }
                | Self::Changed(Change::Content { untimed: true })
        )
    }

    /// Since when the record of its path is in doubt, and when that was last read as recorded, if this is about that.
    pub(crate) fn since(&self, record: Option<&Facts>) -> Option<Since> {
        let record = record.filter(|_| self.is_doubtful() || self.class().is_unknown())?;
        // What was said of another path is not so of this one.
        let said = |it: &Doubt| self.from().map_or(it.said.clone(), |_| String::new());
        let since = |it: &Doubt| Since { day: it.since, read: record.read, said: said(it) };
        record.doubt.as_deref().map(since)
    }

    /// How such a verdict is usually known.
    pub(crate) fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::Added | Self::Removed { .. } | Self::ReplacedType { .. } => {
                Some(Evidence::Metadata)
            }
            Self::Changing | Self::Unreadable(_) | Self::NotCheckable(_) => None,
            _ => Some(Evidence::Read),
        }
    }

    /// Details in addition to its kind. Empty if there are none.
    pub fn detail(&self) -> String {
        let shown = |name: &[u8]| treewide_files::name::shown(&name::path(name));
        match self {
            Self::Changed(Change::Content { untimed: true }) => {
                "no times are recorded, so that rot looks like an edit".into()
            }
            Self::Changed(Change::Content { untimed: false }) => String::new(),
            Self::Changed(Change::Mode(was, is)) => format!("mode {was:04o} -> {is:04o}"),
            Self::Changed(Change::Target(was, is)) => {
                format!("leads to {} and not to {} any more", shown(is), shown(was))
            }
            Self::Changed(Change::Xattrs(changes)) => named(changes),
            Self::Rot { racy: false } => {
                "mtime, ctime and inode are as before, the content is not".into()
            }
            Self::Rot { racy: true } => {
                "size, mtime, ctime and inode are as before, the content is not; it was recorded right after a write, and \
                 another one may look like this"
                    .into()
            }
            Self::Suspect { from: Some(from), moved } if moved.is_empty() => {
                format!("has the content of {}, which is in doubt", shown(from))
            }
            Self::Suspect { from: Some(from), moved } => {
                let (from, inode) = (shown(from), !moved.contains(&"inode"));
                let those = if inode { "size, mtime and inode" } else { "size and mtime" };
                format!("{those} are those of {from}, the content is not")
            }
            Self::Suspect { moved, from: None } if moved.is_empty() => {
                "has the content with which it was in doubt".into()
            }
            Self::Suspect { moved, from: None } => {
                let moved = moved.join(" and ");
                format!("size and mtime are as before, the content is not; only {moved} moved")
            }
            Self::ReplacedType { was } => format!("was a {}", was.word()),
            Self::Removed { still_at: Some(name) } => {
                format!("content is still at {}", shown(name))
            }
            Self::Copied { from } => format!("has the content that was at {}", shown(from)),
            Self::Renamed { from } => {
                format!("same letters as {} in another Unicode form", shown(from))
            }
            Self::Changing => "changed while it was being read".into(),
            Self::Unreadable(cause) | Self::NotCheckable(cause) => cause.clone(),
            _ => String::new(),
        }
    }
}

/// How a comparison ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    counts: [u64; Class::ALL.len()],
    /// Files that are as recorded, by the evidence for it.
    known_by: [u64; Evidence::ALL.len()],
    /// Files that came back and are as they were, and others that came back.
    pub back: (u64, u64),
    /// Files whose old digests the new manifest keeps, although their content differs.
    pub files_kept: u64,
    /// Recorded paths that [`Verify::only`](crate::machine::Verify::only) leaves out.
    pub skipped: u64,
    /// Files in the tree that a run left behind when it was killed. They are not covered.
    pub leftovers: u64,
    /// Links that the new manifest records, and whose files it does not cover.
    pub links: u64,
    /// Rules of exclusion that matched nothing.
    pub idle_rules: Vec<String>,
    /// Globs of [`Update::accept_rot`](crate::machine::Update::accept_rot) that match nothing doubtful.
    pub idle_accepts: Vec<String>,
    /// Recorded paths that are there, and that the new rules leave out.
    pub uncovered: u64,
    /// The day on which the file was read that was not read for longest, of those in the new manifest.
    pub oldest: Option<Day>,
    /// Runs that read all files by this [budget](crate::machine::Update::scrub), with this one.
    pub runs: Option<u64>,
    /// Files whose content was read.
    pub files_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Files that were read under another name, which they have as well.
    pub files_linked: u64,
    /// Files whose content was not read, because their keys are as recorded.
    pub files_unread: u64,
    /// Their bytes.
    pub bytes_unread: u64,
    /// Files that a run before this one has read, which was [interrupted](crate::keep::journal).
    pub files_resumed: u64,
    /// Their bytes.
    pub bytes_resumed: u64,
    /// Damage of the [past](crate::past_path) of the manifest. Other parts of it count.
    pub past_damage: Option<String>,
    /// Remark on the past that is not an error.
    pub past_note: Option<String>,
    /// Why a [journal](crate::keep::journal) that is there was not used.
    pub unused_journal: Option<String>,
    /// Damage of the index, so that links, modes, names that are not UTF-8 and keys could not be used.
    pub damage: Option<String>,
    /// Nothing was recorded, and no index says that this is so.
    pub nothing_checked: bool,
    /// Globs of [`Verify::only`](crate::machine::Verify::only) that match nothing, so that nothing was compared for them.
    pub unmatched: Vec<String>,
    /// Extended attributes `trusted.*` are covered, and this process cannot see them.
    pub trusted_unseen: bool,
}

impl Report {
    pub(crate) fn add(&mut self, class: Class) {
        self.counts[class as usize] += 1;
    }

    pub(crate) fn add_finding(&mut self, finding: &Finding) {
        let class = finding.verdict.class();
        self.add(class);
        if let Some(then) = finding.then.as_ref().filter(|it| it.is_back) {
            self.back.0 += u64::from(then.as_then);
            self.back.1 += u64::from(!then.as_then);
        }
        if let (Class::Same | Class::Touched, Type::File, Some(evidence)) =
            (class, finding.kind, finding.evidence)
        {
            self.known_by[evidence as usize] += 1;
        }
    }

    /// Counts what a run before this one could not compare.
    pub fn add_unknown(&mut self, before: &Self) {
        for class in Class::ALL.into_iter().filter(|it| it.is_unknown()) {
            self.counts[class as usize] += before.counts[class as usize];
        }
    }

    /// The number of files that are as recorded by this evidence. Only what was [read](Evidence::Read) was verified.
    pub fn known_by(&self, evidence: Evidence) -> u64 {
        self.known_by[evidence as usize]
    }

    /// The number of paths with a verdict of this kind.
    pub fn count(&self, class: Class) -> u64 {
        self.counts[class as usize]
    }

    /// All paths.
    pub fn entries(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether someone can say about every path if it differs.
    pub fn is_certain(&self) -> bool {
        self.damage.is_none()
            && self.past_damage.is_none()
            && !self.nothing_checked
            && !self.trusted_unseen
            && self.unmatched.is_empty()
            && Class::ALL.into_iter().all(|class| !class.is_unknown() || self.count(class) == 0)
    }

    /// Whether the tree differs from the record.
    pub fn differs(&self) -> bool {
        Class::ALL.into_iter().any(|class| class.differs() && self.count(class) > 0)
    }
}

/// Such as `20004 entries: 20003 same, 1 changed`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        write!(f, "{entries} {}", if entries == 1 { "entry" } else { "entries" })?;
        let mut sign = ": ";
        for class in Class::ALL {
            let count = self.count(class);
            if count > 0 {
                write!(f, "{sign}{count} {}", class.word())?;
                sign = ", ";
            }
        }
        Ok(())
    }
}
