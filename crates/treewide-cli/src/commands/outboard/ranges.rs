//! Ranges and sizes, as people write and read them.

use clap::Args;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::outboard::Layout;
use treewide_files::name::shown;
use treewide_files::size;

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

/// Ranges in order; ranges that overlap or touch become one.
fn joined(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.into_iter().collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touch = next.start <= before.end;
        before.end = if touch { before.end.max(next.end) } else { before.end };
        touch
    });
    ranges
}

/// What of a file is compared with which outboard.
#[derive(Args)]
pub(super) struct PartArgs {
    /// Its outboard [default: FILE.obao4, or the only one with another number]
    #[arg(long, value_name = "OUTBOARD", help_heading = "Outboard")]
    pub(super) outboard: Option<PathBuf>,

    /// The bytes that the file had when its outboard was made [default: those it has now]
    #[arg(long, value_name = "BYTES", value_parser = size::parse, help_heading = "Outboard")]
    pub(super) size: Option<u64>,

    /// Look at these bytes only: A..B, A.., ..B or A..+N, in bytes or with K, M, G or T; may be given more than once
    #[arg(long = "range", value_name = "RANGE", value_parser = range, help_heading = "Coverage")]
    ranges: Vec<Range<u64>>,
}

impl PartArgs {
    /// An error if a range begins past the end of the file at `path`.
    pub(super) fn require(&self, path: &Path, layout: &Layout) -> anyhow::Result<()> {
        match self.ranges.iter().find(|range| range.start >= layout.len().max(1)) {
            Some(range) => {
                let (at, len) = (range.start, layout.len());
                anyhow::bail!("{}: has no byte {at}, because it has {len} bytes", shown(path))
            }
            None => Ok(()),
        }
    }

    /// The whole groups that the ranges stand for, in order; everything without a range. Where a range reaches past the end, the
    /// last one does.
    pub(super) fn groups(&self, layout: &Layout) -> Vec<Range<u64>> {
        if self.ranges.is_empty() || layout.len() == 0 {
            return std::iter::once(0..u64::MAX).collect();
        }
        let grown = |range: &Range<u64>| {
            let groups = layout.groups_of(range);
            layout.group_range(groups.start).start..layout.group_range(groups.end.max(1) - 1).end
        };
        let mut grouped = joined(self.ranges.iter().map(grown));
        if let Some(last) = grouped.last_mut()
            && self.ranges.iter().any(|range| range.end > layout.len())
        {
            last.end = u64::MAX;
        }
        grouped
    }
}

/// Such as `1G+64K`.
fn sum(text: &str) -> Result<u64, String> {
    text.split('+').try_fold(0_u64, |sum, part| {
        sum.checked_add(size::parse(part)?).ok_or_else(|| "more than 2^64 - 1 bytes".to_owned())
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
