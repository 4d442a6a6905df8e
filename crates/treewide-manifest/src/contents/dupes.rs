//! Duplicates: files with the same content, and folders that are equal.

use crate::contents::entry::{EMPTY, Kind as Thing, ROOT, parents, split};
use crate::contents::facts::{Facts, last};
use crate::contents::folders::{Folder, Folders};
use crate::contents::group::{Group, Kind, Member};
use crate::contents::links::Links;
use crate::contents::numbers::Numbers;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, Run, runs};
use crate::contents::similar::Similar;
use crate::contents::sorter::{Sorted, Sorter};
use crate::contents::stages::{Wanted, resolve};
use crate::contents::unnumbered::Twins;
use crate::contents::verified::Verified;
use crate::error::{Error, ErrorKind};
use crate::run::verdict::Evidence;
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::Options;

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
    root: Option<PathBuf>,
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
    /// Names that lead through symbolic links. They are in no group: the files that they lead to stand for themselves.
    pub followed: u64,
}

impl Default for Dupes {
    fn default() -> Self {
        Self::new()
    }
}

impl Dupes {
    /// Leaves out empty files, and compares folders by names and contents.
    pub fn new() -> Self {
        Self {
            empty: false,
            folders: true,
            ignore_names: false,
            similar: 0,
            verify: Evidence::Claimed,
            root: None,
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

    /// Where the directories of lists are looked for first: this is it, or has it under the name of the list.
    pub fn root(self, root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()), ..self }
    }

    /// Looks for duplicates in lists, manifests and directories.
    ///
    /// # Errors
    /// If an operand cannot be used, two have the same files, or the run is cancelled.
    pub fn run<P: AsRef<Path>>(&self, operands: &[P], options: &Options) -> Result<Found, Error> {
        let mut roots = Roots::open(operands, self.root.as_deref(), options)?;
        roots.are_apart()?;
        let known = roots.sizes(options, false, &|_| true)?;
        roots.read = resolve(&mut roots.all, options, &|_, size| match known.has(size) {
            true => Wanted::Whole,
            false => Wanted::Alike,
        })?;
        let mut verified = Verified::default();
        if self.verify < Evidence::Claimed {
            let (files, _) = self.files(&roots, &verified, options, None)?;
            verified = Verified::new(files, self.verify, &roots, options)?;
        }
        let mut folders = Sorter::new();
        let mut similar = Similar::new(self.similar);
        let mut folder = |begin: [u8; ROOT], it: Folder<'_>| {
            similar.folder([&begin, it.name].concat(), it.size);
            // Who looks at recorded files again does not see what is new in their folders.
            let is_list = roots.all[split(&begin).0].is_list();
            let is_unseen = self.verify < Evidence::Claimed && is_list;
            if !self.folders || !it.is_comparable || is_unseen {
                return Ok(());
            }
            let size = it.size.unwrap_or(u64::MAX);
            let facts = [it.files.to_le_bytes(), size.to_le_bytes()].concat();
            folders.push(&[&it.digest, &begin, it.name, &[0], &it.height.to_le_bytes(), &facts])
        };
        let (files, followed) = self.files(&roots, &verified, options, Some(&mut folder))?;
        let mut covered = equal_folders(folders, &roots, options)?;
        let (mut totals, mut sorter) = (Totals { followed, ..Totals::default() }, Sorter::new());
        runs(&mut files.finish()?, (OUT_LEN, 2), options, &mut |run| {
            let group = of_run(run, &roots, &mut covered, &mut totals, &mut similar)?;
            group.map_or(Ok(()), |group| sorter.push(&[&group.to_record()]))
        })?;
        // A folder of another name may be the same.
        let is_same = |it: &[u8]| covered.of(it).is_some() || roots.all[split(it).0].is_vague();
        for group in similar.groups(&is_same) {
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

    /// All files with a digest, to be sorted, and how many names lead through links. `each` gets the folders.
    fn files(
        &self,
        roots: &Roots,
        verified: &Verified,
        options: &Options,
        mut each: Option<&mut EachFolder<'_>>,
    ) -> Result<(Sorter, u64), Error> {
        let (mut files, mut end, mut path) = (Sorter::new(), Vec::new(), Vec::new());
        let mut followed = 0;
        for (number, root) in (0_u32..).zip(&roots.all) {
            let begin = number.to_be_bytes();
            let (mut folders, mut links) = (Folders::new(self.ignore_names), Links::of(root));
            root.each_in_order(number, options, &mut |name, mut kind| {
                if let Thing::File(_, facts) = kind
                    && links.as_mut().is_some_and(|it| it.has(name))
                {
                    followed += 1;
                    kind = Thing::File(None, Facts { inode: None, ..facts });
                }
                if let Thing::File(Some(digest), mut facts) = kind {
                    path.clear();
                    path.extend_from_slice(&begin);
                    path.extend_from_slice(name);
                    kind = match verified.evidence(&path, facts.evidence) {
                        Some(evidence) => {
                            facts.evidence = evidence;
                            if self.empty || digest != EMPTY {
                                end.clear();
                                end.push(0);
                                facts.push_to(&mut end);
                                files.push(&[&digest, &path, &end])?;
                            }
                            Thing::File(Some(digest), facts)
                        }
                        None => Thing::File(None, Facts { inode: None, ..facts }),
                    };
                }
                match &mut each {
                    Some(each) => folders.add(name, &kind, &mut |it| each(begin, it)),
                    None => Ok(()),
                }
            })?;
            if let Some(each) = &mut each {
                folders.finish(&mut |it| each(begin, it))?;
            }
        }
        Ok((files, followed))
    }
}

/// Gets the folders of an operand.
type EachFolder<'a> = dyn FnMut([u8; ROOT], Folder<'_>) -> Result<(), Error> + 'a;

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
#[derive(Default)]
struct Covered {
    groups: Vec<Group>,
    /// Of each, whether a file in a copy is not only another name of a file that stays.
    has_copies: Vec<bool>,
    /// The group of a folder. The first member of a group is not here: its files count for themselves.
    copies: HashMap<Vec<u8>, usize>,
}

