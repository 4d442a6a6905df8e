//! The progress display: there when it helps, and never in the way.

use crate::support::{Folder, TREEWIDE, find_program, hex, skip, sums, wait_for};
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;
use std::time::Duration;

#[test]
fn there_is_none_without_a_terminal() {
    let folder = Folder::with(&["a"]);
    folder.treewide("sum a").run().is(0, sums(&["a"]), "");
    folder.treewide("sum a --no-progress").run().is(0, sums(&["a"]), "");
    folder.treewide("sum a --progress --no-progress").run().is(0, sums(&["a"]), "");
}

#[test]
fn asked_for_it_comes_in_lines() {
    let folder = Folder::with(&["d/a", "d/b"]);
    folder.write("list", sums(&["d/a", "d/b"]));
    for args in ["sum --progress d/a d/b", "sum --progress -r d", "check --progress list"] {
        folder.treewide(args).run().fails(0, &["progress: 2 files, 6 B", "/s\n"]);
    }
}

/// Run in a terminal, feeding a pipe slowly enough for the display to appear.
fn in_a_terminal(folder: &Folder, command: &str) -> Option<String> {
    let script = find_program("script")?;
    folder.fifo("pipe");
    let pipe = folder.join("pipe");
    let feeder = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
        for _ in 0..4 {
            pipe.write_all(&[1; 1000]).unwrap();
            thread::sleep(Duration::from_millis(300));
        }
    });
    // On one that cannot move its cursor there is no display.
    let running = folder.program(script).args(["-qec", command, "/dev/null"]).env("TERM", "xterm");
    let ended = running.run();
    // Before the feeder is waited for, whom no one may have read from.
    assert_eq!(ended.code, Some(0), "{ended:?}");
    feeder.join().unwrap();
    Some(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn on_a_terminal_it_appears_by_itself_and_goes_again() {
    let folder = Folder::with(&["a"]);
    let digests = format!("{}  a\r\n{}  pipe\r\n", hex("a"), hex([1; 4000]));
    let command = format!("{TREEWIDE} sum a pipe");
    let Some(screen) = in_a_terminal(&folder, &command) else {
        return skip("progress on a terminal", "there is no `script` to make one");
    };
    // Which of its states it shows depends on how busy the machine is.
    assert!(screen.contains(" file"), "{screen:?}");
    assert!(screen.contains("B/s"), "{screen:?}");
    for line in digests.lines() {
        assert!(screen.contains(line), "{screen:?}");
    }
    // A pipe has no length, so there is no total to make up.
    assert!(!screen.contains('%'), "{screen:?}");
    // Nothing of the display stays.
    assert_eq!(screen.rsplit("\u{1b}[2K").next().map(str::trim), Some(""), "{screen:?}");
}

#[test]
fn the_total_is_that_of_the_files() {
    let folder = Folder::with(&["d/a", "d/e/b", "c"]);
    folder.write("list", sums(&["d/a", "c"]));
    for (args, total) in [
        ("sum --progress c d/a", Some("4 B of 4 B")),
        ("sum --progress -r d c", None),
        ("check --progress list", Some("4 B of 4 B")),
        ("sum --progress c -", None),
        ("sum --progress c missing", Some("1 B of 1 B")),
    ] {
        // The total is counted while files are being hashed, which may be over first with so little to do.
        let ended = wait_for(|| {
            let ended = folder.treewide(args).run();
            (total.is_none() || ended.stderr.contains(" B of ")).then_some(ended)
        });
        match total {
            Some(total) => assert!(ended.stderr.contains(total), "{args}: {}", ended.stderr),
            None => assert!(!ended.stderr.contains(" of "), "{args}: {}", ended.stderr),
        }
    }
}

#[test]
fn on_a_terminal_it_can_be_turned_off() {
    let folder = Folder::with(&["a"]);
    let command = format!("{TREEWIDE} sum --no-progress a pipe");
    let Some(screen) = in_a_terminal(&folder, &command) else {
        return skip("no progress on a terminal", "there is no `script` to make one");
    };
    assert_eq!(screen, format!("{}  a\r\n{}  pipe\r\n", hex("a"), hex([1; 4000])));
}
