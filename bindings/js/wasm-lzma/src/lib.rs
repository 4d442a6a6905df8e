//! The WebAssembly module that decompresses the module of the npm package `treewide`, which is compressed by LZMA.
//!
//! Browsers and Node have nothing for LZMA, whose output is a fifth smaller than that of deflate. JavaScript that decodes it bit
//! by bit takes ten times as long as this, because an engine compiles JavaScript only after it has interpreted it for a while
//! (`results/zen4-2vcpu/wasm.md#start`).
//!
//! JavaScript writes a `.lzma` file to the input, calls `decompress` with the size of its content, and reads the output.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![deny(unsafe_code)]

mod decoder;
#[cfg(target_arch = "wasm32")]
mod exports;

pub use decoder::{Decoder, INPUT, OUTPUT};

/// A file that is damaged: a trap, `RuntimeError: unreachable` in JavaScript.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