impl Covered {
    /// The group of folders that lists this file or folder, so that it is not listed again.
    fn of(&self, path: &[u8]) -> Option<usize> {
        let mut all = parents(path).take_while(|_| !self.copies.is_empty());
        all.find_map(|it| self.copies.get(it).copied())
    }
}

/// Groups equal folders. The files in a copy are not a group of their own, so parents come first.
fn equal_folders(folders: Sorter, roots: &Roots, options: &Options) -> Result<Covered, Error> {
    let mut found = Sorter::new();
    runs(&mut folders.finish()?, (OUT_LEN, 2), options, &mut |run| {
        let (mut members, mut facts) = (Vec::new(), (0, 0, u64::MAX));
        for record in run.iter() {
            let mut rest = &record[OUT_LEN..];
            let [size, files] = std::array::from_fn(|_| u64::from_le_bytes(last(&mut rest)));
            let height = u32::from_le_bytes(last(&mut rest));
            let (root, name) = split(&rest[..rest.len() - 1]);
            facts = (height, files, facts.2.min(size));
            members.push(Member { root, name: name.into(), evidence: None, link_of: None });
        }
        let (height, files, size) = facts;
        let size = (size != u64::MAX).then_some(size);
        let (kind, digest) = (Kind::Folders, Some(run.key()));
        let group = Group { kind, digest, size, files, reclaimable: Some(0), members };
        found.push(&[&(!height).to_be_bytes(), &group.to_record()])
    })?;
    let (mut found, mut covered) = (found.finish()?, Covered::default());
    while let Some(record) = found.next()? {
        let mut group = Group::of_record(&record[size_of::<u32>()..]);
        let is_vague = group.members.iter().any(|it| roots.all[it.root].is_vague());
        let (mut copies, mut places, mut count) = (Vec::new(), HashMap::new(), 0);
        let path = |it: &Member| [&(it.root as u32).to_be_bytes(), &it.name[..]].concat();
        let place = |path: &[u8]| if is_vague { roots.place(path) } else { None };
        let gone = group.members.iter().map(path).filter(|it| covered.of(it).is_some());
        let gone: HashSet<_> = gone.filter_map(|it| place(&it)).collect();
        group.members.retain(|it| {
            let path = path(it);
            let place = place(&path);
            if covered.of(&path).is_some() || place.as_ref().is_some_and(|it| gone.contains(it)) {
                return false;
            }
            // A folder of two operands is one. The names of the first member stay, whatever they are.
            let at = place.map_or(count, |it| *places.entry(it).or_insert(count));
            if at > 0 {
                copies.push((path, covered.groups.len()));
            }
            let is_new = at == count;
            count += usize::from(is_new);
            is_new
        });
        if group.members.len() > 1 {
            covered.copies.extend(copies);
            covered.groups.push(group);
            covered.has_copies.push(false);
        }
    }
    Ok(covered)
}

/// A name in a run.
struct Name<'a> {
    path: &'a [u8],
    evidence: Evidence,
    /// The group of folders that lists it already.
    group: Option<usize>,
    file: usize,
}

/// A file in a run, whatever its names are.
#[derive(Clone, Default)]
struct File {
    /// How many names it has in the run, and in all, if that is known.
    here: u64,
    all: u64,
    /// Its first name: the place in the group, or none if a group of folders lists it already.
    first: Option<Option<usize>>,
}

