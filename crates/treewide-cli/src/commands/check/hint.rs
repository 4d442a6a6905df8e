//! Hints at the cause when nothing is as listed: hundreds of lines that say FAILED do not name it.

use std::path::{Path, PathBuf};
use treewide_files::check::{Tally, Verdict};
use treewide_files::name::shown;

/// Whether a listed file does not exist, and that counts.
pub(super) fn is_absent(verdict: &Verdict) -> bool {
    let cause = if let Verdict::Unreadable(cause) = verdict { cause.io_kind() } else { None };
    cause == Some(std::io::ErrorKind::NotFound)
}

/// What a hint needs to know in addition to the counts.
#[derive(Default)]
pub(super) struct Clues {
    /// Listed files that do not exist.
    absent: u64,
    /// The first of them.
    first_absent: Option<PathBuf>,
    /// A file that exists in the folder of its list.
    elsewhere: Option<PathBuf>,
}

impl Clues {
    /// Take note of the verdict on a file.
    pub(super) fn add(&mut self, path: &Path, verdict: &Verdict) {
        if is_absent(verdict) || matches!(verdict, Verdict::Missing) {
            self.absent += 1;
            self.first_absent.get_or_insert_with(|| path.to_owned());
        }
    }

    /// Every file of the list at `list` was reported.
    pub(super) fn end(&mut self, list: &Path) {
        let absent = self.first_absent.take();
        if let (None, Some(folder), Some(absent)) = (&self.elsewhere, list.parent(), absent) {
            self.elsewhere = Some(folder.join(absent)).filter(|path| path.exists());
        }
    }

    /// What it may be, if no file at all is as listed; `other_mode` says how else the list may have been made.
    pub(super) fn hint(&self, total: &Tally, other_mode: &str) -> Option<String> {
        if total.ok > 0 {
            None
        } else if total.failed > 0 {
            Some(format!(
                "no file has the digest that is listed; if no one changed them, the list may have been made \
                 {other_mode}, or by another program, such as sha256sum"
            ))
        } else if self.absent > 0 && self.absent == total.checked() + total.missing {
            let there = match &self.elsewhere {
                Some(path) => format!("{} is there: run this in its list's folder", shown(path)),
                None => "run this where the list was made".to_owned(),
            };
            Some(format!(
                "no listed file is here; names are relative to the current directory, and {there}"
            ))
        } else {
            None
        }
    }
}
