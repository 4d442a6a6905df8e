//! A batch on the threads of the current rayon pool.
//!
//! The batch is halved by count while it has many blobs, then by bytes while it has many of those.
//! So tiny blobs and large ones both become tasks that are worth a thread's waking up, and idle
//! threads take from the others what they have not begun. A blob that is a task by itself is split
//! further by its own tree.

use core::ops::Range;

use super::Blobs;
use crate::{parallel, profile};

/// Blobs below which a task is not split by count.
const COUNT: usize = 2048;

/// Bytes below which a task is not split, if no profile says otherwise.
const BYTES: usize = 128 * 1024;

/// Tasks that a thread should find, so that none waits long for another at the end. More of them
/// leave more lanes idle, as each ends with a group that is not full.
const TASKS: usize = 8;

/// Runs `task` on parts of all blobs and of `out`, which has `per` items for each blob.
pub(super) fn split<B: Blobs + Sync + ?Sized, T: Send>(
    blobs: &B,
    out: &mut [T],
    per: usize,
    task: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    let tasks = TASKS * parallel::threads();
    let count = blobs.count();
    let bytes = len(blobs, &(0..count)) / tasks;
    let least = Least {
        count: COUNT.max(count / tasks),
        bytes: profile::current().batch_task.unwrap_or(BYTES).max(bytes),
    };
    halves(blobs, 0..count, out, per, &least, task);
}

/// What a task has at least, if it comes from one that was split.
struct Least {
    count: usize,
    bytes: usize,
}

fn len<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>) -> usize {
    range.clone().map(|index| blobs.get(index).len()).fold(0, usize::saturating_add)
}

fn halves<B: Blobs + Sync + ?Sized, T: Send>(
    blobs: &B,
    range: Range<usize>,
    out: &mut [T],
    per: usize,
    least: &Least,
    task: &(impl Fn(Range<usize>, &mut [T]) + Sync),
) {
    let count = range.len();
    let left = if count > least.count { count / 2 } else { half_of_bytes(blobs, &range, least) };
    if left == 0 || left == count {
        return task(range, out);
    }
    let middle = range.start + left;
    let (left_out, right_out) = out.split_at_mut(left * per);
    rayon::join(
        || halves(blobs, range.start..middle, left_out, per, least, task),
        || halves(blobs, middle..range.end, right_out, per, least, task),
    );
}

/// Blobs of `range` that hold about half of its bytes; none if they are not worth splitting.
fn half_of_bytes<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>, least: &Least) -> usize {
    let total = len(blobs, range);
    if total <= least.bytes || range.len() < 2 {
        return 0;
    }
    // A blob that holds more than the rest together is cut off from its neighbours on both sides.
    let mut before = 0_usize;
    for (count, index) in range.clone().enumerate() {
        let with = before.saturating_add(blobs.get(index).len());
        if with > total / 2 {
            let nearer_without = total / 2 - before < with - total / 2;
            let count = if nearer_without { count } else { count + 1 };
            return count.clamp(1, range.len() - 1);
        }
        before = with;
    }
    range.len() / 2
}
