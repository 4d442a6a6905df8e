//! Duplicates: files with the same content, and folders that are equal.

use crate::contents::entry::{EMPTY, Kind as Thing};
use crate::contents::facts::{Facts, Inode, first, last};
use crate::contents::folders::{Folder, Folders};
use crate::contents::group::{Group, Kind, Member};
use crate::contents::places::Places;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, runs};
use crate::contents::similar::Similar;
use crate::contents::sorter::{Sorted, Sorter};
use crate::contents::stages::Wanted;
use crate::contents::verified::Verified;
use crate::error::Error;
use crate::run::verdict::Evidence;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::{Options, name::os_path};

/// Bytes of a record that are the digest.
const KEY: usize = OUT_LEN;

/// Files of fewer bytes count as long as they are: holes in them are few bytes, and asking for each takes time. A guess.
const WITH_HOLES: u64 = 64 << 10;

/// Looks for duplicates. It reads, and changes nothing.
#[derive(Clone, Debug)]
pub struct Dupes {
    empty: bool,
    folders: bool,
    ignore_names: bool,
    similar: u8,
    verify: Evidence,
}

/// Duplicates that were found: an iterator over groups, most reclaimable bytes first.
#[derive(Debug)]
pub struct Found {
    roots: Roots,
    verified: Verified,
    totals: Totals,
    groups: Sorted,
}

/// All groups together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Groups of files.
    pub files: u64,
    /// Groups of folders.
    pub folders: u64,
    /// Files that could go: of each content all but one, with those in folders.
    pub redundant: u64,
    /// The bytes that would become free. A file with several names counts once, and not at all if one of its names stays.
    pub reclaimable: u64,
    /// Groups whose size no operand says.
    pub unknown: u64,
    /// Pairs of similar folders.
    pub similar: u64,
    /// Names of files that have another name in their group: hard links.
    pub links: u64,
}

impl Default for Dupes {
    fn default() -> Self {
        Self::new()
    }
}

impl Dupes {
    /// Without empty files; folders are compared by names and contents.
    pub fn new() -> Self {
        Self {
            empty: false,
            folders: true,
            ignore_names: false,
            similar: 0,
            verify: Evidence::Claimed,
        }
    }

    /// Whether empty files are a group.
    pub fn empty(self, empty: bool) -> Self {
        Self { empty, ..self }
    }

    /// Whether equal folders are groups. Without it, all files in them are.
    pub fn folders(self, folders: bool) -> Self {
        Self { folders, ..self }
    }

    /// Whether folders are compared by the contents in them alone. How deep these are counts.
    pub fn ignore_names(self, ignore: bool) -> Self {
        Self { ignore_names: ignore, ..self }
    }

    /// The least percentage of bytes that two folders share to be called similar. Without it, or with 0, none are.
    pub fn similar(self, percent: u8) -> Self {
        Self { similar: percent, ..self }
    }

    /// The least evidence for duplicates. With [`Evidence::Metadata`], a file of a list is read unless the system says that it is
    /// as recorded; with [`Evidence::Read`], all are read. Files that are not as recorded are not duplicates. Without this, lists are believed.
    pub fn verify(self, least: Evidence) -> Self {
        Self { verify: least, ..self }
    }

