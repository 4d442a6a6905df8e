//! The past of a manifest: what a finished run recorded under a path is in the manifest or in its past, whatever happens to both.
//!
//! Random lives of a tree, with runs that are killed at each step, damage, old pairs, and programs that know no past. Kills are made from
//! the files before and after a run, as no step is left out by that. `TREEWIDE_TEST_SEED` repeats one life, `TREEWIDE_TEST_HISTORIES`
//! runs that many. One file although it is long: all tests read the past by the same model.

use crate::common::random::Random;
use crate::common::{AllIsOld, Tree};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use treewide::Hash;
use treewide_manifest::machine::{Draft, Limit, Update};
use treewide_manifest::record::{Record, What};
use treewide_manifest::{Globs, Manifest, Options, Report, Rules, index_path, open, past_path};

const LIVES: u64 = 40;
const DAYS: usize = 20;
const NAMES: [&str; 7] = ["a", "b", "d/c", "d/e", "d/\u{e9}", "f", "g"];
/// The name of a temporary file: 16 random digits, and 16 of their hash.
const LEFT: &str = ".treewide-0123456789abcdefb8f6b168214bf501.tmp";

type Pair = (String, String);
/// List, index and past.
type Files = [Option<Vec<u8>>; 3];

fn places(tree: &Tree) -> [PathBuf; 3] {
    [tree.list(), index_path(&tree.list()), past_path(&tree.list())]
}

fn files(tree: &Tree) -> Files {
    places(tree).map(|it| fs::read(it).ok())
}

fn put(tree: &Tree, files: &Files) {
    for (place, content) in places(tree).iter().zip(files) {
        match content {
            Some(content) => fs::write(place, content).unwrap(),
            None => drop(fs::remove_file(place)),
        }
    }
}

/// A section that proves itself.
struct Section {
    header: Value,
    /// Old records, and whether they are gone.
    records: BTreeMap<String, (String, bool)>,
    new: BTreeSet<String>,
    end: Value,
}

/// The sections of a past, by the words of docs/formats.md.
fn sections(past: &[u8]) -> Vec<Section> {
    let text = String::from_utf8_lossy(past).into_owned();
    let mut all = Vec::new();
    let mut open: Option<String> = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("{\"treewide\":\"past ") {
            open = Some(String::new());
        }
        let Some(text) = &mut open else { continue };
        *text += line;
        if !line.starts_with("{\"end\":") {
            continue;
        }
        let text = open.take().unwrap();
        let (before, check) = text.rsplit_once(",\"check\":\"").unwrap_or((&text, ""));
        if format!("{}\"}}\n", treewide::hash(before.as_bytes())) != check {
            continue;
        }
        let mut lines: Vec<Value> =
            text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        let (end, header) = (lines.pop().unwrap(), lines.remove(0));
        assert_eq!(end["end"], lines.len());
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        let new = lines.iter().filter_map(|it| it.get("new")).map(text).collect();
        let records = lines.iter().filter(|it| it.get("path").is_some());
        let record = |it: &Value| {
            let is_gone = it.get("gone").is_some();
            (text(&it["path"]), (it.get("digest").map(text).unwrap_or_default(), is_gone))
        };
        let records = records.map(record).collect();
        all.push(Section { header, records, new, end });
    }
    all
}

fn pairs(past: Option<&Vec<u8>>) -> BTreeSet<Pair> {
    let all = past.map_or_else(Vec::new, |it| sections(it));
    let records = all.into_iter().flat_map(|it| it.records);
    records.map(|(name, (digest, _))| (name, digest)).filter(|it| !it.1.is_empty()).collect()
}

fn records(manifest: &Manifest) -> BTreeMap<String, Record> {
    let all = manifest.records().unwrap().map(Result::unwrap);
    all.map(|it| (String::from_utf8(it.name.clone()).unwrap(), it)).collect()
}

