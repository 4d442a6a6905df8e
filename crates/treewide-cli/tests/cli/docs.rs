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

/// The words of the command that bash runs for the typed text, with the completions for both names.
fn completed(folder: &Folder, typed: &str) -> String {
    let place = Folder::new();
    for program in ["treewide", "b3sum"] {
        let completions = folder.treewide("completions bash --for").arg(program).run();
        place.write(program, completions.stdout);
    }
    let place = place.path().display();
    let script = format!(
        "source {place}/treewide; source {place}/b3sum; said() {{ printf '<%s>' \"$@\" >{place}/said; }}
         treewide() {{ said treewide \"$@\"; }}; b3sum() {{ said b3sum \"$@\"; }}\n{typed}\nexit\n"
    );
    let bash = ["-qec", "bash --norc --noprofile -i", "/dev/null"];
    let ended = folder.program("script").args(bash).env("INPUTRC", "/dev/null").stdin(script).run();
    let said = std::fs::read_to_string(format!("{place}/said"));
    said.unwrap_or_else(|_| panic!("{typed:?} runs nothing: {ended:?}"))
}

#[test]
fn bash_completes_commands_options_and_files() {
    if find_program("bash").is_none() || find_program("script").is_none() {
        return skip("completions in an interactive bash", "there is no bash, or no script");
    }
    let folder = Folder::with(&["only file"]);
    for (typed, words) in [
        ("treewide che\t\t", "<treewide><check><only file>"),
        ("treewide sum \t", "<treewide><sum><only file>"),
        ("treewide sum --no-na\ton\t", "<treewide><sum><--no-names><only file>"),
        ("treewide sum -o \t", "<treewide><sum><-o><only file>"),
        ("treewide sum --device cu\t", "<treewide><sum><--device><cuda>"),
        ("treewide completions b\t", "<treewide><completions><bash>"),
        ("b3sum \t", "<b3sum><only file>"),
        ("b3sum --no-na\t\t", "<b3sum><--no-names><only file>"),
    ] {
        if typed.contains("--device") && !cfg!(feature = "gpu") {
            continue;
        }
        assert_eq!(completed(&folder, typed), words, "{typed:?}");
    }
}

#[test]
fn fish_completes_commands_options_and_files() {
    if find_program("fish").is_none() {
        return skip("completions in fish", "there is no fish");
    }
    let folder = Folder::with(&["only"]);
    folder.write("completions/treewide", folder.treewide("completions fish").run().stdout);
    folder.write("completions/b3sum", folder.treewide("completions fish --for b3sum").run().stdout);
    for (typed, word) in [
        ("treewide che", "check"),
        ("treewide sum on", "only"),
        ("treewide sum --no-n", "--no-names"),
        ("b3sum on", "only"),
        ("b3sum --no-n", "--no-names"),
    ] {
        let script =
            format!("source completions/treewide; source completions/b3sum; complete -C '{typed}'");
        let ended = folder.program("fish").args(["--no-config", "-c", &script]).run();
        let words: Vec<_> =
            ended.text().lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(words.contains(&word), "{typed}: {ended:?}");
    }
}

#[test]
fn man_pages_have_sections_of_their_own() {
    let folder = Folder::new();
    let sections = [".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", ".SH EXAMPLES", "TREEWIDE_KERNEL"];
    for (args, title, words) in [
        ("man", ".TH treewide 1", &["treewide\\-sum(1)", "128 + N"][..]),
        ("man sum", ".TH treewide-sum 1", &["\\-\\-derive\\-key", "tar c src | treewide sum"]),
        ("man check", ".TH treewide-check 1", &["\\-\\-ignore\\-missing", "nothing was verified"]),
        ("man snapshot", ".TH treewide-snapshot 1", &["\\-\\-exclude"]),
        ("man verify", ".TH treewide-verify 1", &["\\-\\-quick", "undetermined"]),
        ("man update", ".TH treewide-update 1", &["\\-\\-accept\\-rot"]),
        ("man diff", ".TH treewide-diff 1", &["friday.b3"]),
        ("man dupes", ".TH treewide-dupes 1", &["fclones remove"]),
        ("man missing", ".TH treewide-missing 1", &["bucket.b3"]),
        ("man manifest", ".TH treewide-manifest 1", &["treewide\\-manifest\\-stat"]),
        ("man tensors", ".TH treewide-tensors 1", &["base.tensors.b3"]),
        ("man explain", ".TH treewide-explain 1", &["100G"]),
        ("man completions", ".TH treewide-completions 1", &["b3sum"]),
        ("man man", ".TH treewide-man 1", &["man1"]),
        ("man outboard verify", ".TH treewide-outboard-verify 1", &["\\-\\-range"]),
        ("man manifest stat", ".TH treewide-manifest-stat 1", &["X.b3"]),
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        for word in words.iter().chain([&title]).chain(&sections) {
            assert!(ended.text().contains(word), "{args}: {word}");
        }
        // It has no page that another could refer to.
        assert!(!ended.text().contains("help(1)"), "{args}");
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

/// The packages of a release have them.
#[test]
fn release_finds_the_page_of_each_command() {
    let folder = Folder::new();
    let script = include_str!("../../../../scripts/release.sh");
    let (_, rest) = script.split_once("\ncommands() {").unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    for (of, names) in [("", 16), ("outboard", 5), ("manifest", 3), ("sum", 0)] {
        let script = format!("commands() {{{body}\n}}; commands \"$0\" {of}");
        let found = folder.program("bash").args(["-c", &script, TREEWIDE]).run();
        assert_eq!(found.text().lines().count(), names, "{of}: {found:?}");
        for name in found.text().lines() {
            folder.treewide(&format!("man {of} {name}")).run().fails(0, &[]);
        }
    }
}

#[test]
fn man_page_of_no_command_is_an_error() {
    let folder = Folder::new();
    let errors = ["`treewide outboard` has no command `mend`", "create, verify, repair"];
    folder.treewide("man outboard mend").run().fails(2, &errors);
    folder
        .treewide("man sum mend")
        .run()
        .fails(2, &["`treewide sum` has no command `mend`; it has none"]);
}

#[test]
fn version_and_help() {
    let folder = Folder::new();
    let version = format!("treewide {}\n", env!("CARGO_PKG_VERSION"));
    folder.treewide("-V").run().is(0, &version, "");
    let features = if cfg!(feature = "gpu") { "gpu" } else { "none (gpu was left out)" };
    let long = format!("{version}features: {features}\nkernel: portable\n");
    folder.treewide("--version").env("TREEWIDE_KERNEL", "portable").run().is(0, &long, "");
    let wrong = folder.treewide("--version").env("TREEWIDE_KERNEL", "fastest").run();
    assert!(wrong.text().starts_with(&version) && wrong.text().contains("TREEWIDE_KERNEL=fastest"));
    for args in ["sum --version", "check -V"] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        assert!(ended.text().contains(env!("CARGO_PKG_VERSION")), "{args}: {}", ended.text());
    }
    for args in [
        "--help",
        "help",
        "sum --help",
        "check -h",
        "help check",
        "man --help",
        "help -h",
        "help sum -h",
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args}");
        assert!(ended.text().contains("Usage: treewide"), "{args}");
    }
}

#[test]
fn help_of_the_program_fits_one_screen() {
    let folder = Folder::new();
    for args in ["--help", "-h", "help"] {
        let ended = folder.treewide(args).run();
        let lines: Vec<_> = ended.text().lines().collect();
        // The last row of a terminal has the next prompt.
        assert!(lines.len() <= 23, "{args}: {} lines", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= 80, "{args}: {line}");
        }
        for command in ["sum", "check", "snapshot", "outboard", "man"] {
            assert!(
                lines.iter().any(|line| line.starts_with(&format!("  {command} "))),
                "{args}: {command}"
            );
        }
        assert!(lines.last().is_some_and(|line| line.contains("treewide sum --help")), "{args}");
    }
    // It has the name that the program was called by.
    let script = format!("exec -a 'python -m treewide' '{TREEWIDE}' --help");
    let ended = folder.program("bash").args(["-c", &script]).run();
    assert!(
        ended
            .text()
            .contains("Usage: python -m treewide <FILE...|COMMAND>   FILE... prints digests"),
        "{ended:?}"
    );
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
        let cause = "standard output: cannot write: No space left on device (os error 28)";
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
        assert!(long.text().contains("TREEWIDE_KERNEL"));
    }
}

/// The jobs in `docs/photos.md`: what systemd says of them.
#[test]
fn jobs_for_each_night_have_the_right_form() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/photos.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let begin = format!("```{kind}\n");
        page.split(&begin).skip(1).map(|it| it.split("```").next().unwrap().to_owned()).collect()
    };
    let units = blocks("ini");
    assert_eq!(units.len(), 2);
    let folder = Folder::new();
    folder.write("scrub-photos.service", units[0].replace("/usr/local/bin/treewide", TREEWIDE));
    folder.write("scrub-photos.timer", &units[1]);
    folder.write("mail-me@.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");
    match find_program("systemd-analyze") {
        Some(program) => {
            let units = ["scrub-photos.service", "scrub-photos.timer"].map(|it| folder.join(it));
            let ended = folder.program(program).arg("verify").args(units).run();
            assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
        }
        None => skip("units of systemd", "there is no systemd-analyze"),
    }
}
