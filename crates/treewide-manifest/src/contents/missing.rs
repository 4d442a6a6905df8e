//! Files of one operand whose content is in no other.
//!
//! What was not looked at never counts as a copy: a directory is read, also if a manifest next to it knows its files. The records of a
//! manifest count if it is an operand itself, or with `quick`, and are counted apart from copies that were read.

use crate::contents::entry::Kind;
use crate::contents::facts::{Facts, first, last};
use crate::contents::numbers::Numbers;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, Run, runs};
use crate::contents::stages::{Wanted, resolve};
use crate::error::Error;
use crate::format::rules::Rules;
use crate::run::verdict::Evidence;
use crate::sorter::{Sorted, Sorter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::Options;
use treewide_files::name::shown;

/// Whether a record is of the first operand. Those are the first of a run.
const FIRST: u8 = 0;
const OTHER: u8 = 1;

/// Looks for files of one operand whose content is in no other.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    names: bool,
    quick: bool,
    rules: Rules,
}

/// A file whose content is in no other operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its name below the first operand.
    pub name: Vec<u8>,
    /// Its digest. `None` if its length alone shows that no other has it.
    pub digest: Option<[u8; OUT_LEN]>,
    /// Its length, if the operand says it.
    pub size: Option<u64>,
    /// How that is known.
    pub evidence: Evidence,
}

/// Files that are missing: an iterator in the order of names.
#[derive(Debug)]
pub struct MissingFiles {
    roots: Roots,
    totals: MissingTotals,
    files: Sorted,
}

/// How many files are missing, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingTotals {
    /// Files of the first operand.
    pub files: u64,
    /// Names in other operands that lead to files of the first. They do not count.
    pub own: u64,
    /// Files with a copy, by how its content is known: of several copies, the one that is known best.
    pub copies: [u64; Evidence::ALL.len()],
    /// Files of the first operand that could not be read: they have no copy, and may be missing.
    pub unreadable: u64,
    /// Files that no other has.
    pub missing: u64,
    /// Their bytes, as far as the operand says them.
    pub bytes: u64,
    /// The number of them that it does not.
    pub unknown: u64,
}

impl Missing {
    /// Compares by content, whatever the names are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether another operand must have the content under the same name.
    pub fn names(self, names: bool) -> Self {
        Self { names, ..self }
    }

    /// Looks only at what these rules cover in directories. Lists and manifests have their own rules.
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Whether files are not read that are as the manifest next to their directory records them, by size, inode, ctime and mtime.
    pub fn quick(self, quick: bool) -> Self {
        Self { quick, ..self }
    }

    /// Looks for files of `first` that none of `others` has. The files of a directory are read if another operand may have them, by
    /// their sizes; of lists and manifests no file is looked at.
    ///
    /// # Errors
    /// If an operand cannot be used or has no file, two are the same, or the run is cancelled.
    pub fn run<P: AsRef<Path>>(
        &self,
        first_operand: &Path,
        others: &[P],
        options: &Options,
    ) -> Result<MissingFiles, Error> {
        let operands = [first_operand].into_iter().chain(others.iter().map(AsRef::as_ref));
        let mut roots =
            Roots::open(&operands.collect::<Vec<_>>(), (self.quick, &self.rules), options)?;
        if let Some(then) = roots.all.iter().skip(1).find(|it| it.is_then()) {
            let then = shown(then.path());
            let cause = "has the files of then, which may be gone; name it as the first, or name the manifest of now";
            return Err(Error::usage(format!("{then}: {cause}")));
        }
        let sides =
            [roots.sizes(options, true, &|it| it == 0)?, roots.sizes(options, true, &|it| it > 0)?];
        roots.read = resolve(&mut roots.all, options, &|number, size| {
            // What could be there is read.
            let other = &sides[usize::from(number == 0)];
            if other.has(size) { Wanted::Whole } else { Wanted::No }
        })?;
        let (mut sorter, mut end) = (Sorter::new(), Vec::new());
        let (mut totals, mut lost) = (MissingTotals::default(), Sorter::new());
        let dir = roots.all[0].dir();
        for (number, root) in (0_u32..).zip(&roots.all) {
            let side = if number == 0 { FIRST } else { OTHER };
            let place = if side == OTHER { Place::of(dir.as_deref(), root) } else { Place::Apart };
            root.each_in_order(number, options, &mut |name, kind| {
                let Kind::File(digest, facts) = kind else { return Ok(()) };
                if place.has(name) {
                    totals.own += 1;
                    return Ok(());
                }
                end.clear();
                facts.push_to(&mut end);
                totals.files += u64::from(side == FIRST);
                // No one needs names that are not compared.
                let name = if side == FIRST || self.names { name } else { b"" };
                match digest {
                    Some(digest) => sorter.push(&[&digest, &[side], name, &[0], &end]),
                    None if side == FIRST && facts.size.is_some() => {
                        let facts = Facts { evidence: Evidence::Metadata, ..facts };
                        totals.add(facts.size);
                        push(&mut lost, name, None, &facts)
                    }
                    None => {
                        totals.unreadable += u64::from(side == FIRST);
                        Ok(())
                    }
                }
            })?;
        }
        runs(&mut sorter.finish()?, (OUT_LEN, 1), options, &mut |run| {
            self.compare(run, &mut totals, &mut lost)
        })?;
        Ok(MissingFiles { roots, totals, files: lost.finish()? })
    }