fn present(tree: &Tree) -> BTreeSet<Pair> {
    let hex = |it: &[u8; 32]| treewide::Hash::from(*it).to_hex().to_string();
    let pair = |(name, it): (String, Record)| match it.what {
        What::File(file) => Some((name, hex(&file.digest))),
        _ => None,
    };
    records(&tree.manifest()).into_iter().filter_map(pair).collect()
}

struct Life {
    tree: Tree,
    random: Random,
    modes: bool,
    clock: u64,
    steps: Vec<String>,
    /// What finished runs recorded, and what someone took away.
    recorded: BTreeSet<Pair>,
    taken: BTreeSet<Pair>,
    kept_pairs: Vec<Files>,
    /// The list of each manifest that was there, by its facts.
    states: BTreeMap<String, Hash>,
}

impl Life {
    fn edit(&mut self) {
        let name = NAMES[self.random.below(NAMES.len())];
        let path = self.tree.at(name);
        self.clock += 1;
        match self.random.below(6) {
            0 | 1 => drop(fs::remove_file(path)),
            2 => {
                let to = self.tree.at(NAMES[self.random.below(NAMES.len())]);
                let _ = fs::rename(path, to);
            }
            _ => {
                let content =
                    format!("{}{}", self.random.below(30), "x".repeat(self.clock as usize));
                self.tree.write(name, content);
            }
        }
        fs::create_dir_all(self.tree.at("d")).unwrap();
    }

    /// A run to its end, without a look at what is lost.
    fn run(&mut self, accepts: bool) -> Report {
        let mut update = Update::new().accept_damage(accepts);
        update = update.most_removed(Limit::Percent(100.0)).accept_rot(Globs::new(&["*"]).unwrap());
        if self.modes {
            update = update.rules(Rules { modes: true, ..Rules::default() });
        }
        let draft = Draft::begin_over(&self.tree.list(), true, true).unwrap();
        let (old, options) = (self.tree.manifest(), Options::new());
        let (root, clock) = (self.tree.root(), Box::new(AllIsOld));
        let made = update.run(Some(&old), &root, draft, clock, &options, &mut |_| {}).unwrap();
        made.draft.appear().unwrap();
        made.report
    }

