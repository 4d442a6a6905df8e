//! Holds removed and added paths until the end of a run, to find moves.
//!
//! This takes memory for each difference, not for each file. Beyond a million of each, they are reported as removed and added.

use crate::format::name;
use crate::format::record::{FileRecord, Record, Type, What};
use crate::run::earlier::letters;
use crate::run::verdict::{Evidence, Finding, Then, Verdict};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use treewide::OUT_LEN;
use treewide_files::digest::Extent;
use treewide_files::{Identity, Kind, Task};

/// Paths that are held, at most.
const HELD: usize = 1 << 20;

/// Paths that are recorded and not there, and paths that are there and not recorded.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Records, and what is at their names now.
    gone: Vec<(Record, Option<Type>)>,
    new: Vec<New>,
}

#[derive(Debug)]
pub(crate) struct New {
    pub(crate) record: Record,
    /// How it is known that the digest in the record is that of its content; `None` if it is not.
    pub(crate) evidence: Option<Evidence>,
    /// Where it is if it was not read, and whether earlier records may be about it.
    pub(crate) unread: Option<(PathBuf, Identity, bool)>,
    /// The verdict, if it is known before the end.
    pub(crate) told: Option<Verdict>,
    pub(crate) then: Option<Then>,
}

impl New {
    pub(crate) fn of(record: Record, evidence: Option<Evidence>) -> Self {
        Self { record, evidence, unread: None, told: None, then: None }
    }
}

fn file(record: &Record) -> Option<&FileRecord> {
    match &record.what {
        What::File(file) => Some(file),
        _ => None,
    }
}

impl Moves {
    /// A recorded path that is gone, and what is in its place. It comes back if it cannot be held.
    pub(crate) fn gone(&mut self, record: Record, there: Option<Type>) -> Option<Finding> {
        if self.gone.len() >= HELD {
            return Some(gone(&record, there));
        }
        self.gone.push((record, there));
        None
    }

    /// A path that is new, and its verdict if that is known.
    pub(crate) fn new_path(&mut self, new: New) -> Option<Finding> {
        if self.new.len() >= HELD {
            let New { record, told, then, .. } = new;
            let verdict = told.unwrap_or(Verdict::Added);
            return Some(Finding { then, ..about(&record.name, record.kind(), verdict) });
        }
        self.new.push(new);
        None
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
        let found = |(was, there): &(Record, Option<Type>)| {
            let lost = file(was).filter(|_| there.is_some_and(|it| it != Type::File))?;
            Some((was.name.clone(), new.get_mut(&lost.digest)?.pop()?.clone()))
        };
        self.gone.iter().filter_map(found).collect()
    }

    /// The new files that have the length of one that is gone, or that earlier records may be about, so that their digests matter; with
    /// their places.
    pub(crate) fn take_unread(&mut self) -> Vec<Task<usize>> {
        let mut lengths = HashSet::new();
        let mut any = false;
        for gone in self.gone.iter().filter_map(|it| file(&it.0)) {
            match &gone.facts {
                Some(facts) => drop(lengths.insert(facts.bytes)),
                None => any = true,
            }
        }
        let task = |(at, new): (usize, &mut New)| {
            let (path, identity, is_known) = new.unread.take()?;
            let len = new.record.facts().map(|it| it.bytes);
            let matters =
                is_known || len.is_none_or(|len| len > 0 && any || lengths.contains(&len));
            let (kind, extent) = (Kind::Found(identity), Extent::HASH);
            matters.then_some(Task { path, kind, extent, about: at })
        };
        self.new.iter_mut().enumerate().filter_map(task).collect()
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
        let new = &mut self.new[place];
        (new.told, new.then) = (told, then);
        if let What::File(file) = &mut new.record.what {
            (file.digest, new.evidence) = (digest, Some(Evidence::Read));
        }
    }

    /// The verdicts on all of them, in the order of their names.
    pub(crate) fn finish(self) -> Vec<Finding> {
        let mut pairs = Pairs {
            of_new: self.new.iter().map(|new| new.told.clone()).collect(),
            gone: vec![None; self.gone.len()],
        };
        self.same_name(&mut pairs);
        self.same_letters(&mut pairs);
        self.same_content(&mut pairs);
        let (Pairs { of_new, gone: of_gone }, mut findings) = (pairs, Vec::new());
        for (new, told) in self.new.iter().zip(of_new) {
            let (record, verdict) = (&new.record, told.unwrap_or(Verdict::Added));
            // No run before this one has said so.
            let mut found = about(&record.name, record.kind(), verdict);
            if found.kind == Type::File {
                found.evidence = new.evidence.or(found.evidence);
            }
            // What was moved here did not come back.
            let is_here = found.verdict == Verdict::Added || found.verdict.is_doubtful();
            found.then = new.then.clone().filter(|_| is_here);
            findings.push(found);
        }
        for ((record, there), told) in self.gone.iter().zip(of_gone) {
            match told {
                // It was reported with the new path.
                Some(Gone::Paired) => {}
                Some(Gone::StillAt(name)) => {
                    findings.push(finding(record, Verdict::Removed { still_at: Some(name) }));
                }
                None => findings.push(gone(record, *there)),
            }
        }
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        findings
    }

