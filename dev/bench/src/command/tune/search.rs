//! The smallest size from which one side is faster, by bisection.

use std::fmt::Write as _;

use anyhow::Result;

use super::GAIN;
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
    /// The size at which the ratio said nothing, and so ended the search.
    unknown: Option<u64>,
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
    let unknown = last.as_ref().is_some_and(says_nothing).then(|| size(least));
    if unknown.is_some() || !last.as_ref().is_some_and(wins) {
        return Ok(Found { from: None, before: size(least), last, unknown });
    }
    // The number of first steps that are known not to win.
    let mut lost = 0;
    while lost < least {
        let middle = (lost + least) / 2;
        match measure(size(middle))? {
            Some(it) if says_nothing(&it) => {
                let (before, unknown) = (size(middle), Some(size(middle)));
                return Ok(Found { from: None, before, last: Some(it), unknown });
            }
            Some(it) if wins(&it) => (least, last) = (middle, Some(it)),
            _ => lost = middle + 1,
        }
    }
    let before = least.checked_sub(1).map_or(0, size);
    Ok(Found { from: Some(size(least)), before, last, unknown: None })
}

impl Found {
    /// Writes the result as a line that sets `name`.
    pub(super) fn line(&self, advice: &mut String, name: &str, who: &str, what: &str, other: &str) {
        let _ = match (self.from, &self.last) {
            (_, None) => writeln!(advice, "# {name}: cannot be measured here"),
            (_, Some(Ratio { median, low, high, .. })) if self.unknown.is_some() => {
                let size = size::show(self.before);
                writeln!(
                    advice,
                    "# {name}: left out. At {size} the ratio to {other} is {median:.2} [{low:.2}, {high:.2}], \
                     which decides nothing: measure on an idle machine"
                )
            }
            (Some(from), Some(it)) => {
                let Ratio { median, low, high, .. } = it;
                writeln!(
                    advice,
                    "# {who} for {what} from here on: {median:.2} [{low:.2}, {high:.2}] times as fast \
                     as {other}\n{name}={from}"
                )
            }
            (None, Some(_)) => {
                let most = size::show(self.before);
                writeln!(advice, "# {name}: left out. {who} for no {what} up to {most}")
            }
        };
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
    fn what_was_found_is_a_line() {
        let line = |found: Found| {
            let mut text = String::new();
            found.line(&mut text, "--device-minimum", "a GPU wins", "files", "the CPU");
            text
        };
        let (found, _) = searched(12 << 10);
        let expected = "# a GPU wins for files from here on: 1.50 [1.48, 1.52] times as fast as \
                        the CPU\n--device-minimum=12288\n";
        assert_eq!(line(found.clone()), expected);
        let json = "# As JSON:\n{\"device_minimum\":12288}\n";
        assert_eq!(super::super::with_json(&line(found)), format!("{expected}{json}"));
        let expected = "# --device-minimum: left out. a GPU wins for no files up to 64 MiB\n";
        assert_eq!(line(searched(u64::MAX).0), expected);
        let found = search(13, 26, |_| Ok(None)).expect("nothing fails");
        assert_eq!(line(found), "# --device-minimum: cannot be measured here\n");
        let wide = || Ratio { low: 0.7, high: 1.9, ..ratio(1.2) };
        let found = search(13, 26, |_| Ok(Some(wide()))).expect("nothing fails");
        let expected = "# --device-minimum: left out. At 64 MiB the ratio to the CPU is 1.20 [0.70, 1.90], which \
                        decides nothing: measure on an idle machine\n";
        assert_eq!(line(found), expected);
        // The same in the middle of a search.
        let found =
            search(13, 26, |bytes| Ok(Some(if bytes < 1 << 25 { wide() } else { ratio(1.5) })));
        let text = line(found.expect("nothing fails"));
        assert!(text.starts_with("# --device-minimum: left out."), "{text}");
        assert!(!text.contains("--device-minimum="), "{text}");
    }

    #[test]
    fn little_and_uncertain_gains_are_none() {
        assert!(wins(&ratio(1.04)));
        assert!(!wins(&ratio(1.025)));
        let wide = Ratio { low: 0.99, ..ratio(1.5) };
        assert!(!wins(&wide));
    }
}
