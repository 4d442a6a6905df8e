//! The usage lines of `scripts/gpu.sh`.
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
fn without_the_wheel_it_is_not_tested_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("python3").args(["-m", "pip", "--version"]).output().is_err() {
        return println!("SKIPPED: the step for Python: there is no python3");
    }
    for step in ["torch", "weights"] {
        let mut bash = Command::new("bash");
        let output = bash.arg(script()).arg(step).arg(folder.path()).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(77), "{output:?}");
        assert!(printed.starts_with("NOT RUN: pip cannot install the wheel"), "{printed}");
    }
}
