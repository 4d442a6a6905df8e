//! `snapshot --xattrs`, and what `verify`, `update`, `diff` and `manifest stat` say of extended attributes.

use crate::support::Folder;
use rustix::fs::{XattrFlags, setxattr};
use serde_json::Value;

#[test]
fn xattrs_are_said_in_words_in_json_and_in_stat() {
    let folder = Folder::new();
    folder.write("t/a", "1");
    folder.write("t/b", "2");
    let set =
        |name: &str, value: &[u8]| setxattr(folder.join("t/a"), name, value, XattrFlags::empty());
    if let Err(error) = set("user.text", b"1\n2") {
        println!("SKIPPED: no extended attributes here: {error}");
        return;
    }
    set("user.bytes", b"\xff\0").unwrap();
    folder.age();
    let run = |args: &str| {
        let ended = folder.treewide(args).run();
        (ended.code, String::from_utf8(ended.stdout).unwrap(), ended.stderr)
    };
    assert_eq!(run("snapshot --xattrs t -o m.b3").0, Some(0));
    let stat = run("manifest stat m.b3 a").1;
    assert!(stat.contains("attribute user.bytes: 0xff00\n"), "{stat}");
    assert!(stat.contains("attribute user.text: \"1\\n2\"\n"), "{stat}");
    assert!(run("manifest stat m.b3").1.contains("extended attributes: all"));
    assert_eq!(run("verify m.b3 t").0, Some(0));
    set("user.bytes", b"\xfe\0").unwrap();
    let line = "CHANGED  a  (user.bytes 0xff00 -> 0xfe00)\n";
    for args in ["verify m.b3 t", "verify --quick m.b3 t", "diff m.b3 t"] {
        let (code, stdout, _) = run(args);
        assert_eq!((code, &*stdout), (Some(1), line), "{args}");
    }
    let (_, stdout, _) = run("verify --quick --json m.b3 t");
    let found: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    assert_eq!(found["detail"], "user.bytes 0xff00 -> 0xfe00");
    for end in ["", ".tw"] {
        std::fs::copy(folder.join(format!("m.b3{end}")), folder.join(format!("n.b3{end}")))
            .unwrap();
    }
    let (code, stdout, stderr) = run("update n.b3 t");
    assert_eq!((code, &*stdout), (Some(0), line), "{stderr}");
    let (_, stdout, stderr) = run("diff m.b3 n.b3");
    assert_eq!(stdout, line);
    assert!(!stderr.contains("not compared"), "{stderr}");
    assert_eq!(run("verify --quick n.b3 t").0, Some(0));
    // Two manifests are the same as far as both say something.
    assert_eq!(run("snapshot --modes --exclude x t -o o.b3").0, Some(0));
    let (code, stdout, stderr) = run("diff n.b3 o.b3");
    assert_eq!((code, &*stdout), (Some(0), ""));
    let said = "not compared: modes, which only one has, extended attributes that only one covers, what the rules of one leave out";
    assert!(stderr.contains(said), "{stderr}");
    assert_eq!(run("diff -q n.b3 o.b3").2, "");
    std::fs::remove_file(folder.join("o.b3.tw")).unwrap();
    assert!(run("diff n.b3 o.b3").2.contains("not compared: links, directories and special files"));
}
