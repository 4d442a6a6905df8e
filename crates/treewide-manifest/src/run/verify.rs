//! Is a tree what its manifest says?

use crate::error::Error;
use crate::format::manifest::{Index, Manifest};
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::format::rules::Globs;
use crate::format::rules::Rules;
use crate::format::trust::Key;
use crate::format::xattrs::Xattrs;
use crate::keep::draft::files_of;
use crate::keep::outboards::Outboards;
use crate::run::earlier::{Earlier, Looked};
use crate::run::join::{About, Join, Note, Policy};
use crate::run::judge::{Judge, observed};
use crate::run::moves::{New, about};
use crate::run::verdict::{Finding, Report, Verdict};
use crate::tree::beneath::Beneath;
use crate::tree::scan::{Own, Scan, There};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use treewide::OUT_LEN;
use treewide_files::{Event, Item, Options, Source, Task};

/// How a tree is compared with its manifest. By default every file is read.
///
/// ```
/// # let dir = std::env::temp_dir().join("treewide-manifest-doc-verify");
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir_all(dir.join("photos")).unwrap();
/// # std::fs::write(dir.join("photos/a"), "a").unwrap();
/// # let line = format!("{}  a\n{}  b\n", treewide::hash(b"a"), treewide::hash(b"b"));
/// # std::fs::write(dir.join("photos.b3"), line).unwrap();
/// use treewide_manifest::machine::Verify;
/// use treewide_manifest::{Class, Manifest, Options};
///
/// let manifest = Manifest::open(&dir.join("photos.b3"))?;
/// let report = Verify::new().run(&manifest, &dir.join("photos"), &Options::new(), &mut |finding| {
///     println!("{} {}", finding.verdict.class().word(), finding.path().display());
/// })?;
/// assert_eq!((report.count(Class::Same), report.count(Class::Removed)), (1, 1));
/// assert!(report.differs() && report.is_certain());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), treewide_manifest::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Verify {
    quick: bool,
    only: Globs,
    left_out: Vec<PathBuf>,
    outboards: Option<Outboards>,
}

impl Verify {
    /// Reads every file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether only files are read whose size, times, inode or device are not those recorded. What is not read is
    /// [counted](Report::files_unread).
    pub fn quick(self, quick: bool) -> Self {
        Self { quick, ..self }
    }

    /// Compares only paths that one of these globs matches, and what is below them.
    pub fn only(self, only: Globs) -> Self {
        Self { only, ..self }
    }

    /// Leaves out a file that the caller writes, such as a report, wherever it is. The manifest itself is left out always.
    pub fn leave_out(mut self, path: PathBuf) -> Self {
        self.left_out.push(path);
        self
    }

    /// Finds which bytes are bad of files whose content differs and that have an outboard here. These files are read twice. An
    /// outboard is believed only as far as the recorded digest proves it.
    pub fn outboards(self, outboards: Outboards) -> Self {
        Self { outboards: Some(outboards), ..self }
    }

