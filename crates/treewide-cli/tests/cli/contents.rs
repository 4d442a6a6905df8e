//! `dupes` and `missing`: lines, exit codes, and what other programs make of them. One file although it is long: the
//! cases share their small trees.

use crate::support::{Folder, find_program, hex, skip};
use std::fs;

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, content) in
        [("t/a", "one"), ("t/b/1", "two"), ("t/c/1", "two"), ("t/new\nline", "one"), ("u/x", "one")]
    {
        folder.write(name, content);
    }
    folder.age();
    folder
}

#[test]
fn dupes_lists_groups_and_says_how_they_are_known() {
    let folder = folder();
    let lines = "3 B  2 files of 3 B\n  t/a\n  \\t/new\\nline\n3 B  2 folders of 3 B, 1 file in each\n  t/b/\n  t/c/\n";
    let ended = folder.treewide("dupes t").run();
    assert_eq!((ended.code, ended.text()), (Some(0), lines));
    let said =
        "1 group of files and 1 group of folders: 2 files could go, 6 B; 4 files read (12 B)";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!(folder.treewide("snapshot -q t").run().code, Some(0));
    let ended = folder.treewide("dupes t.b3").run();
    assert_eq!((ended.code, ended.text()), (Some(0), lines));
    assert!(ended.stderr.contains("6 B; from the list, no file was read"), "{}", ended.stderr);
    let ended = folder.treewide("dupes t").run();
    assert!(
        ended.stderr.contains("0 files read (0 B), 4 known by t.b3 and metadata"),
        "{}",
        ended.stderr
    );
    folder.treewide("dupes -q -0 t").run().succeeds_with("t/a\0t/new\nline\0\0t/b/\0t/c/\0\0");
    folder.treewide("dupes -q u").run().succeeds_with("");
    // Lists whose directories are not here.
    let list = format!("{}  gone\n", hex("one"));
    folder.write("one.b3", &list);
    folder.write("two.b3", list + &format!("{}  else\n", hex("two")));
    folder
        .treewide("dupes -q one.b3 two.b3")
        .run()
        .succeeds_with("?  2 files of ?\n  one.b3:gone\n  two.b3:gone\n");
    folder
        .treewide("dupes -q -0 one.b3 two.b3")
        .run()
        .fails(2, &["one.b3: the directory that it is of is not here, so nothing can be verified"]);
    folder
        .treewide("dupes --verify one.b3")
        .run()
        .fails(2, &["one.b3: the directory that it is of is not here, so nothing can be verified"]);
}

#[test]
fn dupes_writes_json() {
    let folder = folder();
    let ended = folder.treewide("dupes --json t").run();
    let lines: Vec<serde_json::Value> =
        ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["digest"], hex("one"));
    assert_eq!(
        (&lines[0]["type"], &lines[0]["bytes"], &lines[0]["reclaimable"]),
        (&"file".into(), &3.into(), &3.into())
    );
    let member = serde_json::json!({"path": "t/new\nline", "operand": "t", "evidence": "read", "link_of": null,
        "here": true});
    assert_eq!(lines[0]["members"][1], member);
    assert_eq!(lines[1]["members"][0]["evidence"], serde_json::Value::Null);
    let all =
        ["file_groups", "folder_groups", "redundant", "reclaimable", "files_read", "bytes_read"];
    assert_eq!(all.map(|it| lines[2][it].as_u64().unwrap()), [1, 1, 2, 6, 4, 12]);
}

#[test]
fn dupes_verifies_and_names_what_changed() {
    let folder = folder();
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    folder
        .treewide("dupes --verify t.b3")
        .run()
        .fails(0, &["6 B; no file was read, 0 are not as recorded"]);
    folder
        .treewide("dupes --verify=read t.b3")
        .run()
        .fails(0, &["6 B; 4 files read (12 B), 0 are not as recorded"]);
    folder.write("t/a", "eno");
    let ended = folder.treewide("dupes --verify t.b3").run();
    assert_eq!(ended.text(), "3 B  2 files of 3 B\n  t/b/1\n  t/c/1\n");
    ended.fails(
        1,
        &["t/a: has another content than recorded", "1 file read (3 B), 1 is not as recorded"],
    );
    folder.treewide("dupes --verify=hope t.b3").run().fails(2, &["metadata, read"]);
}

