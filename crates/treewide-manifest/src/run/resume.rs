//! Resumes an interrupted run: files that it has read are not read again if they still have their keys.

use crate::format::also;
use crate::format::name;
use crate::format::record::FileRecord;
use crate::keep::journal::Taken;
use crate::keep::outboards::Outboards;
use crate::run::join::{About, Join, Note, Resumed};
use std::path::{Path, PathBuf};
use treewide_digests::{Algorithm, Wanted};
use treewide_files::{Item, Other, Source, Stamp};

/// A tree and its manifest, as in [`Join`], without the files that a run before this one has read.
pub(crate) struct Resuming {
    join: Join,
    taken: Option<Taken>,
    root: PathBuf,
    follows: bool,
    modes: bool,
    outboards: Option<Outboards>,
}

impl Resuming {
    /// `follows` and `modes` are those of the rules.
    pub(crate) fn new(
        join: Join,
        taken: Option<Taken>,
        root: &Path,
        (follows, modes): (bool, bool),
        outboards: Option<Outboards>,
    ) -> Self {
        Self { join, taken, root: root.to_owned(), follows, modes, outboards }
    }

    /// What was found of the file, if it still has the key that it had and there are all digests that are wanted.
    fn find(&mut self, path: &Path, wanted: &[Algorithm]) -> Option<(FileRecord, Stamp)> {
        let found = self.taken.as_mut()?.find(&name::relative(path, &self.root))?;
        let facts = found.facts.as_ref()?;
        let stamp = Stamp::at(path, self.follows).ok()?;
        let is_as_it_was = stamp.is_file
            && stamp.len == facts.bytes
            && facts.key.as_ref()?.is_of(&stamp)
            && facts.mode == self.modes.then_some(stamp.mode)
            && also::has_all(&facts.also, wanted)
            && self.outboards.as_ref().is_none_or(|it| it.has(&found.digest, facts.bytes));
        is_as_it_was.then_some((found, stamp))
    }
}

impl Source for Resuming {
    type About = About;
    type Note = Note;

    fn next(&mut self) -> Option<Item<About, Note>> {
        let item = self.join.next()?;
        let Item::File(task) = item else { return Some(item) };
        let wanted = task.about.also.as_deref().map_or(&[][..], Wanted::algorithms);
        match self.find(&task.path, wanted) {
            Some((FileRecord { digest, facts: Some(mut facts) }, stamp)) => {
                facts.also.retain(|(algorithm, _)| wanted.contains(algorithm));
                Some(Item::Note(Note::Resumed(Box::new(Resumed { task, digest, facts, stamp }))))
            }
            _ => Some(Item::File(task)),
        }
    }

    fn other(about: &mut About) -> Option<&mut dyn Other> {
        Join::other(about)
    }

    fn bytes(item: &Item<About, Note>) -> usize {
        Join::bytes(item)
    }
}
