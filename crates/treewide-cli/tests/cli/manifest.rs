//! `snapshot`, `verify`, `update`, `diff` and `manifest`: words, exit codes, files.

use crate::support::{Folder, TREEWIDE, is_ignored, skip};
use std::fs;

/// A tree `t` and its manifest `m.b3`, when all its times are old enough.
fn snapshot() -> Folder {
    let folder = Folder::new();
    for (name, content) in [("t/a", "1"), ("t/b/c", "22"), ("t/b/d", "333")] {
        folder.write(name, content);
    }
    folder.age();
    assert_eq!(folder.treewide("snapshot t -o m.b3").run().code, Some(0));
    folder
}

fn out(folder: &Folder, args: &str) -> (Option<i32>, String, String) {
    let ended = folder.treewide(args).run();
    (ended.code, String::from_utf8(ended.stdout).unwrap(), ended.stderr)
}

#[test]
fn verify_reports_each_difference_and_counts() {
    let folder = snapshot();
    let (code, stdout, stderr) = out(&folder, "verify m.b3 t");
    assert_eq!((code, &*stdout), (Some(0), ""));
    assert!(stderr.contains("4 entries: 4 same; 3 files read (6 B)"), "{stderr}");
    folder.write("t/a", "x");
    fs::rename(folder.join("t/b/c"), folder.join("t/c")).unwrap();
    folder.write("t/new\nline", "");
    let lines = "CHANGED  a\nMOVED    b/c -> c\nADDED    \\new\\nline\n";
    for mode in ["verify", "verify --quick", "diff"] {
        let (code, stdout, stderr) = out(&folder, &format!("{mode} m.b3 t"));
        assert_eq!((code, &*stdout), (Some(1), lines), "{mode}");
        assert!(stderr.contains("5 entries: 2 same, 1 changed, 1 moved, 1 added; "), "{stderr}");
    }
    // Only what is wrong, and then with its count.
    let (code, stdout, stderr) = out(&folder, "verify --quick -q m.b3 t");
    assert_eq!((code, &*stdout), (Some(1), lines));
    assert!(stderr.contains("1 file looks unchanged and was not read (3 B)"), "{stderr}");
    let some = out(&folder, "verify -q --fail-on moved m.b3 t");
    assert_eq!((some.0, &*some.1), (Some(1), "MOVED    b/c -> c\n"));
    let none = out(&folder, "verify -q --fail-on removed m.b3 t");
    assert_eq!(none, (Some(0), String::new(), String::new()));
    assert_eq!(out(&folder, "update -q m.b3 t"), (Some(0), String::new(), String::new()));
}

