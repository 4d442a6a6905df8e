//! Random histories of a tree: edits, rot, copies, mounts that come and go, damage and kills. After each update, a model says which
//! digests must still be the old ones.
//!
//! The model knows what each file had when someone last wanted it to have that. Rot below the file system is made by giving the
//! index the ctime that the file has after a write: then nothing shows the write.
//!
//! `TREEWIDE_TEST_SEED` repeats one history, `TREEWIDE_TEST_HISTORIES` runs that many.

use crate::common::random::Random;
use crate::common::{AllIsOld, Tree, set_time};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use treewide_manifest::machine::{Draft, Limit, Update};
use treewide_manifest::record::What;
use treewide_manifest::{
    Budget, Class, ErrorKind, Evidence, Finding, Globs, Loss, Manifest, Options,
};
use treewide_manifest::{Report, index_path};

const HISTORIES: u64 = 200;
const ROUNDS: u64 = 6;
const NAMES: [&str; 6] = ["a", "b", "d/c", "d/e", "mount/f", "mount/g"];

/// What the model knows of a file.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    /// The content whose digest the list should have.
    recorded: Vec<u8>,
    /// The mtime that is recorded with it; `None` if none is.
    mtime: Option<i64>,
}

struct History {
    tree: Tree,
    random: Random,
    /// Recorded files.
    model: BTreeMap<&'static str, Known>,
    /// The index of the list is damaged.
    is_damaged: bool,
    /// What is not mounted.
    aside: Option<PathBuf>,
    /// How far mtime has moved: each edit has a time of its own.
    clock: u64,
    steps: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut history = Self {
            tree: Tree::in_memory(),
            random: Random::new(seed),
            model: BTreeMap::new(),
            is_damaged: false,
            aside: None,
            clock: 0,
            steps: Vec::new(),
        };
        for name in NAMES {
            history.edit(name);
        }
        history.tree.snapshot();
        history.record_all();
        history
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.random.below(NAMES.len())]
    }

    fn content(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.tree.at(name)).ok()
    }

    /// Everything is recorded as it is.
    fn record_all(&mut self) {
        self.model.clear();
        for name in NAMES {
            if let Some(recorded) = self.content(name) {
                self.model.insert(name, Known { recorded, mtime: self.mtime(name) });
            }
        }
    }

    fn mtime(&self, name: &str) -> Option<i64> {
        let there = fs::metadata(self.tree.at(name)).ok()?;
        Some(there.mtime() * 1_000_000_000 + there.mtime_nsec())
    }

    /// Whether nothing shows that someone wants the content that the file has.
    fn is_doubtful(&self, name: &str, known: &Known) -> bool {
        let now = self.content(name).unwrap_or_default();
        let is_timed = now.len() == known.recorded.len() && self.mtime(name) == known.mtime;
        now != known.recorded && (known.mtime.is_none() || is_timed)
    }

    /// A write that someone wants: mtime moves, or the length.
    fn edit(&mut self, name: &'static str) {
        self.clock += 1;
        let len = 1 + self.random.below(3);
        let content = format!("{name} {} {}", self.clock, "x".repeat(len));
        self.tree.write(name, content);
        // Times to come, and long ago, are times as others.
        let base = [1_700_000_000, 4_000_000_000, 1_000][self.random.below(3)];
        set_time(
            &self.tree.at(name),
            SystemTime::UNIX_EPOCH + Duration::from_secs(base + self.clock),
        );
    }

    /// Other content with the same length and mtime. With `hides`, as a disk does it: ctime is also as recorded.
    fn damage(&mut self, name: &'static str, hides: bool) {
        let path = self.tree.at(name);
        let Ok(there) = fs::metadata(&path) else { return };
        let time = there.modified().unwrap();
        let mut content = fs::read(&path).unwrap();
        let at = self.random.below(content.len());
        content[at] ^= 1 << self.random.below(7);
        fs::write(&path, &content).unwrap();
        set_time(&self.tree.at(name), time);
        if hides {
            self.hide(name, &there);
        }
    }

    fn line(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(index_path(&self.tree.list())).ok()?;
        let begin = format!("{{\"path\":\"{name}\",");
        text.lines().find(|line| line.starts_with(&begin)).map(str::to_owned)
    }

    /// Gives the index the ctime that the file has, if it had the ctime that is recorded.
    fn hide(&self, name: &str, before: &fs::Metadata) {
        let ctime = |it: &fs::Metadata| it.ctime() * 1_000_000_000 + it.ctime_nsec();
        let now = fs::metadata(self.tree.at(name)).unwrap();
        let Some(line) = self.line(name) else { return };
        let new = line.replace(
            &format!("\"ctime\":{},", ctime(before)),
            &format!("\"ctime\":{},", ctime(&now)),
        );
        let text = fs::read_to_string(index_path(&self.tree.list())).unwrap();
        self.tree.forge_index(&text.replace(&line, &new));
    }

    fn step(&mut self) {
        let kind = self.random.below(12);
        let name = self.name();
        self.steps.push(format!("{kind} {name}"));
        let is_there = self.tree.at(name).exists();
        match kind {
            0..=2 if is_there => self.edit(name),
            3 | 4 if is_there => self.damage(name, true),
            5 if is_there => self.damage(name, false),
            6 if is_there => {
                let mode = 0o600 | self.random.below(0o100) as u32;
                fs::set_permissions(self.tree.at(name), fs::Permissions::from_mode(mode)).unwrap();
            }
            // A copy of the file takes its place, as a restored backup does.
            7 if is_there => {
                let (path, copy) = (self.tree.at(name), self.tree.folder().join("copy"));
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                fs::copy(&path, &copy).unwrap();
                fs::rename(&copy, &path).unwrap();
                set_time(&self.tree.at(name), time);
            }
            8 if is_there && !name.starts_with("mount") => {
                fs::remove_file(self.tree.at(name)).unwrap();
            }
            8 if self.aside.is_none() => self.edit(name),
            9 => self.mount(),
            10 => {
                let path = index_path(&self.tree.list());
                let Ok(whole) = fs::read(&path) else { return };
                let cut = self.random.below(1 + whole.len() / 2);
                fs::write(&path, &whole[..cut]).unwrap();
                self.is_damaged = true;
            }
            _ => {}
        }
    }

    /// Takes everything away, as a disk that is switched off, or brings it back.
    fn mount(&mut self) {
        let root = self.tree.root();
        match self.aside.take() {
            Some(aside) => {
                fs::remove_dir_all(&root).unwrap();
                fs::rename(aside, &root).unwrap();
            }
            None => {
                let aside = self.tree.folder().join("aside");
                fs::rename(&root, &aside).unwrap();
                fs::create_dir(&root).unwrap();
                fs::create_dir(root.join("lost+found")).unwrap();
                self.aside = Some(aside);
            }
        }
    }

    fn files(&self) -> [Option<Vec<u8>>; 2] {
        [self.tree.list(), index_path(&self.tree.list())].map(|it| fs::read(it).ok())
    }

    fn run(&self, update: &Update, is_killed: bool) -> Result<(Report, Vec<Finding>), ErrorKind> {
        let mut findings = Vec::new();
        let result = Manifest::open(&self.tree.list()).and_then(|old| {
            let draft = Draft::begin_over(&self.tree.list(), true, true)?;
            let (options, each) = (Options::new(), &mut |it| findings.push(it));
            update.run(Some(&old), &self.tree.root(), draft, Box::new(AllIsOld), &options, each)
        });
        match result {
            Ok(made) if is_killed => Ok((made.report, findings)),
            Ok(made) => {
                let report = made.report.clone();
                made.draft.appear().unwrap();
                Ok((report, findings))
            }
            Err(error) => match error.kind() {
                ErrorKind::Refused(loss) => Err(ErrorKind::Refused(loss.clone())),
                other => panic!("{other:?}"),
            },
        }
    }

    /// One update, and what must be so after it.
    fn update(&mut self, context: &dyn Fn(&Self) -> String) {
        let (full, accepts) = (self.random.below(3) == 0, self.random.below(6) == 0);
        let (scrubs, is_killed) = (self.random.below(3) == 0, self.random.below(8) == 0);
        self.steps.push(format!(
            "update full {full} accepts {accepts} scrubs {scrubs} killed {is_killed}"
        ));
        let mut update = Update::new().full(full).accept_damage(accepts);
        if scrubs {
            update = update.scrub(Budget::Percent(100.0));
        }
        let before = self.files();
        let result = self.run(&update, is_killed);
        let is_empty = self.aside.is_some();
        let (report, findings) = match result {
            Err(ErrorKind::Refused(loss)) => {
                assert_eq!(self.files(), before, "{}", context(self));
                match *loss {
                    Loss::Damage(_) => assert!(self.is_damaged && !accepts, "{}", context(self)),
                    Loss::Nothing { .. } => {
                        // No file that is there needs to be untouched.
                        let gone = self.model.keys().filter(|it| !self.tree.at(it).exists());
                        let is_most = gone.count() * 2 > self.model.len();
                        assert!(is_empty || is_most, "{}", context(self));
                    }
                    other => panic!("{other:?}: {}", context(self)),
                }
                return;
            }
            Err(other) => panic!("{other:?}"),
            Ok(result) => result,
        };
        assert!(!is_empty, "a disk that is off was recorded: {}", context(self));
        assert!(!self.is_damaged || accepts, "damage was mended away: {}", context(self));
        if is_killed {
            assert_eq!(self.files(), before, "{}", context(self));
            return;
        }
        let reads_all = full || accepts && self.is_damaged || scrubs;
        self.check_findings(&findings, &report, reads_all, context);
        self.follow(&findings);
        self.is_damaged = false;
        self.check_list(context);
    }

    /// Nothing is said that was not seen.
    fn check_findings(
        &self,
        findings: &[Finding],
        report: &Report,
        reads_all: bool,
        context: &dyn Fn(&Self) -> String,
    ) {
        for finding in findings {
            let name = std::str::from_utf8(&finding.name).unwrap();
            let Some(known) = self.model.get(name) else { continue };
            let now = self.content(name);
            let class = finding.verdict.class();
            let is_same = now.as_ref() == Some(&known.recorded);
            match class {
                Class::Same | Class::Touched => {
                    let was_read = finding.evidence == Some(Evidence::Read);
                    assert!(is_same || !was_read, "{name} is not the same: {}", context(self));
                    assert!(!reads_all || was_read, "{name} was not read: {}", context(self));
                }
                Class::Rot | Class::Suspect | Class::Changed => {
                    assert!(!is_same, "{name} is {}: {}", class.word(), context(self));
                    // No times are believed of a damaged index.
                    let is_doubtful = finding.verdict.is_doubtful();
                    if !self.is_damaged {
                        let expected = self.is_doubtful(name, known);
                        assert_eq!(is_doubtful, expected, "{name}: {}", context(self));
                    }
                }
                Class::Removed | Class::Moved => {
                    assert!(now.is_none() || class == Class::Moved, "{name}: {}", context(self));
                }
                _ => {}
            }
        }
        let known = Evidence::ALL.iter().map(|it| report.known_by(*it)).sum::<u64>();
        let same = |it: &&Finding| {
            matches!(it.verdict.class(), Class::Same | Class::Touched)
                && it.kind == treewide_manifest::record::Type::File
        };
        assert_eq!(known, findings.iter().filter(same).count() as u64, "{}", context(self));
    }

    /// What the list should have now.
    fn follow(&mut self, findings: &[Finding]) {
        let mut new = BTreeMap::new();
        for name in NAMES {
            let Some(now) = self.content(name) else { continue };
            let finding = findings.iter().find(|it| it.name == name.as_bytes());
            let keeps = finding.is_none_or(|it| {
                it.verdict.is_doubtful()
                    || matches!(it.verdict.class(), Class::Same | Class::Touched)
            });
            let recorded = match self.model.get(name) {
                Some(known) if keeps => known.recorded.clone(),
                _ => now,
            };
            new.insert(name, Known { recorded, mtime: None });
        }
        self.model = new;
        for record in self.tree.manifest().records().unwrap().map(Result::unwrap) {
            if let (What::File(file), Some(known)) =
                (record.what, self.model.get_mut(std::str::from_utf8(&record.name).unwrap()))
            {
                let key = file.facts.and_then(|it| it.key.or(it.untrusted));
                // Those of a content that was never the recorded one.
                known.mtime = key.filter(|it| it.ctime != i64::MIN).map(|it| it.mtime);
            }
        }
    }

    fn check_list(&self, context: &dyn Fn(&Self) -> String) {
        let manifest = self.tree.manifest();
        let mut recorded = BTreeMap::new();
        for record in manifest.records().unwrap() {
            let record = record.unwrap();
            if let What::File(file) = record.what {
                recorded.insert(String::from_utf8(record.name).unwrap(), file.digest);
            }
        }
        let expected: BTreeMap<String, [u8; 32]> = self
            .model
            .iter()
            .map(|(name, known)| ((*name).to_owned(), treewide::hash(&known.recorded).into()))
            .collect();
        assert!(recorded == expected, "the list has other digests: {}", context(self));
    }
}

