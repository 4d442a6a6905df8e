//! `treewide check` with stores: those in `tests/stores.tar.xz`, which real programs have made, and some that are laid by hand, as they are
//! and with objects changed.

use crate::support::{Folder, find_program, skip};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores.tar.xz");

/// The samples: their folders, the options of `check`, and their objects that can be checked.
pub(crate) const STORES: &[(&str, &str, usize)] = &[
    ("bagit", "", 18),
    ("bazel-disk-from-source", "", 6),
    ("dvc", "", 6),
    ("git-annex", "", 13),
    ("git-lfs", "", 5),
    ("hf-cache-2x", "", 6),
    ("hf-local-dir", "", 5),
    ("oci-layout", "", 4),
    ("ollama-from-source", "", 4),
    ("restic", "", 5),
    ("skopeo-dir", "", 3),
];

/// A folder with the samples. `None` where they cannot be unpacked.
pub(crate) fn samples() -> Option<Folder> {
    let folder = Folder::new();
    let is_possible = ["tar", "xz"].iter().all(|it| find_program(it).is_some());
    let unpacked = is_possible && folder.program("tar").args(["xf", SAMPLES]).run().code == Some(0);
    if !unpacked {
        skip("samples of stores", "there is no tar or no xz");
    }
    unpacked.then_some(folder)
}

/// The lines about objects.
pub(crate) fn check(
    folder: &Folder,
    store: &str,
    options: &str,
) -> (Option<i32>, Vec<Value>, String) {
    let ended = folder.treewide(&format!("check --json --verbose {options} {store}")).run();
    let lines = ended.text().lines().map(|it| serde_json::from_str(it).unwrap());
    let lines = lines.filter(|it: &Value| it["type"] != "summary").collect();
    (ended.code, lines, ended.stderr)
}

/// The paths with this status.
pub(crate) fn paths(lines: &[Value], status: &str) -> Vec<PathBuf> {
    let found = lines.iter().filter(|it| it["verdict"] == status);
    found.map(|it| it["path"].as_str().unwrap().into()).collect()
}

