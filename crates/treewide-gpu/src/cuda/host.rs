//! The CUDA kernels as a device that is the CPU: compiled as C++ with what `kernels/host/` has in
//! place of a GPU, and called with the arguments that the driver would get.

use super::call::call;
use crate::driver::{Driver, Handle, Info, Launch, Memory, Order, Region, Running, Staging, Work};
use crate::{Backend, Device, Error};
use libloading::Library;
use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// See `kernels/host/stages.cpp`.
type LaunchOnHost = unsafe extern "C" fn(*const c_char, u32, u32, *mut *mut c_void, c_int) -> c_int;

/// The devices: as many multiprocessors as give small launches small blocks, and as few as give all
/// launches large ones. Says which cannot be had, and why.
pub(super) fn devices() -> Vec<Device> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = match LIBRARY.get_or_init(|| compile(&[])) {
        Ok(library) => library,
        Err(cause) => {
            println!("SKIPPED: CUDA kernels on the CPU: {cause}");
            return Vec::new();
        }
    };
    [(1000, false), (1, true)]
        .map(|(multiprocessors, backwards)| {
            Device::of_driver(Arc::new(Host::new(library, multiprocessors, backwards)))
        })
        .into()
}

/// The kernels with parameters of their own.
pub(super) fn with_parameters(defines: &[&str]) -> Result<Device, String> {
    // Kept for good: tests are over when the process is.
    let library = Box::leak(Box::new(compile(defines)?));
    Ok(Device::of_driver(Arc::new(Host::new(library, 1, false))))
}

fn compile(defines: &[&str]) -> Result<Library, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/host/stages.cpp");
    let folder = std::env::temp_dir();
    let name = format!("treewide-cuda-{}-{}.so", std::process::id(), defines.join("-"));
    let file = Removed(folder.join(name));
    let compiler = std::env::var("CXX").unwrap_or("g++".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]);
    command.args(["-shared", "-fPIC", "-o"]).arg(&file.0).arg(&source);
    command.args(defines.iter().map(|it| format!("-D{it}")));
    let output = command.output().map_err(|error| format!("there is no {compiler}: {error}"))?;
    // That they do not compile is no reason to go on without.
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: It has no constructors but those of empty vectors.
    unsafe { Library::new(&file.0) }.map_err(|error| error.to_string())
}

/// A file that goes away; a library stays loaded without it.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[derive(Debug)]
struct Host {
    info: Info,
    library: &'static Library,
    multiprocessors: u32,
    backwards: bool,
}

/// What all blocks run in is one for the process.
static TURN: Mutex<()> = Mutex::new(());

impl Host {
    fn new(library: &'static Library, multiprocessors: u32, backwards: bool) -> Self {
        let info = Info {
            name: "CUDA kernels on the CPU".to_owned(),
            backend: Backend::Cuda,
            memory: None,
            unified: false,
            most_bytes: 1 << 40,
            window: u64::MAX,
            alignment: 1,
            most_tiles: (1 << 25) - 1,
        };
        Self { info, library, multiprocessors, backwards }
    }
}

impl Driver for Host {
    fn info(&self) -> &Info {
        &self.info
    }

    fn allocate(&self, len: u64) -> Result<Handle, Error> {
        Ok(Arc::new(Bytes::new(self.library, len as usize)))
    }

    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error> {
        Ok(Box::new(Bytes::new(self.library, len as usize)))
    }

    fn work(&self, _: Order) -> Result<Box<dyn Work>, Error> {
        let Self { library, multiprocessors, backwards, .. } = *self;
        Ok(Box::new(AtOnce { library, multiprocessors, backwards, read: Vec::new() }))
    }
}

/// Memory at a multiple of 16 bytes that is followed by none.
#[derive(Debug)]
struct Bytes {
    library: &'static Library,
    start: *mut u8,
    len: usize,
}

