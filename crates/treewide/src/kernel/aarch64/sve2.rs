//! Four or eight lanes in NEON registers, of which SVE2 rotates what was combined in one instruction (`XAR`).
//!
//! The registers of SVE begin with those of NEON; vectors stay as long as those, whatever SVE has.

use super::neon::N4;
use crate::kernel::portable::compress;
use crate::kernel::twice::Twice;

crate::kernel::entries::entry_points!(
    |cpu| cpu.sve2,
    { KERNEL: "sve2", [] compress, 1 @ 170, N4<true>: 4 @ 260, Twice<N4<true>>: 8 @ 430; }
);