#[test]
fn dupes_writes_a_page() {
    let folder = folder();
    for at in 0..8 {
        let of_v = if at == 0 { "other".into() } else { at.to_string().repeat(9) };
        folder.write(format!("t/u/{at}"), at.to_string().repeat(9));
        folder.write(format!("t/v/{at}"), of_v);
    }
    folder.write("t/</script><img src=x>\u{202e}", "one");
    let said = "; 1 pair of similar folders; ";
    let ended = folder.treewide("dupes --similar 80% --html page.html t").run();
    assert!(
        ended
            .text()
            .ends_with("63 B  shared by 2 folders, 87 % of the larger one\n  t/u/\n  t/v/\n"),
        "{ended:?}"
    );
    ended.fails(0, &[said]);
    let page = folder.read("page.html");
    let (_, rest) = page.split_once(r#"id="rows">"#).unwrap();
    let (rows, rest) = rest.split_once("</script>").unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(rows).unwrap();
    assert!(rest.contains(said) && !page.contains(['\u{202e}']), "{page}");
    let members = rows.iter().flat_map(|it| it["members"].as_array().unwrap());
    let paths = members.map(|it| it["path"].as_str().unwrap());
    assert_eq!(
        paths.filter(|it| it.contains("img")).collect::<Vec<_>>(),
        ["t/</script><img src=x>\u{202e}"]
    );
    let ended = folder.treewide("dupes -q --similar 80% --json t").run();
    let objects: Vec<serde_json::Value> =
        ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects, rows, "the page has the rows of --json");
    let (similar, null) = (rows.last().unwrap(), serde_json::Value::Null);
    assert_eq!((&similar["percent"], &similar["bytes"]), (&87.into(), &63.into()));
    assert_eq!((&similar["digest"], &similar["files"]), (&null, &null));
    assert_eq!((&similar["path"], &similar["type"]), (&"t/u".into(), &"directory".into()));
    // Nothing in a name is a mark of the page.
    for mark in ["{time}", "{summary}", "{rows}"] {
        folder.write(format!("{mark}/x"), "one");
        let ended = folder.treewide(&format!("dupes -q --force --html page.html {mark}")).run();
        ended.fails(0, &[]);
        let page = folder.read("page.html");
        assert!(page.contains(&format!("{{\"path\":\"{mark}\"")), "{page}");
    }
    let ended = folder.treewide("dupes --html page.html u").run();
    ended.fails(2, &["page.html: exists and is not empty; --force replaces it"]);
    folder
        .treewide("dupes --similar 0 u")
        .run()
        .fails(2, &["expected a percentage from 1 to 100, such as 80%"]);
}

