//! The directory that a manifest is compared with.

use std::path::Path;
use treewide_manifest::Manifest;

/// The most records whose paths are looked for where no directory is named.
const LOOKED_FOR: usize = 1000;

/// The tree: `.` if none is named, and if it has anything that `manifest` has. Else another tree would pass for one that was
/// emptied and filled, and `update` would record it.
pub(super) fn root<'a>(
    dir: Option<&'a Path>,
    manifest: Option<&Manifest>,
) -> anyhow::Result<&'a Path> {
    let here = Path::new(".");
    let (None, Some(manifest)) = (dir, manifest) else { return Ok(dir.unwrap_or(here)) };
    let mut missing = 0;
    for record in manifest.records()?.take(LOOKED_FOR) {
        let record = record?;
        match treewide_files::name::os_path(record.bare()) {
            Ok(name) if here.join(&name).symlink_metadata().is_ok() => return Ok(here),
            _ => missing += 1,
        }
    }
    if missing > 0 {
        let list = treewide_files::name::shown(manifest.list().path());
        anyhow::bail!(
            "{list}: nothing that it lists is in this directory ({missing} looked for); name its directory behind it, or \
             '.' for this one"
        );
    }
    Ok(here)
}
