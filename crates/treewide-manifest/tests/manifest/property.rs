//! Random edits of a tree: what an update writes is what a snapshot would write, and nothing that changed goes unseen.
//!
//! `TREEWIDE_TEST_SEED` repeats one script, `TREEWIDE_TEST_SCALE` runs more or fewer of them.

use crate::common::random::Random;
use crate::common::{AllIsOld, Said, Tree, fifo, set_time};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use treewide_digests::Algorithm;
use treewide_manifest::also;
use treewide_manifest::machine::{Clock, Limit, Update};
use treewide_manifest::record::{FileRecord, What};
use treewide_manifest::{
    Budget, Class, Globs, Manifest, Report, Rules, Totals, facts_of, index_path,
};

const SCRIPTS: f64 = 3.0;
const ROUNDS: u64 = 4;

/// Parts of names: prefixes of each other, two Unicode forms, and all that a list or JSON must escape.
const PARTS: [&[u8]; 20] = [
    b"a",
    b"a-b",
    b"a.b",
    b"a0",
    b"A",
    b"ab",
    b"b",
    b".hidden",
    b"x.tmp",
    "\u{e9}".as_bytes(),
    "e\u{301}".as_bytes(),
    b"new\nline",
    b"return\r",
    b"back\\slash",
    b" blank ",
    b"\"quote\t",
    b"-",
    b"\xff\xfe",
    "\u{fffd}".as_bytes(),
    &[b'n'; 255],
];

struct Script {
    tree: Tree,
    random: Random,
    /// What was done, for a message.
    steps: Vec<String>,
    /// All contents that there ever were, by their hashes.
    contents: HashMap<[u8; 32], Vec<u8>>,
    /// The algorithms by which the index also has digests.
    also: Vec<Algorithm>,
}

impl Script {
    fn new(tree: Tree, random: Random) -> Self {
        let mut script =
            Self { tree, random, steps: Vec::new(), contents: HashMap::new(), also: Vec::new() };
        script.note_contents();
        script
    }

    fn note_contents(&mut self) {
        let mut all = Vec::new();
        below(&self.tree.root(), &mut all);
        for path in all.into_iter().filter(|path| is_file(path)) {
            let content = fs::read(path).unwrap();
            self.contents.insert(treewide::hash(&content).into(), content);
        }
    }

    /// Adds an algorithm, sometimes.
    fn more_digests(&mut self, update: Update) -> Update {
        let new = [Algorithm::SHA256, Algorithm::MD5, Algorithm::CRC32];
        let new = new.get(self.random.below(6)).copied();
        self.also.extend(new.filter(|it| !self.also.contains(it)));
        update.also(new.into_iter().collect::<Vec<_>>())
    }

    /// Every digest is that of the content whose BLAKE3 hash is recorded. `may_lack` says that some may not be there.
    fn check_also(&self, may_lack: bool) -> u64 {
        let mut count = 0;
        for record in self.tree.manifest().records().unwrap() {
            let record = record.unwrap();
            let What::File(FileRecord { digest, facts: Some(facts) }) = &record.what else {
                continue;
            };
            for algorithm in &self.also {
                let content = &self.contents[digest];
                let mut digester = algorithm.begin(content.len() as u64).unwrap();
                digester.update(content);
                let (is, context) = (also::digest(&facts.also, *algorithm), &self.steps);
                if is.is_some() || !may_lack {
                    assert_eq!(is, Some(&digester.finish()[..]), "{:?}: {context:#?}", record.name);
                    count += 1;
                }
            }
            assert!(facts.also.len() <= self.also.len(), "{:#?}", self.steps);
        }
        count
    }

    fn name(&mut self) -> PathBuf {
        let mut path = self.tree.root();
        for _ in 0..=self.random.below(3) {
            // Mostly the same few.
            let parts = if self.random.below(3) == 0 { &PARTS[..] } else { &PARTS[..4] };
            path.push(OsStr::from_bytes(self.random.one(parts)));
        }
        path
    }

