//! The counts of one store, and the lines about it.

use super::algorithms::by;
use crate::shell::wording::count;
use indicatif::HumanBytes;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use treewide_digests::Algorithm;
use treewide_digests::store::{Kind, Store};
use treewide_files::check::Verdict;
use treewide_files::name::shown;

/// What was found of the store at hand.
pub(super) struct Checked {
    pub(super) store: Store,
    pub(super) ok: u64,
    pub(super) bytes: u64,
    failed: u64,
    /// Objects whose bytes were not read, because they are wrong as they are.
    pub(super) wrong: u64,
    pub(super) missing: u64,
    /// Whether they are ignored.
    ignores_missing: bool,
    /// Objects that could not be read, and places that could not be looked at.
    unread: u64,
    pub(super) unreadable: u64,
    pub(super) unverified: u64,
    pub(super) skipped: u64,
    algorithms: Vec<Algorithm>,
    /// The files of a bag, which several manifests list, and whether all say that they are right.
    listed: HashMap<PathBuf, bool>,
    /// What was passed over, and how often.
    pub(super) passed: BTreeMap<&'static str, u64>,
}

impl Checked {
    pub(super) fn new(store: Store, ignores_missing: bool) -> Self {
        Self {
            store,
            ok: 0,
            bytes: 0,
            failed: 0,
            wrong: 0,
            missing: 0,
            ignores_missing,
            unread: 0,
            unreadable: 0,
            unverified: 0,
            skipped: 0,
            algorithms: Vec::new(),
            listed: HashMap::new(),
            passed: BTreeMap::new(),
        }
    }

    /// Counts the verdict on an object, or on a file of a bag by one of its manifests.
    pub(super) fn add(
        &mut self,
        path: &Path,
        verdict: &Verdict,
        algorithm: Option<Algorithm>,
        is_missing: bool,
    ) {
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        if self.store.kind.is_complete() {
            match self.listed.entry(path.to_owned()) {
                Entry::Vacant(it) => {
                    it.insert(is_ok);
                }
                // One manifest found it right, and this one does not.
                Entry::Occupied(mut it) if *it.get() && !is_ok => {
                    it.insert(false);
                    self.ok -= 1;
                }
                Entry::Occupied(it) => {
                    if *it.get() {
                        self.by(algorithm);
                    }
                    return;
                }
            }
        }
        match verdict {
            Verdict::Ok { bytes } => {
                self.ok += 1;
                self.bytes += bytes;
                self.by(algorithm);
            }
            Verdict::Failed { bytes, .. } => {
                self.failed += 1;
                self.bytes += bytes;
            }
            _ if is_missing => self.missing += 1,
            _ => self.unread += 1,
        }
    }

    fn by(&mut self, algorithm: Option<Algorithm>) {
        self.algorithms.extend(algorithm.filter(|it| !self.algorithms.contains(it)));
    }

    /// How many are not what their names say.
    pub(super) fn differ(&self) -> u64 {
        self.failed + self.wrong + self.missing()
    }

    /// How many are missing and should not be.
    fn missing(&self) -> u64 {
        if self.ignores_missing { 0 } else { self.missing }
    }

    /// How many could not be verified.
    pub(super) fn are_unknown(&self) -> u64 {
        self.unread + self.unreadable + self.unverified
    }

    /// Whether nothing is wrong; with `strict`, nothing was skipped either.
    pub(super) fn is_good(&self, strict: bool) -> bool {
        self.differ() + self.are_unknown() == 0 && !self.is_undetermined(strict)
    }

    /// Whether something that was skipped is all there is, or counts.
    pub(super) fn is_undetermined(&self, strict: bool) -> bool {
        self.skipped > 0 && (strict || self.ok == 0)
    }