#[test]
fn dupes_writes_a_report_for_fclones() {
    let folder = folder();
    folder.write("t/\u{e9} \\", "one");
    let report = folder.treewide("dupes -q --fclones t").run();
    let value: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(value["groups"].as_array().unwrap().len(), 2);
    assert_eq!(value["groups"][0]["file_len"], 3);
    let none = folder.treewide("dupes -q --fclones u").run();
    assert!(none.text().ends_with("\"groups\":[\n]}\n"), "{none:?}");
    // Its time is that of the list, so that fclones leaves what was written to since alone.
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(folder.join("t.b3")).unwrap().set_modified(old).unwrap();
    let of_list = folder.treewide("dupes -q --fclones t.b3").run();
    let of_list: serde_json::Value = serde_json::from_slice(&of_list.stdout).unwrap();
    assert_eq!(of_list["header"]["timestamp"], "2001-09-09T01:46:40Z");
    assert_eq!(of_list["groups"], value["groups"]);
    folder.write("gone.b3", format!("{}  a/b\n", hex("one")));
    folder
        .treewide("dupes --fclones gone.b3")
        .run()
        .fails(2, &["gone.b3: the directory that it is of is not here"]);
    folder.write("gone.b3", format!("{0}  a\n{0}  b\n", hex("one")));
    folder.write("gone/a", "one");
    folder
        .treewide("dupes --fclones gone.b3")
        .run()
        .fails(1, &["gone/b: ", "1 is not as recorded"]);
    folder.write("gone/b", "one");
    folder
        .treewide("dupes --fclones --verify gone.b3")
        .run()
        .fails(2, &["a list does not say how long its files are"]);
    // A copy of a list is newer than its contents.
    let began = folder.read("t.b3.tw");
    let began = began.split_once("\"began\":\"").unwrap().1.split_once('"').unwrap().0;
    let copied = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    let list = fs::File::options().write(true).open(folder.join("t.b3")).unwrap();
    list.set_modified(copied).unwrap();
    let copy = folder.treewide("dupes -q --fclones t.b3").run();
    let copy: serde_json::Value = serde_json::from_slice(&copy.stdout).unwrap();
    assert_eq!(copy["header"]["timestamp"], began);
    if find_program("fclones").is_none() {
        return skip("fclones reads the report", "there is no fclones");
    }
    // It compares times in nanoseconds with a report in seconds.
    let late = report.text().replace("\"timestamp\":\"2", "\"timestamp\":\"3");
    let ended = folder.program("fclones").args(["remove", "--dry-run"]).stdin(&late).run();
    assert_eq!((ended.code, ended.text().lines().count()), (Some(0), 3), "{ended:?}");
    let ended = folder.program("fclones").args(["remove"]).stdin(&late).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    folder.treewide("dupes -q t").run().succeeds_with("");
    folder.treewide("missing -q t.b3 t").run().succeeds_with("");
}

#[test]
fn missing_lists_files_and_ends_with_1() {
    let folder = folder();
    folder.treewide("missing u t").run().fails(0, &["0 of 1 file missing; "]);
    let ended = folder.treewide("missing t u").run();
    assert_eq!((ended.code, ended.text()), (Some(1), "t/b/1\nt/c/1\n"));
    let said = "2 of 4 files missing (6 B); 5 files read (15 B)";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let ended = folder.treewide("missing --names u t -q -0").run();
    assert_eq!((ended.code, ended.text(), &*ended.stderr), (Some(1), "u/x\0", ""));
    let ended = folder.treewide("missing --json t u").run();
    let first: serde_json::Value =
        serde_json::from_str(ended.text().lines().next().unwrap()).unwrap();
    let expected = serde_json::json!({"path": "t/b/1", "verdict": "missing", "type": "file", "bytes": 3,
        "evidence": "read", "detail": null, "digest": hex("two")});
    assert_eq!(first, expected);
    assert!(ended.text().ends_with("\"files\":4,\"missing\":2,\"bytes_missing\":6,\"unknown\":0,\"not_counted\":0,\"unnumbered\":0,\"files_read\":5,\"bytes_read\":15,\"unreadable\":0}\n"));
}

#[test]
fn dupes_and_missing_refuse_what_they_cannot_do() {
    let folder = folder();
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    folder.write("list", "nonsense\n");
    for (args, code, cause) in [
        ("dupes", 2, "<X.b3|DIR>"),
        ("missing t", 2, "<Y.b3|DIR>"),
        ("dupes t t", 2, "t: is named twice; name it once"),
        ("dupes t t.b3", 2, "t.b3: has files of t, which is also named; name one of them"),
        ("dupes gone", 3, "gone: cannot read: "),
        ("dupes list", 3, "list:1: not a checksum line"),
        ("missing t list", 3, "list:1: not a checksum line"),
        ("dupes -o t.b3 u", 2, "t.b3: is a part of the manifest"),
        ("dupes --force -o t.b3 t.b3", 2, "is an input, and the output would replace it"),
        ("missing -o list u list", 2, "list: is an input"),
        ("dupes --json -0 t", 2, "--json"),
        ("dupes --similar 50% -0 t", 2, "--null"),
        ("dupes --root nowhere t.b3", 2, "nowhere: is not a directory here"),
        ("missing --root nowhere t.b3 u", 2, "nowhere: is not a directory here"),
        (
            "dupes -",
            2,
            "-: lists are read more than once, and a pipe cannot be; write it to a file",
        ),
        ("missing t -", 2, "-: lists are read more than once"),
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!(ended.text(), "", "{args}");
        ended.fails(code, &[cause]);
    }
}

