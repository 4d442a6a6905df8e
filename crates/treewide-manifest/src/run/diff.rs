//! Compares two manifests. No file of either tree is needed.

use crate::ahead::Ahead;
use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Index, Manifest};
use crate::format::record::{FileRecord, Record, What};
use crate::format::xattrs::Xattrs;
use crate::run::earlier::{Earlier, Judged, Looked};
use crate::run::judge::{Judge, by_facts};
use crate::run::moves::{New, finding};
use crate::run::verdict::{Change, Evidence, Finding, Report, Then, Verdict};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use treewide_files::Cancel;

/// Compares `old` with `new`. `each` gets the verdict on every path; removed and added paths come last.
///
/// Files are compared by their digests. Links, directories and modes are compared if both have an index.
///
/// # Errors
/// If one of them cannot be read, or the run is cancelled.
pub fn diff(
    old: &Manifest,
    new: &Manifest,
    cancel: &Cancel,
    each: &mut dyn FnMut(Finding),
) -> Result<Report, Error> {
    let both_have_facts = old.has_index() && new.has_index();
    let (mut was, mut is) = (Side::new(old, both_have_facts)?, Side::new(new, both_have_facts)?);
    let xattrs = old.rules().xattrs.min(new.rules().xattrs);
    let mut judge = Judge::new(new.rules(), xattrs, each).of_claims();
    for manifest in [old, new] {
        if let Index::Ignored(cause) = manifest.index() {
            judge.report.damage = Some(cause.clone());
        }
    }
    let mut earlier = match both_have_facts {
        true => Earlier::of(old),
        false => Earlier::default(),
    };
    let mut count = 0_u64;
    loop {
        if count.is_multiple_of(1024) && cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        count += 1;
        let order = match (was.fill()?, is.fill()?) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(was), Some(is)) => was.name.cmp(&is.name),
        };
        match order {
            Ordering::Equal => {
                let (old, new) = (was.take(), is.take());
                let (verdict, then) = both(old, new, xattrs, &mut earlier)?;
                judge.tell(Finding { then, ..finding(new, verdict) });
            }
            Ordering::Less => {
                if let Some(finding) = judge.moves.gone(was.take().clone(), None) {
                    judge.tell(finding);
                }
            }
            Ordering::Greater => {
                let new = is.take();
                let judged = match &new.what {
                    What::File(it) => earlier.judge(Looked::of(new), None, &it.digest)?,
                    _ => Judged::default(),
                };
                let (told, then) = (judged.doubt.map(|it| it.0), judged.then);
                let new = New::of(new.clone(), Some(Evidence::Claimed));
                judge.new_path(New { told, then, ..new });
            }
        }
    }
    for side in [&mut was, &mut is] {
        if let Some(Ok(Some(damage))) = side.records.end() {
            judge.report.damage = Some(damage.clone());
        }
    }
    judge.report.past_damage = earlier.damage();
    let mut report = judge.finish();
    // Lists that were cut to nothing are equal; indexes say that trees are empty.
    report.nothing_checked = report.entries() == 0 && !both_have_facts;
    Ok(report)
}

fn both(
    was: &Record,
    is: &Record,
    xattrs: Xattrs,
    earlier: &mut Earlier,
) -> Result<(Verdict, Option<Then>), Error> {
    let verdict = match (&was.what, &is.what) {
        (What::Unknown(cause, _), _) | (_, What::Unknown(cause, _)) => {
            Verdict::NotCheckable(cause.clone())
        }
        (What::File(old), What::File(new)) => {
            let modes = |file: &FileRecord| file.facts.as_ref().and_then(|it| it.mode);
            match modes(old).zip(modes(new)) {
                _ if old.digest != new.digest => {
                    let is_timed = new.facts.as_ref().is_some_and(|it| it.timed().is_some());
                    let file = Looked::of(is).filter(|_| is_timed);
                    let (verdict, judged) = earlier.judge_other(file, old, &new.digest)?;
                    return Ok((verdict, judged.then));
                }
                Some((old, new)) if old != new => Verdict::Changed(Change::Mode(old, new)),
                _ => by_facts(was, is, xattrs),
            }
        }
        _ if was.kind() != is.kind() => Verdict::ReplacedType { was: was.kind() },
        _ => by_facts(was, is, xattrs),
    };
    Ok((verdict, None))
}

struct Side {
    records: Ahead<Record, Result<Option<String>, Error>>,
    /// Whether the last record is yet to be compared.
    is_full: bool,
    has_facts: bool,
}

/// Batches of records that are ready, at most.
const READY: usize = 4;

impl Side {
    fn new(manifest: &Manifest, has_facts: bool) -> Result<Self, Error> {
        let mut records = match has_facts {
            true => manifest.records()?,
            false => Manifest::of_list(manifest.list().clone()).records()?,
        };
        let records = Ahead::new("records", READY, move |record| match records.next_into(record) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(Ok(records.damage().map(str::to_owned))),
            Err(error) => ControlFlow::Break(Err(error)),
        });
        Ok(Self { records, is_full: false, has_facts })
    }

    /// The record that is to be compared. `None` at the end.
    fn fill(&mut self) -> Result<Option<&Record>, Error> {
        while !self.is_full {
            let Some(record) = self.records.next() else {
                return match self.records.end() {
                    Some(Ok(_)) => Ok(None),
                    Some(end) => std::mem::replace(end, Ok(None)).map(|_| None),
                    None => {
                        let cause = "the system has no thread for reading it; run it again".into();
                        Err(Error::new("", ErrorKind::List(cause)))
                    }
                };
            };
            self.is_full =
                self.has_facts || matches!(record.what, What::File(_) | What::Unknown(..));
        }
        Ok(Some(self.records.last()))
    }

    /// The record that was compared.
    fn take(&mut self) -> &Record {
        self.is_full = false;
        self.records.last()
    }
}
