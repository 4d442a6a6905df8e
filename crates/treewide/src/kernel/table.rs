//! The macro that makes [`Kernel`](crate::kernel::contract::Kernel)s of the passes of an instruction set: its entries, all
//! alike, compiled for that instruction set.

/// Defines the kernels of an instruction set: what the CPU must have, and a row for each kernel.
///
/// A row has the name, the class of cores that it is for (see `cores.rs`), the one-lane compression, and the passes, if any, by
/// increasing width, each with its lanes and, after `@`, what a step costs (see `contract::Width`). `then` is the cost where
/// one node of two continues alone. One block of extended output is made in general registers, or `as` by the pass that is
/// named. A pass may be compiled `by` another module, for the instructions of that. The doc comment of a row names the unit
/// of its costs and their record.
macro_rules! kernels {
    ($supported:expr,
     { $($(#[$costs:meta])+ $kernel:ident: $name:literal, $class:ident, $compress:path,
         1 @ $one:literal $(as $single:ty)? $(, $vector:ty: $lanes:literal @ $cost:literal $(then $rest:literal)? $(by $by:ident)?)*;)+ }
     $(, enable = $features:literal)?) => {
        $(
            $(#[$costs])+
            pub(in crate::kernel) static $kernel: crate::kernel::contract::Kernel = {
                use crate::kernel::{contract::{Plan, Root, Unequal, Width}, inputs, passes};
                use crate::spec::{BLOCK_LEN, ChainingValue, Words};

                const WIDTHS: &[Width] =
                    &[Width { lanes: 1, step: $one, rest: $one }, $(Width {
                        lanes: $lanes,
                        step: $cost,
                        rest: { let costs: &[usize] = &[$cost $(, $rest)?]; costs[costs.len() - 1] },
                    },)*];
                static PLAN: Plan = passes::plan(WIDTHS);
                const _: () = assert!(WIDTHS.len() <= crate::kernel::contract::MOST_WIDTHS);
                const DEGREE: usize = WIDTHS[WIDTHS.len() - 1].lanes;

                /// Hashes every node of `source`.
                #[inline(always)]
                unsafe fn hash_all(source: impl inputs::Nodes, key: &Words, out: *mut ChainingValue) {
                    #[allow(unused_variables, reason = "of a kernel without passes, `portable`")]
                    let pass = |at, count, out| {
                        $(if count <= $lanes {
                            return $($by::)?gather::<$vector, $lanes>(&source, at, count, key, out);
                        })*
                        unreachable!("no pass holds that many nodes");
                    };
                    passes::nodes(&source, key, out, $compress, WIDTHS, &PLAN, pass)
                }

                unsafe fn chunks(
                    input: *const u8, len: usize, key: &Words, counter: u64, flags: u8, end: u8,
                    out: *mut ChainingValue,
                ) {
                    hash_all(inputs::Chunks { input, len, counter, flags, end }, key, out)
                }

                unsafe fn parents(
                    children: *const ChainingValue, count: usize, key: &Words, flags: u8,
                    out: *mut ChainingValue,
                ) {
                    #[allow(unused_variables, reason = "of a kernel without passes")]
                    let pass = |blocks: &inputs::Contiguous, count, out| {
                        $(if count <= $lanes {
                            return $($by::)?contiguous_pass::<$vector, $lanes>(blocks, key, out, count);
                        })*
                    };
                    let blocks = inputs::Contiguous::pairs(children, count, flags);
                    passes::parents(blocks, count, key, out, $compress, WIDTHS, &PLAN, pass)
                }

                unsafe fn lanes(lanes: Unequal<'_>, key: &Words, out: *mut ChainingValue) {
                    hash_all(lanes, key, out)
                }

                unsafe fn xof(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN], count: usize) {
                    let pass = |counter, out, count| {
                        $(if count == 1 {
                            return xof_pass::<$single, 1>(root, counter, out, count);
                        })?
                        if count == 1 {
                            return crate::kernel::word::xof_block(root, counter, out);
                        }
                        $(if count <= $lanes {
                            return $($by::)?xof_pass::<$vector, $lanes>(root, counter, out, count);
                        })*
                    };
                    let mut done = 0;
                    while done < count {
                        let take = (count - done).min(DEGREE);
                        let counter = counter.wrapping_add(done as u64);
                        pass(counter, out.add(done), take);
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
        #[allow(dead_code, reason = "of a kernel without passes")]
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        unsafe fn pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            nodes: &mut crate::kernel::inputs::PassInputs<N>, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue, count: usize,
        ) {
            V::hash(nodes, key, out, count)
        }

        /// The same for blocks that lie one behind another.
        #[allow(dead_code, reason = "of a kernel without passes")]
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn contiguous_pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            blocks: &crate::kernel::inputs::Contiguous, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue, count: usize,
        ) {
            V::hash_contiguous(blocks, key, out, count)
        }

        /// Gathers the nodes of a pass, compiled for this instruction set too, and runs it.
        ///
        /// # Safety
        /// Nodes `at .. at + count` of the source exist and their inputs are readable, `1 <= count <= N`, `out` has
        /// room for `count`, and the CPU has the instructions.
        #[allow(dead_code, reason = "of a kernel without passes")]
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn gather<V: crate::kernel::columns::Pass<N>, const N: usize>(
            source: &impl crate::kernel::inputs::Nodes, at: usize, count: usize, key: &crate::spec::Words,
            out: *mut crate::spec::ChainingValue,
        ) {
            let mut nodes = crate::kernel::inputs::PassInputs::regular(source, at, count);
            source.complete(&mut nodes, at, count);
            pass::<V, N>(&mut nodes, key, out, count);
        }

        /// One pass of extended output. A module of WebAssembly has each once, because programs wait for its download.
        #[allow(dead_code, reason = "of a kernel without passes")]
        #[cfg_attr(target_arch = "wasm32", inline(never))]
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn xof_pass<V: crate::kernel::columns::Pass<N>, const N: usize>(
            root: crate::kernel::contract::Root<'_>, counter: u64,
            out: *mut [u8; crate::spec::BLOCK_LEN], count: usize,
        ) {
            V::xof(root, counter, out, count)
        }
    };
}
pub(super) use kernels;
