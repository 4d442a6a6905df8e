//! Which cores have kernels of their own, and which CPU has which core.
//!
//! Several kernels of one instruction set differ in how long vector operations take on the core.
//!
//! - Intel's cores take one cycle. One lane, and two and four as rows, are one chain of operations and as fast as that chain
//!   allows. From eight lanes on, one state as columns has more operations than the ports take; a second one next to it
//!   gains nothing, and what is left to gain lies between the blocks.
//! - Zen 5 takes two cycles, or one if an operation comes when its operands are ready. One lane is fastest in general
//!   registers, a chain that is as long but of plain operations; 32 lanes are two states that fill each other's waiting. Rows at
//!   a pace, each operation when its operands are ready, were fastest on an idle core, and lost on a busy one.
//! - Zen 4 takes one cycle, and two for rotations of AVX-512. One lane and two are rows that take rotations off the critical
//!   path: 194 cycles a block, where plain rows take 227 and general registers 235. Vectors of 512 bits are worked in halves,
//!   so four lanes are a pair of vectors of 256 bits; and one state of 16 lanes leaves pipes idle that a second one fills.
//! - Zen 1 takes one cycle, and works vectors of 256 bits in halves: four lanes are columns of 128 bits, as with SSE4.1.
//! - On AArch64 all cores take two cycles or more, and the number of vector ports decides. One state of four lanes fills two
//!   ports; where there are four, two states fill each other's waiting. Programs cannot ask which core they are on, but
//!   cores with instructions for SHA-3 (Apple's, Neoverse V1 and later) have four ports, or SVE2, or are as fast with either.

use super::cpu::Cpu;

/// A core that has kernels of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has its own")]
pub(super) enum CoreClass {
    Zen5,
    Zen4,
    Zen1,
    /// AArch64 with four vector ports.
    FourPorts,
    /// All others. A kernel for these comes last of its instruction set, and is for every core that has no other one.
    Other,
}

/// CPUs, their core, and the record that chose it.
struct Row {
    cpus: fn(&Cpu) -> bool,
    class: CoreClass,
    record: &'static str,
}

/// The first that fits.
static TABLE: &[Row] = &[
    Row {
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x1a,
        class: CoreClass::Zen5,
        record: "results/zen5-2vcpu/latency.json",
    },
    // Zen 3, which has no AVX-512.
    Row {
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x19 && !cpu.avx512,
        class: CoreClass::Other,
        record: "results/zen3-2vcpu/lengths.json",
    },
    Row {
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x19,
        class: CoreClass::Zen4,
        record: "results/zen4-2vcpu/latency.json",
    },
    // The models of Zen 2 begin with 0x30.
    Row {
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x17 && cpu.model < 0x30,
        class: CoreClass::Zen1,
        record: "results/zen1-2vcpu/latency.json",
    },
    Row {
        // All of Intel's since Pentium Pro; measured on Granite Rapids and, as it was then, on Sapphire Rapids.
        cpus: |cpu| cpu.vendor == *b"GenuineIntel" && cpu.family == 6,
        class: CoreClass::Other,
        record: "results/gnr-2vcpu/latency.json",
    },
    Row { cpus: |cpu| cpu.sha3, class: CoreClass::FourPorts, record: "results/models/aarch64.txt" },
    Row {
        cpus: |_| cfg!(target_arch = "aarch64"),
        class: CoreClass::Other,
        record: "results/models/aarch64.txt",
    },
    Row { cpus: |_| true, class: CoreClass::Other, record: "results/models/one-lane.txt" },
];

fn row(cpu: &Cpu) -> &'static Row {
    TABLE.iter().find(|row| (row.cpus)(cpu)).expect("the last fits all")
}

/// The core of this CPU.
pub(super) fn class(cpu: &Cpu) -> CoreClass {
    row(cpu).class
}

/// The record by which this CPU has that core.
pub(super) fn record(cpu: &Cpu) -> &'static str {
    row(cpu).record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(vendor: &[u8; 12], family: u32) -> (CoreClass, &'static str) {
        let cpu = Cpu { vendor: *vendor, family, ..Cpu::default() };
        let cpu = Cpu { avx512: true, ..cpu };
        (class(&cpu), record(&cpu))
    }

    #[test]
    fn class_by_vendor_and_family() {
        let models = match cfg!(target_arch = "aarch64") {
            true => "results/models/aarch64.txt",
            false => "results/models/one-lane.txt",
        };
        let (zen5, zen4) = ("results/zen5-2vcpu/latency.json", "results/zen4-2vcpu/latency.json");
        assert_eq!(chosen(b"AuthenticAMD", 0x1a), (CoreClass::Zen5, zen5));
        assert_eq!(chosen(b"AuthenticAMD", 0x19), (CoreClass::Zen4, zen4));
        let zen2 = Cpu { vendor: *b"AuthenticAMD", family: 0x17, model: 0x30, ..Cpu::default() };
        assert_eq!((class(&zen2), record(&zen2)), (CoreClass::Other, models));
        assert_eq!(class(&Cpu { model: 0x18, ..zen2 }), CoreClass::Zen1);
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        {
            let zen3 = Cpu { vendor: *b"AuthenticAMD", family: 0x19, ..Cpu::default() };
            assert_eq!(class(&zen3), CoreClass::Other);
            assert_eq!(record(&zen3), "results/zen3-2vcpu/lengths.json");
        }
        assert_eq!(chosen(b"GenuineIntel", 0x1a), (CoreClass::Other, models));
        let intel = "results/gnr-2vcpu/latency.json";
        assert_eq!(chosen(b"GenuineIntel", 6), (CoreClass::Other, intel));
        assert_eq!(class(&Cpu { sha3: true, ..Cpu::default() }), CoreClass::FourPorts);
    }

    #[test]
    #[cfg(feature = "std")]
    #[cfg_attr(miri, ignore = "Miri is kept from files")]
    fn records_exist() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        if !repository.join("results").is_dir() {
            println!("SKIPPED: records: they are in the repository, not in the package");
            return;
        }
        for row in TABLE {
            assert!(repository.join(row.record).is_file(), "{}", row.record);
        }
    }
}
