//! Decides in the end whether a new manifest loses anything, and completes it.

use crate::error::Error;
use crate::format::record::Type;
use crate::keep::draft::{Draft, Totals};
use crate::run::against::Compared;
use crate::run::judge::Judge;
use crate::run::update::Run;
use crate::run::verdict::{Class, Report};
use crate::tree::scan::Seen;
use std::sync::atomic::Ordering;

impl Run<'_> {
    /// After the last event: decides whether the new manifest loses anything, and completes it.
    pub(super) fn end(
        mut self,
        mut judge: Judge<'_>,
        seen: &Seen,
    ) -> Result<(Report, Totals, Draft, Option<Compared>), Error> {
        let against = self.update.against.as_ref();
        let compared = against.map(|against| {
            self.compared.end(against, self.guard.dir);
            std::mem::take(&mut self.compared)
        });
        let mut moved = judge.moves.lost_and_found();
        let findings = judge.settle();
        for it in findings.iter().filter(|it| it.kind == Type::File) {
            if let (Class::Moved | Class::Renamed, Some(from)) =
                (it.verdict.class(), it.verdict.from())
            {
                moved.push((from.to_vec(), it.name.clone()));
            }
        }
        for (from, to) in moved.iter().map(|(from, to)| (from, to)) {
            self.guard.moved(from, to);
        }
        self.guard.check()?;
        for finding in findings {
            judge.tell(finding);
        }
        let report = &mut judge.report;
        report.leftovers = seen.leftovers.load(Ordering::Relaxed);
        report.links = self.links;
        report.oldest = self.oldest;
        let matched = seen.excluded.get().into_iter().flatten();
        let idle =
            self.rules.exclude.iter().zip(matched).filter(|(_, it)| !it.load(Ordering::Relaxed));
        report.idle_rules = idle.map(|(glob, _)| glob.clone()).collect();
        let accepts = self.update.accept_rot.texts().iter().zip(&self.accepts);
        report.idle_accepts = accepts.filter(|it| !it.1).map(|(glob, _)| glob.clone()).collect();
        let accepts_damage = self.update.accepts_damage;
        let past = (self.earlier.borrow_mut().past.take(), self.additions);
        let totals = self.draft.complete(&mut self.lines, past, accepts_damage)?;
        if let Some(past) = &self.draft.past {
            report.past_damage = past.said();
            report.past_note.clone_from(&past.note);
        }
        if compared.as_ref().is_some_and(|it| !it.is_success()) {
            self.draft.withhold("is not written, as files are not as they are listed");
        }
        Ok((judge.finish(), totals, self.draft, compared))
    }
}
