//! Which kernels this build has, and which of them hashes.

use core::fmt;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::contract::Kernel;
use super::cores::{self, CoreClass};
use super::cpu::Cpu;
use super::runnable::Runnable;
use super::target::ALL;

impl Kernel {
    /// Where there is another kernel for the same instructions, and this one suits this CPU better: the
    /// record, in the repository of this crate, that says so.
    pub fn record(&self) -> Option<&'static str> {
        let cpu = Cpu::detect();
        let forms = ALL.iter().filter(|kernel| kernel.set() == self.set()).count();
        let best = best_of(self.set(), &cpu)?;
        (forms > 1 && core::ptr::eq(self, best)).then(|| cores::record(&cpu))
    }

    /// The instruction set: the name up to the core.
    fn set(&self) -> &'static str {
        self.name.split('-').next().expect("a name")
    }

    /// Whether it is made for the core of this CPU, or for all that have no other kernel.
    fn suits(&self, cpu: &Cpu) -> bool {
        self.class == CoreClass::Other || self.class == cores::class(cpu)
    }
}

/// The kernel of an instruction set that suits this CPU, whether it has the instructions or not.
fn best_of(set: &str, cpu: &Cpu) -> Option<&'static Kernel> {
    ALL.iter().copied().find(|kernel| kernel.set() == set && kernel.suits(cpu))
}

/// Every kernel of this build, best first, whether this CPU runs it or not.
pub fn all() -> &'static [&'static Kernel] {
    ALL
}

/// The kernel in use, or null before the first use.
static CURRENT: AtomicPtr<Kernel> = AtomicPtr::new(core::ptr::null_mut());

/// The kernel that hashing uses: the forced one, else the best that this CPU runs.
///
/// What `TREEWIDE_KERNEL` asks for is ignored where it cannot be used:
/// [`explain`](crate::explain()) says so, and [`check_environment`](crate::check_environment) returns the error.
#[inline]
pub fn detected() -> &'static Kernel {
    running().kernel()
}

/// [`detected`], with the proof that this CPU runs it.
#[inline(always)]
pub(crate) fn running() -> Runnable {
    let current = CURRENT.load(Ordering::Relaxed);
    // SAFETY: null, or a reference to a static that `set` had of a `Runnable`; statics need no ordering.
    match unsafe { current.as_ref() } {
        // SAFETY: the same.
        Some(kernel) => unsafe { Runnable::known(kernel) },
        None => detect(),
    }
}

#[cold]
#[inline(never)]
fn detect() -> Runnable {
    #[cfg(feature = "std")]
    if let Some((_, Ok(kernel))) = asked_for() {
        return set(kernel);
    }
    set(Runnable::new(best(&Cpu::detect())).expect("this CPU was asked"))
}

/// The environment variable that forces a kernel.
#[cfg(feature = "std")]
const VARIABLE: &str = "TREEWIDE_KERNEL";

/// What the environment says, and the kernel that it asks for.
#[cfg(feature = "std")]
pub(crate) fn asked_for() -> Option<(String, Result<Runnable, ForceError>)> {
    let name = std::env::var_os(VARIABLE).filter(|name| !name.is_empty())?;
    let name = name.to_string_lossy();
    Some((format!("{VARIABLE}={name}"), find(&name)))
}

/// The kernels that this CPU runs and that suit it, best first.
fn fitting(cpu: &Cpu) -> impl Iterator<Item = &'static Kernel> {
    ALL.iter().copied().filter(|kernel| (kernel.supported)(cpu) && kernel.suits(cpu))
}

fn best(cpu: &Cpu) -> &'static Kernel {
    fitting(cpu).next().expect("portable runs everywhere")
}

/// Whether this CPU would have a kernel of AVX-512, if this build were optimised. Few lanes of it are not assembly, and up to
/// 560 times as slow as in a release (`results/zen4-2vcpu/unoptimised.txt`).
pub(crate) fn is_passed_over() -> bool {
    cfg!(unoptimised) && Cpu::detect().avx512
}

fn set(kernel: Runnable) -> Runnable {
    CURRENT.store(core::ptr::from_ref(kernel.kernel()).cast_mut(), Ordering::Relaxed);
    kernel
}

pub(super) fn find(name: &str) -> Result<Runnable, ForceError> {
    let cpu = Cpu::detect();
    // A bare instruction set, `avx2`, is the form of it for this CPU.
    let named = ALL.iter().copied().find(|kernel| kernel.name == name);
    let kernel = match named.or_else(|| best_of(name, &cpu)) {
        None if name == "auto" => best(&cpu),
        Some(kernel) => kernel,
        None => return Err(ForceError(None)),
    };
    Runnable::new(kernel).ok_or(ForceError(Some(kernel)))
}

/// Makes all hashing of this process use the kernel of that name from now on; `"auto"` goes back to
/// the best one. Where an instruction set has several, `"avx2-zen5"` and `"avx2-common"`, its name, `"avx2"`,
/// is the one that suits this CPU. Objects that exist switch too: results never depend on the kernel.
///
/// # Errors
/// If there is no such kernel in this build, or this CPU cannot run it; nothing changes then.
pub fn force(name: &str) -> Result<&'static Kernel, ForceError> {
    Ok(set(find(name)?).kernel())
}

/// Why a kernel could not be forced; its text lists the kernels that this CPU runs.
#[derive(Clone, Copy, Debug)]
pub struct ForceError(Option<&'static Kernel>);

impl fmt::Display for ForceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kernel) => write!(f, "this CPU cannot run the kernel '{}'", kernel.name)?,
            None => write!(f, "there is no such kernel")?,
        }
        write!(f, "; use one of:")?;
        for kernel in ALL.iter().filter(|kernel| kernel.is_supported()) {
            write!(f, " {}", kernel.name)?;
        }
        write!(f, ", or auto")
    }
}

impl core::error::Error for ForceError {}

#[cfg(all(
    test,
    target_arch = "x86_64",
    target_feature = "sse2",
    not(any(miri, without = "avx512", without = "avx2", without = "sse41", without = "sse2"))
))]
mod tests {
    use super::*;

    #[test]
    fn what_a_cpu_gets() {
        let [amd, intel, other] = [*b"AuthenticAMD", *b"GenuineIntel", *b"CentaurHauls"];
        // Vendor, family, and what it gets of AVX-512, else of AVX2, else of SSE4.1. Models are 0.
        let cpus = [
            (amd, 0x1a, ["avx512-zen5", "avx2-zen5", "sse41"]),
            (amd, 0x19, ["avx512-zen4", "avx2-common", "sse41"]),
            (amd, 0x17, ["avx512-intel", "avx2-zen1", "sse41"]),
            (intel, 6, ["avx512-intel", "avx2-common", "sse41"]),
            (intel, 0x13, ["avx512-intel", "avx2-common", "sse41"]),
            (other, 6, ["avx512-intel", "avx2-common", "sse41"]),
        ];
        for (vendor, family, names) in cpus {
            for (lacks, name) in names.into_iter().chain(["sse2"]).enumerate() {
                let [avx512, avx2, sse41] = [lacks < 1, lacks < 2, lacks < 3];
                let cpu = Cpu { vendor, family, sse41, avx2, avx512, ..Cpu::default() };
                assert_eq!(best(&cpu).name(), name, "{vendor:?} {family}");
                assert_eq!(best_of(name.split('-').next().unwrap(), &cpu).unwrap().name(), name);
            }
        }
    }
}
