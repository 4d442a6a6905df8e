//! `treewide check` with stores whose manifests and other records are odd, large, absent, or would be replaced.

use crate::stores::{check, paths, samples};
use crate::support::Folder;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

const BLOBS: &str = "oci-layout/blobs/sha256";
/// A manifest, its configuration and its layers.
const MANIFEST: &str = "fd0c0d152f07f766e27e93938e043f8ec6825c79c1b67bea2679c36d49a8a553";
const CONFIG: &str = "463e147586a167f7db18d736a862d1934fbc0c02e7e337dbf6583881dd5956a8";
const LAYER: &str = "4512a988125ab049daeebed05226c8cfc90f70078116d7a712699a9493c208d9";
const SECOND: &str = "cf7fa79552306993f4bdeba76a6f0327ccba7ab752b561339ee77c69cd0bf5a4";

#[test]
fn check_spares_every_file_of_a_store() {
    let Some(folder) = samples() else { return };
    symlink("oci-layout/index.json", folder.join("link")).unwrap();
    fs::rename(folder.join("restic/data"), folder.join("data")).unwrap();
    symlink("../data", folder.join("restic/data")).unwrap();
    folder.write("data/other", "x");
    for (args, output) in [
        ("oci-layout", "oci-layout/index.json"),
        ("oci-layout/", "link"),
        ("-r .", "oci-layout/oci-layout"),
        ("--json hf-cache-2x", "hf-cache-2x/models--org--toy/refs/main"),
        ("hf-local-dir", "hf-local-dir/.cache/huggingface/download/config.json.metadata"),
        ("bagit", "bagit/bag-info.txt"),
        ("restic", "data/other"),
    ] {
        let before = folder.read(output);
        let ended = folder.treewide(&format!("check {args} --force -o {output}")).run();
        ended.fails(2, &["would replace it"]);
        assert_eq!(folder.read(output), before, "{output}");
    }
    // A new file, and one that is only next to a store.
    for output in ["oci-layout/report", "report"] {
        folder.treewide(&format!("check oci-layout -v -o {output}")).run().fails(0, &["4 objects"]);
        assert_eq!(folder.read(output).lines().count(), 4);
    }
}

#[test]
fn check_finds_the_manifests_of_an_image_for_several_platforms_in_a_folder_of_skopeo() {
    let Some(folder) = samples() else { return };
    let manifest = format!("skopeo-dir/{MANIFEST}.manifest.json");
    fs::rename(folder.join("skopeo-dir/manifest.json"), folder.join(&manifest)).unwrap();
    fs::copy(folder.join("oci-layout/index.json"), folder.join("skopeo-dir/manifest.json"))
        .unwrap();
    folder.write(format!("skopeo-dir/{MANIFEST}.signature-1"), "x");
    folder.treewide("check --strict skopeo-dir").run().fails(0, &["4 objects"]);
    for (gone, by) in [
        (format!("skopeo-dir/{LAYER}"), &manifest[..]),
        (manifest.clone(), "skopeo-dir/manifest.json"),
    ] {
        fs::rename(folder.join(&gone), folder.join("aside")).unwrap();
        let ended = folder.treewide("check skopeo-dir").run();
        assert_eq!(ended.text(), format!("{gone}: MISSING ({by} names it)\n"));
        ended.fails(1, &["3 objects", "1 MISSING"]);
        fs::rename(folder.join("aside"), folder.join(&gone)).unwrap();
    }
    folder.write(&manifest, folder.read(&manifest).replace("438", "439"));
    let ended = folder.treewide("check skopeo-dir").run();
    assert!(ended.text().contains(&format!("{manifest}: FAILED\n")), "{ended:?}");
    assert_eq!(ended.code, Some(1));
}