    /// Compares the tree at `dir`. `each` gets the verdict on every path, also if it is the same; removed and
    /// added paths come last.
    ///
    /// # Errors
    /// If the manifest cannot be read, `dir` is not a directory, or the run is cancelled. A file that cannot be read is
    /// a verdict.
    pub fn run(
        &self,
        manifest: &Manifest,
        dir: &Path,
        options: &Options,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Report, Error> {
        let mut rules = manifest.rules();
        rules.can_be_read().map_err(|cause| Error::read(manifest.list().path(), cause))?;
        let trusted_unseen = rules.xattrs > Xattrs::readable();
        rules.xattrs = rules.xattrs.min(Xattrs::readable());
        let mut own = Own::default();
        for path in files_of(manifest).iter().chain(&self.left_out) {
            own.add(path);
        }
        let seen = Arc::clone(&own.seen);
        let scan = Scan::new(dir, &rules, &self.only, own)?;
        let earlier = Rc::new(RefCell::new(Earlier::of(manifest)));
        let policy = Policy {
            trusts: self.quick && manifest.has_index(),
            follows: rules.follow,
            modes: rules.modes,
            xattrs: rules.xattrs,
            seen: Arc::clone(&seen),
            earlier: Rc::clone(&earlier),
            ..Policy::default()
        };
        let beneath = Beneath::new(dir, rules.follow);
        let join = Join::new(Some(manifest.records()?), &self.only, scan, beneath, policy, None);
        let compared = rules.xattrs;
        let mut found = vec![false; self.only.texts().len()];
        let mut each = |finding: Finding| {
            if !found.is_empty() {
                let is_directory = finding.kind == Type::Directory;
                self.only.note(&finding.name, is_directory, &mut found);
                if let Some(from) = finding.verdict.from() {
                    self.only.note(from, is_directory, &mut found);
                }
            }
            each(finding);
        };
        let mut judge = Judge::new(rules, compared, &mut each);
        let outboards = self.outboards.as_ref();
        let mut run = Run { manifest, outboards, earlier };
        if let Index::Ignored(cause) = manifest.index() {
            judge.report.damage = Some(cause.clone());
        }
        let options = options.clone().stamps(true).links_once(true);
        for event in options.run(join) {
            run.event(event, &options, &mut judge)?;
        }
        run.hash_new(&options, &mut judge)?;
        judge.report.past_damage = run.earlier.borrow().damage();
        let mut report = judge.finish();
        // Globs that match nothing are a mistake; an index says that a tree is empty.
        let may_be_empty = manifest.has_index() && self.only.is_empty();
        report.nothing_checked = report.entries() == 0 && !may_be_empty;
        report.trusted_unseen = trusted_unseen;
        report.skipped = seen.skipped.load(Ordering::Relaxed);
        report.leftovers = seen.leftovers.load(Ordering::Relaxed);
        let unmatched = self.only.texts().iter().zip(found).filter(|(_, found)| !found);
        report.unmatched = unmatched.map(|(glob, _)| glob.clone()).collect();
        Ok(report)
    }
}

struct Run<'a> {
    manifest: &'a Manifest,
    outboards: Option<&'a Outboards>,
    earlier: Rc<RefCell<Earlier>>,
}

