//! The commands of README.md, as they stand there.

use crate::support::{Folder, TREEWIDE, find_program, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The lines of the first block of a language.
fn block<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let (_, rest) =
        readme.split_once(&format!("```{language}\n")).expect("README.md has such a block");
    rest.split_once("```").expect("the block ends").0.lines().collect()
}

/// What the commands are about: photos of 6.94 MiB, images of disks, and a folder of sources.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, length) in [
        ("photos/2024/hill.jpg", 3_000_000),
        ("photos/2025/lake.jpg", 4_000_000),
        ("photos/2025/moon.jpg", 277_100),
        ("a.iso", 10_000),
        ("b.iso", 20_000),
        ("disk.img", 1 << 20),
        ("src/main.rs", 100),
    ] {
        folder.write(name, vec![name.len() as u8; length]);
    }
    folder.write("photos/README", "These were taken by me.\n");
    // A digest covers modes, and each machine has another umask.
    for (name, mode) in [
        ("photos", 0o755),
        ("photos/2024", 0o755),
        ("photos/2025", 0o755),
        ("photos/README", 0o644),
        ("photos/2024/hill.jpg", 0o644),
        ("photos/2025/lake.jpg", 0o644),
        ("photos/2025/moon.jpg", 0o644),
    ] {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    folder
}

/// Where the program is found first.
fn path() -> String {
    let folder = Path::new(TREEWIDE).parent().unwrap().display();
    format!("{folder}:{}", std::env::var("PATH").unwrap())
}

/// The session of docs/manifests.md: a folder is deleted by mistake, and its backup has rotted.
#[test]
fn session_of_manifests_prints_what_it_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manifests.md");
    let (Ok(page), Some(_)) = (fs::read_to_string(page), find_program("bash")) else {
        return skip("the session of manifests", "this is not the repository, or there is no bash");
    };
    let folder = Folder::new();
    for name in ["2024/italy/1", "2024/italy/2", "2024/italy/3", "2024/a", "2024/b", "2025/c", "d"]
    {
        folder.write(format!("photos/{name}.jpg"), format!("photo {}", &name[name.len() - 1..]));
    }
    folder.write("photos/README", "Mine alone");
    let run = |command: &str| {
        let script = format!("exec 2>&1\n{command}");
        folder.program("bash").args(["-c", &script]).env("PATH", path()).run()
    };
    run("cp -a photos backup && cp -a photos usb-stick && echo -n phOto 2 > backup/2024/italy/2.jpg").succeeds_with("");
    run("touch -r photos/2024/italy/2.jpg backup/2024/italy/2.jpg").succeeds_with("");
    let shown = block(&page, "console").join("\n") + "\n";
    for part in shown.split("$ ").skip(1) {
        let (command, expected) = part.split_once('\n').unwrap();
        let ended = run(command);
        let (text, today) = (ended.text(), ended.text().split(" until ").nth(1));
        let day = today.and_then(|it| it.get(..10)).unwrap_or("no day");
        assert_eq!(undated(&text.replace(day, "2026-11-28")), undated(expected), "{command}");
    }
}

/// Lines without the time of a run that they begin with.
fn undated(text: &str) -> Vec<&str> {
    let time = |it: &&str| it.starts_with("20") && it.as_bytes().get(19) == Some(&b'Z');
    text.lines().map(|it| Some(it).filter(time).map_or(it, |it| &it[20..])).collect()
}

#[test]
fn readme_has_commands_that_print_what_it_shows() {
    if find_program("bash").is_none() || find_program("tar").is_none() {
        return skip("the commands of README.md", "there is no bash, or no tar");
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let Ok(readme) = fs::read_to_string(readme) else {
        return skip("the commands of README.md", "this is not the repository");
    };
    let folder = folder();
    let path = path();
    let run = |command: &str| {
        let script = format!("exec 2>&1; {command}");
        folder.program("bash").args(["-c", &script]).env("PATH", &path).run()
    };

    let (_, section) =
        readme.split_once("## On the command line").expect("README.md has the section");
    let commands = block(section, "sh");
    for command in &commands {
        let ended = run(command);
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.text());
    }

    let mut shown = block(&readme, "console").into_iter().peekable();
    let mut cases = commands.len();
    while let Some(command) = shown.next() {
        let command = command.strip_prefix("$ ").expect("a block of commands begins with one");
        let mut expected = String::new();
        while let Some(line) = shown.next_if(|line| !line.starts_with("$ ")) {
            expected += line;
            expected.push('\n');
        }
        assert_eq!(run(command).text(), expected, "{command}");
        cases += 1;
    }
    println!("commands of README.md: {cases} cases");
}
