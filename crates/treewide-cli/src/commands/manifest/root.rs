//! The directory that a manifest is of, and the place of its list, where the user does not name both.

use anyhow::{Context, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use treewide_files::name::{os_path, shown};
use treewide_manifest::Manifest;

/// The most records whose paths are looked for where no directory is named.
const LOOKED_FOR: usize = 1000;

/// The ending of a list.
pub(crate) const ENDING: &str = "b3";

/// The list of a directory: `photos.b3` next to `photos`.
pub(super) fn list_of(dir: &Path) -> anyhow::Result<PathBuf> {
    let full = match dir.file_name() {
        Some(_) => dir.to_owned(),
        // Such as `.`: its name is elsewhere.
        None => dir.canonicalize().with_context(|| shown(dir))?,
    };
    let Some(name) = full.file_name() else {
        bail!("{}: has no name that the list could have; name the list with -o", shown(dir));
    };
    let mut name = OsString::from(name);
    name.push(".");
    name.push(ENDING);
    Ok(full.with_file_name(name))
}

/// The directory that the manifest is compared with if none is named: the one of its name next to it or, if there is none, `.`. It
/// must have anything that the manifest has, and `.` half of it. Else another tree would pass for one that was emptied and filled, and
/// `update` would record it.
pub(super) fn find(manifest: &Manifest) -> anyhow::Result<PathBuf> {
    let list = manifest.list().path();
    let named = list.extension().filter(|it| *it == ENDING).map(|_| list.with_extension(""));
    let named = named.filter(|dir| dir.is_dir());
    let here = Path::new(".");
    let (mut in_named, mut in_here, mut all) = (0, 0, 0);
    for record in manifest.records()?.take(LOOKED_FOR) {
        let record = record?;
        all += 1;
        let Ok(name) = os_path(record.bare()) else { continue };
        let has = |dir: &Path| u64::from(dir.join(&name).symlink_metadata().is_ok());
        in_named += named.as_deref().map_or(0, has);
        in_here += has(here);
        if in_named > 0 {
            break;
        }
    }
    match &named {
        Some(named) if in_named > 0 || all == 0 => return Ok(named.clone()),
        None if in_here > 0 && in_here * 2 >= all => return Ok(here.to_owned()),
        _ => {}
    }
    let list = shown(list);
    match named {
        // No record says whether `.` is it.
        _ if all == 0 => {
            bail!("{list}: lists nothing by which its directory is known; name that after it")
        }
        Some(named) if in_here > 0 => bail!(
            "{list}: nothing that it lists is in {}, and some of it is in this directory; name the right one after it, or \
             mount the disk",
            shown(&named)
        ),
        Some(named) => bail!(
            "{list}: nothing that it lists is in {} ({all} looked for); name its directory after it",
            shown(&named)
        ),
        None => bail!(
            "{list}: most of what it lists is not in this directory ({} of {all}); name its directory after it",
            all - in_here
        ),
    }
}