#[test]
fn a_directory_without_anything_listed_is_not_taken_for_the_tree() {
    let folder = snapshot();
    let list = fs::read(folder.join("m.b3")).unwrap();
    for command in ["verify", "verify --quick", "update"] {
        let (code, stdout, stderr) = out(&folder, &format!("{command} m.b3"));
        assert_eq!((code, &*stdout), (Some(3), ""), "{command}");
        let said = "m.b3: none of its 4 entries is in this directory; is the disk mounted? Or name the directory";
        assert!(stderr.contains(said), "{stderr}");
    }
    assert_eq!(fs::read(folder.join("m.b3")).unwrap(), list);
    // A directory that is named is compared.
    assert_eq!(out(&folder, "verify m.b3 .").0, Some(1));
    folder.write("a", "1");
    assert_eq!(out(&folder, "verify m.b3").0, Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_whose_names_are_not_utf_8_is_taken_for_the_tree() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
    assert_eq!(out(&folder, "snapshot . -o m.b3").0, Some(0));
    let (code, _, stderr) = out(&folder, "verify m.b3");
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn verify_fails_on_the_verdicts_that_are_asked_for() {
    let folder = snapshot();
    folder.write("t/new", "");
    let code = |args: &str| out(&folder, args).0;
    assert_eq!(code("verify m.b3 t"), Some(1));
    assert_eq!(code("verify --fail-on changed,removed m.b3 t"), Some(0));
    assert_eq!(code("verify --fail-on added m.b3 t"), Some(1));
    assert_eq!(code("verify --fail-on same m.b3 t"), Some(2));
    assert_eq!(code("verify --only a m.b3 t"), Some(0));
    assert_eq!(code("verify --only a[ m.b3 t"), Some(2));
}

#[test]
fn verify_says_that_it_cannot_tell() {
    let folder = snapshot();
    let (code, _, stderr) = out(&folder, "verify --expect 00 m.b3 t");
    assert_eq!(code, Some(3));
    assert!(stderr.contains("nothing was compared"), "{stderr}");
    let digest = treewide::hash(&fs::read(folder.join("m.b3")).unwrap()).to_hex().to_string();
    assert_eq!(out(&folder, &format!("verify --expect {digest} m.b3 t")).0, Some(0));
    // That of the manifest covers the rules, so that an index with others is not what was expected.
    let facts = |folder: &Folder| {
        let text = out(folder, "manifest stat m.b3").1;
        text.lines().find_map(|it| it.strip_prefix("digest of the manifest: ")).unwrap().to_owned()
    };
    let expect = format!("verify --expect {} m.b3 t", facts(&folder));
    assert_eq!(out(&folder, &expect).0, Some(0));
    let index = folder.read("m.b3.tw");
    folder.write("t/evil", "");
    folder.write("m.b3.tw", index.replace(r#""exclude":[]"#, r#""exclude":["evil"]"#));
    assert_eq!(out(&folder, &expect).0, Some(3), "edited");
    folder.treewide("update --accept-damage --replace-rules --exclude evil m.b3 t").run();
    let (code, _, stderr) = out(&folder, "verify m.b3 t");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("not compared: evil (excluded)\n"), "{stderr}");
    let (code, _, stderr) = out(&folder, &expect);
    assert_eq!(code, Some(3));
    assert!(
        stderr.contains(&format!("m.b3: has the digest {}, its list has {digest}", facts(&folder))),
        "{stderr}"
    );
    fs::remove_file(folder.join("m.b3.tw")).unwrap();
    let (code, _, stderr) = out(&folder, &expect);
    assert_eq!(code, Some(3));
    assert!(stderr.contains("m.b3: has no index, its list has"), "{stderr}");
    let (code, _, stderr) = out(&folder, "verify --fail-on changed m.b3 t");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("not compared: links, directories and special files"), "{stderr}");
    fs::remove_file(folder.join("t/evil")).unwrap();
    let (_, _, stderr) = out(&folder, "update m.b3 t");
    let said = format!("{} is the digest of the manifest", facts(&folder));
    assert!(stderr.contains(&said), "{stderr}");
    assert_eq!(out(&folder, "verify m.b3 nowhere").0, Some(3));
    assert_eq!(out(&folder, "verify nowhere.b3 t").0, Some(3));
    // Another list: the index does not belong to it.
    let list = folder.read("m.b3");
    folder.write("m.b3", list.lines().next().unwrap().to_owned() + "\n");
    let (code, stdout, stderr) = out(&folder, "verify --quick m.b3 t");
    assert_eq!((code, &*stdout), (Some(3), "ADDED    b/c\nADDED    b/d\n"));
    assert!(stderr.contains("m.b3.tw: is not used: it belongs to another list"), "{stderr}");
    folder.write("m.b3", "../x");
    let (code, _, stderr) = out(&folder, "verify m.b3 t");
    assert_eq!(code, Some(3));
    assert!(stderr.contains("m.b3:1: "), "{stderr}");
}

#[test]
fn update_reads_what_changed_and_diff_shows_it() {
    let folder = snapshot();
    folder.write("t/a", "x");
    for end in ["", ".tw"] {
        fs::copy(folder.join(format!("m.b3{end}")), folder.join(format!("n.b3{end}"))).unwrap();
    }
    let (code, stdout, stderr) = out(&folder, "update n.b3 t");
    assert_eq!((code, &*stdout), (Some(0), "CHANGED  a\n"));
    assert!(
        stderr.contains("1 file read (1 B); 2 files look unchanged and were not read (5 B)"),
        "{stderr}"
    );
    assert_eq!(out(&folder, "verify n.b3 t").0, Some(0));
    for (args, said) in
        [("m.b3 n.b3", "CHANGED  a\n"), ("n.b3 m.b3", "CHANGED  a  (as it was until ")]
    {
        let (code, stdout, _) = out(&folder, &format!("diff {args}"));
        assert!(code == Some(1) && stdout.starts_with(said), "{stdout}");
    }
    assert_eq!(out(&folder, "diff n.b3 n.b3").0, Some(0));
    let digest = treewide::hash(b"x").to_hex().to_string();
    assert!(out(&folder, "manifest stat n.b3 a").1.contains(&digest));
    let statement = out(&folder, "manifest statement n.b3 --name model").1;
    assert!(statement.contains("\"name\":\"model\"") && statement.contains(&digest));
    assert_eq!(out(&folder, "manifest lines n.b3").1, folder.read("n.b3"));
}

/// What is written into the tree itself is not a part of it.
#[test]
fn manifest_inside_of_its_tree_is_left_out() {
    let folder = Folder::with(&["a"]);
    for args in
        ["snapshot -o m.b3", "verify m.b3", "update m.b3", "verify --quick m.b3", "update m.b3"]
    {
        let (code, stdout, stderr) = out(&folder, args);
        assert_eq!((code, &*stdout), (Some(0), ""), "{args}: {stderr}");
    }
    assert_eq!(folder.read("m.b3").lines().count(), 1);
    assert_eq!(folder.names(), ["a", "m.b3", "m.b3.tw"]);
}

#[test]
fn snapshot_without_a_name_writes_next_to_the_directory_once() {
    let folder = snapshot();
    let (code, _, stderr) = out(&folder, "snapshot t");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with("treewide: 3 files, 6 B: t.b3\ntreewide: "), "{stderr}");
    assert_eq!(stderr.matches("digest").count(), 1, "{stderr}");
    assert_eq!(folder.read("t.b3"), folder.read("m.b3"));
    let (code, _, stderr) = out(&folder, "snapshot t/");
    assert_eq!(code, Some(3));
    assert!(stderr.contains("t.b3: is there, and a snapshot never replaces"), "{stderr}");
    let inside = folder.program("sh").args(["-c", "cd t/b && exec \"$0\" snapshot .", TREEWIDE]);
    assert_eq!(inside.run().code, Some(0));
    assert_eq!(folder.read("t/b.b3").lines().count(), 2);
    assert!(out(&folder, "snapshot /").2.contains("name the list with -o"));
}

#[test]
fn verify_and_update_take_the_directory_of_the_same_name() {
    let folder = snapshot();
    fs::rename(folder.join("m.b3"), folder.join("t.b3")).unwrap();
    fs::rename(folder.join("m.b3.tw"), folder.join("t.b3.tw")).unwrap();
    // Also where `.` has something that the list names.
    folder.write("a", "other");
    for args in ["verify t.b3", "verify --quick ./t.b3", "update t.b3"] {
        assert_eq!(out(&folder, args).0, Some(0), "{args}");
    }
    fs::create_dir(folder.join("m")).unwrap();
    folder.write("m.b3", folder.read("t.b3"));
    fs::remove_file(folder.join("a")).unwrap();
    let (code, _, stderr) = out(&folder, "verify m.b3");
    assert_eq!(code, Some(3));
    let said = "m.b3: none of its 3 entries is in m; is the disk mounted?";
    assert!(stderr.contains(said), "{stderr}");
}

#[test]
fn verdicts_have_colours_where_they_are_asked_for() {
    let folder = snapshot();
    folder.write("t/a", "x");
    let colored = "\u{1b}[33mCHANGED \u{1b}[0m a\n";
    for (args, stdout) in [
        ("--color always", colored),
        ("--color never", "CHANGED  a\n"),
        ("", "CHANGED  a\n"),
        ("--color always --json", "{\"path\""),
    ] {
        let (_, found, _) = out(&folder, &format!("verify m.b3 t {args}"));
        assert!(found.starts_with(stdout), "{args}: {found}");
    }
    folder.write("t/SUMS", crate::support::sums(&["a"]));
    let checked = folder.program("sh").args(["-c", "cd t; exec \"$0\" check --color always SUMS"]);
    let ended = checked.arg(TREEWIDE).run();
    assert_eq!(ended.text(), "a: \u{1b}[1;31mFAILED\u{1b}[0m\n", "{ended:?}");
}

#[test]
fn check_and_sum_agree_with_a_manifest() {
    let folder = snapshot();
    let list = folder.join("m.b3");
    let sums = folder.program(crate::support::TREEWIDE).args(["sum", "-r"]).arg("t").run();
    let sums = String::from_utf8(sums.stdout).unwrap().replace("  t/", "  ");
    assert_eq!(sums, fs::read_to_string(list).unwrap());
}

/// Nothing of a run that is ended is left, and the old pair is as it was.
#[cfg(target_os = "linux")]
#[test]
fn update_that_is_ended_leaves_the_old_pair() {
    let folder = snapshot();
    let before = (folder.read("m.b3"), folder.read("m.b3.tw"));
    folder.write("t/a", "x");
    folder.fifo("t/pipe");
    // A file that takes long.
    fs::File::create(folder.join("t/long")).unwrap().set_len(1 << 40).unwrap();
    for (signal, number) in [("TERM", 15), ("INT", 2), ("KILL", 9)] {
        if is_ignored(number) {
            skip(signal, "this process ignores it, and so do its children");
            continue;
        }
        let mut running = folder.treewide("update m.b3 t").start();
        assert!(running.wait_until_read(&folder.join("t/long"), 4 << 20));
        running.signal(signal);
        assert_eq!(running.end().code, None);
        assert_eq!((folder.read("m.b3"), folder.read("m.b3.tw")), before, "{signal}");
        // The journal is to stay.
        let left = folder.names().into_iter().filter(|it| it != "m.b3.part").count();
        assert!(signal == "KILL" || left == 3, "{:?}", folder.names());
    }
}

#[test]
fn update_at_the_same_time_is_refused() {
    let folder = snapshot();
    let lock = fs::File::open(folder.join("m.b3")).unwrap();
    lock.lock().unwrap();
    let (code, _, stderr) = out(&folder, "update m.b3 t");
    assert_eq!(code, Some(3));
    assert!(stderr.contains("m.b3: another program is writing"), "{stderr}");
    // Not by closing it: children of other tests have it open until they run their programs.
    lock.unlock().unwrap();
    assert_eq!(out(&folder, "update m.b3 t").0, Some(0));
}

/// A run that is killed leaves a journal, and the next one resumes it.
#[cfg(target_os = "linux")]
#[test]
fn snapshot_that_is_killed_is_resumed() {
    let folder = Folder::new();
    for number in 0..500 {
        folder.write(format!("t/{number}"), "x".repeat(number));
    }
    // It takes long enough for the journal of the others.
    let last = fs::File::create(folder.join("t/zzz")).unwrap();
    last.set_len(1 << 40).unwrap();
    folder.age();
    for signal in ["KILL", "TERM"] {
        let running = folder.treewide("snapshot t -o m.b3").start();
        // The last but one, and the check after it.
        let is_there = || {
            let journal = fs::read_to_string(folder.join("m.b3.part")).ok()?;
            let (_, after) = journal.rsplit_once("\"path\":\"99\"")?;
            after.contains("{\"check\":").then_some(())
        };
        crate::support::wait_for(is_there);
        running.signal(signal);
        assert_eq!(running.end().code, None);
        assert!(!folder.join("m.b3").exists());
        assert!(folder.read("m.b3.part").contains("\"path\":\"100\""), "{signal}");
    }
    last.set_len(7).unwrap();
    folder.write("t/7", "changed");
    let (code, _, stderr) = out(&folder, "snapshot t -o other.b3");
    assert_eq!(code, Some(0), "{stderr}");
    // Other rules leave files out, and read none again.
    let (code, _, stderr) = out(&folder, "snapshot t -o m.b3 --no-hidden");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("499 files (") && stderr.contains(") read by the interrupted"),
        "{stderr}"
    );
    assert_eq!(folder.read("m.b3"), folder.read("other.b3"));
    assert!(!folder.join("m.b3.part").exists());

    // Only with the flag it is not used, and not silently thrown away.
    let journal = r#"{"treewide":"journal 2"}"#;
    folder.write("m.b3.part", journal);
    let (code, _, stderr) = out(&folder, "update m.b3 t --no-resume");
    assert_eq!(code, Some(0));
    assert!(
        stderr.contains("m.b3.part: is not used, and removed when this run is done"),
        "{stderr}"
    );
    assert!(!folder.join("m.b3.part").exists());
}

