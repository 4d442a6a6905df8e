//! Commands as people write them who have read no page.

use crate::support::Folder;

#[test]
fn natural_commands_work_or_say_what_does() {
    let files = ["a/x", "a/.DS_Store", "a/s/y", "b/x", "b/s/y", "b/Thumbs.db"];
    let folder = Folder::with(&files);
    for name in ["x", "s/y"] {
        folder.write(format!("a/{name}"), "same");
        folder.write(format!("b/{name}"), "same");
    }
    for tree in ["a", "b"] {
        assert_eq!(folder.treewide(&format!("snapshot -q {tree}")).run().code, Some(0));
    }
    folder.write("d/x", "x");
    folder.write("p.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\n");
    folder.write("m.gguf", b"GGUF\x03\0\0\0");
    folder.write("t.b3", format!("{}  w\tF32\t[2]\n", "1".repeat(64)));
    folder.write("c/w", "w");
    folder.write("c/checkpoint.b3", format!("{}  w\n", crate::support::hex("w")));
    for (args, code, out, error) in [
        ("sum -r a --no-junk --no-names", 0, "", ""),
        ("sum -r --exclude s/ a", 0, "a/x\n", ""),
        ("sum --exclude s/ a/x", 2, "", "--recursive"),
        ("sum -r --exclude a[ a", 2, "", "cannot be used"),
        ("missing a b", 1, "a/.DS_Store\n", "1 of 3 files of a is not in b"),
        ("missing --no-junk a b", 0, "", "all 2 files of a are also in b (read now)"),
        ("missing --no-junk a b", 0, "", "; left out: .DS_Store, Thumbs.db, @eaDir/"),
        ("dupes --exclude s/ a b", 0, "a/x\n", "1 file is a spare copy (4 B)"),
        ("verify a b", 0, "", "a.b3: 4 entries: 4 same"),
        ("verify a.b3 b.b3", 0, "", "b.b3: 4 entries: 4 same"),
        ("scrub a b", 0, "", "a.b3: 4 entries: 4 same"),
        ("update a.b3 a b.b3", 0, "", "b.b3: 4 entries: 4 same"),
        ("update a.b3 nowhere", 3, "", "nowhere"),
        ("verify a.b3 nowhere", 3, "", "nowhere"),
        ("verify --expect 00 a b", 2, "", "are for one manifest"),
        ("verify c", 0, "", "1 entry: 1 same"),
        ("check c", 3, "", "it has a manifest: treewide verify c"),
        ("diff --no-junk a b", 0, "", "3 entries: 1 same, 2 touched"),
        ("diff a b", 1, "ADDED    Thumbs.db", "1 added, 1 removed"),
        ("diff a b.b3", 2, "", "treewide diff b.b3 a"),
        ("diff --no-junk a.b3 b", 2, "", "for two directories"),
        ("sum s3://bucket/key", 1, "", "python -m treewide scale sum -r s3://bucket/key"),
        ("missing a s3://bucket/", 3, "", "python -m treewide scale sum -r s3://bucket/"),
        ("snapshot a", 3, "", "to bring it up to date: treewide update a.b3 a\n"),
        ("verify d", 3, "", "d.b3: cannot read: "),
        ("verify d", 3, "", "; to make it: treewide snapshot d\n"),
        (
            "verify p.jpg",
            3,
            "",
            "treewide: p.jpg: it is not a list; its digest: treewide sum p.jpg\n",
        ),
        ("check p.jpg", 3, "", "p.jpg:1: not a list, and not text\n"),
        (
            "check p.jpg",
            3,
            "",
            "treewide: p.jpg: it is not a list; its digest: treewide sum p.jpg\n",
        ),
        ("diff m.gguf m.gguf", 3, "", "m.gguf: it is a model: treewide tensors m.gguf\n"),
        ("verify t.b3 d", 3, "", "nothing was checked: t.b3 is a list of tensors"),
        ("dupes d", 0, "", "no duplicates; 0 files read (0 B)\n"),
    ] {
        let ended = folder.treewide(args).run();
        assert_eq!(ended.code, Some(code), "{args}: {ended:?}");
        assert!(ended.text().contains(out), "{args}: {ended:?}");
        assert!(ended.stderr.contains(error), "{args}: {ended:?}");
    }
    // Of several manifests, each has its rows below its name, and the worst verdict counts.
    folder.write("a/x", "other");
    let ended = folder.treewide("verify a b").run();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text().starts_with("a.b3:\nCHANGED  x"), "{ended:?}");
    let ended = folder.treewide("verify a a.b3 b").run();
    assert!(ended.text().starts_with("a.b3:\nCHANGED  x"), "{ended:?}");
    // There is no list in which rot could be accepted.
    let ended = folder.treewide("diff a b --json --no-junk").run();
    let rows: Vec<serde_json::Value> =
        ended.text().lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!((&rows[0]["path"], &rows[1]["path"]), (&"x".into(), &"a".into()), "{ended:?}");
    assert!(!ended.stderr.contains("--accept-rot"), "{ended:?}");
}
