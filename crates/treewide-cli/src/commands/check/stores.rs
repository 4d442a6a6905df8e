//! The counts of one store, and the lines about it.

use super::algorithms::by;
use crate::shell::wording::count;
use indicatif::HumanBytes;
use std::collections::BTreeMap;
use treewide_digests::Algorithm;
use treewide_digests::store::Store;
use treewide_files::name::shown;

/// What was found of the store at hand.
pub(super) struct Checked {
    pub(super) store: Store,
    pub(super) ok: u64,
    pub(super) bytes: u64,
    pub(super) failed: u64,
    pub(super) missing: u64,
    pub(super) unreadable: u64,
    pub(super) skipped: u64,
    pub(super) algorithms: Vec<Algorithm>,
    /// What was passed over, and how often.
    pub(super) passed: BTreeMap<&'static str, u64>,
}

impl Checked {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            ok: 0,
            bytes: 0,
            failed: 0,
            missing: 0,
            unreadable: 0,
            skipped: 0,
            algorithms: Vec::new(),
            passed: BTreeMap::new(),
        }
    }

    /// Whether nothing is wrong; with `strict`, nothing was skipped either.
    pub(super) fn is_good(&self, strict: bool) -> bool {
        self.failed + self.missing + self.unreadable == 0 && !self.is_undetermined(strict)
    }

    /// Whether something that was skipped is all there is, or counts.
    pub(super) fn is_undetermined(&self, strict: bool) -> bool {
        self.skipped > 0 && (strict || self.ok == 0)
    }

    /// Such as `models: an Ollama store: 214 objects (96.3 GiB), 213 are what their names say, 1 FAILED; 2 unfinished downloads passed
    /// over; not checked: whether all objects are there`.
    pub(super) fn summary(&self) -> String {
        let is_bag = self.store.kind.is_complete();
        let objects = self.ok + self.failed + self.unreadable;
        let mut text = format!("{}: {}", shown(&self.store.root), self.store.kind.shown);
        match objects {
            0 => text += ": nothing to check",
            _ => {
                let counted = count(objects, if is_bag { "file" } else { "object" });
                let comma = if self.ok == objects { "" } else { "," };
                let ok = if self.ok == objects { String::new() } else { format!(" {}", self.ok) };
                let are = if self.ok == 1 { "is" } else { "are" };
                let named = match (is_bag, self.ok) {
                    (false, 1) => "what its name says",
                    (false, _) => "what their names say",
                    (true, _) => "as the manifests say",
                };
                let (bytes, by) = (HumanBytes(self.bytes), by(&self.algorithms));
                text += &format!(": {counted} ({bytes}){comma}{ok} {are} {named}{by}");
            }
        }
        for (number, word) in [
            (self.failed, "FAILED"),
            (self.missing, "MISSING"),
            (self.unreadable, "could not be read"),
            (self.skipped, "skipped"),
        ] {
            if number > 0 {
                text += &format!(", {number} {word}");
            }
        }
        for (what, number) in self.passed.iter().filter(|(what, _)| !what.is_empty()) {
            text += &format!("; {} passed over", counted(*number, what));
        }
        if !is_bag && objects > 0 {
            text += "; not checked: whether all objects are there";
        }
        text
    }

    /// What to do about a failure.
    pub(super) fn advice(&self) -> Option<String> {
        let advice = self.store.kind.advice;
        let is_wanted = self.failed > 0 && !advice.is_empty();
        is_wanted.then(|| format!("{}: nothing was changed; {advice}", shown(&self.store.root)))
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
