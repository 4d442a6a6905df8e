//! The nodes that wait for their right siblings, highest level first. Room for all that there may ever be is
//! 1,760 bytes: clearing it would take a seventh of the time of a short input.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::slice;

use crate::spec::{ChainingValue, MAX_HEIGHT};

#[derive(Clone)]
pub(crate) struct Stack {
    /// The first `height` are written.
    nodes: [MaybeUninit<ChainingValue>; MAX_HEIGHT + 1],
    height: u8,
}

impl Stack {
    pub(crate) fn new() -> Self {
        let mut stack = MaybeUninit::<Self>::uninit();
        // Of a literal the compiler would make a constant, and clear the nodes after all. SAFETY: nodes need no value.
        unsafe {
            (&raw mut (*stack.as_mut_ptr()).height).write(0);
            stack.assume_init()
        }
    }

    /// # Panics
    /// If it is full.
    pub(crate) fn push(&mut self, node: ChainingValue) {
        self.nodes[usize::from(self.height)].write(node);
        self.height += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<ChainingValue> {
        let top = *self.last()?;
        self.height -= 1;
        Some(top)
    }

    pub(crate) fn clear(&mut self) {
        self.height = 0;
    }
}

impl Deref for Stack {
    type Target = [ChainingValue];

    fn deref(&self) -> &[ChainingValue] {
        // SAFETY: so many are written.
        unsafe { slice::from_raw_parts(self.nodes.as_ptr().cast(), self.height.into()) }
    }
}

impl DerefMut for Stack {
    fn deref_mut(&mut self) -> &mut [ChainingValue] {
        // SAFETY: so many are written.
        unsafe { slice::from_raw_parts_mut(self.nodes.as_mut_ptr().cast(), self.height.into()) }
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Stack {
    /// Those that are no more, too.
    fn zeroize(&mut self) {
        self.nodes.zeroize();
        self.height.zeroize();
    }
}