#[test]
fn verify_names_the_bytes_by_outboards() {
    let folder = Folder::new();
    let mut content: Vec<u8> = (0..100_000_u32).map(|it| (it / 7) as u8).collect();
    folder.write("t/long", &content);
    folder.write("t/short", "1");
    let (code, _, stderr) = out(&folder, "snapshot t -o m.b3 --outboards o --min 20K");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("1 outboard written, 384 B: o\n"), "{stderr}");
    let name = format!("o/{}.obao4", crate::support::hex(&content));
    assert_eq!(
        folder.treewide(&format!("outboard verify t/long --outboard {name}")).run().code,
        Some(0)
    );
    content[40_000] ^= 1;
    folder.write("t/long", &content);
    let (code, stdout, _) = out(&folder, "verify m.b3 t --outboards o --html r.html");
    let detail = "bad: bytes 32768..49152 (16384 of 100000)";
    assert_eq!((code, stdout), (Some(1), format!("CHANGED  long  ({detail})\n")));
    assert!(fs::read_to_string(folder.join("r.html")).unwrap().contains(detail));
    let (_, stdout, _) = out(&folder, "verify m.b3 t --outboards o --json");
    let value: serde_json::Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    let range = serde_json::json!([{"verdict": "bad", "start": 32768, "end": 49152}]);
    assert_eq!((&value["ranges"], &value["bad"]), (&range, &16384.into()));
    assert_eq!((&value["verdict"], &value["bytes"]), (&"changed".into(), &100_000.into()));
    // The outboard is damaged, and missing.
    let mut pairs = fs::read(folder.join(&name)).unwrap();
    pairs[0] ^= 1;
    folder.write(&name, &pairs);
    let (_, stdout, _) = out(&folder, "verify m.b3 t --outboards o");
    assert!(
        stdout.contains(&format!("({name}: is not the outboard of the recorded content")),
        "{stdout}"
    );
    fs::remove_file(folder.join(&name)).unwrap();
    let (_, stdout, _) = out(&folder, "verify m.b3 t --outboards o --min 20K --json");
    let value: serde_json::Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    assert_eq!(value["outboard"], "o has no outboard of the recorded content");
    assert_eq!(
        out(&folder, "verify m.b3 t --outboards o").1,
        "CHANGED  long\n",
        "it is below 1 GiB"
    );
    // An update makes that of the new content.
    let (code, _, stderr) = out(&folder, "update m.b3 t --outboards o --min 20K");
    assert!(code == Some(0) && stderr.contains("1 outboard written"), "{stderr}");
}

