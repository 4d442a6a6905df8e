//! Writes new records, and where something is mounted.

use crate::error::Error;
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, What};
use crate::keep::past::past_path;
use crate::run::join::About;
use crate::run::update::Run;
use std::path::{Path, PathBuf};
use treewide_files::{Kind, Stamp, Task};

impl Run<'_> {
    pub(super) fn write(&mut self, record: &Record) -> Result<(), Error> {
        if let What::File(FileRecord { facts: Some(Facts { read: Some(day), .. }), .. }) =
            &record.what
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
        let noted = self.additions.new_record(record);
        noted.map_err(|error| Error::write(past_path(self.draft.path()), error))?;
        self.draft.add(record, &mut self.lines)
    }

    /// Notes the place that a file of another device is mounted at, or in.
    pub(super) fn note_mount(&mut self, task: &Task<About>) {
        let Kind::Found(identity) = task.kind else { return };
        let device = identity.numbers().0;
        let is_known = |(it, at): &(u64, PathBuf)| *it == device && task.path.starts_with(at);
        // On Windows, a walk does not know it.
        if device == 0 || device == self.device || self.mounted.as_ref().is_some_and(is_known) {
            return;
        }
        let is_mounted = |it: &&Path| Stamp::at(it, true).is_ok_and(|it| it.device == device);
        let Some(at) = task.path.ancestors().skip(1).take_while(is_mounted).last() else { return };
        self.lines.mount(&name::relative(at, self.guard.dir));
        self.mounted = Some((device, at.to_owned()));
    }
}
