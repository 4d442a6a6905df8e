//! The files that lists name, for the progress.

use std::path::PathBuf;
use treewide_digests::{List, Reading};
use treewide_files::check::ListedFiles;
use treewide_files::list::Lines;
use treewide_files::{Item, Source};

/// The files of all lists; a list itself if it can be read only once, and not here.
pub(super) fn listed(lists: Vec<PathBuf>, reading: Reading) -> impl Iterator<Item = PathBuf> {
    lists.into_iter().flat_map(move |path| {
        let lines = Some(&path).filter(|it| it.is_file()).and_then(|it| Lines::open(it).ok());
        let mut files = lines.map(|it| ListedFiles::new(it, List::new(&path, reading), false));
        let is_unread = files.is_none();
        let named = std::iter::from_fn(move || {
            loop {
                if let Item::File(task) = files.as_mut()?.next()? {
                    return Some(task.path);
                }
            }
        });
        named.chain(is_unread.then_some(path))
    })
}
