//! Ranges and sizes, as people write and read them.

use std::ops::Range;
use std::path::Path;
use treewide::outboard::Layout;
use treewide_files::name::shown;

/// Bytes: a number, with a unit that is a power of 1024 or without.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    crate::explain::bytes(text)
}

/// `A..B`, `A..`, `..B` or `A..+N`.
pub(super) fn range(text: &str) -> Result<Range<u64>, String> {
    let form = "a range is A..B, A.., ..B or A..+N, in bytes or with K, M, G or T";
    let (start, end) = text.split_once("..").ok_or(form)?;
    let place = |text: &str, default| match text {
        "" => Ok(default),
        text => sum(text),
    };
    let start = place(start, 0)?;
    let end = match end.strip_prefix('+') {
        Some(len) => start.checked_add(sum(len)?).ok_or("more than 2^64 - 1 bytes")?,
        None => place(end, u64::MAX)?,
    };
    if start >= end {
        return Err(format!("it has no bytes, as it ends at {end}; {form}"));
    }
    Ok(start..end)
}

/// Ranges in order; neighbours that touch become one.
fn joined(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.collect();
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

/// The whole groups that ranges stand for, in order. Where a range reaches behind the end, the last one does.
pub(super) fn in_groups(ranges: &[Range<u64>], layout: &Layout) -> Vec<Range<u64>> {
    let grown = |range: &Range<u64>| {
        let groups = layout.groups_of(range);
        layout.group_range(groups.start).start..layout.group_range(groups.end.max(1) - 1).end
    };
    let mut grouped = joined(ranges.iter().map(grown));
    if let Some(last) = grouped.last_mut()
        && ranges.iter().any(|range| range.end > layout.len())
    {
        last.end = u64::MAX;
    }
    grouped
}

/// An error if a range begins behind the end of the file at `path`, which has `len` bytes.
pub(super) fn require(ranges: &[Range<u64>], path: &Path, len: u64) -> anyhow::Result<()> {
    match ranges.iter().find(|range| range.start >= len.max(1)) {
        Some(range) => {
            let at = range.start;
            anyhow::bail!("{}: has no byte {at}, because it has {len} bytes", shown(path))
        }
        None => Ok(()),
    }
}

/// Such as `1G+64K`.
fn sum(text: &str) -> Result<u64, String> {
    text.split('+').try_fold(0_u64, |sum, part| {
        sum.checked_add(bytes(part)?).ok_or_else(|| "more than 2^64 - 1 bytes".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0..5", 0..5),
            ("1K..2K", 1024..2048),
            ("1K..+1K", 1024..2048),
            ("1G+64K..1G+65K", (1 << 30) + 65536..(1 << 30) + 66560),
            ("..10", 0..10),
            ("7..", 7..u64::MAX),
            ("..", 0..u64::MAX),
        ] {
            assert_eq!(range(text), Ok(expected), "{text}");
        }
        for text in ["", "5", "5..5", "6..5", "x..5", "5..+0", "5..+", "1..-2", "16777216T..+1"] {
            assert!(range(text).is_err(), "{text}");
        }
        assert!(range("1..+18446744073709551615").is_err());
    }
}
