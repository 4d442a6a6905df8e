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
        format!(
            r#"{{"path":"a","verdict":"hashed","type":"file","bytes":1,"evidence":"read","detail":null,"digest":"{}"}}"#,
            hex("a")
        )
    );
    let cause = "cannot open: No such file or directory (os error 2)";
    let hashed = |path: &str, content: &str| {
        json!({"path": path, "verdict": "hashed", "type": "file", "bytes": content.len(), "evidence": "read",
            "detail": null, "digest": hex(content)})
    };
    let mut bytes = hashed("x\u{FFFD}x", "");
    bytes["path_hex"] = "78ff78".into();
    assert_eq!(
        lines(ended.text()),
        [
            hashed("a", "a"),
            json!({"path": "missing", "verdict": "unreadable", "type": "file", "bytes": null, "evidence": null,
                "detail": cause, "digest": null}),
            hashed(odd, odd),
            bytes,
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
    assert_eq!(objects[0]["detail"], "cannot read: No such file or directory (os error 2)");
    assert_eq!(objects[1]["path"], "d/f");
    ended.fails(1, &[]);
}

#[test]
fn checks_as_objects() {
    let folder = Folder::with(&["a", "b"]);
    let (a, b, zeros) = (hex("a"), hex("b"), "0".repeat(64));
    folder.write("list", format!("{a}  a\n{zeros}  b\n{a}  gone\n"));
    let row = |path, verdict, expected: &str| {
        json!({"path": path, "verdict": verdict, "type": "file", "bytes": null, "evidence": null, "detail": null, "digest": null,
            "expected": expected, "algorithm": null, "by": "length", "expected_bytes": null, "store": null})
    };
    let read = |mut row: Value, digest: &str| {
        (row["bytes"], row["evidence"], row["digest"]) = (1.into(), "read".into(), digest.into());
        row
    };
    let mut ok = read(row("a", "ok", &a), &a);
    ok["algorithm"] = "blake3".into();
    let failed = read(row("b", "failed", &zeros), &b);
    let mut unreadable = row("gone", "unreadable", &a);
    unreadable["detail"] = "cannot open: No such file or directory (os error 2)".into();
    let missing = row("gone", "missing", &a);
    let check = |flags: &str| {
        let ended = folder.treewide("check --json list").args(flags.split_whitespace()).run();
        ended.fails(1, &["1 FAILED"]);
        let mut lines = lines(ended.text());
        if flags != "--quiet" {
            let summary = lines.pop().unwrap();
            assert_eq!((&summary["type"], &summary["failed"]), (&"summary".into(), &1.into()));
        }
        lines
    };
    assert_eq!(check(""), [ok.clone(), failed.clone(), unreadable.clone()]);
    assert_eq!(check("--quiet"), [failed.clone(), unreadable]);
    assert_eq!(check("--ignore-missing"), [ok, failed, missing]);
}

/// Keys that an option asks for, or a name that is not UTF-8.
const MORE: [&str; 2] = ["path_hex", "other_hex"];

#[test]
fn objects_of_all_commands_have_the_keys_of_the_docs() {
    let folder = Folder::new();
    for (name, content) in [("t/a", "one"), ("t/d/b", "one"), ("t/d/c", "two"), ("u/x", "other")] {
        folder.write(name, content);
    }
    folder.write("SUMS", format!("{0}  t/a\n{0}  u/x\nnonsense\n", hex("one")));
    folder.write("image", vec![7; 40_000]);
    let header = r#"{"q":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let model = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), b"x"].concat();
    folder.write("m.safetensors", model);
    for made in ["snapshot -q t", "outboard create image"] {
        folder.treewide(made).run().fails(0, &[]);
    }
    folder.write("copy", vec![7; 40_000]);
    folder.write("image", [vec![7; 20_000], vec![8], vec![7; 19_999]].concat());
    folder.write("t/a", "changed, which --quick sees");
    std::fs::create_dir(folder.join("t/new")).unwrap();
    std::os::unix::fs::symlink("a", folder.join("t/link")).unwrap();
    let commands = [
        ("sum", "sum --json t/a gone"),
        ("check", "check --json SUMS gone u"),
        ("snapshot", "snapshot --json t -o new.b3"),
        ("verify", "verify --json t.b3"),
        ("diff", "diff --json t.b3 new.b3"),
        ("update", "update --json t.b3"),
        ("scrub", "scrub --json t.b3"),
        ("history", "history --json t.b3"),
        ("history", "history --json t.b3 a"),
        ("dupes", "dupes --json t copy.b3"),
        ("missing", "missing --json t u"),
        ("tensors", "tensors --json m.safetensors"),
        ("outboard verify", "outboard verify --json image"),
        ("outboard repair", "outboard repair --json image --from copy"),
    ];
    folder.write("copy.b3", format!("{}  d\n", hex("two")));
    let docs = include_str!("../../../../docs/formats.md");
    let (_, section) = docs.split_once("## Objects of `--json`").unwrap();
    let words = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let tables: Vec<Vec<Vec<String>>> = section
        .lines()
        .filter(|it| it.starts_with("| `"))
        .map(|it| it.trim_matches('|').split(" | ").map(words).collect())
        .collect();
    let shape: Vec<_> = tables.iter().filter(|it| it.len() == 2).map(|it| &it[0]).collect();
    let (shape, verdicts) = shape.split_at(6);
    let shape: Vec<String> = shape.iter().map(|it| it[0].clone()).collect();
    let mut seen = std::collections::BTreeSet::new();
    for (name, command) in commands {
        let ended = folder.treewide(command).run();
        for line in ended.text().lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            let kind = object["type"].as_str().unwrap();
            let row = tables.iter().position(|it| {
                it.len() == 3
                    && it[0].iter().any(|it| it == name)
                    && it[1].iter().any(|it| it == kind)
            });
            let row = row.unwrap_or_else(|| panic!("{command}: no row of the docs: {line}"));
            let keys = keys(line).into_iter().filter(|it| !MORE.contains(&&**it));
            let expected: Vec<_> = shape.iter().chain(&tables[row][2]).cloned().collect();
            assert_eq!(keys.collect::<Vec<_>>(), expected, "{command}: {line}");
            let verdict = object["verdict"].as_str().unwrap();
            let is_of_manifest = tables[row][0].len() > 2 && kind != "summary";
            let is_known = verdicts.iter().any(|it| it.iter().any(|it| it == verdict));
            assert!(is_of_manifest || is_known, "{command}: {verdict} is not in the docs");
            seen.insert(row);
        }
    }
    let rows = (0..tables.len()).filter(|it| tables[*it].len() == 3);
    let unseen: Vec<_> = rows.filter(|it| !seen.contains(it)).map(|it| &tables[it]).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

/// The keys of an object in the order in which it has them.
fn keys(line: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut rest) = (0, line);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        let (sign, behind) = (rest.as_bytes()[at], &rest[at..]);
        rest = &behind[1..];
        match sign {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                let mut texts = serde_json::Deserializer::from_str(behind).into_iter::<String>();
                let text = texts.next().unwrap().unwrap();
                rest = &behind[texts.byte_offset()..];
                if depth == 1 && rest.starts_with(':') {
                    keys.push(text);
                }
            }
        }
    }
    keys
}
