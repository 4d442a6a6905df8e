//! `treewide outboard update`.

use super::failure::named;
use super::files::{Data, Store};
use super::journal::Journal;
use super::ranges::range;
use super::shape::{Shape, ShapeArgs};
use super::trust;
use crate::args::mode::ModeArgs;
use crate::args::progress::ProgressArgs;
use crate::args::sizes::bytes;
use crate::commands::help::Notes;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use crate::shell::stdin::Stdin;
use anyhow::bail;
use clap::Args;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::{Layout, Outboard};
use treewide_files::digest::{Digest, Extent};
use treewide_files::list;
use treewide_files::name::{Listed, shown};

pub(super) const UPDATE: Notes = Notes::new(&[
    ("treewide outboard update disk.img --old-list SUMS --dirty 1G..+4K --dirty 7G..8G", "written"),
    ("treewide outboard update log --old-hash HEX --appended", "it only became longer"),
    ("treewide outboard update disk.img --recover", "after an update that was interrupted"),
]);

/// Bring an outboard up to date after writes that you know
///
/// Reads the groups that were written, and the pairs above them. **Bytes that were written and are not named are believed to be as
/// they were**: the digest that is printed is then wrong, and `verify` finds them. The old digest comes from --old-hash or
/// --old-list; without them, nobody knows whether the outboard was right, and only what is next to the written groups is
/// compared. An update that is interrupted is finished by the next one, from OUTBOARD.journal.
#[derive(Args)]
#[command(after_help = UPDATE.short(), after_long_help = UPDATE.long())]
#[command(group(clap::ArgGroup::new("what").required(true).args(["dirty", "appended", "recover"])))]
pub(super) struct UpdateArgs {
    /// The file
    file: PathBuf,

    /// Its outboard [default: FILE.obao4, or the only one with another number]
    #[arg(long, value_name = "OUTBOARD", help_heading = "Outboard")]
    outboard: Option<PathBuf>,

    /// Bytes that were written: A..B, A.., ..B or A..+N, in bytes or with K, M, G or T; may be given more than once
    #[arg(long, value_name = "RANGE", value_parser = range, help_heading = "Changes")]
    dirty: Vec<Range<u64>>,

    /// Bytes were appended, and nothing else was written
    #[arg(long, help_heading = "Changes")]
    appended: bool,

    /// Only finish an update that was interrupted
    #[arg(long, help_heading = "Changes")]
    recover: bool,

    /// The bytes that the file had when its outboard was made [default: those it has now]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Changes")]
    #[arg(conflicts_with = "appended")]
    old_len: Option<u64>,

    /// The digest that the file had before the writes: if the outboard is not of it, nothing is changed
    #[arg(long, value_name = "HEX", value_parser = trust::hash, help_heading = "Changes")]
    #[arg(conflicts_with = "old_list")]
    old_hash: Option<Hash>,

    /// A list with that digest, as b3sum and `treewide sum` write it
    #[arg(long, value_name = "SUMS", help_heading = "Changes")]
    old_list: Option<PathBuf>,

    /// Write a JSON object instead of a line: path, digest, bytes, old_digest, outboard
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl UpdateArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        let progress = self.progress.start(true);
        let console = Console::new(program, &progress);
        let hears = progress.hears();
        hears.reached(&self.file);
        let data = Data::open(&self.file)?.counted(hears);
        let (path, shape) = self.shape.find(&self.file, self.outboard.as_deref())?;
        if shape.is_bao {
            bail!(
                "{}: outboards of bao are not updated, as their length stands in front; make it again, or use .obao0",
                shown(&path)
            );
        }
        let mode = self.mode.mode(&Stdin::default())?;
        let mut given = match (&self.old_hash, &self.old_list) {
            (Some(hash), _) => Some(*hash),
            (None, Some(list)) => Some(trust::find(list, &self.file)?),
            (None, None) => None,
        };
        let mut journal = Journal::open(&path)?;
        if let Some(digest) = journal.recover(&path, shape, mode, given, self.mode.others())? {
            console
                .about(&path, format_args!("an update that was interrupted is finished: {digest}"));
            // The digest from before it, if one was given, is that of the journal; so this one is as good.
            given = given.map(|_| digest);
        } else if self.recover {
            console.about(&path, "there is no update to finish");
        }
        if self.recover {
            return journal.clear().map(|()| Outcome::Success);
        }
        let (dirty, old_len) = self.changes(&path, shape, data.len())?;
        let (store, layout) = Store::open_to_write(&path, shape, old_len)?;
        // An outboard of one group is empty. All of its data is dirty, so its digest is not needed.
        let root = trust::root(&path, &store, &layout, mode)?;
        if let (Some(given), Some(root)) = (given, root)
            && given != root
        {
            bail!(
                "{}: stands for {root}, and not for {given}, which was given as the old digest: it is damaged or of other data; \
                 make it again with 'treewide outboard create'",
                shown(&path)
            );
        }
        let old = root.unwrap_or(Hash::from_bytes([0; 32]));
        let mut outboard = Outboard::new(&old, layout, mode, store);
        progress.show(|| None);
        let updated = match given {
            Some(_) => outboard.update(&data, &dirty, data.len(), journal.file()),
            None => outboard.update_without_digest(&data, &dirty, data.len(), journal.file()),
        };
        let digest = updated.map_err(|error| named(&error, &self.file, &path))?;
        journal.clear()?;
        // What was read may be of two versions of the file.
        data.unchanged(&self.file)?;
        data.is_done();
        progress.finish();
        if given.is_none() && root.is_some() {
            console.about(
                &self.file,
                format_args!(
                    "the new digest is consistent with the old outboard {}; nothing says that it was right, because no old \
                     digest was given with --old-hash or --old-list",
                    shown(&path)
                ),
            );
        }
        self.say(&path, &layout, &old, &digest, data.len())
    }

    /// What was written, and how long the file was.
    fn changes(
        &self,
        path: &Path,
        shape: Shape,
        len: u64,
    ) -> anyhow::Result<(Vec<Range<u64>>, u64)> {
        let mut dirty = self.dirty.clone();
        if !self.appended {
            return Ok((dirty, self.old_len.unwrap_or(len)));
        }
        // How full its last group was is not known: as it is dirty, that does not matter.
        let group = shape.group.bytes();
        let last = (Store::groups(path)? - 1).saturating_mul(group);
        if len < last || len == last && last > 0 {
            bail!(
                "{}: has {len} bytes, and had more than {last} when {} was made: it became shorter; name what was written \
                 with --dirty, and its length with --old-len",
                shown(&self.file),
                shown(path)
            );
        }
        let old_len = len.min(last.saturating_add(group));
        dirty.push(last..old_len);
        Ok((dirty, old_len))
    }

    fn say(
        &self,
        path: &Path,
        old: &Layout,
        old_digest: &Hash,
        digest: &Hash,
        len: u64,
    ) -> anyhow::Result<Outcome> {
        let mut text = Vec::new();
        if self.json {
            let mut object = list::json::Object::about(&self.file);
            object.string("digest", &digest.to_hex()).number("bytes", len);
            match old.groups() {
                1 => object.null("old_digest"),
                _ => object.string("old_digest", &old_digest.to_hex()),
            };
            text.extend(object.path("outboard", path).finish().bytes());
        } else {
            let digest = Digest::of_hash(digest, Extent::default()).expect("the whole digest");
            list::write_plain(&mut text, &Listed::new(&self.file), digest)?;
        }
        output::print(&text)?;
        Ok(Outcome::Success)
    }
}