    /// Something that exists, if there is anything.
    fn there(&mut self) -> Option<PathBuf> {
        let mut all = Vec::new();
        below(&self.tree.root(), &mut all);
        (!all.is_empty()).then(|| all.swap_remove(self.random.below(all.len())))
    }

    fn content(&mut self) -> Vec<u8> {
        let len = [0, 1, 1, 2, 3, 1025][self.random.below(6)];
        let byte = b"xyz"[self.random.below(3)];
        vec![byte; len]
    }

    fn make_room(path: &Path) {
        remove(path);
        let parent = path.parent().unwrap();
        // A file may be in the place of a directory.
        for part in parent.ancestors().collect::<Vec<_>>().into_iter().rev() {
            if fs::symlink_metadata(part).is_ok_and(|it| !it.is_dir()) {
                remove(part);
            }
        }
        fs::create_dir_all(parent).unwrap();
    }

    fn edit(&mut self) {
        let kind = self.random.below(14);
        let (new, old) = (self.name(), self.there());
        self.steps.push(format!("{kind} {new:?} {old:?}"));
        let old_file = old.clone().filter(|it| is_file(it));
        match (kind, old, old_file) {
            (0..=2, ..) => {
                Self::make_room(&new);
                fs::write(&new, self.content()).unwrap();
            }
            // Other content of the same length; in every second case with the time as it was.
            (3 | 4, _, Some(file)) => {
                let time = fs::metadata(&file).unwrap().modified().unwrap();
                let mut content = fs::read(&file).unwrap();
                content.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
                fs::write(&file, content).unwrap();
                if kind == 4 {
                    set_time(&file, time);
                }
            }
            (5, Some(old), _) => remove(&old),
            (6, Some(old), _) if !fs::symlink_metadata(&old).unwrap().is_symlink() => {
                let mode = 0o700 | self.random.below(0o100) as u32;
                fs::set_permissions(&old, fs::Permissions::from_mode(mode)).unwrap();
            }
            (7, Some(old), _) if !new.starts_with(&old) && !old.starts_with(&new) => {
                Self::make_room(&new);
                if fs::symlink_metadata(&old).is_ok() {
                    fs::rename(&old, &new).unwrap();
                }
            }
            (8, _, Some(old)) if !old.starts_with(&new) && !new.starts_with(&old) => {
                Self::make_room(&new);
                if is_file(&old) {
                    fs::hard_link(&old, &new).unwrap();
                }
            }
            (9, ..) => {
                Self::make_room(&new);
                symlink(self.random.one(&["a", "b", ".", "/", "no\nwhere"]), &new).unwrap();
            }
            (10, ..) => {
                Self::make_room(&new);
                fs::create_dir(&new).unwrap();
            }
            (11, ..) => {
                Self::make_room(&new);
                fifo(&new);
            }
            // Two change places.
            (12, Some(old), _)
                if !new.starts_with(&old)
                    && !old.starts_with(&new)
                    && fs::symlink_metadata(&new).is_ok() =>
            {
                let aside = self.tree.folder().join("aside");
                fs::rename(&old, &aside).unwrap();
                fs::rename(&new, &old).unwrap();
                fs::rename(&aside, &new).unwrap();
            }
            // The future, and long ago.
            (13, _, Some(file)) => {
                let seconds = [1, 4_070_908_800][self.random.below(2)];
                set_time(&file, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            }
            _ => {}
        }
        self.note_contents();
    }
}

fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            below(&path, all);
        }
        all.push(path);
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// The counts, with `touched` as `same`: only a run that looks at a tree knows times.
fn counts(report: &Report) -> Vec<u64> {
    let mut counts: Vec<u64> = Class::ALL.iter().map(|class| report.count(*class)).collect();
    let mut add = |to: Class, from: Class| {
        counts[to as usize] += std::mem::take(&mut counts[from as usize]);
    };
    add(Class::Same, Class::Touched);
    // Doubts may be accepted.
    add(Class::Accepted, Class::Rot);
    add(Class::Accepted, Class::Suspect);
    counts
}