/// A type says which blobs are manifests, and no document is read that is longer than manifests are.
#[test]
fn check_reads_nothing_but_manifests_as_manifests() {
    let Some(folder) = samples() else { return };
    let index = |list: serde_json::Value| {
        folder.write("oci-layout/index.json", json!({ "manifests": list }).to_string());
    };
    let one = |kind: &str, digest: &str, size: u64| json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size });
    let oci = "application/vnd.oci.image.";
    // As BuildKit has layers in an index.
    index(json!([one(&format!("{oci}layer.v1.tar+gzip"), SECOND, 75313)]));
    folder.treewide("check --strict oci-layout").run().fails(0, &["4 objects"]);
    for (kind, named) in [
        (format!("{oci}manifest.v1+json"), true),
        (format!("{oci}index.v1+json"), true),
        ("application/vnd.docker.distribution.manifest.v2+json".into(), true),
        ("application/vnd.docker.distribution.manifest.list.v2+json".into(), true),
        ("application/vnd.buildkit.cacheconfig.v0".into(), false),
    ] {
        index(json!([one(&kind, MANIFEST, 501)]));
        fs::rename(folder.join(BLOBS).join(LAYER), folder.join("aside")).unwrap();
        let ended = folder.treewide("check oci-layout").run();
        assert_eq!(ended.code, Some(i32::from(named)), "{kind} {ended:?}");
        fs::rename(folder.join("aside"), folder.join(BLOBS).join(LAYER)).unwrap();
    }
    // A layer that is called a manifest.
    index(json!([one(&format!("{oci}manifest.v1+json"), SECOND, 75313)]));
    let ended = folder.treewide("check oci-layout").run();
    let skipped = "names objects that were not looked for, because it cannot be understood";
    assert_eq!(ended.text(), format!("{BLOBS}/{SECOND}: FAILED (not understood: {skipped})\n"));
    let many = format!("{{\"manifests\":[[]{}]}}", ",[]".repeat(10_000));
    let long = format!("{{\"manifests\":[[]{}]}}", ",[]".repeat(2 << 20));
    let deep = format!("{{\"manifests\":{}", "[".repeat(1 << 20));
    let twice = "{\"manifests\":[],\"manifests\":[]}".to_owned();
    let negative = json!({ "manifests": [{ "digest": format!("sha256:{MANIFEST}"), "size": -1 }] });
    for (text, why) in [
        (many, "it cannot be understood"),
        (long, "it is longer than 4 MiB"),
        (deep, "it cannot be understood"),
        (twice, "it cannot be understood"),
        (negative.to_string(), "it cannot be understood"),
    ] {
        folder.write("oci-layout/index.json", text);
        let ended = folder.treewide("check oci-layout").run();
        let line = format!(
            "oci-layout/index.json: FAILED (not understood: names objects that were not looked for, because {why})\n"
        );
        assert_eq!(ended.text(), line);
        ended.fails(
            3,
            &["1 not understood; looked for objects named in index.json and in manifests"],
        );
    }
}

#[test]
fn check_opens_no_manifest_out_of_a_store() {
    let Some(folder) = samples() else { return };
    let manifest = folder.join(BLOBS).join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    folder.write("outside", text.replace(LAYER, &"ab".repeat(32)));
    symlink(folder.join("outside"), &manifest).unwrap();
    let ended = folder.treewide("check oci-layout").run();
    assert_eq!(ended.text(), format!("{BLOBS}/{MANIFEST}: FAILED (leads out of the store)\n"));
}

#[test]
fn check_reads_manifests_without_layers_and_of_old_forms() {
    let Some(folder) = samples() else { return };
    let config = json!({ "digest": format!("sha256:{CONFIG}"), "size": 438 });
    for (text, code, said) in [
        (json!({ "config": config, "layers": null }), 0, "3 objects"),
        (json!({ "manifests": null }), 0, "3 objects"),
        (json!({ "config": config }), 3, "1 not understood"),
        (
            json!({ "schemaVersion": 1, "fsLayers": [{ "blobSum": "x" }] }),
            0,
            "1 manifest of Docker's schema 1 passed over",
        ),
    ] {
        folder.write("skopeo-dir/manifest.json", text.to_string());
        folder.treewide("check skopeo-dir").run().fails(code, &[said]);
    }
}

#[test]
fn check_finds_objects_whose_names_are_in_capitals() {
    let Some(folder) = samples() else { return };
    for (store, object) in [
        ("oci-layout", format!("{BLOBS}/{LAYER}")),
        ("skopeo-dir", format!("skopeo-dir/{LAYER}")),
        ("dvc", "dvc/.dvc/cache/files/md5/be/5deac3c6bc163900ffc8aa359dc9d0".into()),
        (
            "ollama-from-source",
            "ollama-from-source/blobs/sha256-f664b5ebce05a4639a4a18e4478ba321bfd709e17b3127e6e667cca9002e1f93".into(),
        ),
    ] {
        let before = folder.treewide(&format!("check {store}")).run();
        let (parent, name) = object.rsplit_once('/').unwrap();
        let capitals = folder.join(parent).join(name.to_uppercase());
        fs::rename(folder.join(&object), capitals).unwrap();
        if store == "dvc" {
            fs::rename(folder.join(parent), folder.join("dvc/.dvc/cache/files/md5/BE")).unwrap();
        }
        let ended = folder.treewide(&format!("check --strict {store}")).run();
        assert_eq!((ended.code, &ended.stderr), (Some(0), &before.stderr), "{ended:?}");
    }
}

