//! A tree, its manifest, and what runs say of it.

#![allow(dead_code, unreachable_pub, reason = "each file of tests uses some of it")]

pub mod aged;
#[path = "../../../treewide/tests/common/random.rs"]
pub mod random;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use treewide_manifest::machine::{Clock, Draft, Made, Update, Verify, diff};
use treewide_manifest::record::Type;
use treewide_manifest::trust::{Moment, Moments};
use treewide_manifest::{
    Error, ErrorKind, Evidence, Finding, Globs, Loss, Manifest, Options, Report, Rules, Totals,
    Verdict, index_path,
};

/// Knows nothing of the time, and takes every time for old: for tests that are not about trust.
pub struct AllIsOld;

impl Moments for AllIsOld {
    fn moment(&mut self, _: u64, _: &Path) -> Moment {
        Moment { synced: Some(i64::MAX), slack: 0, keeps_inodes: true, keeps_device: true }
    }
}

/// A folder with a tree in it, and the place of its manifest.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        for (name, content) in files {
            tree.write(name, content);
        }
        tree
    }

    /// An empty tree where writing is quick, if there is such a place.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let tree = Self { folder: folder.unwrap() };
        fs::create_dir(tree.root()).unwrap();
        tree
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until all files are old enough for keys of the system's clock, and later changes have later times.
    pub fn age(&self) {
        aged::age(self.folder());
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Writes an index as a program does that knows the format, with the check of these bytes unless they are cut.
    pub fn forge_index(&self, text: &str) {
        let key = ",\"check\":\"";
        let forged = match text.rsplit_once(key) {
            Some((before, _)) => {
                format!("{before}{key}{}\"}}\n", treewide::hash(before.as_bytes()))
            }
            None => text.to_owned(),
        };
        fs::write(index_path(&self.list()), forged).unwrap();
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn list(&self) -> PathBuf {
        self.folder.path().join("X.b3")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Other content of the same length, with the times as they were; ctime moves.
    pub fn flip(&self, name: &str) {
        let path = self.at(name);
        let mut content = fs::read(&path).unwrap();
        content[0] ^= 1;
        rewrite(&path, content);
    }

    pub fn snapshot(&self) -> Totals {
        self.snapshot_with(Update::new(), Box::new(AllIsOld)).1
    }

    /// Also in the place of another manifest, which is removed first.
    pub fn snapshot_with(&self, update: Update, moments: Box<dyn Moments>) -> (Report, Totals) {
        for path in [self.list(), index_path(&self.list())] {
            let _ = fs::remove_file(path);
        }
        let draft = Draft::begin(&self.list(), true).unwrap();
        let options = Options::new();
        let made = update.run(None, &self.root(), draft, moments, &options, &mut |_| {}).unwrap();
        (made.report, made.draft.appear().unwrap())
    }

    pub fn manifest(&self) -> Manifest {
        Manifest::open(&self.list()).unwrap()
    }

    pub fn verify(&self) -> Said {
        self.said(Verify::new()).unwrap()
    }

    pub fn quick(&self) -> Said {
        self.said(Verify::new().quick(true)).unwrap()
    }

    pub fn said(&self, verify: Verify) -> Result<Said, Error> {
        said_of(&self.list(), &self.root(), &verify)
    }

    /// An update, or a snapshot, that has not appeared yet.
    pub fn make(&self, update: &Update, options: &Options) -> Result<Made, Error> {
        make(&self.list(), &self.root(), update, options, &mut |_| {})
    }

    pub fn update(&self) -> Said {
        self.update_with(Update::new(), Box::new(AllIsOld))
    }

    /// Records the tree, whatever is doubtful about it.
    pub fn accept(&self) -> Said {
        let all = Globs::new(&["*"]).unwrap();
        self.update_with(Update::new().accept_damage(true).accept_rot(all), Box::new(AllIsOld))
    }

    /// Why an update writes nothing. Both files of the manifest stay as they are.
    pub fn refused(&self, update: &Update) -> Loss {
        let files = || [self.list(), index_path(&self.list())].map(|it| fs::read(it).ok());
        let (before, draft) = (files(), Draft::begin_over(&self.list(), true, true).unwrap());
        let (options, old) = (Options::new(), self.manifest());
        let moments = Box::new(AllIsOld);
        let made =
            update.run(Some(&old), &self.root(), draft, moments, &options, &mut |_| {}).map(drop);
        assert_eq!(files(), before);
        match made.expect_err("nothing was lost").kind() {
            ErrorKind::Refused(loss) => (**loss).clone(),
            other => panic!("{other:?}"),
        }
    }

    pub fn update_with(&self, update: Update, moments: Box<dyn Moments>) -> Said {
        let mut said = Said::default();
        let (old, draft) = (self.manifest(), Draft::begin_over(&self.list(), true, true).unwrap());
        let options = Options::new();
        let made =
            update.run(Some(&old), &self.root(), draft, moments, &options, &mut |it| said.add(it));
        let made = made.unwrap();
        said.report = made.report;
        made.draft.appear().unwrap();
        said.check();
        said
    }

    /// The list and the facts that a snapshot has now.
    pub fn afresh(&self, rules: Rules) -> (Vec<u8>, Totals) {
        let path = self.folder.path().join("afresh.b3");
        let totals = snapshot_at(&path, &self.root(), &Update::new().rules(rules));
        let list = fs::read(&path).unwrap();
        fs::remove_file(treewide_manifest::index_path(&path)).unwrap();
        fs::remove_file(path).unwrap();
        (list, totals)
    }
}

/// Findings of a run.
#[derive(Default)]
pub struct Said {
    pub report: Report,
    findings: Vec<Finding>,
}

impl Said {
    pub fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Every path has one verdict, and the counts add up.
    pub fn check(&self) {
        let mut names = BTreeMap::new();
        for finding in &self.findings {
            let before = names.insert(finding.name.clone(), finding.verdict.clone());
            assert_eq!(
                before,
                None,
                "{} has another verdict: {:?}",
                finding.path().display(),
                finding.verdict
            );
        }
        assert_eq!(self.report.entries(), self.findings.len() as u64);
    }

    /// Returns the findings apart from `same`, such as `changed a`.
    pub fn differences(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .findings
            .iter()
            .filter(|it| !matches!(it.verdict, Verdict::Same))
            .map(|it| {
                let from = it
                    .verdict
                    .from()
                    .map(|from| format!(" from {}", String::from_utf8_lossy(from)));
                let name = String::from_utf8_lossy(&it.name).into_owned();
                format!("{} {name}{}", it.verdict.class().word(), from.unwrap_or_default())
            })
            .collect();
        lines.sort();
        lines
    }

    /// The names of files that were read and are as recorded.
    pub fn read(&self) -> Vec<Vec<u8>> {
        let is_read = |it: &&Finding| it.evidence == Some(Evidence::Read) && it.kind == Type::File;
        self.findings.iter().filter(is_read).map(|it| it.name.clone()).collect()
    }

    pub fn finding(&self, name: &str) -> &Finding {
        let finding = self.findings.iter().find(|it| it.name == name.as_bytes());
        finding.unwrap_or_else(|| panic!("nothing about {name}"))
    }

    pub fn verdict(&self, name: &str) -> &Verdict {
        &self.finding(name).verdict
    }

    pub fn detail(&self, name: &str) -> String {
        self.finding(name).detail()
    }

    pub fn is_fine(&self) -> bool {
        !self.report.differs() && self.report.is_certain()
    }
}

pub fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Other content, with the mtime as it was.
pub fn rewrite(path: &Path, content: impl AsRef<[u8]>) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, content).unwrap();
    set_time(path, time);
}

