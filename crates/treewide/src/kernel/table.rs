//! What makes a [`Kernel`](crate::kernel::contract::Kernel) of the passes of an instruction set: its entries, all
//! alike, compiled for that instruction set.

/// Defines the entries of an instruction set and its kernels, what the CPU must have, and for each kernel its name,
/// the cycles of operations that it is made for, if there are others (see `cores.rs`), what compresses one lane,
/// and its passes by width in increasing order, each with its lanes and `@` what a step costs, `then` one where one node of
/// two goes on alone (see `contract::Width`).
/// Extended output of one block is made on one lane by general registers, or `as` the pass that is named. A pass may be
/// compiled `by` another module, for the instructions of that.
macro_rules! kernels {
    ($supported:expr,
     { $($kernel:ident: $name:literal, $class:ident, $compress:path,
         1 @ $one:literal $(as $single:ty)? $(, $vector:ty: $lanes:literal @ $cost:literal $(then $rest:literal)? $(by $by:ident)?)+;)+ }
     $(, enable = $features:literal)?) => {
        $(
            pub(in crate::kernel) static $kernel: crate::kernel::contract::Kernel = {
                use crate::kernel::{contract::{Plan, Root, Unequal, Width}, inputs, passes};
                use crate::spec::{BLOCK_LEN, ChainingValue, Words};

                const WIDTHS: &[Width] =
                    &[Width { lanes: 1, step: $one, rest: $one }, $(Width {
                        lanes: $lanes,
                        step: $cost,
                        rest: { let costs: &[usize] = &[$cost $(, $rest)?]; costs[costs.len() - 1] },
                    },)+];
                static PLAN: Plan = passes::plan(WIDTHS);
                const _: () = assert!(WIDTHS.len() <= crate::kernel::contract::MOST_WIDTHS);
                const DEGREE: usize = WIDTHS[WIDTHS.len() - 1].lanes;

                /// Hashes every node of `source`.
                ///
                /// # Safety
                /// As for the entries of `Kernel`.
                #[inline(always)]
                unsafe fn hash_all(source: impl inputs::Source, key: &Words, out: *mut ChainingValue) {
                    let pass = |at, count, out| {
                        $(if count <= $lanes {
                            // SAFETY: the caller upholds the contract.
                            return unsafe { $($by::)?gather::<$vector, $lanes>(&source, at, count, key, out) };
                        })+
                        unreachable!("no pass holds so many nodes");
                    };
                    // SAFETY: the caller upholds the contract.
                    unsafe { passes::nodes(&source, key, out, $compress, WIDTHS, &PLAN, pass) }
                }

                unsafe fn chunks(
                    input: *const u8, len: usize, key: &Words, counter: u64, flags: u8, end: u8,
                    out: *mut ChainingValue,
                ) {
                    // SAFETY: the caller upholds the contract.
                    unsafe { hash_all(inputs::Chunks { input, len, counter, flags, end }, key, out) }
                }

                unsafe fn parents(
                    children: *const ChainingValue, count: usize, key: &Words, flags: u8,
                    out: *mut ChainingValue,
                ) {
                    // SAFETY: the caller upholds the contract.
                    unsafe { hash_all(inputs::Parents { children, count, flags }, key, out) }
                }

                unsafe fn lanes(lanes: Unequal<'_>, key: &Words, out: *mut ChainingValue) {
                    // SAFETY: the caller upholds the contract.
                    unsafe { hash_all(lanes, key, out) }
                }

                unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
                    let pass = |counter, out, count| {
                        // SAFETY: the caller upholds the contract.
                        unsafe {
                            $(if count == 1 {
                                return xof_pass::<$single, 1>(root, counter, out, count);
                            })?
                            if count == 1 {
                                return crate::kernel::portable::xof_block(root, counter, out);
                            }
                        }
                        $(if count <= $lanes {
                            // SAFETY: the caller upholds the contract.
                            return unsafe { $($by::)?xof_pass::<$vector, $lanes>(root, counter, out, count) };
                        })+
                    };
                    let mut done = 0;
                    while done < count {
                        let take = (count - done).min(DEGREE);
                        let counter = counter.wrapping_add(done as u64);
                        // SAFETY: within `out`.
                        pass(counter, unsafe { out.add(done) }, take);
                        done += take;
                    }
                }

                crate::kernel::contract::Kernel {
                    name: $name, degree: DEGREE, widths: WIDTHS, plan: &PLAN, supported: $supported,
                    class: crate::kernel::cores::CoreClass::$class,
                    compress: $compress, chunks, parents, lanes, xof,
                }
            };
        )+

        /// One pass, once in the program for each width, and compiled for this instruction set;
        /// everything else is as fast without.
        ///
        /// # Safety
        /// As for `Pass`.
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        unsafe fn pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            nodes: &mut crate::kernel::inputs::PassInputs<N>, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue, count: usize,
        ) {
            // SAFETY: the caller upholds the contract.
            unsafe { V::hash(nodes, key, out, count) }
        }

        /// The same for blocks that lie one behind another.
        ///
        /// # Safety
        /// As for `Pass::hash_contiguous`.
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        unsafe fn contiguous_pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            blocks: &crate::kernel::inputs::Contiguous, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue, count: usize,
        ) {
            // SAFETY: the caller upholds the contract.
            unsafe { V::hash_contiguous(blocks, key, out, count) }
        }

        /// Gathers the nodes of a pass, compiled for this instruction set too, and runs it.
        ///
        /// # Safety
        /// Nodes `at .. at + count` of the source exist and their inputs are readable, `1 <= count <= N`, `out` has
        /// room for `count`, and the CPU has the instructions.
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn gather<V: crate::kernel::columns::Pass<N>, const N: usize>(
            source: &impl crate::kernel::inputs::Source, at: usize, count: usize, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue,
        ) {
            // SAFETY: the caller upholds the contract.
            unsafe {
                match source.contiguous(at) {
                    Some(blocks) => contiguous_pass::<V, N>(&blocks, key, out, count),
                    None => {
                        let mut nodes = crate::kernel::inputs::PassInputs::regular(source, at, count);
                        source.complete(&mut nodes, at, count);
                        pass::<V, N>(&mut nodes, key, out, count);
                    }
                }
            }
        }

        /// One pass of extended output.
        ///
        /// # Safety
        /// As for `xof`.
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn xof_pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            root: crate::kernel::contract::Root<'_>, counter: u64,
            out: *mut [u8; crate::spec::BLOCK_LEN], count: usize,
        ) {
            // SAFETY: the caller upholds the contract.
            unsafe { V::xof(root, counter, out, count) }
        }
    };
}
pub(super) use kernels;