    /// Looks for duplicates in lists, manifests and directories.
    ///
    /// # Errors
    /// If an operand cannot be used, two are the same, or the run is cancelled.
    pub fn run<P: AsRef<Path>>(&self, operands: &[P], options: &Options) -> Result<Found, Error> {
        let mut roots = Roots::open(operands, options)?;
        roots.are_apart()?;
        let known = roots.sizes(options, false, &|_| true)?;
        roots.resolve(options, &|_, size| match known.has(size) {
            true => Wanted::Whole,
            false => Wanted::Alike,
        })?;
        let verified = match self.verify {
            Evidence::Read | Evidence::Metadata => {
                let files =
                    self.files(&roots, &Verified::default(), options, &mut |_, _, _| Ok(()))?;
                Verified::new(files, self.verify, &roots, options)?
            }
            _ => Verified::default(),
        };
        let mut folders = Sorter::new();
        let mut similar = Similar::new(self.similar);
        let has_all = roots.all.iter().all(Root::has_all);
        let mut open = None;
        let mut folder = |begin: [u8; 4], it: Folder| {
            similar.folder(begin, &it.name, it.size);
            if !self.folders || !it.is_comparable {
                return Ok(());
            }
            let size = it.size.unwrap_or(u64::MAX);
            let facts = [it.files.to_le_bytes(), size.to_le_bytes()].concat();
            folders.push(&[&it.digest, &begin, &it.name, &[0], &it.height.to_le_bytes(), &facts])
        };
        let files = self.files(&roots, &verified, options, &mut |begin, name, kind| {
            let new = || Folders::new(self.ignore_names, has_all);
            let (of, folders) = open.get_or_insert_with(|| (begin, new()));
            if *of != begin {
                std::mem::replace(folders, new()).finish(&mut |it| folder(*of, it))?;
            }
            *of = begin;
            folders.add(name, kind, &mut |it| folder(begin, it))
        })?;
        if let Some((begin, ended)) = open {
            ended.finish(&mut |it| folder(begin, it))?;
        }
        let mut covered = equal_folders(folders, &roots.places)?;
        let (mut totals, mut sorter) = (Totals::default(), Sorter::new());
        runs(&mut files.finish()?, (KEY, 2), options, &mut |run| {
            let group = of_run(run, &roots, &mut covered, &mut totals, &mut similar);
            group.map_or(Ok(()), |group| sorter.push(&[&group.to_record()]))
        })?;
        let place = |it: &[u8]| {
            let (root, name) = (u32::from_be_bytes(first(&mut &it[..4])), &it[4..]);
            roots.places.folder(root as usize, name)
        };
        let is_equal = |a: &[u8], b: &[u8]| {
            let (a, b) = (place(a), place(b));
            let is_same = Places::ends(&a).any(|it| it == b) || Places::ends(&b).any(|it| it == a);
            is_same || covered.of(&a).is_some() || covered.of(&b).is_some()
        };
        for group in similar.groups(&is_equal) {
            totals.similar += 1;
            sorter.push(&[&group.to_record()])?;
        }
        let groups = covered.groups.into_iter().zip(covered.has_copies);
        for group in groups.filter_map(|(group, is_shown)| is_shown.then_some(group)) {
            totals.add(&group);
            sorter.push(&[&group.to_record()])?;
        }
        roots.read = (roots.read.0 + verified.read.0, roots.read.1 + verified.read.1);
        Ok(Found { roots, verified, totals, groups: sorter.finish()? })
    }

    /// All files with a digest, to be sorted. `each` gets all that is below the operands.
    fn files(
        &self,
        roots: &Roots,
        verified: &Verified,
        options: &Options,
        each: &mut EachThing<'_>,
    ) -> Result<Sorter, Error> {
        let (mut files, mut end, mut path) = (Sorter::new(), Vec::new(), Vec::new());
        for (number, root) in (0_u32..).zip(&roots.all) {
            let begin = number.to_be_bytes();
            root.each_in_order(number, options, &mut |name, mut kind| {
                if let Thing::File(Some(digest), mut facts) = kind {
                    path.clear();
                    path.extend_from_slice(&begin);
                    path.extend_from_slice(name);
                    match verified.evidence(&path, facts.evidence) {
                        Some(evidence) => facts.evidence = evidence,
                        None => kind = Thing::File(None, facts),
                    }
                    if matches!(kind, Thing::File(Some(_), _)) && (self.empty || digest != EMPTY) {
                        end.clear();
                        end.push(0);
                        facts.push_to(&mut end);
                        files.push(&[&digest, &path, &end])?;
                    }
                }
                each(begin, name, &kind)
            })?;
        }
        Ok(files)
    }
}

impl Totals {
    fn add(&mut self, group: &Group) {
        *if group.kind == Kind::Files { &mut self.files } else { &mut self.folders } += 1;
        match group.reclaimable {
            Some(bytes) => self.reclaimable = self.reclaimable.saturating_add(bytes),
            None => self.unknown += 1,
        }
    }
}

/// Groups of folders, and the members of them that count as copies.
struct Covered {
    groups: Vec<Group>,
    /// Of each, whether a file in a copy is not only another name of a file that stays.
    has_copies: Vec<bool>,
    /// The group of a folder, by its place. The first member of a group is not here: its files count for themselves.
    copies: HashMap<Vec<u8>, usize>,
}