pub fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg("--").arg(path).status().unwrap().success());
}

/// A copy of a manifest, whose list is here.
pub fn copy_pair(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    fs::copy(index_path(from), index_path(to)).unwrap();
}

/// Findings of a run on the tree at `root`.
pub fn said_of(list: &Path, root: &Path, verify: &Verify) -> Result<Said, Error> {
    let (mut said, manifest) = (Said::default(), Manifest::open(list)?);
    said.report = verify.run(&manifest, root, &Options::new(), &mut |it| said.add(it))?;
    said.check();
    Ok(said)
}

/// Makes a manifest, from the one in its place if there is one. It keeps a journal, and continues with one that is there.
pub fn make(
    list: &Path,
    root: &Path,
    update: &Update,
    options: &Options,
    each: &mut dyn FnMut(Finding),
) -> Result<Made, Error> {
    let draft = Draft::begin(list, true)?.with_journal_from(true, Duration::ZERO);
    let old = list.exists().then(|| Manifest::open(list)).transpose()?;
    update.run(old.as_ref(), root, draft, Box::new(AllIsOld), options, each)
}

/// Makes a manifest that appears.
pub fn snapshot_at(list: &Path, root: &Path, update: &Update) -> Totals {
    let made = make(list, root, update, &Options::new(), &mut |_| {}).unwrap();
    made.draft.appear().unwrap()
}

pub fn diff_of(old: &Manifest, new: &Manifest) -> Said {
    let mut said = Said::default();
    said.report = diff(old, new, &Default::default(), &mut |it| said.add(it)).unwrap();
    said.check();
    said
}

/// The clock of the system.
pub fn clock() -> Box<Clock> {
    Box::new(Clock::new())
}
