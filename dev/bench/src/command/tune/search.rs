//! The smallest size from which one side is faster, by bisection.

use anyhow::Result;

use super::{Advice, GAIN};
use crate::measure::Session;
use crate::plan::Plan;
use crate::report::Ratio;
use crate::size;

/// An inconclusive size is measured once more, this many times as long, with as many times as many samples.
const LONGER: u32 = 8;
const MORE: usize = 3;

/// Whether the first side of a ratio wins, beyond its interval.
fn wins(ratio: &Ratio) -> bool {
    ratio.low > 1.0 && ratio.median >= GAIN
}

/// Whether it may win by far or not at all, so that nothing follows: other programs have disturbed it.
fn says_nothing(ratio: &Ratio) -> bool {
    ratio.is_wide() && ratio.low < GAIN && ratio.high >= GAIN
}

/// The first ratio of a row, measured longer if it is inconclusive; `None` if it cannot be measured.
pub(super) fn told(session: &mut Session, plan: Plan) -> Result<Option<Ratio>> {
    session.run(std::slice::from_ref(&plan))?;
    let ratio = |session: &Session| {
        let row = session.rows().iter().find(|row| row.id == plan.id)?;
        row.ratios_of_samples(session.settings().confidence).into_iter().next()
    };
    match ratio(session) {
        Some(it) if it.low <= 1.0 && it.high > 1.0 => {
            session.max_samples *= MORE;
            session.again(&plan, session.budget() * LONGER)?;
            session.max_samples /= MORE;
            Ok(ratio(session))
        }
        ratio => Ok(ratio),
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The smallest size from which the first side wins.
    from: Option<u64>,
    /// The largest size at which it does not win, or 0.
    before: u64,
    /// The ratio at the smallest size, or else at the largest one; `None` if nothing was measured.
    last: Option<Ratio>,
    /// Whether the ratio said nothing, and so ended the search.
    unknown: bool,
}

/// Searches sizes from `2^from` to `2^to`, in steps of a half: 8, 12, 16, 24 KiB.
pub(super) fn search(
    from: u32,
    to: u32,
    mut measure: impl FnMut(u64) -> Result<Option<Ratio>>,
) -> Result<Found> {
    let size = |step: u32| {
        let power = 1_u64 << (from + step / 2);
        if step.is_multiple_of(2) { power } else { power / 2 * 3 }
    };
    let mut least = 2 * (to - from);
    let mut last = measure(size(least))?;
    let unknown = last.as_ref().is_some_and(says_nothing);
    if unknown || !last.as_ref().is_some_and(wins) {
        return Ok(Found { from: None, before: size(least), last, unknown });
    }
    // The number of first steps that are known not to win.
    let mut lost = 0;
    while lost < least {
        let middle = (lost + least) / 2;
        match measure(size(middle))? {
            Some(it) if says_nothing(&it) => {
                let before = size(middle);
                return Ok(Found { from: None, before, last: Some(it), unknown: true });
            }
            Some(it) if wins(&it) => (least, last) = (middle, Some(it)),
            _ => lost = middle + 1,
        }
    }
    let before = least.checked_sub(1).map_or(0, size);
    Ok(Found { from: Some(size(least)), before, last, unknown: false })
}

impl Found {
    /// Prints the result, and sets `name` if there is one.
    pub(super) fn tell(
        &self,
        advice: &mut Advice,
        name: &str,
        who: &str,
        what: &str,
    ) -> Result<()> {
        let comment = self.comment(name, who, what);
        advice.say(&comment)?;
        self.from.map_or(Ok(()), |from| advice.set(name, from))
    }

    fn comment(&self, name: &str, who: &str, what: &str) -> String {
        let size = size::show(self.before);
        let Some(Ratio { of, median, low, high }) = &self.last else {
            return format!("{name}: cannot be measured here");
        };
        match self.from {
            _ if self.unknown => format!(
                "{name}: left out. At {size} the ratio to {of} is {median:.2} [{low:.2}, {high:.2}], \
                 which decides nothing: measure on an idle machine"
            ),
            Some(_) => format!(
                "{who} is faster for {what} from here on: {median:.2} [{low:.2}, {high:.2}] times as \
                 fast as {of}"
            ),
            None => format!("{name}: left out. {who} is faster for no {what} up to {size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(median: f64) -> Ratio {
        Ratio { of: "other".into(), median, low: median - 0.02, high: median + 0.02 }
    }

    /// Searches with a side that wins from `size` on, and returns the sizes that it measured.
    fn searched(crossover: u64) -> (Found, Vec<u64>) {
        let mut sizes = vec![];
        let found = search(13, 26, |bytes| {
            sizes.push(bytes);
            Ok(Some(ratio(if bytes >= crossover { 1.5 } else { 0.9 })))
        });
        (found.expect("nothing fails"), sizes)
    }

    #[test]
    fn bisection_finds_every_crossover() {
        let steps: Vec<u64> =
            (13..26).flat_map(|n| [1 << n, 3 << (n - 1)]).chain([1 << 26]).collect();
        for (at, &size) in steps.iter().enumerate() {
            let (found, sizes) = searched(size);
            let before = if at == 0 { 0 } else { steps[at - 1] };
            assert_eq!((found.from, found.before), (Some(size), before));
            assert!(sizes.len() <= 6, "{sizes:?}");
        }
        let (found, sizes) = searched(u64::MAX);
        assert_eq!((found.from, found.before, sizes), (None, 1 << 26, vec![1 << 26]));
    }

    #[test]
    fn what_was_found_is_said_with_its_ratio() {
        let said = |found: &Found| found.comment("--device-minimum", "a GPU", "files");
        let (found, _) = searched(12 << 10);
        let expected =
            "a GPU is faster for files from here on: 1.50 [1.48, 1.52] times as fast as other";
        assert_eq!(said(&found), expected);
        let mut advice = Advice::default();
        found.tell(&mut advice, "--device-minimum", "a GPU", "files").unwrap();
        assert_eq!(advice.0["device_minimum"], 12288);
        let expected = "--device-minimum: left out. a GPU is faster for no files up to 64 MiB";
        assert_eq!(said(&searched(u64::MAX).0), expected);
        let found = search(13, 26, |_| Ok(None)).expect("nothing fails");
        assert_eq!(said(&found), "--device-minimum: cannot be measured here");
        let wide = || Ratio { low: 0.7, high: 1.9, ..ratio(1.2) };
        let found = search(13, 26, |_| Ok(Some(wide()))).expect("nothing fails");
        let expected = "--device-minimum: left out. At 64 MiB the ratio to other is 1.20 [0.70, 1.90], which \
                        decides nothing: measure on an idle machine";
        assert_eq!(said(&found), expected);
        // The same in the middle of a search.
        let found =
            search(13, 26, |bytes| Ok(Some(if bytes < 1 << 25 { wide() } else { ratio(1.5) })))
                .expect("nothing fails");
        assert!(said(&found).starts_with("--device-minimum: left out."), "{}", said(&found));
        assert_eq!(found.from, None);
    }

    #[test]
    fn little_and_uncertain_gains_are_none() {
        assert!(wins(&ratio(1.04)));
        assert!(!wins(&ratio(1.025)));
        let wide = Ratio { low: 0.99, ..ratio(1.5) };
        assert!(!wins(&wide));
    }
}