    /// Such as `models: an Ollama store: 214 objects (96.3 GiB), 213 are what their names say, 1 FAILED; 2 unfinished downloads passed
    /// over; not checked: whether all objects are there`.
    pub(super) fn summary(&self) -> String {
        let is_bag = self.store.kind.is_complete();
        let objects = self.ok + self.failed + self.wrong + self.unread + self.unverified;
        let noun = if is_bag { "file" } else { "object" };
        let mut text = format!("{}: {}", shown(&self.store.root), self.store.kind.shown);
        match objects {
            0 => text += ": nothing to check",
            _ => {
                let counted = count(objects, noun);
                let comma = if self.ok == objects { "" } else { "," };
                let ok = if self.ok == objects { String::new() } else { format!(" {}", self.ok) };
                let are = if self.ok == 1 { "is" } else { "are" };
                let named = match (is_bag, self.ok) {
                    (false, 1) => "what its name says",
                    (false, _) => "what their names say",
                    (true, _) => "as the manifests say",
                };
                let by = match self.algorithms == [Algorithm::BLAKE3] {
                    true => ", by BLAKE3".into(),
                    false => by(&self.algorithms),
                };
                let bytes = HumanBytes(self.bytes);
                text += &format!(": {counted} ({bytes}){comma}{ok} {are} {named}{by}");
            }
        }
        for (number, word) in [
            (self.failed + self.wrong, "FAILED"),
            (self.missing(), "MISSING"),
            (self.unread + self.unreadable, "could not be read"),
            (self.unverified, "not verified"),
            (self.skipped, "skipped"),
        ] {
            if number > 0 {
                text += &format!(", {number} {word}");
            }
        }
        if self.missing > self.missing() {
            text += &format!("; {} ignored", count(self.missing, &format!("missing {noun}")));
        }
        for (what, number) in self.passed.iter().filter(|(what, _)| !what.is_empty()) {
            text += &format!("; {} passed over", counted(*number, what));
        }
        for (place, to) in self.store.links() {
            text += &format!("; {} leads to {}", shown(&place), shown(&to));
        }
        match self.store.kind.followed {
            _ if is_bag || objects == 0 => {}
            "" => text += "; not checked: whether all objects are there",
            followed => {
                // What was not understood may name more.
                let all = if self.unverified + self.skipped == 0 { " all" } else { "" };
                text += &format!("; looked for{all} objects that {followed} name");
            }
        }
        text
    }

    /// What to do about a failure.
    pub(super) fn advice(&self) -> Option<String> {
        let (root, advice) = (shown(&self.store.root), self.store.kind.advice);
        if self.failed + self.wrong > 0 {
            return Some(format!("{root}: nothing was changed; {advice}"));
        }
        let what = "--ignore-missing leaves out what was never fetched";
        (self.missing() > 0).then(|| format!("{root}: {what}"))
    }
}

/// What a directory is in which no store was found.
pub(super) fn no_store(path: &Path, kind: Option<&Kind>, everywhere: bool) -> String {
    match kind {
        Some(kind) => format!("not {}", kind.shown),
        None if path.join(".git").exists() => {
            "holds no store that this program knows; git fsck checks objects of git itself".into()
        }
        None => {
            let (what, list) =
                ("not a store that this program knows", "`treewide sum -r` makes a list of it");
            match everywhere {
                true => format!("{what}, and there is none below it; {list}"),
                false => format!("{what}, and no list; {list}, and -r looks for stores below it"),
            }
        }
    }
}

/// Counts the first noun of a phrase: `2 objects named by xetHash`.
fn counted(number: u64, what: &str) -> String {
    let end = [" named", " of "].iter().filter_map(|it| what.find(it)).min().unwrap_or(what.len());
    let (noun, rest) = what.split_at(end);
    format!("{}{rest}", count(number, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_makes_a_plural_of_the_noun() {
        for (number, what, text) in [
            (2, "unfinished download", "2 unfinished downloads"),
            (1, "list of links", "1 list of links"),
            (2, "list of links", "2 lists of links"),
            (2, "object named by xetHash", "2 objects named by xetHash"),
        ] {
            assert_eq!(counted(number, what), text);
        }
    }
}
