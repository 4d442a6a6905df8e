//! Which files are read although nothing says that they changed: the files that were read longest ago.
//!
//! All files of the oldest days are picked, and of the day after them, in the order of their names, what the rest of the
//! budget is enough for. What is picked is recorded as read today, so that every file has its turn.

use crate::error::Error;
use crate::format::day::Day;
use crate::format::manifest::Manifest;
use crate::format::record::{Facts, FileRecord, What};
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
        let wrong = || format!("{text:?} is neither a percentage (5%) nor a size (200G)");
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

/// The files that were picked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picked {
    /// Files that were read on this day or before; `None` before all days.
    before: Option<Option<Day>>,
    /// Of the next day, files up to this name.
    day: Option<(Option<Day>, Vec<u8>)>,
    today: Option<Day>,
}

impl Picked {
    /// Picks what the budget is enough for; at least one file.
    pub(crate) fn new(manifest: &Manifest, budget: Budget) -> Result<Self, Error> {
        let mut picked = Self { today: Some(Day::today()), ..Self::default() };
        let mut days: BTreeMap<Option<Day>, u64> = BTreeMap::new();
        let mut all = 0_u64;
        for record in manifest.records()? {
            let What::File(FileRecord { facts: Some(facts), .. }) = record?.what else { continue };
            all = all.saturating_add(facts.bytes);
            // The budget is for files that nothing else lets this run read.
            if !facts.is_read_always() {
                let bytes = days.entry(picked.day_of(&facts)).or_default();
                *bytes = bytes.saturating_add(facts.bytes);
            }
        }
        let mut left = budget.of(all);
        for (day, bytes) in days {
            if bytes > left {
                picked.day = Some((day, picked.last(manifest, day, left)?));
                break;
            }
            left -= bytes;
            picked.before = Some(day);
        }
        Ok(picked)
    }

    /// The name of the last file of this day that the budget is enough for.
    fn last(&self, manifest: &Manifest, day: Option<Day>, mut left: u64) -> Result<Vec<u8>, Error> {
        let (mut last, at_least_one) = (Vec::new(), self.before.is_none());
        for record in manifest.records()? {
            let record = record?;
            let What::File(FileRecord { facts: Some(facts), .. }) = &record.what else { continue };
            if facts.is_read_always() || self.day_of(facts) != day {
                continue;
            }
            if facts.bytes > left && !(at_least_one && last.is_empty()) {
                break;
            }
            left = left.saturating_sub(facts.bytes);
            last = record.name;
        }
        Ok(last)
    }

    /// When a file was read. A day to come is wrong, and such a file would never have its turn.
    fn day_of(&self, facts: &Facts) -> Option<Day> {
        facts.read.filter(|day| self.today.is_none_or(|today| *day <= today))
    }

    pub(crate) fn has(&self, file: &FileRecord, name: &[u8]) -> bool {
        let Some(facts) = &file.facts else { return false };
        let read = self.day_of(facts);
        self.before.is_some_and(|before| read <= before)
            || self.day.as_ref().is_some_and(|(day, last)| read == *day && name <= &last[..])
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
