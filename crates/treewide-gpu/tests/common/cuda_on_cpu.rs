//! NVIDIA's driver for a device that is the CPU: the CUDA kernels, compiled as C++, and what is used
//! of the driver, in one library that is found in place of the driver.

use libloading::Library;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Loads the driver, if this machine has none of its own: says why it could not.
pub(crate) fn load() -> Result<&'static Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Library, String> {
    // SAFETY: NVIDIA's library has no constructors but such as all programs that use it run.
    if cfg!(target_os = "linux") && unsafe { Library::new("libcuda.so.1") }.is_ok() {
        return Err("this machine has NVIDIA's driver".to_owned());
    }
    let library = compile()?;
    // SAFETY: It has no constructors but those of empty containers.
    unsafe { Library::new(library) }.map_err(|error| error.to_string())
}

/// Compiles the kernels and the driver to a library; returns its path.
fn compile() -> Result<PathBuf, String> {
    if !cfg!(target_os = "linux") {
        return Err("it is made for Linux".to_owned());
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut hasher = treewide::Hasher::new();
    let folders = ["shared", "cuda", "cuda/host"].map(|it| kernels.join(it));
    let files = folders.each_ref().map(|it| std::fs::read_dir(it).unwrap());
    let mut files: Vec<PathBuf> =
        files.into_iter().flatten().map(|it| it.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|it| it.is_file()) {
        hasher.update(&std::fs::read(file).unwrap());
    }
    let name = format!("cuda-{}.so", &hasher.finalize().to_hex()[..16]);
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if library.exists() {
        return Ok(library);
    }
    let compiler = std::env::var("CXX").unwrap_or("g++".to_owned());
    let unfinished = library.with_extension(std::process::id().to_string());
    let mut command = Command::new(&compiler);
    command.args([
        "-std=c++17",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unknown-pragmas",
        "-U_FORTIFY_SOURCE",
    ]);
    command.args(["-shared", "-fPIC", "-o"]).arg(&unfinished);
    command.args(["stages.cpp", "driver.cpp"].map(|it| kernels.join("cuda/host").join(it)));
    // By this name it is found in place of the driver.
    command.args(["-ldl", "-Wl,-soname,libcuda.so"]);
    let output = command.output().map_err(|error| format!("there is no {compiler}: {error}"))?;
    // If they do not compile, the tests must not run without them.
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(unfinished, &library).unwrap();
    Ok(library)
}