fn history(seed: u64) {
    let mut history = History::new(seed);
    let context = |it: &History| format!("TREEWIDE_TEST_SEED={seed}, after {:#?}", it.steps);
    for _ in 0..ROUNDS {
        for _ in 0..=history.random.below(4) {
            history.step();
        }
        history.update(&context);
    }
    // A user who looks, and accepts the content, has the content.
    if history.aside.is_some() {
        history.mount();
    }
    let all = Globs::new(&["*"]).unwrap();
    let accept =
        Update::new().accept_damage(true).accept_rot(all).most_removed(Limit::Percent(100.0));
    history.run(&accept, false).unwrap();
    history.record_all();
    history.check_list(&context);
    assert!(history.tree.verify().is_fine(), "{}", context(&history));
}

#[test]
fn update_keeps_every_digest_that_nobody_wanted_to_change() {
    if let Ok(seed) = std::env::var("TREEWIDE_TEST_SEED") {
        return history(seed.parse().expect("TREEWIDE_TEST_SEED must be a number"));
    }
    let histories = match std::env::var("TREEWIDE_TEST_HISTORIES") {
        Ok(text) => text.parse().expect("TREEWIDE_TEST_HISTORIES must be a number"),
        Err(_) => HISTORIES,
    };
    for seed in 0..histories {
        history(seed);
    }
    println!("{histories} histories of {ROUNDS} updates");
}
