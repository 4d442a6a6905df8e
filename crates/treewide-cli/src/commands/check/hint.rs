//! Hints at the cause when nothing is as listed: hundreds of lines that say FAILED do not name it.

use crate::commands::comparing::what_it_is;
use crate::commands::manifest::root;
use std::path::{Path, PathBuf};
use treewide_digests::check::{Finding, Status, Total};
use treewide_digests::{Algorithm, By};
use treewide_files::name::{quoted, shown};

/// The kind of a list that `check` is not for, and the command that reads it.
fn command_of(list: &Path) -> Option<String> {
    let name = shown(list);
    if let Some(what) = root::of_tensors(list) {
        return Some(what);
    }
    let directory = list.with_extension("");
    let is_manifest = treewide_manifest::index_path(list).is_file()
        || list.extension().is_some_and(|it| it == "b3") && directory.is_dir();
    is_manifest.then(|| format!("{name} is a manifest: treewide verify {}", quoted(&name)))
}

/// What a hint needs to know in addition to the counts.
#[derive(Default)]
pub(super) struct Clues {
    /// The first list.
    list: Option<PathBuf>,
    /// The first listed file that does not exist.
    first_absent: Option<PathBuf>,
    /// A file that exists in the directory of its list; or here, where the list has another path.
    elsewhere: Option<(PathBuf, bool)>,
    /// The command that reads a list which has no files of this directory.
    command: Option<String>,
    /// The algorithms that the first file that differs was compared by, and how they are known.
    compared: Option<(Vec<Algorithm>, By)>,
}

impl Clues {
    /// Take note of the verdict on a listed file.
    pub(super) fn add(&mut self, finding: &Finding) {
        if let (Status::Failed, Some(by), None) = (finding.status, finding.by, &self.compared)
            && finding.digest.is_some()
        {
            self.compared = Some((finding.candidates.clone(), by));
        }
        if finding.is_absent || finding.status == Status::Missing {
            self.first_absent.get_or_insert_with(|| finding.path.clone());
        }
    }

    /// Every file of the list at `list` was reported.
    pub(super) fn end(&mut self, list: &Path) {
        self.list.get_or_insert_with(|| list.to_owned());
        let absent = self.first_absent.take();
        if absent.is_some() {
            self.command = self.command.take().or_else(|| command_of(list));
        }
        if let (None, Some(folder), Some(absent)) = (&self.elsewhere, list.parent(), absent) {
            let by_list = (folder.join(&absent), false);
            let here = absent.file_name().map(|it| (PathBuf::from(it), true));
            self.elsewhere = [Some(by_list), here].into_iter().flatten().find(|it| it.0.exists());
        }
    }

    /// What it may be, if no file at all is as listed; `other_mode` says how else the list may have been made.
    pub(super) fn hint(&self, total: &Total, other_mode: &str) -> Option<String> {
        let lines = &total.lines;
        let missing = lines.of(Status::Missing);
        let absent = total.absent + missing;
        if lines.of(Status::Ok) > 0 {
            None
        } else if lines.of(Status::Failed) > 0 {
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
        } else if absent > 0 && absent == lines.checked() + missing {
            if let Some(command) = &self.command {
                return Some(format!("None of the listed files is here. {command}"));
            }
            let there = match &self.elsewhere {
                Some((path, false)) => {
                    format!("But {} is: run this in the directory of the list.", shown(path))
                }
                Some((path, true)) => format!(
                    "But {} is: the list has the paths of the machine that made it.",
                    shown(path)
                ),
                None => "Run this in the directory where the list was made.".to_owned(),
            };
            Some(format!("None of the listed files is here. {there}"))
        } else {
            let list = self.list.as_ref().filter(|_| lines.checked() == 0)?;
            what_it_is(list).map(|it| format!("{}: {it}", shown(list)))
        }
    }
}
