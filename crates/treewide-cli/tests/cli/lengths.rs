//! The length of a file and the end of reading disagree: that is an error, never the digest of a part.
//!
//! The ways in which that shows:
//! - reading ends 1, 100 or all bytes before the length: a file by name, in a tree, in a list, on standard input, on a device;
//!   short files in lanes, files of one buffer, files in tiles, mapped files; every strategy; every mode
//! - reading continues past the length that the system states
//! - a list, or a key, that is read up to an end that is not its end
//! - both at once: a list of the digests of the parts, which a check of parts would call OK
//!
//! And where it must not show: lengths that are guesses (`/proc`, `/sys`, length 0), and files that grow (`input.rs`).
//! `crates/treewide/tests/lengths.rs` does the same with the functions of the library.

use crate::support::{Ended, Folder, Program, TREEWIDE, failure, find_program, hex, skip};
use std::fs;

struct Machine {
    folder: Folder,
    library: std::path::PathBuf,
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 1000 + at) as u8).collect()
}

impl Machine {
    fn new() -> Result<Self, String> {
        if !cfg!(target_env = "gnu") {
            return Err("the library replaces functions of glibc".into());
        }
        let cc = find_program("cc").ok_or("there is no cc")?;
        let folder = Folder::new();
        folder.write("lengths.c", include_str!("../../../treewide/tests/lengths.c"));
        let args = ["-shared", "-fPIC", "-o", "lengths.so", "lengths.c"];
        let compiled = folder.program(cc).args(args).run();
        if compiled.code != Some(0) {
            return Err(format!("cc cannot compile lengths.c: {}", compiled.stderr));
        }
        let library = folder.join("lengths.so");
        let machine = Self { folder, library };
        machine.folder.write("cut", content(1000));
        let ended =
            machine.disagreeing(100, machine.folder.program("head").args(["-c", "2000", "cut"]));
        if ended.stdout.len() != 900 {
            return Err("a library for LD_PRELOAD does not take effect".into());
        }
        Ok(machine)
    }

    /// Runs a program under the library, with `by` bytes between the ends.
    fn disagreeing(&self, by: usize, program: Program) -> Ended {
        program.env("LD_PRELOAD", &self.library).env("CUT", by.to_string()).run()
    }

    /// Runs treewide by a shell, for redirections.
    fn run(&self, by: usize, command: &str) -> Ended {
        let script = command.replace("treewide", "\"$0\"");
        self.disagreeing(by, self.folder.program("sh").args(["-c", &script, TREEWIDE]))
    }
}

const STRATEGIES: [&str; 5] = ["read", "read-overlapped", "pread", "mmap", "mmap-parallel"];

#[test]
fn a_file_that_ends_too_soon_has_no_digest() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("files that end too soon", why),
    };
    let mut cases = 0;
    let lens = [1, 100, 1_000, 65_536, 200_000, 500_000, 1_500_000, (17 << 20) + 5];
    for (round, len) in lens.into_iter().enumerate() {
        let whole = content(len);
        machine.folder.write("tree/cut", &whole);
        machine.folder.write("tree/near", "near");
        machine.folder.write("SUMS", format!("{}  tree/cut\n", hex(&whole)));
        for (turn, by) in [1, 100, len].into_iter().enumerate() {
            if by > len {
                continue;
            }
            let part = hex(&whole[..len - by]);
            machine.folder.write("PARTS", format!("{part}  tree/cut\n"));
            machine.folder.write("TAGGED", format!("BLAKE3 (tree/cut) = {part}\n"));
            let mut commands: Vec<String> = [
                "sum tree/cut",
                "sum --threads 1 tree/cut",
                "sum --no-mmap --drop-cache tree/cut",
                "sum --json tree/cut",
                "sum --derive-key context --length 70 tree/cut",
                "sum -r tree",
                "sum -r --threads 1 tree",
                "sum tree/near tree/cut",
                "sum <tree/cut",
                "sum - tree/near <tree/cut",
                "check SUMS",
                "check PARTS",
                "check TAGGED",
                "sum --check PARTS",
            ]
            .map(String::from)
            .into();
            for strategy in STRATEGIES {
                commands.push(format!("sum --strategy {strategy} tree/cut"));
                commands.push(format!("sum --strategy {strategy} <tree/cut"));
            }
            // Each command with each length once, and with each difference for some of them.
            for (place, command) in commands.into_iter().enumerate() {
                if (place + round) % 3 != turn {
                    continue;
                }
                let ended = machine.run(by, &format!("treewide {command}"));
                cases += 1;
                let text = String::from_utf8_lossy(&ended.stdout);
                let what = format!("{command}: {len} bytes, {by} less: {ended:?}");
                assert_eq!(ended.code, Some(failure(&command)), "{what}");
                let digest = |bytes: &[u8]| text.contains(&hex(bytes)[..]);
                assert!(!digest(&whole) && !digest(&whole[..len - by]), "{what}");
                assert!(!text.contains("cut: OK"), "{what}");
                let expected = format!("ended at {} of {len} bytes", len - by);
                assert!(ended.stderr.contains(&expected) || text.contains(&expected), "{what}");
                if command.contains("near") || command.contains("-r") {
                    assert!(text.contains(&hex("near")), "{what}");
                }
            }
        }
    }
    println!("files that end too soon: {cases} cases");
}