fn index_without_header(list: &Path) -> Vec<u8> {
    let index = fs::read(treewide_manifest::index_path(list)).unwrap();
    let end = index.iter().position(|byte| *byte == b'\n').unwrap();
    // The last value is a hash of all, also of the time in the header.
    let check = index.windows(8).rposition(|it| it == b",\"check\"").unwrap_or(index.len());
    index[end..check].to_vec()
}

/// One script. Times are those of the file system, without syncs: no program here writes through a mapping.
fn run(seed: u64) -> u64 {
    let tree = Tree::new(&[("a/a", "x"), ("a/a-b", "y"), ("a-b", ""), ("b/a/b", "x")]);
    let mut script = Script::new(tree, Random::new(seed));
    for _ in 0..script.random.below(12) {
        script.edit();
    }
    let mut rules = Rules { modes: script.random.below(2) == 0, ..Rules::default() };
    if script.random.below(3) == 0 {
        rules.exclude = vec!["*.tmp".into(), "/b/".into()];
    }
    rules.hidden = script.random.below(4) > 0;
    let update = script.more_digests(Update::new().rules(rules.clone()));
    script.tree.snapshot_with(update, Box::new(Clock::without_sync()));
    let mut digests = script.check_also(false);
    for _ in 0..ROUNDS {
        if script.random.below(4) == 0 {
            script.tree.age();
            let update = script.more_digests(Update::new().most_removed(Limit::Percent(100.0)));
            script.tree.update_with(update, Box::new(Clock::without_sync()));
            // A doubtful file keeps the digests that it had.
            digests += script.check_also(true);
        }
        for _ in 0..script.random.below(6) {
            script.edit();
        }
        round(&script, &mut rules, seed);
        digests += script.check_also(false);
    }
    digests
}

fn round(script: &Script, rules: &mut Rules, seed: u64) {
    let tree = &script.tree;
    let context = || format!("TREEWIDE_TEST_SEED={seed}, after {:#?}", script.steps);
    let (list, now) = tree.afresh(rules.clone());
    let again = tree.afresh(rules.clone());
    assert_eq!((&list, now), (&again.0, again.1), "two snapshots: {}", context());
    let is_same = facts_of(&tree.manifest()) == Some(now.facts);
    let old_list = fs::read(tree.list()).unwrap();
    assert!(is_same <= (old_list == list), "facts cover the list: {}", context());

    // Nothing goes unseen, and nothing is said of a tree that is as it was.
    let (full, quick) = (tree.verify(), tree.quick());
    for (kind, said) in [("verify", &full), ("quick", &quick)] {
        assert_eq!(said.is_fine(), is_same, "{kind} {:?}: {}", said.differences(), context());
        assert!(said.report.is_certain(), "{kind}: {}", context());
        if is_same {
            let report = &said.report;
            assert_eq!(report.files_read + report.files_unread, now.files, "{}", context());
            assert_eq!(report.bytes_read + report.bytes_unread, now.bytes, "{}", context());
        }
    }
    assert_eq!(full.report.files_unread, 0);
    // A doubt is one, also where it is accepted.
    let word = |it: String| match it.split_once(' ') {
        Some(("rot" | "suspect" | "accepted", name)) => {
            format!("doubt {}", name.split(" from ").next().unwrap_or_default())
        }
        _ => it,
    };
    let without_touched = |said: &Said| -> Vec<String> {
        let all = said.differences().into_iter().filter(|it| !it.starts_with("touched "));
        let mut all: Vec<String> = all.map(word).collect();
        all.sort();
        all
    };
    assert_eq!(without_touched(&full), without_touched(&quick), "{}", context());

    let old = tree.manifest();
    // Whatever looks like rot is wanted here.
    let accept =
        Update::new().accept_rot(Globs::new(&["*"]).unwrap()).most_removed(Limit::Percent(100.0));
    let updated = tree.update_with(accept, Box::new(Clock::without_sync()));
    let new = tree.manifest();
    assert!(fs::read(tree.list()).unwrap() == list, "update is not a snapshot: {}", context());
    assert_eq!(facts_of(&new), Some(now.facts), "{}", context());
    assert_eq!(without_touched(&updated), without_touched(&full), "{}", context());
    assert_eq!(counts(&updated.report), counts(&full.report), "{}", context());
    for said in [tree.verify(), tree.quick()] {
        assert!(said.is_fine(), "after the update, {:?}: {}", said.differences(), context());
    }

    // The old list was replaced, and its file is still open. Its index is not.
    let old = Manifest::of_list(old.list().clone());
    let (there, back) = (crate::common::diff_of(&old, &new), crate::common::diff_of(&new, &old));
    assert_eq!(there.report.differs(), old_list != list, "{}", context());
    mirrored(&there.report, &back.report, &context);
}