    fn day(&mut self, is_rough: bool) -> Option<Report> {
        for _ in 0..self.random.below(4) {
            self.edit();
        }
        let before = files(&self.tree);
        let kind = self.random.below(if is_rough { 20 } else { 12 });
        let past = before[2].clone().unwrap_or_default();
        let loses = |life: &mut Self, past: Option<Vec<u8>>| {
            let lost = &pairs(before[2].as_ref()) - &pairs(past.as_ref());
            life.taken.extend(lost);
            put(&life.tree, &[before[0].clone(), before[1].clone(), past]);
        };
        match kind {
            // Its user copies an older pair over the present one.
            12 | 13 if !self.kept_pairs.is_empty() => {
                self.taken.extend(present(&self.tree));
                let at = self.random.below(self.kept_pairs.len());
                let [list, index, _] = self.kept_pairs[at].clone();
                put(&self.tree, &[list, index, before[2].clone()]);
            }
            // A program that knows no past writes the pair alone.
            14 => {
                self.taken.extend(present(&self.tree));
                let _ = fs::remove_file(past_path(&self.tree.list()));
                self.tree.snapshot();
                if let Some(past) = &before[2] {
                    fs::write(past_path(&self.tree.list()), past).unwrap();
                }
                self.note_state();
            }
            15 if !past.is_empty() => {
                let mut past = past.clone();
                let at = self.random.below(past.len());
                past[at] ^= 1 << self.random.below(7);
                loses(self, Some(past));
            }
            16 if !past.is_empty() => {
                let at = self.random.below(past.len());
                let part = if self.random.below(2) == 0 { &past[..at] } else { &past[at..] };
                loses(self, Some(part.to_vec()));
            }
            17 if !past.is_empty() => loses(self, None),
            _ => {}
        }
        self.modes ^= self.random.below(10) == 0;
        let accepts = kind == 18;
        self.steps.push(format!("{kind}, accepts {accepts}, modes {}", self.modes));
        let (start, was) = (files(&self.tree), records(&self.tree.manifest()));
        let from = facts(&self.tree);
        let foreign = start[2].as_ref().is_some_and(|it| {
            let begin = &b"{\"treewide\":\"past "[..];
            !it.is_empty() && !it.starts_with(begin) && !begin.starts_with(it)
        });
        if foreign && !has_past(&start[1]) {
            // A file that no one knows is not ours.
            self.taken.extend(pairs(start[2].as_ref()));
            put(&self.tree, &[start[0].clone(), start[1].clone(), None]);
            return None;
        }
        let report = self.run(accepts);
        let end = files(&self.tree);
        self.check_section(&start, (&was, from), &end);
        // What proved itself is there still.
        let [old, new] = [&start[2], &end[2]].map(|it| pairs(it.as_ref()));
        assert!(new.is_superset(&old), "something that proves itself was cut: {:#?}", self.steps);
        match self.random.below(8) {
            // Before the append, in it, and after it.
            0 => put(&self.tree, &start),
            1 => {
                let (old, mut new) =
                    (start[2].clone().unwrap_or_default(), end[2].clone().unwrap_or_default());
                if new.starts_with(&old) && new.len() > old.len() {
                    let added = new.len() - old.len();
                    new.truncate(old.len() + self.random.below(added));
                    put(&self.tree, &[start[0].clone(), start[1].clone(), Some(new)]);
                } else {
                    put(&self.tree, &start);
                }
            }
            2 => put(&self.tree, &[start[0].clone(), start[1].clone(), end[2].clone()]),
            // After the list: the next run finishes it.
            3 => {
                put(&self.tree, &[end[0].clone(), start[1].clone(), end[2].clone()]);
                fs::write(self.tree.folder().join(LEFT), end[1].as_ref().unwrap()).unwrap();
                drop(Draft::begin_over(&self.tree.list(), true, true).unwrap());
                assert!(self.tree.manifest().has_index(), "{:#?}", self.steps);
                self.recorded.extend(present(&self.tree));
                self.note_state();
            }
            _ => {
                self.recorded.extend(present(&self.tree));
                self.note_state();
                self.kept_pairs.push(end);
            }
        }
        Some(report)
    }

    /// The section is the difference of both manifests.
    fn check_section(
        &self,
        start: &Files,
        (old, from): (&BTreeMap<String, Record>, String),
        end: &Files,
    ) {
        let [old_bytes, bytes] = [start, end].map(|it| it[2].clone().unwrap_or_default());
        let (before, after) = (sections(&old_bytes), sections(&bytes));
        // One whose last byte was cut is whole again once there is another line, and may be that of this run.
        let healed = sections(&[&old_bytes, &b"\n"[..]].concat()).len() - before.len();
        let (new, to) = (records(&self.tree.manifest()), facts(&self.tree));
        let gaps = after.iter().filter(|it| it.header.get("gap").is_some()).count();
        if from == to {
            return;
        }
        let old_gaps = before.iter().filter(|it| it.header.get("gap").is_some()).count();
        let added = after.len() - gaps - (before.len() - old_gaps);
        assert!((1..=1 + healed).contains(&added), "{added} {:#?}", self.steps);
        let section = after.last().unwrap();
        assert_eq!((&section.header["from"], &section.end["to"]), (&from.into(), &to.into()));
        let bare = |name: &str| name.strip_suffix('/').unwrap_or(name).to_owned();
        let news: BTreeSet<String> =
            new.keys().filter(|it| !old.contains_key(*it)).cloned().collect();
        assert_eq!(section.new, news);
        for (name, was) in old {
            let found = section.records.get(&bare(name));
            match new.get(name) {
                None => assert!(found.is_some_and(|it| it.1), "{name} is gone: {:#?}", self.steps),
                Some(is) => {
                    let facts = |it: &Record| match &it.what {
                        What::File(file) => {
                            let mode = file.facts.as_ref().unwrap().mode;
                            (Some(file.digest), if self.modes { mode } else { None })
                        }
                        _ => (None, None),
                    };
                    let is_file = matches!(was.what, What::File(_));
                    if is_file && facts(was).0 != facts(is).0 {
                        assert!(found.is_some_and(|it| !it.1), "{name}: {:#?}", self.steps);
                    }
                }
            }
        }
    }

