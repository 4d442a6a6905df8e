//! The commands: what they accept, refuse, and write. Nothing here asserts a time.

#[cfg(unix)]
#[path = "../../../crates/treewide/tests/common/waiting.rs"]
mod waiting;

use std::path::Path;
use std::process::{Command, Output};

fn bench(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treewide-bench"));
    command.current_dir(dir).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn every_command_measures_and_its_report_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    let bars = "title = \"T\"\n[[bars]]\nwhat = \"batch\"\ncounts = [2]\nsizes = [\"9\"]\n\
                engine = \"treewide\"\nagainst = \"blake3\"\nat_least = 0.001\naim = 2.0\n\
                [[bars]]\nwhat = \"merkle\"\nsizes = [\"8\"]\nengine = \"treewide\"\n\
                against = \"blake3\"\nat_least = 0.001\n\
                [[bars]]\nwhat = \"xof\"\nsizes = [\"100\"]\nengine = \"treewide\"\n\
                against = \"blake3\"\nat_least = 0.001\n\
                [[bars]]\nwhat = \"hash\"\nsizes = [\"64KiB\"]\nengine = \"treewide@2\"\n\
                against = \"treewide\"\nat_least = 0.001\nbusy = true\npool = \"rest\"\n";
    std::fs::write(dir.path().join("gate.toml"), bars).unwrap();
    let commands: &[&[&str]] = &[
        &["compare", "--sizes", "0,1KiB", "--mode", "keyed"],
        &["compare", "--sizes", "100", "--mode", "derive", "--class", "streaming", "--fill", "hot"],
        &["compare", "blake3", "blake3", "--sizes", "1..3/1", "--class", "reuse"],
        &["gate", "gate.toml"],
    ];
    for command in commands {
        let args = [command, &["--budget", "1", "--json", "report.json"][..]].concat();
        let output = bench(dir.path(), &args);
        assert!(output.status.success(), "{command:?}: {}", said(&output));
        let output = bench(dir.path(), &["validate", "report.json"]);
        let said = said(&output);
        assert!(output.status.success() || said.contains("build.commit"), "{command:?}: {said}");
    }
    println!("{} cases", commands.len());
}

#[test]
fn unknown_names_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (&["compare", "treewide", "md5"][..], "there is no engine 'md5'"),
        (&["compare", "treewide"], "at least two engines"),
        (&["compare", "treewide", "blake3@none"], "no number of threads"),
        (&["compare", "--sizes", "1XB"], "there is no unit 'XB'"),
        (&["compare", "--sizes", "9..1/1"], "the range 9..1/1 is empty"),
        (&["compare", "--mode", "sign"], "invalid value 'sign'"),
        (&["compare", "--class", "resident"], "one-shot, reuse, streaming"),
        (&["compare", "--fill", "l4"], "invalid value 'l4'"),
        (&["compare", "--faster"], "unexpected argument '--faster'"),
        (&["compare", "--budget", "0"], "invalid value '0'"),
        (&["compare", "--confidence", "1"], "a confidence is a number"),
        (&["compare", "--sizes", "0..9GiB/1"], "at most 100000"),
        (&["compare", "--sizes", "9999999999TiB"], "more than 2^64 - 1"),
        (&["compare", "--sizes", "999999GiB"], "of memory of this machine"),
        (&["compare", "--sizes", "1GiB", "--fill", "l1"], "fill more than L1"),
        (&["compare", "treewide:mmx", "blake3", "--sizes", "64"], "no such kernel"),
        (&["gpu", "--class", "quick"], "invalid value 'quick'"),
        (&["tune", "--only", "turbo"], "invalid value 'turbo'"),
        (&["report", "--into", "none"], "cannot read none"),
        (&["report", "--into", "none", "--markdown"], "cannot be used with"),
        (&["race"], "unrecognized subcommand 'race'"),
        (&["validate"], "required"),
    ] {
        let output = bench(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{args:?}: {}", said(&output));
    }
}

/// Before anything is measured, which may take minutes.
#[test]
fn what_cannot_be_written_is_told_first() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for args in [&["compare", "--json", "gone/report.json"][..], &["report", "--json", "folder"]] {
        let output = bench(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains("cannot write"), "{args:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{args:?} measured");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "something was left");
}

