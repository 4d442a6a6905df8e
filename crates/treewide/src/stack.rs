//! A stack in place, whose room is not cleared: for the 1,728 bytes of the nodes of a hasher that would take 7 ns, a tenth of
//! the time of a short input (`results/zen5-2vcpu/limits.md#hasher`).

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::slice;

pub(crate) struct Stack<T, const N: usize> {
    /// The first `height` items are written.
    items: [MaybeUninit<T>; N],
    height: u8,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    pub(crate) fn new() -> Self {
        let mut stack = MaybeUninit::<Self>::uninit();
        // The compiler would make a constant of a literal, and clear the items after all. SAFETY: items need no value.
        unsafe {
            (&raw mut (*stack.as_mut_ptr()).height).write(0);
            stack.assume_init()
        }
    }

    /// # Panics
    /// If the stack is full.
    pub(crate) fn push(&mut self, item: T) {
        self.items[usize::from(self.height)].write(item);
        self.height += 1;
    }

    /// Replaces everything by `count` equal items.
    ///
    /// # Panics
    /// If there is no room for them.
    pub(crate) fn fill(&mut self, item: T, count: usize) -> &mut [T] {
        self.items[..count].fill(MaybeUninit::new(item));
        self.height = count as u8;
        self
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let top = *self.last()?;
        self.height -= 1;
        Some(top)
    }

    pub(crate) fn is_full(&self) -> bool {
        usize::from(self.height) == N
    }

    pub(crate) fn clear(&mut self) {
        self.height = 0;
    }
}

/// Copies the items that are written.
impl<T: Copy, const N: usize> Clone for Stack<T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.clear();
        other.iter().for_each(|item| self.push(*item));
    }
}

impl<T: Copy, const N: usize> Deref for Stack<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `height` items are written.
        unsafe { slice::from_raw_parts(self.items.as_ptr().cast(), self.height.into()) }
    }
}

impl<T: Copy, const N: usize> DerefMut for Stack<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `height` items are written.
        unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.height.into()) }
    }
}

#[cfg(feature = "zeroize")]
impl<T: zeroize::Zeroize, const N: usize> zeroize::Zeroize for Stack<T, N> {
    /// Also wipes items that were popped.
    fn zeroize(&mut self) {
        self.items.zeroize();
        self.height.zeroize();
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::spec::{ChainingValue, MAX_HEIGHT};

    type Nodes = Stack<ChainingValue, MAX_HEIGHT>;

    #[test]
    fn what_is_pushed_is_there() {
        let mut stack = Nodes::new();
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
        let mut stack = Nodes::new();
        for _ in 0..=MAX_HEIGHT {
            stack.push([0; 32]);
        }
    }

    #[cfg(feature = "zeroize")]
    #[test]
    fn zeroize_reaches_what_was_popped() {
        use zeroize::Zeroize;
        let mut stack = Nodes::new();
        stack.push([1; 32]);
        stack.push([2; 32]);
        stack.pop();
        stack.zeroize();
        assert!(stack.is_empty());
        for node in &stack.items[..2] {
            // SAFETY: these nodes were written.
            assert_eq!(unsafe { node.assume_init() }, [0; 32]);
        }
    }
}