#[test]
fn check_says_which_records_contradict_each_other() {
    let Some(folder) = samples() else { return };
    let index = json!({ "manifests": [
        { "digest": format!("sha256:{MANIFEST}"), "size": 501 },
        { "mediaType": "application/x", "digest": format!("sha256:{CONFIG}"), "size": 437 },
    ] });
    folder.write("oci-layout/index.json", index.to_string());
    let ended = folder.treewide("check oci-layout").run();
    let cause = format!("{BLOBS}/{CONFIG} has 438 bytes by it, and 437 by another record");
    assert!(ended.text().contains(&format!("{BLOBS}/{MANIFEST}: FAILED ({cause})\n")), "{ended:?}");
    assert_eq!(ended.code, Some(1));
}

#[test]
fn check_takes_an_unfinished_download_for_no_blob() {
    let Some(folder) = samples() else { return };
    let repository = "hf-cache-2x/models--org--toy";
    let snapshot = format!("{repository}/snapshots/0123456789abcdef0123456789abcdef01234567");
    let link = folder.join(&snapshot).join("config.json");
    fs::remove_file(&link).unwrap();
    folder.write(format!("{repository}/blobs/576d.incomplete"), "{");
    symlink("../../blobs/576d.incomplete", &link).unwrap();
    let ended = folder.treewide("check hf-cache-2x").run();
    let cause = "its blob is an unfinished download";
    assert_eq!(ended.text(), format!("{snapshot}/config.json: MISSING ({cause})\n"));
    ended.fails(1, &["1 MISSING"]);
}

#[test]
fn check_passes_over_files_of_a_tree_without_a_digest() {
    let Some(folder) = samples() else { return };
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let tree = format!("hf-cache-2x/models--org--toy/trees/{commit}.json");
    let before = folder.read(&tree);
    folder.write(&tree, before.replace("\"blob_id\": \"c1f00df", "\"other\": \"c1f00df"));
    let ended = folder.treewide("check hf-cache-2x").run();
    let file = format!("hf-cache-2x/models--org--toy/snapshots/{commit}/README.md");
    assert_eq!(ended.text(), format!("{file}: FAILED (no digest in its tree)\n"));
    ended.fails(3, &["1 not verified"]);
}

#[test]
fn check_leaves_out_what_was_never_fetched_if_it_is_told_to() {
    let Some(folder) = samples() else { return };
    for (store, gone, noun) in [
        ("oci-layout", format!("{BLOBS}/{LAYER}"), "object"),
        ("dvc", "dvc/.dvc/cache/files/md5/fe/5b8755020ef9b07c59dc335e32b4a1".into(), "object"),
        ("bagit", "bagit/data/alpha.txt".into(), "file"),
    ] {
        fs::rename(folder.join(&gone), folder.join("aside")).unwrap();
        let advice = "--ignore-missing leaves out what was never fetched";
        folder.treewide(&format!("check {store}")).run().fails(1, &["1 MISSING", advice]);
        let ended = folder.treewide(&format!("check --ignore-missing --strict {store}")).run();
        ended.fails(0, &[&format!("; 1 missing {noun} ignored")]);
        assert_eq!(ended.text(), "");
        let (code, lines, _) = check(&folder, store, "--ignore-missing");
        let missing = paths(&lines, "missing");
        assert!(missing.iter().all(|it| it.ends_with(&gone)) && !missing.is_empty(), "{lines:?}");
        assert_eq!(code, Some(0));
        fs::rename(folder.join("aside"), folder.join(&gone)).unwrap();
    }
    // Nothing is left.
    for entry in fs::read_dir(folder.join(BLOBS)).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let ended = folder.treewide("check --ignore-missing oci-layout").run();
    ended.fails(3, &["nothing was verified"]);
}

#[test]
fn check_has_records_of_directories_without_a_store() {
    let folder = Folder::new();
    fs::create_dir(folder.join("d")).unwrap();
    folder.write("bag/bagit.txt", "damaged");
    fs::create_dir(folder.join("bag/data")).unwrap();
    for (path, status, said) in [
        ("d", "unverified", "not a store that this program knows"),
        ("bag/bagit.txt", "unreadable", "the mark of a store, but damaged"),
    ] {
        let of = path.split('/').next().unwrap();
        let (code, lines, messages) = check(&folder, of, "");
        assert_eq!((code, lines.len()), (Some(3), 1), "{lines:?}");
        assert_eq!((&lines[0]["path"], &lines[0]["verdict"]), (&json!(path), &json!(status)));
        assert!(lines[0]["detail"].as_str().unwrap().starts_with(said), "{lines:?}");
        assert!(messages.contains(said), "{messages}");
    }
    folder.treewide("check -r d").run().fails(3, &["and there is none below it"]);
}

