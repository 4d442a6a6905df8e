//! Features that only CUDA has, and rules that a driver enforces: with a driver for the CPU.
#![cfg(all(feature = "cuda", unix))]

mod common;

use common::{bytes, cuda_on_cpu};
use cudarc::driver::{result, sys};
use std::sync::{Mutex, MutexGuard, PoisonError};
use treewide_gpu::{Backend, Device, ErrorKind, Mode, Runs, Slice, cuda};

/// The driver's devices, one test at a time, or why there are none.
fn driver() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    match cuda_on_cpu::load() {
        Ok(_) => Some(TURN.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(cause) => {
            println!("SKIPPED: CUDA kernels on the CPU: {cause}");
            None
        }
    }
}

/// What the driver still has of all that was made.
fn left_over() -> i32 {
    let library = cuda_on_cpu::load().unwrap();
    // SAFETY: `driver.cpp` has it, with this type.
    unsafe { library.get::<unsafe extern "C" fn() -> i32>(b"treewide_left_over").unwrap()() }
}

/// Lets a device be of another architecture.
fn pretend(device: i32, (major, minor): (i32, i32)) {
    let library = cuda_on_cpu::load().unwrap();
    type Pretend = unsafe extern "C" fn(i32, i32);
    // SAFETY: `driver.cpp` has it, with this type.
    unsafe { library.get::<Pretend>(b"treewide_pretend").unwrap()(device, 10 * major + minor) }
}

/// The architecture of the machine code that was loaded last, or minus that of PTX.
fn loaded() -> i32 {
    let library = cuda_on_cpu::load().unwrap();
    // SAFETY: `driver.cpp` has it, with this type.
    unsafe { library.get::<unsafe extern "C" fn() -> i32>(b"treewide_loaded").unwrap()() }
}

/// Bytes that have come to the host.
fn copied_back() -> usize {
    let library = cuda_on_cpu::load().unwrap();
    // SAFETY: `driver.cpp` has it, with this type.
    unsafe { library.get::<unsafe extern "C" fn() -> usize>(b"treewide_copied_back").unwrap()() }
}

fn check(device: &Device, input: &[u8], slice: &Slice) {
    let hash = device.hash(&Mode::PLAIN, slice).wait().unwrap();
    assert_eq!(hash.as_bytes(), blake3::hash(input).as_bytes(), "{} bytes", input.len());
}

#[test]
fn nothing_is_read_beyond_the_16_bytes_in_which_an_input_ends() {
    let Some(_turn) = driver() else { return };
    for index in 0..2 {
        let device = Device::open(Backend::Cuda, index).unwrap();
        let input = bytes(530_000);
        for start in [0, 1, 4, 15, 16, 31] {
            for len in [0, 1, 15, 16, 63, 64, 100, 1000, 1024, 1025, 131_072, 140_001, 524_288] {
                // Nothing follows the buffer.
                let buffer = device.upload(&input[..start + len]).unwrap();
                let slice = buffer.slice(start as u64..).unwrap();
                for most in [0, u64::MAX] {
                    check(&device.one_launch_up_to(most), &input[start..start + len], &slice);
                }
                // Chunks that are roots to be kept take another way, and so do the chunks next to them.
                let mut expected = [0; 32];
                blake3::Hasher::new()
                    .update(&input[start..start + len])
                    .finalize_xof()
                    .fill(&mut expected);
                let output = device.xof(&Mode::PLAIN, &slice, 0, 32).wait().unwrap();
                assert_eq!(output, expected, "{len} bytes from {start}");
            }
        }
    }
}

