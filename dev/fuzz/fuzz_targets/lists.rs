//! `treewide_digests::List`: of any bytes, an entry has an algorithm that its digest fits, and never a weak one among several. Whatever
//! comes before a good line, the check fails, or the line counts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use treewide_digests::{Algorithm, Expected, List, Reading};
use treewide_files::check::{ListedFiles, Note};
use treewide_files::list::Lines;
use treewide_files::{ErrorKind, Item, Source};

/// A file with no bytes is the only one that exists.
const NAME: &str = "good";
const GOOD: [&str; 3] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  good\n",
    "SHA256 (good) = e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
    "d41d8cd98f00b204e9800998ecf8427e  good\n",
];

/// Beginnings and names of lists, which the fuzzer need not find.
const STARTS: [(&str, &str); 12] = [
    ("list", ""),
    ("SHA256SUMS", ""),
    ("a.sfv", ""),
    ("Packages", "Filename: good\n"),
    ("Release", "SHA256:\n"),
    ("d.dist-info/RECORD", "good,sha256="),
    (".cargo-checksum.json", "{\"files\":{\""),
    ("list", "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n"),
    ("list", "#mtree\n/set type=file\n"),
    ("list", "DIST good 0 SHA512 00\n"),
    ("list", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"),
    ("list", "{\"assets\":[{\"name\":\"good\",\"digest\":\"sha256:"),
];

fn fits(expected: &Expected) {
    let (candidates, len) = (expected.candidates(), expected.digest().len());
    // A length alone.
    if candidates.is_empty() {
        return assert!(len == 0 && expected.size_wanted().is_some());
    }
    assert!(candidates.len() == 1 || !candidates.iter().any(|it| it.is_weak()), "{expected:?}");
    for it in candidates {
        let is_right = len == it.digest_len() || *it == Algorithm::BLAKE3 && len > it.digest_len();
        assert!(is_right, "{expected:?}");
    }
}

/// The digests that the file should have. `None` if the check fails.
fn verified(name: &str, bytes: &[u8]) -> Option<usize> {
    let lines = Lines::new(Cursor::new(bytes.to_vec()), false).unwrap();
    let mut files = ListedFiles::new(lines, List::new(name.as_ref(), Reading::default()), false);
    let (mut found, mut fails, mut items) = (0, false, 0);
    while let Some(item) = files.next() {
        items += 1;
        match item {
            Item::File(task) => {
                fits(&task.about);
                fails |= task.path.to_str() != Some(NAME);
                let verdicts = task.about.verdicts(Err(ErrorKind::Cancelled), false);
                found += verdicts.iter().filter(|(it, _)| !it.digest().is_empty()).count();
            }
            Item::Note(Note::Malformed(line)) => fails |= !line.cause.is_empty(),
            Item::Note(_) => fails = true,
        }
    }
    assert!(items <= bytes.len(), "{items} items of {} bytes", bytes.len());
    (!fails && found > 0).then_some(found)
}

fuzz_target!(|case: (u8, u8, &[u8])| {
    let (start, line, bytes) = case;
    let (name, start) = STARTS[usize::from(start) % STARTS.len()];
    let before = [start.as_bytes(), bytes, b"\n"].concat();
    let line = GOOD[usize::from(line) % GOOD.len()];
    let with = [&before, line.as_bytes()].concat();
    if let (Some(found), Some(without)) = (verified(name, &with), verified(name, &before)) {
        assert!(without < found, "a line is lost");
    }
});
