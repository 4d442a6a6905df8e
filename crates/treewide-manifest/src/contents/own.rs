//! Files of the first operand of `missing` that another one also leads to: they are gone with the first.

use crate::contents::facts::Facts;
use crate::contents::root::Root;
use crate::contents::roots::Roots;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treewide_files::name::os_path;

/// The files of the first operand.
pub(crate) struct Own {
    dir: PathBuf,
    /// By device and inode, how many names a file has here, and in all.
    names: HashMap<(u64, u64), (u64, u64)>,
}

/// Names of another operand, which is in this directory.
pub(crate) struct Names<'a> {
    own: &'a Own,
    dir: PathBuf,
    /// Where the last directory in these names is: names of a plain list may lead anywhere.
    last: (PathBuf, PathBuf),
    is_vague: bool,
}

impl Own {
    /// `None` if the first operand is a list that stands for its contents, wherever they are.
    pub(crate) fn of(roots: &Roots) -> Option<Self> {
        let (first, others) = roots.all.split_first()?;
        let is_contents = !first.has_all() && first.dir() == Some(Path::new(""));
        let dir = first.full().filter(|_| !is_contents)?;
        let mut own = Self { dir, names: HashMap::new() };
        let tree = first.tree().filter(|_| others.iter().any(Root::has_all));
        for stamp in tree.iter().flat_map(|it| it.files()).map(|it| &it.stamp) {
            let (here, all) = own.names.entry((stamp.device, stamp.inode)).or_default();
            (*here, *all) = (*here + 1, stamp.links);
        }
        Some(own)
    }

    /// `None` if the operand is the record of the first, or the first is its record.
    pub(crate) fn names_in(&self, root: &Root) -> Option<Names<'_>> {
        let dir = root.full().filter(|it| *it != self.dir)?;
        Some(Names { own: self, dir, last: Default::default(), is_vague: root.is_vague() })
    }
}

impl Names<'_> {
    /// Whether this is a name of a file of the first operand, and no other name stays if that goes.
    pub(crate) fn has(&mut self, name: &[u8], facts: &Facts) -> bool {
        let Ok(name) = os_path(name) else { return false };
        let path = self.dir.join(name);
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.is_vague && self.last.0 != parent {
            self.last = (parent.into(), parent.canonicalize().unwrap_or(parent.into()));
        }
        let place = if self.is_vague { &self.last.1 } else { &path };
        // The same directory can be there twice, such as by a mount, or a link that a manifest follows.
        let inode = facts.inode.filter(|it| it.list == 0);
        let names = inode.and_then(|it| self.own.names.get(&(it.device, it.inode)));
        place.starts_with(&self.own.dir) || names.is_some_and(|(here, all)| *all > 0 && all <= here)
    }
}
