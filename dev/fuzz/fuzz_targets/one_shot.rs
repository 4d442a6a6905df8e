//! The functions for a whole input, at any alignment, against the `blake3` crate.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewide_fuzz::{Input, Mode};

fuzz_target!(|case: (Mode, Input, u8)| {
    let (mode, input, align) = case;
    let mut bytes = input.bytes();
    let expected = mode.expected(&bytes);
    assert_eq!(mode.one_shot(&bytes), expected);
    // Where the allocator would not put it.
    let align = usize::from(align % 64);
    bytes.splice(0..0, vec![0; align]);
    assert_eq!(mode.one_shot(&bytes[align..]), expected);
});
