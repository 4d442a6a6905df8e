//! Which of two kernels that differ only in how they hash few lanes a CPU gets.
//!
//! One lane: rows (`row.rs`) are a chain of vector operations, general registers (`scalar.rs`) one as long of
//! plain ones, but of three times as many instructions. Rows are faster where vector operations take
//! one cycle, and slower where they take two, as on Zen 5. By LLVM's model that may also be said of the
//! rotations of AVX-512 on Zen 4: 225 cycles a block, against 217 in general registers. Nobody has
//! measured there, so it is not in the table.
//!
//! Two to eight lanes, with AVX-512: rows, or rows at the pace of Zen 5 (`paced.rs`), where they take
//! four fifths of the time. Elsewhere that pace would only be slow.

#![cfg_attr(
    not(all(target_arch = "x86_64", target_feature = "sse2")),
    allow(dead_code, reason = "other instruction sets have one way")
)]

use core::ops::RangeInclusive;

use super::cpu::Cpu;

/// How a kernel hashes few lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FewLanes {
    /// In the only way that its instruction set has here.
    Plain,
    /// One in general registers, by assembly; two to eight, with AVX-512, at the pace of Zen 5.
    General,
    /// As rows.
    Rows,
}

impl FewLanes {
    /// Whether kernels that do it in this way are for this CPU.
    pub(super) fn suits(self, cpu: &Cpu) -> bool {
        self == Self::Plain || self == entry(cpu).few_lanes
    }
}

/// CPUs, by the vendor and the family that CPUID tells, what they get, and the record that chose it.
struct Entry {
    vendor: &'static [u8; 12],
    families: RangeInclusive<u32>,
    few_lanes: FewLanes,
    record: &'static str,
}

static TABLE: &[Entry] = &[Entry {
    // Zen 5.
    vendor: b"AuthenticAMD",
    families: 0x1a..=0x1a,
    few_lanes: FewLanes::General,
    record: "results/zen5-2vcpu/few-lanes.json",
}];

/// All others.
static REST: Entry = Entry {
    vendor: &[0; 12],
    families: 0..=u32::MAX,
    few_lanes: FewLanes::Rows,
    record: "results/models/one-lane.txt",
};

fn entry(cpu: &Cpu) -> &'static Entry {
    let fits = |entry: &&Entry| *entry.vendor == cpu.vendor && entry.families.contains(&cpu.family);
    TABLE.iter().find(fits).unwrap_or(&REST)
}

/// The record by which [`FewLanes::suits`] decides for this CPU.
pub(super) fn record(cpu: &Cpu) -> &'static str {
    entry(cpu).record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few_lanes(vendor: &[u8; 12], family: u32) -> FewLanes {
        entry(&Cpu { vendor: *vendor, family, ..Cpu::default() }).few_lanes
    }

    #[test]
    fn by_vendor_and_family() {
        assert_eq!(few_lanes(b"AuthenticAMD", 0x1a), FewLanes::General);
        assert_eq!(few_lanes(b"AuthenticAMD", 0x19), FewLanes::Rows);
        assert_eq!(few_lanes(b"GenuineIntel", 0x1a), FewLanes::Rows);
        assert_eq!(few_lanes(b"GenuineIntel", 6), FewLanes::Rows);
    }
}