impl Covered {
    /// The group that stands for the file or folder at this place.
    fn of(&self, place: &[u8]) -> Option<usize> {
        if self.copies.is_empty() {
            return None;
        }
        Places::ends(place).find_map(|it| self.copies.get(it).copied())
    }
}

/// Groups equal folders. What is in a copy is not a group of its own, so parents come first.
fn equal_folders(folders: Sorter, places: &Places) -> Result<Covered, Error> {
    let mut found: Vec<(u32, Group)> = Vec::new();
    runs(&mut folders.finish()?, (KEY, 2), &Options::new(), &mut |run| {
        let (mut members, mut facts) = (Vec::new(), (0, 0, u64::MAX));
        for record in run {
            let mut rest = &record[KEY..];
            let [size, files] = std::array::from_fn(|_| u64::from_le_bytes(last(&mut rest)));
            let height = u32::from_le_bytes(last(&mut rest));
            let root = u32::from_be_bytes(first(&mut rest)) as usize;
            let name = rest[..rest.len() - 1].into();
            facts = (height, files, facts.2.min(size));
            members.push(Member { root, name, evidence: None, is_link: false });
        }
        let digest = first(&mut &run[0][..]);
        let (height, files, size) = facts;
        let size = (size != u64::MAX).then_some(size);
        let group =
            Group { kind: Kind::Folders, digest, size, files, reclaimable: Some(0), members };
        found.push((height, group));
        Ok(())
    })?;
    found.sort_by_key(|(height, _)| std::cmp::Reverse(*height));
    let mut covered =
        Covered { groups: Vec::new(), has_copies: Vec::new(), copies: HashMap::new() };
    for (_, mut group) in found {
        // A folder of two operands is one.
        let mut there: Vec<Vec<u8>> = Vec::new();
        let mut seen = HashSet::new();
        group.members.retain(|it| {
            let place = places.folder(it.root, &it.name);
            let is_new = covered.of(&place).is_none() && seen.insert(place.clone());
            if is_new {
                there.push(place);
            }
            is_new
        });
        if group.members.len() > 1 {
            let copies = there.into_iter().skip(1).map(|it| (it, covered.groups.len()));
            covered.copies.extend(copies);
            covered.groups.push(group);
            covered.has_copies.push(false);
        }
    }
    Ok(covered)
}

/// Gets all that is below the operands, each with its number and name.
type EachThing<'a> = dyn FnMut([u8; 4], &[u8], &Thing<'_>) -> Result<(), Error> + 'a;

/// Which names are of one file.
#[derive(Default)]
struct Same {
    /// Files by their places, and by their numbers. Lists can have different numbers of a file.
    places: HashMap<Vec<u8>, usize>,
    inodes: HashMap<((u32, i64), u64, u64), usize>,
    /// Of each place, an earlier one of the same file, or itself.
    files: Vec<usize>,
}

impl Same {
    /// Adds a name. Returns its number if its place is new.
    fn add(&mut self, place: Vec<u8>, inode: Option<Inode>) -> Option<usize> {
        let next = self.files.len();
        let at = *self.places.entry(place).or_insert(next);
        if at == next {
            self.files.push(at);
        }
        if let Some(Inode { of, device, inode, .. }) = inode {
            let other = *self.inodes.entry((of, device, inode)).or_insert(at);
            let (a, b) = (self.file(at), self.file(other));
            self.files[a.max(b)] = a.min(b);
        }
        (at == next).then_some(at)
    }

    /// The file at the place of this number.
    fn file(&self, mut at: usize) -> usize {
        while self.files[at] != at {
            at = self.files[at];
        }
        at
    }
}

