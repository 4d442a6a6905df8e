//! Finds the devices of every backend, and opens one.

use std::ffi::{c_char, c_int};

use crate::{fail, give};
use treewide_gpu::{Backend, Device, DeviceInfo, devices};

const TEXT: usize = 256;

/// `treewide_gpu_info` of the header.
#[repr(C)]
pub struct Info {
    name: [c_char; TEXT],
    problem: [c_char; TEXT],
    memory: u64,
    backend: u32,
    index: u32,
    is_software: u32,
    reserved: u32,
}

/// Checks the layout against the header.
const _: () = assert!(size_of::<Info>() == 536 && align_of::<Info>() == align_of::<u64>());

/// A text that ends with a zero, cut where it does not fit.
fn text(from: &str) -> [c_char; TEXT] {
    let mut to = [0; TEXT];
    let mut end = from.len().min(TEXT - 1);
    while !from.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in to.iter_mut().zip(&from.as_bytes()[..end]) {
        *to = *from as c_char;
    }
    to
}

/// The numbers of the header.
fn number(backend: Backend) -> u32 {
    match backend {
        Backend::Twin => 0,
        Backend::Cuda => 1,
        Backend::Wgpu => 2,
        _ => u32::MAX,
    }
}

fn info(found: &DeviceInfo) -> Info {
    Info {
        name: text(&found.name),
        problem: text(&found.problem.as_ref().map(ToString::to_string).unwrap_or_default()),
        memory: found.memory.unwrap_or(0),
        backend: number(found.backend),
        index: found.index as u32,
        is_software: found.is_software.into(),
        reserved: 0,
    }
}

/// # Safety
/// `out` has room for `room` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_devices(out: *mut Info, room: usize) -> usize {
    assert!(room == 0 || !out.is_null(), "NULL stands for no devices, not for {room}");
    let found = devices();
    for (i, found) in found.iter().take(room).enumerate() {
        // SAFETY: as our caller promises.
        unsafe { out.add(i).write(info(found)) };
    }
    found.len()
}

/// # Safety
/// `device` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_open_backend(
    backend: u32,
    index: u32,
    device: *mut *mut Device,
) -> c_int {
    let all = [Backend::Twin, Backend::Cuda, Backend::Wgpu];
    let Some(backend) = all.into_iter().find(|it| number(*it) == backend) else {
        return fail(format_args!(
            "{backend} is not one of the backends that treewide_gpu.h lists"
        ));
    };
    // SAFETY: as our caller promises.
    unsafe { give(Device::open(backend, index as usize), device) }
}

/// # Safety
/// `device` is an open device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_is_unified(device: *const Device) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { (*device).is_unified() }.into()
}
