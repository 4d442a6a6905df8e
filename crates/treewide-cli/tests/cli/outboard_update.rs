//! `treewide outboard update`: what it reads and takes over, and journals of updates that were interrupted.

use crate::outboard::{content, flip, made};
use crate::support::hex;
use std::fs;

#[test]
fn outboard_update_reads_what_was_written() {
    for order in ["pre", "post"] {
        let folder = made(100_000);
        let mut all = content(400_000);
        all.truncate(100_000);
        fs::remove_file(folder.join("f.obao4")).unwrap();
        let outboard = |args: String| folder.treewide(&format!("outboard {args}")).run();
        assert_eq!(outboard(format!("create f --order {order}")).code, Some(0));
        // A byte is written.
        all[40_000] ^= 1;
        folder.write("f", &all);
        let line = format!("{}  f\n", hex(&all));
        outboard("update f --dirty 40000..+1 --old-list SUMS".into()).succeeds_with(&line);
        let verified = outboard(format!("verify f --hash {}", hex(&all)));
        assert_eq!(verified.code, Some(0), "{verified:?}");
        // It becomes longer: inside of the last group, by many groups, by none.
        for len in [105_000, 400_000, 400_000] {
            let update = format!("update f --appended --old-hash {}", hex(&all));
            all = [&all[..], &content(400_000)[all.len()..len]].concat();
            folder.write("f", &all);
            outboard(update).succeeds_with(format!("{}  f\n", hex(&all)));
            assert_eq!(outboard(format!("verify f --hash {}", hex(&all))).code, Some(0));
        }
        // It becomes shorter.
        folder.write("f", &all[..30_000]);
        outboard("update f --appended".into()).fails(1, &["f: has 30000 bytes", "--old-len"]);
        let json = outboard("update f --dirty 0..1 --old-len 400000 --json".into());
        let value: serde_json::Value = serde_json::from_str(json.text()).unwrap();
        assert_eq!(value["digest"], hex(&all[..30_000]));
        assert_eq!(value["old_digest"], hex(&all));
        assert_eq!(outboard(format!("verify f --hash {}", hex(&all[..30_000]))).code, Some(0));
        // A byte that was not named is found by `verify`.
        flip(&folder, "f", 3);
        outboard(format!("update f --dirty 20000.. --old-hash {}", hex(&all[..30_000])))
            .succeeds_with(format!("{}  f\n", hex(&all[..30_000])));
        assert_eq!(outboard("verify f".into()).text(), "BAD      0..16384\n");
        let journals =
            folder.names().into_iter().filter(|it| it.to_string_lossy().contains("journal"));
        assert_eq!(journals.count(), 0);
    }
}

#[test]
fn outboard_update_begins_with_one_group_and_knows_its_limits() {
    let folder = made(10);
    let update = |args: &str| folder.treewide(&format!("outboard update f {args}")).run();
    folder.write("f", content(70_000));
    // Of one group, there is nothing that could be wrong.
    update("--appended").succeeds_with(format!("{}  f\n", hex(content(70_000))));
    update("").fails(2, &["--dirty", "--appended", "--recover"]);
    update("--recover").fails(0, &["f.obao4: there is no update to finish"]);
    update("--appended --old-len 5").fails(2, &["cannot be used with"]);
    update("--dirty 0..1 --old-len 90000").fails(1, &["f.obao4: has 256 bytes"]);
    assert_eq!(folder.treewide("outboard create --bao f -o b.obao").run().code, Some(0));
    update("--appended --outboard b.obao").fails(1, &["b.obao: outboards of bao are not updated"]);
    // A journal that was cut off: the update had not begun.
    folder.write("f.obao4.journal", "tw-ob-j1");
    update("--recover").fails(0, &["there is no update to finish"]);
    assert!(!folder.join("f.obao4.journal").exists());
}

