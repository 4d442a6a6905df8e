//! Which machine code a device gets: what was built ahead for its architecture, what the compiler of
//! an installed CUDA toolkit (NVRTC) makes for it here and now, or what the driver makes of PTX.

use super::api::{Context, Facts, failed};
use crate::error::{Error, ErrorKind};
use cudarc::driver::{result, sys};
use cudarc::nvrtc;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// Machine code by compute capability. It runs on devices of the same major number and any minor
/// number that is not lower. `scripts/cuda.py build` writes these files.
const BUILT: [((u32, u32), &[u8]); 4] = [
    ((8, 0), include_bytes!("../../../kernels/built/sm_80.cubin")),
    ((9, 0), include_bytes!("../../../kernels/built/sm_90.cubin")),
    ((10, 0), include_bytes!("../../../kernels/built/sm_100.cubin")),
    ((12, 0), include_bytes!("../../../kernels/built/sm_120.cubin")),
];

/// For all devices from compute capability 7.5 on.
const PTX: &str = include_str!("../../../kernels/built/compute_75.ptx");

/// The kernels as NVRTC takes them: one text, in an order in which each includes what is before it.
const SOURCES: [&str; 10] = [
    include_str!("../../../kernels/shared/params.cuh"),
    include_str!("../../../kernels/shared/compress.cuh"),
    include_str!("../../../kernels/shared/memory.cuh"),
    include_str!("../../../kernels/shared/chunk.cuh"),
    include_str!("../../../kernels/shared/reduce.cuh"),
    include_str!("../../../kernels/cuda/blobs.cu"),
    include_str!("../../../kernels/cuda/parents.cu"),
    include_str!("../../../kernels/cuda/tiles.cu"),
    include_str!("../../../kernels/cuda/whole.cu"),
    include_str!("../../../kernels/cuda/xof.cu"),
];

/// Loaded kernels.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
    functions: Vec<(CString, sys::CUfunction)>,
}

// SAFETY: Modules and functions may be used by any thread, by several at once too.
unsafe impl Send for Module {}
// SAFETY: As above.
unsafe impl Sync for Module {}

/// The kernels of all stages.
const KERNELS: [&CStr; 6] = [c"blobs", c"parents", c"tiles", c"tiles_by_four", c"whole", c"xof"];

impl Module {
    /// The built image for this device, else the compiled one, else the PTX: the first that loads.
    pub(super) fn of_device(context: &Arc<Context>, facts: &Facts) -> Result<Self, Error> {
        let mut causes = Vec::new();
        if let Some((_, image)) = built(facts.capability) {
            match Self::of_image(context, image) {
                Ok(module) => return Ok(module),
                Err(error) => causes.push(error.to_string()),
            }
        }
        match compile(facts.capability).and_then(|image| Self::of_image(context, &image)) {
            Ok(module) => return Ok(module),
            Err(error) => causes.push(error.to_string()),
        }
        let text = CString::new(PTX.trim_end_matches('\0')).expect("PTX is text");
        match Self::of_image(context, text.as_bytes_with_nul()) {
            Ok(module) => Ok(module),
            Err(error) => {
                causes.push(error.to_string());
                Err(Error::new(ErrorKind::Unusable, causes.join("; ")))
            }
        }
    }

    fn of_image(context: &Arc<Context>, image: &[u8]) -> Result<Self, Error> {
        let _current = context.enter()?;
        // SAFETY: The driver checks what it is; text ends with a 0.
        let raw = unsafe { result::module::load_data(image.as_ptr().cast()) };
        let raw = raw.map_err(|error| unusable("its driver refuses the kernels", error))?;
        let mut module = Self { context: context.clone(), raw, functions: Vec::new() };
        for name in KERNELS.map(CStr::to_owned) {
            // SAFETY: The module is loaded.
            let function = unsafe { result::module::get_function(raw, name.clone()) };
            let function =
                function.map_err(|error| unusable(&format!("no kernel {name:?}"), error))?;
            module.functions.push((name, function));
        }
        Ok(module)
    }

    /// A kernel by its name, which must be one of [`KERNELS`].
    pub(super) fn function(&self, name: &CStr) -> sys::CUfunction {
        self.functions.iter().find(|it| *it.0 == *name).expect("a kernel of that name").1
    }
}

