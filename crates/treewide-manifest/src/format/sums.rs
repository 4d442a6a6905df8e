//! Lists of a manifest's files with their digests by another algorithm, as `sha256sum` and similar programs write and check them.

use crate::error::{Error, ErrorKind};
use crate::format::also::digest;
use crate::format::list::push_digits;
use crate::format::manifest::{Index, Manifest, index_path, unusable_index};
use crate::format::name;
use crate::format::record::{FileRecord, What};
use treewide_digests::Algorithm;
use treewide_files::digest::hex;
use treewide_files::name::{quoted, shown};

/// Returns the list of all files with their digests by this algorithm, in the order of the names. Names have their own bytes.
///
/// # Errors
/// If the index cannot be used, or does not have the digest of every file.
pub fn list(manifest: &Manifest, algorithm: Algorithm) -> Result<Vec<u8>, Error> {
    let (path, shown_algorithm) = (manifest.list().path(), algorithm.shown());
    let list_error = |at, cause| Err(Error::new(at, ErrorKind::List(cause)));
    let list = quoted(&shown(path));
    let add = format!("`treewide update --also {} {list}` adds them", algorithm.name());
    match manifest.index() {
        Index::Bound(_) => {}
        Index::Ignored(cause) => return Err(unusable_index(path, cause)),
        Index::Absent => {
            let cause =
                format!("has no index, which would have digests by {shown_algorithm}; {add}");
            return list_error(path.to_owned(), cause);
        }
    }
    let (mut text, mut lacking, mut first) = (Vec::new(), 0_u64, None);
    let mut records = manifest.records()?;
    for record in &mut records {
        let record = record?;
        let What::File(FileRecord { facts, .. }) = &record.what else { continue };
        match facts.as_ref().and_then(|facts| digest(&facts.also, algorithm)) {
            Some(digest) => push_digits(&mut text, &record.name, hex(digest).as_bytes()),
            None => {
                lacking += 1;
                first.get_or_insert(record.name);
            }
        }
    }
    if let Some(cause) = records.damage() {
        return Err(unusable_index(path, cause));
    }
    let Some(first) = first else { return Ok(text) };
    let first = shown(&name::path(&first));
    let which = match lacking {
        1 => format!("{first} has no digest by {shown_algorithm}"),
        _ => format!("{lacking} files have no digest by {shown_algorithm}, such as {first}"),
    };
    list_error(index_path(path), format!("{which}; {add}, except to files that it reports as rot"))
}
