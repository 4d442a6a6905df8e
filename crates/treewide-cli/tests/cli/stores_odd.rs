//! `treewide check` with stores in odd places and states: links, other names, stores in stores, options that are of lists.

use crate::stores::{check, paths, samples};
use crate::stores_damaged::everything;
use crate::support::{Folder, is_root, skip};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// SHA-256 and SHA3-256 of `x`.
const SHA256: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
const SHA3: &str = "741efa311f97686956946758e0d95f70f11ff2da4f2feb7c54314f44134ac49f";

fn ollama(folder: &Folder, root: &str, content: &str) {
    fs::create_dir_all(folder.join(root).join("manifests")).unwrap();
    folder.write(format!("{root}/blobs/sha256-{SHA256}"), content);
}

#[test]
fn check_recursive_looks_into_stores_and_says_what_it_may_not_read() {
    let folder = Folder::new();
    ollama(&folder, "a", "x");
    ollama(&folder, "a/b", "y");
    folder.treewide("check -r .").run().fails(1, &["./a: an Ollama", "./a/b: an Ollama"]);
    if is_root() && !folder.treewide("--version").by_nobody().can_start() {
        return skip("unreadable folders", "no other user may run the program");
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    ollama(&folder, "a/b", "x");
    let run = |args: &str| {
        let program = folder.treewide(args);
        if is_root() { program.by_nobody().run() } else { program.run() }
    };
    for (dark, mode, said) in [
        ("a/b", 0o000, "a/b: cannot"),
        ("a/b/blobs", 0o000, "a/b/blobs: cannot"),
        ("a/b/blobs", 0o644, "1 could not be read"),
    ] {
        let path = folder.join(dark);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for args in ["check -r .", "check -r a", "check -r --strict ."] {
            let ended = run(args);
            ended.fails(3, &[said, "a: an Ollama store: 1 object"]);
            assert_eq!(ended.stderr.matches("cannot").count(), usize::from(mode == 0), "{ended:?}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    fs::rename(folder.join("a/b"), folder.join("models--x--y")).unwrap();
    fs::set_permissions(folder.join("models--x--y"), Permissions::from_mode(0o000)).unwrap();
    ollama(&folder, "models", "x");
    run("check .").fails(3, &["models--x--y: cannot", "models: an Ollama store: 1 object"]);
    fs::set_permissions(folder.join("models--x--y"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn check_knows_stores_by_other_names() {
    let Some(folder) = samples() else { return };
    let bazel = folder.join("bazel-disk-from-source");
    fs::rename(bazel.join("blake3"), folder.join("bz3")).unwrap();
    fs::rename(&bazel, folder.join("blake3")).unwrap();
    folder.treewide("check bz3").run().fails(0, &["3 objects ("]);
    folder.treewide("check blake3").run().fails(0, &["3 objects (", ", by SHA-256"]);
    symlink("hf-cache-2x/models--org--toy", folder.join("link")).unwrap();
    folder.treewide("check link").run().fails(0, &["link: a Hugging Face repository: 5 objects"]);
    symlink("git-lfs/.git/lfs", folder.join("objects-of-lfs")).unwrap();
    folder.treewide("check objects-of-lfs").run().fails(0, &["5 objects"]);
    // Elsewhere, with a link in the place of the folder.
    fs::rename(folder.join("git-lfs/.git/lfs"), folder.join("elsewhere")).unwrap();
    symlink("../../elsewhere", folder.join("git-lfs/.git/lfs")).unwrap();
    folder.treewide("check git-lfs").run().fails(0, &["5 objects"]);
    // A work tree.
    folder.write("tree/.git", "gitdir: ../git-annex/.git/worktrees/tree\n");
    folder.write("git-annex/.git/worktrees/tree/commondir", "../..\n");
    folder.treewide("check tree").run().fails(0, &["13 objects"]);
    // The letters of a name in another case, and a mark.
    folder.write(format!("ollama-from-source/blobs/SHA256-{}", SHA256.to_uppercase()), "y");
    folder.treewide("check ollama-from-source").run().fails(1, &["1 FAILED"]);
    let mark = folder.read("bagit/bagit.txt");
    folder.write("bagit/bagit.txt", format!("\u{FEFF}{mark}"));
    folder.treewide("check bagit").run().fails(1, &["a bag", "1 FAILED"]);
}

#[test]
fn check_follows_no_link_out_of_a_store() {
    let Some(folder) = samples() else { return };
    let out = |path: &str| {
        let path = folder.join(path);
        let aside = folder.join("aside").join(path.file_name().unwrap());
        fs::create_dir_all(folder.join("aside")).unwrap();
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        (path, aside)
    };
    let snapshot =
        "hf-cache-2x/models--org--toy/snapshots/0123456789abcdef0123456789abcdef01234567";
    for (store, path, failed) in [
        ("bagit", "bagit/data/alpha.txt", 2),
        ("bagit", "bagit/data/sub", 3),
        ("hf-local-dir", "hf-local-dir/sub", 2),
        ("hf-local-dir", "hf-local-dir/config.json", 1),
        ("restic", "restic/data/1b", 1),
        ("git-annex", "git-annex/.git/annex/objects/0z", 1),
    ] {
        let (link, aside) = out(path);
        let (code, lines, messages) = check(&folder, store, "");
        let wrong = lines.iter().filter(|it| it["detail"] == "leads out of the store").count();
        assert_eq!((code, wrong >= failed.min(2)), (Some(1), true), "{path}: {lines:?} {messages}");
        fs::remove_file(&link).unwrap();
        fs::rename(aside, link).unwrap();
    }
    let file = folder.join(snapshot).join("README.md");
    let target = fs::read_link(&file).unwrap();
    fs::remove_file(&file).unwrap();
    symlink("/etc/passwd", &file).unwrap();
    let ended = folder.treewide("check hf-cache-2x").run();
    assert!(ended.text().ends_with("README.md: FAILED (leads out of the store)\n"), "{ended:?}");
    ended.fails(1, &["1 FAILED"]);
    fs::remove_file(&file).unwrap();
    symlink(target, &file).unwrap();
    // The folder of the objects itself may be elsewhere, which is said.
    let (_, aside) = out("oci-layout/blobs");
    let said = format!("oci-layout/blobs leads to {}", aside.canonicalize().unwrap().display());
    folder.treewide("check oci-layout").run().fails(0, &[&said]);
    out("bagit/data");
    folder.treewide("check bagit").run().fails(0, &["bagit/data leads to"]);
}

#[test]
fn check_of_a_bag_reads_nothing_but_the_bag() {
    let Some(folder) = samples() else { return };
    folder
        .treewide("check bagit")
        .run()
        .fails(0, &["bagit: a bag: 9 files (", "9 files", "as the manifests say"]);
    // A manifest of another bag that lists a file of this one.
    for (bag, manifest) in [("b1", "manifest-sha256.txt"), ("b2", "manifest-sha3256.txt")] {
        folder.write(
            format!("{bag}/bagit.txt"),
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        );
        folder.write(format!("{bag}/{manifest}"), format!("{SHA256}  data/a\n"));
        fs::create_dir_all(folder.join(format!("{bag}/data"))).unwrap();
    }
    folder.write("b1/data/a", "x");
    let run = |args: &str| {
        folder
            .program("sh")
            .arg("-c")
            .arg(format!("cd b1 && {} {args}", crate::support::TREEWIDE))
            .run()
    };
    run("check .").fails(0, &["1 file "]);
    run("check ../b2").fails(1, &["1 MISSING"]);
    folder.write("b2/data/a", "x");
    run("check ../b2").fails(1, &["1 FAILED"]);
    folder.write("b2/manifest-sha3256.txt", format!("{SHA3}  data/a\n"));
    run("check ../b2").fails(0, &["1 file "]);
    folder.write("b2/manifest-whirlpool.txt", format!("{SHA3}  data/a\n"));
    run("check ../b2").fails(3, &["not verified"]);
    folder.write("b2/bagit.txt", "BagIt-Version: x\n");
    run("check ../b2").fails(3, &["not verified"]);
}

#[test]
fn check_refuses_options_of_lists_for_a_directory() {
    let Some(folder) = samples() else { return };
    for options in ["--algorithm sha256", "--length 16", "--derive-key x", "--keyed"] {
        let ended = folder.treewide(&format!("check {options} restic")).stdin([1; 32]).run();
        ended.fails(2, &["restic is a directory"]);
    }
}

#[test]
fn check_passes_over_its_own_unfinished_file() {
    let Some(folder) = samples() else { return };
    let ended = folder.treewide("check --strict -o oci-layout/blobs/sha256/out oci-layout").run();
    ended.fails(0, &["4 objects", "1 temporary file passed over"]);
    fs::remove_file(folder.join("oci-layout/blobs/sha256/out")).unwrap();
    let digest = "ab".repeat(32);
    fs::create_dir(folder.join(format!("oci-layout/blobs/sha256/{digest}"))).unwrap();
    let ended = folder.treewide("check oci-layout").run();
    assert!(ended.text().ends_with(": FAILED (a directory, not a file)\n"), "{ended:?}");
    ended.fails(1, &["1 FAILED"]);
    fs::remove_dir(folder.join(format!("oci-layout/blobs/sha256/{digest}"))).unwrap();
    // A name with a backslash is not that of a file in a folder.
    let (_, lines, _) = check(&folder, "oci-layout", "");
    let object = paths(&lines, "ok").remove(0);
    let name =
        format!("oci-layout/blobs/sha256\\{}", object.file_name().unwrap().to_str().unwrap());
    fs::rename(folder.join(&object), folder.join(name)).unwrap();
    folder
        .treewide("check oci-layout")
        .run()
        .fails(3, &["3 objects", "1 MISSING, 1 not understood"]);
}

#[test]
fn check_reads_every_metadata_of_a_local_folder() {
    let Some(folder) = samples() else { return };
    let download = "hf-local-dir/.cache/huggingface/download";
    let metadata = format!("{download}/config.json.metadata");
    let text = folder.read(&metadata);
    for changed in [&b"\xff\xfe"[..], b"", b"a\nb\nc\n", &text.as_bytes()[..60]] {
        folder.write(&metadata, changed);
        let ended = folder.treewide("check hf-local-dir").run();
        assert_eq!(ended.text(), "hf-local-dir/config.json: FAILED (no digest in its metadata)\n");
        ended.fails(3, &["1 not verified"]);
    }
    folder.write(&metadata, text);
    // A name that is not text.
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\\name");
    fs::copy(folder.join("hf-local-dir/config.json"), folder.join("hf-local-dir").join(odd))
        .unwrap();
    let of = [odd.as_bytes(), b".metadata"].concat();
    fs::copy(folder.join(&metadata), folder.join(download).join(std::ffi::OsStr::from_bytes(&of)))
        .unwrap();
    folder.treewide("check hf-local-dir").run().fails(0, &["6 objects"]);
}

#[test]
fn check_counts_a_dangling_blob_once() {
    let Some(folder) = samples() else { return };
    fs::remove_file(folder.join(
        "hf-cache-2x/blobs/58/5863d05a400708642ec694f4ccd255b54fb37c503f1a76ce58de74d4b7091be6",
    ))
    .unwrap();
    folder.treewide("check hf-cache-2x").run().fails(1, &["1 MISSING"]);
}

/// DVC 2 hashes text without the returns at the ends of its lines.
#[test]
fn check_verifies_text_in_a_cache_of_dvc_2() {
    let folder = Folder::new();
    // MD5 of "a\nb\n", of "x", and of "a\0\r\nb\n".
    for (name, content) in [
        ("dd/8c6a395b5dd36c56d23275028f526c", "a\r\nb\r\n"),
        ("9d/d4e461268c8034f5c8564e155c67a6", "x"),
    ] {
        folder.write(format!(".dvc/cache/{name}"), content);
    }
    folder.treewide("check .").run().fails(0, &["a cache of DVC 2: 2 objects"]);
    folder.write(".dvc/cache/dd/8c6a395b5dd36c56d23275028f526c", "a\0\r\nb\r\n");
    folder.treewide("check .").run().fails(1, &["1 FAILED"]);
}

/// Manifests, indexes, trees and lists of folders name objects, which must be there, and say how long they are.
#[test]
fn check_finds_what_records_of_a_store_name() {
    let Some(folder) = samples() else { return };
    for (store, object, by) in [
        (
            "oci-layout",
            "blobs/sha256/4512a988125ab049daeebed05226c8cfc90f70078116d7a712699a9493c208d9",
            "fd0c0d15",
        ),
        (
            "oci-layout",
            "blobs/sha256/fd0c0d152f07f766e27e93938e043f8ec6825c79c1b67bea2679c36d49a8a553",
            "index.json",
        ),
        (
            "skopeo-dir",
            "463e147586a167f7db18d736a862d1934fbc0c02e7e337dbf6583881dd5956a8",
            "manifest.json",
        ),
        (
            "ollama-from-source",
            "blobs/sha256-f664b5ebce05a4639a4a18e4478ba321bfd709e17b3127e6e667cca9002e1f93",
            "library/toy/latest names it; toy:latest",
        ),
        ("dvc", ".dvc/cache/files/md5/40/1b30e3b8b5d629635a5c613cdb7919", "; grüße c.txt"),
    ] {
        let aside = folder.join("aside");
        fs::rename(folder.join(store).join(object), &aside).unwrap();
        let ended = folder.treewide(&format!("check {store}")).run();
        ended.fails(1, &["1 MISSING", "; looked for all objects named in "]);
        let line = ended.text().to_owned();
        assert!(line.starts_with(&format!("{store}/{object}: MISSING (")), "{line}");
        assert!(line.contains(by), "{line}");
        fs::rename(aside, folder.join(store).join(object)).unwrap();
        folder.treewide(&format!("check {store}")).run().fails(0, &["looked for all objects"]);
    }
    let index = folder.read("oci-layout/index.json");
    for (changed, code, said) in [
        (index.replace("\"size\":501", "\"size\":500"), 1, "(501 bytes instead of 500)"),
        (index.replace("sha256:fd", "sha9:fd"), 3, "cannot be understood"),
        (index.replace("\"manifests\"", "\"mani\""), 3, "cannot be understood"),
        (index[..100].to_owned(), 3, "cannot be understood"),
        (index.replace("\"size\"", "\"urls\":[\"https://example.com\"],\"size\""), 0, ""),
    ] {
        folder.write("oci-layout/index.json", changed);
        let ended = folder.treewide("check oci-layout").run();
        assert_eq!(
            (ended.code, ended.text().contains(said)),
            (Some(code), true),
            "{said} {ended:?}"
        );
    }
    let blob = "ollama-from-source/blobs/sha256-f664b5ebce05a4639a4a18e4478ba321bfd709e17b3127e6e667cca9002e1f93";
    folder.write(blob, "short");
    let ended = folder.treewide("check ollama-from-source").run();
    assert_eq!(ended.text(), format!("{blob}: FAILED (5 bytes instead of 40004; toy:latest)\n"));
}

/// A tree of Hugging Face says which file of a snapshot has which content, also where files are copies of blobs.
#[test]
fn check_compares_snapshots_with_their_tree() {
    let Some(folder) = samples() else { return };
    let snapshot =
        "hf-cache-2x/models--org--toy/snapshots/0123456789abcdef0123456789abcdef01234567";
    let link = |name: &str| folder.join(snapshot).join(name);
    let config = fs::read_link(link("config.json")).unwrap();
    fs::rename(link("README.md"), folder.join("readme")).unwrap();
    let ended = folder.treewide("check hf-cache-2x").run();
    ended.fails(0, &["1 file that was not downloaded passed over"]);
    symlink(&config, link("README.md")).unwrap();
    let ended = folder.treewide("check hf-cache-2x").run();
    let name = format!("{snapshot}/README.md");
    assert_eq!(ended.text(), format!("{name}: FAILED (is the content of another file)\n"));
    assert_eq!(ended.code, Some(1));
    fs::remove_file(link("README.md")).unwrap();
    let blob = fs::canonicalize(link("config.json")).unwrap();
    fs::remove_file(link("config.json")).unwrap();
    fs::copy(&blob, link("config.json")).unwrap();
    fs::rename(folder.join("readme"), link("README.md")).unwrap();
    folder.treewide("check hf-cache-2x").run().fails(0, &["repository: 6 objects"]);
    for (content, said) in
        [("x", "1 bytes instead of 39"), (&"x".repeat(39), "config.json: FAILED\n")]
    {
        folder.write(format!("{snapshot}/config.json"), content);
        let ended = folder.treewide("check hf-cache-2x").run();
        assert!(ended.text().contains(said), "{ended:?}");
        assert_eq!(ended.code, Some(1));
    }
    let tree = "hf-cache-2x/models--org--toy/trees/0123456789abcdef0123456789abcdef01234567.json";
    folder.write(tree, "{");
    folder.treewide("check hf-cache-2x").run().fails(3, &["2 not understood"]);
    folder.write(tree, "{\"format_version\": 2}");
    folder.treewide("check hf-cache-2x").run().fails(3, &["2 not understood"]);
}

/// Of objects, marks, metadata and manifests.
#[test]
fn check_moves_no_access_time() {
    let Some(folder) = samples() else { return };
    for store in ["bagit", "hf-local-dir", "hf-cache-2x", "oci-layout", "ollama-from-source"] {
        let set = format!("find {store} -type f -exec touch -a -d 2001-01-01 {{}} +");
        folder.program("sh").args(["-c", &set]).run().fails(0, &[]);
        let mut files = everything(&folder.join(store));
        files.retain(|it| it.is_file());
        let times = || files.iter().map(|it| it.metadata().unwrap().atime()).collect::<Vec<_>>();
        let before = times();
        assert!(!before.is_empty());
        folder.treewide(&format!("check {store}")).run().fails(0, &[]);
        assert_eq!(times(), before, "{store}");
    }
}

#[test]
fn check_of_ollama_without_blobs_says_what_is_missing() {
    let Some(folder) = samples() else { return };
    let host = "ollama-from-source/manifests";
    fs::rename(
        folder.join(host).join("registry.example"),
        folder.join(host).join("registry.ollama.ai"),
    )
    .unwrap();
    fs::remove_dir_all(folder.join("ollama-from-source/blobs")).unwrap();
    folder.treewide("check ollama-from-source").run().fails(1, &["4 MISSING"]);
}

/// Commands of a shell that lay a store of `hello` and `world!`, the operand of `check`, exit status, and what is said.
#[test]
fn check_accounts_for_records_and_links() {
    let setup = "printf 'hello\\n' > a; printf 'world!\\n' > b; H=$(sha256sum < a | cut -c1-64); Z=$(printf 0%.0s $(seq 64)); \
        oci() { mkdir -p $1/blobs/sha256; echo '{\"imageLayoutVersion\":\"1.0.0\"}' > $1/oci-layout; cp a $1/blobs/sha256/$H; \
        printf '{\"manifests\":[{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":6}]}' $2 $H > $1/index.json; }; ";
    for (lay, args, code, said) in [
        (
            "oci s/ok application/vnd.oci.image.layer.v1.tar; oci d application/vnd.oci.image.layer.v1.tar; echo X >> d/blobs/sha256/$H; \
          ln -s ../d s/bad",
            "-r s",
            1,
            "s/bad: an OCI image layout",
        ),
        (
            "oci s/ok application/vnd.oci.image.layer.v1.tar; mkdir d; ln -s ../d s/l",
            "-r s",
            0,
            "s: 1 link to directories was not followed, such as s/l",
        ),
        (
            "oci s/ok application/vnd.oci.image.layer.v1.tar; mkdir d; ln -s ../d s/l",
            "-r --strict s",
            3,
            "was not followed",
        ),
        (
            "oci s x/y",
            "s",
            0,
            "1 object of a type that is not known passed over; looked for objects named",
        ),
        (
            "mkdir -p d/by-hash/SHA256; mv a d/Packages; ln -s ../../Packages d/by-hash/SHA256/$H",
            "d",
            0,
            "1 object",
        ),
        (
            "mkdir -p d/by-hash/SHA256; ln -s ../../../a d/by-hash/SHA256/$H",
            "d",
            1,
            "leads out of the store",
        ),
        (
            "mkdir -p r/data r/index r/keys r/snapshots; touch r/config; cp a r/keys/$H; cp b r/data/$Z",
            "r",
            1,
            "1 FAILED",
        ),
        (
            "M=hub/models--o--m; mkdir -p $M/blobs $M/refs $M/snapshots/c; cp b $M/blobs/${Z%00000000000000000000000000000000}; \
          ln -s ../../blobs/${Z%00000000000000000000000000000000} $M/snapshots/c/model.safetensors",
            "hub",
            3,
            "model.safetensors of models--o--m",
        ),
        (
            "mkdir -p r/docker/registry/v2/blobs/sha256 r/docker/registry/v2/repositories app; cd r/docker/registry/v2; \
          mkdir -p blobs/sha256/${H%??????????????????????????????????????????????????????????????}/$H; \
          cp ../../../../a blobs/sha256/${H%??????????????????????????????????????????????????????????????}/$H/data; \
          ln -s ../../../../../app repositories/app",
            "r",
            1,
            "repositories/app: FAILED",
        ),
        (
            "mkdir -p g/data; echo 'BagIt-Version: 1.0' > g/bagit.txt; cp a g/data/; echo \"$H  data/a\" > g/manifest-sha256.txt; \
          echo '00  data/a' > g/manifest-whirlpool.txt",
            "g",
            3,
            "g/manifest-whirlpool.txt: FAILED (its name says no algorithm",
        ),
    ] {
        let folder = Folder::new();
        folder.program("bash").args(["-c", &format!("set -e; {setup}{lay}")]).run().fails(0, &[]);
        let ended = folder.treewide(&format!("check {args}")).run();
        let all = [ended.text(), &ended.stderr].concat();
        assert!(all.contains(said) && !all.contains("is not listed"), "{lay}: {ended:?}");
        assert_eq!(ended.code, Some(code), "{lay}: {ended:?}");
    }
}
