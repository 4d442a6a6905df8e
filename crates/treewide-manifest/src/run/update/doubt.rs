//! Keeps old records where the content of a file is in doubt, or not known.

use crate::error::Error;
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::format::trust::Key;
use crate::run::guard::Guard;
use crate::run::guard::like::{Like, like_read};
use crate::run::judge::{Judge, Read};
use crate::run::moves::about;
use crate::run::update::Run;
use crate::run::verdict::Verdict;
use treewide_files::Stamp;

impl Run<'_> {
    /// The verdict on a file and its record, if both are [those of another name](crate::run::known::Known::of_another).
    pub(super) fn of_another(
        &mut self,
        name: &[u8],
        read: &Read,
        judge: &mut Judge<'_>,
    ) -> Result<Option<(Verdict, FileRecord)>, Error> {
        let Some(stamp) = &read.stamp else { return Ok(None) };
        let found = self.known.of_another(name, stamp, &read.digest)?;
        let Some((verdict, Record { name: from, what: What::File(was), .. })) = found else {
            return Ok(None);
        };
        judge.moves.doubted(&from);
        Ok(Some((verdict, was)))
    }

    /// The record of a path stays, without its key, because the path cannot be looked at.
    pub(super) fn keep(
        &mut self,
        mut record: Record,
        verdict: Verdict,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        if let What::File(FileRecord { facts, .. }) = &mut record.what {
            match facts {
                Some(facts) => facts.distrust(),
                None => *facts = Some(Facts::of(0)),
            }
        }
        self.guard.found(&record, Like::Here);
        judge.record(&record, verdict);
        match &record.what {
            What::Unknown(cause) => self.guard.unmatched(&record, cause),
            _ => self.write(&record),
        }
    }

    /// Whether the new content of a doubtful file is accepted.
    pub(super) fn accepts(&mut self, name: &[u8]) -> bool {
        self.update.accept_rot.note(name, false, &mut self.accepts);
        self.update.accept_rot.cover(name, false)
    }

    /// Whether the rules leave out a path that is there, and that the manifest of this guard records.
    pub(super) fn is_left_out(&self, record: &Record, guard: &Guard<'_>) -> bool {
        let name = record.bare();
        let is_hidden = || name.split(|byte| *byte == b'/').any(|part| part.starts_with(b"."));
        let is_elsewhere = || {
            let there = Stamp::at(&self.guard.dir.join(name::path(name)), self.rules.follow);
            there.is_ok_and(|it| it.device != self.device)
        };
        self.excluded.cover(name, record.kind() == Type::Directory)
            || !self.rules.hidden && is_hidden()
            || self.rules.one_file_system && !guard.hides(record) && is_elsewhere()
    }

    /// Reports a doubt, and lets the new record have the old digest unless the doubt is accepted.
    pub(super) fn doubt(
        &mut self,
        new: &mut Record,
        verdict: Verdict,
        mut was: FileRecord,
        judge: &mut Judge<'_>,
    ) {
        if !self.accepts(&new.name) {
            // It is read each time, and found again, until it is accepted.
            was.facts.get_or_insert(Facts::of(0)).read = None;
            new.what = What::File(was);
            judge.report.files_kept += 1;
        }
        judge.tell(about(&new.name, Type::File, verdict));
    }
}

/// How the file is like the one that was recorded.
pub(super) fn like(record: &Record, read: &Read) -> Like {
    let (What::File(was), Some(stamp)) = (&record.what, &read.stamp) else { return Like::Here };
    like_read(was, &read.digest, read.bytes, Key::of(stamp).as_ref())
}