impl Run<'_> {
    fn event(
        &mut self,
        event: Event<About, Note>,
        options: &Options,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        match event {
            Event::File(mut task, hashed) => {
                let read = judge.read(options, &mut (), &mut task, hashed);
                if let Some(mut record) = task.about.record {
                    if read.as_ref().err().is_some_and(Judge::is_gone) {
                        let _ = judge.gone(*record, Ok(None));
                        return Ok(());
                    }
                    let (mut located, mut then) = (None, None);
                    let verdict = match (&mut record.what, &read) {
                        (_, Err(error)) => Judge::failure(error),
                        (What::File(was), Ok(read)) => {
                            let of_it = (&*record.name, &mut *was, &*record.xattrs);
                            let (verdict, judged) =
                                judge.file(&self.earlier, of_it, (&task.path, read))?;
                            then = judged.then;
                            let place = (&*task.path, task.kind);
                            located =
                                Judge::located(self.outboards, options, place, was, read, &verdict);
                            verdict
                        }
                        (_, Ok(_)) => Verdict::ReplacedType { was: record.kind() },
                    };
                    let evidence = verdict.evidence();
                    judge.last_of(*record, verdict, evidence, (located, then));
                }
            }
            Event::Note(note) => self.note(note, judge)?,
            Event::Pause => {}
            Event::Cancelled => return Err(Error::cancelled()),
        }
        Ok(())
    }

    fn note(&mut self, note: Note, judge: &mut Judge<'_>) -> Result<(), Error> {
        match note {
            Note::Unread(record) => judge.unread(record),
            Note::Back(back) => judge.back(&back),
            Note::Other(both) => {
                let (record, entry) = *both;
                let (verdict, _) = judge.other(&record, &entry);
                if let (Verdict::ReplacedType { .. }, There::File(_)) = (&verdict, &entry.what) {
                    // What was no file has no content: the file is new.
                    let _ = judge.gone(record, Ok(Some(Type::File)));
                    return self.note(Note::New(Box::new(entry)), judge);
                }
                judge.tell(about(entry.name(), entry.kind(), verdict));
            }
            Note::Gone(record, there) => {
                let _ = judge.gone(record, there);
            }
            Note::Below(record, cause) => judge.record(&record, Verdict::Unreadable(cause)),
            Note::New(entry) => {
                // Without an index nothing is known of directories, links and the rest.
                let has_index = self.manifest.has_index() && judge.report.damage.is_none();
                if !has_index && !matches!(entry.what, There::File(_)) {
                    return Ok(());
                }
                let (record, unread) = match entry.what {
                    There::File(identity) => {
                        let stamp = entry.stamp.as_ref();
                        let file = stamp.and_then(|it| Looked::new(entry.name(), &entry.path, it));
                        let is_known = match file {
                            Some(file) => self.earlier.borrow_mut().matters(&file)?,
                            None => false,
                        };
                        let facts = entry
                            .stamp
                            .map(|it| Facts { untrusted: Key::of(&it), ..Facts::of(it.len) });
                        let what = What::File(FileRecord { digest: [0; OUT_LEN], facts });
                        (Record::new(entry.name(), what), Some((entry.path, identity, is_known)))
                    }
                    _ => match observed(&entry, &Rules::default()) {
                        Ok(record) => (record, None),
                        Err(error) => {
                            judge.unreadable(entry.name(), entry.kind(), error.to_string());
                            return Ok(());
                        }
                    },
                };
                judge.new_path(New { unread, ..New::of(record, None) });
            }
            Note::Failed(Some(record), _, cause) => {
                judge.record(&record, Verdict::Unreadable(cause));
            }
            Note::Failed(None, name, cause) => judge.unreadable(&name, Type::Unknown, cause),
            Note::Damaged(cause) => {
                judge.report.damage.get_or_insert(cause);
            }
            Note::Broken(error) => return Err(error),
            // Only what makes a manifest continues where another run ended.
            Note::Resumed(_) => {}
        }
        Ok(())
    }

    /// Hashes new files that may be others under a new name.
    fn hash_new(&mut self, options: &Options, judge: &mut Judge<'_>) -> Result<(), Error> {
        for event in options.run(Tasks(judge.moves.take_unread().into_iter())) {
            match event {
                // What cannot be read is new all the same.
                Event::File(_, Err(_)) => {}
                Event::File(task, Ok(hashed)) => {
                    judge.report.files_read += 1;
                    judge.report.bytes_read += hashed.bytes;
                    if let Ok(digest) = hashed.digest.into_bytes().try_into() {
                        let (place, stamps) = (task.about, hashed.stamps);
                        let mut told = (None, None);
                        if let Some(stamps) = stamps.filter(|it| it.before == it.after) {
                            let name = judge.moves.name(place);
                            let file = Looked::new(name, &task.path, &stamps.after);
                            let judged = self.earlier.borrow_mut().judge(file, None, &digest)?;
                            told = (judged.doubt.map(|it| it.0), judged.then);
                        }
                        judge.moves.hashed(place, digest, told);
                    }
                }
                Event::Note(()) | Event::Pause => {}
                Event::Cancelled => return Err(Error::cancelled()),
            }
        }
        Ok(())
    }
}

/// Files to read.
pub(crate) struct Tasks<I>(pub(crate) I);

impl<A: Send + 'static, I: Iterator<Item = Task<A>>> Source for Tasks<I> {
    type About = A;
    type Note = ();

    fn next(&mut self) -> Option<Item<A, ()>> {
        self.0.next().map(Item::File)
    }
}
