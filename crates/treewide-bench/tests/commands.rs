//! The commands: what they accept, refuse, and write. Nothing here asserts a time.

use std::path::Path;
use std::process::{Command, Output};

fn bench(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treewide-bench"));
    command.current_dir(dir).env_remove("TREEWIDE_PROFILE").args(args).output().unwrap()
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
    let commands: &[&[&str]] = &[
        &["compare", "--sizes", "0,1KiB", "--mode", "keyed"],
        &["compare", "--sizes", "100", "--mode", "derive", "--class", "streaming", "--fill", "hot"],
        &["compare", "blake3", "blake3", "--sizes", "1..3/1", "--class", "reuse"],
        &["kernels", "--sizes", "64"],
        &["attribution", "--sizes", "64,1KiB"],
        &["xof", "--sizes", "100"],
        &["files", "--sizes", "70000"],
        &["sustained", "1", "--size", "64KiB"],
    ];
    for command in commands {
        let mut args = command.to_vec();
        if command[0] != "sustained" {
            args.extend(["--budget", "1"]);
        }
        args.extend(["--json", "report.json", "--html", "page.html"]);
        let output = bench(dir.path(), &args);
        assert!(output.status.success(), "{command:?}: {}", said(&output));
        let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        // Self-contained: nothing is fetched.
        assert!(!page.contains("<script") && !page.contains("<link") && !page.contains("url("));
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
        (&["compare", "--sizes", "1KB"], "'KB' is no unit"),
        (&["compare", "--sizes", "9..1/1"], "the range 9..1/1 is empty"),
        (&["compare", "--mode", "sign"], "invalid value 'sign'"),
        (&["compare", "--class", "resident"], "one-shot, reuse or streaming"),
        (&["compare", "--fill", "l4"], "invalid value 'l4'"),
        (&["compare", "--faster"], "unexpected argument '--faster'"),
        (&["compare", "--budget", "0"], "invalid value '0'"),
        (&["compare", "--confidence", "1"], "a confidence is a number"),
        (&["race"], "unrecognized subcommand 'race'"),
        (&["validate"], "required"),
    ] {
        let output = bench(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{args:?}: {}", said(&output));
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
fn optional_engines_work_or_name_their_feature() {
    let dir = tempfile::tempdir().unwrap();
    for (name, built) in [
        ("rscrypto", cfg!(feature = "rscrypto")),
        ("sha2", cfg!(feature = "sha2")),
        ("ring", cfg!(feature = "ring")),
    ] {
        let args = ["compare", "treewide", name, "--sizes", "64,3KiB", "--budget", "1"];
        let output = bench(dir.path(), &args);
        assert_eq!(output.status.success(), built, "{name}: {}", said(&output));
        let expected = if built { name.to_owned() } else { format!("--features {name}") };
        assert!(said(&output).contains(&expected), "{name}: {}", said(&output));
    }
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
    let short = gate("10000.0", "");
    assert_eq!(short.status.code(), Some(1), "{}", said(&short));
    assert!(said(&short).contains("SHORT"));
    for (at_least, rest, expected) in [
        ("1.0", "atleast = 2", "unknown field"),
        ("-1.0", "", "no ratio"),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nsizes = [\"64\"]\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "asked for twice",
        ),
        (
            "1.0",
            "[[bars]]\nwhat = \"hash\"\nengine = \"treewide\"\nagainst = \"blake3\"\nat_least = 2.0",
            "sizes are what this needs",
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
    ] {
        let wrong = gate(at_least, rest);
        assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
        assert!(said(&wrong).contains(expected), "{expected}: {}", said(&wrong));
    }
}

#[test]
fn a_profile_is_loaded_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        std::fs::write(dir.path().join("profile"), text).unwrap();
        Command::new(env!("CARGO_BIN_EXE_treewide-bench"))
            .current_dir(dir.path())
            .env("TREEWIDE_PROFILE", "profile")
            .env_remove("TREEWIDE_KERNEL")
            .args(["compare", "--sizes", "64", "--budget", "1"])
            .output()
            .unwrap()
    };
    let output = with("kernel = \"portable\"\n");
    assert!(
        output.status.success() && said(&output).contains("kernel portable"),
        "{}",
        said(&output)
    );
    let output = with("kernels = \"portable\"\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("TREEWIDE_PROFILE: profile: line 1"), "{}", said(&output));
}
