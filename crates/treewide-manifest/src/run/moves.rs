//! Holds removed and added paths until the end of a run, to find moves.
//!
//! This takes memory for each difference, not for each file. Beyond a million of each, they are reported as removed and added.

use crate::format::name;
use crate::format::record::{FileRecord, Record, Type, What};
use crate::run::earlier::letters;
use crate::run::verdict::{Evidence, Finding, Then, Verdict};
use std::collections::{BTreeMap, HashMap, HashSet};
use treewide::OUT_LEN;

/// Paths that are held, at most.
const HELD: usize = 1 << 20;

/// Paths that are recorded and not there, and paths that are there and not recorded.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    gone: Vec<Record>,
    new: Vec<New>,
    /// Names whose type was replaced: the new path was reported with that.
    replaced: HashSet<Vec<u8>>,
    /// Files in whose place there is something of another type.
    lost: Vec<(Vec<u8>, [u8; OUT_LEN])>,
    /// Names that were reported with a doubt about another path.
    doubted: HashSet<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct New {
    pub(crate) record: Record,
    /// How it is known that the digest in the record is that of its content; `None` if it is not.
    pub(crate) evidence: Option<Evidence>,
    /// The verdict, if it is known before the end.
    pub(crate) told: Option<Verdict>,
    pub(crate) then: Option<Then>,
}

fn file(record: &Record) -> Option<&FileRecord> {
    match &record.what {
        What::File(file) => Some(file),
        _ => None,
    }
}

impl Moves {
    /// A recorded path that is gone. It comes back if it cannot be held.
    pub(crate) fn gone(&mut self, record: Record) -> Option<Finding> {
        if self.gone.len() >= HELD {
            return Some(finding(&record, Verdict::Removed { still_at: None }));
        }
        self.gone.push(record);
        None
    }

    /// A path that is new.
    pub(crate) fn new_path(
        &mut self,
        record: Record,
        evidence: Option<Evidence>,
        then: Option<Then>,
    ) -> Option<Finding> {
        if self.new.len() >= HELD {
            return Some(Finding { then, ..finding(&record, Verdict::Added) });
        }
        self.new.push(New { record, evidence, told: None, then });
        None
    }

    /// The type of the path with this name was replaced.
    pub(crate) fn replaced(&mut self, bare: &[u8]) {
        self.replaced.insert(bare.to_vec());
    }

    /// Something of another type is in the place of this path.
    pub(crate) fn lost(&mut self, record: &Record) {
        if let (What::File(file), true) = (&record.what, self.lost.len() < HELD) {
            self.lost.push((record.name.clone(), file.digest));
        }
    }

    /// Old and new names of the files in whose place there is something else, and whose content is there, such as files that became links.
    pub(crate) fn lost_and_found(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let new = self.new.iter().filter(|it| it.evidence.is_some());
        let mut new: HashMap<_, Vec<_>> =
            new.fold(HashMap::new(), |mut all: HashMap<_, Vec<_>>, it| {
                if let Some(file) = file(&it.record) {
                    all.entry(file.digest).or_default().push(&it.record.name);
                }
                all
            });
        let found = |(name, digest): &(Vec<u8>, [u8; OUT_LEN])| {
            Some((name.clone(), new.get_mut(digest)?.pop()?.clone()))
        };
        self.lost.iter().filter_map(found).collect()
    }

    /// The path of this name was reported, if it is gone, with another one that has its numbers and other content.
    pub(crate) fn doubted(&mut self, name: &[u8]) {
        self.doubted.insert(name.to_vec());
    }

    /// Finds names that have another type now, for [`crate::run::diff`]: those of directories come with a `/`.
    pub(crate) fn take_replaced(&mut self) -> Vec<Finding> {
        let new: HashMap<Vec<u8>, Type> =
            self.new.iter().map(|new| (new.record.bare().to_vec(), new.record.kind())).collect();
        let (mut findings, mut gone) = (Vec::new(), Vec::new());
        for record in std::mem::take(&mut self.gone) {
            match new.get(record.bare()) {
                Some(kind) => {
                    self.replaced.insert(record.bare().to_vec());
                    let verdict = Verdict::ReplacedType { was: record.kind() };
                    findings.push(about(record.bare(), *kind, verdict));
                }
                None => gone.push(record),
            }
        }
        self.gone = gone;
        findings
    }

    /// The new files that have the length of one that is gone, or that `also` names, so that their digests matter; by their places.
    pub(crate) fn to_hash(&self, also: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut lengths = HashSet::new();
        let mut any = false;
        for gone in self.gone.iter().filter_map(file) {
            match &gone.facts {
                Some(facts) => drop(lengths.insert(facts.bytes)),
                None => any = true,
            }
        }
        let matters = |new: &New| {
            let len = file(&new.record).and_then(|it| it.facts.as_ref()).map(|it| it.bytes);
            new.evidence.is_none()
                && file(&new.record).is_some()
                && len.is_none_or(|len| len > 0 && any || lengths.contains(&len))
        };
        (0..self.new.len()).filter(|at| matters(&self.new[*at]) || also(*at)).collect()
    }

