//! Files of the first operand of `missing` that another one also leads to: they are gone with the first.

use crate::contents::entry::Kind;
use crate::contents::facts::{Facts, Inode};
use crate::contents::links::Links;
use crate::contents::root::Root;
use crate::contents::roots::Roots;
use crate::contents::unnumbered::Unnumbered;
use crate::error::Error;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::name::os_path;
use treewide_files::{Options, Stamp};

/// The files of the first operand.
#[derive(Default)]
pub(crate) struct Own {
    /// Where they are, if they are here.
    dir: Option<PathBuf>,
    /// Whether there is one other operand.
    is_pair: bool,
    inodes: HashSet<u64>,
    /// By device and inode now, how many names a file has here, and in all.
    now: HashMap<(u64, u64), (u64, u64)>,
    /// The same by recorded inode and ctime.
    recorded: HashMap<(u64, i64), (u64, u64)>,
    /// Recorded inodes and ctimes with the hash of each name.
    named: HashSet<(u64, i64, u64)>,
    /// Their names and contents, if another operand may have no inodes.
    unnumbered: Option<Unnumbered>,
}

/// Names of another operand.
pub(crate) struct Names<'a> {
    own: &'a Own,
    dir: Option<PathBuf>,
    /// Where the last directory in these names is: names of a plain list may lead anywhere.
    last: (PathBuf, PathBuf),
    is_vague: bool,
    is_list: bool,
    root: &'a Root,
    /// Whether it is a manifest without inodes, and most of its files are those of the first operand.
    is_record: bool,
    /// How many of its names had no inode, and were taken for files of the first operand.
    pub(crate) unnumbered: u64,
}

impl Own {
    /// `None` if the first operand is a plain list: nothing says where its files are.
    pub(crate) fn of(roots: &Roots, options: &Options) -> Result<Option<Self>, Error> {
        let Some((first, others)) = roots.all.split_first() else { return Ok(None) };
        if !first.has_all() && first.dir() == Some(Path::new("")) {
            return Ok(None);
        }
        let mut own = Self { dir: first.full(), is_pair: others.len() == 1, ..Self::default() };
        let asks = own.dir.is_some() && others.iter().any(|it| it.dir().is_some());
        // The record of the first is compared if there is nothing else.
        let away = others.len() > 1 && others.iter().any(Root::is_away);
        let mut unnumbered = away.then(|| Unnumbered::new(first));
        let mut links = Links::of(first);
        first.each(0, options, &mut |name, kind| {
            let Kind::File(digest, facts) = kind else { return Ok(()) };
            // A file that a link leads to stays.
            if links.as_mut().is_some_and(|it| it.has(name)) {
                return Ok(());
            }
            if let (Some(unnumbered), Some(digest)) = (&mut unnumbered, digest) {
                let path = if first.is_list() { None } else { roots.path(0, name) };
                let now = facts.inode.map(|it| it.device).zip(path.as_deref());
                unnumbered.add(name, &digest, facts.inode.is_some(), now);
            }
            let is_now = facts.inode.is_some_and(|it| it.list == 0);
            let here = || roots.inode(&[&0_u32.to_be_bytes(), name].concat());
            let now = if asks && !is_now { here() } else { facts.inode.filter(|_| is_now) };
            if let Some(it) = now {
                let (here, all) = own.now.entry((it.device, it.inode)).or_default();
                (*here, *all) = (*here + 1, it.links.max(*all));
            }
            if let Some(time) = facts.inode.and_then(|it| it.time()) {
                let (here, all) = own.recorded.entry(time).or_default();
                let links = [facts.inode, now].map(|it| it.map_or(0, |it| it.links));
                (*here, *all) = (*here + 1, links[0].max(links[1]).max(*all));
                own.named.insert((time.0, time.1, hash(name)));
            }
            own.inodes.extend([facts.inode, now].iter().flatten().map(|it| it.inode));
            Ok(())
        })?;
        own.unnumbered = unnumbered;
        Ok(Some(own))
    }

    /// `None` if the operand alone is the record of the first, or the first is its record.
    pub(crate) fn names_in<'a>(
        &'a self,
        root: &'a Root,
        options: &Options,
    ) -> Result<Option<Names<'a>>, Error> {
        let dir = root.full();
        let is_same = dir.is_some() && dir == self.dir;
        if is_same && (self.is_pair || !root.is_list()) {
            return Ok(None);
        }
        let (is_vague, is_list) = (root.is_vague(), root.is_list());
        let unnumbered = self.unnumbered.as_ref().filter(|_| root.is_away());
        let is_record = unnumbered.map_or(Ok(false), |it| it.is_record(root, options))?;
        let (last, unnumbered) = Default::default();
        Ok(Some(Names { own: self, dir, last, is_vague, is_list, root, is_record, unnumbered }))
    }
}

impl Names<'_> {
    /// Whether this is a name of a file of the first operand, and no other name stays if that goes.
    pub(crate) fn has(
        &mut self,
        name: &[u8],
        digest: Option<&[u8; OUT_LEN]>,
        facts: &Facts,
    ) -> bool {
        if facts.inode.is_none()
            && self.root.is_away()
            && let Some((own, digest)) = self.own.unnumbered.as_ref().zip(digest)
        {
            let is_it = self.is_record || own.has(self.root, name, digest);
            self.unnumbered += u64::from(is_it);
            return is_it;
        }
        let now = if self.is_list { None } else { facts.inode };
        let Some(path) = self.dir.as_ref().and_then(|it| Some(it.join(os_path(name).ok()?))) else {
            return self.is_recorded(name, facts);
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.is_vague && self.last.0 != parent {
            self.last = (parent.into(), parent.canonicalize().unwrap_or(parent.into()));
        }
        let place = if self.is_vague { &self.last.1 } else { &path };
        if self.own.dir.as_ref().is_some_and(|it| place.starts_with(it)) {
            return true;
        }
        // The same directory can be there twice, such as by a mount, or a link leads to a file.
        let may_be = facts.inode.is_none_or(|it| self.own.inodes.contains(&it.inode));
        let asks = self.is_list && may_be && !self.own.now.is_empty();
        let stamp = if asks { Stamp::at(&path, true).ok() } else { None };
        match now.or(stamp.and_then(|it| Inode::of(&it))) {
            Some(it) if !self.own.now.is_empty() => {
                is_all(self.own.now.get(&(it.device, it.inode)), it.links)
            }
            _ => self.is_recorded(name, facts),
        }
    }

    /// Whether this is a file of the first operand by the numbers that a list has. Under its name it is from a record of the first:
    /// that is compared if there is nothing else.
    fn is_recorded(&self, name: &[u8], facts: &Facts) -> bool {
        let Some(inode) = facts.inode else { return false };
        let Some(time) = inode.time() else { return false };
        let is_record = self.own.named.contains(&(time.0, time.1, hash(name)));
        !(is_record && self.own.is_pair) && is_all(self.own.recorded.get(&time), inode.links)
    }
}

/// Whether all names of a file are in the first operand, as far as that is known.
fn is_all(names: Option<&(u64, u64)>, links: u64) -> bool {
    names.is_some_and(|(here, all)| links.max(*all) <= *here)
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