// SAFETY: It is plain memory that is used in turn.
unsafe impl Send for Bytes {}
// SAFETY: As above.
unsafe impl Sync for Bytes {}

/// See `kernels/host/stages.cpp`.
type Allocate = unsafe extern "C" fn(usize) -> *mut u8;

/// See `kernels/host/stages.cpp`.
type Free = unsafe extern "C" fn(*mut u8, usize);

impl Bytes {
    fn new(library: &'static Library, len: usize) -> Self {
        let size = len.next_multiple_of(16);
        // SAFETY: `stages.cpp` has it, with these types.
        let start = unsafe { library.get::<Allocate>(b"treewide_allocate").unwrap()(size) };
        assert!(!start.is_null());
        // SAFETY: So long it is. No zeros, as those of a GPU may not be.
        unsafe { start.write_bytes(0xA5, size) };
        Self { library, start, len }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        let size = self.len.next_multiple_of(16);
        // SAFETY: `new` has allocated it.
        unsafe { self.library.get::<Free>(b"treewide_free").unwrap()(self.start, size) };
    }
}

impl Memory for Bytes {
    fn len(&self) -> u64 {
        self.len as u64
    }

    fn address(&self) -> Option<u64> {
        Some(self.start as u64)
    }
}

impl Staging for Bytes {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        // SAFETY: So long it is, and initialised.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, self.len) })
    }
}

/// Work that is done as it is given.
struct AtOnce {
    library: &'static Library,
    multiprocessors: u32,
    backwards: bool,
    read: Vec<Vec<u8>>,
}

fn place(region: &Region) -> *mut u8 {
    assert!(region.at + region.len <= region.memory.len(), "a region within its memory");
    (region.memory.address().unwrap() + region.at) as *mut u8
}

impl Work for AtOnce {
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error> {
        assert!(bytes.len() as u64 <= to.len);
        // SAFETY: The region has room for them, and works run in turn.
        unsafe { place(to).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error> {
        let from: &mut dyn Any = from;
        let from: &Bytes = from.downcast_ref().expect("staging of this device");
        assert!(to.len <= from.len as u64);
        // SAFETY: Both have so many.
        unsafe { place(to).copy_from_nonoverlapping(from.start, to.len as usize) };
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        let mut tables = Vec::new();
        let call = call(launch, self.multiprocessors, &mut |words| {
            let table = Bytes::new(self.library, 4 * words.len());
            // SAFETY: It is so long, and at a multiple of 4.
            unsafe { table.start.cast::<u32>().copy_from(words.as_ptr(), words.len()) };
            tables.push(table);
            Ok(tables.last().expect("pushed").start as u64)
        })?;
        let Some(call) = call else { return Ok(()) };
        let mut arguments: Vec<*mut c_void> =
            call.arguments.iter().map(|it| it.as_ptr().cast_mut().cast()).collect();
        let name = CString::new(call.kernel).unwrap();
        let _turn = TURN.lock().unwrap();
        // SAFETY: `stages.cpp` has it, and what the arguments point to is there.
        let code = unsafe {
            let function = self.library.get::<LaunchOnHost>(b"treewide_launch").unwrap();
            let (blocks, threads) = (call.blocks, call.threads);
            function(name.as_ptr(), blocks, threads, arguments.as_mut_ptr(), self.backwards.into())
        };
        assert_eq!(code, 0, "a kernel of the name {}", call.kernel);
        Ok(())
    }

    fn read(&mut self, from: &Region) -> Result<(), Error> {
        // SAFETY: The region has them.
        let bytes = unsafe { std::slice::from_raw_parts(place(from), from.len as usize) };
        self.read.push(bytes.to_vec());
        Ok(())
    }

    fn submit(self: Box<Self>) -> Result<Box<dyn Running>, Error> {
        Ok(self)
    }
}

impl Running for AtOnce {
    fn is_done(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(std::mem::take(&mut self.read))
    }

    fn device_time(&self) -> Option<Duration> {
        None
    }
}
