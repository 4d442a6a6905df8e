//! System calls of hashing memory on several threads: nothing about the machine. The
//! program runs itself under strace, where strace is installed. It has a `main` of its own, as the usual
//! runner of tests reads `/proc` and `/sys` itself.

use std::env;
use std::fs;
use std::process::{Command, ExitCode};

use rayon::prelude::*;
use treewide::{Batch, Hasher, hash, hash_parallel, merkle};

/// What the traced program writes once the threads of the pool have started, and when it has hashed.
const BEGIN: &str = "the pool is there";
const END: &str = "everything is hashed";

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("traced-pool") => start(false),
        Some("traced-hashing") => {
            start(true);
            hash_all();
        }
        _ => return test(),
    }
    ExitCode::SUCCESS
}

/// Starts the global pool, by hashing or by rayon alone, and has each of its threads allocate once.
fn start(by_hashing: bool) {
    hash(b"the first hash chooses a kernel");
    if by_hashing {
        hash_parallel(&vec![0; 4 << 20]);
    } else {
        (0..2).into_par_iter().for_each(|_| {});
    }
    rayon::broadcast(|context| vec![0_u8; 1000 + context.index()]);
    eprintln!("{BEGIN}");
}

/// Hashes 1 KiB to 64 MiB in each way that takes several threads.
fn hash_all() {
    let mut bytes = vec![7; 64 << 20];
    for _ in 0..2 {
        for size in (10..=26).map(|bits| 1 << bits) {
            let digest = hash_parallel(&bytes[..size]);
            assert_eq!(digest, hash(&bytes[..size]));
            assert_eq!(digest, Hasher::new().update_rayon(&bytes[..size]).finalize());
        }
        let blobs: Vec<&[u8]> = bytes.chunks(100_000).collect();
        assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs), treewide::hash_many(&blobs));
        let leaves = &bytes.as_chunks().0[..1 << 18];
        assert_eq!(merkle::root_parallel(leaves), merkle::root(leaves));
        Hasher::new().finalize_xof().fill_parallel(&mut bytes);
    }
    eprintln!("{END}");
}

fn test() -> ExitCode {
    let (passed, ignored) = match traced() {
        Ok([of_pool, of_hashing]) => {
            compare(&of_pool, &of_hashing);
            (1, 0)
        }
        Err(reason) => {
            println!("SKIPPED: system calls of hashing: {reason}");
            (0, 1)
        }
    };
    println!("test result: ok. {passed} passed; 0 failed; {ignored} ignored;");
    ExitCode::SUCCESS
}

/// The system calls of the program that starts the pool, and of the program that hashes, or why they
/// cannot be had.
fn traced() -> Result<[String; 2], String> {
    // Where cargo has a runner, strace would see what the emulator asks of the system.
    let is_runner = |name: &str| name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER");
    let mut names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    if let Some(name) = names.find(|name| is_runner(name)) {
        return Err(format!("{name} is set, so an emulator may run this program"));
    }
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let path = env::temp_dir().join(format!("treewide-strace-{}", std::process::id()));
    let strace = |program: &std::path::Path, args: &[&str]| {
        let calls = "trace=%file,sched_setaffinity,sched_getaffinity,sched_yield,getcpu,write";
        let mut command = Command::new("strace");
        command.args(["-f", "-e", calls, "-o"]).arg(&path).arg(program).args(args);
        command.output().map_err(|error| format!("strace cannot be started: {error}"))
    };
    // Not in every container.
    let output = strace("true".as_ref(), &[])?;
    if !output.status.success() {
        return Err(format!("strace fails: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Command::new(&program)
        .arg("traced-pool")
        .output()
        .map_err(|error| format!("this program cannot start itself: {error}"))?;
    let mut calls = [String::new(), String::new()];
    for (calls, name) in calls.iter_mut().zip(["traced-pool", "traced-hashing"]) {
        let output = strace(&program, &[name])?;
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        *calls = fs::read_to_string(&path).expect("strace has written it");
    }
    let _ = fs::remove_file(&path); // it does no harm if it stays
    Ok(calls)
}

fn compare(of_pool: &str, of_hashing: &str) {
    let (start_of_pool, _) = of_pool.split_once(BEGIN).expect("the pool starts");
    let (start, rest) = of_hashing.split_once(BEGIN).expect("the pool starts");
    let (hashing, _) = rest.split_once(END).expect("everything is hashed");
    // At the start: what rayon asks, and not a call more.
    assert_eq!(about_the_machine(start), about_the_machine(start_of_pool));
    assert!(!of_hashing.contains("sched_setaffinity"), "threads are bound to CPUs");
    // While hashing: nothing.
    assert_eq!(about_the_machine(hashing), Vec::<String>::new());
    // Threads of the pool yield when they look for work, which is rayon's way. The caller does not.
    let caller = of_hashing.split(' ').next().expect("a number");
    let yields = |line: &&str| line.starts_with(caller) && line.contains("sched_yield");
    assert_eq!(hashing.lines().filter(yields).count(), 0, "the caller yields");
}

/// Calls that ask or tell the system something about its CPUs or its processes: their names, and the paths
/// that they have, sorted.
fn about_the_machine(calls: &str) -> Vec<String> {
    let mut found: Vec<String> = calls
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(_thread, call)| call.trim_start())
        .filter(|call| !call.starts_with("<...") && !call.starts_with("execve"))
        .filter(|call| {
            ["\"/proc", "\"/sys", "affinity", "getcpu"].iter().any(|word| call.contains(word))
        })
        .map(|call| {
            let name = call.split('(').next().unwrap_or_default();
            format!("{name} {}", call.split('"').nth(1).unwrap_or_default())
        })
        .collect();
    found.sort_unstable();
    found
}
