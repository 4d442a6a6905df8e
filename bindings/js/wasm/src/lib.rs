//! The WebAssembly module of the npm package `treewide` (`bindings/js/`): functions by hand, in a memory that never grows.
//!
//! JavaScript writes to the input window, calls a function, and reads the output. There is no allocator and nothing is
//! imported, so a call cannot fail for lack of memory, and views of the memory stay valid.
//!
//! ```text
//! memory   stack | input 128 KiB | offsets | digests 32 KiB | output 32 KiB | key 32 B | hashers, 8 places
//! ```
//!
//! A hasher of JavaScript that finds no place takes the one of the hasher that was used least recently, whose bytes JavaScript
//! keeps (`bindings/js/src/engine.ts`). So there can be any number of them, and none has to be freed.
//!
//! `memory` holds the memory and is the only file with `unsafe`; `exports` names the functions; `hashing` does what they say.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![deny(unsafe_code)]

mod exports;
pub mod hashing;
mod memory;

pub use memory::{INPUT, MANY, Memory, OUTPUT, PLACES};

/// A panic is a mistake of `bindings/js/src`, which checks every argument: it becomes a trap, `RuntimeError: unreachable` there.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
