//! Which kernel hashes: the choice at the first use, the variable, `force`, and their errors.
//!
//! The choice is one for the whole process. Tests that change it take turns; the first use, and
//! the variable, are observed in child processes, which are this program again with one test to
//! run. CPUs that we do not have are models of an emulator.

mod common;
mod reference;

use common::{Tally, edge_lengths, pattern, sample};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use treewide::kernel::{self, Kernel};

/// Makes tests that force a kernel or start children take turns, and goes back to the best kernel afterwards. (Children:
/// an emulator that forks while another of its threads is busy can leave a child that waits for ever.)
struct Turn(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Turn {
    fn take() -> Turn {
        static TURN: Mutex<()> = Mutex::new(());
        Turn(TURN.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        kernel::force("auto").unwrap();
    }
}

fn supported() -> Vec<&'static Kernel> {
    kernel::all().iter().copied().filter(|kernel| kernel.is_supported()).collect()
}

/// The first that runs, of several for the same instructions, as `avx2-zen5` and `avx2-common`, the one that has a
/// record.
fn suited() -> &'static Kernel {
    let suits =
        |kernel: &&'static Kernel| !kernel.name().contains('-') || kernel.record().is_some();
    supported().into_iter().find(suits).expect("portable suits")
}

/// "a b c, or auto", as errors list the kernels.
fn choices() -> String {
    let names: Vec<_> = supported().iter().map(|kernel| kernel.name()).collect();
    format!("{}, or auto", names.join(" "))
}

#[test]
fn every_kernel_has_a_name_and_a_width() {
    let mut names: Vec<_> = kernel::all().iter().map(|kernel| kernel.name()).collect();
    println!("of this build: {names:?}, detected: {}", kernel::detected().name());
    assert!(kernel::all().iter().all(|kernel| (1..=32).contains(&kernel.degree())));
    assert!(names.contains(&"portable") && !names.contains(&"auto"));
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "two kernels have one name");
    let portable = kernel::all().iter().find(|kernel| kernel.name() == "portable").unwrap();
    assert!(portable.is_supported());
    assert_eq!(format!("{portable:?}"), r#"Kernel { name: "portable", degree: 1 }"#);
}

#[test]
fn lanes_of_arrays_come_before_one_lane_where_the_build_has_vectors() {
    let vectors = match std::env::consts::ARCH {
        "x86" | "x86_64" => cfg!(target_feature = "sse2"),
        "aarch64" => true,
        "s390x" => cfg!(target_feature = "vector"),
        "powerpc64" => cfg!(any(target_endian = "little", target_feature = "vsx")),
        "riscv64" => cfg!(target_feature = "v"),
        "loongarch64" => cfg!(target_feature = "lsx"),
        "wasm32" => cfg!(target_feature = "simd128"),
        "arm" => cfg!(target_feature = "neon"),
        other => return println!("SKIPPED: the expected kernels of {other} are unknown"),
    };
    let has_own = match std::env::consts::ARCH {
        "x86_64" | "wasm32" => vectors,
        "aarch64" => cfg!(target_endian = "little"),
        _ => false,
    };
    let place = |name| kernel::all().iter().position(|kernel| kernel.name() == name);
    // Kernels for the vectors of the target take its place, and it would only cost time to compile.
    assert_eq!(place("array").is_none(), has_own);
    assert!(has_own || (place("array") < place("portable")) == vectors);
}

#[test]
fn auto_is_the_first_that_suits() {
    let _turn = Turn::take();
    let best = kernel::force("auto").unwrap();
    assert!(std::ptr::eq(best, suited()));
    assert!(std::ptr::eq(best, kernel::detected()));
}

#[test]
fn forcing_each_by_name() {
    let _turn = Turn::take();
    let input = pattern(40 * 1024);
    for kernel in kernel::all() {
        let before = kernel::detected();
        match kernel::force(kernel.name()) {
            Ok(forced) => {
                assert!(std::ptr::eq(forced, *kernel) && std::ptr::eq(forced, kernel::detected()));
            }
            Err(error) => {
                assert!(!kernel.is_supported());
                let name = kernel.name();
                assert_eq!(
                    error.to_string(),
                    format!("this CPU cannot run the kernel '{name}'; use one of: {}", choices())
                );
                assert!(std::ptr::eq(before, kernel::detected()), "a failure changes nothing");
                println!("SKIPPED: kernel {name}: this CPU does not run it");
                continue;
            }
        }
        let mut tally = Tally::new(format!("{} digests", kernel.name()));
        for len in sample(edge_lengths(input.len())) {
            assert_eq!(treewide::hash(&input[..len]), *blake3::hash(&input[..len]).as_bytes());
            tally.case();
        }
    }
}

