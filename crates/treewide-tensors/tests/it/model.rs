//! Models in one file, in several, and in directories.

use crate::files::{Gguf, safetensors, write};
use std::fs::{self, File};
use std::path::Path;
use treewide::{Cancel, hash};
use treewide_tensors::{ErrorKind, Model, Options, Tensors, list};

const A: (&str, &str, &[u64], &[u8]) = ("a", "F32", &[2], b"12345678");
const B: (&str, &str, &[u64], &[u8]) = ("b", "U8", &[3], b"abc");

fn digests(path: impl AsRef<Path>) -> Tensors {
    Model::open(path).unwrap().digests(&Options::default()).unwrap()
}

fn refusal(path: impl AsRef<Path>) -> String {
    Model::open(path).unwrap_err().to_string()
}

#[test]
fn model_has_the_same_tensors_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let one = digests(write(at, "whole.safetensors", safetensors(&[A, B])));
    assert_eq!((one["a"].hash(), one["b"].hash()), (hash(A.3), hash(B.3)));
    write(at, "m-1.safetensors", safetensors(&[A]));
    write(at, "m-2.safetensors", safetensors(&[B]));
    let index = r#"{"metadata":{},"weight_map":{"b":"m-2.safetensors","a":"m-1.safetensors"}}"#;
    let index = write(at, "model.safetensors.index.json", index);
    assert_eq!(digests(&index), one);
    assert_eq!(digests(at), one, "the directory has an index");
    fs::remove_file(index).unwrap();
    assert!(refusal(at).contains("whole.safetensors: tensor 'a' is in this file and in "));
    fs::remove_file(at.join("whole.safetensors")).unwrap();
    assert_eq!(digests(at), one, "files without an index");
    let gguf = |it: &Gguf, no: u16| {
        let it = it.clone().key("split.no", 2, &no.to_le_bytes());
        it.key("split.count", 2, &2_u16.to_le_bytes()).key(
            "split.tensors.count",
            5,
            &2_u32.to_le_bytes(),
        )
    };
    let parts = tempfile::tempdir().unwrap();
    let at = parts.path();
    let first =
        write(at, "m-00001-of-00002.gguf", gguf(&Gguf::new(&[("a", 0, &[2], A.3)]), 0).bytes());
    assert!(refusal(&first).contains("m-00002-of-00002.gguf: cannot open"));
    let second =
        write(at, "m-00002-of-00002.gguf", gguf(&Gguf::new(&[("b", 24, &[3], B.3)]), 1).bytes());
    let both = digests(&first);
    assert_eq!((both["a"].hash(), both["b"].hash()), (hash(A.3), hash(B.3)));
    assert_eq!(digests(at), both);
    assert!(refusal(&second).contains("this is part 2 of 2, and there are 1"));
    write(
        at,
        "m-00002-of-00002.gguf",
        gguf(&Gguf::new(&[("b", 24, &[3], B.3), ("c", 24, &[3], B.3)]), 1).bytes(),
    );
    assert!(refusal(at).contains("the parts have 3 tensors, and should have 2"));
    fs::copy(&first, &second).unwrap();
    assert!(refusal(at).contains("split.no 0"));
}

