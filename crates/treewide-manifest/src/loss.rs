//! Losses: records that a new manifest would lack and the old one has.

use std::fmt;
use std::path::PathBuf;
use treewide_files::name::shown;

/// Loss for which a new manifest was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The index cannot be used, and why.
    Damage(String),
    /// None of the recorded files is in the directory as it was, and most are gone: this many are recorded.
    Everything(u64),
    /// None of the files is there as it was that are recorded below this directory, where something was mounted, and most are gone.
    Mount(PathBuf),
    /// The same of the files that are recorded below this directory, where something is mounted now and was not.
    Hidden(PathBuf),
    /// The list has the first name, and the directory has the second one.
    Names(PathBuf, PathBuf),
    /// More files are gone than [allowed](crate::machine::Update::most_removed): this many of all.
    Removed(u64, u64),
    /// Nothing is recorded, and no index says that this is so.
    NoRecord,
    /// The index is there, and its list is not.
    NoList,
    /// The manifest has a record of this path that would be lost. It is not known which file has this path, and why.
    Unmatched(PathBuf, String),
    /// The manifest in this place has another digest of this file, nothing shows that someone wants the new content, and how that differs.
    Doubt(PathBuf, String),
    /// There is a list in the place of a new one.
    There,
}

impl Loss {
    /// The flag of `treewide update` with which the caller continues: `allow-empty`, `accept-damage` or `max-removed`.
    pub fn flag(&self) -> Option<&'static str> {
        match self {
            Self::NoList | Self::There => None,
            Self::Damage(_) | Self::Doubt(..) | Self::Unmatched(..) => Some("accept-damage"),
            Self::Removed(..) => Some("max-removed"),
            _ => Some("allow-empty"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(cause) => write!(
                f,
                "is damaged: {cause}; without it, rot looks like an edit, and links, modes, rules and digests by other algorithms are lost"
            ),
            Self::Everything(files) => {
                let files = if *files == 1 { "the recorded file" } else { "any recorded file" };
                write!(
                    f,
                    "does not have {files} as it was (name, content, times, inode, and no hard link), and most are gone; see that the disk is \
                     mounted, and that this is the directory"
                )
            }
            Self::Mount(at) => write!(
                f,
                "does not have any file that is recorded below {} as it was, where something was mounted; mount it",
                shown(at)
            ),
            Self::Hidden(at) => write!(
                f,
                "does not have any file that is recorded below {} as it was, where something is mounted now; unmount it",
                shown(at)
            ),
            Self::Names(listed, there) => write!(
                f,
                "has {}, which the list calls {}; name the directory that the list is of",
                shown(there),
                shown(listed)
            ),
            Self::Removed(removed, files) => {
                write!(
                    f,
                    "{removed} of {files} recorded files are gone, which is more than allowed"
                )
            }
            Self::NoRecord => {
                f.write_str("names no file, and there is no index which says that this is so")
            }
            Self::NoList => f.write_str(
                "is there, and its list is missing; restore the list, or remove the index as well",
            ),
            Self::Unmatched(at, cause) => {
                write!(f, "has a record of {}, which would be lost: {cause}", shown(at))
            }
            Self::Doubt(at, detail) => write!(
                f,
                "has another digest of {}, and the new one may be that of rot: {detail}; `treewide update` keeps the old one",
                shown(at)
            ),
            Self::There => f.write_str(
                "is there, and a snapshot never replaces a list; `treewide update --full --replace-rules` records everything anew",
            ),
        }
    }
}
