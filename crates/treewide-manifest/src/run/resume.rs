//! Resumes an interrupted run: files that it has read are not read again if they still have their keys.

use crate::format::also;
use crate::format::name;
use crate::format::record::FileRecord;
use crate::keep::journal::Taken;
use crate::keep::outboards::Outboards;
use crate::run::join::{About, Join, Note, Resumed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treewide_digests::Algorithm;
use treewide_files::{Item, Other, Source, Stamp};

/// A tree and its manifest, as in [`Join`], without the files that a run before this one has read.
pub(crate) struct Resuming {
    join: Join,
    taken: Option<Taken>,
    root: PathBuf,
    follows: bool,
    modes: bool,
    outboards: Option<Outboards>,
    also: Arc<[Algorithm]>,
}

impl Resuming {
    /// `follows` and `modes` are those of the rules. A file is read if one of the digests `also` was not found.
    pub(crate) fn new(
        join: Join,
        taken: Option<Taken>,
        root: &Path,
        (follows, modes): (bool, bool),
        outboards: Option<Outboards>,
        also: Arc<[Algorithm]>,
    ) -> Self {
        Self { join, taken, root: root.to_owned(), follows, modes, outboards, also }
    }

    /// What was found of the file, if it still has the key that it had.
    fn find(&mut self, path: &Path) -> Option<(FileRecord, Stamp)> {
        let found = self.taken.as_mut()?.find(&name::relative(path, &self.root))?;
        let facts = found.facts.as_ref()?;
        let stamp = Stamp::at(path, self.follows).ok()?;
        let is_as_it_was = stamp.is_file
            && stamp.len == facts.bytes
            && facts.key.as_ref()?.is_of(&stamp)
            && facts.mode == self.modes.then_some(stamp.mode)
            && also::has_all(&facts.also, &self.also)
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
        match self.find(&task.path) {
            Some((FileRecord { digest, facts: Some(mut facts) }, stamp)) => {
                facts.also.retain(|(algorithm, _)| self.also.contains(algorithm));
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
