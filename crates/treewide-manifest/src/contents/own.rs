//! Files of the first operand of `missing` that another one also leads to: they are gone with the first.

use crate::contents::facts::Facts;
use crate::contents::root::{From, Root};
use crate::contents::roots::{Roots, full_dir};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treewide_files::name::os_path;

/// The files of the first operand.
pub(crate) struct Own {
    dir: Option<PathBuf>,
    /// By device and inode, how many names a file has here, and in all.
    names: HashMap<(u64, u64), (u64, u64)>,
}

/// Names of another operand, below its directory.
pub(crate) struct Names<'a> {
    own: &'a Own,
    dir: PathBuf,
    /// Names of a plain list may lead anywhere, and the same few directories come again and again.
    parents: Option<HashMap<PathBuf, bool>>,
}

impl Own {
    pub(crate) fn of(roots: &Roots) -> Self {
        let Some((first, others)) = roots.all.split_first() else {
            return Self { dir: None, names: HashMap::new() };
        };
        // A plain list without a directory of its name stands for its contents, wherever they are.
        let has_dir = first.dir().is_some_and(|it| !it.as_os_str().is_empty());
        let mut names = HashMap::new();
        let tree = first.tree().filter(|_| others.iter().any(Root::has_all));
        for stamp in tree.iter().flat_map(|it| it.files()).map(|it| &it.stamp) {
            let (here, all) = names.entry((stamp.device, stamp.inode)).or_default();
            (*here, *all) = (*here + 1, stamp.links);
        }
        Self { dir: full_dir(first).filter(|_| has_dir), names }
    }

    /// What is looked for in an operand; `None` if it is the record of the first, or the first is its record.
    pub(crate) fn names_in(&self, root: &Root) -> Option<Names<'_>> {
        let (own, dir) = (self.dir.as_ref()?, full_dir(root)?);
        let parents = matches!(root.from, From::List).then(HashMap::new);
        (*own != dir).then_some(Names { own: self, dir, parents })
    }
}

impl Names<'_> {
    /// Whether this is a name of a file of the first operand, and no other name stays if that goes.
    pub(crate) fn has(&mut self, name: &[u8], facts: &Facts) -> bool {
        let Some(own) = &self.own.dir else { return false };
        let Ok(name) = os_path(name) else { return false };
        let path = self.dir.join(name);
        let is_below = match &mut self.parents {
            None => path.starts_with(own),
            Some(parents) => {
                let parent = path.parent().unwrap_or(Path::new(""));
                let known = parents.get(parent).copied();
                known.unwrap_or_else(|| {
                    let full = parent.canonicalize();
                    let is_below = full.as_deref().unwrap_or(parent).starts_with(own);
                    parents.insert(parent.into(), is_below);
                    is_below
                })
            }
        };
        // The same directory can be there twice, such as by a mount, or a link that a manifest follows.
        let inode = facts.inode.filter(|it| it.of.0 == 0);
        let names = inode.and_then(|it| self.own.names.get(&(it.device, it.inode)));
        is_below || names.is_some_and(|(here, all)| *all > 0 && all <= here)
    }
}
