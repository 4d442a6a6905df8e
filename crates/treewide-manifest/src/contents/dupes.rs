//! Duplicates: files with the same content, and folders that are equal.

use crate::contents::entry::{EMPTY, Kind, parents, split};
use crate::contents::facts::{Facts, last};
use crate::contents::folders::{Folder, Folders};
use crate::contents::group::{Group, Kind as Members, Member};
use crate::contents::numbers::Numbers;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, Run, runs};
use crate::contents::similar::Similar;
use crate::contents::stages::{Wanted, resolve};
use crate::error::{Error, ErrorKind};
use crate::format::rules::Rules;
use crate::run::verdict::Evidence;
use crate::sorter::{Sorted, Sorter};
use std::collections::HashMap;
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
    quick: bool,
    rules: Rules,
}

/// Duplicates that were found: an iterator over groups, most reclaimable bytes first.
#[derive(Debug)]
pub struct Found {
    roots: Roots,
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
    /// Leaves out empty files, and compares folders by names and contents.
    pub fn new() -> Self {
        let rules = Rules::default();
        Self { empty: false, folders: true, ignore_names: false, similar: 0, quick: false, rules }
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

    /// Looks only at what these rules cover in directories. Lists and manifests have their own rules.
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Whether files are not read that are as the manifest next to their directory records them, by size, inode, ctime and mtime.
    pub fn quick(self, quick: bool) -> Self {
        Self { quick, ..self }
    }

    /// Looks for duplicates in lists, manifests and directories. The files of a directory are read; of lists and manifests no file is
    /// looked at.
    ///
    /// # Errors
    /// If an operand cannot be used or has no file, two have the same files, or the run is cancelled.
    pub fn run<P: AsRef<Path>>(&self, operands: &[P], options: &Options) -> Result<Found, Error> {
        let mut roots = Roots::open(operands, (self.quick, &self.rules), options)?;
        roots.are_apart()?;
        let known = roots.sizes(options, false, &|_| true)?;
        roots.read = resolve(&mut roots.all, options, &|_, size| match known.has(size) {
            true => Wanted::Whole,
            false => Wanted::Alike,
        })?;
        let (mut files, mut folders) = (Sorter::new(), Sorter::new());
        let mut similar = Similar::new(self.similar);
        for (number, root) in (0_u32..).zip(&roots.all) {
            let begin = number.to_be_bytes();
            let mut below = Folders::new(self.ignore_names);
            let mut each = |it: Folder<'_>| {
                similar.folder([&begin, it.name].concat(), it.size);
                if !self.folders || !it.is_comparable {
                    return Ok(());
                }
                let size = it.size.unwrap_or(u64::MAX);
                let facts = [it.files.to_le_bytes(), size.to_le_bytes()].concat();
                folders.push(&[&it.digest, &begin, it.name, &[0], &it.height.to_le_bytes(), &facts])
            };
            let mut end = Vec::new();
            root.each_in_order(number, options, &mut |name, kind| {
                if let Kind::File(Some(digest), facts) = &kind
                    && (self.empty || *digest != EMPTY)
                {
                    end.clear();
                    end.push(0);
                    facts.push_to(&mut end);
                    files.push(&[digest, &begin, name, &end])?;
                }
                below.add(name, &kind, &mut each)
            })?;
            below.finish(&mut each)?;
        }
        let mut covered = equal_folders(folders, options)?;
        let (mut totals, mut sorter) = (Totals::default(), Sorter::new());
        runs(&mut files.finish()?, (OUT_LEN, 2), options, &mut |run| {
            let group = of_run(run, &roots, &mut covered, &mut totals, &mut similar)?;
            group.map_or(Ok(()), |group| sorter.push(&[&group.to_record()]))
        })?;
        for group in similar.groups(&|it| covered.of(it).is_some()) {
            totals.similar += 1;
            sorter.push(&[&group.to_record()])?;
        }
        let groups = covered.groups.into_iter().zip(covered.has_copies);
        for group in groups.filter_map(|(group, is_shown)| is_shown.then_some(group)) {
            totals.add(&group);
            sorter.push(&[&group.to_record()])?;
        }
        Ok(Found { roots, totals, groups: sorter.finish()? })
    }
}

impl Totals {
    fn add(&mut self, group: &Group) {
        *if group.kind == Members::Files { &mut self.files } else { &mut self.folders } += 1;
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
fn equal_folders(folders: Sorter, options: &Options) -> Result<Covered, Error> {
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
        let (kind, digest) = (Members::Folders, Some(run.key()));
        let group = Group { kind, digest, size, files, reclaimable: Some(0), members };
        found.push(&[&(!height).to_be_bytes(), &group.to_record()])
    })?;
    let (mut found, mut covered) = (found.finish()?, Covered::default());
    while let Some(record) = found.next()? {
        let mut group = Group::of_record(&record[size_of::<u32>()..]);
        let path = |it: &Member| [&(it.root as u32).to_be_bytes(), &it.name[..]].concat();
        group.members.retain(|it| covered.of(&path(it)).is_none());
        // The names of the first member stay, whatever they are.
        let copies = group.members.iter().skip(1).map(|it| (path(it), covered.groups.len()));
        let copies: Vec<_> = copies.collect();
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
    let (mut files, mut numbers) = (Vec::<File>::new(), Numbers::default());
    for record in run.iter() {
        let (path, facts) = path_of(record);
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
        let new = files.len();
        let file = facts.inode.map_or(new, |it| numbers.file(&it, new));
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
    let (kind, digest) = (Members::Files, Some(digest));
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
    let is_here = size >= WITH_HOLES && !roots.all[root].is_record();
    #[cfg(unix)]
    let bytes = |it: Metadata| std::os::unix::fs::MetadataExt::blocks(&it).saturating_mul(512);
    // Elsewhere holes are not known.
    #[cfg(not(unix))]
    let bytes = |it: Metadata| it.len();
    let there = is_here.then(|| roots.path(root, name).symlink_metadata().ok()).flatten();
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

    /// How many files were read to their ends, and how many bytes.
    pub fn read(&self) -> (u64, u64) {
        self.roots.read
    }

    /// The path of a member; of that of a list or manifest, its name there.
    pub fn path(&self, member: &Member) -> PathBuf {
        self.roots.path(member.root, &member.name)
    }
}

impl Iterator for Found {
    type Item = Result<Group, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.groups.next().map(|record| record.map(Group::of_record)).transpose()
    }
}
