//! The manifest in the place of a new one that is not made from it: what it records is not lost either.

use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Index, Manifest, Records};
use crate::format::name;
use crate::format::record::{Facts, Record, Type, What};
use crate::format::rules::{Globs, Rules};
use crate::keep::draft::Draft;
use crate::loss::Loss;
use crate::run::diff::{content, inode};
use crate::run::guard::like::{Like, like_read};
use crate::run::guard::{Accepted, Guard};
use crate::run::judge::is_cut_off;
use crate::run::known::Known;
use crate::run::verdict::Verdict;
use crate::tree::beneath::Beneath;
use std::path::Path;
use treewide_digests::Algorithm;

/// The manifest that a draft will replace, unless it is made from it.
///
/// # Errors
/// If it is there and cannot be read.
pub(crate) fn at(
    draft: &Draft,
    old: Option<&Manifest>,
    accepted: Accepted,
) -> Result<Option<Manifest>, Error> {
    let path = draft.path();
    if old.is_some_and(|old| old.list().path() == path) || path.metadata().is_err() {
        return Ok(None);
    }
    match Manifest::open(path) {
        Ok(there) => {
            let is_nothing = there.list().is_empty() && matches!(there.index(), Index::Absent);
            Ok(Some(there).filter(|_| !is_nothing))
        }
        Err(_) if accepted.damage => Ok(None),
        Err(error) => Err(Error::refused(path, Loss::Damage(error.to_string()))),
    }
}

/// Compares what it records with the new records, in their order.
pub(crate) struct Replaced<'a> {
    guard: Guard<'a>,
    known: Known<'a>,
    accepted: Accepted,
    manifest: &'a Manifest,
    records: Records,
    next: Option<Record>,
    beneath: Beneath,
    follows: bool,
    /// Where links lead, if only the rules of this manifest follow them.
    followed: Option<Beneath>,
    /// Names of places that could not be read, without a `/`.
    unread: Vec<Vec<u8>>,
    /// A record that would be lost for that.
    lost: Option<Record>,
    /// A file whose digest would be lost, although nothing shows that someone wants its content, and how it differs.
    doubt: Option<(Vec<u8>, String)>,
    /// Files whose new content is accepted.
    accept_rot: &'a Globs,
    /// Recorded paths that are there, and that the new rules leave out.
    left_out: u64,
}

/// What the new manifest lacks on purpose.
#[derive(Debug)]
pub(crate) struct Dropped {
    pub(crate) left_out: u64,
    pub(crate) facts: Vec<&'static str>,
}

