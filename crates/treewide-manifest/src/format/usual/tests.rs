//! Usual lines, against the parser for all of JSON.

use super::*;
use crate::format::index::lines::push_record;
use crate::format::index::parse;
#[cfg(unix)]
use crate::format::record::Special;
use treewide_digests::Algorithm;

fn line(record: &Record) -> Vec<u8> {
    let mut line = Vec::new();
    push_record(&mut line, record, !name::is_listable(&record.name), &mut None);
    line.extend_from_slice(b"}\n");
    line
}

fn file(name: &[u8], facts: Facts) -> Record {
    let what = What::File(FileRecord { digest: [0; OUT_LEN], facts: Some(facts) });
    Record::new(name, what)
}

fn also() -> Also {
    vec![(Algorithm::CRC32, vec![0, 1, 0xab, 255]), (Algorithm::MD5, vec![7; 16])]
}

#[test]
fn parse_gives_what_was_written() {
    let keys = [
        None,
        Some(Key { mtime: 0, ctime: i64::MAX, inode: Some(u64::MAX), device: Some(0) }),
        Some(Key { mtime: 1_732_500_000_123_456_789, ctime: 1, inode: None, device: None }),
        Some(Key { mtime: 10, ctime: 100, inode: Some(7), device: None }),
    ];
    let (mut usual, mut count) = (Usual::default(), 0);
    for name in ["a", " a/b }", "größe", if cfg!(unix) { "a,\u{7f}:" } else { "a,\u{7f}" }] {
        for bytes in [0, 9, 10, u64::MAX] {
            for mode in [None, Some(0), Some(0o7777), Some(0o644)] {
                for key in keys {
                    for read in [None, Some(Day(20_782)), Some(Day(0))] {
                        for also in [Also::new(), also()[..1].to_vec(), also()] {
                            let facts = Facts {
                                bytes,
                                mode,
                                key,
                                untrusted: None,
                                read,
                                doubt: None,
                                accepted: false,
                                also,
                            };
                            let record = file(name.as_bytes(), facts);
                            let line = line(&record);
                            assert_eq!(usual.parse(&line).unwrap().record, record);
                            assert_eq!(parse(&line).unwrap().record, record);
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{count} lines");
}

/// Other lines are left alone, or mean the same. On Windows there are no such names.
#[cfg(unix)]
#[test]
fn parse_takes_nothing_that_json_does_not_take() {
    let facts = Facts {
        untrusted: None,
        bytes: 120,
        mode: Some(0o644),
        key: Some(Key { mtime: 12, ctime: 34, inode: Some(5), device: Some(6) }),
        read: Some(Day(20_782)),
        doubt: None,
        accepted: false,
        also: also(),
    };
    let mut good = Vec::new();
    push_record(&mut good, &file(b"a/b", facts), true, &mut None);
    good.extend_from_slice(b",\"gone\":true}\n");
    let (mut usual, mut taken, mut left) = (Usual::default(), 0, 0);
    let mut check = |line: &[u8]| match usual.parse(line) {
        Some(record) => {
            let same = parse(line).unwrap_or_else(|cause| {
                panic!("{cause}: {}", String::from_utf8_lossy(line));
            });
            assert_eq!((same.record, same.has_digest), (record.record, record.has_digest));
            taken += 1;
        }
        None => left += 1,
    };
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut line = good.clone();
            line[at] = byte;
            check(&line);
            line.insert(at, good[at]);
            check(&line);
        }
        let mut line = good.clone();
        line.remove(at);
        check(&line);
        check(&good[..at]);
    }
    println!("{taken} lines taken, {left} left");
    assert!(taken > 1000 && left > 1000);
    for other in [
        Record::new(b"a/", What::Directory(None)),
        Record::new(b"a", What::Link(b"b".into())),
        Record::new(b"a", What::Special(Special::Pipe)),
        file(b"\xff", Facts::of(1)),
        file(b"a\n\"\\", Facts::of(1)),
        file(
            b"racy",
            Facts {
                untrusted: Some(Key { mtime: -1, ctime: 7, inode: Some(1), device: None }),
                ..Facts::of(1)
            },
        ),
    ] {
        assert!(usual.parse(&line(&other)).is_none());
        assert_eq!(parse(&line(&other)).unwrap().record, other);
    }
}
