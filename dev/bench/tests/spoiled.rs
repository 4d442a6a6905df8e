//! The validator rejects reports that were spoiled, of each kind.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_treewide-bench");

/// A report of two rows, measured here and now in little time.
fn report(dir: &Path) -> Value {
    let path = dir.join("report.json");
    let status = Command::new(PROGRAM)
        .args(["compare", "treewide", "blake3", "--sizes", "64,3KiB", "--budget", "1", "--json"])
        .arg(&path)
        .output()
        .expect("the program runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let mut report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    // Built where there is no git, or no repository, a report has no commit, which is a fault of its own.
    if report["build"]["commit"] == "" {
        report["build"]["commit"] = json!("0".repeat(40));
        seal(&mut report);
    }
    report
}

/// The exit code and what was said.
fn validate(dir: &Path, report: &Value, flags: &[&str]) -> (i32, String) {
    let path = dir.join("spoiled.json");
    std::fs::write(&path, report.to_string()).unwrap();
    let output = Command::new(PROGRAM).arg("validate").args(flags).arg(path).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Seals an edited report again, so that the seal alone does not find the edit.
fn seal(report: &mut Value) {
    report.as_object_mut().unwrap().remove("seal");
    let seal = blake3::hash(report.to_string().as_bytes()).to_hex().to_string();
    report["seal"] = json!(seal);
}

type Spoil = fn(&mut Value);

#[test]
fn each_kind_of_spoiling_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let good = report(dir.path());
    let (code, said) = validate(dir.path(), &good, &[]);
    assert_eq!((code, said.contains(": valid")), (0, true), "{said}");

    // What is spoiled, and what the validator says of it.
    let cases: &[(&str, Spoil, &str)] = &[
        ("another version", |r| r["schema"] = json!("treewide-bench/2"), "schema: not"),
        ("a name too many", |r| r["rows"][0]["note"] = json!("fast"), "unknown field"),
        (
            "a name missing",
            |r| _ = r["machine"].as_object_mut().unwrap().remove("cpu"),
            "missing field",
        ),
        ("a wrong type", |r| r["seconds"] = json!("1"), "invalid type"),
        (
            "an unknown class of work",
            |r| r["rows"][0]["work"]["kind"] = json!("guess"),
            "unknown variant",
        ),
        ("no commit", |r| r["build"]["commit"] = json!(""), "build.commit"),
        ("no CPU", |r| r["machine"]["cpu"] = json!(""), "machine.cpu"),
        ("no compiler", |r| r["build"]["rustc"] = json!("gcc"), "build.rustc"),
        ("no command", |r| r["command"] = json!([]), "command"),
        ("no time", |r| r["started"] = json!("yesterday"), "started"),
        ("no rows", |r| r["rows"] = json!([]), "rows"),
        (
            "a memory that peaked below what it was",
            |r| r["memory"]["rss"] = json!(1_u64 << 60),
            "memory",
        ),
        (
            "a better median",
            |r| {
                let median = r["rows"][0]["sides"][0]["stats"]["median"].as_f64().unwrap();
                r["rows"][0]["sides"][0]["stats"]["median"] = json!(median * 0.9);
            },
            "statistics of treewide do not follow",
        ),
        (
            "a narrower interval",
            |r| {
                let median = r["rows"][1]["ratios"][0]["median"].clone();
                r["rows"][1]["ratios"][0]["low"] = median.clone();
                r["rows"][1]["ratios"][0]["high"] = json!(median.as_f64().unwrap() * 1.0001);
            },
            "ratios do not follow",
        ),
        (
            "a percentile of few samples",
            |r| {
                let max = r["rows"][0]["sides"][0]["stats"]["max"].clone();
                for side in r["rows"][0]["sides"].as_array_mut().unwrap() {
                    side["samples_ns"].as_array_mut().unwrap().truncate(15);
                }
                r["rows"][0]["sides"][0]["stats"]["p95"] = max;
            },
            "statistics of treewide do not follow",
        ),
        (
            "a sample removed",
            |r| {
                r["rows"][0]["sides"][0]["samples_ns"].as_array_mut().unwrap().pop();
            },
            "samples, where an odd number",
        ),
        (
            "too few samples",
            |r| {
                for side in r["rows"][0]["sides"].as_array_mut().unwrap() {
                    side["samples_ns"].as_array_mut().unwrap().truncate(3);
                }
            },
            "3 samples",
        ),
        (
            "a sample edited",
            |r| {
                let samples = r["rows"][0]["sides"][0]["samples_ns"].as_array_mut().unwrap();
                samples.iter_mut().for_each(|it| *it = json!(it.as_u64().unwrap() / 2 + 1));
            },
            "do not follow from its samples",
        ),
        (
            "a sample of no time",
            |r| r["rows"][0]["sides"][0]["samples_ns"][0] = json!(0),
            "took no time",
        ),
        (
            "calls edited",
            |r| {
                for side in r["rows"][0]["sides"].as_array_mut().unwrap() {
                    side["calls"] = json!(1_000_000);
                }
            },
            "do not follow",
        ),
        (
            "calls of one side edited",
            |r| r["rows"][0]["sides"][1]["calls"] = json!(1_000_000),
            "another number of calls",
        ),
        (
            "different threads",
            |r| r["rows"][0]["sides"][1]["threads"] = json!(2),
            "different numbers of threads",
        ),
        ("two rows of one name", |r| r["rows"][1]["id"] = r["rows"][0]["id"].clone(), "same id"),
        (
            "two sides of one name",
            |r| {
                r["rows"][0]["sides"][1]["name"] = r["rows"][0]["sides"][0]["name"].clone();
            },
            "two sides are called",
        ),
        (
            "a side's digest",
            |r| {
                r["rows"][0]["sides"][0]["digest_after"] = json!("0".repeat(64));
            },
            "gave another digest after it was timed",
        ),
        (
            "all digests, alike",
            |r| {
                let wrong = json!("0".repeat(64));
                r["rows"][0]["digests"]["blake3"] = wrong.clone();
                for side in r["rows"][0]["sides"].as_array_mut().unwrap() {
                    side["digest_before"] = wrong.clone();
                    side["digest_after"] = wrong.clone();
                }
            },
            "not that of the inputs",
        ),
        ("another seed", |r| r["settings"]["seed"] = json!(2), "not that of the inputs"),
        (
            "more bytes than were hashed",
            |r| r["rows"][0]["bytes"] = json!(1 << 20),
            "bytes do not follow",
        ),
        (
            "more inputs than there is memory",
            |r| r["rows"][0]["work"]["buffers"] = json!(u64::MAX),
            "more than half of the memory",
        ),
        ("no inputs", |r| r["rows"][0]["work"]["buffers"] = json!(0), "no inputs"),
        (
            "a batch of more blobs than there is memory",
            |r| {
                r["rows"][0]["work"] = json!({ "kind": "batch", "shape": {
                    "lengths": "uniform", "count": u64::MAX, "max": u64::MAX } });
            },
            "more than half of the memory",
        ),
        (
            "a tree of no leaves",
            |r| r["rows"][0]["work"] = json!({ "kind": "merkle", "leaves": 0 }),
            "bytes do not follow",
        ),
        (
            "an engine that the build has not",
            |r| r["rows"][0]["sides"][1]["engine"] = json!("md5"),
            "build.engines has no md5",
        ),
        (
            "more time sampled than there was",
            |r| r["seconds"] = json!(0.001),
            "seconds is missing or impossible",
        ),
        ("another class", |r| r["rows"][0]["class"] = json!("streaming"), "class does not follow"),
        (
            "a verdict of nothing",
            |r| {
                r["bars"] = json!([{ "row": "gone", "at_least": 1.0, "verdict": "met" }]);
            },
            "there is no such row",
        ),
        (
            "a kinder verdict",
            |r| {
                let row = r["rows"][0]["id"].clone();
                r["bars"] = json!([{ "row": row, "at_least": 1000.0, "verdict": "met" }]);
            },
            "verdict does not follow",
        ),
    ];
    for (name, spoil, expected) in cases {
        let mut spoiled = good.clone();
        spoil(&mut spoiled);
        seal(&mut spoiled);
        let (code, said) = validate(dir.path(), &spoiled, &[]);
        assert_eq!(code, 1, "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        // A wrong seal is reported as well, unless the report cannot even be read.
        let mut unsealed = good.clone();
        spoil(&mut unsealed);
        if !expected.contains("field")
            && !expected.contains("schema")
            && !expected.contains("invalid type")
            && !expected.contains("variant")
        {
            let (_, said) = validate(dir.path(), &unsealed, &[]);
            assert!(said.contains("seal: the report was edited"), "{name}: {said}");
        }
    }
    println!("{} cases", cases.len());
}

#[test]
fn an_edit_that_nothing_else_contradicts_breaks_the_seal() {
    let dir = tempfile::tempdir().unwrap();
    let mut edited = report(dir.path());
    edited["machine"]["cpu"] = json!("a slower one");
    let (code, said) = validate(dir.path(), &edited, &[]);
    assert!(code == 1 && said.contains("seal: the report was edited"), "{said}");
}

#[test]
fn a_record_comes_from_a_commit_and_an_optimised_build() {
    let dir = tempfile::tempdir().unwrap();
    let mut edited = report(dir.path());
    edited["build"]["dirty"] = json!(true);
    edited["build"]["profile"] = json!("debug, opt-level 0");
    seal(&mut edited);
    let (code, said) = validate(dir.path(), &edited, &["--record"]);
    assert_eq!(code, 1);
    assert!(said.contains("in no commit") && said.contains("not an optimised build"), "{said}");
}

/// Nor is a table made of it.
#[test]
fn figures_that_do_not_follow_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut spoiled = report(dir.path());
    spoiled["rows"][0]["ratios"] = json!([]);
    seal(&mut spoiled);
    std::fs::write(dir.path().join("spoiled.json"), spoiled.to_string()).unwrap();
    for args in [&["report", "spoiled.json"][..], &["report", "--markdown", "spoiled.json"]] {
        let output = Command::new(PROGRAM).current_dir(dir.path()).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot be shown"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_is_no_report_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text.json");
    std::fs::write(&path, "{").unwrap();
    let output = Command::new(PROGRAM).arg("validate").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let output =
        Command::new(PROGRAM).arg("validate").arg(dir.path().join("none")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("none"));
}