#[test]
fn outputs_never_replace_files_that_were_read() {
    let folder = folder();
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    folder.treewide("dupes -q u --html page.html").run().fails(0, &[]);
    fs::copy(folder.join("page.html"), folder.join("u/page.html")).unwrap();
    std::os::unix::fs::symlink("t/a", folder.join("link")).unwrap();
    std::os::unix::fs::symlink("t", folder.join("dir")).unwrap();
    for part in ["b3", "b3.tw"] {
        fs::copy(folder.join(format!("t.{part}")), folder.join(format!("other.{part}"))).unwrap();
    }
    for (command, output) in [
        ("dupes --root t other.b3 -o", "t/a"),
        ("missing --root t other.b3 u -o", "t/b/1"),
        ("dupes t u -o", "t/a"),
        ("dupes t u --json -o", "u/x"),
        ("dupes t u --fclones -o", "t/b/1"),
        ("dupes u --html", "u/page.html"),
        ("dupes t -o", "link"),
        ("dupes dir -o", "t/a"),
        ("dupes t -o", "dir/a"),
        ("dupes t.b3 -o", "t/a"),
        ("dupes --verify t.b3 -o", "t/a"),
        ("missing t u -o", "t/a"),
        ("missing t u -o", "u/x"),
        ("missing t.b3 u -o", "t/a"),
        ("sum -r t -o", "t/a"),
        ("sum -r u t -o", "link"),
    ] {
        let before = fs::read(folder.join(output)).unwrap();
        let cause = format!("{output}: is a file in ");
        let ended = folder.treewide(&format!("{command} {output}")).run();
        ended.fails(2, &[&cause, "which is an input, and the output would replace it"]);
        assert_eq!(fs::read(folder.join(output)).unwrap(), before, "{command} {output}");
    }
    // A list without a directory of its name.
    folder.write("list", format!("{0}  t/a\n{0}  u/x\n", hex("one")));
    for command in ["dupes list -o t/a", "dupes --json list -o link", "missing list t/b -o t/a"] {
        folder.write("t/b/1", "two");
        folder.treewide(command).run().fails(2, &["exists and is not empty; --force replaces it"]);
        let ended = folder.treewide(&format!("{command} --force")).run();
        ended.fails(3, &["t/a: is an input, and the output would replace it"]);
        assert_eq!(folder.read("t/a"), "one", "{command}");
    }
    // No run reads a new file of its own.
    folder.treewide("dupes -q t -o t/report").run().fails(0, &[]);
    assert!(folder.read("t/report").starts_with("3 B  2 files of 3 B"));
    {
        folder.treewide("sum -r u -o u/SUMS").run().fails(0, &[]);
        assert!(folder.read("u/SUMS").ends_with(&format!("{}  u/x\n", hex("one"))));
    }
}