#[test]
fn a_file_that_goes_on_is_never_hashed_up_to_its_length() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("files that continue", why),
    };
    let mut cases = 0;
    for len in [100, 1_000, 65_536, 200_000, 500_000, 1_500_000, (17 << 20) + 5] {
        let whole = content(len);
        machine.folder.write("tree/low", &whole);
        for by in [1, 100] {
            machine.folder.write("PARTS", format!("{}  tree/low\n", hex(&whole[..len - by])));
            let mut commands: Vec<String> = [
                "sum tree/low",
                "sum --threads 1 tree/low",
                "sum -r tree",
                "sum <tree/low",
                "check PARTS",
                "sum --check PARTS",
            ]
            .map(String::from)
            .into();
            for strategy in STRATEGIES {
                commands.push(format!("sum --strategy {strategy} tree/low"));
            }
            for command in commands {
                let ended = machine.run(by, &format!("treewide {command}"));
                cases += 1;
                let text = String::from_utf8_lossy(&ended.stdout);
                let what = format!("{command}: {len} bytes, stated {by} less: {ended:?}");
                assert!(!text.contains(&hex(&whole[..len - by])), "{what}");
                // All bytes may have been read.
                let is_whole = ended.code == Some(0) && text.contains(&hex(&whole));
                let says = || ended.stderr.contains("continues after") || text.contains("FAILED");
                assert!(is_whole || matches!(ended.code, Some(1 | 3)) && says(), "{what}");
            }
        }
    }
    println!("files that continue: {cases} cases");
}

#[test]
fn a_list_that_ends_too_soon_fails() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("lists that end too soon", why),
    };
    machine.folder.write("a", "a");
    machine.folder.write("b", "b");
    let (first, last) = (format!("{}  a\n", hex("a")), format!("{}  b\n", hex("b")));
    let list = format!("{first}{last}");
    machine.folder.write("cut", &list);
    // One that fills more than a buffer.
    machine.folder.write("cut-long", format!("{}{last}", first.repeat(2000)));
    let utf16 = |text: &str| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    machine.folder.write("cut-16", utf16(&list));
    for (name, line) in [("cut", last.len()), ("cut-long", last.len()), ("cut-16", 2 * last.len())]
    {
        let len = machine.folder.join(name).metadata().unwrap().len() as usize;
        for by in [line, len] {
            let expected = format!("ended at {} of {len} bytes", len - by);
            for command in [
                "check NAME",
                "check <NAME",
                "check - <NAME",
                "sum --check NAME",
                "sum --check <NAME",
            ] {
                if name == "cut-16" && command.starts_with("sum") {
                    continue; // as `b3sum` does, it takes UTF-8 only
                }
                let ended = machine.run(by, &format!("treewide {}", command.replace("NAME", name)));
                ended.fails(failure(command), &[&expected]);
            }
        }
    }
}

