//! How long records of the past are kept, if someone says so. Nothing else forgets them.

use crate::format::day;
use std::time::{Duration, SystemTime};

/// How long records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// None is kept.
    All,
    /// Records that were dropped in this time are kept.
    Before(Duration),
}

impl Forget {
    /// Parses `90d`, `1y` or `all`.
    ///
    /// # Errors
    /// If it is another text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an age: write 90d, 1y or all");
        if text == "all" {
            return Ok(Self::All);
        }
        let (number, days) = match (text.strip_suffix('d'), text.strip_suffix('y')) {
            (Some(number), _) => (number, 1),
            (_, Some(number)) => (number, 365),
            _ => return Err(wrong()),
        };
        let seconds = number.parse::<u32>().map_err(|_| wrong())?;
        Ok(Self::Before(Duration::from_secs(u64::from(seconds) * days * 86_400)))
    }

    /// Runs before this moment are forgotten, as the past writes it.
    pub(crate) fn before(self) -> String {
        match self {
            Self::All => "9999".into(),
            Self::Before(age) => {
                day::at(SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forget_takes_an_age() {
        assert_eq!(Forget::parse("all"), Ok(Forget::All));
        assert_eq!(Forget::parse("2d"), Ok(Forget::Before(Duration::from_secs(172_800))));
        assert_eq!(Forget::parse("1y"), Forget::parse("365d"));
        for wrong in ["", "d", "90", "-1d", "1w", "1.5y"] {
            assert!(Forget::parse(wrong).is_err(), "{wrong}");
        }
    }
}
