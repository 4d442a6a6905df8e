//! The progress display: there when it helps, and never in the way.

use crate::support::{Folder, TREEWIDE, find_program, hex, skip, sums};
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
    let running = folder.program(script).args(["-qec", command, "/dev/null"]);
    let ended = running.run();
    feeder.join().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
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
    assert!(screen.contains("1 file  "), "{screen:?}");
    assert!(screen.contains("B/s"), "{screen:?}");
    // The line that stays is the one with the digest.
    let (_, last) = screen.rsplit_once('\r').map(|_| ((), &screen[..])).unwrap();
    for line in digests.lines() {
        assert!(last.contains(line), "{screen:?}");
    }
    assert!(screen.trim_end_matches("\u{1b}[2K").trim_end().contains(&hex([1; 4000])));
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
