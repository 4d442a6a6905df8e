//! `treewide tensors`: lists of models, and what differs between two.

use crate::support::{Folder, TREEWIDE, find_program, hex, skip};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// A safetensors file: name, type, shape and bytes of each tensor.
fn model(tensors: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend_from_slice(bytes);
        let info = json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert((*name).to_owned(), info);
    }
    header.insert("__metadata__".into(), json!({"format": "pt"}));
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

const ODD: &str = "odd \\ name\twith ü\u{1b}[2J\n";

/// Two models in a folder, with lists.
fn models() -> Folder {
    let folder = Folder::new();
    let (ones, big) = ([1; 12], vec![3; 64 * 96]);
    let mut other = big.clone();
    other[17 * 96 + 3] = 4;
    let old: [(&str, &str, &[u64], &[u8]); 6] = [
        ("a.b", "F32", &[3], &ones),
        ("empty", "F32", &[0, 7], b""),
        ("norm.2", "BF16", &[1], b"no"),
        ("q", "U8", &[64, 96], &big),
        (ODD, "U8", &[], b"x"),
        ("gone", "BOOL", &[1], b"\x01"),
    ];
    let new: [(&str, &str, &[u64], &[u8]); 6] = [
        ("a.b", "F32", &[3], &ones),
        ("empty", "F64", &[0, 7], b""),
        ("norm.9", "BF16", &[1], b"no"),
        ("q", "U8", &[64, 96], &other),
        (ODD, "U8", &[1], b"x"),
        ("tied", "F32", &[3], &ones),
    ];
    folder.write("old.safetensors", model(&old));
    folder.write("new.safetensors", model(&new));
    for name in ["old", "new"] {
        let list = folder.treewide(&format!("tensors {name}.safetensors")).run();
        list.is(0, list.text(), "");
        folder.write(format!("{name}.tensors.b3"), &list.stdout);
    }
    folder
}

