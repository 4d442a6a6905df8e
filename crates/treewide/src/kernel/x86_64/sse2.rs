//! Four lanes in SSE registers with SSE2 only, which every x86-64 CPU has: there are no shuffles of bytes, so words
//! rotate by shifts. One lane is the compiler's code, not `scalar.rs`, which would do as well: on Granite Rapids 64 bytes
//! take 61.5 ns by it and 62.7 by that, longer ones the same (`results/gnr-2vcpu/peers.txt`).

use super::cores::Sse2;
use super::rows::pass::Rows;
use super::rows::x1::One;
use super::sse41::X4;
use crate::kernel::pair::Pair;
use crate::kernel::portable::compress;

crate::kernel::table::kernels!(
    |_| true,
    {
        /// Costs are nanoseconds of Granite Rapids: `results/gnr-2vcpu/peers.txt`.
        KERNEL: "sse2", Other, compress, 1 @ 58, Rows<Pair<One<Sse2>>>: 2 @ 85, X4<Sse2>: 4 @ 121;
    }
);
