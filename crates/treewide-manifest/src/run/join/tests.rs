//! Many entries: a tree that no one made, and files that no one wrote.
//!
//! `scripts/slow.sh manifests` sets `TREEWIDE_TEST_ENTRIES` to ten million, runs these tests one after the other, and then memory
//! is bounded. Else there are a few thousand.

use super::*;
use crate::format::index::lines::Lines;
use crate::format::manifest::Manifest;
use crate::format::record::Facts;
use crate::format::rules::Rules;
use crate::format::trust::Key;
use crate::keep::draft::{Draft, Totals};
use crate::run::verdict::Class;
#[cfg(target_os = "linux")]
use crate::tree::clock::Clock;
use crate::tree::scan::Own;
use std::fs;
use std::path::Path;
use std::time::Instant;
use treewide_files::walk::{Found, Walk};
use treewide_files::{Cancel, Event, Options};

/// Memory that ten million entries may take.
const MOST_MEMORY: u64 = 200 << 20;

const IN_A_FOLDER: u64 = 1000;

/// How many entries, and whether memory counts.
fn entries() -> (u64, bool) {
    match std::env::var("TREEWIDE_TEST_ENTRIES") {
        Ok(number) => (number.parse().unwrap(), true),
        Err(_) => (20_000, false),
    }
}

/// What [`record`] says of files.
fn stamp(number: u64) -> Stamp {
    Stamp {
        len: number,
        mtime: Some(1_732_500_000_123_456_789),
        ctime: Some(1_732_500_000_123_456_789),
        inode: number,
        device: 2050,
        mode: 0o644,
        links: 1,
        is_file: true,
    }
}

/// The record with this number: a directory now and then, and files in it.
fn record(number: u64) -> Record {
    let (folder, file) = (number / IN_A_FOLDER, number % IN_A_FOLDER);
    if file == 0 {
        let name = format!("folder-{folder:05}/").into_bytes();
        return Record::new(name, What::Directory(None));
    }
    let name = format!("folder-{folder:05}/a-file-with-a-name-{file:05}.dat").into_bytes();
    let Stamp { mtime: Some(mtime), ctime: Some(ctime), inode, device, len, .. } = stamp(number)
    else {
        unreachable!("a stamp has times")
    };
    let key = Some(Key { mtime, ctime, inode: Some(inode), device: Some(device) });
    let facts = Some(Facts { key, read: Some(crate::format::day::Day::today()), ..Facts::of(len) });
    let digest = *treewide::hash(&number.to_le_bytes()).as_bytes();
    Record::new(name, What::File(FileRecord { digest, facts }))
}

/// Writes a manifest of `records`.
fn write(list: &Path, records: impl Iterator<Item = Record>) -> Totals {
    let mut draft = Draft::begin(list, true).unwrap();
    let mut lines: Lines = draft.start(&Rules::default(), list.parent().unwrap(), &[]);
    for record in records {
        draft.add(&record, &mut lines).unwrap();
    }
    let additions = crate::keep::past::Additions::new(None, draft.path());
    draft.complete(&mut lines, (None, additions), false).unwrap();
    draft.appear().unwrap()
}

/// Some file that a walk has found.
fn identity(folder: &Path) -> Identity {
    fs::write(folder.join("file"), "").unwrap();
    let found = Walk::new(folder).into_iter().find_map(|found| match found {
        Found::File { identity, .. } => Some(identity),
        _ => None,
    });
    found.unwrap()
}

/// Fails if this process has ever used too much memory. Not on systems that do not say.
fn check_memory() {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{:.1} MiB at most", kib as f64 / 1024.0);
    assert!(kib << 10 < MOST_MEMORY, "{kib} KiB");
}

/// A manifest and a walk, as an update joins them.
fn join(list: &Path, walk: impl Iterator<Item = Scanned> + Send + 'static) -> Join {
    let policy = Policy { hashes_new: true, ..Policy::default() };
    let (root, only, rules) = (list.parent().unwrap(), Globs::default(), Rules::default());
    let scan = Scan::new(root, &rules, &only, Own::default()).unwrap();
    let records = Manifest::open(list).unwrap().records().unwrap();
    let beneath = Beneath::new(root, false);
    let mut join = Join::new(Some(records), &only, scan, beneath, policy, None);
    (join.scan, join.policy.trusts) = (Walked::on_thread(walk), true);
    join
}

/// The thread of the walk panics.
#[test]
fn walk_that_ends_early_makes_nothing_gone() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("X.b3");
    write(&list, (0..10).map(record));
    let mut join = join(&list, std::iter::from_fn(|| panic!("the walk ends early")));
    let (mut failed, mut below) = (0, 0);
    while let Some(item) = Source::next(&mut join) {
        match item {
            Item::Note(Note::Failed(None, _, cause)) if cause.contains("ended early") => {
                failed += 1
            }
            Item::Note(Note::Below(..)) => below += 1,
            _ => panic!("a path is gone or there"),
        }
    }
    assert_eq!((failed, below), (1, 10));
}

