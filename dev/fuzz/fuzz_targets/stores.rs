//! `treewide_digests::store`: of any records and names, objects are found to their end, and all that are to be read are in the store.
//! xetHash does not depend on the pieces that its bytes come in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::{Path, PathBuf};
use treewide_digests::Algorithm;
use treewide_digests::store::{Object, Place, find};

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const KEY: &str = "SHA256-s0--e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Files of stores: `T` is the text that the fuzzer makes, `N` a name.
const STORES: [&[(&str, &str)]; 11] = [
    &[("oci-layout", "{\"imageLayoutVersion\":\"1\"}"), ("index.json", "T"), ("blobs/sha256/HEX", ""), ("blobs/sha256/N", "")],
    &[("oci-layout", "T"), ("index.json", "{}"), ("blobs/sha256/HEX", "")],
    &[("manifests/a/b/c/N", "T"), ("blobs/sha256-HEX", ""), ("blobs/N", "")],
    &[(".cache/huggingface/.gitignore", ""), (".cache/huggingface/download/N.metadata", "T"), ("N", "")],
    &[("models--a--b/trees/c.json", "T"), ("models--a--b/blobs/HEX", ""), ("models--a--b/snapshots/c/N", "")],
    &[("files/md5/d4/1d8cd98f00b204e9800998ecf8427e.dir", "T"), ("files/md5/ab/N", "")],
    &[("bagit.txt", "BagIt-Version: 1.0\n"), ("manifest-sha256.txt", "T"), ("data/N", "")],
    &[("bagit.txt", "T"), ("manifest-N.txt", "HEX  data/a\n"), ("data/a", "")],
    &[(".git/HEAD", ""), (".git/refs/a", ""), (".git/annex/objects/a/b/KEY/KEY", ""), (".git/annex/objects/a/b/N/N", "T")],
    &[("SHARDING", "/repo/flatfs/shard/v1/next-to-last/2"), ("_README", ""), ("AA/N.data", "T")],
    &[(".git", "T"), (".huggingface-shared-blobs", "1\n"), ("e3/HEX", ""), ("e3/N", "")],
];

fn check(root: &Path, files: &[(&str, &str)], name: &str, text: &[u8]) {
    let _ = fs::remove_dir_all(root);
    for (path, content) in files {
        let path = root.join(path.replace("HEX", HEX).replace("KEY", KEY).replace('N', name));
        let content = if *content == "T" { text.to_vec() } else { content.replace("HEX", HEX).into_bytes() };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The name may be one that is there, as a file or a folder.
        let _ = fs::write(path, content);
    }
    let place = root.canonicalize().unwrap();
    for everywhere in [false, true] {
        for place in find(root, None, everywhere) {
            let Place::Store(store) = place else { continue };
            for object in store.objects() {
                let Object::File(task) = object else { continue };
                if let Ok(path) = task.path.canonicalize() {
                    assert!(path.starts_with(&place), "{task:?}");
                }
                assert!(!task.about.candidates().is_empty(), "{task:?}");
            }
        }
    }
}

fn xet(pieces: &[&[u8]]) -> Vec<u8> {
    let mut digester = Algorithm::XET.begin(0).unwrap();
    pieces.iter().for_each(|it| digester.update(it));
    digester.finish()
}

fuzz_target!(|case: (u8, treewide_fuzz::Input, String, &[u8])| {
    let (kind, input, name, text) = case;
    let Some(files) = STORES.get(usize::from(kind % 12)) else {
        let bytes = input.bytes_to(21);
        let (before, after) = bytes.split_at(text.len().min(bytes.len()));
        assert_eq!(xet(&[before, after]), xet(&[&bytes]));
        return;
    };
    let name = name.replace(['/', '\0'], "");
    if name.is_empty() || name.len() > 200 || name == "." || name == ".." {
        return;
    }
    let root: PathBuf = std::env::temp_dir().join(format!("treewide-fuzz-stores-{}", std::process::id()));
    check(&root, files, &name, text);
});
