//! `treewide verify --html`: a page that is complete, or absent, and in which names are only text.

use crate::support::{Ended, Folder};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// The rows of a page, each an object.
fn rows(page: &str) -> Vec<serde_json::Value> {
    let (_, rest) = page.split_once(r#"id="rows">"#).unwrap();
    let (rows, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str::<serde_json::Value>(rows).unwrap().as_array().unwrap().clone()
}

/// The object that counts.
fn summary(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(r#"id="summary">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn snapshot(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        folder.write(name, content);
    }
    assert_eq!(folder.treewide("snapshot t -o m.b3").run().code, Some(0));
    folder
}

fn report(folder: &Folder, args: &str) -> (Ended, String) {
    let ended = folder.treewide(&format!("verify --force --html page.html {args} m.b3 t")).run();
    (ended, folder.read("page.html"))
}

#[test]
fn page_says_what_the_run_says() {
    let folder = snapshot(&[("t/a", "1"), ("t/b/c", "22"), ("t/b/d", "333")]);
    let (ended, page) = report(&folder, "");
    assert_eq!((ended.code, rows(&page).len()), (Some(0), 0));
    let (ok, entries) = (&summary(&page)["verdict"], &summary(&page)["entries"]);
    assert_eq!((ok, entries), (&"ok".into(), &4.into()), "{page}");
    assert_eq!(summary(&report(&folder, "--quick").1)["quick"], true);

    folder.write("t/a", "x");
    fs::rename(folder.join("t/b/c"), folder.join("t/c")).unwrap();
    fs::create_dir(folder.join("t/new")).unwrap();
    let (ended, page) = report(&folder, "-q");
    assert_eq!(ended.code, Some(1));
    let rows = rows(&page);
    let row = |at: usize| (&rows[at]["verdict"], &rows[at]["path"], &rows[at]["detail"]);
    let null = serde_json::Value::Null;
    assert_eq!(row(0), (&"changed".into(), &"a".into(), &null));
    assert_eq!(row(1), (&"moved".into(), &"c".into(), &null));
    assert_eq!((&rows[1]["other"], &rows[2]["type"]), (&"b/c".into(), &"directory".into()));
    assert_eq!(row(2), (&"added".into(), &"new".into(), &null));
    assert_eq!(summary(&page)["verdict"], "differs");
    let json = folder.treewide("verify --json m.b3 t").run();
    for line in json.text().lines() {
        assert!(page.contains(line), "the page has what --json has: {line}");
    }
    let stat = folder.treewide("manifest stat m.b3").run();
    let digest = stat.text().lines().find_map(|it| it.strip_prefix("digest of the manifest: "));
    assert!(page.contains(digest.unwrap()));
    let (_, page) = report(&folder, "--fail-on removed");
    assert_eq!(
        (&summary(&page)["verdict"], &summary(&page)["differs"]),
        (&"ok".into(), &true.into())
    );
}

#[test]
fn page_says_that_nobody_can_say() {
    let folder = snapshot(&[("t/a", "1")]);
    folder.write("m.b3.tw", "<b>damaged</b>");
    folder.write("t/new", "");
    let (ended, page) = report(&folder, "");
    assert_eq!(ended.code, Some(3));
    assert_eq!(summary(&page)["verdict"], "undetermined");
    assert!(summary(&page)["index"].is_string(), "{page}");
    assert_eq!(rows(&page)[0]["verdict"], "added");
}

#[test]
fn names_are_only_text() {
    let names: [&[u8]; 5] = [
        b"</script><script>alert(1)<",
        b"<img src=x onerror=alert(1)>",
        b"\xff\xfe",
        "\u{202e}gpj.exe".as_bytes(),
        b"a\nb\x1b[2J",
    ];
    let folder = snapshot(&[("t/a", "1")]);
    for name in names {
        // The first of them is two directories deep.
        let path = folder.join("t").join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::rename(folder.join("t"), folder.join("<i>")).unwrap();
    let ended = folder.treewide("verify --html p.html m.b3").arg("<i>").run();
    assert_eq!(ended.code, Some(1));
    let page = folder.read("p.html");
    assert_eq!(page.matches("</script>").count(), 3, "those of the page itself");
    for bad in ["<img", "<i>", "<script>alert", "\u{202e}", "\x1b"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    let rows = rows(&page);
    let of = |path: &str| {
        rows.iter().find(|it| it["path"] == path).unwrap_or_else(|| panic!("no {path}: {rows:?}"))
    };
    assert_eq!(of("\u{fffd}\u{fffd}")["path_hex"], "fffe");
    of("a\nb\u{1b}[2J");
    of("\u{202e}gpj.exe");
    of("<img src=x onerror=alert(1)>");
    of("</script><script>alert(1)<");
}

/// It is not a part of the tree that it is about, and is there only if it is complete.
#[test]
fn page_in_the_tree_is_left_out() {
    let folder = Folder::with(&["a"]);
    assert_eq!(folder.treewide("snapshot -o m.b3").run().code, Some(0));
    for _ in 0..2 {
        let ended = folder.treewide("verify --force --html page.html -o lines m.b3").run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    assert_eq!(folder.treewide("verify m.b3").run().code, Some(1), "both are new");

    fs::remove_file(folder.join("lines")).unwrap();
    folder.write("page.html", "old");
    for args in ["--expect 00 m.b3", "nowhere.b3", "m.b3 nowhere"] {
        let ended = folder.treewide(&format!("verify --force --html page.html {args}")).run();
        assert_eq!((ended.code, &*folder.read("page.html")), (Some(3), "old"), "{args}");
    }
    for input in ["m.b3", "m.b3.tw"] {
        let before = folder.read(input);
        let ended = folder.treewide(&format!("verify --html {input} m.b3")).run();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("is an input"), "{}", ended.stderr);
        assert_eq!(folder.read(input), before);
    }
    assert_eq!(folder.names(), ["a", "m.b3", "m.b3.tw", "page.html"]);
}
