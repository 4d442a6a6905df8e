//! The memory, and the functions that `bindings/js/src/unpack.ts` calls.

#![allow(unsafe_code, reason = "the only file with it")]

use core::cell::UnsafeCell;

use crate::decoder::Decoder;

struct Shared(UnsafeCell<Decoder>);

// SAFETY: a module has one thread.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared(UnsafeCell::new(Decoder::new()));

/// Where the input goes.
// SAFETY: nothing else has the name.
#[unsafe(no_mangle)]
extern "C" fn input() -> *const u8 {
    // SAFETY: as below.
    unsafe { &*SHARED.0.get() }.input.as_ptr()
}

/// Decompresses the input, and returns where its `size` bytes are.
// SAFETY: nothing else has the name.
#[unsafe(no_mangle)]
extern "C" fn decompress(size: usize) -> *const u8 {
    // SAFETY: there is one thread, and no function calls JavaScript or another export, so nobody else has a reference.
    unsafe { &mut *SHARED.0.get() }.decompress(size).as_ptr()
}
