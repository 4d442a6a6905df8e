//! `treewide_tensors`: of any bytes, a header that is taken has tensors that lie in the file and do not overlap, and a list that
//! is taken is written again with the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use std::io::Cursor;
use treewide_tensors::{header, list};

fn check(file: &[u8]) {
    let Ok(found) = header::read(Cursor::new(file), file.len() as u64) else { return };
    let mut tensors = found.tensors;
    let names: HashSet<_> = tensors.iter().map(|it| &it.name).collect();
    assert_eq!(names.len(), tensors.len(), "a name is there once");
    tensors.sort_by_key(|it| (it.range.start, it.range.end));
    let mut at = 0;
    for tensor in &tensors {
        assert!(at <= tensor.range.start && tensor.range.start <= tensor.range.end, "{tensor:?}");
        at = tensor.range.end;
    }
    assert!(at <= file.len() as u64, "the last one ends at {at}");
}

fuzz_target!(|case: (u8, &[u8])| {
    let (kind, bytes) = case;
    match kind % 4 {
        0 => check(bytes),
        // The fuzzer need not find the lengths and the magic.
        1 => {
            let (header, data) = bytes.split_at(bytes.iter().rposition(|&it| it == b'}').map_or(0, |at| at + 1));
            check(&[&(header.len() as u64).to_le_bytes()[..], header, data].concat());
        }
        2 => check(&[b"GGUF\x03\0\0\0", bytes].concat()),
        _ => {
            if let Ok(tensors) = list::parse(bytes) {
                assert_eq!(list::text(&tensors).as_bytes(), bytes);
            }
        }
    }
});
