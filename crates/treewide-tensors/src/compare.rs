//! Compares the tensors of two models by their names.

use crate::difference::Difference;
use crate::tensor::{TensorDigest, Tensors};
use std::collections::{BTreeMap, BTreeSet};

/// The way in which a tensor differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Other bytes.
    Changed,
    /// Another type.
    Retyped,
    /// The same type, and another shape.
    Reshaped,
    /// The same tensor under another name, where no other could be meant.
    Moved,
    /// Only the new model has it.
    Added,
    /// Only the old model has it.
    Removed,
    /// Only one model has this name, and both have another name of the tensor. This does not count as a difference.
    Alias,
}

/// A tensor that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its name: in the old model, or of an added one in the new.
    pub name: String,
    /// The way in which it differs.
    pub verdict: Verdict,
    /// The tensor in the old model.
    pub old: Option<TensorDigest>,
    /// The tensor in the new model.
    pub new: Option<TensorDigest>,
    /// Its name in the new model if it was moved. If it was added or removed, the name of an equal tensor in the other model.
    pub other: Option<String>,
    /// The rows and values that differ, if [`difference`](crate::difference()) found that.
    pub difference: Option<Difference>,
}

/// The differences between two models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The tensors that differ, in the order of names.
    pub findings: Vec<Finding>,
    /// How many names have the same tensor.
    pub same: u64,
    /// How many names have tensors without bytes in both, of one type and shape. These say nothing.
    pub empty: u64,
    /// The names of the old and the new model.
    pub names: (usize, usize),
    /// Parts of names, such as `model.`, without which one model has all names of the other.
    pub prefixes: Vec<String>,
    /// Whether these are in the names of the new model.
    pub new_has_prefixes: bool,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Changed,
        Self::Retyped,
        Self::Reshaped,
        Self::Moved,
        Self::Added,
        Self::Removed,
        Self::Alias,
    ];

    /// The verdict as a word in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Retyped => "retyped",
            Self::Reshaped => "reshaped",
            Self::Moved => "moved",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Alias => "alias",
        }
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.findings.iter().all(|it| it.verdict == Verdict::Alias)
    }

    /// How many names are `same`, `empty`, or have each verdict.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let count = |verdict| self.findings.iter().filter(|it| it.verdict == verdict).count();
        let verdicts = Verdict::ALL.into_iter().map(|it| (it.word(), count(it) as u64));
        [("same", self.same), ("empty", self.empty)].into_iter().chain(verdicts).collect()
    }
}

impl Finding {
    /// Type and shape, what they are now, and which other tensor is equal: `F32[2] -> F64[2]`, or `F32[3], the bytes of a.b`.
    /// `name` writes names.
    pub fn detail(&self, name: impl Fn(&str) -> String) -> String {
        let other = self.other.as_deref().map(name);
        let by = self.difference.as_ref().map_or_else(String::new, |it| format!(", {it}"));
        match (&self.old, &self.new, other) {
            (Some(_), _, Some(other)) if self.verdict == Verdict::Moved => format!("-> {other}"),
            (Some(old), _, _) if self.verdict == Verdict::Changed => format!("{old}{by}"),
            (Some(old), Some(new), _) => {
                let same = if old.digest == new.digest { ", the same bytes" } else { &by };
                format!("{old} -> {new}{same}")
            }
            (Some(it), None, Some(other)) | (None, Some(it), Some(other)) => {
                let what =
                    if self.verdict == Verdict::Alias { "another name" } else { "the bytes" };
                format!("{it}, {what} of {other}")
            }
            (Some(it), None, None) | (None, Some(it), None) => it.to_string(),
            (None, None, _) => String::new(),
        }
    }
}

/// The first name of each tensor, and how many names it has.
fn names(tensors: &Tensors) -> BTreeMap<&TensorDigest, (&str, u64)> {
    let mut names = BTreeMap::new();
    for (name, tensor) in tensors.iter() {
        names.entry(tensor).or_insert((&**name, 0)).1 += 1;
    }
    names
}

/// A model by all its names; tied weights have several.
struct Side<'a> {
    tensors: &'a Tensors,
    names: BTreeMap<&'a str, &'a TensorDigest>,
    /// Tensors that both have, each with a name that is in both.
    common: BTreeMap<&'a str, &'a str>,
}

impl<'a> Side<'a> {
    fn new(tensors: &'a Tensors, other: &Tensors) -> Self {
        let (names, theirs) = (tensors.names(), other.names());
        let common = names.keys().filter(|name| theirs.contains_key(*name));
        let of = |name: &'a str| tensors.aliases.get(name).map_or(name, |it| it);
        let common = common.map(|&name| (of(name), name)).collect();
        Self { tensors, names, common }
    }

