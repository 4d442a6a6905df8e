//! What `scripts/gpu.sh` says of itself.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

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