/// A manifest and a tree of equal entries, as `update` joins and writes them.
#[test]
fn join_of_many_entries_keeps_none_of_them() {
    let ((count, counts_memory), folder) = (entries(), tempfile::tempdir().unwrap());
    let list = folder.path().join("X.b3");
    let written = write(&list, (0..count).map(record));
    let began = Instant::now();
    let (root, identity) = (folder.path().to_owned(), identity(folder.path()));
    let walk = (0..count).map(move |number| {
        let record = record(number);
        let (what, stamp) = match record.what {
            What::Directory(_) => (There::Directory, None),
            _ => (There::File(identity), Some(stamp(number))),
        };
        let path = root.join(str::from_utf8(record.bare()).unwrap());
        let mut entry = Entry::new(path, &root, what);
        entry.stamp = stamp;
        Scanned::Entry(entry)
    });
    let join = join(&list, walk);
    let mut unread = 0;
    let same = Options::new().run(join).filter_map(|event| match event {
        Event::Note(Note::Unread(record)) => {
            unread += 1;
            Some(record)
        }
        Event::Note(Note::Other(both)) => Some(both.0),
        Event::Pause => None,
        _ => panic!("something is not the same"),
    });
    let again = write(&folder.path().join("Y.b3"), same);
    println!("{count} entries joined in {:?}", began.elapsed());
    assert_eq!(again, written);
    assert_eq!(unread, written.files);
    if counts_memory {
        check_memory();
    }
}

#[test]
fn diff_of_many_entries_keeps_none_of_them() {
    let ((count, counts_memory), folder) = (entries(), tempfile::tempdir().unwrap());
    let (old, new) = (folder.path().join("X.b3"), folder.path().join("Y.b3"));
    write(&old, (0..count).map(record));
    // Two of the files are gone.
    write(&new, (0..count).filter(|number| ![1, 7007].contains(number)).map(record));
    let began = Instant::now();
    let (old, new) = (Manifest::open(&old).unwrap(), Manifest::open(&new).unwrap());
    let report = crate::run::diff::diff(&old, &new, &Cancel::new(), &mut |_| {}).unwrap();
    println!("{count} entries compared in {:?}", began.elapsed());
    assert_eq!((report.count(Class::Same), report.count(Class::Removed)), (count - 2, 2));
    assert!(report.is_certain());
    if counts_memory {
        check_memory();
    }
}

/// Half a terabyte, where one small file is edited.
#[cfg(target_os = "linux")]
#[test]
fn update_of_half_a_terabyte_reads_the_file_that_was_edited() {
    const SHARDS: u64 = 62;
    const SHARD: u64 = 8 << 30;
    let folder = tempfile::tempdir().unwrap();
    let (root, list) = (folder.path().join("model"), folder.path().join("model.b3"));
    fs::create_dir(&root).unwrap();
    let make = |name: &str, len: u64| {
        let file = fs::File::create(root.join(name)).unwrap();
        file.set_len(len).map(|()| name.to_owned())
    };
    let names: Result<Vec<_>, _> = [make("README.md", 10_000)]
        .into_iter()
        .chain((0..SHARDS).map(|number| make(&format!("shard-{number:03}.bin"), SHARD)))
        .collect();
    let Ok(names) = names else {
        println!("SKIPPED: the file system for temporary files has no files of 8 GiB");
        return;
    };
    // No one hashes that here: the digests are made up, and all else is as on the disk.
    let is_there = |name: &String| {
        let mut there = record(1);
        let stamp = Stamp::at(&root.join(name), false).unwrap();
        there.name = name.clone().into_bytes();
        if let What::File(FileRecord { facts: Some(facts), .. }) = &mut there.what {
            facts.bytes = stamp.len;
            let moment =
                Moment { synced: Some(i64::MAX), slack: 0, keeps_inodes: true, keeps_device: true };
            facts.key = moment.key(&stamp);
        }
        there
    };
    write(&list, names.iter().map(is_there));
    fs::write(root.join("README.md"), "edited").unwrap();
    let began = Instant::now();
    let (old, draft) = (Manifest::open(&list).unwrap(), Draft::begin(&list, true).unwrap());
    let clock = Box::new(Clock::new());
    let update = crate::run::update::Update::new();
    let made = update.run(Some(&old), &root, draft, clock, &Options::new(), &mut |_| {}).unwrap();
    let totals = made.draft.appear().unwrap();
    println!("updated in {:?}", began.elapsed());
    let report = made.report;
    assert_eq!((report.files_read, report.bytes_read), (1, 6));
    assert_eq!((report.files_unread, report.bytes_unread), (SHARDS, SHARDS * SHARD));
    assert_eq!((report.count(Class::Changed), report.count(Class::Same)), (1, SHARDS));
    assert_eq!((totals.files, totals.bytes), (SHARDS + 1, SHARDS * SHARD + 6));
}