/// The group of files with one content, without those in copies of folders, whose bytes are added to theirs.
fn of_run(
    run: &[Vec<u8>],
    roots: &Roots,
    covered: &mut Covered,
    totals: &mut Totals,
    similar: &mut Similar,
) -> Option<Group> {
    let mut names = Vec::with_capacity(run.len());
    let (mut same, mut size) = (Same::default(), None);
    for record in run {
        let facts = Facts::take(&mut &record[..]);
        let (path, mut rest) = (path_of(record), &record[KEY..]);
        let (root, name) = (u32::from_be_bytes(first(&mut rest)) as usize, &path[4..]);
        size = size.or(facts.size);
        let place = roots.places.file(root, name);
        let group = covered.of(&place);
        if let Some(at) = same.add(place, facts.inode) {
            names.push((group, root, name, facts, at));
        }
    }
    let mut links = vec![0_u64; names.len()];
    names.iter().for_each(|it| links[same.file(it.4)] += 1);
    let is_empty = run[0].starts_with(&EMPTY);
    let size = if is_empty { Some(0) } else { size };
    if let Some(size) = size.filter(|size| *size > 0) {
        similar.content(run.iter().map(|it| path_of(it)), size);
    }
    // Names that stay come first, so that a file which they keep is not reclaimable by another name.
    names.sort_by_key(|(group, ..)| group.is_some());
    let (mut members, mut freed, mut copies, mut all_free) = (Vec::new(), Vec::new(), 0, true);
    let mut seen = HashSet::with_capacity(names.len());
    for (group, root, name, facts, at) in names {
        let file = same.file(at);
        let (here, is_link) = (links[file], !seen.insert(file));
        // A file with a name elsewhere stays where it is.
        let is_free = facts.inode.is_none_or(|it| it.links <= here);
        let real = || size.map(|size| if is_free { on_disk(roots, root, name, size) } else { 0 });
        if let Some(group) = group {
            if !is_link {
                covered.has_copies[group] = true;
                let into = &mut covered.groups[group].reclaimable;
                *into = into.zip(real()).map(|(a, b)| a.saturating_add(b));
                totals.redundant += 1;
            }
            continue;
        }
        if is_link {
            totals.links += 1;
        } else {
            copies += 1;
            freed.push(real());
            all_free &= is_free;
        }
        members.push(Member { root, name: name.into(), evidence: Some(facts.evidence), is_link });
    }
    if copies < 2 {
        return None;
    }
    // One stays: one that is not free in any case, or else the first.
    let skip = usize::from(all_free);
    let mut freed = freed.into_iter().skip(skip);
    let reclaimable = freed.try_fold(0_u64, |all, it| Some(all.saturating_add(it?)));
    totals.redundant += copies - 1;
    let digest = first(&mut &run[0][..]);
    let group = Group { kind: Kind::Files, digest, size, files: 1, reclaimable, members };
    totals.add(&group);
    Some(group)
}

/// The operand and name in a record of a file.
fn path_of(record: &[u8]) -> &[u8] {
    let mut rest = &record[KEY..];
    Facts::take(&mut rest);
    &rest[..rest.len() - 1]
}

/// The bytes that a file takes: fewer than it is long if it has holes.
fn on_disk(roots: &Roots, root: usize, name: &[u8], size: u64) -> u64 {
    if size >= WITH_HOLES
        && let Some(tree) = roots.all[root].tree()
        && let Ok(name) = os_path(name)
        && let Ok(there) = tree.dir().join(name).symlink_metadata()
    {
        return size.min(allocated(&there));
    }
    size
}

#[cfg(unix)]
fn allocated(there: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(there).saturating_mul(512)
}

/// Elsewhere holes are not known.
#[cfg(not(unix))]
fn allocated(there: &Metadata) -> u64 {
    there.len()
}

impl Found {
    /// The operands, in their order.
    pub fn roots(&self) -> &[Root] {
        &self.roots.all
    }

    /// All groups together.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Paths that could not be read, and why. Each may be a copy of anything.
    pub fn unreadable(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.roots.unreadable()
    }

    /// Files that are not as their lists record them, and why, with [`Dupes::verify`]. They are in no group.
    pub fn changed(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.verified.changed.iter().map(|(path, cause)| (&**path, &**cause))
    }

    /// How many files were read to their ends, and how many bytes.
    pub fn read(&self) -> (u64, u64) {
        self.roots.read
    }

    /// The path of a member, if its directory is here. The name alone is not one where two operands have it.
    pub fn path(&self, member: &Member) -> Option<PathBuf> {
        self.roots.path(member.root, &member.name)
    }
}

impl Iterator for Found {
    type Item = Result<Group, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.groups.next().map(|record| record.map(Group::of_record)).transpose()
    }
}
