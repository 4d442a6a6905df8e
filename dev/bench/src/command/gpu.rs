//! Measures devices by where the bytes are when the clock starts, and the CPU too where it has the bytes.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use treewide_gpu::{Backend, Device, DeviceInfo, TwinLimits, devices};

use crate::cli;
use crate::engine::device;
use crate::measure::Session;
use crate::plan::Plan;
use crate::report::Varies;
use crate::spec::Spec;
use crate::work::Work;

/// Bytes whose digests are checked first.
const CHECKED: u64 = (1 << 20) + 4321;

/// Opens the requested devices, and says of each whether it is software; or returns the list of all devices.
pub(super) fn open(
    session: &mut Session,
    which: &cli::Which,
) -> Result<Vec<(Device, bool)>, String> {
    let found = devices();
    let wanted = |it: &&DeviceInfo| {
        which.device.is_none_or(|name| name.is(it.backend))
            && which.index.is_none_or(|index| index == it.index)
    };
    let mut open: Vec<(Device, bool)> = vec![];
    for it in found.iter().filter(wanted) {
        match it.open() {
            Ok(device) => open.push((device, it.is_software)),
            Err(error) => session.refuse(&name(it), error.to_string()),
        }
    }
    if which.device == Some(cli::DeviceName::Twin) {
        open.push((Device::twin(TwinLimits::default()), true));
    }
    if open.is_empty() { Err(list(&found)) } else { Ok(open) }
}

/// Compares the digests of a device, before anything is timed.
pub(super) fn check(session: &mut Session, device: &Device) -> Result<()> {
    device::check(device, &session.stream(CHECKED)[..CHECKED as usize])
        .with_context(|| format!("{}: nothing was timed", device.name()))
}

pub(super) fn run(args: &cli::Gpu) -> Result<ExitCode> {
    let mut session = super::session(&args.common)?;
    let open = match open(&mut session, &args.which) {
        Ok(open) => open,
        Err(found) => {
            eprint!("treewide-bench: no device to measure. {found}");
            return Ok(ExitCode::from(1));
        }
    };
    let cpus = session.machine.cpus as usize;
    for (at, (device, is_software)) in open.iter().enumerate() {
        check(&mut session, device)?;
        let backend = device.backend().to_string();
        // Several of one backend differ by their places in this run.
        let before = open[..at].iter().filter(|it| it.0.backend() == device.backend()).count();
        let suffix = if before == 0 { String::new() } else { format!(":{before}") };
        let sizes = args.sizes.or(|| {
            let sizes = [1 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20, 1 << 30];
            sizes.into_iter().take(if *is_software { 4 } else { 6 }).collect()
        });
        let mut plans = vec![];
        for place in &args.class {
            for &bytes in &sizes {
                // Where bytes are the host's, its threads copy them, and could hash them as well.
                let threads = if place.is_of_host() { cpus } else { 1 };
                let side = |engine: &str| Spec {
                    engine: engine.into(),
                    kernel: None,
                    threads: Some(threads),
                };
                let mut sides = vec![side(&backend)];
                let mut varies = Varies::Nothing;
                if place.is_of_host() {
                    sides.push(side("treewide"));
                    varies = Varies::Engine;
                }
                let plan = Plan::new(Work::Device { bytes, place: *place }, &sides);
                let id = format!("{} on {backend}{suffix}", plan.id);
                plans.push(Plan { id, varies, ..plan });
            }
        }
        session.device = Some(device.clone());
        session.run(&plans)?;
    }
    super::finish(session, &args.common)
}

fn name(found: &DeviceInfo) -> String {
    format!("{} device {}, {}", found.backend, found.index, found.name)
}

/// Lists the devices that were found, and why they cannot be used.
fn list(found: &[DeviceInfo]) -> String {
    let mut text = String::from(if found.is_empty() { "There is none.\n" } else { "Found:\n" });
    for it in found {
        let problem = it.problem.as_ref().map_or("usable".into(), ToString::to_string);
        let _ = writeln!(text, "  {}: {problem}", name(it));
    }
    text
}

impl cli::DeviceName {
    fn is(self, backend: Backend) -> bool {
        match self {
            Self::Cuda => backend == Backend::Cuda,
            Self::Wgpu => backend == Backend::Wgpu,
            Self::Twin => false,
        }
    }
}
