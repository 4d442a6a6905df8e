//! The nodes that wait for their right siblings, highest level first.
//!
//! The room for all of them is 1,728 bytes. It is not cleared: that would take 7 ns, a tenth of the time of a short
//! input (`results/zen5-2vcpu/limits.md#hasher`).

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::slice;

use crate::spec::{ChainingValue, MAX_HEIGHT};

pub(crate) struct Stack {
    /// The first `height` nodes are written. There is one for each bit of a number of chunks below 2^54.
    nodes: [MaybeUninit<ChainingValue>; MAX_HEIGHT],
    height: u8,
}

impl Stack {
    pub(crate) fn new() -> Self {
        let mut stack = MaybeUninit::<Self>::uninit();
        // The compiler would make a constant of a literal, and clear the nodes after all. SAFETY: nodes need no value.
        unsafe {
            (&raw mut (*stack.as_mut_ptr()).height).write(0);
            stack.assume_init()
        }
    }

    /// # Panics
    /// If the stack is full.
    pub(crate) fn push(&mut self, node: ChainingValue) {
        self.nodes[usize::from(self.height)].write(node);
        self.height += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<ChainingValue> {
        let top = *self.last()?;
        self.height -= 1;
        Some(top)
    }

    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.height) == MAX_HEIGHT
    }

    pub(crate) fn clear(&mut self) {
        self.height = 0;
    }
}

/// Copies the nodes that are written.
impl Clone for Stack {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        self.iter().for_each(|node| copy.push(*node));
        copy
    }
}

impl Deref for Stack {
    type Target = [ChainingValue];

    fn deref(&self) -> &[ChainingValue] {
        // SAFETY: the first `height` nodes are written.
        unsafe { slice::from_raw_parts(self.nodes.as_ptr().cast(), self.height.into()) }
    }
}

impl DerefMut for Stack {
    fn deref_mut(&mut self) -> &mut [ChainingValue] {
        // SAFETY: the first `height` nodes are written.
        unsafe { slice::from_raw_parts_mut(self.nodes.as_mut_ptr().cast(), self.height.into()) }
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Stack {
    /// Also wipes nodes that were popped.
    fn zeroize(&mut self) {
        self.nodes.zeroize();
        self.height.zeroize();
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_there() {
        let mut stack = Stack::new();
        assert!(stack.is_empty() && stack.pop().is_none());
        for i in 0..MAX_HEIGHT as u8 {
            stack.push([i; 32]);
        }
        stack[3] = [99; 32];
        let mut other = stack.clone();
        assert_eq!(stack.pop(), Some([MAX_HEIGHT as u8 - 1; 32]));
        assert_eq!((stack.len(), other.len()), (MAX_HEIGHT - 1, MAX_HEIGHT));
        other.clear();
        assert!(other.is_empty());
        for (i, node) in stack.iter().enumerate() {
            assert_eq!(*node, [if i == 3 { 99 } else { i as u8 }; 32]);
        }
    }

    #[test]
    #[should_panic]
    fn a_full_one_takes_no_more() {
        let mut stack = Stack::new();
        for _ in 0..=MAX_HEIGHT {
            stack.push([0; 32]);
        }
    }

    #[cfg(feature = "zeroize")]
    #[test]
    fn zeroize_reaches_what_was_popped() {
        use zeroize::Zeroize;
        let mut stack = Stack::new();
        stack.push([1; 32]);
        stack.push([2; 32]);
        stack.pop();
        stack.zeroize();
        assert!(stack.is_empty());
        for node in &stack.nodes[..2] {
            // SAFETY: these nodes were written.
            assert_eq!(unsafe { node.assume_init() }, [0; 32]);
        }
    }
}