    /// Another name of a tensor, which both have.
    fn alias(&self, name: &str) -> Option<&'a str> {
        self.common.get(self.tensors.aliases.get(name).map_or(name, |it| it)).copied()
    }
}

/// Compares the tensors of an old and a new model, by their names.
///
/// A tensor that only the old one has counts as moved if it is there once in each, and its name in the new one is not in the old
/// one: norms of ones and biases of zeros are all alike. A name that only one has is an alias if both have another name of this tensor.
pub fn compare(old: &Tensors, new: &Tensors) -> Comparison {
    let (in_old, in_new) = (names(old), names(new));
    let (is, now) = (Side::new(old, new), Side::new(new, old));
    let mut all = Comparison { names: (is.names.len(), now.names.len()), ..Comparison::default() };
    let mut add = |name: &str,
                   verdict,
                   old: Option<&TensorDigest>,
                   new: Option<&TensorDigest>,
                   other: Option<&str>| {
        let (old, new) = (old.cloned(), new.cloned());
        let (name, other) = (name.to_owned(), other.map(str::to_owned));
        all.findings.push(Finding { name, verdict, old, new, other, difference: None });
    };
    let mut moved = BTreeSet::new();
    for (&name, &it) in &is.names {
        match now.names.get(name).copied() {
            Some(new) if new == it && it.shape.contains(&0) => all.empty += 1,
            Some(new) if new == it => all.same += 1,
            new @ Some(other) => {
                let verdict = match other {
                    other if other.dtype != it.dtype => Verdict::Retyped,
                    other if other.shape != it.shape => Verdict::Reshaped,
                    _ => Verdict::Changed,
                };
                add(name, verdict, Some(it), new, None);
            }
            None => match (is.alias(name), in_new.get(it)) {
                (other @ Some(_), _) => add(name, Verdict::Alias, Some(it), None, other),
                // Its tensor has a verdict.
                _ if old.aliases.contains_key(name) => {}
                (_, Some(&(other, 1))) if in_old[it].1 == 1 && !is.names.contains_key(other) => {
                    moved.insert(other);
                    add(name, Verdict::Moved, Some(it), new.get(other), Some(other));
                }
                (_, other) => add(name, Verdict::Removed, Some(it), None, other.map(|it| it.0)),
            },
        }
    }
    for (&name, &it) in &now.names {
        match now.alias(name) {
            _ if is.names.contains_key(name) || moved.contains(name) => {}
            other @ Some(_) => add(name, Verdict::Alias, None, Some(it), other),
            None if new.aliases.contains_key(name) => {}
            None => add(name, Verdict::Added, None, Some(it), in_old.get(it).map(|it| it.0)),
        }
    }
    all.findings.sort_by(|one, other| (&one.name, one.verdict).cmp(&(&other.name, other.verdict)));
    let behind = |short: &Side<'_>, long: &Side<'_>| {
        let (short, long) = (short.names.keys().copied(), long.names.keys().copied());
        prefixes(&short.collect(), &long.collect())
    };
    all.new_has_prefixes = true;
    all.prefixes = behind(&is, &now).unwrap_or_else(|| {
        all.new_has_prefixes = false;
        behind(&now, &is).unwrap_or_default()
    });
    all
}

/// The parts of names without which `long` has all names of `short`.
fn prefixes(short: &BTreeSet<&str>, long: &BTreeSet<&str>) -> Option<Vec<String>> {
    let name = short.difference(long).next()?;
    let more = |other: &&str| more_parts(name, other);
    let found = long.iter().filter_map(more).min_by_key(Vec::len)?;
    let plain = |name: &str| found.iter().fold(name.to_owned(), |name, it| strip(&name, it));
    let stripped: BTreeSet<String> = long.iter().map(|it| plain(it)).collect();
    let is_clear = stripped.len() == long.len();
    (is_clear && short.iter().all(|it| stripped.contains(&plain(it)))).then_some(found)
}

/// The parts that a name has between those of another, each once.
fn more_parts(name: &str, long: &str) -> Option<Vec<String>> {
    let (mut rest, mut more) = (name.split('.').peekable(), Vec::new());
    for part in long.split('.') {
        let part_with_dot = format!("{part}.");
        if rest.next_if_eq(&part).is_none() && !more.contains(&part_with_dot) {
            more.push(part_with_dot);
        }
    }
    rest.next().is_none().then_some(more).filter(|it| !it.is_empty())
}

/// A name without a prefix, wherever a part of the name begins with it.
pub fn strip(name: &str, prefix: &str) -> String {
    let mut short = String::with_capacity(name.len());
    for part in name.split_inclusive('.') {
        short += part;
        // A prefix may have several parts.
        if let Some(before) = short.strip_suffix(prefix)
            && (before.is_empty() || before.ends_with('.'))
        {
            short.truncate(before.len());
        }
    }
    short
}