    fn note_state(&mut self) {
        let manifest = self.tree.manifest();
        self.states.insert(facts_of(&manifest), manifest.list().hash());
    }

    /// Each step back is a manifest that was there, with the bytes that its list had. All are there if nothing was damaged.
    fn check_states(&self, is_rough: bool) {
        let at = |back: usize| {
            let path = format!("{}@-{back}", self.tree.list().display());
            open(path.as_ref())
        };
        let mut shown = BTreeSet::new();
        for back in 0.. {
            let was = match at(back) {
                Ok(was) => was,
                Err(error) => {
                    let is_first = error.to_string().contains("nothing before that is known");
                    assert!(is_rough || is_first, "{error}: {:#?}", self.steps);
                    break;
                }
            };
            let known = self.states.get(&facts_of(&was));
            assert_eq!(known, Some(&was.list().hash()), "{back} back: {:#?}", self.steps);
            assert_eq!(was.records().unwrap().filter(Result::is_err).count(), 0);
            shown.insert(facts_of(&was));
        }
        let all: BTreeSet<_> = self.states.keys().cloned().collect();
        assert!(is_rough || shown == all, "{} of {}: {:#?}", shown.len(), all.len(), self.steps);
    }

    fn check(&self) {
        let has = &present(&self.tree) | &pairs(files(&self.tree)[2].as_ref());
        let missing = &(&self.recorded - &has) - &self.taken;
        assert!(missing.is_empty(), "lost: {missing:?}: {:#?}", self.steps);
    }
}

fn has_past(index: &Option<Vec<u8>>) -> bool {
    index.as_ref().is_some_and(|it| String::from_utf8_lossy(it).contains(",\"past\":\""))
}

fn facts(tree: &Tree) -> String {
    facts_of(&tree.manifest())
}

fn facts_of(manifest: &Manifest) -> String {
    treewide_manifest::facts_of(manifest).unwrap().to_hex().to_string()
}

fn life(seed: u64) {
    let mut life = Life {
        tree: Tree::in_memory(),
        random: Random::new(seed),
        modes: false,
        clock: 0,
        steps: vec![format!("TREEWIDE_TEST_SEED={seed}")],
        recorded: BTreeSet::new(),
        taken: BTreeSet::new(),
        kept_pairs: Vec::new(),
        states: BTreeMap::new(),
    };
    fs::create_dir(life.tree.at("d")).unwrap();
    life.tree.snapshot();
    life.note_state();
    let is_rough = !seed.is_multiple_of(3);
    for _ in 0..DAYS {
        let report = life.day(is_rough);
        life.check();
        let damage = report.and_then(|it| it.past_damage);
        assert!(is_rough || damage.is_none(), "a false alarm: {damage:?}: {:#?}", life.steps);
    }
    life.check_states(is_rough);
}

#[test]
fn no_digest_is_lost() {
    let number = |key: &str| std::env::var(key).ok().map(|it| it.parse::<u64>().expect(key));
    if let Some(seed) = number("TREEWIDE_TEST_SEED") {
        return life(seed);
    }
    (0..number("TREEWIDE_TEST_HISTORIES").unwrap_or(LIVES)).for_each(life);
}

