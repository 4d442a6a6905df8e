//! Days and moments as the index writes them: `2026-11-25` and `2026-11-25T01:13:50Z`.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub u32);

impl Day {
    /// Today, in UTC.
    pub fn today() -> Self {
        Self((seconds() / 86_400).try_into().unwrap_or(u32::MAX))
    }

    /// The day that a text such as `2026-11-25` stands for.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day)
        {
            return None;
        }
        // Years that begin in March end with the day that may not exist.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, of_era) = (year / 400, year % 400);
        let of_year = (153 * month + 2) / 5 + day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        u32::try_from(days - 719_468).ok().map(Self)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = i64::from(self.0) + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        write!(f, "{:04}-{month:02}-{day:02}", year + era * 400 + later)
    }
}

/// This moment, in UTC: `2026-11-25T01:13:50Z`.
pub fn now() -> String {
    at(SystemTime::now())
}

/// A moment as [`now`] writes it, without fractions of a second. The first one is the beginning of 1970.
pub fn at(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (day, of_day) = (Day((seconds / 86_400).try_into().unwrap_or(u32::MAX)), seconds % 86_400);
    format!("{day}T{:02}:{:02}:{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_is_the_way_back() {
        for (days, text) in [
            (0, "1970-01-01"),
            (20_782, "2026-11-25"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
        ] {
            assert_eq!(Day(days).to_string(), text);
        }
        for days in (0..60_000).step_by(7) {
            assert_eq!(Day::parse(&Day(days).to_string()), Some(Day(days)));
        }
        for text in ["", "2026", "2026-13-01", "2026-1", "x-1-1", "1969-12-31"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }
}