    /// Names that have another type now: those of directories come with a `/`. A doubt about the new file says more.
    fn same_name(&self, pairs: &mut Pairs) {
        let gone = self.gone.iter().enumerate().map(|(at, it)| (it.0.bare(), at));
        let gone: HashMap<_, _> = gone.collect();
        for (at, new) in self.new.iter().enumerate() {
            let Some(&gone) = gone.get(new.record.bare()) else { continue };
            pairs.gone[gone] = Some(Gone::Paired);
            let told = &mut pairs.of_new[at];
            if !told.as_ref().is_some_and(Verdict::is_doubtful) {
                *told = Some(Verdict::ReplacedType { was: self.gone[gone].0.kind() });
            }
        }
    }

    /// Names that are equal in another Unicode form, with the same content.
    fn same_letters(&self, pairs: &mut Pairs) {
        let mut by_letters: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, (record, _)) in self.gone.iter().enumerate().filter(|it| !it.1.0.name.is_ascii()) {
            by_letters.entry(letters(&record.name)).or_default().push(at);
        }
        for (at, new) in self.new.iter().enumerate() {
            if pairs.of_new[at].is_some() {
                continue;
            }
            let Some(same) = by_letters.get(&letters(&new.record.name)) else {
                continue;
            };
            let fits =
                |gone: &&usize| pairs.gone[**gone].is_none() && is_same(&self.gone[**gone].0, new);
            if let Some(&gone) = same.iter().find(fits) {
                pairs.gone[gone] = Some(Gone::Paired);
                let from = self.gone[gone].0.bare().to_vec();
                pairs.of_new[at] = Some(Verdict::Renamed { from });
            }
        }
    }

    /// Files with equal content, one to one: those with the same last part of their names first.
    fn same_content(&self, pairs: &mut Pairs) {
        let empty = *treewide::hash(b"").as_bytes();
        let mut contents: BTreeMap<[u8; OUT_LEN], (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (at, (record, _)) in self.gone.iter().enumerate() {
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
            by_base.entry(name::base(&self.gone[at].0.name)).or_default().push(at);
        }
        let join = |new: usize, gone: usize, pairs: &mut Pairs| {
            pairs.gone[gone] = Some(Gone::Paired);
            let from = self.gone[gone].0.name.clone();
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
                    let from = self.gone[gone[0]].0.name.clone();
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

/// The finding about a path that is gone, unless its content is there.
fn gone(record: &Record, there: Option<Type>) -> Finding {
    match there.filter(|it| *it != record.kind()) {
        Some(there) => about(record.bare(), there, Verdict::ReplacedType { was: record.kind() }),
        None => finding(record, Verdict::Removed { still_at: None }),
    }
}

pub(crate) fn finding(record: &Record, verdict: Verdict) -> Finding {
    let since = verdict.since(record.facts());
    Finding { since, ..about(&record.name, record.kind(), verdict) }
}

/// The finding about something that has no record.
pub(crate) fn about(name: &[u8], kind: Type, verdict: Verdict) -> Finding {
    let bare = if kind == Type::Directory { name.strip_suffix(b"/").unwrap_or(name) } else { name };
    let evidence = verdict.evidence();
    Finding { name: bare.to_vec(), kind, verdict, evidence, located: None, then: None, since: None }
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
            assert!(moves.gone(record(name, content), None).is_none());
        }
        for (name, content) in new {
            assert!(moves.new_path(New::of(record(name, content), Some(Evidence::Read))).is_none());
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
        for doubt in [None, Some(Verdict::Rot { racy: false })] {
            let mut moves = Moves::default();
            moves.gone(Record::new("a/", What::Directory(None)), Some(Type::File));
            let new = New::of(record("a", "1"), Some(Evidence::Read));
            moves.new_path(New { told: doubt.clone(), ..new });
            let told = doubt.unwrap_or(Verdict::ReplacedType { was: Type::Directory });
            assert_eq!(moves.finish().into_iter().map(|it| it.verdict).collect::<Vec<_>>(), [told]);
        }
    }
}