#[test]
fn outboard_update_takes_over_nothing_that_rotted() {
    let folder = made(100_000);
    let update = |args: &str| folder.treewide(&format!("outboard update f {args}")).run();
    let mut all = content(100_000);
    all[5] ^= 1;
    folder.write("f", &all);
    let pairs = fs::read(folder.join("f.obao4")).unwrap();
    // The half of the root pair that is above bytes which were not written, and both halves of the pair below it.
    for at in [40, 4 * 64, 4 * 64 + 32] {
        folder.write("f.obao4", &pairs);
        flip(&folder, "f.obao4", at);
        let rotten = fs::read(folder.join("f.obao4")).unwrap();
        let words: &[&str] = if at == 40 { &["f.obao4: stands for ", "old digest"] } else { &[] };
        match at {
            40 => drop(update("--dirty 5..6 --old-list SUMS").fails(1, words)),
            // A digest that is trusted makes the update right; `verify` names what is broken.
            _ => {
                update("--dirty 5..6 --old-list SUMS").succeeds_with(format!("{}  f\n", hex(&all)))
            }
        }
        folder.write("f.obao4", &rotten);
        update("--dirty 5..6")
            .fails(1, &["f.obao4: the outboard is broken above the bytes 65536.."]);
        assert!(fs::read(folder.join("f.obao4")).unwrap() == rotten);
    }
    folder.write("f.obao4", &pairs);
    update(&format!("--dirty 5..6 --old-hash {}", hex("other")))
        .fails(1, &["f.obao4: stands for ", "was given as the old digest"]);
    update("--dirty 5..6 --old-hash 12").fails(2, &["--old-hash"]);
    update("--dirty 5..6 --old-list nothing").fails(1, &["nothing: "]);
    assert!(fs::read(folder.join("f.obao4")).unwrap() == pairs);
    let ended = update("--dirty 5..6");
    ended
        .fails(0, &["f: the new digest is consistent with the old outboard f.obao4; nothing says"]);
    assert_eq!(ended.text(), format!("{}  f\n", hex(&all)));
}

#[test]
fn outboard_update_that_was_interrupted_is_finished() {
    let folder = made(300_000);
    let mut all = content(300_000);
    all[100_000] ^= 1;
    folder.write("f", &all);
    // As a program that is killed before it writes the outboard leaves it.
    let journal = journal_of(&content(300_000), &all, 100_000..100_001);
    folder.write("f.obao4.journal", &journal);
    let digest = hex(&all);
    let update = |args: &str| folder.treewide(&format!("outboard update f {args}")).run();
    let verify = || folder.treewide(&format!("outboard verify f --hash {digest}")).run();
    verify().fails(3, &["f.obao4.journal: an update was interrupted"]);
    update(&format!("--recover --old-hash {}", hex("other")))
        .fails(1, &["f.obao4.journal: is of an update from ", "was given as the old digest"]);
    update("--recover --old-list SUMS")
        .fails(0, &["an update that was interrupted is finished", &digest]);
    assert_eq!(verify().code, Some(0));
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4"]);
}

#[test]
fn outboard_update_finishes_nothing_in_another_outboard() {
    let folder = made(300_000);
    let treewide = |args: &str| folder.treewide(&format!("outboard {args}")).run();
    let mut all = content(300_000);
    all[100_000] ^= 1;
    folder.write("f", &all);
    // It is killed before it has changed the outboard.
    let journal = journal_of(&content(300_000), &all, 100_000..100_001);
    // Then the outboard is made again, of other data.
    all[200_000] ^= 1;
    folder.write("f", &all);
    folder.write("f.obao4.journal", &journal);
    assert_eq!(treewide("create f").code, Some(0));
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4"]);
    // By another program, which knows of no journals; or the journal comes from elsewhere.
    folder.write("f.obao4.journal", &journal);
    let pairs = fs::read(folder.join("f.obao4")).unwrap();
    for args in ["update f --dirty 5..6", "update f --recover"] {
        treewide(args).fails(1, &["f.obao4.journal: is not of f.obao4", "remove the journal"]);
        assert_eq!(fs::read(folder.join("f.obao4")).unwrap(), pairs);
        assert_eq!(fs::read(folder.join("f.obao4.journal")).unwrap(), journal);
    }
    // Without the key of the update nobody can say whether its journal is whole.
    let words = ["f.obao4.journal: is of an update with another context, or without --derive-key"];
    treewide("update f --recover --derive-key x").fails(1, &words);
    assert_eq!(fs::read(folder.join("f.obao4.journal")).unwrap(), journal);
    // Of other groups.
    assert_eq!(treewide("create f -o g.obao0").code, Some(0));
    folder.write("g.obao0.journal", &journal);
    treewide("update f --outboard g.obao0 --recover").fails(1, &["g.obao0.journal: is not of"]);
}

