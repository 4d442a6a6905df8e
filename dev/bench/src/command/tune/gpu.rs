//! The length from which on a device is faster than the CPU, by where the bytes are: the minimum of `auto`.
//! Bytes that are in the device's memory never move, so they need none.
//!
//! The device is open and has its buffers before the clock starts: a minimum does not count the tenths of
//! a second that opening takes.

use anyhow::{Result, bail};
use treewide_gpu::Device;

use super::Advice;
use super::search::{search, told};
use crate::cli::Which;
use crate::command::gpu;
use crate::measure::Session;
use crate::plan::Plan;
use crate::spec::Spec;
use crate::work::{Place, Work};

/// What sets a minimum (an argument of functions, a flag of the command line), what it is about, and the binary logarithm of
/// the largest size that is measured.
const MINIMUMS: [(&str, Place, &str, u32); 2] = [
    ("minimum", Place::Staged, "bytes in memory", 28),
    ("--device-minimum", Place::File, "files", 30),
];

/// The binary logarithm of the smallest: the CPU hashes what is shorter.
const SMALLEST: u32 = 18;

/// The same for software.
const LARGEST_FOR_SOFTWARE: u32 = 22;

pub(super) fn minimums(session: &mut Session, advice: &mut Advice, which: &Which) -> Result<()> {
    let Some((device, is_software)) = device(session, which)? else { return Ok(()) };
    let cpus = session.machine.cpus as usize;
    let (backend, name) = (device.backend().to_string(), device.name().to_owned());
    session.device = Some(device);
    for (line, place, what, largest) in MINIMUMS {
        let to = if is_software { LARGEST_FOR_SOFTWARE } else { largest };
        let found = search(SMALLEST, to, |bytes| {
            let side =
                |engine: &str| Spec { engine: engine.into(), kernel: None, threads: Some(cpus) };
            let plan =
                Plan::new(Work::Device { bytes, place }, &[side(&backend), side("treewide")]);
            told(session, Plan { id: format!("{} on {backend}", plan.id), ..plan })
        })?;
        found.tell(advice, line, &format!("{name} ({backend})"), what)?;
    }
    Ok(())
}

/// The device that `auto` would take, or the one that was asked for, which may be software. If there is none,
/// it is an error only if one was asked for.
fn device(session: &mut Session, which: &Which) -> Result<Option<(Device, bool)>> {
    let found = match gpu::open(session, which) {
        Ok(open) => open,
        Err(found) if which.is_any() => bail!("no device to tune for. {}", found.trim_end()),
        Err(found) => {
            eprint!("treewide-bench: no GPU that can be used, so no lengths for one. {found}");
            return Ok(None);
        }
    };
    for (device, is_software) in found {
        if which.is_any() {
            gpu::check(session, &device)?;
            return Ok(Some((device, is_software)));
        }
        if is_software {
            continue;
        }
        match gpu::check(session, &device) {
            Ok(()) => return Ok(Some((device, false))),
            // As `auto` does, which has it hash a sample first.
            Err(error) => eprintln!("treewide-bench: not tuned for: {error:#}"),
        }
    }
    eprintln!("treewide-bench: no GPU but software, so no lengths for one");
    Ok(None)
}
