//! Where results go, and what is left when they cannot.

use crate::support::{
    Folder, Running, TREEWIDE, failure, find_program, hex, in_time, is_ignored, is_root, skip,
    sums, wait_for,
};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

#[test]
fn a_file_gets_what_standard_output_would() {
    let folder = Folder::with(&["a", "b"]);
    folder.treewide("sum a b -o list").run().is(0, "", "");
    assert_eq!(folder.read("list"), sums(&["a", "b"]));
    folder.treewide("sum -o list --force b").run().is(0, "", "");
    assert_eq!(folder.read("list"), sums(&["b"]));
    folder.treewide("sum --output=raw --raw a").run().is(0, "", "");
    assert_eq!(fs::read(folder.join("raw")).unwrap(), blake3::hash(b"a").as_bytes());
    folder.treewide("check list -o report").run().fails(0, &["1 OK"]);
    assert_eq!(folder.read("report"), "b: OK\n");
    folder.treewide("sum a -o -").run().is(0, sums(&["a"]), "");
    assert_eq!(folder.names(), ["a", "b", "list", "raw", "report"]);
}

#[test]
fn output_replaces_what_is_not_empty_only_by_force() {
    let folder = Folder::with(&["a"]);
    folder.write("SUMS", sums(&["a"]));
    folder.write("d/x", "same");
    folder.write("d/y", "same");
    folder.write("image", vec![7; 40_000]);
    folder.treewide("snapshot d").run().fails(0, &[]);
    folder.treewide("outboard create image").run().fails(0, &[]);
    for (command, code) in [
        ("sum a -o", 0),
        ("sum -r d -o", 0),
        ("sum --raw a -o", 0),
        ("sum --json a -o", 0),
        ("sum --check SUMS -o", 0),
        ("check SUMS -o", 0),
        ("check SUMS --json -o", 0),
        ("verify d.b3 -o", 0),
        ("verify d.b3 --html", 0),
        ("diff d.b3 d --html", 0),
        ("dupes d -o", 0),
        ("dupes -0 d -o", 0),
        ("dupes d --html", 0),
        ("missing d.b3 SUMS -o", 1),
        ("outboard create image -o", 0),
        ("outboard slice image --range 0..1K -o", 0),
        ("outboard verify image -o", 0),
    ] {
        folder.write("place", "a list, a page, or a photo\n");
        let refused = folder.treewide(&format!("{command} place")).run();
        refused.fails(2, &["place: exists and is not empty; --force replaces it"]);
        assert_eq!(folder.read("place"), "a list, a page, or a photo\n", "{command}");
        let forced = folder.treewide(&format!("{command} place --force")).run();
        assert_eq!(forced.code, Some(code), "{command}: {forced:?}");
        let made = fs::read(folder.join("place")).unwrap();
        assert!(!made.starts_with(b"a list"), "{command}");
        // One that is empty is as good as none.
        folder.write("place", "");
        assert_eq!(
            folder.treewide(&format!("{command} place")).run().code,
            Some(code),
            "{command}"
        );
        assert_eq!(fs::read(folder.join("place")).unwrap().len(), made.len(), "{command}");
    }
}

#[test]
fn inputs_that_fail_leave_a_list_of_the_others() {
    let folder = Folder::with(&["a", "b"]);
    folder
        .treewide("sum a missing b -o list")
        .run()
        .fails(1, &["missing: cannot open: No such file"]);
    assert_eq!(folder.read("list"), sums(&["a", "b"]));
}

#[test]
fn places_that_cannot_be_written_are_refused_at_once() {
    let folder = Folder::with(&["a", "file"]);
    fs::create_dir(folder.join("d")).unwrap();
    symlink("nowhere", folder.join("dead")).unwrap();
    for (place, cause) in [
        ("d", "d: cannot write the output: is a directory"),
        ("no/such", "no/such: cannot write the output: cannot create a file in no: No such file"),
        ("file/x", "file/x: cannot write the output: Not a directory"),
        ("new/", "new/: cannot write the output: is a directory that does not exist"),
        ("new/.", "new/.: cannot write the output: is a directory that does not exist"),
        ("dead", "dead: cannot write the output: is a symbolic link to a file that does not exist"),
    ] {
        // At once: the input would never end.
        let running = folder.treewide("sum - -o").arg(place).start();
        let ended = wait_with_open_stdin(running);
        assert_eq!(ended.1, Some(1), "{place}");
        assert!(ended.0.contains(cause), "{place}: {}", ended.0);
    }
    assert_eq!(folder.names(), ["a", "d", "dead", "file"]);
}

