//! The operands of `check`, and what is known of them before a run.

use crate::shell::progress::Progress;
use crate::shell::stdin::is_stdin;
use std::path::PathBuf;
use treewide_digests::{List, Reading};
use treewide_files::check::ListedFiles;
use treewide_files::list::Lines;
use treewide_files::{Item, Other, Source};

/// A list of at most this many bytes is read twice, to know how many bytes there will be.
const READ_TWICE: u64 = 64 << 10;

/// A source whose files are counted when they are found.
pub(super) struct Counted<'a, S>(pub(super) S, pub(super) &'a Progress);

impl<S: Source> Source for Counted<'_, S> {
    type About = S::About;
    type Note = S::Note;

    fn next(&mut self) -> Option<Item<S::About, S::Note>> {
        let item = self.0.next();
        match &item {
            Some(Item::File(_)) => self.1.found(),
            Some(Item::Note(_)) => {}
            None => self.1.has_found_all(),
        }
        item
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait()
    }

    fn bytes(item: &Item<S::About, S::Note>) -> usize {
        S::bytes(item)
    }

    fn other(about: &mut S::About) -> Option<&mut dyn Other> {
        S::other(about)
    }
}

/// The bytes that there are to hash, as far as the lengths of files say.
///
/// `None` if a list is standard input or a pipe, which can be read only once, and not here; or if it is so long that reading
/// it twice would cost time.
pub(super) fn total_len(lists: &[PathBuf], reading: Reading) -> Option<u64> {
    let mut total = 0;
    for path in lists {
        if is_stdin(path) {
            return None;
        }
        let Ok(metadata) = path.metadata() else { continue };
        if !metadata.is_file() || metadata.len() > READ_TWICE {
            return None;
        }
        let lines = Lines::open(path).ok()?;
        let mut files = ListedFiles::new(lines, List::new(path, reading), false);
        while let Some(item) = files.next() {
            if let Item::File(task) = item
                && let Ok(metadata) = task.path.metadata()
                && metadata.is_file()
            {
                total += metadata.len();
            }
        }
    }
    Some(total)
}