#[test]
fn names_that_do_not_exist() {
    let _turn = Turn::take();
    let before = kernel::detected();
    for name in ["", " ", "AVX2", "avx2 ", "avx3", "portable,avx2", "automatic", "\0", "ß"] {
        let error = kernel::force(name).unwrap_err();
        let expected = format!("there is no such kernel; use one of: {}", choices());
        assert_eq!(error.to_string(), expected, "{name:?}");
        assert!(std::ptr::eq(before, kernel::detected()));
    }
}

/// Objects that exist switch with the process, at any point of their input.
#[test]
fn switching_in_the_middle() {
    let _turn = Turn::take();
    let input = pattern(100_003);
    let expected = *blake3::hash(&input).as_bytes();
    let kernels = supported();
    let mut hasher = treewide::Hasher::new();
    for (i, piece) in input.chunks(1789).enumerate() {
        kernel::force(kernels[i % kernels.len()].name()).unwrap();
        hasher.update(piece);
    }
    assert_eq!(hasher.finalize(), expected);
    let mut output = vec![0; 10_000];
    let mut reader = hasher.finalize_xof();
    for (i, piece) in output.chunks_mut(777).enumerate() {
        kernel::force(kernels[i % kernels.len()].name()).unwrap();
        reader.fill(piece);
    }
    let mut expected = vec![0; 10_000];
    blake3::Hasher::new().update(&input).finalize_xof().fill(&mut expected);
    assert_eq!(output, expected);
}

/// Says to the child test what it is for.
const CHILD: &str = "TREEWIDE_TEST_CHILD";
const VARIABLE: &str = "TREEWIDE_KERNEL";

/// The child process: threads that all hash first; each must see the same kernel.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        println!("nothing to do: this is for the tests that start a child");
        return;
    }
    // By every width of pass that has five chunks or fewer; output by one, two, four and eight lanes.
    let input = pattern(5000);
    let mode = reference::Mode::hash();
    let cases =
        [0, 64, 1024, 2048, 3000, 5000].map(|len| (&input[..len], mode.xof(&input[..len], 0, 500)));
    let check = |(input, expected): &(&[u8], Vec<u8>)| {
        assert_eq!(treewide::hash(input).as_bytes()[..], expected[..32]);
        for len in [64, 128, 200, 500] {
            let mut output = vec![0; len];
            treewide::Hasher::new().update(input).finalize_xof().fill(&mut output);
            assert_eq!(output, expected[..len]);
        }
    };
    let names: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    cases.iter().for_each(check);
                    kernel::detected().name()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Result<_, _>>()
    })
    .unwrap_or_else(|_| std::process::exit(9));
    assert!(names.iter().all(|name| *name == names[0]));
    println!("detected={}", names[0]);
    let explained = treewide::explain(64).to_string();
    println!("{explained}");
    let ignored = explained.lines().find_map(|line| line.strip_prefix("ignored: "));
    assert_eq!(treewide::check_environment().err().map(|it| it.to_string()).as_deref(), ignored);
}

/// Under an emulator, the emulator; it finds libraries by the variable `QEMU_LD_PREFIX`.
const EMULATOR: &str = match std::env::consts::ARCH.as_bytes() {
    b"aarch64" => "qemu-aarch64",
    b"x86" => "qemu-i386",
    b"powerpc64" => "qemu-ppc64le",
    b"riscv64" => "qemu-riscv64",
    b"s390x" => "qemu-s390x",
    _ => "qemu-x86_64",
};

/// What starts this program as a child: nothing, or an emulator if we run in one.
fn starter() -> Option<&'static [&'static str]> {
    if cfg!(any(miri, target_family = "wasm")) {
        println!("SKIPPED: no processes here");
        return None;
    }
    let mut ways: [&[&str]; 2] = [&[], &[EMULATOR]];
    if std::env::var_os("QEMU_CPU").is_some() {
        // The system may start it too, but on a CPU that is not the one of this process.
        ways.reverse();
    }
    let way = ways.into_iter().find(|way| {
        command(way).arg("--list").output().is_ok_and(|output| output.status.success())
    });
    if way.is_none() {
        println!("SKIPPED: children of this program: neither the system nor {EMULATOR} starts one");
    }
    way
}

/// This program, with something before it.
fn command(starter: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    match starter {
        [] => Command::new(program),
        [first, more @ ..] => {
            let mut command = Command::new(first);
            command.args(more).arg(program);
            command
        }
    }
}

/// What a child found.
#[derive(Debug, PartialEq)]
struct Found {
    kernel: String,
    ignored: Vec<String>,
}

fn ask(starter: &[&str], variables: &[(&str, &str)]) -> Found {
    let mut command = command(starter);
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, "1");
    command.env_remove(VARIABLE).envs(variables.iter().copied());
    let output = command.output().expect("a child");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let after =
        |mark| text.lines().filter_map(move |line| Some(line.split_once(mark)?.1.to_owned()));
    Found {
        kernel: after("detected=").next().expect("an answer"),
        ignored: after("ignored: ").collect(),
    }
}

