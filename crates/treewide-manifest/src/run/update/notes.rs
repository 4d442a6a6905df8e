//! Paths that are not hashed: what is recorded of them, and the verdicts on them.

use crate::error::Error;
use crate::format::record::{Record, Type, What};
use crate::run::join::{Note, Resumed};
use crate::run::judge::{Judge, observed};
use crate::run::moves::{New, about};
use crate::run::read::Read;
use crate::run::update::Run;
use crate::run::verdict::{Evidence, Verdict};

impl Run<'_> {
    pub(super) fn note(&mut self, note: Note, judge: &mut Judge<'_>) -> Result<(), Error> {
        match note {
            Note::Unread(record) => {
                if let What::File(was) = &record.what {
                    self.guard.found(&record.name, was, true);
                }
                self.write(&record)?;
                judge.unread(record);
                Ok(())
            }
            Note::Back(back) => {
                match &back.was {
                    None => self.new_file(&back.record.name, 1),
                    Some(Record { name, what: What::File(was), .. }) => {
                        self.guard.found(name, was, false);
                    }
                    Some(_) => {}
                }
                judge.back(&back);
                self.write(&back.record)
            }
            Note::Other(both) => {
                let (record, entry) = *both;
                let (verdict, now) = judge.other(&record, &entry);
                if let Verdict::Unreadable(_) = verdict {
                    return self.keep(record, verdict, judge);
                }
                let now = now.or_else(|| observed(&entry, self.rules).ok());
                if let (Some(now), Verdict::ReplacedType { .. }) = (&now, &verdict) {
                    self.guard.gone(&record);
                    judge.gone(record, Ok(Some(entry.kind())));
                    judge.new_path(New::of(now.clone(), Some(Evidence::Metadata)));
                } else {
                    judge.tell(about(entry.name(), entry.kind(), verdict));
                }
                now.map_or(Ok(()), |now| self.write(&now))
            }
            Note::Gone(record, Ok(Some(there)))
                if there == record.kind() && self.is_left_out(&record) =>
            {
                judge.report.uncovered += 1;
                Ok(())
            }
            Note::Gone(mut record, there) => match judge.gone(record.clone(), there) {
                Some(Verdict::Unreadable(_)) => {
                    record.distrust();
                    self.write(&record)
                }
                Some(Verdict::NotCheckable(cause)) => self.unmatched(&record, &cause),
                _ => {
                    self.guard.gone(&record);
                    Ok(())
                }
            },
            Note::Below(record, cause) => self.keep(record, Verdict::Unreadable(cause), judge),
            Note::New(entry) => match observed(&entry, self.rules) {
                Ok(record) => {
                    self.added(&record, (None, None), judge);
                    self.write(&record)
                }
                Err(error) => {
                    judge.unreadable(entry.name(), entry.kind(), error.to_string());
                    Ok(())
                }
            },
            Note::Failed(Some(record), _, cause) => {
                self.keep(record, Verdict::Unreadable(cause), judge)
            }
            Note::Failed(None, name, cause) => {
                judge.unreadable(&name, Type::Unknown, cause);
                Ok(())
            }
            Note::Resumed(resumed) => {
                let Resumed { task, digest, facts, stamp } = *resumed;
                judge.report.files_resumed += 1;
                judge.report.bytes_resumed += facts.bytes;
                let xattrs = judge.xattrs(&task, &stamp);
                let also = facts.also.clone();
                let read = xattrs.map(|xattrs| Read {
                    digest,
                    bytes: facts.bytes,
                    stamp: Some(stamp),
                    facts: Some(facts),
                    xattrs,
                    also,
                    linked: false,
                });
                self.compare(&task, &read);
                self.file(task, read, judge)
            }
            Note::Damaged(cause) => {
                // What is accepted was found before.
                if self.update.accepts_damage { Ok(()) } else { Err(self.guard.damaged(&cause)) }
            }
            Note::Broken(error) => Err(error),
        }
    }
}