#[test]
fn nothing_is_called_missing_or_equal_where_a_disk_may_be_off() {
    let folder = folder();
    for dir in ["t", "u"] {
        folder.treewide(&format!("snapshot -q {dir}")).run().fails(0, &[]);
    }
    folder.treewide("missing u t").run().fails(0, &["0 of 1 file missing"]);
    // A file that is gone is said, and no more.
    fs::remove_file(folder.join("t/b/1")).unwrap();
    let said = "3 known by t.b3 and metadata, 1 file that it names not there";
    folder.treewide("missing u t").run().fails(0, &[said]);
    // Nothing is known of where it was.
    let index = folder.read("t.b3.tw");
    let (before, after) = index.split_once("{\"path\":\"a\"").unwrap();
    let (facts, rest) = after.split_once("\"mtime\":").unwrap();
    let rest = rest.split_once(',').unwrap().1;
    folder.forge_index("t.b3.tw", &format!("{before}{{\"path\":\"a\"{facts}{rest}"));
    fs::remove_file(folder.join("t/a")).unwrap();
    folder
        .treewide("missing u t")
        .run()
        .fails(0, &["2 known by t.b3", "2 files that it names not there"]);
    folder.write("t.b3.tw", index);
    fs::rename(folder.join("t"), folder.join("away")).unwrap();
    fs::create_dir(folder.join("t")).unwrap();
    let off = "files recorded is there as it was; see that the disk is mounted";
    for args in ["missing t u", "missing u t", "missing t u.b3", "dupes t", "dupes t u"] {
        folder.treewide(args).run().fails(3, &[off]);
    }
    fs::create_dir(folder.join("empty")).unwrap();
    folder
        .treewide("missing empty u")
        .run()
        .fails(3, &["empty: has no file, so nothing was compared"]);
    folder.treewide("missing u empty").run().fails(1, &["1 of 1 file missing"]);
}

#[test]
fn lists_that_may_be_cut_are_not_believed() {
    let folder = folder();
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    let (list, index) = (folder.read("t.b3"), folder.read("t.b3.tw"));
    let cut: String = list.split_inclusive('\n').take(2).collect();
    let edited = index.replacen("\"bytes\":3", "\"bytes\":4", 1);
    for (list, index) in [(&*cut, &*index), ("", &index), (&list, &index[..300]), (&list, &edited)]
    {
        folder.write("t.b3", list);
        folder.write("t.b3.tw", index);
        let commands = [
            "missing t.b3 u",
            "missing u t.b3",
            "missing t u",
            "dupes t.b3",
            "dupes t",
            "manifest statement t.b3",
        ];
        for args in commands {
            let ended = folder.treewide(args).run();
            assert_eq!(ended.text(), "", "{args}");
            ended.fails(3, &["t.b3.tw: ", ", so files may be gone from the list; restore both"]);
        }
        let ended = folder.treewide("manifest lines t.b3").run();
        assert_eq!((ended.code, ended.text()), (Some(0), list));
        let warns = ended.stderr.contains("t.b3.tw: ");
        assert_eq!(warns, index != edited, "{}", ended.stderr);
    }
}

#[test]
fn comparisons_never_replace_recorded_files() {
    let folder = folder();
    for dir in ["t", "u"] {
        folder.treewide(&format!("snapshot -q {dir}")).run().fails(0, &[]);
    }
    std::os::unix::fs::symlink("t/a", folder.join("link")).unwrap();
    for (command, output) in [
        ("verify t.b3 -o", "t/a"),
        ("verify t.b3 -o", "link"),
        ("verify t.b3 --html", "link"),
        ("diff t.b3 t -o", "link"),
        ("diff t.b3 u.b3 -o", "t/a"),
        ("diff u.b3 t.b3 -o", "link"),
        ("diff t.b3 u.b3 -o", "u/x"),
    ] {
        let ended = folder.treewide(&format!("{command} {output}")).run();
        ended.fails(2, &[output, "is in the list, and the output would replace it"]);
        assert_eq!((&*folder.read("t/a"), &*folder.read("u/x")), ("one", "one"), "{command}");
    }
    folder.treewide("diff -q t.b3 u.b3 -o new").run().fails(1, &[]);
}

