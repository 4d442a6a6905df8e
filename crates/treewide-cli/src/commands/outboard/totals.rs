//! Totals over all ranges of a file.

use crate::shell::outcome::Outcome;
use indicatif::HumanBytes;
use std::path::Path;
use treewide::outboard::{Flaw, FlawKind, Layout};
use treewide_files::name::shown;

/// The most ranges that the last line names.
const NAMED: usize = 3;

/// What was found in some state.
#[derive(Default)]
pub(super) struct Part {
    pub(super) groups: u64,
    pub(super) bytes: u64,
    pub(super) ranges: u64,
    first: Vec<String>,
}

impl Part {
    fn add(&mut self, found: &Flaw, layout: &Layout) {
        let groups = layout.groups_of(&found.range);
        // No data is one group.
        self.groups += (groups.end - groups.start).max(1);
        self.bytes += found.range.end - found.range.start;
        self.ranges += 1;
        if self.first.len() < NAMED {
            self.first.push(format!("{}..{}", found.range.start, found.range.end));
        }
    }

    /// Such as `4096..20480, 7..9 and 2 more`.
    pub(super) fn named(&self) -> String {
        let more = self.ranges - self.first.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.first.join(", ") + &more
    }
}

/// What was found in all.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) bad: Part,
    pub(super) unknown: Part,
    pub(super) extra: Part,
}

impl Totals {
    fn of(&mut self, state: FlawKind) -> &mut Part {
        match state {
            FlawKind::Bad => &mut self.bad,
            FlawKind::Extra => &mut self.extra,
            // A state that this program does not know says nothing for certain.
            _ => &mut self.unknown,
        }
    }

    pub(super) fn add(&mut self, found: &Flaw, layout: &Layout) {
        self.of(found.kind).add(found, layout);
    }

    /// What a repair could not do.
    pub(super) fn left(&self, copy: &Path, outboard: &Path) -> String {
        let parts = [
            (&self.bad, format!("not right in {} either", shown(copy))),
            (&self.unknown, format!("unknown, as {} is broken above them", shown(outboard))),
            (&self.extra, "too many at the end, which stay".to_owned()),
        ];
        let some = parts.iter().filter(|(part, _)| part.ranges > 0);
        let said =
            some.map(|(part, what)| format!("{} {what}: {}", HumanBytes(part.bytes), part.named()));
        said.collect::<Vec<_>>().join("; ")
    }

    pub(super) fn outcome(&self) -> Outcome {
        match (self.unknown.ranges, self.bad.ranges + self.extra.ranges) {
            (0, 0) => Outcome::Success,
            (0, _) => Outcome::SomeFailed,
            _ => Outcome::CannotTell,
        }
    }
}
