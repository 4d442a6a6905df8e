//! The memory that JavaScript and the functions share.

#![allow(unsafe_code, reason = "the only file with it")]

#[cfg(target_arch = "wasm32")]
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use treewide::{Hash, Hasher};

/// Bytes of input that one call takes. A guess: a leaf of the tree, which with the rest stays in a second-level cache.
pub const INPUT: usize = 128 << 10;

/// Bytes of output that one call gives.
pub const OUTPUT: usize = 32 << 10;

/// Inputs of one call of a batch. A guess: their digests take a quarter of the room of the input.
pub const MANY: usize = 1 << 10;

/// Hashers that are in the memory at the same time. A guess: programs have few in use at once.
pub const PLACES: usize = 8;

/// Memory that JavaScript reads and writes between two calls.
#[repr(C)]
pub struct Memory {
    /// The input of the next call.
    pub input: [u8; INPUT],
    /// Where the inputs of a batch begin and end in `input`: one more than there are inputs.
    pub offsets: [u32; MANY + 1],
    /// The digests of a batch.
    pub digests: [Hash; MANY],
    /// The output of the last call, other than of a batch.
    pub output: [u8; OUTPUT],
    /// The key, or the hashed context, of the next call.
    pub key: [u8; 32],
    hashers: [MaybeUninit<Hasher>; PLACES],
}

impl Memory {
    /// Zeros.
    pub const fn new() -> Self {
        Self {
            input: [0; INPUT],
            offsets: [0; MANY + 1],
            digests: [const { Hash::from_bytes([0; 32]) }; MANY],
            output: [0; OUTPUT],
            key: [0; 32],
            hashers: [const { MaybeUninit::uninit() }; PLACES],
        }
    }

    /// Puts a hasher into a place.
    pub fn put(&mut self, place: usize, hasher: Hasher) {
        self.hashers[place].write(hasher.without_buffer());
    }

    /// The hasher in a place, with the input, the output and the key.
    pub fn hasher(&mut self, place: usize) -> (&mut Hasher, &[u8; INPUT], &mut [u8; OUTPUT]) {
        let Self { hashers, input, output, .. } = self;
        // SAFETY: JavaScript names a place only after `put`, or after it wrote the bytes of a hasher to it that it had read
        // from a place of the same module. A hasher without a buffer has no pointers.
        (unsafe { hashers[place].assume_init_mut() }, input, output)
    }

    /// Where a part of the memory lies: input, offsets, digests, output, key, hashers; then the bytes of one hasher.
    pub fn address(&self, part: usize) -> usize {
        match part {
            0 => self.input.as_ptr().addr(),
            1 => self.offsets.as_ptr().addr(),
            2 => self.digests.as_ptr().addr(),
            3 => self.output.as_ptr().addr(),
            4 => self.key.as_ptr().addr(),
            5 => self.hashers.as_ptr().addr(),
            _ => size_of::<Hasher>(),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_arch = "wasm32")]
pub(crate) struct Shared(UnsafeCell<Memory>);

// SAFETY: a module has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl Sync for Shared {}

#[cfg(target_arch = "wasm32")]
pub(crate) static SHARED: Shared = Shared(UnsafeCell::new(Memory::new()));

#[cfg(target_arch = "wasm32")]
impl Shared {
    /// Calls `function` with the memory.
    #[inline(always)]
    pub(crate) fn with<T>(&self, function: impl FnOnce(&mut Memory) -> T) -> T {
        // SAFETY: there is one thread, and no function calls JavaScript or another export, so there is no other reference.
        function(unsafe { &mut *self.0.get() })
    }
}

/// Exports functions of a module under their names: arguments and results are `u32` and `f64`, the numbers of JavaScript.
macro_rules! exports {
    ($module:ident: $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[cfg(target_arch = "wasm32")]
            // SAFETY: nothing else has the name.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                crate::memory::SHARED.with(|memory| $module::$name(memory, $($argument),*))
            }
        )*
    };
}
pub(crate) use exports;
