//! The programs in `docs/gpu.md`, as they stand there, with a driver for the CPU; and what is said there of
//! `scripts/gpu.sh`.
#![cfg(all(feature = "cuda", target_os = "linux"))]

mod common;

use common::cuda_on_cpu;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is between the marks of that language.
fn program(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gpu.md");
    let text = std::fs::read_to_string(path).unwrap();
    let after = text.split(&format!("```{language}\n")).nth(1).expect(language);
    after.split("```").next().unwrap().to_owned()
}

/// The library for other languages, and the driver; or nothing, saying why.
fn libraries() -> Option<(PathBuf, PathBuf)> {
    // Loaded by a program of its own below: this only shows whether there is another driver.
    if let Err(cause) = cuda_on_cpu::load() {
        println!("SKIPPED: programs in docs/gpu.md: {cause}");
        return None;
    }
    let driver = cuda_on_cpu::compile(&["stages.cpp", "driver.cpp"], &[]).unwrap();
    let deps = std::env::current_exe().unwrap();
    let library = deps.parent().unwrap().with_file_name("examples/libtreewide_gpu_c.so");
    if !library.exists() {
        println!(
            "SKIPPED: programs in docs/gpu.md: examples were not built: cargo build --examples"
        );
        return None;
    }
    Some((library, driver))
}

/// What it prints, with that driver.
fn run(command: &mut Command, driver: &Path) -> String {
    let output = command.env("LD_PRELOAD", driver).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_for_pytorch() {
    let Some((library, driver)) = libraries() else { return };
    let folder = tempfile::tempdir().unwrap();
    // What it uses of PyTorch, for tensors in memory of the host.
    let torch = r#"
import ctypes, random, types

class Tensor:
    def __init__(self, data, offset=0):
        self.data, self.offset = (ctypes.c_ubyte * max(len(data), 1))(*data), offset
        self.len, self.device = len(data) - offset, types.SimpleNamespace(index=0)
    def contiguous(self): return self
    def data_ptr(self): return ctypes.addressof(self.data) + self.offset if self.len else 0
    def numel(self): return self.len
    def element_size(self): return 1
    def bytes(self): return bytes(self.data)[self.offset:][:self.len]

def randn(*shape, device): return Tensor(random.Random(str(shape)).randbytes(150001 * len(shape)))

stream = types.SimpleNamespace(cuda_stream=0)
cuda = types.SimpleNamespace(current_stream=lambda index: stream)
"#;
    std::fs::write(folder.path().join("torch.py"), torch).unwrap();
    let from = "target/release/examples/libtreewide_gpu_c.so";
    let text = program("python");
    assert!(text.contains(from));
    let more = r#"
assert digests([]) == []
tensors = list(model.values()) + [torch.Tensor(b""), torch.Tensor(bytes(range(250)) * 30, 7)]
for tensor, digest in zip(tensors, digests(tensors)):
    print("tensor", digest, tensor.bytes().hex())
try:
    check(lib.treewide_gpu_open(7, None, ctypes.byref(ctypes.c_void_p())))
except RuntimeError as error:
    print("error", error)
"#;
    let text = text.replace(from, library.to_str().unwrap()) + more;
    std::fs::write(folder.path().join("program.py"), text).unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("SKIPPED: the program for PyTorch: there is no python3");
    }
    let printed = run(Command::new("python3").arg(folder.path().join("program.py")), &driver);
    let tensors: Vec<_> =
        printed.lines().filter_map(|line| line.strip_prefix("tensor ")?.split_once(' ')).collect();
    assert_eq!(tensors.len(), 4, "{printed}");
    for (digest, bytes) in tensors {
        let digit = |i| u8::from_str_radix(&bytes[i..i + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..bytes.len()).step_by(2).map(digit).collect();
        assert_eq!(digest, blake3::hash(&bytes).to_hex().as_str(), "{} bytes", bytes.len());
    }
    assert!(
        printed.contains("error there is no CUDA device 7: the driver knows of 2"),
        "{printed}"
    );
}

#[test]
fn the_program_for_c_plus_plus() {
    let Some((library, driver)) = libraries() else { return };
    let folder = tempfile::tempdir().unwrap();
    // What it uses of the CUDA runtime.
    std::fs::write(folder.path().join("cuda_runtime.h"), "typedef void *cudaStream_t;\n").unwrap();
    let more = r#"
#include <cstdio>
int main() {
    static uint8_t bytes[200001];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = i % 251;
    for (uint8_t byte : digest(bytes + 1, sizeof bytes - 1, 0, nullptr)) std::printf("%02x", byte);
    try {
        digest(bytes, 1, -1, nullptr);
    } catch (const std::runtime_error &error) {
        std::printf(" %s\n", error.what());
    }
}
"#;
    let (source, program_path) = (folder.path().join("main.cpp"), folder.path().join("main"));
    std::fs::write(&source, program("cpp") + more).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/treewide-gpu-c");
    let mut compiler = Command::new(std::env::var("CXX").unwrap_or("g++".to_owned()));
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"]).arg(headers);
    compiler.arg("-I").arg(folder.path()).arg(&source).arg(&library).arg("-o").arg(&program_path);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder_of_library = library.parent().unwrap();
    let printed =
        run(Command::new(program_path).env("LD_LIBRARY_PATH", folder_of_library), &driver);
    let bytes: Vec<u8> = (1..200_001).map(|i| (i % 251) as u8).collect();
    let expected = blake3::hash(&bytes).to_hex();
    assert!(printed.starts_with(expected.as_str()), "{printed}");
    assert!(printed.contains(" there is no CUDA device -1"), "{printed}");
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gpu.sh")
}

/// A machine may be lent for ten minutes.
#[test]
fn the_steps_of_measuring_end_in_time() {
    let text = std::fs::read_to_string(script()).unwrap();
    let steps = text.lines().filter_map(|line| line.strip_prefix("    step "));
    let seconds: Vec<u32> =
        steps.map(|it| it.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(seconds.len() >= 7, "{seconds:?}");
    assert!(seconds.iter().sum::<u32>() <= 580, "{seconds:?}");
}

#[test]
fn without_pytorch_its_program_is_not_run_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("torch.py"), "raise ImportError('none of it')\n").unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("SKIPPED: the program for PyTorch: there is no python3");
    }
    let mut command = Command::new("bash");
    command.arg(script()).arg("torch").arg(folder.path()).env("PYTHONPATH", folder.path());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    assert!(printed.starts_with("NOT RUN: no PyTorch with a GPU here: ImportError"), "{printed}");
}