fn wait_with_open_stdin(mut running: Running) -> (String, Option<i32>) {
    let stdin = running.0.stdin.take();
    let ended = running.end();
    drop(stdin);
    (ended.stderr, ended.code)
}

#[test]
fn a_read_only_place_is_refused() {
    let folder = Folder::with(&["a", "d/kept"]);
    folder.add_treewide();
    let mode = |path: &str, mode| {
        fs::set_permissions(folder.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(".", 0o755);
    mode("d/kept", 0o444);
    mode("d", 0o777);
    let nobody = || {
        let binary = folder.join("treewide");
        if !is_root() {
            return Some(folder.program(binary));
        }
        let setpriv = find_program("setpriv")?;
        let ids = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        Some(folder.program(setpriv).args(ids).arg(binary))
    };
    let Some(program) = nobody() else {
        return skip("a read-only output", "root may write all, and there is no setpriv");
    };
    // A rename would work here, but the file says no.
    let ended = program.args(["sum", "a", "--force", "-o", "d/kept"]).run();
    ended.fails(1, &["d/kept: cannot write the output: Permission denied"]);
    mode("d", 0o555);
    let ended = nobody().unwrap().args(["sum", "a", "-o", "d/new"]).run();
    ended.fails(
        1,
        &["d/new: cannot write the output: cannot create a file in d: Permission denied (os error \
           13)\n"],
    );
    mode("d", 0o755);
    assert_eq!(folder.read("d/kept"), "d/kept");
}

#[test]
fn an_output_that_would_replace_an_input_is_refused() {
    let folder = Folder::with(&["a", "b"]);
    folder.write("list", sums(&["a"]));
    symlink("list", folder.join("link")).unwrap();
    fs::hard_link(folder.join("list"), folder.join("same")).unwrap();
    for (args, input) in [
        ("sum a list -o list", "list"),
        ("sum -r a ./list -o link", "./list"),
        ("sum --raw same -o list", "same"),
        ("check list -o list", "list"),
        ("check list -o same", "list"),
        ("sum --check link -o list", "link"),
        ("check list -o a", "a"),
        ("sum --check list -o a", "a"),
        ("sum - -o list", "standard input"),
        ("check -o list", "standard input"),
    ] {
        let message = format!("treewide: {input}: is an input, and the output would replace it\n");
        let script = format!("\"$0\" {args} --force <list");
        folder.program("sh").args(["-c", &script, TREEWIDE]).run().is(failure(args), "", message);
        assert_eq!(folder.read("list"), sums(&["a"]), "{args}");
        assert_eq!(folder.read("a"), "a", "{args}");
    }
    assert_eq!(folder.names(), ["a", "b", "link", "list", "same"]);
}

#[test]
fn an_output_that_a_list_names_in_whatever_way_is_refused() {
    let folder = Folder::with(&["a"]);
    let digest = hex("a");
    let (short, odd) = (&digest[..32], &digest[1..]);
    for (command, list) in [
        ("check", r#"{"path":"a","digest":null,"bytes":null,"error":"x"}"#.into()),
        ("check", format!("{short}  a")),
        ("check", format!("{odd}  a")),
        ("check", "BLAKE3 (a) = zz".into()),
        ("check -l 16", format!("{digest}  a")),
        ("check", format!("{digest}  {}a", "./".repeat(2100))),
        ("sum --check", format!("{digest}  {}a\n", "./".repeat(2100))),
    ] {
        let ended = folder.treewide(command).args(["--force", "-o", "a"]).stdin(&list).run();
        let message = "a: is an input, and the output would replace it\n";
        ended.fails(failure(command), &[message]);
        assert_eq!(folder.read("a"), "a", "{command}: {list}");
    }
    // An operand as well.
    let ended = folder.treewide("sum --force -o a").arg("./".repeat(2100) + "a").run();
    ended.fails(1, &["a: is an input, and the output would replace it\n"]);
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn an_output_replaces_only_what_it_found() {
    let folder = Folder::with(&["a"]);
    // Standard input ends only after the file has come.
    let running = folder.treewide("sum a - -o new").start();
    wait_for_temporary(&folder);
    folder.write("new", "late\n");
    let ended = running.end();
    ended.fails(
        1,
        &["treewide: new: appeared during the run, and stays as it is; what was written is in "],
    );
    assert_eq!(folder.read("new"), "late\n");
    let (_, place) = ended.stderr.trim_end().rsplit_once(" is in ").unwrap();
    assert!(folder.read(place).starts_with(&sums(&["a"])), "what was finished stays");
    fs::remove_file(folder.join(place)).unwrap();
    // `-` does not name a file.
    folder.write("-", "");
    folder.treewide("sum - -o ./-").stdin("hi").run().fails(0, &[]);
    assert!(folder.read("-").ends_with("  -\n"));
    assert_eq!(folder.names(), ["-", "a", "new"]);
}

#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let folder = Folder::with(&["a"]);
    folder.write("list", sums(&["old"]));
    let limited =
        format!("ulimit -f 1; yes a | head -n 2000 | xargs '{TREEWIDE}' sum --force -o list");
    let ended = folder.program("bash").arg("-c").arg(limited).run();
    ended.fails(123, &["treewide: list: cannot write: File too large"]);
    assert_eq!(folder.names(), ["a", "list"]);
    assert_eq!(folder.read("list"), sums(&["old"]));
}

#[test]
fn modes_owners_and_links_stay() {
    let folder = Folder::with(&["a", "d/list"]);
    folder.write("d/list", "");
    fs::set_permissions(folder.join("d/list"), fs::Permissions::from_mode(0o640)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(folder.join("d/list"), Some(1234), Some(1235)).unwrap();
    }
    let before = fs::metadata(folder.join("d/list")).unwrap();
    symlink("d/list", folder.join("link")).unwrap();
    folder.treewide("sum a -o link").run().is(0, "", "");
    assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
    assert_eq!(folder.read("d/list"), sums(&["a"]));
    let after = fs::metadata(folder.join("d/list")).unwrap();
    assert_eq!(
        (after.mode(), after.uid(), after.gid()),
        (before.mode(), before.uid(), before.gid())
    );
    // A new file is as any program would make it.
    let umask = folder.program("sh").arg("-c").arg(format!("umask 027; '{TREEWIDE}' sum a -o new"));
    umask.run().is(0, "", "");
    assert_eq!(fs::metadata(folder.join("new")).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn devices_and_pipes_are_written_to_not_replaced() {
    let folder = Folder::with(&["a"]);
    folder.fifo("pipe");
    let running = folder.treewide("sum a -o pipe").start();
    let pipe = folder.join("pipe");
    assert_eq!(in_time(move || fs::read_to_string(pipe).unwrap()), sums(&["a"]));
    running.end().is(0, "", "");
    assert_eq!(folder.names(), ["a", "pipe"]);
    if Path::new("/dev/full").exists() {
        let message = "treewide: /dev/full: cannot write: No space left on device (os error 28)\n";
        folder.treewide("sum a -o /dev/full").run().is(1, "", message);
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
        let full = folder.program("sh").arg("-c").arg(format!("'{TREEWIDE}' sum a > /dev/full"));
        full.run().is(
            1,
            "",
            "treewide: standard output: cannot write: No space left on device (os error 28)\n",
        );
    } else {
        skip("/dev/full", "there is none");
    }
}

#[test]
fn what_the_shell_has_opened_is_added_to() {
    if !Path::new("/proc/self/fd/1").exists() {
        return skip("names of descriptors", "there is no /proc");
    }
    let folder = Folder::with(&["a"]);
    symlink("/dev/stdout", folder.join("link")).unwrap();
    let sum = format!("'{TREEWIDE}' sum a -o");
    let whole = format!("before\n{}after\n", sums(&["a"]));
    for (place, to) in [
        ("/dev/stdout", "> list"),
        ("/dev/stdout", "> list.new; cat list.new >> list; rm list.new"),
        ("/dev/fd/1", "> list"),
        ("/proc/self/fd/1", "> list"),
        ("link", "> list"),
        ("/dev/stderr", "2> list"),
        ("/dev/fd/2", "2> list"),
    ] {
        let said = if to.starts_with('2') { ">&2" } else { "" };
        let script = format!("{{ echo before {said}; {sum} {place}; echo after {said}; }} {to}");
        folder.program("sh").arg("-c").arg(&script).run().is(0, "", "");
        assert_eq!(folder.read("list"), whole, "{script}");
        fs::remove_file(folder.join("list")).unwrap();
    }
    let script = format!("echo before >&3; {sum} /dev/fd/3");
    let ended = folder.program("sh").arg("-c").arg(format!("{{ {script}; }} 3> list")).run();
    ended.fails(1, &["/dev/fd/3: cannot write the output: is an open file", "by >&3\n"]);
    assert_eq!(folder.read("list"), "before\n");
    for place in ["/proc/$$/fd/1", "/proc/$$/task/$$/fd/1"] {
        let script = format!("echo before; {sum} {place}");
        let ended = folder.program("sh").arg("-c").arg(format!("{{ {script}; }} > list")).run();
        ended.fails(1, &["fd/1: cannot write the output: is an open file of another process"]);
        assert_eq!(folder.read("list"), "before\n");
    }
    let script = format!("'{TREEWIDE}' sum -r . -o /dev/stderr 2> list");
    folder.program("sh").arg("-c").arg(&script).run().is(0, "", "");
    assert!(!folder.read("list").contains("  list\n"), "what is written is not hashed");
    // A pipe has one place to write at.
    let ended = folder.program("sh").arg("-c").arg(format!("{{ {sum} /dev/fd/3; }} 3>&1 | cat"));
    ended.run().is(0, sums(&["a"]), "");
    assert_eq!(folder.names(), ["a", "link", "list"]);
}

#[test]
fn standard_output_may_be_a_socket_but_not_for_reading() {
    if !Path::new("/proc/self/fd/1").exists() {
        return skip("names of descriptors", "there is no /proc");
    }
    let folder = Folder::with(&["a"]);
    for place in ["-", "/dev/stdout", "/dev/fd/1"] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut sum = std::process::Command::new(TREEWIDE);
        sum.args(["sum", "a", "-o", place]).current_dir(folder.path());
        assert!(sum.stdout(OwnedFd::from(theirs)).status().unwrap().success(), "{place}");
        // The command has the other end.
        drop(sum);
        let mut written = String::new();
        ours.read_to_string(&mut written).unwrap();
        assert_eq!(written, sums(&["a"]), "{place}");
        #[cfg(target_os = "linux")]
        {
            let script = format!("'{TREEWIDE}' sum a -o {place} 1< a");
            let ended = folder.program("sh").arg("-c").arg(&script).run();
            ended.fails(1, &["standard output is open for reading only"]);
        }
    }
}

/// A file system of 64 KiB, unmounted in the end.
struct Tiny(PathBuf);

impl Tiny {
    fn mount(folder: &Folder) -> Result<Self, String> {
        fs::create_dir(folder.join("tiny")).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", "tiny"];
        let mount = folder.program("mount").args(args).run();
        if mount.code == Some(0) { Ok(Self(folder.join("tiny"))) } else { Err(mount.stderr) }
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    let folder = Folder::with(&["a"]);
    if !is_root() || find_program("mount").is_none() {
        return skip("a full disk", "only root may mount one");
    }
    let _tiny = match Tiny::mount(&folder) {
        Ok(tiny) => tiny,
        Err(why) => return skip("a full disk", why),
    };
    let sum = |place: &str, files: usize| {
        folder.treewide("sum --force -o").arg(place).args(vec!["a"; files]).run()
    };
    sum("tiny/list", 100).is(0, "", "");
    let kept = folder.read("tiny/list");
    for place in ["tiny/list", "tiny/new"] {
        let ended = sum(place, 2000);
        ended.is(
            1,
            "",
            format!("treewide: {place}: cannot write: No space left on device (os error 28)\n"),
        );
    }
    assert_eq!(fs::read_dir(folder.join("tiny")).unwrap().count(), 1);
    assert_eq!(folder.read("tiny/list"), kept);
}

/// Waits until the program writes its output, under another name.
fn wait_for_temporary(folder: &Folder) {
    let is_there =
        || folder.names().iter().any(|it| it.to_string_lossy().starts_with(".treewide-"));
    wait_for(|| is_there().then_some(()));
}

#[test]
fn signals_halfway_leave_nothing() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3), ("ALRM", 14)] {
        if is_ignored(number) {
            skip(name, "this process ignores it, and so do its children");
            continue;
        }
        let folder = Folder::with(&["a"]);
        folder.write("list", sums(&["old"]));
        let mut running = folder.treewide("sum a - --force -o list").start();
        running.0.stdin.as_mut().unwrap().write_all(b"the beginning").unwrap();
        wait_for_temporary(&folder);
        running.signal(name);
        let stdin = running.0.stdin.take();
        let ended = running.end();
        drop(stdin);
        // So that a shell knows, and stops what it was doing.
        assert_eq!((ended.signal, &ended.stderr[..]), (Some(number), ""), "{name}");
        assert_eq!(folder.names(), ["a", "list"], "{name}");
        assert_eq!(folder.read("list"), sums(&["old"]));
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let folder = Folder::with(&["a"]);
    if !Path::new("/proc/self/status").exists() {
        return skip("nohup", "there is no /proc");
    }
    let script = format!("trap '' HUP; exec '{TREEWIDE}' sum - -o list");
    let mut running = folder.program("sh").arg("-c").arg(script).start();
    wait_for(|| (!folder.names().contains(&"a".into()) || folder.names().len() == 2).then_some(()));
    running.signal("HUP");
    running.0.stdin.as_mut().unwrap().write_all(b"text").unwrap();
    running.end().is(0, "", "");
    assert_eq!(folder.read("list"), format!("{}  -\n", hex("text")));
}

#[test]
fn a_reader_that_goes_away_is_no_news() {
    let folder = Folder::with(&["a"]);
    folder.write("list", sums(&["a"]));
    for args in ["sum - a", "sum --json - a", "sum --raw -", "check"] {
        let words = std::iter::once(TREEWIDE).chain(args.split(' '));
        let ended = folder.unread("", words).stdin(folder.read("list")).run();
        // As coreutils: by SIGPIPE, so that a check cut short is not taken for a success.
        assert_eq!((ended.signal, ended.code), (Some(13), None), "{args}");
        let said = ended.stderr.lines().filter(|line| !line.contains("checked:")).count();
        assert_eq!(said, 0, "{args}: {}", ended.stderr);
    }
    for args in ["man", "completions zsh", "man sum", "sum --help"] {
        let script = format!("'{TREEWIDE}' {args} | true; '{TREEWIDE}' {args} | head -n 1");
        let ended = folder.program("sh").arg("-c").arg(script).run();
        assert_eq!(ended.stderr, "", "{args}");
    }
}

#[test]
fn lines_come_as_files_are_done() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::with(&["a"]);
    let mut running = folder.treewide("sum a -").start();
    let mut stdout = BufReader::new(running.0.stdout.take().unwrap());
    // Standard input is still open, so this waits for ever if lines are held back.
    let line = in_time(move || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        (line, stdout)
    });
    assert_eq!(line.0, sums(&["a"]));
    drop(running.0.stdin.take());
    assert_eq!(running.end().signal, None);
}
