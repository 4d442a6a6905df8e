//! Four lanes in SSE registers with SSE2 only, which every x86-64 CPU has: there are no shuffles of bytes, so words
//! rotate by shifts. One lane is the compiler's code, not `scalar.rs`, which would do as well: on Granite Rapids 64 bytes
//! take 61.5 ns by it and 62.7 by that, longer ones the same (`results/gnr-2vcpu/peers.txt`).

use super::few_lanes::Rows;
use super::row::{One, SSE2};
use super::sse41::X4;
use crate::kernel::portable::compress;
use crate::kernel::rows::Pair;

crate::kernel::entries::entry_points!(
    |_| true,
    { KERNEL: "sse2", [] compress, 1 @ 58, Rows<Pair<One<SSE2>, 1, true>>: 2 @ 85, X4<false>: 4 @ 121; }
);
