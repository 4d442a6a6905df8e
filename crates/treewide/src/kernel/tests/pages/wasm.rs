//! At the end of linear memory: there is no page after it, and before it no page can be taken away.

use core::arch::wasm32::{memory_grow, memory_size};

use super::Side;

pub(super) const SIDES: [Side; 1] = [Side::Last];

const PAGE: usize = 64 << 10;

/// Room for bytes where memory ends, or ended.
pub(super) struct Guarded {
    len: usize,
    end: usize,
    /// Whether something may come behind.
    output: bool,
}

impl Guarded {
    pub(super) fn new(least: usize) -> Self {
        Self { len: least, end: grown(least), output: false }
    }

    /// For memory that is written while another is read, which has the end: other tests notice writes beyond this.
    pub(super) fn output(least: usize) -> Self {
        Self { output: true, ..Self::new(least) }
    }

    /// The last `len` bytes, filled with `bytes` as far as those go: in new memory, if something has come behind.
    pub(super) fn put(&mut self, side: Side, len: usize, bytes: &[u8]) -> &mut [u8] {
        assert!(len <= self.len && matches!(side, Side::Last));
        if !self.output && self.end != memory_size::<0>() * PAGE {
            self.end = grown(self.len);
        }
        // SAFETY: pages that this has added, borrowed as long as `self`.
        let place = unsafe { std::slice::from_raw_parts_mut((self.end - len) as *mut u8, len) };
        let filled = len.min(bytes.len());
        place[..filled].copy_from_slice(&bytes[..filled]);
        place
    }
}

/// Adds pages for `len` bytes, and returns where they end.
fn grown(len: usize) -> usize {
    assert_ne!(memory_grow::<0>(len.div_ceil(PAGE)), usize::MAX, "memory is over");
    memory_size::<0>() * PAGE
}

/// A read beyond it would end the tests, so it is known by where it is.
#[test]
fn the_guards_are_there() {
    let mut guarded = Guarded::new(1);
    let place = guarded.put(Side::Last, 1, &[]).as_ptr_range();
    assert_eq!(place.end as usize, memory_size::<0>() * PAGE, "no memory is after it");
}