/// A table that cannot be printed does not cost the report.
#[cfg(target_os = "linux")]
#[test]
fn reports_are_written_though_standard_output_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_treewide-bench"))
        .current_dir(dir.path())
        .args(["compare", "--sizes", "64", "--budget", "1", "--json", "report.json"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot write to standard output"), "{}", said(&output));
    let report = std::fs::read_to_string(dir.path().join("report.json")).unwrap();
    assert!(report.ends_with("}\n"));
}

/// A run that a signal ends leaves nothing behind.
#[cfg(unix)]
#[test]
fn interrupted_runs_leave_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let bar = "title = \"T\"\n[[bars]]\nwhat = \"program\"\nsizes = [\"70000\"]\n\
               engine = \"treewide-cli\"\nagainst = \"b3sum\"\nat_least = 1.0\n";
    std::fs::write(dir.path().join("gate.toml"), bar).unwrap();
    // A program that takes as long as the bench runs.
    let program = dir.path().join("program");
    let waits = "#!/bin/sh\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.1; done\n";
    std::fs::write(&program, waits).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let left = || std::fs::read_dir(dir.path()).unwrap().count();
    let mut child = Command::new(env!("CARGO_BIN_EXE_treewide-bench"))
        .current_dir(dir.path())
        .args(["gate", "gate.toml", "--budget", "600000", "--json", "report.json"])
        .env("TREEWIDE", &program)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It is written after its name is known to be removed.
    let written = || {
        let mut files = std::fs::read_dir(dir.path()).unwrap();
        files.any(|it| it.unwrap().metadata().is_ok_and(|it| it.len() == 70_000))
    };
    waiting::wait_for(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        written().then_some(())
    });
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "{status}");
    assert_eq!(left(), 2, "more than the gate and the program");
}

/// The twin of the kernels is always there; devices may be.
#[test]
fn devices_are_measured_or_what_was_found_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let gpu = |args: &[&str]| {
        let common = ["gpu", "--sizes", "0,70000", "--budget", "1", "--json", "report.json"];
        bench(dir.path(), &[&common, args].concat())
    };
    if cfg!(not(feature = "gpu")) {
        let output = gpu(&[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("--features gpu"), "{}", said(&output));
        return;
    }
    let output = gpu(&["--device", "twin"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("staged 70000 B on twin: the CPU hashes"), "{}", said(&output));
    let output = gpu(&["--device", "twin", "--class", "file", "--sizes", "300KiB"]);
    assert!(said(&output).contains("file 300 KiB on twin"), "{}", said(&output));
    let output = gpu(&["--device", "twin"]);
    for class in ["resident", "private", "end-to-end"] {
        let row = format!("{class} 70000 B on twin");
        assert!(said(&output).contains(&row), "{row}: {}", said(&output));
    }
    let output = bench(dir.path(), &["validate", "report.json"]);
    let said_of_it = said(&output);
    assert!(output.status.success() || said_of_it.contains("build.commit"), "{said_of_it}");
    // There may be one; it is found or not, but never a panic.
    let output = gpu(&["--device", "wgpu", "--class", "resident,staged"]);
    match output.status.code() {
        Some(0) => assert!(said(&output).contains("resident 70000 B on wgpu")),
        Some(1) => assert!(said(&output).contains("no device to measure")),
        code => panic!("{code:?}: {}", said(&output)),
    }
    let output = gpu(&["--index", "999"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("no device to measure"), "{}", said(&output));
}

/// What `tune` sets, and what it leaves out.
fn tuned(dir: &Path, args: &[&str]) -> Vec<String> {
    let common = ["tune", "--budget", "1", "--json", "report.json"];
    let output = bench(dir, &[&common, args].concat());
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    let advice = String::from_utf8(output.stdout).unwrap();
    let output = bench(dir, &["validate", "report.json"]);
    let said_of_it = said(&output);
    assert!(output.status.success() || said_of_it.contains("build.commit"), "{said_of_it}");
    let (lines, json) = advice.split_once("# As JSON:\n").unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let name = |line: &str| match line.strip_prefix("# ") {
        Some(comment) => comment.split_once(": left out.").map(|(name, _)| name.to_owned()),
        None => Some(line.split_once('=').expect("a name and a value").0.to_owned()),
    };
    let set = lines.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(json.as_object().unwrap().len(), set, "{advice}");
    lines.lines().filter_map(name).collect()
}

/// Whatever it finds: times are not for a test.
#[test]
fn tune_names_a_kernel_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let names = tuned(dir.path(), &["--only", "kernel"]);
    assert!(names.is_empty() || names == ["TREEWIDE_KERNEL"], "{names:?}");
}

/// The twin of the kernels has every class; a program on the CPU that passes for a GPU is measured only
/// if it is asked for; a missing device is reported.
#[test]
fn tune_finds_minimums_for_a_device_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let tune = |args: &[&str]| {
        let common = ["tune", "--budget", "1", "--only", "gpu"];
        bench(dir.path(), &[&common, args].concat())
    };
    if cfg!(not(feature = "gpu")) {
        for args in [&[][..], &["--device", "twin"]] {
            let output = tune(args);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
            assert!(said(&output).contains("--features gpu"), "{}", said(&output));
        }
        return;
    }
    let all = ["minimum", "--device-minimum"];
    assert_eq!(tuned(dir.path(), &["--only", "gpu", "--device", "twin"]), all);
    let output = tune(&["--index", "999"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("no device to tune for"), "{}", said(&output));
    let output = tune(&["--device", "wgpu"]);
    match output.status.code() {
        Some(0) => assert!(said(&output).contains("--device-minimum")),
        Some(2) => assert!(said(&output).contains("no device to tune for")),
        code => panic!("{code:?}: {}", said(&output)),
    }
    // Without a name it is for real devices only, and there may be some.
    let output = tune(&[]);
    if !said(&output).contains("minimum=") {
        assert!(said(&output).contains("so no lengths for one"), "{}", said(&output));
    }
}

#[test]
fn sides_on_different_threads_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output =
        bench(dir.path(), &["compare", "treewide@2", "blake3", "--sizes", "64", "--budget", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("sides on different numbers of threads"), "{}", said(&output));
}

#[test]
fn an_optional_engine_works_or_says_how_to_build_it() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["compare", "treewide", "rscrypto", "--sizes", "64,3KiB", "--budget", "1"];
    let output = bench(dir.path(), &args);
    let is_built = cfg!(rscrypto);
    assert_eq!(output.status.success(), is_built, "{}", said(&output));
    let expected = if is_built { "rscrypto" } else { "--cfg rscrypto" };
    assert!(said(&output).contains(expected), "{}", said(&output));
}

