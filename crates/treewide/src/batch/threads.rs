//! A batch on the threads of the current rayon pool.
//!
//! The batch is halved by count while it has many blobs, then by bytes while it has many of those.
//! So tiny blobs and large ones both become tasks that are worth a thread's waking up, and idle
//! threads take from the others what they have not begun. A blob that is a task by itself is split
//! further by its own tree.

use core::ops::Range;

use super::Blobs;
use crate::profile;

/// Blobs below which a task is not split by count.
const COUNT: usize = 2048;

/// Bytes below which a task is not split, if no profile says otherwise.
const BYTES: usize = 128 * 1024;

/// Runs `task` on parts of `range` and of `out`, which has `per` items for each blob.
pub(super) fn split<B: Blobs + Sync + ?Sized, T: Send>(
    blobs: &B,
    range: Range<usize>,
    out: &mut [T],
    per: usize,
    task: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    let count = range.len();
    let left = if count > COUNT { count / 2 } else { half_of_bytes(blobs, &range) };
    if left == 0 || left == count {
        return task(range, out);
    }
    let middle = range.start + left;
    let (left_out, right_out) = out.split_at_mut(left * per);
    rayon::join(
        || split(blobs, range.start..middle, left_out, per, task),
        || split(blobs, middle..range.end, right_out, per, task),
    );
}

/// Blobs of `range` that hold about half of its bytes; none if they are not worth splitting.
fn half_of_bytes<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>) -> usize {
    let len = |index| blobs.get(index).len();
    let total = range.clone().map(len).fold(0, usize::saturating_add);
    if total <= profile::current().batch_task.unwrap_or(BYTES) || range.len() < 2 {
        return 0;
    }
    // A blob that holds more than the rest together is cut off from its neighbours on both sides.
    let mut before = 0_usize;
    for (count, index) in range.clone().enumerate() {
        let with = before.saturating_add(len(index));
        if with > total / 2 {
            let nearer_without = total / 2 - before < with - total / 2;
            let count = if nearer_without { count } else { count + 1 };
            return count.clamp(1, range.len() - 1);
        }
        before = with;
    }
    range.len() / 2
}
