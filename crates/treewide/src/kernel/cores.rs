//! Which of several kernels of one instruction set a CPU gets: by how long its vector operations take.
//!
//! On x86-64, in one cycle (Intel's): one lane, two and four as rows (`row.rs`, `rows256.rs`, `rows512.rs`), one chain of
//! operations, are as fast as the chain allows. From eight lanes on one transposed state has more
//! operations than the ports take, so that a second one beside it gains nothing, but work between the
//! steps costs (`run.rs`).
//!
//! In two, or in one only if they come when their operands are ready (Zen 5): one lane in general registers
//! (`scalar.rs`), a chain as long but of plain operations; with AVX-512 two to eight as rows at that pace
//! (`paced.rs`), which elsewhere would only be slow, and two transposed states that fill each other's waiting
//! (`rounds32.rs`).
//!
//! In one, but for rotations by AVX-512, in two (Zen 4): one lane and two as rows that do not wait for those
//! (`apart.rs`), 194 cycles a block for 227, and for 235 in general registers. Vectors of 512 bits are worked in
//! halves, so four lanes are two vectors of 256 bits, each of which fills the waiting of the other; and one
//! transposed state leaves pipes idle that a second one fills.
//!
//! On AArch64 all take two or more, and what counts is the ports. One state of four lanes fills two; where there are
//! four, two states fill each other's waiting (`rounds.rs`). Programs are not told which core they are on. But those
//! with instructions for SHA-3 (Apple's, Neoverse V1 and later) have four, or SVE2, or are as fast
//! with either. There `One` and `Two` of [`Latency`] are no cycles, but the states that a kernel has side by side.

#![cfg_attr(
    not(all(target_arch = "x86_64", target_feature = "sse2")),
    allow(dead_code, reason = "other architectures have not all of it")
)]

use super::cpu::Cpu;

/// The cycles of vector operations that a kernel is made for; on AArch64 its states side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latency {
    One,
    /// One, but that rotations take two.
    Rotations,
    Two,
}

/// Whether a kernel that is made for these is for this CPU; without any, it is the only one for its instruction set.
pub(super) fn suits(latencies: &[Latency], cpu: &Cpu) -> bool {
    latencies.is_empty() || latencies.contains(&entry(cpu).latency)
}

/// CPUs, what they get, and the record that chose it.
struct Entry {
    cpus: fn(&Cpu) -> bool,
    latency: Latency,
    record: &'static str,
}

/// The first that fits.
static TABLE: &[Entry] = &[
    Entry {
        // Zen 5.
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x1a,
        latency: Latency::Two,
        record: "results/zen5-2vcpu/latency.json",
    },
    Entry {
        // Zen 3, which has no AVX-512, and 4; measured on Zen 4.
        cpus: |cpu| cpu.vendor == *b"AuthenticAMD" && cpu.family == 0x19,
        latency: Latency::Rotations,
        record: "results/zen4-2vcpu/latency.json",
    },
    Entry {
        // All of Intel's since Pentium Pro; measured on Granite Rapids and, as it was then, on Sapphire Rapids.
        cpus: |cpu| cpu.vendor == *b"GenuineIntel" && cpu.family == 6,
        latency: Latency::One,
        record: "results/gnr-2vcpu/latency.json",
    },
    Entry { cpus: |cpu| cpu.sha3, latency: Latency::Two, record: "results/models/aarch64.txt" },
    Entry {
        cpus: |_| cfg!(target_arch = "aarch64"),
        latency: Latency::One,
        record: "results/models/aarch64.txt",
    },
    Entry { cpus: |_| true, latency: Latency::One, record: "results/models/one-lane.txt" },
];

fn entry(cpu: &Cpu) -> &'static Entry {
    TABLE.iter().find(|entry| (entry.cpus)(cpu)).expect("the last fits all")
}

/// The record by which [`suits`] decides for this CPU.
pub(super) fn record(cpu: &Cpu) -> &'static str {
    entry(cpu).record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(vendor: &[u8; 12], family: u32) -> (Latency, &'static str) {
        let entry = entry(&Cpu { vendor: *vendor, family, ..Cpu::default() });
        (entry.latency, entry.record)
    }

    #[test]
    fn by_vendor_and_family() {
        let models = match cfg!(target_arch = "aarch64") {
            true => "results/models/aarch64.txt",
            false => "results/models/one-lane.txt",
        };
        assert_eq!(
            chosen(b"AuthenticAMD", 0x1a),
            (Latency::Two, "results/zen5-2vcpu/latency.json")
        );
        assert_eq!(
            chosen(b"AuthenticAMD", 0x19),
            (Latency::Rotations, "results/zen4-2vcpu/latency.json")
        );
        assert_eq!(chosen(b"AuthenticAMD", 0x17), (Latency::One, models));
        assert_eq!(chosen(b"GenuineIntel", 0x1a), (Latency::One, models));
        assert_eq!(chosen(b"GenuineIntel", 6), (Latency::One, "results/gnr-2vcpu/latency.json"));
        let four_ports = entry(&Cpu { sha3: true, ..Cpu::default() });
        assert_eq!(four_ports.latency, Latency::Two);
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
        for entry in TABLE {
            assert!(repository.join(entry.record).is_file(), "{}", entry.record);
        }
    }
}
