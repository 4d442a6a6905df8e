//! Files of one operand whose content is in no other.

use crate::contents::entry::Kind;
use crate::contents::facts::{Facts, first, last};
use crate::contents::own::Own;
use crate::contents::root::Root;
use crate::contents::roots::{Roots, runs};
use crate::contents::sorter::{Sorted, Sorter};
use crate::contents::stages::{Wanted, resolve};
use crate::error::{Error, ErrorKind};
use crate::run::verdict::Evidence;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::Options;

/// Whether a record is of the first operand.
const OTHER: u8 = 0;
const FIRST: u8 = 1;

/// Looks for files of one operand whose content is in no other.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    names: bool,
    root: Option<PathBuf>,
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
    /// How many of them may be files of a copy: their manifest has no inodes, and its directory is not here.
    pub unnumbered: u64,
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

    /// Where the directories of lists are looked for first: this is it, or has it under the name of the list.
    pub fn root(self, root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()), ..self }
    }

    /// Looks for files of `first` that none of `others` has.
    ///
    /// # Errors
    /// If an operand cannot be used, two are the same, `first` has no file, or the run is cancelled.
    pub fn run<P: AsRef<Path>>(
        &self,
        first_operand: &Path,
        others: &[P],
        options: &Options,
    ) -> Result<MissingFiles, Error> {
        let operands = [first_operand].into_iter().chain(others.iter().map(AsRef::as_ref));
        let mut roots = Roots::open(&operands.collect::<Vec<_>>(), self.root.as_deref(), options)?;
        let sides =
            [roots.sizes(options, true, &|it| it == 0)?, roots.sizes(options, true, &|it| it > 0)?];
        roots.read = resolve(&mut roots.all, options, &|number, size| {
            // What could be there is read.
            let other = &sides[usize::from(number == 0)];
            if other.has(size) { Wanted::Whole } else { Wanted::No }
        })?;
        let own = Own::of(&roots, options)?;
        let (mut sorter, mut end) = (Sorter::new(), Vec::new());
        let (mut totals, mut lost) = (MissingTotals::default(), Sorter::new());
        for (number, root) in (0_u32..).zip(&roots.all) {
            let side = if number == 0 { FIRST } else { OTHER };
            let own = own.as_ref().filter(|_| side == OTHER);
            let mut own = own.map_or(Ok(None), |it| it.names_in(root, options))?;
            root.each_in_order(number, options, &mut |name, kind| {
                let Kind::File(digest, facts) = kind else { return Ok(()) };
                if own.as_mut().is_some_and(|own| own.has(name, digest.as_ref(), &facts)) {
                    totals.own += 1;
                    return Ok(());
                }
                end.clear();
                facts.push_to(&mut end);
                totals.files += u64::from(side);
                match digest {
                    // No one needs names that are not compared.
                    Some(digest) if side == OTHER && !self.names => {
                        sorter.push(&[&digest, &[side]])
                    }
                    Some(digest) => sorter.push(&[&digest, &[side], name, &[0], &end]),
                    None if side == FIRST && facts.size.is_some() => {
                        let facts = Facts { evidence: Evidence::Metadata, ..facts };
                        totals.add(facts.size);
                        push(&mut lost, name, None, &facts)
                    }
                    None => Ok(()),
                }
            })?;
            totals.unnumbered += own.map_or(0, |it| it.unnumbered);
        }
        let mut there = HashSet::new();
        runs(&mut sorter.finish()?, (OUT_LEN, 1), options, &mut |run| {
            there.clear();
            for mut rest in run.iter() {
                let digest: [u8; OUT_LEN] = first(&mut rest);
                let [side] = first(&mut rest);
                if side == OTHER && !self.names {
                    return Ok(());
                }
                let facts = Facts::take(&mut rest);
                let name = &rest[..rest.len() - 1];
                if side == OTHER {
                    there.insert(name.to_vec());
                } else if !there.contains(name) {
                    totals.add(facts.size);
                    push(&mut lost, name, Some(&digest), &facts)?;
                }
            }
            Ok(())
        })?;
        if totals.files == 0 && roots.unreadable().next().is_none() {
            let cause = "has no file, so nothing was compared; see that it is the right one, and that its disk is mounted";
            return Err(Error::new(first_operand, ErrorKind::List(cause.into())));
        }
        Ok(MissingFiles { roots, totals, files: lost.finish()? })
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

    /// The path of a file, if its directory is here.
    pub fn path(&self, lost: &Lost) -> Option<PathBuf> {
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
