//! The provenance of a report: CPU, operating system, build, memory.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::engine;
use crate::report::{Build, Caches, Machine, Memory};

/// The time when a run began.
pub(crate) struct Clock(SystemTime, Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(SystemTime::now(), Instant::now())
    }

    pub(crate) fn started(&self) -> String {
        let seconds = self.0.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        rfc3339(seconds)
    }

    pub(crate) fn seconds(&self) -> f64 {
        (self.1.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
    }
}

/// Formats seconds since 1970 as UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The calendar repeats every 400 years of 146,097 days; years begin in March here.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * march + 2) / 5 + 1, (march + 2) % 12 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

pub(crate) fn build() -> Build {
    let features = env!("TREEWIDE_BENCH_FEATURES");
    let engines = engine::all().iter().map(|it| (it.name, it.version));
    // All crates of the workspace have one version.
    let gpu = cfg!(feature = "gpu").then_some(("treewide-gpu", env!("CARGO_PKG_VERSION")));
    let engines = engines.chain(gpu).map(|(name, version)| (name.to_owned(), version.to_owned()));
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("TREEWIDE_BENCH_COMMIT").to_owned(),
        dirty: env!("TREEWIDE_BENCH_DIRTY") == "true",
        rustc: env!("TREEWIDE_BENCH_RUSTC").to_owned(),
        target: env!("TREEWIDE_BENCH_TARGET").to_owned(),
        profile: format!(
            "{}, opt-level {}{}",
            env!("TREEWIDE_BENCH_PROFILE"),
            env!("TREEWIDE_BENCH_OPT"),
            env!("TREEWIDE_BENCH_FLAGS")
        ),
        features: features.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        engines: engines.collect::<BTreeMap<_, _>>(),
    }
}

pub(crate) fn machine() -> Machine {
    let wanted = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(wanted);
    let load = System::load_average().one;
    Machine {
        cpu: cpu(&system),
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u32,
        cpu_features: cpu_features(),
        caches: caches(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        memory_bytes: system.total_memory(),
        os: System::long_os_version().unwrap_or_else(|| std::env::consts::OS.to_owned())
            + &System::kernel_version().map(|it| format!(", {it}")).unwrap_or_default(),
        load: cfg!(unix).then_some(load),
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The first value of `name` in /proc/cpuinfo.
fn cpuinfo(name: &str) -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let value = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value)
}

/// Brand, family and model. On virtual machines the brand is often only the name of the maker.
fn cpu(system: &System) -> String {
    let brand = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default();
    let brand = if brand.is_empty() { std::env::consts::ARCH.to_owned() } else { brand };
    match (cpuinfo("cpu family"), cpuinfo("model")) {
        (Some(family), Some(model)) => format!("{brand}, family {family} model {model}"),
        _ => brand,
    }
}

/// The instruction sets that hashing may use.
fn cpu_features() -> Vec<String> {
    const WANTED: &[&str] = &[
        "ssse3",
        "sse4_1",
        "sse4_2",
        "avx",
        "avx2",
        "bmi2",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx512vbmi",
        "sha_ni",
        "hypervisor",
        "neon",
        "asimd",
        "sha1",
        "sha2",
        "sha3",
        "sha512",
        "sve",
        "sve2",
        "v",
    ];
    let flags = cpuinfo("flags").or_else(|| cpuinfo("Features")).unwrap_or_default();
    flags.split_whitespace().filter(|it| WANTED.contains(it)).map(str::to_owned).collect()
}

/// From Linux; elsewhere the sizes that most current cores have.
fn caches() -> Caches {
    let mut caches = Caches { l1: 32 << 10, l2: 1 << 20, l3: 16 << 20 };
    for index in 0..8 {
        let dir = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let value = |name| read(&format!("{dir}/{name}"));
        let (Some(level), Some(kind), Some(size)) = (value("level"), value("type"), value("size"))
        else {
            continue;
        };
        let Ok(size) = crate::size::parse(&size) else { continue };
        match (level.as_str(), kind.as_str()) {
            (_, "Instruction") => {}
            ("1", _) => caches.l1 = size,
            ("2", _) => caches.l2 = size,
            ("3", _) => caches.l3 = size,
            _ => {}
        }
    }
    caches
}

/// The memory of this process, from Linux.
pub(crate) fn memory() -> Memory {
    let text = read("/proc/self/status").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let bytes = |name| value(name).unwrap_or(0) * 1024;
    Memory { rss: bytes("VmRSS:"), peak_rss: bytes("VmHWM:") }
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_261_530), "2026-11-21T11:45:30Z");
    }
}
