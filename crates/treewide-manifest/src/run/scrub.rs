//! Which files are read although nothing says that they changed: the files that were read longest ago.
//!
//! Files have their turns by the day on which they were read. Those of one day have them in the order of their names, and the index
//! has the name up to which they had it. Files are picked until the budget is spent; the last one may exceed it, so that as many runs
//! read all files as the budget says. What is picked is recorded as read today.

use crate::error::Error;
use crate::format::day::Day;
use crate::format::manifest::Manifest;
use crate::format::record::{Facts, FileRecord};
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
    /// The turn and the name of the last one.
    last: Option<(Turn, Vec<u8>)>,
    /// The last file that was picked before this run.
    had_turn: Vec<u8>,
    today: Option<Day>,
    /// How many such runs read all files, with this one.
    pub(crate) runs: u64,
}

impl Picked {
    /// Picks files until the budget is spent.
    pub(crate) fn new(manifest: &Manifest, budget: Budget) -> Result<Self, Error> {
        let had_turn = manifest.turn().unwrap_or_default();
        let mut picked = Self { today: Some(Day::today()), had_turn, ..Self::default() };
        let (mut all, mut files) = (0_u64, Vec::new());
        for (place, record) in manifest.records()?.enumerate() {
            let record = record?;
            let Some(facts) = record.facts() else { continue };
            all = all.saturating_add(facts.bytes);
            // The budget is for files that nothing else lets this run read.
            if !facts.is_read_always() {
                files.push((picked.turn_of(facts, &record.name), place, facts.bytes));
            }
        }
        files.sort_unstable();
        let (mut left, mut last) = (0, None);
        for (turn, place, bytes) in files {
            // Empty files are read with those before them.
            if left == 0 && (bytes > 0 || picked.runs == 0) {
                (picked.runs, left) = (picked.runs + 1, budget.of(all).max(1));
            }
            if picked.runs == 1 {
                last = Some((turn, place));
            }
            left = left.saturating_sub(bytes);
        }
        if let Some((turn, place)) = last {
            let record = manifest.records()?.nth(place).transpose()?;
            picked.last = record.map(|it| (turn, it.name));
        }
        Ok(picked)
    }

    fn turn_of(&self, facts: &Facts, name: &[u8]) -> Turn {
        // A day to come is wrong, and such a file would never have its turn.
        let day = facts.read.filter(|day| self.today.is_none_or(|today| *day <= today));
        (day, name <= &self.had_turn[..])
    }

    pub(crate) fn has(&self, file: &FileRecord, name: &[u8]) -> bool {
        let Some(facts) = &file.facts else { return false };
        let this = (self.turn_of(facts, name), name);
        self.last.as_ref().is_some_and(|(turn, last)| this <= (*turn, &last[..]))
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
