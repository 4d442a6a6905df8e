//! Calls for tests of the state that a call may not change: `abi_x86_64.rs` and `abi_aarch64.rs`.

use core::ffi::c_void;

use super::random::Random;
use super::{Lane, Lanes, any_key, chunk, supported, tally};
use crate::kernel::contract::{Flags, Root, Unequal};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, flags};

/// A call of an entry, with its arguments.
pub(super) type Closure<'a> = &'a mut dyn FnMut();

/// Calls a [`Closure`], which is what the argument points to.
pub(super) unsafe extern "C" fn call(closure: *mut c_void) {
    // SAFETY: the caller passes a pointer to one.
    unsafe { (*closure.cast::<Closure<'_>>())() }
}

/// Gives `check` the name and a call of every entry of every kernel, with enough nodes for every width of
/// pass, alone and next to others, with long and short last ones.
pub(super) fn every_entry(check: impl Fn(&str, Closure<'_>)) {
    let mut random = Random::new(31);
    let bytes = random.bytes(70 * CHUNK_LEN);
    let key = any_key(&mut random);
    for kernel in supported() {
        let mut tally = tally(kernel, "every_entry_keeps_what_is_the_callers");
        let degree = kernel.degree();
        let mut out = vec![[0; 32]; 2 * degree + 2];
        let mut blocks = vec![[0; BLOCK_LEN]; 2 * degree + 2];
        for count in (1..=degree).chain([degree + 1, degree + degree / 2 + 1, 2 * degree + 1]) {
            for last in [1, 640, CHUNK_LEN] {
                let input = &bytes[1..][..(count - 1) * CHUNK_LEN + last];
                check("chunks", &mut || {
                    // SAFETY: the contract of `Kernel::chunks`.
                    unsafe {
                        (kernel.chunks)(
                            input.as_ptr(),
                            input.len(),
                            &key,
                            1,
                            0,
                            flags::CHUNK_END,
                            out.as_mut_ptr(),
                        );
                    }
                });
                tally.case();
            }
            let nodes: Vec<Lane<'_>> =
                (0..count).map(|_| chunk(&bytes[..random.length(CHUNK_LEN)], 3, 0)).collect();
            let lanes = Lanes::new(&nodes);
            // SAFETY: the contract of `Kernel::lanes`.
            check("lanes", &mut || unsafe {
                let (inputs, marks) = (&lanes.inputs[..], lanes.marks());
                let lanes = Unequal { inputs, count, marks };
                (kernel.lanes)(lanes, &key, out.as_mut_ptr())
            });
            check("parents", &mut || {
                let children = bytes.as_ptr().cast::<ChainingValue>();
                // SAFETY: the contract of `Kernel::parents`; there are 70 * 16 pairs.
                unsafe { (kernel.parents)(children, count, &key, 0, out.as_mut_ptr()) }
            });
            check("xof", &mut || {
                let block = bytes.first_chunk().unwrap();
                let root = Root { cv: &key, block, block_len: 64, flags: 0, long: true };
                // SAFETY: the contract of `Kernel::xof`.
                unsafe { (kernel.xof)(root, 5, blocks.as_mut_ptr(), count) }
            });
            tally.case();
        }
        for len in [0, 1, 63, 64, 65, 128, 1000, 1024] {
            let mut cv = key;
            let flags = Flags { each: 0, first: 1, last: 2, padded: false };
            // SAFETY: the contract of `Kernel::compress`.
            check("compress", &mut || unsafe {
                (kernel.compress)(&mut cv, bytes.as_ptr(), len, 7, flags);
            });
            tally.case();
        }
    }
}
