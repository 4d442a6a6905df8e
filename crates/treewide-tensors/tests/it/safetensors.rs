//! Headers of safetensors files: what is taken, and each fault.

use crate::files::{safetensors, with_header};
use std::io::Cursor;
use treewide_tensors::{Error, ErrorKind, header};

pub(crate) fn cause(bytes: &[u8]) -> String {
    match header::read(Cursor::new(bytes), bytes.len() as u64) {
        Err(kind @ ErrorKind::Invalid { .. }) => kind.to_string(),
        other => panic!("{other:?}"),
    }
}

fn entry(dtype: &str, shape: &str, first: u64, last: u64) -> String {
    format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{first},{last}]}}"#)
}

#[test]
fn header_has_places_in_the_file() {
    let text = format!(
        r#"{{"b":{},"__metadata__":{{"format":"pt"}},"a":{},"new":{}}}  "#,
        entry("U8", "[2]", 4, 6),
        entry("F32", "[]", 0, 4),
        entry("LATER", "[9]", 6, 7)
    );
    let bytes = with_header(&text, [1; 7]);
    let found = header::read(Cursor::new(&bytes), bytes.len() as u64).unwrap().tensors;
    let names: Vec<_> = found.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["a", "b", "new"]);
    let start = 8 + text.len() as u64;
    assert_eq!((&*found[0].dtype, found[0].shape.len()), ("F32", 0));
    assert_eq!((found[1].range.clone(), &*found[1].shape), (start + 4..start + 6, &[2][..]));
}

