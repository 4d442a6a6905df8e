//! Lists of ranges.

use core::ops::Range;

/// Puts ranges in order, without empty ones. Ranges that overlap or touch become one.
pub(super) fn joined(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touch = next.start <= before.end;
        if touch {
            before.end = before.end.max(next.end);
        }
        touch
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_puts_ranges_in_order() {
        assert_eq!(joined([7..9, 0..2, 3..3, 2..4]), [0..4, 7..9]);
    }
}