/// A tree with a past of two sections.
fn with_past() -> (Tree, Files) {
    let tree = Tree::in_memory();
    for (name, content) in [("a", "one"), ("b", "two"), ("c", "three")] {
        tree.write(name, content);
    }
    tree.snapshot();
    assert!(!past_path(&tree.list()).exists());
    fs::remove_file(tree.at("a")).unwrap();
    tree.update();
    tree.write("b", "another");
    tree.update();
    let files = files(&tree);
    assert_eq!(sections(files[2].as_ref().unwrap()).len(), 2);
    (tree, files)
}

/// Whatever byte is changed, and wherever it is cut: each run says so and keeps every byte, also if nothing else changes, and with a second
/// name, until the damage is accepted.
#[test]
fn damage_is_kept_and_said_until_it_is_accepted() {
    let (tree, files) = with_past();
    let past = files[2].clone().unwrap();
    let place = past_path(&tree.list());
    let run = |accepts: bool| {
        let update = Update::new().accept_damage(accepts);
        let report = tree.update_with(update, Box::new(AllIsOld)).report;
        let said = if accepts { report.past_note } else { report.past_damage };
        (said, fs::read(&place).unwrap())
    };
    let begin = |past: &[u8]| {
        put(&tree, &[files[0].clone(), files[1].clone(), Some(past.to_vec())]);
        tree.write("new", "new");
    };
    begin(&past);
    assert_eq!(run(false).0, None);
    let flipped = (0..past.len()).step_by(23).chain([18]).map(|at| {
        let mut changed = past.clone();
        changed[at] ^= 4;
        changed
    });
    let cut = (0..past.len()).step_by(31).chain([past.len() - 1]).map(|at| past[..at].to_vec());
    for (number, damaged) in flipped.chain(cut).enumerate() {
        begin(&damaged);
        let other = tree.folder().join("other.past");
        let _ = fs::remove_file(&other);
        if number % 2 == 0 {
            fs::hard_link(&place, &other).unwrap();
        }
        let mut before = damaged;
        for day in 0..4 {
            if day % 2 == 0 {
                tree.write("new", format!("{day}"));
            }
            let (damage, after) = run(false);
            assert!(damage.is_some(), "{number}, {day}");
            assert!(after.starts_with(&before), "{number}, {day}");
            before = after;
        }
        let (damage, after) = run(true);
        assert!(damage.is_some() && pairs(Some(&after)).is_superset(&pairs(Some(&before))));
        assert_eq!(run(false).0, None, "{number}");
        tree.write("new", "later");
        assert_eq!(run(false).0, None, "{number}");
    }
    let run = |changed: Vec<u8>, accepts| {
        begin(&changed);
        run(accepts)
    };
    // A tail that was torn is cut: the index names what is before it.
    let torn = [&past[..], b"{\"treewide\":\"past 1\",\"run\":\"20"].concat();
    let (damage, after) = run(torn, false);
    assert!(damage.is_none() && after.starts_with(&past) && sections(&after).len() == 3);
    // The manifest of then had none of it, and nothing that came later.
    let diff = |back: usize| {
        let then = open(format!("{}@-{back}", tree.list().display()).as_ref()).unwrap();
        crate::common::diff_of(&then, &tree.manifest())
    };
    let now = self::files(&tree);
    begin(&after[..after.len() - 5]);
    assert_eq!(diff(1).report.past_damage, None);
    put(&tree, &now);
    fs::remove_file(tree.at("new")).unwrap();
    tree.update();
    tree.write("new", "other");
    tree.update();
    assert_eq!((diff(3).detail("new"), diff(3).report.back), (String::new(), (0, 0)));
    // It was left behind.
    put(&tree, &[files[0].clone(), files[1].clone(), None]);
    assert!(tree.update().report.past_damage.unwrap().contains("left behind"));
    tree.write("new", "newer");
    assert_eq!(tree.update().report.past_damage, None);
    // One that cannot be opened is said as well.
    #[cfg(unix)]
    {
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/nowhere", &place).unwrap();
        let said = crate::common::diff_of(&tree.manifest(), &tree.manifest());
        for said in [tree.verify(), tree.quick(), said] {
            assert!(said.report.past_damage.unwrap().contains("leads nowhere"));
        }
    }
}