#[test]
fn header_of_every_fault_is_refused() {
    let one = |text: String, data: &[u8]| with_header(text, data);
    let u8s = |first, last| entry("U8", &format!("[{}]", last - first), first, last);
    let offsets = |it: &str| {
        one(format!(r#"{{"a":{{"dtype":"U8","shape":[1],"data_offsets":{it}}}}}"#), &[0])
    };
    let cases = [
        (
            one(format!(r#"{{"a":{},"b":{}}}"#, u8s(0, 4), u8s(3, 6)), &[0; 6]),
            "tensors 'a' and 'b' overlap, at byte 3",
        ),
        (
            one(format!(r#"{{"a":{},"b":{}}}"#, u8s(0, 2), u8s(3, 6)), &[0; 6]),
            "bytes 2 to 3 of the data, before tensor 'b'",
        ),
        (
            one(format!(r#"{{"a":{}}}"#, u8s(0, 2)), &[0; 3]),
            "last 1 bytes of the file do not belong",
        ),
        (one(format!(r#"{{"a":{}}}"#, u8s(0, 2)), &[0; 1]), "cut off: tensor 'a' ends at byte 2"),
        (one(r#"{"a":1,"a":2}"#.into(), &[]), "a key that is there twice"),
        (one(r#"{"a":{"shape":[],"shape":[]}}"#.into(), &[]), "a key that is there twice"),
        (
            one(r#"{"a":{"dtype":"U8","shape":[0]}}"#.into(), &[]),
            "'a' has no dtype, shape or data_offsets",
        ),
        (one(format!(r#"{{"a":{}}}"#, entry("a\tb", "[0]", 0, 0)), &[]), "not JSON"),
        (one(format!(r#"{{"a":{}}}"#, entry("a b", "[0]", 0, 0)), &[]), "not the name of a type"),
        (one(format!(r#"{{"a":{}}}"#, entry("U8", "[1.0]", 0, 1)), &[0]), "shape is [1.0]"),
        (
            one(format!(r#"{{"a":{}}}"#, entry("U8", "[9223372036854775808]", 0, 1)), &[0]),
            "shape is [9223372036854775808]",
        ),
        (
            one(format!(r#"{{"a":{}}}"#, entry("F64", "[4294967296,4294967296,8]", 0, 1)), &[0]),
            "does not have 1 bytes",
        ),
        (one(format!(r#"{{"\u001b[2J":{}}}"#, u8s(0, 2)), &[0]), r"tensor '\u{1b}[2J' ends"),
        (with_header("{\"a\":NaN}", []), "the header: not JSON: expected value at line 1 column 6"),
        (one(format!(r#"{{"a":{},"b":{}}}"#, u8s(0, 4), u8s(2, 2)), &[0; 4]), "overlap, at byte 2"),
        (one(format!(r#"{{"a":{}}}"#, u8s(1, 3)), &[0; 3]), "bytes 0 to 1 of the data"),
        (one(format!(r#"{{"a":{}}}"#, u8s(0, 1 << 62)), &[0]), "cut off: tensor 'a' ends at byte"),
        (one(format!(r#"{{"a":{}}}"#, entry("U8", "[]", 1, 0)), &[0]), "ends before it begins"),
        (one(format!(r#"{{"a":{}}}"#, entry("BF16", "[3]", 0, 5)), &[0; 5]), "not have 5 bytes"),
        (one(format!(r#"{{"a":{}}}"#, entry("F4", "[3]", 0, 2)), &[0; 2]), "not have 2 bytes"),
        (with_header("{}", [0; 3]), "last 3 bytes of the file"),
        (with_header(r#"{"__metadata__":{"a":"1","a":"2"}}"#, []), "a key that is there twice"),
        (with_header(r#"{"__metadata__":{"a":1}}"#, []), "__metadata__"),
        (with_header(r#"{"__metadata__":[]}"#, []), "__metadata__"),
        (with_header(r#"{"a":"#, []), "does not end with"),
        (with_header(r#"{"a":}"#, []), "not JSON"),
        (with_header("{}\n", []), "does not end with"),
        (with_header(format!("{{{}}}", r#""a":["#.repeat(100_000)), []), "not JSON"),
        (with_header(format!(r#"{{"\ud800":{}}}"#, u8s(0, 0)), []), "not JSON"),
        (with_header(r#"{"a":[0,1]}"#, []), "no dtype, shape or data_offsets"),
        (with_header(r#"{"a":{"dtype":8,"shape":[],"data_offsets":[0,1]}}"#, [0]), "dtype is 8"),
        (one(format!(r#"{{"a":{}}}"#, entry("U8", "[true]", 0, 1)), &[0]), "shape is"),
        (one(format!(r#"{{"a":{}}}"#, entry("U8", "[-1]", 0, 1)), &[0]), "shape is"),
        (one(format!(r#"{{"a":{}}}"#, entry("U8", "1", 0, 1)), &[0]), "shape is"),
        (offsets("[0]"), "data_offsets is"),
        (offsets("[0,1,1]"), "data_offsets is"),
        (offsets("[-1,1]"), "data_offsets is"),
        (vec![0; 7], "zeros, as a download that was cut off"),
        (vec![], "an empty file"),
        ([&[7; 4][..], &[0; 4], b"[1]"].concat(), "does not begin with '{'"),
        ([&u32::MAX.to_le_bytes()[..], &[0; 4], b"{}"].concat(), "would have 4294967295 bytes"),
        (vec![0xff; 99], "no safetensors file"),
        (with_header("{}", []).split_last().unwrap().1.to_vec(), "cut off, or no safetensors file"),
    ];
    for (bytes, expected) in &cases {
        let found = cause(bytes);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
    println!("safetensors: {} faults", cases.len());
}

#[test]
fn download_that_is_no_weights_is_called_that() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:c393ab\nsize 557941479\n";
    for (bytes, expected) in [
        (
            pointer.as_bytes(),
            "a Git LFS pointer: the weights (557941479 bytes, sha256 c393ab) were not downloaded",
        ),
        (&pointer.as_bytes()[..50], "a Git LFS pointer: the weights (unknown bytes"),
        (b"\n <!DOCTYPE html>\n<html>", "this is text, not weights: <!DOCTYPE html>"),
        (br#"{"error":"gated"}"#, r#"text, not weights: {"error":"gated"}"#),
        ("7 Bytes\u{fc}".as_bytes(), "text, not weights: 7 Bytes"),
        (b"PK\x03\x04\0\0\0\0\0\0", "a zip, perhaps a pickle of PyTorch"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j", "perhaps a pickle of Python"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip"),
    ] {
        let found = cause(bytes);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

#[test]
fn header_notes_tied_weights() {
    let a = entry("U8", "[1]", 0, 1);
    let metadata = r#""format":"pt","tied":"a","other":"b","a":"a""#;
    let bytes = with_header(format!(r#"{{"__metadata__":{{{metadata}}},"a":{a}}}"#), [1]);
    let found = header::read(Cursor::new(&bytes), bytes.len() as u64).unwrap().aliases;
    assert_eq!(found, [("tied".to_owned(), "a".to_owned())]);
}

#[test]
fn header_that_is_cut_anywhere_is_refused() {
    let bytes = safetensors(&[("a", "F32", &[2, 3], &[1; 24]), ("b", "BOOL", &[3], &[0; 3])]);
    for length in 0..bytes.len() {
        cause(&bytes[..length]);
    }
}

#[test]
fn error_names_the_file_and_the_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = with_header(format!(r#"{{"x":{}}}"#, entry("F32", "[2]", 0, 1)), [0]);
    let path = crate::files::write(folder.path(), "m.safetensors", bytes);
    let error: Error = treewide_tensors::Model::open(&path).unwrap_err();
    assert_eq!(error.path(), path);
    let text = format!("{}: tensor 'x': shape [2] of F32 does not have 1 bytes", path.display());
    assert_eq!(error.to_string(), text);
}