#[test]
fn missing_does_not_find_the_files_in_themselves() {
    let folder = Folder::new();
    folder.write("disk/phone/1", "one");
    folder.write("disk/phone/2", "two");
    folder.write("disk/kept/2", "two");
    folder.write("SUMS", format!("{}  disk/phone/1\n{0}  link/1\n", hex("one")));
    folder.age();
    folder.treewide("snapshot -q disk/phone").run().fails(0, &[]);
    folder.treewide("snapshot -q disk").run().fails(0, &[]);
    std::os::unix::fs::symlink("disk/phone", folder.join("link")).unwrap();
    let own = "1 of 2 files missing (3 B); not counted: ";
    for args in [
        "missing disk/phone disk",
        "missing disk/phone disk.b3",
        "missing link disk",
        "missing link disk.b3",
        "missing disk/phone.b3 disk",
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!(ended.text().lines().count(), 1, "{args}: {ended:?}");
        assert!(ended.text().ends_with("/1\n"), "{args}: {ended:?}");
        ended.fails(1, &[own, "2 files of the others in "]);
    }
    let ended = folder.treewide("missing disk/phone SUMS disk/kept").run();
    assert_eq!(ended.text(), "disk/phone/1\n");
    ended.fails(1, &[own, "2 files of the others in disk/phone"]);
    folder.treewide("missing disk disk/phone").run().fails(1, &["5 of 5 files missing"]);
    // Another name of a file stays if this one goes.
    fs::hard_link(folder.join("disk/phone/1"), folder.join("disk/kept/1")).unwrap();
    folder.treewide("missing disk/phone disk").run().fails(0, &["0 of 2 files missing"]);
    fs::remove_file(folder.join("disk/kept/1")).unwrap();
    // A manifest of links that were followed.
    fs::create_dir(folder.join("links")).unwrap();
    std::os::unix::fs::symlink("../disk/phone", folder.join("links/phone")).unwrap();
    folder.treewide("snapshot -q --follow links").run().fails(0, &[]);
    for args in ["missing disk/phone links.b3", "missing disk/phone links"] {
        folder.treewide(args).run().fails(1, &["2 of 2 files missing (6 B); not counted: 2 files"]);
    }
    // Lists of files that are there: nothing is asked of other places.
    folder.treewide("missing disk.b3 disk").run().fails(0, &["0 of 5 files missing; "]);
    folder.treewide("missing disk disk.b3").run().fails(0, &["0 of 5 files missing; "]);
}

#[test]
fn missing_looks_at_files_that_a_manifest_leaves_out() {
    let folder = folder();
    folder.write("t/x.tmp", "secret");
    folder.write("t/.hidden", "too");
    folder.treewide("snapshot -q t --exclude *.tmp --no-hidden").run().fails(0, &[]);
    let ended = folder.treewide("missing t u").run();
    assert_eq!((ended.code, ended.text()), (Some(1), "t/.hidden\nt/b/1\nt/c/1\nt/x.tmp\n"));
    folder.treewide("missing u t").run().fails(0, &["0 of 1 file missing"]);
}

#[test]
fn missing_refuses_a_list_with_two_digests_of_one_name() {
    let folder = folder();
    folder.write("two", format!("{}  n\n{}  n\n", hex("one"), hex("two")));
    folder.write("one", format!("{}  n\n", hex("two")));
    for args in ["missing one two", "missing two one", "dupes two"] {
        folder.treewide(args).run().fails(3, &["two: n is listed twice, with two digests"]);
    }
}

#[test]
fn names_of_a_list_are_those_here_before_those_of_a_directory_of_its_name() {
    let folder = folder();
    folder.write("d/a", "same");
    folder.write("d/b", "same");
    folder.treewide("sum -q d/a d/b -o d.b3").run().fails(0, &[]);
    folder.treewide("dupes -q -0 d.b3").run().succeeds_with("d/a\0d/b\0\0");
}

#[test]
fn lists_in_pipes_are_refused() {
    let folder = folder();
    let made = folder.program("mkfifo").args(["pipe"]).run();
    assert_eq!(made.code, Some(0), "{made:?}");
    for args in ["dupes pipe", "missing pipe u", "missing u pipe", "dupes /dev/null"] {
        folder.treewide(args).run().fails(2, &["a pipe cannot be; write it to a file"]);
    }
    folder.treewide("dupes /dev/stdin").stdin("").run().fails(2, &["/dev/stdin: lists are read"]);
}