/// As npm writes it: the last entry of a key counts, and one without a digest removes it.
#[test]
fn check_follows_the_index_of_npm() {
    let folder = Folder::new();
    let sha1 = |it: &str| {
        folder.treewide("sum --algorithm sha1 --no-names").stdin(it).run().text().trim().to_owned()
    };
    // Of `x`.
    let digest = "sha512-pKvURIxJVi2CgRXROh/M6pJ/UrTVRZKX+LQ+QtqJI4vBNibkPcs43bCCSIkn7JBPtCBXRDmD6IWFF51QVRr+Yg==";
    let content = "c/content-v2/sha512/a4/ab/d4448c49562d828115d13a1fccea927f52b4d5459297f8b43e42da89238bc13626e43dcb38ddb082488927ec904fb42057443983e88585179d50551afe62";
    let gone = "sha512-AAAA";
    let line = |key: &str, integrity: Option<&str>| {
        let json = json!({ "key": key, "integrity": integrity, "size": 1 }).to_string();
        format!("\n{}\t{json}", sha1(&json))
    };
    let index = "c/index-v5/aa/bb/cc";
    folder.write(content, "x");
    let good = line("a", Some(digest));
    folder.write(index, [line("b", Some(gone)), good.clone(), line("b", None)].concat());
    let followed = "looked for all objects named in index-v5";
    folder.treewide("check c").run().fails(0, &["1 object (1 B) is what its name says", followed]);
    folder.write(index, [good.clone(), line("b", Some(gone))].concat());
    let ended = folder.treewide("check c").run();
    assert_eq!(
        ended.text(),
        format!("c/content-v2/sha512/00/00/00: MISSING ({index} names it; b)\n")
    );
    assert_eq!(ended.code, Some(1));
    // Any of the strongest algorithm is enough.
    folder.write(index, line("a", Some(&format!("sha1-AAAA {gone} {digest}?x"))));
    folder.treewide("check c").run().fails(0, &[followed]);
    let cut = &good[..good.len() - 1];
    let of_size = line("a", Some(digest)).replace("\"size\":1", "\"size\":2");
    let (_, json) = of_size.split_once('\t').unwrap();
    for (text, code, said) in [
        (cut.to_owned(), 1, "line 2 is not as its digest says"),
        (line("a", Some("sha3-AAAA")), 3, "it cannot be understood"),
        (format!("{}\t{json}", sha1(json)), 1, "1 bytes instead of 2; a"),
    ] {
        folder.write(index, text);
        let ended = folder.treewide("check c").run();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.text().contains(said), "{ended:?}");
    }
}

#[test]
fn check_follows_the_links_of_a_registry() {
    let Some(folder) = samples() else { return };
    let root = "r/docker/registry/v2";
    let place = |digits: &str| format!("{root}/blobs/sha256/{}/{digits}/data", &digits[..2]);
    for digits in [MANIFEST, CONFIG, LAYER, SECOND] {
        folder.write(place(digits), fs::read(folder.join(BLOBS).join(digits)).unwrap());
    }
    let repository = format!("{root}/repositories/org/app");
    for link in [format!("revisions/sha256/{MANIFEST}"), "tags/1.0/current".into()] {
        folder.write(format!("{repository}/_manifests/{link}/link"), format!("sha256:{MANIFEST}"));
    }
    // A link stays when its blob is removed.
    folder
        .write(format!("{repository}/_layers/sha256/x/link"), format!("sha256:{}", "0".repeat(64)));
    folder
        .treewide("check --strict r")
        .run()
        .fails(0, &["4 objects", "named in its links to manifests"]);
    fs::remove_file(folder.join(place(LAYER))).unwrap();
    let ended = folder.treewide("check r").run();
    let by = place(MANIFEST);
    assert_eq!(ended.text(), format!("{}: MISSING ({by} names it; org/app)\n", place(LAYER)));
    fs::remove_file(folder.join(&by)).unwrap();
    folder.treewide("check r").run().fails(1, &["1 MISSING"]);
    folder.write(format!("{repository}/_manifests/tags/1.0/current/link"), "x");
    folder.treewide("check r").run().fails(3, &["1 not understood"]);
}