#[test]
#[cfg(unix)]
fn outboard_update_overwrites_only_journals() {
    let folder = made(20_000);
    let update = || folder.treewide("outboard update f --dirty 0..1").run();
    let words = ["f.obao4.journal: is not a journal, but stands in the place of one; move it away"];
    folder.write("precious", "hours of work");
    std::os::unix::fs::symlink("precious", folder.join("f.obao4.journal")).unwrap();
    update().fails(1, &words);
    assert_eq!(fs::read(folder.join("precious")).unwrap(), b"hours of work");
    fs::remove_file(folder.join("f.obao4.journal")).unwrap();
    folder.write("f.obao4.journal", "mine");
    update().fails(1, &words);
    // A file that belongs to someone else does not hinder `create`, and stays.
    assert_eq!(folder.treewide("outboard create f").run().code, Some(0));
    assert_eq!(fs::read(folder.join("f.obao4.journal")).unwrap(), b"mine");
    fs::remove_file(folder.join("f.obao4.journal")).unwrap();
    folder.fifo("f.obao4.journal");
    update().fails(1, &words);
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4", "f.obao4.journal", "precious"]);
    fs::remove_file(folder.join("f.obao4.journal")).unwrap();
    // Another update is running.
    let journal = fs::File::create(folder.join("f.obao4.journal")).unwrap();
    journal.lock().unwrap();
    update().fails(1, &["f.obao4.journal: another update is running; wait until it is done"]);
    drop(journal);
    assert_eq!(update().code, Some(0));
    assert_eq!(folder.names(), ["SUMS", "f", "f.obao4", "precious"]);
}

/// The journal of an update that could not write the outboard.
fn journal_of(old: &[u8], new: &[u8], dirty: std::ops::Range<u64>) -> Vec<u8> {
    use treewide::outboard::{self, Group, Layout, Order, Outboard};
    let (digest, pairs) = outboard::create(old, Group::IROH, Order::Pre, treewide::Mode::PLAIN);
    let layout = Layout::new(old.len() as u64, Group::IROH, Order::Pre);
    let mut torn = Outboard::new(&digest, layout, treewide::Mode::PLAIN, Torn(pairs));
    let mut journal = Vec::new();
    let dirty = std::slice::from_ref(&dirty);
    let update = torn.update(new, dirty, new.len() as u64, &mut journal);
    assert!(update.is_err(), "the outboard cannot be written");
    journal
}

/// An outboard on a disk that is gone when it is to be written.
struct Torn(Vec<u8>);

impl treewide::outboard::ReadAt for Torn {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), treewide::outboard::IoError> {
        self.0.read_exact_at(buf, at)
    }
}

impl treewide::outboard::WriteAt for Torn {
    fn write_all_at(&mut self, _: &[u8], _: u64) -> Result<(), treewide::outboard::IoError> {
        Err(treewide::outboard::IoError::new("gone"))
    }

    fn set_size(&mut self, _: u64) -> Result<(), treewide::outboard::IoError> {
        Ok(())
    }
}
