//! Four or eight lanes in NEON registers. One instruction of SVE2 (`XAR`) does an exclusive or and a rotation.
//!
//! The registers of SVE begin with those of NEON; vectors stay as long as those, whatever SVE has.

use super::neon::N4;
use crate::kernel::pair::Pair;
use crate::kernel::portable::compress;

crate::kernel::table::kernels!(
    |cpu| cpu.sve2,
    {
        /// Costs are cycles of Neoverse V1, V2 and N1 by models: `results/models/aarch64.txt`.
        KERNEL: "sve2", Other, compress, 1 @ 170, N4<true>: 4 @ 260, Pair<N4<true>>: 8 @ 430;
    }
);
