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
    /// None of the recorded files that are not empty is there as it was, and most are gone.
    Nothing {
        /// A place below the directory, whether something was mounted there, and whether it is now. `None` for the whole directory.
        at: Option<(PathBuf, bool, bool)>,
        /// How many are recorded there.
        files: u64,
    },
    /// More files are gone than [allowed](crate::machine::Update::most_removed).
    Gone {
        /// A place below the directory where something is mounted, or was. `None` for the whole directory.
        at: Option<PathBuf>,
        /// How many are gone of those recorded there.
        gone: u64,
        /// How many are recorded there.
        files: u64,
        /// The first that is gone.
        first: PathBuf,
        /// The number that passes, if it is allowed.
        most: u64,
    },
    /// Something was mounted or unmounted here during the run.
    Mount(PathBuf),
    /// Nothing is recorded, and no index says that this is so.
    NoRecord,
    /// The index is there, and its list is not.
    NoList,
    /// The manifest has a record of this path that would be lost. It is not known which file has this path, and why.
    Unmatched(PathBuf, String),
    /// There is a list in the place of a new one.
    There,
}

impl Loss {
    /// The flag of `treewide update` with which the caller continues, if there is one.
    pub fn flag(&self) -> Option<String> {
        match self {
            Self::NoList | Self::There | Self::Mount(_) => None,
            Self::Nothing { .. } => Some("--max-removed 100%".into()),
            Self::Gone { most, .. } => Some(format!("--max-removed {most}")),
            Self::Damage(_) | Self::Unmatched(..) | Self::NoRecord => {
                Some("--accept-damage".into())
            }
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
            Self::Nothing { at, files } => {
                let (files, below) = (counted(*files), at.as_ref().map(|it| &it.0));
                write!(f, "none of the {files} recorded{} is there as it was; ", Below(below))?;
                f.write_str(match at {
                    None => "see that the disk is mounted, and that this is the directory",
                    Some((_, true, false)) => "something was mounted there: mount it",
                    Some((_, false, _)) => "something is mounted there now: unmount it",
                    Some((_, true, true)) => "see that the right disk is mounted there",
                })
            }
            Self::Gone { at, gone, files, first, .. } => write!(
                f,
                "{gone} of {} recorded{} are gone, the first is {}; if a disk is off, mount it",
                counted(*files),
                Below(at.as_ref()),
                shown(first)
            ),
            Self::Mount(at) => write!(
                f,
                "something was mounted or unmounted at {} during the run; run it again",
                shown(at)
            ),
            Self::NoRecord => {
                f.write_str("names no file, and there is no index which says that this is so")
            }
            Self::NoList => f.write_str(
                "is there, and its list is missing; restore the list, or remove the index as well",
            ),
            Self::Unmatched(at, cause) => {
                write!(f, "has a record of {}, which would be lost: {cause}", shown(at))
            }
            Self::There => f.write_str("is there, and a snapshot never replaces a list"),
        }
    }
}

fn counted(files: u64) -> String {
    if files == 1 { "1 file".into() } else { format!("{files} files") }
}

struct Below<'a>(Option<&'a PathBuf>);

impl fmt::Display for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |at| write!(f, " below {}", shown(at)))
    }
}