fn unusable(what: &str, error: result::DriverError) -> Error {
    failed(ErrorKind::Unusable, what, error)
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: It is ours, and work that uses it is done by then.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

/// What is built ahead for an architecture, and for which one it is.
fn built((major, minor): (u32, u32)) -> Option<((u32, u32), &'static [u8])> {
    let fits = |it: &&((u32, u32), &[u8])| it.0.0 == major && it.0.1 <= minor;
    BUILT.iter().filter(fits).max_by_key(|it| it.0).copied()
}

/// The sources as one text.
fn source() -> String {
    let lines = SOURCES.iter().flat_map(|it| it.lines());
    let mut text = String::new();
    for line in lines.filter(|it| !it.starts_with("#include") && !it.starts_with("#pragma once")) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Whether there is an NVRTC with all functions that are used here. Before CUDA 11.1 it lacks the last one.
fn has_compiler() -> bool {
    const USED: [&str; 5] = [
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcDestroyProgram",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
    ];
    // SAFETY: It only looks for the library, as for that of the driver, and calls nothing.
    unsafe {
        nvrtc::sys::is_culib_present()
            && USED.iter().all(|name| nvrtc::sys::culib().get::<fn()>(name.as_bytes()).is_ok())
    }
}

/// Machine code by the compiler of an installed toolkit.
fn compile((major, minor): (u32, u32)) -> Result<Vec<u8>, Error> {
    if !has_compiler() {
        let cause = format!(
            "no kernels are built for architecture {major}.{minor}, and NVRTC from CUDA 11.1 or newer, \
             which could build them, is not installed"
        );
        return Err(Error::new(ErrorKind::Unusable, cause));
    }
    let failed = |what: &str, error: nvrtc::result::NvrtcError| {
        Error::new(ErrorKind::Unusable, format_args!("NVRTC cannot {what}: {error}"))
    };
    let text = CString::new(source()).expect("sources are text");
    let program = nvrtc::result::create_program(&text, Some(c"treewide.cu"));
    let program = program.map_err(|error| failed("start", error))?;
    let options = [format!("-arch=sm_{major}{minor}"), "-std=c++17".to_owned()];
    // SAFETY: The program was made above, and is not used after it is destroyed.
    unsafe {
        let image = nvrtc::result::compile_program(program, &options).and_then(|()| {
            let mut size = 0;
            nvrtc::sys::nvrtcGetCUBINSize(program, &mut size).result()?;
            let mut image = vec![0_u8; size];
            nvrtc::sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()?;
            Ok(image)
        });
        let _ = nvrtc::result::destroy_program(program);
        image.map_err(|error| failed(&format!("compile for architecture {major}.{minor}"), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_architecture_gets_code_that_it_can_run() {
        let built = |it| built(it).map(|it| it.0);
        assert_eq!(built((7, 5)), None);
        assert_eq!(built((8, 0)), Some((8, 0)));
        assert_eq!(built((8, 9)), Some((8, 0)));
        assert_eq!(built((9, 0)), Some((9, 0)));
        assert_eq!(built((10, 3)), Some((10, 0)));
        assert_eq!(built((11, 0)), None);
        assert_eq!(built((12, 1)), Some((12, 0)));
        assert_eq!(built((13, 0)), None);
    }

    fn assert_has_all_kernels(image: &[u8], what: &str) {
        assert!(image.starts_with(b"\x7fELF"), "{what} is not machine code");
        for name in KERNELS.map(|it| it.to_str().unwrap()) {
            let section = format!("\0.text.{name}\0").into_bytes();
            let found = image.windows(section.len()).any(|it| it == section);
            assert!(found, "no {name} for {what}");
        }
    }

    #[test]
    fn each_image_has_all_kernels() {
        for ((major, minor), image) in BUILT {
            assert_has_all_kernels(image, &format!("sm_{major}{minor}"));
        }
        for name in KERNELS.map(|it| it.to_str().unwrap()) {
            assert!(PTX.contains(&format!(".entry {name}(")), "no {name} as PTX");
        }
    }

    #[test]
    fn compiles_at_run_time() {
        if !has_compiler() {
            println!("SKIPPED: NVRTC is not installed, so kernels are not compiled at run time");
            assert_eq!(compile((9, 0)).map(|_| ()).unwrap_err().kind(), ErrorKind::Unusable);
            return;
        }
        // The first is one for which nothing is built ahead.
        for (major, minor) in [(7, 5), (9, 0)] {
            let image = compile((major, minor)).unwrap();
            assert_has_all_kernels(&image, &format!("{major}.{minor}, compiled at run time"));
        }
        let error = compile((1, 0)).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unusable);
        assert!(error.to_string().contains("1.0"), "{error}");
    }
}