/// Every file below a folder, and its content.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true => all.extend(everything(&path)),
            false => all.push((path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
    all.sort();
    all
}

#[test]
fn check_verifies_the_stores_of_real_programs() {
    let Some(folder) = samples() else { return };
    let before = everything(folder.path());
    for (store, options, objects) in STORES {
        for threads in [1, 2, 5] {
            let (code, lines, messages) =
                check(&folder, store, &format!("{options} --threads {threads}"));
            assert_eq!(code, Some(0), "{store}: {messages}");
            assert_eq!(paths(&lines, "ok").len(), *objects, "{store}: {lines:?}");
            let others =
                lines.iter().filter(|it| it["verdict"] != "ok" && it["verdict"] != "skipped");
            assert_eq!(others.count(), 0, "{store}: {lines:?}");
        }
        assert!(
            folder.treewide(&format!("check --quiet {store}")).run().stderr.is_empty(),
            "{store}"
        );
    }
    assert_eq!(everything(folder.path()), before, "nothing is changed");
    let all = folder.treewide("check -r .").run();
    all.fails(0, &["an Ollama store", "a restic repository", "a bag", "objects of git-annex"]);
    println!("stores: {}", STORES.len());
}

/// Flipped, cut, zeroed, gone, and one whose content is not its name.
#[test]
fn check_finds_every_object_that_is_changed() {
    let Some(folder) = samples() else { return };
    let mut cases = 0;
    for (store, options, _) in STORES {
        let (_, lines, _) = check(&folder, store, options);
        let objects = paths(&lines, "ok");
        // Without its mark it is not a bag, and with another manifest other files are listed.
        let is_mark = |it: &PathBuf| {
            ["bagit.txt", "manifest-sha256.txt", "manifest-sha512.txt"]
                .iter()
                .any(|name| it.ends_with(name))
        };
        for object in objects.iter().filter(|it| !is_mark(it)) {
            let path = folder.join(object);
            let content = fs::read(&path).unwrap();
            let mut flipped = content.clone();
            if let Some(byte) = flipped.get_mut(content.len() / 2) {
                *byte ^= 1;
            }
            let half = content[..content.len() / 2].to_vec();
            let zeros = vec![0; content.len()];
            for changed in [flipped, half, zeros].iter().filter(|it| **it != content) {
                fs::write(&path, changed).unwrap();
                let (code, lines, messages) = check(&folder, store, options);
                assert_eq!(code, Some(1), "{object:?}: {messages}");
                assert!(paths(&lines, "failed").contains(object), "{object:?}: {lines:?}");
                cases += 1;
            }
            fs::write(&path, &content).unwrap();
        }
        let (code, ..) = check(&folder, store, options);
        assert_eq!(code, Some(0), "{store}: all are as they were");
    }
    println!("changed objects: {cases}");
}

#[test]
fn check_finds_missing_objects_where_something_names_them() {
    let Some(folder) = samples() else { return };
    for (path, missing) in [
        (
            "hf-cache-2x/models--org--toy/blobs/576d871ded48427dc823b70ae730a89a7d286c4f",
            "config.json",
        ),
        (
            "hf-cache-2x/blobs/58/5863d05a400708642ec694f4ccd255b54fb37c503f1a76ce58de74d4b7091be6",
            "sub/big.bin",
        ),
        ("hf-local-dir/config.json", "hf-local-dir/config.json"),
        ("bagit/data/alpha.txt", "bagit/data/alpha.txt"),
    ] {
        let content = fs::read(folder.join(path)).unwrap();
        fs::remove_file(folder.join(path)).unwrap();
        let store = path.split('/').next().unwrap();
        let ended = folder.treewide(&format!("check {store}")).run();
        ended.fails(1, &[" MISSING"]);
        assert!(ended.text().contains(&format!("{missing}: MISSING")), "{ended:?}");
        fs::write(folder.join(path), content).unwrap();
    }
    // Nothing names it, and the summary says that this was not looked at.
    let (_, lines, _) = check(&folder, "git-lfs", "");
    fs::remove_file(folder.join(&paths(&lines, "ok")[0])).unwrap();
    let ended = folder.treewide("check git-lfs").run();
    ended.fails(0, &["4 objects", "not checked: whether all objects are there"]);
    // In a bag, every file must be listed.
    folder.write("bagit/data/extra", "x");
    let ended = folder.treewide("check bagit").run();
    assert_eq!(ended.text(), "bagit/data/extra: FAILED (is not listed in manifest-sha256.txt)\n");
    assert_eq!(ended.code, Some(1));
}

#[test]
fn check_finds_objects_whose_content_is_another() {
    let Some(folder) = samples() else { return };
    let digest = "0123456789abcdef".repeat(4);
    for (store, object) in [
        ("ollama-from-source", format!("blobs/sha256-{digest}")),
        ("ollama-from-source", format!("blobs/sha256:{}", digest.to_uppercase())),
        ("oci-layout", format!("blobs/sha256/{digest}")),
        ("skopeo-dir", digest.clone()),
        ("restic", format!("data/01/{digest}")),
        ("git-lfs", format!(".git/lfs/objects/01/23/{digest}")),
        ("git-annex", format!(".git/annex/objects/aa/bb/SHA256-s1--{digest}/SHA256-s1--{digest}")),
        ("dvc", format!(".dvc/cache/files/md5/01/{}", &digest[2..32])),
        ("bazel-disk-from-source", format!("cas/01/{digest}")),
        ("bazel-disk-from-source", format!("blake3/cas/01/{digest}")),
        ("hf-cache-2x", format!("models--org--toy/blobs/{digest}")),
        ("hf-cache-2x", format!("models--org--toy/blobs/{}", &digest[..40])),
    ] {
        folder.write(format!("{store}/{object}"), "x");
        let ended = folder.treewide(&format!("check {store}")).run();
        assert_eq!(ended.code, Some(1), "{object}: {ended:?}");
        assert_eq!(
            ended.text().lines().filter(|it| it.ends_with(": FAILED")).count(),
            1,
            "{ended:?}"
        );
        ended.fails(1, &["1 FAILED", "nothing was changed"]);
        fs::remove_file(folder.join(format!("{store}/{object}"))).unwrap();
    }
}

/// Names that look like those of objects, downloads under way, and links: each is passed over by a rule, or not understood.
#[test]
fn check_accounts_for_what_is_not_an_object() {
    let Some(folder) = samples() else { return };
    let digest = "ab".repeat(32);
    let blobs = "hf-cache-2x/models--org--toy/blobs";
    let unknown = "1 not understood";
    for (file, part) in [
        (format!("{blobs}/{digest}.1234abcd.incomplete"), "1 unfinished download passed over"),
        (format!("{blobs}/{}", &digest[..60]), unknown),
        (format!("{blobs}/{digest}0"), unknown),
        (
            format!("ollama-from-source/blobs/sha256-{digest}-partial"),
            "3 unfinished downloads passed over",
        ),
        (format!("ollama-from-source/blobs/sha256-{}", &digest[..60]), unknown),
        (format!("git-lfs/.git/lfs/tmp/{digest}"), "5 objects"),
        (format!("git-lfs/.git/lfs/objects/ab/cd/{digest}"), unknown),
        (format!("restic/locks/{digest}"), "5 objects"),
        (format!("restic/data/ff/{digest}"), unknown),
        (format!("bazel-disk-from-source/ac/ab/{digest}"), "3 objects"),
        (format!("oci-layout/blobs/sha256/{digest}x"), unknown),
        (String::from("git-annex/.git/annex/objects/aa/bb/URL--x/URL--x"), "skipped"),
    ] {
        folder.write(&file, "x");
        let store = file.split('/').next().unwrap();
        let is_unknown = part == unknown;
        for options in ["", "-r"] {
            let ended = folder.treewide(&format!("check {options} {store}")).run();
            ended.fails(if is_unknown { 3 } else { 0 }, &[part]);
        }
        let strict = folder.treewide(&format!("check --strict {store}")).run();
        let fails = is_unknown || part == "skipped" || store == "git-annex";
        assert_eq!(strict.code, Some(if fails { 3 } else { 0 }), "{strict:?}");
        fs::remove_file(folder.join(&file)).unwrap();
        let _ = fs::remove_dir(folder.join(&file).parent().unwrap());
    }
    // A link that leads out of the store is not followed.
    let link = folder.join(format!("{blobs}/{digest}"));
    symlink("/etc/passwd", &link).unwrap();
    let ended = folder.treewide("check hf-cache-2x").run();
    assert_eq!(ended.text(), format!("{blobs}/{digest}: FAILED (leads out of the store)\n"));
    assert_eq!(ended.code, Some(1));
    fs::remove_file(link).unwrap();
    // The folder of objects may be elsewhere.
    fs::rename(folder.join("oci-layout/blobs"), folder.join("elsewhere")).unwrap();
    symlink("../elsewhere", folder.join("oci-layout/blobs")).unwrap();
    folder.treewide("check oci-layout").run().fails(0, &["4 objects"]);
}

#[test]
fn check_recognises_no_store_by_names_alone() {
    let folder = Folder::new();
    let digest = "ab".repeat(32);
    for file in [
        format!("a/blobs/sha256/{digest}"),
        format!("models--x--y/blobs/{digest}"),
        format!("c/cas/ab/ab{}", &digest[2..]),
        "d/cas/ab/ab".to_owned(),
        format!("e/{digest}--name"),
        format!("f/objects/ab/cd/{digest}"),
        format!("lfs/objects/ab/ab/{digest}"),
        format!("g/md5/ab/{}", &digest[2..32]),
        format!("h/keys/{digest}"),
        format!("i/manifests/{digest}"),
        format!("j/content-v2/sha512/ab/ab/{digest}"),
    ] {
        folder.write(file, "x");
    }
    folder.write("d/ac/x", "x");
    for name in folder.names() {
        let ended = folder.treewide("check").arg(&name).run();
        ended.fails(3, &["not a store that this program knows"]);
    }
    folder.treewide("check -r .").run().fails(3, &["not a store that this program knows"]);
    folder.treewide("check --store restic .").run().fails(3, &["not a restic repository"]);
    folder.treewide("check --store nothing .").run().fails(2, &["--store"]);
    fs::create_dir(folder.join("a/.git")).unwrap();
    folder.treewide("check a").run().fails(3, &["git fsck"]);
}

/// SHA-256, SHA-1, MD5 and SHA-512 of `x`.
const X: [&str; 4] = [
    "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
    "11f6ad8ec52a2984abaafd7c3b516503785c2072",
    "9dd4e461268c8034f5c8564e155c67a6",
    "a4abd4448c49562d828115d13a1fccea927f52b4d5459297f8b43e42da89238bc13626e43dcb38ddb082488927ec904fb42057443983e88585179d50551afe62",
];

/// A store that is laid by hand: its kind, its folder, other files, and objects whose content is `x`.
type Laid = (&'static str, &'static str, &'static [(&'static str, &'static str)], Vec<String>);

pub(crate) fn laid_by_hand() -> Vec<Laid> {
    let [sha256, sha1, md5, sha512] = X;
    vec![
        (
            "cacache",
            "_cacache",
            &[("index-v5/aa/bb/c", ""), ("tmp/x", "")],
            vec![
                format!("content-v2/sha512/{}/{}/{}", &sha512[..2], &sha512[2..4], &sha512[4..]),
                format!("content-v2/sha1/{}/{}/{}", &sha1[..2], &sha1[2..4], &sha1[4..]),
            ],
        ),
        ("containerd", "c", &[("ingest/a/data", "")], vec![format!("blobs/sha256/{sha256}")]),
        (
            "registry",
            "docker/registry/v2",
            &[("repositories/a/_uploads/b", "")],
            vec![format!("blobs/sha256/{}/{sha256}/data", &sha256[..2])],
        ),
        (
            "apt",
            "dists/x",
            &[("Release", "")],
            vec![
                format!("by-hash/SHA256/{sha256}"),
                format!("by-hash/SHA512/{sha512}"),
                format!("by-hash/MD5Sum/{md5}"),
            ],
        ),
        ("dvc", "cache/files/md5", &[], vec![format!("{}/{}", &md5[..2], &md5[2..])]),
        ("dvc-2", ".dvc/cache", &[], vec![format!("{}/{}", &md5[..2], &md5[2..])]),
    ]
}

pub(crate) fn lay(folder: &Folder, (_, root, marks, objects): &Laid, content: &str) {
    for (mark, text) in *marks {
        folder.write(format!("{root}/{mark}"), text);
    }
    for object in objects {
        folder.write(format!("{root}/{object}"), content);
    }
}

#[test]
fn check_verifies_stores_that_are_laid_by_hand() {
    for store in laid_by_hand() {
        let (kind, root, _, objects) = &store;
        let folder = Folder::new();
        lay(&folder, &store, "x");
        let ended = folder.treewide(&format!("check --store {kind} {root}")).run();
        let n = objects.len();
        ended.fails(0, &[&format!("{n} object{} (", if n == 1 { "" } else { "s" })]);
        folder.treewide("check -r .").run().fails(0, &[&format!("{n} object")]);
        lay(&folder, &store, "y");
        folder.treewide(&format!("check {root}")).run().fails(1, &[&format!("{n} FAILED")]);
    }
}

/// The file of the snapshot is named; an empty blob, and a length that is another, are said.
#[test]
fn check_names_the_file_of_a_blob() {
    let Some(folder) = samples() else { return };
    let blob = "hf-cache-2x/models--org--toy/blobs/b5a475ce67d7eb5e0339d449d1cfacb4da14396d0c919859d77de5f73a6104a5";
    folder.write(blob, "");
    let ended = folder.treewide("check hf-cache-2x").run();
    let line = format!(
        "{blob}: FAILED (0 bytes instead of 60000; model.safetensors of models--org--toy)\n"
    );
    assert_eq!(ended.text(), line);
    let (_, lines, _) = check(&folder, "git-annex", "");
    let key = paths(&lines, "ok")
        .into_iter()
        .find(|it| it.to_string_lossy().contains("-s6000-"))
        .unwrap();
    folder.write(&key, "short");
    let ended = folder.treewide("check git-annex").run();
    assert!(ended.text().contains(": FAILED (5 bytes instead of 6000)\n"), "{ended:?}");
    folder.write("hf-local-dir/config.json", "changed");
    let ended = folder.treewide("check hf-local-dir").run();
    assert_eq!(ended.text(), "hf-local-dir/config.json: FAILED (changed since the download)\n");
}

#[test]
fn check_json_of_a_store_has_its_kind_and_algorithm() {
    let Some(folder) = samples() else { return };
    let (_, lines, _) = check(&folder, "hf-cache-2x", "");
    for line in lines.iter().filter(|it| it["verdict"] == "ok") {
        assert_eq!(line["by"], "store");
        let len = line["expected"].as_str().unwrap().len();
        let algorithm = match (line["store"].as_str(), len) {
            (Some("huggingface"), 40) => "git-blob-sha1",
            (Some("huggingface"), 64) => "sha256",
            (Some("huggingface-shared"), 64) => "xet",
            other => panic!("{other:?}"),
        };
        assert_eq!(line["algorithm"], algorithm);
    }
    let strong = folder.treewide("check --strong dvc").run();
    strong.fails(3, &["6 not verified", "nothing was verified"]);
    assert!(strong.text().contains(": FAILED (MD5 is not accepted with --strong)"), "{strong:?}");
    let strong = folder.treewide("check --strong hf-cache-2x").run();
    strong.fails(3, &["5 objects (146.48 KiB), 2 are", "3 not verified"]);
}