#[test]
fn model_in_a_directory_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(refusal(at).contains("there is no *.safetensors and no *.gguf in this directory"));
    let gguf = Gguf::new(&[("a", 0, &[2], A.3)]).bytes();
    write(at, "q4.gguf", &gguf);
    assert_eq!(digests(at).len(), 1);
    write(at, "q8.gguf", &gguf);
    assert!(refusal(at).contains("several models in this directory, such as"));
    write(at, "model.safetensors", safetensors(&[B]));
    write(at, "consolidated.safetensors", safetensors(&[A, B]));
    assert_eq!(digests(at).keys().collect::<Vec<_>>(), ["b"], "as loaders do");
    for (text, expected) in [
        (r#"{"weight_map":{"a":"../x"}}"#, "not the name of a file next to the index"),
        (
            r#"{"weight_map":{"a":"model.safetensors"}}"#,
            "model.safetensors: the index says that tensor 'a' is in this file",
        ),
        ("[]", "not an object"),
        ("{}", "no weight_map"),
        (r#"{"weight_map":{}}"#, "one that names no tensor"),
        ("version https://git-lfs.github.com/spec/v1\nsize 9\n", "a Git LFS pointer"),
        ("{", "the JSON is cut off"),
    ] {
        let found = refusal(write(at, "model.safetensors.index.json", text));
        assert!(found.contains(expected), "{found}");
    }
    assert!(refusal(at.join("missing")).contains("missing: cannot open"));
}

#[test]
fn model_in_a_directory_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let first = write(at, "m-00001-of-00003.safetensors", safetensors(&[A]));
    write(at, "m-00003-of-00003.safetensors", safetensors(&[B]));
    let found = refusal(at);
    let (this, missing) = ("m-00001-of-00003.safetensors: this is a part of 3", "m-00002-of-00003");
    assert!(found.contains(this) && found.contains(missing), "{found}");
    assert_eq!(digests(&first).keys().collect::<Vec<_>>(), ["a"], "it was named");
    fs::rename(first, at.join("m-00001-of-00002.safetensors")).unwrap();
    let last = at.join("m-00003-of-00003.safetensors");
    fs::rename(last, at.join("m-00002-of-00002.safetensors")).unwrap();
    assert_eq!(digests(at).keys().collect::<Vec<_>>(), ["a", "b"]);
    let index =
        |map: &str| write(at, "m.safetensors.index.json", format!(r#"{{"weight_map":{{{map}}}}}"#));
    let both = r#""a":"m-00001-of-00002.safetensors","b":"m-00002-of-00002.safetensors""#;
    assert_eq!(digests(index(both)).len(), 2);
    let found = refusal(index(r#""a":"m-00001-of-00002.safetensors""#));
    let here = "m-00002-of-00002.safetensors is here and not in it";
    assert!(found.contains("names 1 of 2 parts; ") && found.contains(here), "{found}");
    write(at, "c.safetensors", safetensors(&[("c", "U8", &[1], b"c")]));
    let found = refusal(index(r#""c":"c.safetensors""#));
    assert!(found.contains("names 0 of 2 parts"), "{found}");
    index(both);
    write(at, "old.bin", "");
    let model = Model::open(at).unwrap();
    assert_eq!(model.not_read(), [at.join("c.safetensors"), at.join("old.bin")]);
    fs::remove_file(at.join("m-00002-of-00002.safetensors")).unwrap();
    let found = refusal(index(r#""a":"m-00001-of-00002.safetensors""#));
    assert!(found.contains("m-00002-of-00002.safetensors is not in it"), "{found}");
}

#[test]
fn model_without_bytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("none", safetensors(&[])),
        ("emptied", safetensors(&[("a", "F32", &[0], b"")])),
        ("x.tensors.b3", Vec::new()),
        ("y.tensors.b3", format!("{}  a\tF32\t[2,0]\n", hash(b"")).into_bytes()),
    ] {
        let found = refusal(write(folder.path(), name, bytes));
        assert!(found.contains("has no weights: "), "{found}");
    }
    write(folder.path(), "some", safetensors(&[A, ("b", "F32", &[0], b"")]));
    assert_eq!(digests(folder.path().join("some")).len(), 2);
}

#[test]
fn digests_are_the_same_with_any_threads() {
    let folder = tempfile::tempdir().unwrap();
    let part = 4 << 20;
    let data: Vec<u8> = (0..2 * part + 5000_u32).map(|it| (it % 251) as u8).collect();
    let lengths = [0, 1, 1024, 1025, 300_000, part as usize, part as usize + 1, data.len()];
    let names: Vec<String> = lengths.iter().map(usize::to_string).collect();
    let shapes = lengths.map(|it| [it as u64]);
    let tensors: Vec<_> = (0..lengths.len())
        .map(|it| (&*names[it], "U8", &shapes[it][..], &data[..lengths[it]]))
        .collect();
    let model = Model::open(write(folder.path(), "m", safetensors(&tensors))).unwrap();
    assert_eq!(model.bytes(), lengths.iter().sum::<usize>() as u64);
    for threads in [1, 3] {
        let found = model.digests(&Options { threads, ..Options::default() }).unwrap();
        for (name, length) in names.iter().zip(lengths) {
            assert_eq!(found[name].hash(), hash(&data[..length]), "{name}");
        }
    }
}

#[test]
fn digests_refuse_a_file_that_was_written_to_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "m", safetensors(&[("a", "U8", &[40 << 10], &[1; 40 << 10])]));
    let model = Model::open(&path).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped =
        model.digests(&Options { cancel: cancel.clone(), ..Options::default() }).unwrap_err();
    assert!(matches!(stopped.kind(), ErrorKind::File(treewide::file::ErrorKind::Stopped)));
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let shorter = model.digests(&Options::default()).unwrap_err().to_string();
    assert!(shorter.contains("file shrank while being hashed: 1000 of"), "{shorter}");
    let time = std::time::SystemTime::UNIX_EPOCH;
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(100 << 10).unwrap();
    file.set_modified(time).unwrap();
    let other = model.digests(&Options::default()).unwrap_err().to_string();
    assert!(other.contains("written to after its header was read"), "{other}");
}

#[test]
fn fingerprint_is_that_of_the_list_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let found = digests(write(folder.path(), "m", safetensors(&[B, A])));
    let path = write(folder.path(), "m.tensors.b3", list::text(&found));
    assert_eq!(list::fingerprint(&found), treewide::file::hash(&path).unwrap());
    assert_eq!(list::read(path).unwrap(), found);
}

#[test]
fn model_of_a_repository_is_its_main() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for part in ["refs", "snapshots/12ab", "snapshots/old"] {
        fs::create_dir_all(at.join(part)).unwrap();
    }
    write(&at.join("refs"), "main", "12ab");
    write(&at.join("snapshots/12ab"), "model.safetensors", safetensors(&[A]));
    write(&at.join("snapshots/old"), "model.safetensors", safetensors(&[B]));
    assert_eq!(digests(at)["a"].hash(), hash(A.3));
    write(&at.join("refs"), "main", "../..");
    assert!(refusal(at).contains("there is no *.safetensors"));
}
