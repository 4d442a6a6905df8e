//! `dupes` and `missing`: tables of commands, exit status, lines, and what is said.

use crate::support::{Folder, hex, is_root, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A folder with files of these names and contents, such as `t/a=one t/b=two`.
pub(crate) fn folder(files: &str) -> Folder {
    let folder = Folder::new();
    for (name, content) in files.split_whitespace().map(|it| it.split_once('=').unwrap()) {
        folder.write(name, content);
    }
    folder.age();
    folder
}

/// Runs each line of a table, `COMMAND | EXIT STATUS | LINES | SAID`, with `;` between lines and `&` between what is said. A line that
/// begins with `$` is for a shell.
#[track_caller]
pub(crate) fn runs(folder: &Folder, table: &str) {
    for row in table.lines().map(str::trim).filter(|it| !it.is_empty()) {
        if let Some(command) = row.strip_prefix('$') {
            let ended = folder.program("sh").args(["-ec", command]).run();
            assert_eq!(ended.code, Some(0), "{row}: {ended:?}");
            continue;
        }
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [command, code, lines, said] = cells[..] else { panic!("{row}") };
        let ended = folder.treewide(command).run();
        let found: Vec<_> = ended.text().lines().map(str::trim).collect();
        assert_eq!(found.join("; "), lines, "{command}: {ended:?}");
        let said: Vec<_> = said.split('&').map(str::trim).collect();
        ended.fails(code.parse().unwrap(), &said);
    }
}

/// What was not looked at never counts: a directory is read, whatever a manifest next to it says.
#[test]
fn missing_reads_what_it_answers_about() {
    let photos = "old/1=one old/2=two old/3=three new/a/1=one new/2=two new/3=three";
    let folder = folder(photos);
    runs(
        &folder,
        "snapshot -q old | 0 | |
         snapshot -q new | 0 | |
         missing old new | 0 | | all 3 files of old are also in new (read now); 6 files read (22 B)
         missing old new.b3 | 0 | | all 3 files of old are recorded in new.b3 (of 2 & before you delete
         missing --quick old new | 0 | | also in new; copies: 3 known by metadata; 0 files read (0 B), 3 known by old.b3
         missing old.b3 new.b3 | 0 | | no file was read; no recorded copy was looked at
         missing old.b3 new | 0 | | all 3 files of old.b3 are also in new (read now); 3 files read (11 B)
         $ cp -p new/2 was; printf owt >new/2; touch -r was new/2
         missing old new | 1 | old/2 | 1 of 3 files of old is not in new (3 B); 6 files read
         missing --quick old new | 1 | old/2 | copies: 2 known by metadata
         missing -q -0 --names old new | 1 | old/1\0old/2\0 | 2 of 3 files of old are not in new
         missing old new.b3 | 0 | | no recorded copy was looked at"
            .replace("\\0", "\0")
            .as_str(),
    );
    // A run that found it knows no copy of it, nor of a file that it could not find.
    runs(
        &folder,
        "update new.b3 | 1 | SUSPECT  2  (size and mtime are as before, the content is not; only ctime moved) |
         missing old new.b3 | 3 | old/2 | 2: the last run did not find it as new.b3 records it
         missing --quick old new | 1 | old/2 | 1 of 3
         dupes -q old new.b3 | 3 | 5 B  2 files of 5 B; old/3; new.b3:3; 3 B  2 files of 3 B; old/1; new.b3:a/1 | does not count as a copy",
    );
    let ended = folder.treewide("missing --json old new.b3 new").run();
    let lines = ended.text().lines();
    let lines: Vec<serde_json::Value> = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
    let (row, end) = (&lines[0], &lines[1]);
    assert_eq!((&row["path"], &row["evidence"]), (&"old/2".into(), &"read".into()));
    let of = |key: &str| end[key].as_u64().unwrap();
    assert_eq!([of("by_read"), of("by_claimed"), of("missing")], [2, 0, 1]);
    assert_eq!(end["evidence"], "read");
    let ended = folder.treewide("missing --json old.b3 new.b3").run();
    assert!(ended.text().contains(r#""type":"summary","bytes":null,"evidence":"claimed""#));
}

#[test]
fn missing_and_dupes_take_no_unreadable_file_for_a_copy() {
    let folder = folder("old/1=one old/2=two new/1=one new/2=two");
    folder.treewide("snapshot -q new").run().fails(0, &[]);
    folder.add_treewide();
    let all = |mode| fs::Permissions::from_mode(mode);
    for name in [".", "new"] {
        fs::set_permissions(folder.join(name), all(0o777)).unwrap();
    }
    for name in ["new.b3", "new.b3.tw", "new/1"] {
        std::os::unix::fs::chown(folder.join(name), Some(65534), Some(65534)).unwrap_or_default();
    }
    fs::set_permissions(folder.join("new/2"), all(0o000)).unwrap();
    let run = |args: &str| {
        let program = folder.program("./treewide").args(args.split_whitespace());
        if is_root() { program.by_nobody().run() } else { program.run() }
    };
    for args in ["missing old new", "missing --quick old new", "dupes new old", "update new.b3"] {
        let ended = run(args).fails(3, &[]).text().to_owned() + &run(args).stderr;
        assert!(ended.contains("Permission denied"), "{args}: {ended}");
    }
    // Neither that run nor its record can say what is in it.
    for (args, said) in [
        ("missing --quick old new", "new/2: cannot open"),
        ("missing old new.b3", "2: the last run"),
    ] {
        let ended = run(args);
        assert_eq!(ended.text(), "old/2\n", "{args}: {ended:?}");
        ended.fails(3, &[said]);
    }
}

#[test]
fn missing_counts_no_file_of_the_first_as_its_copy() {
    let folder = folder("disk/phone/1=one disk/phone/2=two disk/kept/2=two out/y=why lists/x=ex");
    symlink("disk/phone", folder.join("link")).unwrap();
    fs::create_dir(folder.join("a")).unwrap();
    symlink("../out/y", folder.join("a/l")).unwrap();
    runs(
        &folder,
        "snapshot -q disk/phone | 0 | |
         snapshot -q disk/phone -o lists/p.b3 | 0 | |
         snapshot -q --follow a | 0 | |
         snapshot -q disk | 0 | |
         missing disk/phone disk | 1 | disk/phone/1 | 1 of 2 files & not counted: 2 files of the others in disk/phone
         missing link disk | 1 | link/1 | not counted: 2 files
         missing disk/phone disk.b3 | 1 | disk/phone/1 | not counted: 2 files
         missing disk/phone.b3 disk | 1 | 1 | not counted: 2 files
         missing lists/p.b3 disk | 1 | 1 | not counted: 2 files
         missing disk/phone lists/p.b3 | 1 | disk/phone/1; disk/phone/2 | not counted: 2 files
         missing disk/phone disk/phone.b3 lists/p.b3 disk/kept | 1 | disk/phone/1 | not counted: 4 files
         missing disk disk.b3 | 1 | disk/kept/2; disk/phone.b3; disk/phone.b3.tw; disk/phone/1; disk/phone/2 |
         missing disk disk/phone | 1 | disk/kept/2; disk/phone.b3; disk/phone.b3.tw; disk/phone/1; disk/phone/2 |
         missing out a.b3 | 1 | out/y | not counted: 1 file
         missing out a lists | 3 | | a: has no file
         $ ln disk/phone/1 disk/kept/1
         missing disk/phone disk | 0 | | all 2 files of disk/phone are also in disk (read now)
         missing disk/kept disk/phone lists | 0 | | (read now); 3 files read",
    );
}

#[test]
fn a_directory_that_is_mounted_twice_has_no_copies() {
    let folder = folder("d/p/y=one d/p/s/z=two m/x= u/1=one");
    let run = |command: &str| folder.program("sh").args(["-c", command]).run().code == Some(0);
    if !is_root() || !run("mount --bind d/p m") {
        return skip("one directory that is mounted twice", "nothing can be mounted here");
    }
    let unmount = scope(|| assert!(run("umount m")));
    runs(
        &folder,
        "snapshot -q d/p | 0 | |
         snapshot -q m | 0 | |
         dupes d/p m | 2 | | m: has files of d/p, which is also named; name one of them
         dupes d/p.b3 m.b3 | 2 | | m.b3: has files of d/p.b3
         missing d/p m | 1 | d/p/s/z; d/p/y | not counted: 2 files
         missing d/p m.b3 | 1 | d/p/s/z; d/p/y | not counted: 2 files
         missing d/p.b3 m | 1 | s/z; y | not counted: 2 files
         missing d/p.b3 m.b3 | 1 | s/z; y | not counted: 2 files
         missing d/p m u | 1 | d/p/s/z | not counted: 2 files",
    );
    drop(unmount);
}

/// Runs this in the end.
fn scope(end: impl FnMut()) -> impl Drop {
    struct Scope<F: FnMut()>(F);
    impl<F: FnMut()> Drop for Scope<F> {
        fn drop(&mut self) {
            self.0();
        }
    }
    Scope(end)
}

#[test]
fn operands_without_a_file_prove_nothing() {
    let folder = folder("t/a=one u/x=one mail=");
    fs::create_dir(folder.join("off")).unwrap();
    folder.write("twice", format!("{}  n\n{}  n\n", hex("one"), hex("two")));
    runs(
        &folder,
        "snapshot -q t | 0 | |
         snapshot -q off | 0 | |
         missing off u | 3 | | off: has no file, so nothing was compared
         missing u off | 3 | | off: has no file & see that it is the right one, and that its disk is mounted
         missing u t off | 3 | | off: has no file
         missing u off.b3 | 3 | | off.b3: has no file
         dupes off | 3 | | off: has no file
         dupes mail | 3 | | mail: there is no checksum line in it; make it again
         missing mail t | 3 | | mail: there is no checksum line
         missing t mail | 3 | | mail: there is no checksum line
         missing t twice | 3 | | twice: n is listed twice, with two digests
         dupes twice | 3 | | twice: n is listed twice
         dupes gone | 3 | | gone: cannot read: 
         dupes t.b3.tw | 2 | | t.b3.tw: is the index of t.b3; name t.b3
         $ mkfifo pipe
         dupes pipe | 2 | | pipe: lists are read more than once, and a pipe cannot be; write it to a file
         missing t - | 2 | | -: lists are read more than once
         dupes | 2 | | <DIR
         missing t | 2 | | <DIR
         dupes t u/../t | 2 | | t: is named twice; name it once
         dupes t t.b3 | 2 | | t.b3: has files of t, which is also named; name one of them
         dupes -0 t.b3 | 2 | | t.b3: says what was recorded, and -0 is for programs that act on files; name their directory
         dupes --fclones u t.b3 | 2 | | and --fclones is for programs
         dupes --json -0 t | 2 | | --json
         dupes --similar 50% -0 t | 2 | | --null
         dupes --similar 0 t | 2 | | expected a percentage from 1 to 100, such as 80%",
    );
    // A list or an index that may be cut is not believed.
    let (list, index) = (folder.read("t.b3"), folder.read("t.b3.tw"));
    let edited = index.replacen("\"bytes\":3", "\"bytes\":4", 1);
    for (list, index) in [("", &*index), (&list, &index[..300]), (&list, &edited)] {
        folder.write("t.b3", list);
        folder.write("t.b3.tw", index);
        runs(
            &folder,
            "missing t.b3 u | 3 | | t.b3.tw: & so files may be gone from the list; restore both
             missing u t.b3 | 3 | | t.b3.tw:
             missing --quick u t | 3 | | t.b3.tw:
             dupes t.b3 | 3 | | t.b3.tw:
             manifest statement t.b3 | 3 | | t.b3.tw:
             missing u t | 0 | | (read now)",
        );
    }
}

#[test]
fn dupes_lists_groups_and_says_how_they_are_known() {
    let folder = folder("t/a=one t/b/1=two t/c/1=two u/x=one hidden/.x=one hidden/y=two");
    folder.write("t/new\nline", "one");
    symlink("a", folder.join("u/link")).unwrap();
    folder.age();
    let lines = "3 B  2 files of 3 B; t/a; \\t/new\\nline; 3 B  2 folders of 3 B, 1 file in each; t/b/; t/c/";
    let said = "1 group of files and 1 group of folders: 2 files are spare copies (6 B);";
    let of_list = lines.replace("t/", "");
    folder.write("one.b3", format!("{}  gone\n", hex("one")));
    folder.write("two.b3", format!("{}  gone\n{}  else\n", hex("one"), hex("two")));
    runs(
        &folder,
        &format!(
            "snapshot -q t | 0 | |
             dupes t | 0 | {lines} | {said} 4 files read (12 B)
             dupes --quick t | 0 | {lines} | {said} 0 files read (0 B), 4 known by t.b3 and metadata
             dupes t.b3 | 0 | {of_list} | {said} no file was read; not looked at: the files of t.b3 (of 2
             dupes -q -0 t | 0 | t/a\0t/new; line\0\0t/b/\0t/c/\0\0 |
             dupes -q u | 0 | |
             dupes u | 0 | | 0 files read (0 B); 1 symbolic link not followed
             dupes -q one.b3 two.b3 | 0 | ?  2 files of ?; one.b3:gone; two.b3:gone |
             dupes -q -0 hidden t | 0 | hidden/.x\0t/a\0t/new; line\0\0hidden/y\0t/b/1\0\0t/b/\0t/c/\0\0 |"
        ),
    );
    let ended = folder.treewide("dupes --json t").run();
    let lines: Vec<serde_json::Value> =
        ended.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["digest"], &lines[0]["reclaimable"]), (&hex("one").into(), &3.into()));
    let member = serde_json::json!({"path": "t/new\nline", "operand": "t", "evidence": "read", "link_of": null});
    assert_eq!(lines[0]["members"][1], member);
    assert_eq!(lines[1]["members"][0]["evidence"], serde_json::Value::Null);
    let all =
        ["file_groups", "folder_groups", "redundant", "reclaimable", "files_read", "bytes_read"];
    assert_eq!(all.map(|it| lines[2][it].as_u64().unwrap()), [1, 1, 2, 6, 4, 12]);
}

/// One file is not a copy of itself, whichever operands have its names.
#[test]
fn dupes_tell_names_from_copies() {
    let folder = folder("t/a=content t/d=content");
    fs::create_dir(folder.join("out")).unwrap();
    for (from, to) in [("t/d", "t/e"), ("t/a", "out/c")] {
        fs::hard_link(folder.join(from), folder.join(to)).unwrap();
    }
    symlink("../t", folder.join("out/t")).unwrap();
    folder.age();
    let t = "7 B  2 files of 7 B; t/a; t/d; t/e  (another name of t/d)";
    let once = "1 file is a spare copy (7 B); 2 more names of the same files";
    runs(
        &folder,
        &format!(
            "snapshot -q t -o lists.b3 | 0 | |
             snapshot -q out | 0 | |
             dupes t | 0 | {t} | 1 file is a spare copy (7 B); 1 more name
             dupes -q out | 0 | |
             dupes t out | 0 | {t}; out/c  (another name of t/a) | {once}
             dupes lists.b3 out | 0 | 7 B  2 files of 7 B; lists.b3:a; lists.b3:d; lists.b3:e  (another name of lists.b3:d); \
                out/c  (another name of lists.b3:a) | {once}
             dupes -q t lists.b3 | 0 | {t} |"
        ),
    );
    let ended = folder.treewide("dupes -q --json t").run();
    assert!(
        ended.text().contains(r#""path":"t/e","operand":"t","evidence":"read","link_of":"t/d""#)
    );
}

#[test]
fn dupes_writes_a_page() {
    let folder = folder("t/a=one u/x=one");
    for at in 0..8 {
        let of_v = if at == 0 { "other".into() } else { at.to_string().repeat(9) };
        folder.write(format!("t/u/{at}"), at.to_string().repeat(9));
        folder.write(format!("t/v/{at}"), of_v);
    }
    folder.write("t/</script><img src=x>\u{202e}", "one");
    let said = "; 1 pair of similar folders; ";
    let ended = folder.treewide("dupes --similar 80% --html page.html t").run();
    let similar = "63 B  shared by 2 folders, 87 % of the larger one\n  t/u/\n  t/v/\n";
    assert!(ended.text().ends_with(similar), "{ended:?}");
    ended.fails(0, &[said]);
    let page = folder.read("page.html");
    let (_, rest) = page.split_once(r#"id="rows">"#).unwrap();
    let (rows, rest) = rest.split_once("</script>").unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_str(rows).unwrap();
    assert!(rest.contains(said) && !page.contains(['\u{202e}']), "{page}");
    let members = rows.iter().flat_map(|it| it["members"].as_array().unwrap());
    let paths = members.map(|it| it["path"].as_str().unwrap());
    let odd = paths.filter(|it| it.contains("img")).collect::<Vec<_>>();
    assert_eq!(odd, ["t/</script><img src=x>\u{202e}"]);
    let ended = folder.treewide("dupes -q --similar 80% --json t").run();
    let objects = ended.text().lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(
        objects.collect::<Vec<serde_json::Value>>(),
        rows,
        "the page has the rows of --json"
    );
    let (similar, null) = (rows.last().unwrap(), serde_json::Value::Null);
    assert_eq!((&similar["percent"], &similar["bytes"]), (&87.into(), &63.into()));
    assert_eq!((&similar["digest"], &similar["files"]), (&null, &null));
    assert_eq!((&similar["path"], &similar["type"]), (&"t/u".into(), &"directory".into()));
    // Nothing in a name is a mark of the page, and a group may have many names.
    let many: String = (0..150).map(|at| format!("{}  {at:03}\n", hex("one"))).collect();
    folder.write("many", many);
    for (name, has) in
        [("{time}", "\"path\":\"{time}\""), ("{rows}", "\"path\":\"{rows}\""), ("many", "\"149\"")]
    {
        if name != "many" {
            folder.write(format!("{name}/x"), "one");
        }
        folder.treewide(&format!("dupes -q --force --html page.html {name}")).run().fails(0, &[]);
        assert!(folder.read("page.html").contains(has), "{name}");
    }
}

#[test]
fn dupes_writes_a_report_for_fclones() {
    let folder = folder("t/a=one t/b/1=two t/c/1=two u/x=one");
    folder.write("t/\u{e9} \\", "one");
    let report = folder.treewide("dupes -q --fclones t").run();
    let value: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(value["groups"].as_array().unwrap().len(), 2);
    assert_eq!(value["groups"][0]["file_len"], 3);
    let none = folder.treewide("dupes -q --fclones u").run();
    assert!(none.text().ends_with("\"groups\":[\n]}\n"), "{none:?}");
    folder.treewide("sum -q -r t -o was").run().fails(0, &[]);
    if crate::support::find_program("fclones").is_none() {
        return skip("fclones reads the report", "there is no fclones");
    }
    // It compares times in nanoseconds with a report in seconds.
    let late = report.text().replace("\"timestamp\":\"2", "\"timestamp\":\"3");
    let ended = folder.program("fclones").args(["remove", "--dry-run"]).stdin(&late).run();
    assert_eq!((ended.code, ended.text().lines().count()), (Some(0), 2), "{ended:?}");
    let ended = folder.program("fclones").args(["remove"]).stdin(&late).run();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    folder.treewide("dupes -q t").run().succeeds_with("");
    folder.treewide("missing -q was t").run().succeeds_with("");
}

#[test]
fn outputs_never_replace_files_that_were_read() {
    let folder = folder("t/a=one t/b/1=two t/c/1=two u/x=one list=x");
    folder.treewide("snapshot -q t").run().fails(0, &[]);
    symlink("t/a", folder.join("link")).unwrap();
    symlink("t", folder.join("dir")).unwrap();
    for (command, output) in [
        ("dupes t u -o", "t/a"),
        ("dupes t u --json -o", "u/x"),
        ("dupes t u --fclones -o", "t/b/1"),
        ("dupes u --html", "u/x"),
        ("dupes t -o", "link"),
        ("dupes dir -o", "t/a"),
        ("dupes t -o", "dir/a"),
        ("dupes t.b3 -o", "t/a"),
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
    runs(
        &folder,
        "dupes -o t.b3 u | 2 | | t.b3: is a part of the manifest
         dupes --force -o t.b3 t.b3 | 2 | | is an input, and the output would replace it
         missing -o list u list | 2 | | list: is an input
         dupes -q t -o t/report | 0 | |
         sum -r u -o u/SUMS | 0 | |",
    );
    // No run reads a new file of its own.
    assert!(folder.read("t/report").starts_with("3 B  2 folders"));
    assert!(folder.read("u/SUMS").ends_with(&format!("{}  u/x\n", hex("one"))));
}

#[test]
fn comparisons_never_replace_recorded_files() {
    let folder = folder("t/a=one u/x=one");
    for dir in ["t", "u"] {
        folder.treewide(&format!("snapshot -q {dir}")).run().fails(0, &[]);
    }
    symlink("t/a", folder.join("link")).unwrap();
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
fn directories_are_looked_at_with_what_a_manifest_leaves_out() {
    let folder =
        folder("t/a=one t/b/1=two t/c/1=two t/b/draft.tmp=only t/.hidden=too u/x=one e/empty=");
    runs(
        &folder,
        "snapshot -q t --exclude *.tmp --no-hidden | 0 | |
         missing --quick t u | 1 | t/.hidden; t/b/1; t/b/draft.tmp; t/c/1 |
         dupes -q --quick t | 0 | 3 B  2 files of 3 B; t/b/1; t/c/1 |",
    );
    if Path::new("/proc/sys/net/unix").is_dir() {
        // Files without a length are not empty.
        let ended = folder.treewide("missing /proc/sys/net/unix e").run();
        assert_eq!(ended.code, Some(1), "{ended:?}");
    }
}