/// The group of files with one content, without those in copies of folders, whose bytes are added to theirs.
fn of_run(
    run: &Run,
    roots: &Roots,
    covered: &mut Covered,
    totals: &mut Totals,
    similar: &mut Similar,
) -> Result<Option<Group>, Error> {
    let digest = run.key();
    let (mut names, mut size) = (Vec::with_capacity(run.len()), None);
    let (mut files, mut numbers, mut places) = (Vec::<File>::new(), Numbers::new(), HashMap::new());
    let is_vague = run.iter().any(|it| roots.all[split(path_of(it).0).0].is_vague());
    let mut twins = Twins::of(roots);
    for record in run.iter() {
        let (path, mut facts) = path_of(record);
        if let Some((a, b)) = size.zip(facts.size).filter(|(a, b)| a != b) {
            let list = roots.all[split(path).0].path();
            let cause = format!(
                "says that a file has {b} bytes, and one with the same digest has {a}; make the list again"
            );
            return Err(Error::new(list, ErrorKind::List(cause)));
        }
        size = size.or(facts.size);
        // The file goes with any of its names.
        let group = covered.of(path);
        let place = if is_vague { roots.place(path) } else { None };
        if let Some(first) = place.as_ref().and_then(|it| places.get(it)) {
            let first: &mut Name<'_> = &mut names[*first];
            first.group = first.group.or(group);
            continue;
        }
        let is_here_alone = roots.all.len() == 1 && !is_vague;
        if !is_here_alone && facts.inode.is_none_or(|it| it.list > 0) {
            facts.inode = roots.inode(path).or(facts.inode);
        }
        places.extend(place.map(|it| (it, names.len())));
        let twin = twins.file(path, facts.inode.is_some(), roots);
        let new = twin.unwrap_or(files.len());
        let file = facts.inode.map_or(new, |it| numbers.file(&it, new));
        twins.add(path, facts.inode.is_some() || twin.is_some(), file);
        files.resize(files.len().max(file + 1), File::default());
        files[file].here += 1;
        files[file].all = files[file].all.max(facts.inode.map_or(0, |it| it.links));
        names.push(Name { path, evidence: facts.evidence, group, file });
    }
    let size = if digest == EMPTY { Some(0) } else { size };
    if let Some(size) = size.filter(|size| *size > 0) {
        similar.content(run.iter().map(|it| path_of(it).0), size);
    }
    // Names that stay come first, so that a file which they keep is not reclaimable by another name.
    names.sort_by_key(|it| it.group.is_some());
    let (mut members, mut freed, mut all_free) = (Vec::new(), Vec::new(), true);
    for Name { path, evidence, group, file } in names {
        let file = &mut files[file];
        let (is_link, link_of) = (file.first.is_some(), file.first.flatten());
        // A file with a name elsewhere stays where it is.
        let is_free = file.all <= file.here;
        let real = || size.map(|it| if is_free { on_disk(roots, path, it) } else { 0 });
        if let Some(group) = group {
            if !is_link {
                file.first = Some(None);
                covered.has_copies[group] = true;
                let into = &mut covered.groups[group].reclaimable;
                *into = into.zip(real()).map(|(a, b)| a.saturating_add(b));
                totals.redundant += 1;
            }
            continue;
        }
        if !is_link {
            file.first = Some(Some(members.len()));
            freed.push(real());
            all_free &= is_free;
        }
        let (root, name) = split(path);
        members.push(Member { root, name: name.into(), evidence: Some(evidence), link_of });
    }
    let copies = freed.len() as u64;
    totals.links += members.len() as u64 - copies;
    if copies < 2 {
        return Ok(None);
    }
    // One stays: one that is not free in any case, or else the first.
    let mut freed = freed.into_iter().skip(usize::from(all_free));
    let reclaimable = freed.try_fold(0_u64, |all, it| Some(all.saturating_add(it?)));
    totals.redundant += copies - 1;
    let (kind, digest) = (Kind::Files, Some(digest));
    let group = Group { kind, digest, size, files: 1, reclaimable, members };
    totals.add(&group);
    Ok(Some(group))
}

/// The operand and name in a record of a file, and what else is known.
fn path_of(mut record: &[u8]) -> (&[u8], Facts) {
    let facts = Facts::take(&mut record);
    (&record[OUT_LEN..record.len() - 1], facts)
}

/// The bytes that a file takes: fewer than it is long if it has holes.
fn on_disk(roots: &Roots, path: &[u8], size: u64) -> u64 {
    let (root, name) = split(path);
    let is_here = size >= WITH_HOLES && roots.all[root].tree().is_some();
    let path = roots.path(root, name).filter(|_| is_here);
    #[cfg(unix)]
    let bytes = |it: Metadata| std::os::unix::fs::MetadataExt::blocks(&it).saturating_mul(512);
    // Elsewhere holes are not known.
    #[cfg(not(unix))]
    let bytes = |it: Metadata| it.len();
    let there = path.and_then(|it| it.symlink_metadata().ok());
    there.map_or(size, |it| size.min(bytes(it)))
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

    /// An error if the directory of an operand is not here, so that its names are not paths.
    ///
    /// # Errors
    /// If one is not.
    pub fn are_here(&self, cause: &str) -> Result<(), Error> {
        self.roots.are_here(cause)
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