fn mirrored(there: &Report, back: &Report, context: &dyn Fn() -> String) {
    for class in [Class::Same, Class::Changed, Class::Moved, Class::Renamed, Class::ReplacedType] {
        assert_eq!(there.count(class), back.count(class), "{}: {}", class.word(), context());
    }
    let new = |report: &Report| report.count(Class::Added) + report.count(Class::Copied);
    assert_eq!(new(there), back.count(Class::Removed), "{}", context());
    assert_eq!(new(back), there.count(Class::Removed), "{}", context());
}

#[test]
fn update_is_a_snapshot_and_quick_misses_nothing() {
    if let Ok(seed) = std::env::var("TREEWIDE_TEST_SEED") {
        run(seed.parse().expect("TREEWIDE_TEST_SEED must be a number"));
        return;
    }
    let scale: f64 = match std::env::var("TREEWIDE_TEST_SCALE") {
        Ok(text) => text.parse().expect("TREEWIDE_TEST_SCALE must be a number"),
        Err(_) => 1.0,
    };
    let scripts = (SCRIPTS * scale).ceil() as u64;
    let digests: u64 = (0..scripts).map(run).sum();
    println!("random edits: {scripts} scripts of {ROUNDS} rounds, {digests} other digests");
    assert!(digests > 0);
}

/// Without the first line, which has the time, the index also has the same bytes.
#[test]
fn snapshot_twice_is_the_same_index() {
    let mut random = Random::new(1);
    for _ in 0..3 {
        let tree = Tree::new(&[("a/a", "x"), ("b", "yy")]);
        let mut script = Script::new(tree, Random::new(random.next()));
        (0..20).for_each(|_| script.edit());
        let snapshot = |at: &str| -> (Vec<u8>, Totals) {
            let list = script.tree.folder().join(at);
            let totals = crate::common::snapshot_at(&list, &script.tree.root(), &Update::new());
            (index_without_header(&list), totals)
        };
        assert_eq!(snapshot("one.b3"), snapshot("two.b3"), "{:#?}", script.steps);
    }
}

/// As many runs as the budget says read every file, on one day or on many, whatever the lengths are. A file that takes a turn, and one that
/// goes away, delay no other one.
#[test]
fn scrub_reads_all_in_as_many_runs_as_it_says() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let (tree, percent) = (Tree::in_memory(), [3.0, 5.0, 30.0, 50.0, 100.0][random.below(5)]);
        let names: Vec<_> = (0..10 + random.below(30)).map(|it| format!("{it:02}")).collect();
        for name in &names {
            tree.write(name, "x".repeat(random.below(300)));
        }
        tree.snapshot();
        if random.below(2) == 0 {
            let index = fs::read_to_string(index_path(&tree.list())).unwrap();
            let today = treewide_manifest::day::Day::today().to_string();
            let days =
                |line: &str| line.replace(&today, ["2020-01-01", "2020-01-02"][random.below(2)]);
            tree.forge_index(&index.lines().map(days).collect::<Vec<_>>().join("\n"));
        }
        let runs = (100.0_f64 / percent).ceil() as usize;
        // A second round is as long as the first.
        for _ in 0..2 {
            let mut read = BTreeSet::new();
            for _ in 0..runs {
                let update = Update::new().scrub(Budget::Percent(percent));
                read.extend(tree.update_with(update, Box::new(AllIsOld)).read());
            }
            assert_eq!(read.len(), names.len(), "seed {seed}: {percent} % in {runs} runs");
        }
    }
}