#[test]
fn a_list_that_is_the_rest_of_standard_input_fails_too() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("the rest of standard input", why),
    };
    machine.folder.write("a", "a");
    let line = format!("{}  a\n", hex("a"));
    machine.folder.write("cut", format!("first\n{line}{line}"));
    let ended = machine.run(line.len(), "{ read -r line; exec treewide check; } <cut");
    ended.fails(3, &["ended at 74 of 142 bytes"]);
}

#[test]
fn a_key_that_ends_too_soon_fails() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("keys that end too soon", why),
    };
    machine.folder.write("a", "a");
    // What is left of the second one is as long as a key.
    for (len, by) in [(32, 1), (33, 1), (100, 68)] {
        machine.folder.write("cut", content(len));
        let ended = machine.run(by, "treewide sum --keyed a <cut");
        ended.fails(1, &["key", &format!("ended at {} of {len} bytes", len - by)]);
        assert!(ended.stdout.is_empty());
    }
    machine.folder.write("low", content(33));
    machine.run(1, "treewide sum --keyed a <low").fails(1, &["more than 32 key bytes"]);
}

/// With the device that there is.
#[cfg(feature = "gpu")]
#[test]
fn a_device_hashes_no_file_that_ends_too_soon() {
    let machine = match Machine::new() {
        Ok(machine) => machine,
        Err(why) => return skip("files that end too soon, on devices", why),
    };
    let devices = machine.folder.treewide("devices").run();
    let is_usable = |backend: &&str| {
        let usable = |line: &str| line.starts_with(*backend) && line.contains("  usable");
        devices.text().lines().any(usable)
    };
    let backends: Vec<_> = ["cuda", "wgpu"].into_iter().filter(is_usable).collect();
    if backends.is_empty() {
        return skip("files that end too soon, on devices", "there is no device");
    }
    for len in [1_000, 500_000, (17 << 20) + 5] {
        for name in ["cut", "low"] {
            machine.folder.write(name, content(len));
            for backend in &backends {
                for operand in [name.to_owned(), format!("<{name}")] {
                    let ended =
                        machine.run(100, &format!("treewide sum --device {backend} {operand}"));
                    // A short file may be read to its end without a question for its length.
                    if name == "low" && ended.code == Some(0) {
                        assert!(ended.text().starts_with(&hex(content(len))), "{ended:?}");
                        continue;
                    }
                    ended.fails(1, &[if name == "cut" { "ended at " } else { "continues after" }]);
                    assert!(ended.stdout.is_empty(), "{ended:?}");
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn lengths_that_are_guesses_do_not_count() {
    let folder = Folder::with(&["empty/a"]);
    let mut cases = 0;
    for path in [
        "/proc/self/status",
        "/proc/version",
        "/proc/sys/kernel/ostype",
        "/proc/cpuinfo",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/notes",
        "/sys/fs/cgroup/cgroup.controllers",
        "/sys/devices/system/cpu/online",
    ] {
        let Ok(content) = fs::read(path) else {
            println!("SKIPPED: {path}: cannot be read");
            continue;
        };
        // It names the process.
        let changes = path.contains("self") || path.contains("cpuinfo");
        let line = |name: &str| format!("{}  {name}\n", hex(&content));
        for command in [
            format!("sum {path}"),
            format!("sum --strategy pread {path}"),
            format!("sum --strategy mmap-parallel {path}"),
        ] {
            let ended = folder.treewide(&command).run();
            cases += 1;
            assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
            assert_eq!(ended.stderr, "", "{command}");
            assert!(changes || ended.text() == line(path), "{command}: {ended:?}");
        }
        let script = format!("exec \"$0\" sum <{path}");
        let ended = folder.program("sh").args(["-c", &script, TREEWIDE]).run();
        assert!(ended.code == Some(0) && (changes || ended.text() == line("-")), "{ended:?}");
        if !changes {
            folder.write("SUMS", line(path));
            folder.treewide("check SUMS").run().fails(0, &["1 OK"]);
        }
    }
    println!("lengths that are guesses: {cases} cases");
}
