//! Completions, man pages, version, help.

use crate::support::{Folder, TREEWIDE, find_program, skip};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn completions_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = folder.treewide("completions").arg(shell).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
        for word in ["treewide", "sum", "check", "ignore-missing", "recursive"] {
            assert!(ended.text().contains(word), "{shell}: {word}");
        }
    }
    folder.treewide("completions tcsh").run().fails(2, &["possible values: bash"]);
}

#[test]
fn bash_takes_the_completions() {
    if find_program("bash").is_none() {
        return skip("completions in bash", "there is no bash");
    }
    let folder = Folder::new();
    let completions = folder.treewide("completions bash").run();
    folder.write("completions", &completions.stdout);
    let script = r#"source ./completions
        COMP_WORDS=(treewide check --ig) COMP_CWORD=2
        _treewide treewide --ig check && echo "${COMPREPLY[*]}""#;
    let ended = folder.program("bash").arg("-c").arg(script).run();
    assert_eq!(ended.text().trim(), "--ignore-missing", "{}", ended.stderr);
}

#[test]
fn man_pages() {
    let folder = Folder::new();
    for (args, title, words) in [
        ("man", ".TH treewide 1", &["treewide\\-sum(1)", "Exit status"][..]),
        ("man sum", ".TH treewide-sum 1", &["\\-\\-derive\\-key", "Examples"]),
        ("man check", ".TH treewide-check 1", &["\\-\\-ignore\\-missing", "Exit status"]),
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        for word in words.iter().chain([&title]) {
            assert!(ended.text().contains(word), "{args}: {word}");
        }
        if find_program("groff").is_none() {
            skip("man pages through groff", "there is no groff");
            continue;
        }
        let mut groff = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        groff.stdin.take().unwrap().write_all(&ended.stdout).unwrap();
        let output = groff.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args}");
    }
}

#[test]
fn version_and_help() {
    let folder = Folder::new();
    let version = format!("treewide {}\n", env!("CARGO_PKG_VERSION"));
    folder.treewide("--version").run().is(0, &version, "");
    folder.treewide("-V").run().is(0, &version, "");
    for args in ["sum --version", "check -V"] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        assert!(ended.text().contains(env!("CARGO_PKG_VERSION")), "{args}: {}", ended.text());
    }
    for args in ["--help", "help", "sum --help", "check -h", "help check", "man --help"] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        assert!(ended.text().contains("Usage: treewide"), "{args}");
    }
}

#[test]
fn texts_that_cannot_be_written_are_errors() {
    if !std::path::Path::new("/dev/full").exists() {
        return skip("texts on a full disk", "there is no /dev/full");
    }
    let folder = Folder::new();
    for (program, args) in [
        ("treewide", "--help"),
        ("treewide", "help"),
        ("treewide", "help check"),
        ("treewide", "sum -h"),
        ("treewide", "--version"),
        ("treewide", "explain"),
        ("treewide", "man"),
        ("b3sum", "--help"),
        ("b3sum", "--version"),
    ] {
        let script = format!("exec -a {program} '{TREEWIDE}' {args} > /dev/full");
        let ended = folder.program("bash").args(["-c", &script]).run();
        let cause = "standard output: No space left on device (os error 28)";
        ended.is(1, "", format!("{program}: {cause}\n"));
    }
}

/// Every flag says what it does, and the long help has examples and exit codes.
#[test]
fn help_is_complete() {
    let folder = Folder::new();
    for command in ["sum", "check"] {
        let help = folder.treewide(command).arg("-h").run();
        for line in help.text().lines().filter(|line| line.trim_start().starts_with('-')) {
            let text = line.trim().split_once("  ");
            assert!(text.is_some_and(|(_, text)| !text.is_empty()), "{command}: {line}");
        }
        let long = folder.treewide(command).arg("--help").run();
        assert!(long.text().contains("Examples:"));
        assert!(long.text().contains("Exit status:"));
    }
}
