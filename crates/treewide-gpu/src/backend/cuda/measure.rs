//! Measures the ceilings of a device: the rates of single instructions, and of copies
//! from pinned memory. For benchmarks.

use super::api::{Context, DeviceMemory, Doing, Event, HostMemory, Stream};
use super::module::Module;
use crate::error::{Error, ErrorKind};
use cudarc::driver::sys;
use std::ffi::{CStr, c_void};
use std::time::Duration;

/// The measurements in `kernels/cuda/bench/instructions.cu`, and how many instructions a step is.
const STEPS: [(&CStr, u32); 13] = [
    (c"iadd3", 1),
    (c"lop3", 1),
    (c"prmt", 1),
    (c"shf", 1),
    (c"imad", 1),
    (c"imad_wide", 1),
    (c"imad_lop3", 2),
    (c"imad_iadd3", 2),
    (c"imad_prmt", 2),
    (c"imad_shf", 2),
    (c"imad_wide_lop3", 2),
    (c"lop3_shf", 2),
    (c"iadd3_lop3", 2),
];

/// `CHAINS * UNROLLED` there.
const STEPS_IN_A_ROUND: u32 = 8 * 16;

/// Threads of the one block that a multiprocessor has.
const THREADS: u32 = 1024;

/// Rounds of a measurement: about a millisecond.
const ROUNDS: u32 = 256;

/// How fast a multiprocessor is at an instruction, or at a pair of them in turn.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Name of the measured instructions: `imad_lop3` is an IMAD and a LOP3 in turn.
    pub name: &'static str,
    /// Instructions of single threads, both of a pair counted, in a clock of a multiprocessor.
    pub per_clock: f64,
}

/// A device as far as ceilings depend on it.
#[derive(Clone, Debug)]
pub struct Chip {
    /// The name that the driver gives it.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The highest clock in Hz, as the driver says.
    pub clock: f64,
}

/// Describes the device with that number.
///
/// # Errors
/// If there is no such device, or it cannot be used.
pub fn chip(index: usize) -> Result<Chip, Error> {
    check(index)?;
    let facts = Context::facts(index)?;
    Ok(Chip {
        name: facts.name,
        capability: facts.capability,
        multiprocessors: facts.multiprocessors,
        clock: facts.clock,
    })
}

/// The rates of single instructions and of pairs on a device, by the kernels that
/// `scripts/cuda.py variants` builds as `instructions.cubin`.
///
/// # Errors
/// If there is no such device, it cannot be used, or the driver refuses the kernels.
///
/// # Safety
/// `image` is that file.
pub unsafe fn rates(index: usize, image: &[u8]) -> Result<Vec<Rate>, Error> {
    check(index)?;
    let facts = Context::facts(index)?;
    let context = Context::primary(index)?;
    let names: Vec<&CStr> = STEPS.iter().map(|it| it.0).collect();
    let module = Module::of_image(&context, image, &names)?;
    let blocks = facts.multiprocessors;
    let clocks = DeviceMemory::new(&context, 8 * u64::from(blocks))?;
    let sink = DeviceMemory::new(&context, 4 * u64::from(blocks * THREADS))?;
    let host = HostMemory::new(&context, 8 * blocks as usize)?;
    let stream = Stream::new(&context)?;
    let mut rates = Vec::new();
    for (name, instructions) in STEPS {
        let mut best = u64::MAX;
        // The first is there for the clock to rise, and for the code to be loaded.
        for seed in 1..=5_u32 {
            let (mut to, mut out) = (clocks.address, sink.address);
            let (mut seed, mut rounds) = (seed, ROUNDS);
            let mut arguments: [*mut c_void; 4] = [
                (&raw mut to).cast(),
                (&raw mut out).cast(),
                (&raw mut seed).cast(),
                (&raw mut rounds).cast(),
            ];
            let _current = context.enter()?;
            // SAFETY: The kernel takes these, and both buffers are large enough.
            unsafe {
                let function = module.function(name);
                let (all, stream) = (arguments.as_mut_ptr(), stream.raw);
                let none = std::ptr::null_mut();
                sys::cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, all, none)
                    .result()
                    .doing("a measurement cannot be started")?;
                let (host, len) = (host.start.cast(), host.len);
                sys::cuMemcpyDtoHAsync_v2(host, clocks.address, len, stream)
                    .result()
                    .doing("bytes cannot be copied from it")?;
            }
            Event::after(&stream, false)?.wait()?;
            // SAFETY: The device has written them, and is done with them.
            let bytes = unsafe { std::slice::from_raw_parts(host.start, host.len) };
            let mut clocks: Vec<u64> =
                bytes.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it)).collect();
            clocks.sort_unstable();
            best = best.min(clocks[clocks.len() / 2]);
        }
        let steps = f64::from(THREADS) * f64::from(ROUNDS) * f64::from(STEPS_IN_A_ROUND);
        let per_clock = steps * f64::from(instructions) / best as f64;
        rates.push(Rate { name: name.to_str().unwrap_or_default(), per_clock });
    }
    Ok(rates)
}

/// How long copies of `len` bytes from pinned memory to a device take, one after the other, by the
/// device's own clock: the limit for bytes that come from the host.
///
/// # Errors
/// If there is no such device, it cannot be used, or has not so much memory.
pub fn copies(index: usize, len: usize, times: usize) -> Result<Vec<Duration>, Error> {
    check(index)?;
    let context = Context::primary(index)?;
    let device = DeviceMemory::new(&context, len as u64)?;
    let host = HostMemory::new(&context, len)?;
    let stream = Stream::new(&context)?;
    let mut durations = Vec::new();
    for _ in 0..times {
        let start = Event::after(&stream, true)?;
        {
            let _current = context.enter()?;
            let (to, from) = (device.address, host.start.cast_const().cast());
            // SAFETY: Both are so long, and live until it is done.
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, len, stream.raw).result() }
                .doing("bytes cannot be copied to it")?;
        }
        let end = Event::after(&stream, true)?;
        end.wait()?;
        durations.extend(end.seconds_since(&start).map(Duration::from_secs_f64));
    }
    Ok(durations)
}

fn check(index: usize) -> Result<(), Error> {
    let count = super::api::devices()?;
    if index < count {
        return Ok(());
    }
    let cause = format_args!("there is no CUDA device {index}: the driver knows of {count}");
    Err(Error::new(ErrorKind::NoDevice, cause))
}