    /// The name of a new file.
    pub(crate) fn name(&self, place: usize) -> &[u8] {
        &self.new[place].record.name
    }

    /// The digest of a new file, and the verdict if it is known by that.
    pub(crate) fn hashed(
        &mut self,
        place: usize,
        digest: [u8; OUT_LEN],
        (told, then): (Option<Verdict>, Option<Then>),
    ) {
        if let Some(from) = told.as_ref().and_then(Verdict::from) {
            self.doubted.insert(from.to_vec());
        }
        let new = &mut self.new[place];
        (new.told, new.then) = (told, then);
        if let What::File(file) = &mut new.record.what {
            (file.digest, new.evidence) = (digest, Some(Evidence::Read));
        }
    }

    /// The verdicts on all of them, in the order of their names.
    pub(crate) fn finish(mut self) -> Vec<Finding> {
        let replaced = std::mem::take(&mut self.replaced);
        self.new.retain(|new| !replaced.contains(new.record.bare()));
        let doubted = std::mem::take(&mut self.doubted);
        self.gone.retain(|gone| !doubted.contains(&gone.name));
        let mut pairs = Pairs {
            of_new: self.new.iter().map(|new| new.told.clone()).collect(),
            gone: vec![None; self.gone.len()],
            findings: Vec::new(),
        };
        self.same_letters(&mut pairs);
        self.same_content(&mut pairs);
        let Pairs { of_new, gone, mut findings } = pairs;
        for (new, told) in self.new.iter().zip(of_new) {
            let mut found = finding(&new.record, told.unwrap_or(Verdict::Added));
            if found.kind == Type::File {
                found.evidence = new.evidence.or(found.evidence);
            }
            // What was moved here did not come back.
            let is_here = found.verdict == Verdict::Added || found.verdict.is_doubtful();
            found.then = new.then.clone().filter(|_| is_here);
            findings.push(found);
        }
        for (record, told) in self.gone.iter().zip(gone) {
            match told {
                // It was reported with the new path.
                Some(Gone::Paired) => {}
                Some(Gone::StillAt(name)) => {
                    findings.push(finding(record, Verdict::Removed { still_at: Some(name) }));
                }
                None => findings.push(finding(record, Verdict::Removed { still_at: None })),
            }
        }
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        findings
    }

    /// Names that are equal in another Unicode form, with the same content.
    fn same_letters(&self, pairs: &mut Pairs) {
        let mut by_letters: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, record) in self.gone.iter().enumerate().filter(|it| !it.1.name.is_ascii()) {
            by_letters.entry(letters(&record.name)).or_default().push(at);
        }
        for (at, new) in self.new.iter().enumerate().filter(|(_, new)| new.told.is_none()) {
            let Some(same) = by_letters.get(&letters(&new.record.name)) else {
                continue;
            };
            let fits =
                |gone: &&usize| pairs.gone[**gone].is_none() && is_same(&self.gone[**gone], new);
            if let Some(&gone) = same.iter().find(fits) {
                pairs.gone[gone] = Some(Gone::Paired);
                let from = self.gone[gone].bare().to_vec();
                pairs.of_new[at] = Some(Verdict::Renamed { from });
            }
        }
    }

    /// Files with equal content, one to one: those with the same last part of their names first.
    fn same_content(&self, pairs: &mut Pairs) {
        let empty = *treewide::hash(b"").as_bytes();
        let mut contents: BTreeMap<[u8; OUT_LEN], (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (at, record) in self.gone.iter().enumerate() {
            if let (None, Some(file)) = (&pairs.gone[at], file(record)) {
                contents.entry(file.digest).or_default().0.push(at);
            }
        }
        for (at, new) in self.new.iter().enumerate() {
            if let (None, true, Some(file)) =
                (&pairs.of_new[at], new.evidence.is_some(), file(&new.record))
                && let Some(content) = contents.get_mut(&file.digest)
            {
                content.1.push(at);
            }
        }
        contents.remove(&empty);
        for (gone, new) in contents.values().filter(|(_, new)| !new.is_empty()) {
            self.pair(gone, new, pairs);
        }
    }

    fn pair(&self, gone: &[usize], new: &[usize], pairs: &mut Pairs) {
        let mut by_base: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for &at in gone.iter().rev() {
            by_base.entry(name::base(&self.gone[at].name)).or_default().push(at);
        }
        let join = |new: usize, gone: usize, pairs: &mut Pairs| {
            pairs.gone[gone] = Some(Gone::Paired);
            let from = self.gone[gone].name.clone();
            pairs.of_new[new] = Some(Verdict::Moved { from });
        };
        for &at in new {
            let same = by_base.get_mut(name::base(&self.new[at].record.name)).and_then(Vec::pop);
            if let Some(gone) = same {
                join(at, gone, pairs);
            }
        }
        let mut rest = gone
            .iter()
            .copied()
            .filter(|at| pairs.gone[*at].is_none())
            .collect::<Vec<_>>()
            .into_iter();
        for &at in new {
            if pairs.of_new[at].is_some() {
                continue;
            }
            match rest.next() {
                Some(gone) => join(at, gone, pairs),
                None => {
                    let from = self.gone[gone[0]].name.clone();
                    pairs.of_new[at] = Some(Verdict::Copied { from });
                }
            }
        }
        for at in rest {
            pairs.gone[at] = Some(Gone::StillAt(self.new[new[0]].record.name.clone()));
        }
    }
}