const DIFFERS: &str = "\
RETYPED   empty  F32[0,7] -> F64[0,7], the same bytes
REMOVED   gone  BOOL[1]
MOVED     norm.2  -> norm.9
RESHAPED  odd \\\\ name\\twith ü\u{1b}[2J\\n  U8[] -> U8[1], the same bytes
CHANGED   q  U8[64,96]
ADDED     tied  F32[3], the bytes of a.b
";
const COUNTS: &str = "treewide: 6 and 6 tensors: 1 same, 1 changed, 1 retyped, 1 reshaped, 1 moved, 1 added, 1 removed\n";

#[test]
fn tensors_prints_the_list_of_a_model() {
    let folder = models();
    let list = folder.read("old.tensors.b3");
    assert!(list.starts_with(&format!("{}  a.b\tF32\t[3]\n", hex([1; 12]))), "{list}");
    assert!(
        list.contains(&format!("{}  odd \\\\ name\\twith ü\u{1b}[2J\\n\tU8\t[]\n", hex("x"))),
        "{list}"
    );
    folder.treewide("tensors old.tensors.b3").run().succeeds_with(&list);
    folder.treewide("tensors -o again old.safetensors").run().succeeds_with("");
    assert_eq!(folder.read("again"), list);
    let objects = folder.treewide("tensors --json old.safetensors").run();
    let objects: Vec<Value> =
        objects.text().lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(
        objects[0],
        json!({"path": "a.b", "verdict": "hashed", "type": "tensor", "bytes": null, "evidence": null, "detail": null,
            "dtype": "F32", "shape": [3], "digest": hex([1; 12])})
    );
    assert_eq!(
        (&objects[6]["fingerprint"], &objects[6]["tensors"]),
        (&json!(hex(&list)), &json!(6))
    );
}

#[test]
fn tensors_compares_models_and_lists() {
    let folder = models();
    for args in [
        "old.safetensors new.safetensors",
        "old.tensors.b3 new.safetensors",
        "old.safetensors new.tensors.b3",
        "old.tensors.b3 new.tensors.b3",
    ] {
        folder.treewide(&format!("tensors {args}")).run().is(1, DIFFERS, COUNTS);
    }
    std::fs::remove_file(folder.join("new.safetensors")).unwrap();
    folder.treewide("tensors -q old.tensors.b3 new.tensors.b3").run().is(1, DIFFERS, COUNTS);
    let same = "treewide: 6 and 6 tensors: 5 same, 1 empty\n";
    folder.treewide("tensors old.tensors.b3 old.safetensors").run().is(0, "", same);
    folder.treewide("tensors -q old.tensors.b3 old.safetensors").run().succeeds_with("");
}

#[test]
fn values_says_by_how_much_tensors_differ() {
    let folder = models();
    let rows = DIFFERS.replace("U8[64,96]\n", "U8[64,96], 1 of 64 rows: 17; 6143 of 6144 values equal, largest difference 1.0e0, relative norm 4.3e-3\n");
    folder.treewide("tensors --values old.safetensors new.safetensors").run().is(1, rows, COUNTS);
    let ended = folder.treewide("tensors --values --json old.safetensors new.safetensors").run();
    let objects: Vec<Value> =
        ended.text().lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let changed = objects.iter().find(|it| it["verdict"] == "changed").unwrap();
    assert_eq!((&changed["rows"], &changed["rows_different"]), (&json!([[17, 18]]), &json!(1)));
    assert_eq!((&changed["values"], &changed["values_equal"]), (&json!(6144), &json!(6143)));
    assert_eq!(changed["largest_difference"], json!(1));
    let counts = objects.last().unwrap();
    for it in ["same", "changed", "retyped", "reshaped", "moved", "added", "removed"] {
        assert_eq!(counts[it], 1, "{it}");
    }
    assert_eq!((&counts["alias"], &counts["not_read"]), (&json!(0), &json!([])));
    assert_eq!((&counts["verdict"], &counts["differs"]), (&json!("differs"), &json!(true)));
    let ended = folder.treewide("tensors --values old.tensors.b3 new.safetensors").run();
    ended.fails(2, &["old.tensors.b3: is a list"]);
}

#[test]
fn expect_refuses_another_fingerprint() {
    let folder = models();
    let list = folder.read("old.tensors.b3");
    let right = hex(&list);
    let run = |expected: &str| {
        folder.treewide(&format!("tensors --expect {expected} old.safetensors")).run()
    };
    run(&right).succeeds_with(&list);
    let text = format!("treewide: old.safetensors: has another fingerprint: {right}\n");
    run(&hex("other")).is(1, "", text);
    run("12").fails(2, &["--expect"]);
}

#[test]
fn strip_leaves_out_a_prefix_and_is_offered() {
    let folder = Folder::new();
    folder.write("a", model(&[("x", "U8", &[1], b"1"), ("y.z", "U8", &[1], b"2")]));
    folder.write(
        "b",
        model(&[("_orig_mod.x", "U8", &[1], b"1"), ("_orig_mod.y._orig_mod.z", "U8", &[1], b"2")]),
    );
    folder.treewide("tensors a b").run().fails(
        1,
        &["2 moved\n", "B has the names of A behind _orig_mod.; --strip _orig_mod. leaves it out"],
    );
    folder.treewide("tensors --strip _orig_mod. b a").run().is(
        0,
        "",
        "treewide: 2 and 2 tensors: 2 same\n",
    );
    folder.write(
        "d",
        model(&[
            ("model._orig_mod.x", "U8", &[1], b"1"),
            ("model.y._orig_mod.z", "U8", &[1], b"2"),
        ]),
    );
    let advice = "A has the names of B behind model. and _orig_mod.; --strip model. --strip _orig_mod. leaves them out";
    folder.treewide("tensors d a").run().fails(1, &[advice]);
    let strip = "tensors --strip model. --strip _orig_mod.";
    folder.treewide(&format!("{strip} a d")).run().is(0, "", "treewide: 2 and 2 tensors: 2 same\n");
    folder.write("c", model(&[("x", "U8", &[1], b"1"), ("module.x", "U8", &[1], b"2")]));
    folder
        .treewide("tensors --strip module. c")
        .run()
        .fails(3, &["c: without module., two tensors have the name x"]);
    folder.treewide("tensors --strip module c").run().fails(2, &["ends in a dot"]);
}

#[test]
fn tensors_names_what_was_not_read_and_tied_weights() {
    let folder = Folder::new();
    let one: &[(&str, &str, &[u64], &[u8])] = &[("embed", "U8", &[1], b"1")];
    let tied = String::from_utf8(model(one)).unwrap();
    let tied = tied.replacen(r#""format":"pt""#, r#""head":"embed""#, 1);
    // A header of as many bytes.
    assert_eq!(tied.len(), model(one).len() + 1);
    let (length, rest) = tied.as_bytes().split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) + 1;
    folder.write("tied/model.safetensors", [&length.to_le_bytes(), rest].concat());
    folder.write("tied/pytorch_model.bin", "");
    folder.write("tied/old.safetensors", "");
    folder.write("both", model(&[one[0], ("head", "U8", &[1], b"1")]));
    folder.write("one", model(one));
    let unread = "; tied/old.safetensors and 1 other file were not read\n";
    let alias = "ALIAS     head  U8[1], another name of embed\n";
    folder.treewide("tensors tied both").run().is(
        0,
        "",
        format!("treewide: 2 and 2 tensors: 2 same{unread}"),
    );
    let counts = format!("treewide: 2 and 1 tensor: 1 same, 1 alias{unread}");
    folder.treewide("tensors tied one").run().is(0, alias, counts);
    let listed = folder.treewide("tensors tied").run();
    assert!(listed.stderr.ends_with(unread) && listed.code == Some(0), "{listed:?}");
    assert_eq!(listed.text(), folder.treewide("tensors one").run().text());
    let objects = folder.treewide("tensors --json tied").run();
    let last: Value = serde_json::from_str(objects.text().lines().last().unwrap()).unwrap();
    assert_eq!(last["not_read"], json!(["tied/old.safetensors", "tied/pytorch_model.bin"]));
}

#[test]
fn tensors_that_cannot_be_read_end_with_3() {
    let folder = models();
    let whole = std::fs::read(folder.join("old.safetensors")).unwrap();
    folder.write("cut.safetensors", &whole[..whole.len() - 1]);
    folder.write("cut.tensors.b3", &folder.read("old.tensors.b3")[..99]);
    folder.write("none.safetensors", model(&[("x", "F32", &[0], b"")]));
    folder.write(
        "m/model.safetensors.index.json",
        r#"{"weight_map":{"a":"model-00001-of-00002.safetensors"}}"#,
    );
    for it in ["1", "2"] {
        folder.write(
            format!("m/model-0000{it}-of-00002.safetensors"),
            model(&[("a", "U8", &[1], b"1")]),
        );
    }
    std::fs::create_dir(folder.join("empty")).unwrap();
    for (name, cause) in [
        ("missing", "missing: cannot open: No such file"),
        ("cut.safetensors", "cut.safetensors: the file is cut off: tensor"),
        ("cut.tensors.b3", "cut.tensors.b3:2: is cut off"),
        ("empty", "empty: there is no *.safetensors"),
        ("none.safetensors", "none.safetensors: has no weights"),
        (
            "m",
            "the index names 1 of 2 parts; m/model-00002-of-00002.safetensors is here and not in it",
        ),
    ] {
        folder.treewide(&format!("tensors {name}")).run().fails(3, &[cause]);
        folder.treewide(&format!("tensors old.tensors.b3 {name}")).run().fails(3, &[cause]);
    }
    let ended = folder.treewide("tensors -o old.safetensors old.safetensors").run();
    ended.fails(3, &["old.safetensors: is an input"]);
    assert_eq!(std::fs::read(folder.join("old.safetensors")).unwrap(), whole);
}

/// The script of docs/tensors.md, with this program as `b3sum`.
#[test]
fn fingerprint_is_made_by_jq_dd_sort_and_b3sum() {
    if find_program("jq").is_none() {
        return skip("the script of docs/tensors.md", "there is no jq");
    }
    let folder = models();
    let page = include_str!("../../../../docs/tensors.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    folder.write("fingerprint.sh", script);
    folder.write("bin/.keep", "");
    std::os::unix::fs::symlink(TREEWIDE, folder.join("bin/b3sum")).unwrap();
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let ended = Command::new("bash")
        .args(["fingerprint.sh", "old.safetensors", "shell.tensors.b3"])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(folder.read("shell.tensors.b3"), folder.read("old.tensors.b3"));
    let printed = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(printed.trim_end(), hex(folder.read("old.tensors.b3")));
}

#[test]
fn tensors_replaces_no_file_of_a_model_that_is_a_directory() {
    let folder = models();
    folder.write("m/model.safetensors", fs::read(folder.join("old.safetensors")).unwrap());
    folder.write("m/config.json", "{}");
    for name in ["config.json", "model.safetensors"] {
        let before = fs::read(folder.join("m").join(name)).unwrap();
        let ended = folder.treewide(&format!("tensors m -o m/{name}")).run();
        assert_ne!(ended.code, Some(0), "{ended:?}");
        ended.fails(ended.code.unwrap(), &[name]);
        assert!(fs::read(folder.join("m").join(name)).unwrap() == before, "{name}");
    }
    folder.treewide("tensors m -o m/new.tensors.b3").run().fails(0, &[]);
}