/// The root is three levels above the tiles of chunks.
#[test]
fn one_launch_for_more_than_two_gigabytes() {
    let Some(_turn) = driver() else { return };
    if std::env::var("TREEWIDE_TEST_BACKEND").is_ok_and(|wanted| wanted == "twin") {
        return; // it takes long, and is done where other devices are tested
    }
    // Pages that are only read need no memory.
    let input = vec![0; (2 << 30) + (1 << 17) + 1025];
    // The one that runs blocks in no order.
    let device = Device::open(Backend::Cuda, 1).unwrap().one_launch_up_to(u64::MAX);
    // SAFETY: The bytes live longer than the buffer, and the device is this CPU.
    let buffer = unsafe { cuda::borrow(&device, input.as_ptr() as u64, input.len() as u64) };
    let hash = device.hash(&Mode::PLAIN, &buffer.unwrap()).wait().unwrap();
    assert_eq!(hash.as_bytes(), blake3::hash(&input).as_bytes());
}

#[test]
fn all_that_is_made_is_freed_once_and_not_too_early() {
    let Some(_turn) = driver() else { return };
    assert_eq!(left_over(), 0);
    {
        let device = Device::open(Backend::Cuda, 0).unwrap();
        let input = bytes(300_000);
        let buffer = device.upload(&input).unwrap();
        // Dropped before they are done, and the buffers with them.
        for i in 0..100 {
            drop(device.hash(&Mode::PLAIN, buffer.slice(i..).unwrap()));
            drop(device.list(&Mode::PLAIN, &[Slice::from(&buffer), Slice::from(&buffer)]));
        }
        let pending = device.hash(&Mode::PLAIN, &buffer);
        let timed = device.timed().hash(&Mode::PLAIN, &buffer);
        drop(buffer);
        drop(device);
        assert_eq!(pending.wait().unwrap().as_bytes(), blake3::hash(&input).as_bytes());
        let (hash, time) = timed.wait_timed().unwrap();
        assert_eq!(hash.as_bytes(), blake3::hash(&input).as_bytes());
        assert!(time.is_some());
    }
    assert_eq!(left_over(), 0);
}