    /// Looks for copies of files with one content.
    fn compare(
        &self,
        run: &Run,
        totals: &mut MissingTotals,
        lost: &mut Sorter,
    ) -> Result<(), Error> {
        let mut numbers = Numbers::default();
        // How many names each file of the first operand has there, and in all, if that is known.
        let mut files: Vec<(u64, u64)> = Vec::new();
        let (mut wanted, mut copies) = (Vec::new(), HashMap::<&[u8], Evidence>::new());
        for mut rest in run.iter() {
            let [side] = first(&mut &rest[OUT_LEN..]);
            if side == OTHER && wanted.is_empty() {
                return Ok(());
            }
            let facts = Facts::take(&mut rest);
            let name = &rest[OUT_LEN + 1..rest.len() - 1];
            let new = files.len();
            let file = facts.inode.map_or(new, |it| numbers.file(&it, new));
            let links = facts.inode.map_or(0, |it| it.links);
            if side == FIRST {
                wanted.push((name, facts));
                files.resize(new.max(file + 1), (0, 0));
                files[file] = (files[file].0 + 1, files[file].1.max(links));
            } else if files.get(file).is_some_and(|(here, all)| links.max(*all) <= *here) {
                // All names of this file are in the first operand.
                totals.own += 1;
            } else {
                let known = copies.entry(name).or_insert(facts.evidence);
                *known = facts.evidence.min(*known);
            }
        }
        for (name, facts) in wanted {
            match copies.get(if self.names { name } else { b"" }) {
                Some(evidence) => totals.copies[*evidence as usize] += 1,
                None => {
                    totals.add(facts.size);
                    push(lost, name, Some(&run.key()), &facts)?;
                }
            }
        }
        Ok(())
    }
}

/// Which names of another operand are of files in the directory of the first one: they are gone with that.
enum Place {
    Apart,
    /// Names that begin with these bytes.
    Below(Vec<u8>),
    /// All.
    Inside,
}

impl Place {
    fn of(first: Option<&Path>, other: &Root) -> Self {
        match first.zip(other.dir()) {
            Some((first, other)) if other.starts_with(first) => Self::Inside,
            Some((first, other)) => first.strip_prefix(other).map_or(Self::Apart, |below| {
                let parts = below.iter().flat_map(|it| [it.as_encoded_bytes(), b"/"]);
                Self::Below(parts.flatten().copied().collect())
            }),
            None => Self::Apart,
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::Apart => false,
            Self::Below(begin) => name.starts_with(begin),
            Self::Inside => true,
        }
    }
}

impl MissingTotals {
    fn add(&mut self, size: Option<u64>) {
        self.missing += 1;
        match size {
            Some(size) => self.bytes = self.bytes.saturating_add(size),
            None => self.unknown += 1,
        }
    }
}

fn push(
    to: &mut Sorter,
    name: &[u8],
    digest: Option<&[u8; OUT_LEN]>,
    facts: &Facts,
) -> Result<(), Error> {
    let mut end = vec![0];
    end.extend_from_slice(digest.map_or(&[], |it| it));
    end.push(u8::from(digest.is_some()));
    facts.push_to(&mut end);
    to.push(&[name, &end])
}

impl MissingFiles {
    /// The operands, in their order.
    pub fn roots(&self) -> &[Root] {
        &self.roots.all
    }

    /// How many files are missing, and of how many.
    pub fn totals(&self) -> MissingTotals {
        self.totals
    }

    /// Paths that could not be read, and why. Each may be missing, or be a file that seems to be.
    pub fn unreadable(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.roots.unreadable()
    }

    /// How many files were read to their ends, and how many bytes.
    pub fn read(&self) -> (u64, u64) {
        self.roots.read
    }

    /// The path of a file; of that of a list or manifest, its name there.
    pub fn path(&self, lost: &Lost) -> PathBuf {
        self.roots.path(0, &lost.name)
    }
}

impl Iterator for MissingFiles {
    type Item = Result<Lost, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.files.next().transpose()?;
        Some(record.map(|mut record| {
            let facts = Facts::take(&mut record);
            let (is_known, rest) = record.split_last().expect("a record that was made with it");
            record = rest;
            let digest = (*is_known == 1).then(|| last(&mut record));
            let name = record[..record.len() - 1].into();
            Lost { name, digest, size: facts.size, evidence: facts.evidence }
        }))
    }
}
