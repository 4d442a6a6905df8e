//! Compares the tensors of two models by their names.

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
}

/// A tensor that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// The differences between two models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The tensors that differ, in the order of names.
    pub findings: Vec<Finding>,
    /// How many tensors are the same.
    pub same: u64,
    /// A prefix in names that only one model has, if nothing is the same for this reason.
    pub prefix: Option<&'static str>,
}

/// Prefixes that wrappers of PyTorch put before names.
const PREFIXES: [&str; 4] =
    ["_orig_mod.", "module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."];

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Changed, Self::Retyped, Self::Reshaped, Self::Moved, Self::Added, Self::Removed];

    /// The verdict as a word in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Retyped => "retyped",
            Self::Reshaped => "reshaped",
            Self::Moved => "moved",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many tensors have a verdict.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.findings.iter().filter(|it| it.verdict == verdict).count() as u64
    }
}

impl Finding {
    /// Type and shape, what they are now, and which other tensor is equal: `F32[2] -> F64[2]`, or `F32[3], the bytes of a.b`.
    /// `name` writes names.
    pub fn detail(&self, name: impl Fn(&str) -> String) -> String {
        let other = self.other.as_deref().map(name);
        match (&self.old, &self.new, other) {
            (Some(_), _, Some(other)) if self.verdict == Verdict::Moved => format!("-> {other}"),
            (Some(old), _, _) if self.verdict == Verdict::Changed => old.to_string(),
            (Some(old), Some(new), _) => {
                let same = if old.digest == new.digest { ", the same bytes" } else { "" };
                format!("{old} -> {new}{same}")
            }
            (Some(it), None, Some(other)) | (None, Some(it), Some(other)) => {
                format!("{it}, the bytes of {other}")
            }
            (Some(it), None, None) | (None, Some(it), None) => it.to_string(),
            (None, None, _) => String::new(),
        }
    }
}

/// The first name of each tensor, and how many names it has.
fn names(tensors: &Tensors) -> BTreeMap<&TensorDigest, (&str, u64)> {
    let mut names = BTreeMap::new();
    for (name, tensor) in tensors {
        names.entry(tensor).or_insert((&**name, 0)).1 += 1;
    }
    names
}

/// Compares the tensors of an old and a new model, by their names.
///
/// A tensor that only the old one has counts as moved if it is there once in each, and its name in the new one is not in the old
/// one: norms of ones and biases of zeros are all alike.
pub fn compare(old: &Tensors, new: &Tensors) -> Comparison {
    let (in_old, in_new) = (names(old), names(new));
    let mut all = Comparison::default();
    for (name, is) in old {
        let finding = |verdict, now: Option<&TensorDigest>, other: Option<&str>| Finding {
            name: name.clone(),
            verdict,
            old: Some(is.clone()),
            new: now.cloned(),
            other: other.map(str::to_owned),
        };
        all.findings.push(match new.get(name) {
            Some(now) if now == is => {
                all.same += 1;
                continue;
            }
            now @ Some(it) if it.dtype != is.dtype => finding(Verdict::Retyped, now, None),
            now @ Some(it) if it.shape != is.shape => finding(Verdict::Reshaped, now, None),
            now @ Some(_) => finding(Verdict::Changed, now, None),
            None => match in_new.get(is) {
                Some(&(other, 1)) if in_old[is].1 == 1 && !old.contains_key(other) => {
                    finding(Verdict::Moved, new.get(other), Some(other))
                }
                other => finding(Verdict::Removed, None, other.map(|it| it.0)),
            },
        });
    }
    let is_moved = |it: &&Finding| it.verdict == Verdict::Moved;
    let moved: BTreeSet<String> =
        all.findings.iter().filter(is_moved).filter_map(|it| it.other.clone()).collect();
    for (name, now) in
        new.iter().filter(|(name, _)| !old.contains_key(*name) && !moved.contains(*name))
    {
        let other = in_old.get(now).map(|it| it.0.to_owned());
        let (name, verdict) = (name.clone(), Verdict::Added);
        all.findings.push(Finding { name, verdict, old: None, new: Some(now.clone()), other });
    }
    all.findings.sort_by(|one, other| (&one.name, one.verdict).cmp(&(&other.name, other.verdict)));
    let has = |tensors: &Tensors, prefix: &str| {
        !tensors.is_empty() && tensors.keys().all(|it| it.contains(prefix))
    };
    all.prefix = PREFIXES.into_iter().find(|it| all.same == 0 && has(old, it) != has(new, it));
    all
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
