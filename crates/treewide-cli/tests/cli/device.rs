//! Hashing on GPUs, or what takes their place on this machine.

use crate::support::{Folder, TREEWIDE};
use std::process::{Command, Output, Stdio};

fn treewide(folder: &Folder, args: &[&str]) -> Output {
    let mut command = Command::new(TREEWIDE);
    command.args(args).current_dir(folder.path());
    command.stdin(Stdio::null());
    command.output().unwrap()
}

/// The backends that have a usable device.
fn usable(folder: &Folder) -> Vec<&'static str> {
    let list = treewide(folder, &["explain"]);
    assert!(list.status.success());
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(!list.is_empty(), "what is missing has a line too");
    let is_usable = |backend: &&str| {
        list.lines().any(|line| line.starts_with(*backend) && line.contains("  usable"))
    };
    ["cuda", "wgpu"].into_iter().filter(is_usable).collect()
}

#[test]
fn digests_are_the_same_on_every_device() {
    let folder = Folder::new();
    let content: Vec<u8> = (0..(17 << 20) + 7).map(|i: u32| (i % 251) as u8).collect();
    for len in [0, 1, 1025, 300_000, content.len()] {
        folder.write(len.to_string(), &content[..len]);
    }
    let files = ["0", "1", "1025", "300000", "17825799"];
    let sum = |more: &[&str]| {
        let output = treewide(&folder, &[&["sum"], more, &files].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let backends = usable(&folder);
    for mode in [&[][..], &["--derive-key", "a context"], &["--length", "100", "--seek", "7"]] {
        let expected = sum(mode);
        for device in [&["auto", "cpu"], &backends[..]].concat() {
            assert_eq!(sum(&[&["--device", device], mode].concat()), expected, "{device}");
        }
    }
    println!("devices: {} cases", backends.len() + 2);
}

/// Mesa's drivers look for one where no one has asked for a window.
#[test]
fn devices_are_found_without_a_word_about_window_systems() {
    let mut command = Command::new(TREEWIDE);
    command.arg("explain").env_remove("XDG_RUNTIME_DIR").env_remove("NODEVICE_SELECT");
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !error.contains("XDG_RUNTIME_DIR"), "{error}");
    if !String::from_utf8_lossy(&output.stdout).contains("wgpu 0  llvmpipe") {
        println!("SKIPPED: what lavapipe writes to standard error: there is no lavapipe");
    }
}

/// The digest is the same on the CPU and on a GPU, if there is one.
#[test]
fn device_minimum_gives_long_files_to_a_device() {
    let folder = Folder::with(&["a"]);
    folder.write("long", vec![7; 3 << 20]);
    let expected = treewide(&folder, &["sum", "--device", "cpu", "a", "long"]);
    for minimum in ["0", "1M", "64M", "1T"] {
        let output = treewide(&folder, &["sum", "--device-minimum", minimum, "a", "long"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, expected.stdout, "{minimum}");
    }
    let wrong = treewide(&folder, &["sum", "--device-minimum", "soon", "a"]);
    assert_eq!(wrong.status.code(), Some(2));
    let explained = treewide(&folder, &["explain", "2"]).stdout;
    let explained = String::from_utf8(explained).unwrap();
    assert!(explained.contains("auto: the CPU hashes a file of this length"), "{explained}");
}

#[test]
fn what_is_forced_and_absent_is_an_error_that_says_what_was_found() {
    let folder = Folder::with(&["a"]);
    for backend in ["cuda", "wgpu"] {
        if usable(&folder).contains(&backend) {
            println!("skipped: there is a {backend} device");
            continue;
        }
        let output = treewide(&folder, &["sum", "--device", backend, "a"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("there is no {backend} device that can be used; cuda 0:");
        assert!(error.contains(&expected), "{error}");
    }
    let output = treewide(&folder, &["sum", "--device", "gpu", "a"]);
    assert_eq!(output.status.code(), Some(2));
}

/// A library that has the driver's name and nothing of a driver, and no library at all.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_broken_driver_is_an_error_that_says_so() {
    let folder = Folder::with(&["a"]);
    folder.write("nothing.c", b"int nothing;\n");
    let compiler = std::env::var("CC").unwrap_or("cc".to_owned());
    let args = ["-shared", "nothing.c", "-o", "libcuda.so"];
    let status = Command::new(&compiler).args(args).current_dir(folder.path()).status();
    if !status.is_ok_and(|status| status.success()) {
        println!("SKIPPED: a broken driver: {compiler} does not make one");
        return;
    }
    folder.write("text/libcuda.so", b"no library\n");
    for (libraries, expected) in
        [(folder.path(), "cuCtxPopCurrent_v2: it is broken"), (&folder.join("text"), "")]
    {
        let run = |args: &[&str]| {
            let mut command = Command::new(TREEWIDE);
            command.args(args).current_dir(folder.path());
            let output = command.env("LD_LIBRARY_PATH", libraries).output().unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (output.status.code(), text(output.stdout), text(output.stderr))
        };
        let (code, list, error) = run(&["explain"]);
        assert_eq!(code, Some(0), "{error}");
        let (code, _, error) = run(&["sum", "--device", "cuda", "a"]);
        if list.lines().any(|line| line.starts_with("cuda") && line.contains("  usable")) {
            println!("SKIPPED: a broken driver: this machine has one that works");
            continue;
        }
        assert!(list.contains("cannot be used") && list.contains(expected), "{list}");
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("there is no cuda device") && error.contains(expected), "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_said_as_ever() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("dir")).unwrap();
    for path in ["dir", "missing"] {
        let expected = treewide(&folder, &["sum", path]);
        for device in usable(&folder) {
            let output = treewide(&folder, &["sum", "--device", device, path]);
            assert_eq!(output.status.code(), Some(1));
            // Drivers have their own say before that.
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.stderr.ends_with(&expected.stderr), "{error}");
        }
    }
}
