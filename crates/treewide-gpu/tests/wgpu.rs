//! Features that only wgpu has: devices, queues and buffers of the caller.
#![cfg(feature = "wgpu")]

mod common;

use common::bytes;
use treewide_gpu::{Backend, Device, ErrorKind, Mode};
use wgpu::{Adapter, BufferDescriptor, BufferUsages, Instance, InstanceDescriptor};

/// The result of a future that is ready, as those of native drivers are.
fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

fn adapter() -> Option<Adapter> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let found = now(instance.enumerate_adapters(wgpu::Backends::PRIMARY)).into_iter().next();
    if found.is_none() {
        println!("SKIPPED: devices of a caller of wgpu: there is none");
    }
    found
}

/// A device as programs open it that know nothing of us.
fn open(adapter: &Adapter) -> (wgpu::Device, wgpu::Queue) {
    now(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap()
}

fn buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

const HASHED: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

#[test]
fn devices_report_their_memory() {
    let Some(adapter) = adapter() else { return };
    if adapter.get_info().backend != wgpu::Backend::Vulkan {
        return println!("SKIPPED: memory of devices: only Vulkan reports it");
    }
    let found = treewide_gpu::devices();
    let found = found.iter().find(|found| found.backend == Backend::Wgpu).expect("one at least");
    assert!(found.memory.expect("Vulkan reports it") >= 16 << 20, "{found:?}");
}

#[test]
fn buffers_of_the_caller() {
    let Some(adapter) = adapter() else { return };
    let (device, queue) = open(&adapter);
    let ours = treewide_gpu::wgpu::borrow(&device, &queue).unwrap();
    let input = bytes(500_000);
    let theirs = buffer(&device, 500_000, HASHED);
    // Not waited for: it is in the queue before what we do.
    queue.write_buffer(&theirs, 0, &input);
    let whole = treewide_gpu::wgpu::buffer(&theirs).unwrap();
    for range in [0..500_000, 0..0, 3..200_001, 499_999..500_000] {
        let slice = whole.slice(range.start as u64..range.end as u64).unwrap();
        let hash = ours.hash(&Mode::PLAIN, &slice).wait().unwrap();
        assert_eq!(hash.as_bytes(), blake3::hash(&input[range]).as_bytes());
    }
    // A digest for a kernel of the caller.
    let digest = buffer(&device, 32, HASHED);
    let place = treewide_gpu::wgpu::buffer(&digest).unwrap();
    ours.hash_to(&Mode::PLAIN, &whole, &place.slice(..).unwrap()).wait().unwrap();
    let read = ours.download(&place).wait().unwrap();
    assert_eq!(read, blake3::hash(&input).as_bytes());
    for (size, usage) in [(64, BufferUsages::STORAGE), (64, BufferUsages::COPY_SRC), (8, HASHED)] {
        let error = treewide_gpu::wgpu::buffer(&buffer(&device, size, usage)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[test]
fn a_buffer_of_another_device_is_an_error_and_nothing_else() {
    let Some(adapter) = adapter() else { return };
    let (device, queue) = open(&adapter);
    let ours = treewide_gpu::wgpu::borrow(&device, &queue).unwrap();
    let (other, _) = open(&adapter);
    let theirs = treewide_gpu::wgpu::buffer(&buffer(&other, 4096, HASHED)).unwrap();
    let error = ours.hash(&Mode::PLAIN, &theirs).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let own = ours.upload(b"abc").unwrap();
    assert_eq!(ours.hash(&Mode::PLAIN, &own).wait().unwrap(), treewide::hash(b"abc"));
}

#[test]
fn a_device_that_is_destroyed() {
    let Some(adapter) = adapter() else { return };
    let (device, queue) = open(&adapter);
    let ours = treewide_gpu::wgpu::borrow(&device, &queue).unwrap();
    let input = bytes(400_000);
    let own = ours.upload(&input).unwrap();
    let mut staged = treewide_gpu::Staged::new(&ours, &Mode::PLAIN);
    staged.update(&input).unwrap();
    device.destroy();
    let lost = |error: treewide_gpu::Error| {
        assert!(matches!(error.kind(), ErrorKind::Lost | ErrorKind::Invalid), "{error}");
    };
    lost(ours.hash(&Mode::PLAIN, &own).wait().unwrap_err());
    lost(ours.upload(&input).map(drop).unwrap_err());
    lost(ours.download(&own).wait().unwrap_err());
    lost(staged.finalize().unwrap_err());
    drop(Device::clone(&ours));
}
