//! The digest that a file is compared with, and where it comes from.

use anyhow::{Context, bail};
use clap::Args;
use std::fs::File;
use std::path::{Path, PathBuf};
use treewide::hazmat::Subtrees;
use treewide::outboard::{Layout, PAIR_LEN, ReadAt};
use treewide::{Hash, Mode, OUT_LEN};
use treewide_files::list::{Lines, parse};
use treewide_files::name::shown;

#[derive(Args)]
#[command(next_help_heading = "Digest")]
pub(super) struct TrustArgs {
    /// The digest of the file, from where you trust it, or a list with it as b3sum and `treewide sum` write it
    #[arg(long, value_name = "DIGEST|SUMS", value_parser = expected)]
    expect: Option<Expected>,
}

/// Where a digest comes from.
#[derive(Clone)]
enum Expected {
    Hash(Hash),
    List(PathBuf),
}

fn expected(text: &str) -> Result<Expected, String> {
    match Hash::from_hex(text) {
        Ok(hash) => Ok(Expected::Hash(hash)),
        Err(_) if Path::new(text).exists() => Ok(Expected::List(text.into())),
        Err(_) => {
            Err("neither a digest of 64 hexadecimal digits nor a list that exists".to_owned())
        }
    }
}

pub(super) fn hash(text: &str) -> Result<Hash, String> {
    Hash::from_hex(text).map_err(|error| error.to_string())
}

impl TrustArgs {
    /// The digest of the file at `path`, if one was given.
    pub(super) fn digest(&self, path: &Path) -> anyhow::Result<Option<Hash>> {
        match &self.expect {
            Some(Expected::Hash(hash)) => Ok(Some(*hash)),
            Some(Expected::List(list)) => find(list, path).map(Some),
            None => Ok(None),
        }
    }

    /// These files and the list: what an output must not replace.
    pub(super) fn inputs(&self, files: &[&Path]) -> Vec<PathBuf> {
        let list = match &self.expect {
            Some(Expected::List(list)) => Some(&**list),
            _ => None,
        };
        files.iter().copied().chain(list).map(Path::to_owned).collect()
    }

    /// The digest of the file at `path`, or the one that its outboard stands for; and whether it was given.
    pub(super) fn digest_or_root(
        &self,
        path: &Path,
        outboard: &Path,
        store: &File,
        layout: &Layout,
        mode: Mode,
    ) -> anyhow::Result<(Hash, bool)> {
        if let Some(digest) = self.digest(path)? {
            return Ok((digest, true));
        }
        let root = root(outboard, store, layout, mode)?;
        root.map(|root| (root, false))
            .with_context(|| format!("{}: {EMPTY}; give it with --expect", shown(outboard)))
    }
}

/// The digest in `list` of the file at `path`.
fn find(list: &Path, path: &Path) -> anyhow::Result<Hash> {
    let mut lines = Lines::open(list).with_context(|| shown(list))?;
    let full = path.canonicalize();
    let mut found: Option<Hash> = None;
    while let Some((number, line)) = lines.next().with_context(|| shown(list))? {
        // Lines of other files do not matter, and a line that cannot be understood names no file.
        let Ok(Some(entry)) = parse(line, Some(OUT_LEN as u64)) else { continue };
        let Ok(name) = entry.find() else { continue };
        let is_it = name == path
            || matches!((&full, name.canonicalize()), (Ok(full), Ok(name)) if *full == name);
        if !is_it {
            continue;
        }
        let digest = Hash::from_slice(&entry.digest)?;
        if found.is_some_and(|found| found != digest) {
            bail!(
                "{}:{number}: has another digest of {} than a line before",
                shown(list),
                shown(path)
            );
        }
        found = Some(digest);
    }
    found.with_context(|| format!("{}: has no digest of {}", shown(list), shown(path)))
}

/// The digest that an outboard stands for. An outboard of one group is empty, and stands for none.
fn root(path: &Path, store: &File, layout: &Layout, mode: Mode) -> anyhow::Result<Option<Hash>> {
    if layout.groups() == 1 {
        return Ok(None);
    }
    let mut pair = [0; PAIR_LEN];
    store
        .read_exact_at(&mut pair, 0)
        .map_err(|error| anyhow::anyhow!("{}: {error}", shown(path)))?;
    let mut top = Subtrees::new(mode);
    top.push(pair.as_chunks().0, 0);
    Ok(Some(top.finalize()))
}

/// What is wrong where the digest of one group is needed.
const EMPTY: &str = "an outboard of one group is empty, and does not have the digest";