/// Whether the new rules leave out a recorded path that is there.
pub(crate) trait LeavesOut: Fn(&Record, &Guard<'_>) -> bool {}

impl<F: Fn(&Record, &Guard<'_>) -> bool> LeavesOut for F {}

impl<'a> Replaced<'a> {
    /// # Errors
    /// If no run could compare it with the directory.
    pub(crate) fn new(
        manifest: &'a Manifest,
        dir: &'a Path,
        (accepted, accept_rot): (Accepted, &'a Globs),
        follows: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            guard: Guard::new(Some(manifest), dir, accepted)?,
            known: Known::new(Some(manifest)),
            accepted,
            manifest,
            records: manifest.records()?,
            next: None,
            beneath: Beneath::new(dir, follows),
            follows,
            followed: (manifest.rules().follow && !follows).then(|| Beneath::new(dir, true)),
            unread: Vec::new(),
            lost: None,
            doubt: None,
            accept_rot,
            left_out: 0,
        })
    }

    /// A place that has no new record, as it could not be read.
    pub(crate) fn unread(&mut self, name: &[u8]) {
        self.unread.push(name.strip_suffix(b"/").unwrap_or(name).to_owned());
    }

    /// The next new record.
    pub(crate) fn add(&mut self, new: &Record, is_left_out: impl LeavesOut) -> Result<(), Error> {
        let was = self.skip_to(Some(&new.name), is_left_out)?;
        self.look_for_doubt(was.as_ref(), new)?;
        match (was, &new.what) {
            (None, What::File(is)) => self.known.count(is, true)?,
            (None, _) => {}
            (Some(was), _) if self.follows && is_cut_off(&was, new.kind()) => self.lose(was),
            (Some(was), What::File(is)) => match &was.what {
                What::File(file) => {
                    let facts = is.facts.as_ref();
                    let bytes = facts.map_or(0, |facts| facts.bytes);
                    let like = like_read(file, &is.digest, bytes, facts.and_then(Facts::seen));
                    self.guard.found(&was, like);
                }
                _ => self.guard.gone(&was.name, false),
            },
            (Some(was), _) if was.kind() == new.kind() => self.guard.found(&was, Like::Itself),
            (Some(was), What::Link(_)) if self.was_followed(&was) => self.left_out += 1,
            (Some(was), _) => self.gone_file(&was)?,
        }
        Ok(())
    }

    /// Judges new content as an update of this manifest would.
    fn look_for_doubt(&mut self, was: Option<&Record>, new: &Record) -> Result<(), Error> {
        let What::File(is) = &new.what else { return Ok(()) };
        let verdict = match was.map(|it| (&it.what, it)) {
            Some((What::File(was), _)) if was.digest == is.digest => return Ok(()),
            // The digest is that of another manifest.
            Some((What::File(_), was)) if self.unread.contains(&new.name) => {
                self.lost.get_or_insert_with(|| was.clone());
                return Ok(());
            }
            Some((What::File(file), was)) => match content(file, is) {
                verdict if verdict.is_doubtful() || inode(was) == inode(new) => Some(verdict),
                verdict => Some(self.known.of_record(new)?.map_or(verdict, |it| it.0)),
            },
            _ => self.known.of_record(new)?.map(|it| it.0),
        };
        if let Some(verdict) = verdict.filter(Verdict::is_doubtful)
            && !self.accept_rot.cover(&new.name, false)
        {
            self.doubt.get_or_insert_with(|| (new.name.clone(), verdict.detail()));
        }
        Ok(())
    }

    /// After the last record: whether the new manifest loses anything. What it lacks on purpose.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn end(
        mut self,
        rules: &Rules,
        also: &[Algorithm],
        is_left_out: impl LeavesOut,
    ) -> Result<Dropped, Error> {
        self.skip_to(None, is_left_out)?;
        let list = self.manifest.list().path();
        if let Some(lost) = self.lost.filter(|_| !self.accepted.empty) {
            return Err(Error::refused(list, Loss::Unread(name::path(lost.bare()))));
        }
        let other = |error: Error| match error.kind() {
            ErrorKind::Refused(Loss::Everything(gone)) => Error::refused(list, Loss::Other(*gone)),
            _ => error,
        };
        self.guard.moved(self.known.moved());
        self.guard.check().map_err(other)?;
        if let Some((name, detail)) = self.doubt.filter(|_| !self.accepted.damage) {
            return Err(Error::refused(list, Loss::Doubt(name::path(&name), detail)));
        }
        let old = self.manifest.rules();
        let is_kept = |name: &String| also.iter().any(|it| it.name() == name);
        let lacks_digests = match self.manifest.index() {
            Index::Bound(ends) => !ends.0.also.iter().all(is_kept),
            Index::Absent | Index::Ignored(_) => false,
        };
        let facts = [
            (old.modes && !rules.modes, "permission bits"),
            (old.xattrs > rules.xattrs, "extended attributes"),
            // Of content that is as it was, they can be found again; of other content, its BLAKE3 digest is guarded.
            (lacks_digests, "digests by other algorithms (--also)"),
            (old.exclude.iter().any(|it| !rules.exclude.contains(it)), "rules of exclusion"),
            (old.follow && !rules.follow, "the rule --follow"),
            (old.one_file_system && !rules.one_file_system, "the rule --one-file-system"),
            (!old.hidden && rules.hidden, "the rule --no-hidden"),
        ];
        let facts = facts.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        Ok(Dropped { left_out: self.left_out, facts })
    }

    /// Passes the records up to this name. The one that has it.
    fn skip_to(
        &mut self,
        name: Option<&[u8]>,
        is_left_out: impl LeavesOut,
    ) -> Result<Option<Record>, Error> {
        loop {
            if self.next.is_none() {
                self.next = self.records.next().transpose()?;
                if let Some(cause) = self.records.damage() {
                    self.guard.damaged(cause)?;
                }
            }
            match &self.next {
                Some(next) if name.is_none_or(|name| next.name[..] < *name) => {}
                Some(next) if name == Some(&next.name) => return Ok(self.next.take()),
                _ => return Ok(None),
            }
            if let Some(gone) = self.next.take() {
                self.gone(gone, &is_left_out)?;
            }
        }
    }

    fn gone(&mut self, record: Record, is_left_out: impl LeavesOut) -> Result<(), Error> {
        let bare = record.bare();
        let is_in = |place: &[u8]| {
            let below = bare.strip_prefix(place);
            place.is_empty() || below.is_some_and(|it| it.is_empty() || it[0] == b'/')
        };
        // The record of a link that is followed now has no content to lose.
        let is_followed = self.follows && record.kind() == Type::Link;
        if is_followed {
            return Ok(());
        }
        if let What::Unknown(cause) = &record.what {
            return self.guard.unmatched(&record, cause);
        }
        let there = self.beneath.look(bare);
        match there {
            _ if self.unread.iter().any(|it| is_in(it)) => self.lose(record),
            Err(_) => self.lose(record),
            Ok(Some(kind)) if kind == record.kind() && is_left_out(&record, &self.guard) => {
                self.left_out += 1;
            }
            Ok(_) if self.was_followed(&record) => self.left_out += 1,
            Ok(_) => return self.gone_file(&record),
        }
        Ok(())
    }

    fn gone_file(&mut self, record: &Record) -> Result<(), Error> {
        self.guard.gone(&record.name, record.kind() == Type::File);
        match &record.what {
            What::File(file) => self.known.count(file, false),
            _ => Ok(()),
        }
    }

    /// Whether a link that the new rules do not follow leads to it.
    fn was_followed(&self, record: &Record) -> bool {
        let there = self.followed.as_ref().map(|it| it.look(record.bare()));
        matches!(there, Some(Ok(Some(kind))) if kind == record.kind())
    }

    fn lose(&mut self, record: Record) {
        self.guard.found(&record, Like::Here);
        self.lost.get_or_insert(record);
    }
}
