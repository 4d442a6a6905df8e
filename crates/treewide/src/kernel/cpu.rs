//! Instruction sets that this CPU and its operating system can run.

/// The answers of CPUID, or of the operating system, that kernels ask for. A feature counts only where the operating system
/// saves the registers that it uses (XCR0).
#[derive(Clone, Copy, Debug, Default)]
#[allow(dead_code, reason = "each kernel asks for its own")]
pub(super) struct Cpu {
    /// Who made it, in the twelve letters of leaf 0, and the family and the model as manuals number them.
    pub(super) vendor: [u8; 12],
    pub(super) family: u32,
    pub(super) model: u32,
    pub(super) sse41: bool,
    pub(super) avx2: bool,
    pub(super) avx512: bool,
    pub(super) sha3: bool,
    pub(super) sve2: bool,
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
impl Cpu {
    /// A program cannot ask who made the CPU. Without an operating system to ask, the build says what the CPU has.
    pub(super) fn detect() -> Self {
        #[cfg(feature = "std")]
        use std::arch::is_aarch64_feature_detected as has;
        #[cfg(not(feature = "std"))]
        macro_rules! has {
            ($feature:literal) => {
                cfg!(target_feature = $feature)
            };
        }
        Self { sha3: has!("sha3"), sve2: has!("sve2"), ..Self::default() }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Cpu {
    pub(super) fn detect() -> Self {
        Self::default()
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Cpu {
    #[allow(unused_unsafe, reason = "CPUID is safe from Rust 1.94 on")]
    pub(super) fn detect() -> Self {
        use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

        #[target_feature(enable = "xsave")]
        fn xcr0() -> u64 {
            // SAFETY: register 0 exists wherever XSAVE does.
            unsafe { _xgetbv(0) }
        }
        let bit = |word: u32, n: u32| word >> n & 1 == 1;

        // SAFETY: every x86-64 CPU has CPUID with leaves 0 and 1.
        let (zero, one) = unsafe { (__cpuid(0), __cpuid(1)) };
        // SAFETY: OSXSAVE says that XGETBV may be used.
        let saved = if bit(one.ecx, 27) { unsafe { xcr0() } } else { 0 };
        let seven = if zero.eax >= 7 {
            // SAFETY: the leaf exists.
            unsafe { __cpuid_count(7, 0) }
        } else {
            core::arch::x86_64::CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
        };
        // Bits of XCR0: 1 XMM, 2 YMM, 5 opmask, 6 and 7 ZMM.
        let ymm = saved & 0b110 == 0b110;
        let zmm = saved & 0b1110_0110 == 0b1110_0110;
        let avx2 = ymm && bit(one.ecx, 28) && bit(seven.ebx, 5);
        let mut vendor = [0; 12];
        for (to, word) in vendor.as_chunks_mut().0.iter_mut().zip([zero.ebx, zero.edx, zero.ecx]) {
            *to = word.to_le_bytes();
        }
        let family = match one.eax >> 8 & 0xf {
            0xf => 0xf + (one.eax >> 20 & 0xff),
            family => family,
        };
        Self {
            vendor,
            family,
            model: one.eax >> 4 & 0xf | one.eax >> 12 & 0xf0,
            // SSSE3 and SSE4.1.
            sse41: bit(one.ecx, 9) && bit(one.ecx, 19),
            avx2,
            // BMI2, AVX-512 F, BW and VL.
            avx512: avx2 && zmm && [8, 16, 30, 31].iter().all(|&n| bit(seven.ebx, n)),
            ..Self::default()
        }
    }
}