fn found(kernel: &str, ignored: &[&str]) -> Found {
    Found { kernel: kernel.into(), ignored: ignored.iter().map(|&it| it.into()).collect() }
}

#[test]
fn the_variable() {
    let _turn = Turn::take();
    let Some(starter) = starter() else { return };
    let best = suited().name();
    assert_eq!(ask(starter, &[]), found(best, &[]));
    for value in ["", "auto"] {
        assert_eq!(ask(starter, &[(VARIABLE, value)]), found(best, &[]));
    }
    for kernel in supported() {
        assert_eq!(ask(starter, &[(VARIABLE, kernel.name())]), found(kernel.name(), &[]));
    }
    let why = format!("there is no such kernel; use one of: {}", choices());
    for (value, shown) in [("avx3", "avx3"), ("AVX512", "AVX512"), ("a\x1b[m", "a\\u{1b}[m")] {
        let ignored = format!("TREEWIDE_KERNEL={shown}: {why}");
        assert_eq!(ask(starter, &[(VARIABLE, value)]), found(best, &[&ignored]));
    }
}

#[test]
fn an_instruction_set_is_the_kernel_that_suits() {
    let _turn = Turn::take();
    for kernel in supported() {
        let set = kernel.name().split('-').next().unwrap();
        let forced = kernel::force(set).unwrap();
        let alone = forced.name() == set;
        assert!(forced.name().starts_with(set) && (alone || forced.record().is_some()), "{set}");
        assert!(std::ptr::eq(forced, kernel::detected()));
    }
}

/// Models of CPUs with the right choice for each; then one, what is asked for in vain there, and the answer.
struct Models {
    chosen: &'static [(&'static str, &'static str)],
    lacks: (&'static str, &'static str, &'static str),
}

/// The emulator has no AVX-512.
const X86_64: Models = Models {
    chosen: &[
        // No SSSE3; SSSE3 without SSE4.1. (SSE4.1 without SSSE3 is too much for glibc.)
        ("qemu64", "sse2"),
        ("Conroe", "sse2"),
        ("Penryn", "sse41"),
        ("Nehalem", "sse41"),
        // AVX without AVX2; AVX2 without the OS's XSAVE; AVX2 without AVX.
        ("SandyBridge", "sse41"),
        ("Haswell,-xsave", "sse41"),
        ("Haswell,-avx", "sse41"),
        ("Haswell", "avx2-common"),
        ("EPYC", "avx2-zen1"),
        ("EPYC-Rome", "avx2-common"),
        ("EPYC-Milan", "avx2-common"),
        // By vendor and family, which are in pieces.
        ("EPYC-Rome,family=26", "avx2-zen5"),
        ("Haswell,vendor=AuthenticAMD,family=26", "avx2-zen5"),
        ("max", "avx2-common"),
    ],
    lacks: (
        "Nehalem",
        "avx2",
        "this CPU cannot run the kernel 'avx2-common'; \
         use one of: sse41 sse2 portable, or auto",
    ),
};

/// The CPU models of the emulator of Debian 12.
const AARCH64: Models = Models {
    chosen: &[
        // Nothing for SHA-3, and no SVE; SVE without SVE2.
        ("cortex-a53", "neon-two-ports"),
        ("cortex-a72", "neon-two-ports"),
        ("cortex-a76", "neon-two-ports"),
        ("neoverse-n1", "neon-two-ports"),
        ("a64fx", "neon-two-ports"),
        // SHA-3 without SVE; with SVE2.
        ("max,sve=off", "neon-four-ports"),
        ("max", "sve2"),
    ],
    lacks: (
        "cortex-a72",
        "sve2",
        "this CPU cannot run the kernel 'sve2'; use one of: neon-four-ports neon-two-ports portable, or auto",
    ),
};

#[test]
fn models_of_cpus() {
    let Models { chosen, lacks } = match std::env::consts::ARCH {
        "x86_64" if cfg!(all(target_os = "linux", not(miri))) => X86_64,
        "aarch64" if cfg!(all(target_os = "linux", target_endian = "little", not(miri))) => AARCH64,
        _ => {
            println!("SKIPPED: models of CPUs: they are of x86-64 and AArch64 under Linux");
            return;
        }
    };
    let _turn = Turn::take();
    if Command::new(EMULATOR).arg("--version").output().is_err() {
        println!("SKIPPED: models of CPUs: {EMULATOR} is not installed");
        return;
    }
    for (model, expected) in chosen {
        assert_eq!(ask(&[EMULATOR, "-cpu", model], &[]), found(expected, &[]), "{model}");
    }
    let (model, value, answer) = lacks;
    let ignored = format!("TREEWIDE_KERNEL={value}: {answer}");
    let best = chosen.iter().find(|it| it.0 == model).expect("a model above").1;
    let asked = ask(&[EMULATOR, "-cpu", model], &[(VARIABLE, value)]);
    assert_eq!(asked, found(best, &[&ignored]));
    println!("{} models", chosen.len());
}