struct Pairs {
    of_new: Vec<Option<Verdict>>,
    gone: Vec<Option<Gone>>,
    findings: Vec<Finding>,
}

#[derive(Clone)]
enum Gone {
    Paired,
    StillAt(Vec<u8>),
}

/// Whether a path that is gone was what is new now.
fn is_same(gone: &Record, new: &New) -> bool {
    match (&gone.what, &new.record.what) {
        (What::File(was), What::File(is)) => new.evidence.is_some() && was.digest == is.digest,
        (What::Directory(_), What::Directory(_)) => true,
        (was, is) => was == is,
    }
}

pub(crate) fn finding(record: &Record, verdict: Verdict) -> Finding {
    about(&record.name, record.kind(), verdict)
}

/// The finding about something that has no record.
pub(crate) fn about(name: &[u8], kind: Type, verdict: Verdict) -> Finding {
    let bare = if kind == Type::Directory { name.strip_suffix(b"/").unwrap_or(name) } else { name };
    let evidence = verdict.evidence();
    Finding { name: bare.to_vec(), kind, verdict, evidence, located: None, then: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, content: &str) -> Record {
        let digest = *treewide::hash(content.as_bytes()).as_bytes();
        Record::new(name, What::File(FileRecord { digest, facts: None }))
    }

    fn pair(gone: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
        let mut moves = Moves::default();
        for (name, content) in gone {
            assert!(moves.gone(record(name, content)).is_none());
        }
        for (name, content) in new {
            assert!(moves.new_path(record(name, content), Some(Evidence::Read), None).is_none());
        }
        moves
            .finish()
            .into_iter()
            .map(|it| {
                let name = String::from_utf8(it.name).unwrap();
                let other = match &it.verdict {
                    Verdict::Removed { still_at } => still_at.clone(),
                    verdict => verdict.from().map(<[u8]>::to_vec),
                };
                let other = other.map(|it| format!(" {}", String::from_utf8(it).unwrap()));
                format!("{} {name}{}", it.verdict.class().word(), other.unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn moves_are_paired_one_to_one() {
        assert_eq!(pair(&[("a", "1")], &[("b", "1")]), ["moved b a"]);
        assert_eq!(pair(&[("a", "1")], &[("b", "2")]), ["removed a", "added b"]);
        // The same last part first, whatever the order.
        assert_eq!(
            pair(&[("a/x", "1"), ("a/y", "1")], &[("b/y", "1"), ("c/x", "1")]),
            ["moved b/y a/y", "moved c/x a/x"]
        );
        assert_eq!(pair(&[("a", "1")], &[("b", "1"), ("c", "1")]), ["moved b a", "copied c a"]);
        assert_eq!(pair(&[("a", "1"), ("b", "1")], &[("c", "1")]), ["removed b c", "moved c a"]);
        // Empty files have nothing by which to know them again.
        assert_eq!(pair(&[("a", "")], &[("b", "")]), ["removed a", "added b"]);
    }

    #[test]
    fn same_letters_are_one_finding() {
        let (composed, apart) = ("\u{e9}", "e\u{301}");
        assert_eq!(
            pair(&[(composed, "")], &[(apart, "")]),
            [format!("renamed {apart} {composed}")]
        );
        assert_eq!(
            pair(&[(composed, "1")], &[(apart, "2")]),
            [format!("added {apart}"), format!("removed {composed}")]
        );
    }

    #[test]
    fn replaced_types_are_told_once() {
        let mut moves = Moves::default();
        moves.replaced(b"a");
        moves.new_path(record("a", "1"), Some(Evidence::Read), None);
        assert_eq!(moves.finish(), []);
    }
}
