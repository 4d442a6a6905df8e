//! `--json`: a line for each file, in which nothing is lost.

use crate::support::{Folder, hex};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn sums_as_objects() {
    let odd = "quo\"te\\ \n\u{1b}\u{7f}ä";
    let folder = Folder::with(&["a", odd]);
    let bytes = OsStr::from_bytes(b"x\xffx");
    folder.write(bytes, "");
    let ended = folder.treewide("sum --json a missing").arg(odd).arg(bytes).run();
    assert_eq!(
        ended.text().lines().next().unwrap(),
        format!(r#"{{"path":"a","digest":"{}","bytes":1,"error":null}}"#, hex("a"))
    );
    let cause = "cannot open: No such file or directory (os error 2)";
    assert_eq!(
        lines(ended.text()),
        [
            json!({"path": "a", "digest": hex("a"), "bytes": 1, "error": null}),
            json!({"path": "missing", "digest": null, "bytes": null, "error": cause}),
            json!({"path": odd, "digest": hex(odd), "bytes": odd.len(), "error": null}),
            json!({"path": "x\u{FFFD}x", "path_hex": "78ff78", "digest": hex(""), "bytes": 0, "error": null}),
        ]
    );
    // The message is there as well.
    ended.is(1, ended.text(), format!("treewide: missing: {cause}\n"));
}

#[test]
fn any_length_and_mode() {
    let folder = Folder::with(&["a"]);
    let run = |flags: &str| {
        folder.treewide("sum a").args(flags.split_whitespace()).run().text().to_owned()
    };
    for flags in ["-l 0", "-l 5", "-l 10000 --seek 7", "--derive-key x"] {
        let plain = run(flags);
        let object = &lines(&run(&format!("{flags} --json")))[0];
        assert_eq!(object["digest"], plain.split("  ").next().unwrap(), "{flags}");
    }
}

#[test]
fn failures_in_trees_are_objects_too() {
    let folder = Folder::with(&["d/f"]);
    std::os::unix::fs::symlink("nowhere", folder.join("d/dead")).unwrap();
    let ended = folder.treewide("sum -r --follow --json d").run();
    let objects = lines(ended.text());
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["path"], "d/dead");
    assert_eq!(objects[0]["error"], "cannot read: No such file or directory (os error 2)");
    assert_eq!(objects[1]["path"], "d/f");
    ended.fails(1, &[]);
}

#[test]
fn checks_as_objects() {
    let folder = Folder::with(&["a", "b"]);
    let (a, b, zeros) = (hex("a"), hex("b"), "0".repeat(64));
    folder.write("list", format!("{a}  a\n{zeros}  b\n{a}  gone\n"));
    let ok = json!({
        "path": "a", "status": "ok", "digest": a, "expected": a, "bytes": 1, "error": null,
        "algorithm": "blake3", "by": "length", "expected_bytes": null
    });
    let failed = json!({
        "path": "b", "status": "failed", "digest": b, "expected": zeros, "bytes": 1, "error": null,
        "algorithm": null, "by": "length", "expected_bytes": null
    });
    let cause = "cannot open: No such file or directory (os error 2)";
    let unreadable = json!({
        "path": "gone", "status": "unreadable", "digest": null, "expected": a, "bytes": null,
        "error": cause, "algorithm": null, "by": "length", "expected_bytes": null
    });
    let missing = json!({
        "path": "gone", "status": "missing", "digest": null, "expected": a, "bytes": null,
        "error": null, "algorithm": null, "by": "length", "expected_bytes": null
    });
    let check = |flags: &str| {
        let ended = folder.treewide("check --json list").args(flags.split_whitespace()).run();
        ended.fails(1, &["1 FAILED"]);
        lines(ended.text())
    };
    assert_eq!(check(""), [ok.clone(), failed.clone(), unreadable.clone()]);
    assert_eq!(check("--quiet"), [failed.clone(), unreadable]);
    assert_eq!(check("--ignore-missing"), [ok, failed, missing]);
}
