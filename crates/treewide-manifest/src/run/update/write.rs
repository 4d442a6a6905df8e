//! Writes new records, and where something is mounted.

use crate::error::Error;
use crate::format::record::{Record, What};
use crate::keep::past::past_path;
use crate::run::update::Run;

impl Run<'_> {
    pub(super) fn write(&mut self, record: &Record) -> Result<(), Error> {
        if let Some(facts) = record.facts().filter(|it| it.doubt.is_none())
            && let Some(day) = &facts.read
        {
            self.oldest = Some(self.oldest.map_or(*day, |oldest| oldest.min(*day)));
        }
        self.mounts.retain(|mount| {
            // A file may be one as well.
            let is_it = mount.strip_suffix(b"/") == Some(&record.name);
            let is_below = *mount != record.name && record.name.starts_with(mount);
            let is_empty = !is_it && !is_below;
            if !is_empty {
                self.lines.mount(&mount[..mount.len() - 1]);
            }
            is_empty
        });
        let is_link = matches!(record.what, What::Link(_));
        self.links += u64::from(is_link && !self.rules.follow);
        let noted = self.additions.new_record(record);
        noted.map_err(|error| Error::write(past_path(self.draft.path()), error))?;
        self.draft.add(record, &mut self.lines)
    }
}