/// Its own file of this name, a second name of the past, and what is next to the list in its own tree.
#[test]
fn past_is_next_to_the_list_and_nothing_else_is() {
    let (tree, files) = with_past();
    let place = past_path(&tree.list());
    // Of another tree, by `cp -al`: it keeps its own.
    let other = tree.folder().join("other.past");
    fs::hard_link(&place, &other).unwrap();
    tree.write("new", "new");
    tree.update();
    assert_eq!(fs::read(&other).ok(), files[2]);
    assert_eq!(sections(&fs::read(&place).unwrap()).len(), 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place), mode(&tree.list()));
    }
    let foreign = Tree::new(&[("a", "1")]);
    foreign.snapshot();
    fs::write(past_path(&foreign.list()), "notes").unwrap();
    let draft = Draft::begin_over(&foreign.list(), true, false).unwrap();
    let (old, clock, options) = (foreign.manifest(), Box::new(AllIsOld), Options::new());
    let made = Update::new().run(Some(&old), &foreign.root(), draft, clock, &options, &mut |_| {});
    assert!(made.unwrap_err().to_string().contains("X.b3.past: is not the past of a manifest"));
    assert_eq!(fs::read(past_path(&foreign.list())).unwrap(), b"notes");
}

/// Wherever an index is damaged, cut or replaced: once that is accepted, each digest that a line of it has is in the manifest or in the past,
/// and so is that of a name that the list has with U+FFFD. What cannot be read is counted.
#[test]
#[cfg(unix)]
fn accepted_damage_of_an_index_loses_no_digest_that_can_be_read() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::in_memory();
    let odd: [&[u8]; 3] = [b"\xff1", b"d\xff", "\u{fffd}2".as_bytes()];
    for name in odd {
        let path = tree.root().join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, [b"content of ", name].concat()).unwrap();
    }
    tree.write("a", "1");
    tree.write("z", "2");
    tree.snapshot();
    for name in odd {
        let path = tree.root().join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "other").unwrap();
    }
    let index = fs::read(index_path(&tree.list())).unwrap();
    let list = fs::read(tree.list()).unwrap();
    let json = |line: &[u8]| serde_json::from_slice::<Value>(line).ok();
    let digest = |it: Value| {
        let digest = it["digest"].as_str()?.to_owned();
        let is_hex = |text: &str| text.bytes().all(|it| it.is_ascii_hexdigit());
        let name = it.get("path_hex").map_or(Some("ab"), Value::as_str)?;
        let is_file = it["type"] == "file" && it["bytes"].is_u64() && it["path"].is_string();
        (is_file && digest.len() == 64 && is_hex(&digest) && is_hex(name)).then_some(digest)
    };
    let cut = (1..index.len()).step_by(61).map(|at| index[..at].to_vec());
    let flipped = (0..index.len()).step_by(17).map(|at| {
        let mut index = index.clone();
        index[at] ^= 2;
        index
    });
    for damaged in cut.chain(flipped) {
        put(&tree, &[Some(list.clone()), Some(damaged.clone()), None]);
        let lines = || damaged.split_inclusive(|it| *it == b'\n');
        let had: Vec<_> = lines().filter_map(|it| digest(json(it)?)).collect();
        let is_record = |it: &[u8]| !it.starts_with(b"{\"end") && !it.starts_with(b"{\"tree");
        let is_lost = lines().any(|it| is_record(it) && json(it).is_none());
        let update = Update::new().accept_damage(true);
        let report = tree.update_with(update, Box::new(AllIsOld)).report;
        let whole = || panic!("not damaged: {}", String::from_utf8_lossy(&damaged));
        let said = report.damage.unwrap_or_else(whole);
        assert!(!is_lost || said.contains("cannot be read"), "{said}");
        let [_, index, past] = files(&tree);
        let all = [index.unwrap(), past.unwrap_or_default()].concat();
        let all = String::from_utf8(all).unwrap();
        for digest in had {
            assert!(all.contains(&digest), "{}", String::from_utf8_lossy(&damaged));
        }
    }
    // A list alone: no one knows which file the line is of.
    let hash = treewide::hash(b"lost").to_hex();
    put(&tree, &[Some(format!("{hash}  \u{fffd}\n").into_bytes()), None, None]);
    tree.update_with(Update::new().accept_damage(true), Box::new(AllIsOld));
    assert!(pairs(files(&tree)[2].as_ref()).contains(&("\u{fffd}".into(), hash.to_string())));
}