/// The exit codes of gates, with bars that no machine can miss or meet.
#[test]
fn gates_tell_met_short_and_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let gate = |at_least: &str, rest: &str| {
        let text = format!(
            "title = \"T\"\n[[bars]]\nwhat = \"hash\"\nsizes = [\"64\"]\nengine = \"treewide\"\n\
             against = \"blake3\"\nat_least = {at_least}\n{rest}"
        );
        std::fs::write(dir.path().join("gate.toml"), text).unwrap();
        bench(dir.path(), &["gate", "gate.toml", "--budget", "1", "--json", "gate.json"])
    };
    let met = gate("0.0001", "aim = 2.0");
    assert_eq!(met.status.code(), Some(0), "{}", said(&met));
    assert!(said(&met).contains("T: 1 met, 0 short, 0 inconclusive"));
    let report = std::fs::read_to_string(dir.path().join("gate.json")).unwrap();
    assert!(report.contains("\"verdict\":\"met\""));
    let awake = gate("0.0001", "pool = \"awake\"");
    assert_eq!(awake.status.code(), Some(0), "{}", said(&awake));
    let report = std::fs::read_to_string(dir.path().join("gate.json")).unwrap();
    assert!(report.contains("pool awake") && report.contains("\"pool\":\"awake\""));
    let short = gate("10000.0", "");
    assert_eq!(short.status.code(), Some(1), "{}", said(&short));
    assert!(said(&short).contains("SHORT"));
    for (at_least, rest, expected) in [
        ("1.0", "atleast = 2", "unknown field"),
        ("-1.0", "", "not a ratio"),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nsizes = [\"64\"]\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "asked for twice",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "this needs sizes",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nsizes = [\"64\"]\nengine = \"treewide\"\nagainst = \"md5\"\nat_least = 2.0",
            "no engine 'md5'",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nsizes = [\"64\"]\nengine = \"treewide\"\nagainst = \"treewide\"\nat_least = 2.0",
            "against itself",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"xof\"\nsizes = [\"64\"]\nfill = \"l1\"\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "fill works with hash, keyed and derive only",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"batch\"\nsizes = [\"64\"]\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "counts with sizes, or a shape",
        ),
        ("1.0", "[[bars]]\nwhat = \"hush\"", "unknown variant"),
        ("1.0", "[[bars]]\nsizes = 3", "invalid type"),
        ("\"1\"", "", "invalid type"),
        ("nan", "", "not a ratio"),
    ] {
        let wrong = gate(at_least, rest);
        assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
        assert!(said(&wrong).contains(expected), "{expected}: {}", said(&wrong));
    }
}

/// The library ignores it; a measurement must not.
#[test]
fn a_kernel_that_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_treewide-bench"))
        .current_dir(dir.path())
        .env("TREEWIDE_KERNEL", "mmx")
        .args(["compare", "--sizes", "64", "--budget", "1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("TREEWIDE_KERNEL=mmx: there is no such kernel"),
        "{}",
        said(&output)
    );
}

/// As harnesses of other languages print them.
#[test]
fn samples_of_other_programs_are_judged() {
    let document = include_str!("../README.md");
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("good.jsonl"), example).unwrap();
    std::fs::write(dir.path().join("short.jsonl"), example.replace("1.5", "1.8")).unwrap();
    std::fs::write(dir.path().join("wrong.jsonl"), "{}").unwrap();
    for (args, code, expected) in [
        (&["report", "good.jsonl"][..], 0, "1 met, 0 short"),
        (&["report", "good.jsonl"], 0, "41.0 ns"),
        (&["report", "good.jsonl", "--markdown"], 0, "blake3 / treewide |"),
        (&["report", "short.jsonl"], 1, "hash 64 B, blake3"),
        (&["report", "wrong.jsonl"], 2, "wrong.jsonl: line 1: missing field `name`"),
        (&["report", "none.jsonl"], 2, "cannot read none.jsonl"),
        (&["report", "-"], 2, "-: no samples"),
        (&["validate", "good.jsonl"], 0, "good.jsonl: valid"),
        (&["validate", "wrong.jsonl"], 1, "wrong.jsonl: line 1"),
    ] {
        let output = bench(dir.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{args:?}: {}", said(&output));
    }
}
