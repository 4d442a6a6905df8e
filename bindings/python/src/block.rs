//! Blocks of a tensor: which bytes of it, in row-major order, a process has.
//!
//! ```text
//! full tensor   |aaaa....bbbb....cccc....|      columns 0..4 of rows of 8: the runs aaaa, bbbb, cccc
//! in memory     |aaaabbbbcccc|
//! ```

use std::ops::Range;

/// Indices of a dimension: where each piece of them starts, and how many there are.
pub(crate) type Indices = Vec<(u64, u64)>;

/// The runs of bytes of a block, in the order of memory. The tensor has `shape`; the block has `indices` of each dimension.
///
/// # Errors
/// A text that names what does not fit.
pub(crate) fn runs(
    item: u64,
    shape: &[u64],
    indices: &[Indices],
) -> Result<Vec<Range<u64>>, String> {
    if indices.len() != shape.len() {
        return Err(format!("a block of {} dimensions is not one of {shape:?}", indices.len()));
    }
    let total = shape.iter().try_fold(item, |bytes, len| bytes.checked_mul(*len));
    total.ok_or_else(|| format!("a tensor of {shape:?} has more bytes than there can be"))?;
    for ((dimension, indices), len) in indices.iter().enumerate().zip(shape) {
        let outside = indices
            .iter()
            .find(|(start, count)| start.checked_add(*count).is_none_or(|end| end > *len));
        if let Some((start, count)) = outside {
            return Err(format!(
                "{count} indices from {start} on are outside of dimension {dimension} of {shape:?}"
            ));
        }
    }
    if indices.iter().any(|indices| indices.iter().all(|(_, count)| *count == 0)) {
        return Ok(Vec::new());
    }
    // Dimensions that are whole are one item with those before them.
    let mut inner = item;
    let mut rest = shape.len();
    while rest > 0 && indices[rest - 1] == [(0, shape[rest - 1])] {
        rest -= 1;
        inner *= shape[rest];
    }
    let mut runs = Vec::new();
    block(0, &shape[..rest], &indices[..rest], inner, &mut runs);
    Ok(runs)
}

/// Appends the runs below byte `at`, of items of `inner` bytes.
fn block(at: u64, shape: &[u64], indices: &[Indices], inner: u64, runs: &mut Vec<Range<u64>>) {
    let ([_, below @ ..], [first, rest @ ..]) = (shape, indices) else {
        return push(at..at + inner, runs);
    };
    let pitch = below.iter().product::<u64>() * inner;
    for &(start, count) in first {
        let start_at = at + start * pitch;
        if rest.is_empty() {
            push(start_at..start_at + count * pitch, runs);
            continue;
        }
        for index in 0..count {
            block(start_at + index * pitch, below, rest, inner, runs);
        }
    }
}

/// Appends a run. One that follows the last is a part of it.
fn push(run: Range<u64>, runs: &mut Vec<Range<u64>>) {
    match runs.last_mut() {
        Some(last) if last.end == run.start => last.end = run.end,
        _ if run.is_empty() => {}
        _ => runs.push(run),
    }
}