/// Damage of the past alone takes nothing from the index, and reads nothing. The longest rules can be read again.
#[test]
fn accepted_damage_of_a_past_leaves_the_index_as_it_is() {
    let (tree, files) = with_past();
    let exclude: Vec<_> = (0..60_000).map(|it| format!("none of {it}")).collect();
    let update = Update::new().also([treewide_digests::Algorithm::MD5]);
    let rules = Rules { exclude, ..Rules::default() };
    tree.update_with(update.rules(rules), Box::new(AllIsOld));
    let also = || fs::read_to_string(index_path(&tree.list())).unwrap().matches("\"md5\":").count();
    for day in 0..2 {
        assert!(also() > 0);
        fs::write(tree.at("c"), format!("{day}")).unwrap();
        assert_eq!(tree.update().report.past_damage, None);
    }
    let mut past = fs::read(past_path(&tree.list())).unwrap();
    past[40] ^= 1;
    put(&tree, &[fs::read(tree.list()).ok(), fs::read(index_path(&tree.list())).ok(), Some(past)]);
    fs::remove_file(tree.at("c")).unwrap();
    let before = also();
    assert!(tree.update().report.past_damage.unwrap().contains("accept-damage"));
    let report = tree.update_with(Update::new().accept_damage(true), Box::new(AllIsOld)).report;
    assert_eq!((report.files_read, also(), report.past_damage), (0, before - 1, None));
    assert!(report.past_note.unwrap().contains("was damaged"));
    drop(files);
}

/// A new mode is not another digest: an old manifest without modes drops no record for it.
#[test]
fn records_are_compared_as_the_old_rules_see_them() {
    let tree = Tree::new(&[("a", "1"), ("b/c", "2")]);
    tree.snapshot();
    let modes = Update::new().rules(Rules { modes: true, ..Rules::default() });
    tree.update_with(modes.clone(), Box::new(AllIsOld));
    let all = || sections(&fs::read(past_path(&tree.list())).unwrap());
    assert!(all().len() == 1 && all()[0].records.is_empty() && all()[0].new.is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(tree.at("a"), fs::Permissions::from_mode(0o600)).unwrap();
        tree.update_with(modes, Box::new(AllIsOld));
        assert_eq!(all()[1].records.keys().collect::<Vec<_>>(), ["a"]);
    }
    // Nothing has changed, so nothing is added.
    let count = all().len();
    tree.update();
    assert_eq!(all().len(), count);
    // A plain list has names and digests.
    fs::remove_file(index_path(&tree.list())).unwrap();
    fs::remove_file(tree.at("a")).unwrap();
    tree.update();
    let last = all().pop().unwrap();
    assert!(last.header["from"].is_null() && last.header.get("from").is_some());
    assert!(last.records.keys().eq(["a"]) && last.new.is_empty());
    let runs = treewide_manifest::history(&tree.list()).unwrap();
    assert_eq!((runs.len(), runs[0].gone), (all().len(), 1));
    assert!(treewide_manifest::history_of(&tree.list(), b"a").unwrap()[0].1.is_some());
}
