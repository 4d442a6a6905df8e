//! Hints at the cause when nothing is as listed: hundreds of lines that say FAILED do not name it.

use std::path::{Path, PathBuf};
use treewide_digests::{Algorithm, By, Expected};
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
    /// The algorithms that the first file that differs was compared by, and how they are known.
    compared: Option<(Vec<Algorithm>, By)>,
}

impl Clues {
    /// Take note of the verdict on a file.
    pub(super) fn add(&mut self, path: &Path, verdict: &Verdict, expected: Option<&Expected>) {
        if let (Verdict::Failed { .. }, Some(expected), None) = (verdict, expected, &self.compared)
            && !expected.candidates().is_empty()
        {
            self.compared = Some((expected.candidates().to_vec(), expected.by()));
        }
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
            let (algorithms, by) = self.compared.as_ref()?;
            let names: Vec<_> = algorithms.iter().map(|it| it.shown()).collect();
            let names = names.join(" or as ");
            let may_be = if algorithms.contains(&Algorithm::BLAKE3) {
                format!("{other_mode}, or by another algorithm")
            } else {
                "by another algorithm".to_owned()
            };
            let advice = match by {
                By::Length if !algorithms.contains(&Algorithm::BLAKE3) => {
                    "; if they are BLAKE3 digests, --length says how many bytes they have"
                }
                By::Length => "; --algorithm says which (sha3-256, blake2s-256, ..)",
                By::ListName => ", which its name does not say; --algorithm says which",
                By::Tag | By::Option | By::Store => "",
            };
            Some(format!(
                "no file has the listed digest as {names}; if no one changed them, the list may have been made \
                 {may_be}{advice}"
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
