//! Keeps old records where the content of a file is in doubt, or not known.

use crate::error::Error;
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::run::judge::Judge;
use crate::run::moves::about;
use crate::run::update::Run;
use crate::run::verdict::{Finding, Then, Verdict};
use treewide_files::Stamp;

impl Run<'_> {
    /// The record of a path stays, without its key and the day on which it was read, because the path cannot be looked at.
    pub(super) fn keep(
        &mut self,
        mut record: Record,
        verdict: Verdict,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        if let What::File(was) = &record.what {
            self.guard.found(&record.name, was, false);
        }
        judge.record(&record, verdict);
        if let What::Unknown(cause, _) = &record.what {
            return self.unmatched(&record, cause);
        }
        record.distrust();
        self.write(&record)
    }

    /// Whether the new content of a doubtful file is accepted.
    pub(super) fn accepts(&mut self, name: &[u8]) -> bool {
        self.update.accept_rot.note(name, false, &mut self.accepts);
        self.update.accept_rot.cover(name, false)
    }

    /// A record of no one knows which path. It cannot be kept.
    pub(super) fn unmatched(&self, record: &Record, cause: &str) -> Result<(), Error> {
        let is_accepted = self.update.accepts_damage;
        if is_accepted { Ok(()) } else { Err(self.guard.unmatched(record, cause)) }
    }

    /// Whether the rules leave out a path that is there and recorded.
    pub(super) fn is_left_out(&self, record: &Record) -> bool {
        let name = record.bare();
        let is_hidden = || name.split(|byte| *byte == b'/').any(|part| part.starts_with(b"."));
        let is_elsewhere = || {
            let there = Stamp::at(&self.guard.dir.join(name::path(name)), self.rules.follow);
            there.is_ok_and(|it| it.device != self.device)
        };
        // What is under a mount that was not there is not left out.
        let was_one = || self.guard.old.is_some_and(|it| it.rules().one_file_system);
        let is_hidden_now = || was_one() || self.guard.is_hidden(&record.name);
        self.excluded.cover(name, record.kind() == Type::Directory)
            || !self.rules.hidden && is_hidden()
            || self.rules.one_file_system && !is_hidden_now() && is_elsewhere()
    }

    /// Lets the new record have the old digest, unless the doubt is accepted. Returns the verdict.
    pub(super) fn doubt(
        &mut self,
        new: &mut Record,
        (verdict, then): (Verdict, Option<&Then>),
        mut was: FileRecord,
        judge: &mut Judge<'_>,
    ) -> Verdict {
        if self.accepts(&new.name) {
            new.accept();
            return Verdict::Accepted;
        }
        // It is read each time, and found again, until it is accepted.
        if let What::File(FileRecord { facts: Some(now), digest }) = &new.what {
            let facts = was.facts.get_or_insert(Facts::of(now.bytes));
            let its = facts.doubt.as_mut().filter(|_| verdict.from().is_some());
            its.into_iter().for_each(|it| it.said.clear());
            let finding = about(&new.name, Type::File, verdict.clone());
            let said = Finding { then: then.cloned(), ..finding }.told();
            facts.doubt(now.seen(), now.bytes, (*digest, said));
        }
        new.what = What::File(was);
        judge.report.files_kept += 1;
        verdict
    }
}
