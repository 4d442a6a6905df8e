//! Which files are read although nothing says that they changed: the files that were read longest ago.
//!
//! Files have their turns by the day on which they were read. Those of one day have them in the order of their names, and the index
//! has the name up to which they had it. Files are picked until the budget is spent; the last one may exceed it, so that as many runs
//! read all files as the budget says. What is picked is recorded as read today.

use crate::error::Error;
use crate::format::day::Day;
use crate::format::manifest::Manifest;
use crate::format::record::{Facts, FileRecord};
use std::collections::BTreeMap;
use treewide_files::size;

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// A part of all bytes, in percent.
    Percent(f64),
    /// This many bytes.
    Bytes(u64),
}

impl Budget {
    /// Parses a percentage, such as `5%`, or a [size], such as `200G`. A number alone is refused, as `5` is more likely to mean
    /// 5 % than 5 bytes.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is neither a percentage (5%) nor a size (200G); `timeout` sets a time, and the next run continues"
            )
        };
        if let Some(number) = text.strip_suffix('%') {
            let percent: f64 = number.parse().map_err(|_| wrong())?;
            let fits = percent > 0.0 && percent <= 100.0;
            return if fits { Ok(Self::Percent(percent)) } else { Err(wrong()) };
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            return Err(format!("{text:?} has no unit: write {text}% or {text}G"));
        }
        size::parse(text).ok().filter(|bytes| *bytes > 0).map(Self::Bytes).ok_or_else(wrong)
    }
}

impl Budget {
    /// The bytes that it is of all.
    pub fn of(self, all: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (all as f64 * percent / 100.0).ceil() as u64,
        }
    }
}

/// Files that have their turn together: the day on which they were read, and whether they are before the last file that had it.
type Turn = (Option<Day>, bool);

/// The files that were picked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picked {
    /// Files of this turn, and of those before it.
    before: Option<Turn>,
    /// Of the next turn, files up to this name.
    last: Option<(Turn, Vec<u8>)>,
    /// The last file that was picked before this run.
    had_turn: Vec<u8>,
    today: Option<Day>,
}

impl Picked {
    /// Picks files until the budget is spent.
    pub(crate) fn new(manifest: &Manifest, budget: Budget) -> Result<Self, Error> {
        let had_turn = manifest.turn().unwrap_or_default();
        let mut picked = Self { today: Some(Day::today()), had_turn, ..Self::default() };
        let mut turns: BTreeMap<Turn, u64> = BTreeMap::new();
        let mut all = 0_u64;
        for record in manifest.records()? {
            let record = record?;
            let Some(facts) = record.facts() else { continue };
            all = all.saturating_add(facts.bytes);
            // The budget is for files that nothing else lets this run read.
            if !facts.is_read_always() {
                let bytes = turns.entry(picked.turn_of(facts, &record.name)).or_default();
                *bytes = bytes.saturating_add(facts.bytes);
            }
        }
        let mut left = budget.of(all);
        for (turn, bytes) in turns {
            if bytes >= left {
                picked.last = Some((turn, picked.last_of(manifest, turn, left)?));
                break;
            }
            left -= bytes;
            picked.before = Some(turn);
        }
        Ok(picked)
    }

    /// The name of the file of this turn with which the budget is spent.
    fn last_of(&self, manifest: &Manifest, turn: Turn, mut left: u64) -> Result<Vec<u8>, Error> {
        let mut last = Vec::new();
        for record in manifest.records()? {
            let record = record?;
            let Some(facts) = record.facts() else { continue };
            if !facts.is_read_always() && self.turn_of(facts, &record.name) == turn {
                left = left.saturating_sub(facts.bytes);
                last = record.name;
                if left == 0 {
                    break;
                }
            }
        }
        Ok(last)
    }

    fn turn_of(&self, facts: &Facts, name: &[u8]) -> Turn {
        // A day to come is wrong, and such a file would never have its turn.
        let day = facts.read.filter(|day| self.today.is_none_or(|today| *day <= today));
        (day, name <= &self.had_turn[..])
    }

    pub(crate) fn has(&self, file: &FileRecord, name: &[u8]) -> bool {
        let Some(facts) = &file.facts else { return false };
        let turn = self.turn_of(facts, name);
        self.before.is_some_and(|before| turn <= before)
            || self.last.as_ref().is_some_and(|(at, last)| turn == *at && name <= &last[..])
    }

    /// The last file that was picked.
    pub(crate) fn last(&self) -> Option<&[u8]> {
        self.last.as_ref().map(|it| &it.1[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_a_percentage_or_a_size() {
        assert_eq!(Budget::parse("5%"), Ok(Budget::Percent(5.0)));
        assert_eq!(Budget::parse("0.5%"), Ok(Budget::Percent(0.5)));
        assert_eq!(Budget::parse("200G"), Ok(Budget::Bytes(200 << 30)));
        assert_eq!(Budget::parse("7B"), Ok(Budget::Bytes(7)));
        assert!(Budget::parse("5").unwrap_err().contains("write 5% or 5G"));
        for wrong in ["", "%", "0%", "101%", "-5%", "5 %", "0", "5X", "99999999999T", "NaN%"] {
            assert!(Budget::parse(wrong).is_err(), "{wrong}");
        }
    }
}