#[test]
fn memory_and_streams_of_the_caller_are_used_and_left() {
    let Some(_turn) = driver() else { return };
    {
        // What PyTorch calls its current stream, here the default one.
        // SAFETY: The default stream is always there.
        let device = unsafe { cuda::open_with_stream(0, std::ptr::null_mut()) }.unwrap();
        let input = bytes(200_001);
        let address = input[3..].as_ptr() as u64;
        // SAFETY: The bytes live longer than the buffer, and the device is this CPU.
        let buffer = unsafe { cuda::borrow(&device, address, 199_998) }.unwrap();
        check(&device, &input[3..], &Slice::from(&buffer));
        check(&device, &input[8..1000], &buffer.slice(5..997).unwrap());

        // Whole words are written, and a GPU fails for good if they lie across others.
        for (at, is_taken) in [(0, true), (1, false), (2, false), (3, false), (4, true)] {
            let mut place = [0_u32; 10];
            // SAFETY: As above.
            let out = unsafe { cuda::borrow(&device, place.as_mut_ptr() as u64 + at, 32) }.unwrap();
            let hashed = device.hash_to(&Mode::PLAIN, &buffer, &Slice::from(&out)).wait();
            assert_eq!(hashed.is_ok(), is_taken, "{at}: {hashed:?}");
            device.finish().unwrap();
        }

        let twin = Device::open(Backend::Twin, 0).unwrap();
        // SAFETY: As above.
        let error = unsafe { cuda::borrow(&twin, address, 10) }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(left_over(), 0);
}

#[test]
fn a_stream_of_the_caller_is_kept_in_order_and_only_the_digest_comes_back() {
    let Some(_turn) = driver() else { return };
    let input = bytes(300_001);
    // SAFETY: All that is made is ended once, after its last use, and the input lives longer.
    unsafe {
        let number = result::device::get(0).unwrap();
        let context = result::primary_ctx::retain(number).unwrap();
        sys::cuCtxPushCurrent_v2(context).result().unwrap();
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
        let memory = result::malloc_sync(input.len()).unwrap();
        {
            let device = cuda::open_with_stream(0, stream.cast()).unwrap();
            let buffer = cuda::borrow(&device, memory, input.len() as u64).unwrap();
            // No thread waits for it: it is only in the stream before what we do.
            sys::cuMemcpyHtoDAsync_v2(memory, input.as_ptr().cast(), input.len(), stream)
                .result()
                .unwrap();
            let digest = device.allocate(32).unwrap();
            let before = copied_back();
            device.hash_to(&Mode::PLAIN, &buffer, &Slice::from(&digest)).wait().unwrap();
            assert_eq!(copied_back(), before, "the digest stays there");
            check(&device, &input, &Slice::from(&buffer));
            assert_eq!(copied_back(), before + 32, "nothing but the digest");
            let left = device.download(&digest).wait().unwrap();
            assert_eq!(left, blake3::hash(&input).as_bytes());

            // Parts come back by two copies: a value for each subtree, and 128 bytes for each block of an end.
            sys::cuMemcpyHtoDAsync_v2(memory, input[1..].as_ptr().cast(), input.len() - 1, stream)
                .result()
                .unwrap();
            let before = copied_back();
            let slice = |range: std::ops::Range<u64>| buffer.slice(range).unwrap();
            let whole = Runs { total: 300_000, runs: vec![(slice(0..300_000), 0)] };
            let (left, right) = ((slice(0..5000), 0), (slice(5000..300_000), 5000));
            let cut = Runs { total: 300_000, runs: vec![left, right] };
            let found = device.hash_parts(&Mode::PLAIN, &[whole, cut]).wait().unwrap();
            // The halves below the root; 4 chunks; 1, 2, 8, 16, 32, 64, 128 and the last 37 chunks.
            let (subtrees, blocks) = (2 + 1 + 8, 904_usize.div_ceil(64) + 120_usize.div_ceil(64));
            assert_eq!(copied_back(), before + 32 * subtrees + 128 * blocks);
            for parts in found {
                let digest = parts.unwrap().finish().unwrap();
                assert_eq!(digest.as_bytes(), blake3::hash(&input[1..]).as_bytes());
            }
        }
        result::free_sync(memory).unwrap();
        result::stream::destroy(stream).unwrap();
        sys::cuCtxPopCurrent_v2(&mut std::ptr::null_mut()).result().unwrap();
        result::primary_ctx::release(number).unwrap();
    }
    assert_eq!(left_over(), 0);
}

#[test]
fn what_the_driver_refuses_is_an_error_with_its_words() {
    let Some(_turn) = driver() else { return };
    let error = Device::open(Backend::Cuda, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.to_string().contains("knows of 2"), "{error}");
    assert_eq!(left_over(), 0);
}

#[test]
fn each_architecture_gets_kernels_that_it_takes() {
    let Some(_turn) = driver() else { return };
    // SAFETY: It only looks for the library.
    let has_compiler = unsafe { cudarc::nvrtc::sys::is_culib_present() };
    if !has_compiler {
        println!(
            "SKIPPED: NVRTC is not installed, so architecture 7.5 gets PTX, as unknown ones do"
        );
    }
    let input = bytes(300_000);
    // Built ahead; compiled here and now; unknown everywhere.
    for (architecture, expected) in [
        ((9, 0), 90),
        ((8, 9), 80),
        ((12, 1), 120),
        ((7, 5), if has_compiler { 75 } else { -75 }),
        ((19, 9), -75),
    ] {
        pretend(1, architecture);
        let device = Device::open(Backend::Cuda, 1);
        pretend(1, (9, 0));
        assert_eq!(loaded(), expected, "of {architecture:?}");
        let device = device.unwrap();
        check(&device, &input, &Slice::from(&device.upload(&input).unwrap()));
    }
    pretend(1, (7, 0));
    let error = Device::open(Backend::Cuda, 1).map(drop).unwrap_err();
    pretend(1, (9, 0));
    assert_eq!(error.kind(), ErrorKind::Unusable);
    assert!(error.to_string().contains("7.0, and 7.5 is needed"), "{error}");
    assert_eq!(left_over(), 0);
}