#[test]
fn dupes_never_name_the_root_of_the_file_system() {
    let folder = folder();
    folder.write("x", "one");
    folder.write("list", format!("{}  x\n", hex("one")));
    folder.treewide("dupes -q -0 --verify list u").run().succeeds_with("x\0u/x\0\0");
    folder
        .treewide("dupes -q list u")
        .run()
        .succeeds_with("3 B  2 folders of 3 B, 1 file in each\n  ./\n  u/\n");
    fs::remove_file(folder.join("x")).unwrap();
    let ended = folder.treewide("dupes -q --json list u").run();
    assert!(ended.text().contains(r#"{"path":".","operand":"list","here":false"#), "{ended:?}");
    let ended = folder.treewide("dupes -q list u").run();
    assert!(ended.text().contains("  list:./\n"), "{ended:?}");
}

#[test]
fn dupes_do_not_call_folders_equal_without_what_a_manifest_leaves_out() {
    let folder = folder();
    folder.write("t/b/draft.tmp", "only here");
    folder.treewide("snapshot -q t --exclude *.tmp").run().fails(0, &[]);
    let lines =
        "3 B  2 files of 3 B\n  t/a\n  \\t/new\\nline\n3 B  2 files of 3 B\n  t/b/1\n  t/c/1\n";
    folder.treewide("dupes -q t").run().succeeds_with(lines);
}

#[test]
fn dupes_count_names_of_a_file_in_two_manifests_once() {
    let folder = Folder::new();
    folder.write("t/a", "content");
    folder.write("t/d", "content");
    fs::create_dir(folder.join("out")).unwrap();
    fs::hard_link(folder.join("t/a"), folder.join("out/c")).unwrap();
    folder.age();
    for dir in ["t", "out"] {
        folder.treewide(&format!("snapshot -q {dir}")).run().fails(0, &[]);
    }
    for args in ["dupes t out", "dupes t.b3 out.b3", "dupes t.b3 out"] {
        folder
            .treewide(args)
            .run()
            .fails(0, &["1 file could go, 7 B; 1 more name of the same files"]);
    }
}

#[test]
fn dupes_verify_links_that_were_followed() {
    let folder = folder();
    std::os::unix::fs::symlink("a", folder.join("t/link")).unwrap();
    folder.treewide("snapshot -q --follow t").run().fails(0, &[]);
    folder.treewide("dupes --verify t.b3").run().fails(0, &["0 are not as recorded"]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_without_a_length_are_not_empty() {
    let folder = Folder::new();
    folder.write("e/empty", "");
    let ended = folder.treewide("missing /proc/sys/net/unix e").run();
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn files_that_may_have_rotted_are_no_copies() {
    let folder = folder();
    folder.write("on/b", "one");
    folder.treewide("snapshot -q u").run().fails(0, &[]);
    let time = fs::metadata(folder.join("u/x")).unwrap().modified().unwrap();
    folder.write("u/x", "eno");
    let file = fs::File::options().write(true).open(folder.join("u/x")).unwrap();
    file.set_modified(time).unwrap();
    folder.treewide("update u.b3").run().fails(1, &[]);
    let cause = "u/x: was not found as u.b3 records it";
    let ended = folder.treewide("missing on u.b3").run();
    assert_eq!(ended.text(), "on/b\n");
    ended.fails(3, &[cause, "1 of 1 file missing"]);
    let ended = folder.treewide("dupes --fclones on u.b3").run();
    assert!(!ended.text().contains("on/b"), "{ended:?}");
    ended.fails(3, &[cause]);
}

#[test]
fn dupes_writes_a_page_of_the_largest_groups() {
    let folder = Folder::new();
    let line = |at: u32| {
        let digest = hex(at.to_string());
        format!("{{\"path\":\"{{}}{at}\",\"digest\":\"{digest}\",\"bytes\":{at}}}\n")
    };
    let lines: String = (1..=10_001)
        .map(line)
        .flat_map(|it| [it.replace("{}", "a"), it.replace("{}", "b")])
        .collect();
    folder.write("list", lines);
    folder.treewide("dupes -q -o all list").run().fails(0, &[]);
    assert_eq!(folder.read("all").lines().count(), 3 * 10_001);
    // A group of many names.
    let many: String = (0..150).map(|at| format!("{}  {at:03}\n", hex("one"))).collect();
    folder.write("many", many);
    folder.treewide("dupes -q --html page.html many").run().fails(0, &[]);
    let page = folder.read("page.html");
    assert!(
        page.contains("\"detail\":\"?  150 files of ?\"") && page.contains("\"149\""),
        "{page}"
    );
}

#[test]
fn dupes_says_which_file_another_name_is_of() {
    let folder = Folder::new();
    for name in ["t/a", "t/d"] {
        folder.write(name, "content");
    }
    fs::hard_link(folder.join("t/d"), folder.join("t/e")).unwrap();
    let lines = "7 B  2 files of 7 B\n  t/a\n  t/d\n  t/e  (another name of t/d)\n";
    folder.treewide("dupes -q t").run().succeeds_with(lines);
    let ended = folder.treewide("dupes -q --json t").run();
    let group: serde_json::Value =
        serde_json::from_str(ended.text().lines().next().unwrap()).unwrap();
    let links: Vec<_> =
        group["members"].as_array().unwrap().iter().map(|it| it["link_of"].as_str()).collect();
    assert_eq!(links, [None, None, Some("t/d")]);
}

#[test]
fn dupes_and_missing_look_for_the_directory_of_a_list() {
    let folder = folder();
    fs::create_dir(folder.join("lists")).unwrap();
    folder.treewide("snapshot -q t -o lists/t.b3").run().fails(0, &[]);
    let groups = "t/a\0t/new\nline\0\0t/b/1\0t/c/1\0\0";
    for root in ["t", "."] {
        let ended =
            folder.treewide(&format!("dupes -q -0 --verify --root {root} lists/t.b3")).run();
        assert_eq!(ended.text().replace("./t/", "t/"), groups, "{ended:?}");
        assert_eq!(ended.code, Some(0));
    }
    let ended =
        folder.treewide("dupes -q -0 --verify --root . ../lists/t.b3").at(folder.join("t")).run();
    assert_eq!(ended.text(), "./a\0./new\nline\0\0./b/1\0./c/1\0\0", "{ended:?}");
    // A directory of its name that is another one.
    folder.write("lists/t/other", "one");
    folder
        .treewide("dupes -0 lists/t.b3")
        .run()
        .fails(2, &["so nothing can be verified; name it with --root"]);
    fs::create_dir(folder.join("disk")).unwrap();
    fs::rename(folder.join("t"), folder.join("disk/t")).unwrap();
    let ended = folder.treewide("missing --root disk lists/t.b3 disk").run();
    assert!(ended.text().starts_with("disk/t/a\n"), "{ended:?}");
    ended.fails(
        1,
        &["4 of 4 files missing (12 B); not counted: 4 files of the others in lists/t.b3"],
    );
    let ended = folder.treewide("missing --json --root disk lists/t.b3 disk").run();
    assert!(ended.text().contains("\"not_counted\":4,"), "{ended:?}");
    // In the directory that another operand contains: its files are not found in themselves.
    let ended =
        folder.treewide("missing --root . ../../lists/t.b3 ..").at(folder.join("disk/t")).run();
    ended.fails(1, &["4 of 4 files missing"]);
}

#[test]
fn lists_without_a_line_are_not_compared() {
    let folder = folder();
    folder.write("empty", "");
    for args in ["dupes empty", "dupes t empty", "missing empty t", "missing t empty"] {
        let ended = folder.treewide(args).run();
        assert_eq!(ended.text(), "", "{args}");
        ended.fails(3, &["empty: there is no checksum line in it; make it again"]);
    }
}