#[test]
fn outboards_need_a_folder_outside_and_a_size() {
    let folder = snapshot();
    let fails = |args: &str, code, part: &str| {
        let (is, _, stderr) = out(&folder, args);
        assert!(is == Some(code) && stderr.contains(part), "{args}: {is:?} {stderr}");
    };
    fails(
        "snapshot t -o n.b3 --outboards t/o",
        2,
        "t/o: is in the directory that the manifest is of",
    );
    fails("snapshot t -o n.b3 --outboards m.b3", 3, "m.b3: cannot write");
    fails("snapshot t -o n.b3 --outboards o --min 5X", 2, "there is no unit 'X'");
    fails("snapshot t -o n.b3 --min 5K", 2, "--outboards");
    fails("verify m.b3 t --outboards nothing", 3, "nothing: ");
    fails("verify m.b3 t --outboards m.b3", 3, "m.b3: is not a folder of outboards");
    assert!(!folder.join("n.b3").exists() && !folder.join("t/o").exists());
}

#[test]
fn manifests_are_named_by_their_lists() {
    let folder = Folder::with(&["t/a", "t/b"]);
    let ended = folder.treewide("snapshot --json t").run();
    let counts: serde_json::Value =
        serde_json::from_str(ended.text().lines().last().unwrap()).unwrap();
    let digest = counts["digest"].as_str().unwrap();
    assert!(ended.stderr.contains(&format!("{digest} is the digest of the manifest")), "{ended:?}");
    folder.treewide("verify t.b3 --expect").arg(digest).run().fails(0, &[]);
    folder.treewide("diff t t.b3").run().fails(2, &["the manifest comes first"]);
    folder.treewide("verify t t.b3").run().fails(0, &[": 2 same"]);
    // The manifest of a directory is next to it.
    folder.treewide("verify t/").run().fails(0, &[": 2 same; 2 files read"]);
    folder.treewide("verify .").at(folder.join("t")).run().fails(0, &[": 2 same; 2 files read"]);
    for command in ["verify t.b3.tw", "manifest lines t.b3.tw", "update t.b3.tw t"] {
        folder.treewide(command).run().fails(2, &["t.b3.tw: is the index of t.b3; name t.b3"]);
    }
    folder
        .treewide("snapshot t -o /dev/null")
        .run()
        .fails(2, &["/dev/null: a manifest is two files"]);
    folder.treewide("update --scrub 5% t.b3").run().fails(2, &["--scrub"]);
}

#[test]
fn manifests_without_a_common_file_differ() {
    let folder = Folder::with(&["t/a"]);
    folder.treewide("snapshot t -o old.b3").run().fails(0, &[]);
    std::fs::rename(folder.join("t/a"), folder.join("t/z")).unwrap();
    folder.write("t/z", "other");
    folder.treewide("snapshot t -o new.b3").run().fails(0, &[]);
    let ended = folder.treewide("diff old.b3 new.b3").run();
    assert_eq!(ended.text(), "REMOVED  a\nADDED    z\n");
    ended.fails(1, &["2 entries: 1 added, 1 removed"]);
}
