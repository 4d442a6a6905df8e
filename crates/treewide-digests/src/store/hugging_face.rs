//! The stores of Hugging Face: names of files from snapshots, shared blobs, and folders with metadata.

use super::markers::is_hugging_face_shared;
use super::object::{LEADS_OUT, Object, below, found, not_a_file};
use crate::algorithm::Algorithm;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use treewide_files::Kind;
use treewide_files::walk::Found;

/// The files of snapshots, by the names of the blobs that they link to.
pub(super) struct Files(HashMap<OsString, String>);

/// The links of all snapshots that lead to nothing, and the names of the others.
pub(super) fn snapshots(root: &Path) -> (Vec<Object>, Files) {
    let (mut missing, mut files) = (Vec::new(), HashMap::new());
    let repository =
        root.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    for (entry, inside) in below(root, "snapshots") {
        let Found::Link(path) = entry else { continue };
        let Ok(target) = fs::read_link(&path) else { continue };
        let Some(blob) = target.file_name() else { continue };
        if path.metadata().is_err() {
            let blob = blob.to_string_lossy();
            missing.push(Object::Missing(path, format!("its blob {blob} is not there")));
        } else {
            let name = inside.splitn(3, '/').nth(2).unwrap_or(&inside);
            files.entry(blob.to_owned()).or_insert_with(|| format!("{name} of {repository}"));
        }
    }
    (missing, Files(files))
}

impl Files {
    /// The object with the name of the file that has its content.
    pub(super) fn remark(&self, object: Object) -> Object {
        match object {
            Object::File(mut task) => {
                let blob = task.path.file_name();
                task.about.remark = blob.and_then(|it| self.0.get(it)).cloned();
                Object::File(task)
            }
            other => other,
        }
    }
}

/// Whether a link in the place of a blob leads to a shared blob of the same cache.
pub(super) fn is_shared(repository: &Path, link: &Path) -> bool {
    let is_it = || {
        let shared = repository.join("../blobs").canonicalize().ok()?;
        Some(link.canonicalize().ok()?.starts_with(&shared) && is_hugging_face_shared(&shared))
    };
    is_it().unwrap_or(false)
}

/// The files of a folder whose digests are in `.cache/huggingface/download`.
pub(super) fn folder(root: PathBuf) -> impl Iterator<Item = Object> {
    const METADATA: &str = ".cache/huggingface/download";
    below(&root, METADATA).filter_map(move |(entry, inside)| {
        let Found::File { path, .. } = entry else { return not_a_file(entry) };
        if inside.ends_with(".incomplete") {
            return Some(Object::Passed("unfinished download"));
        }
        let name = inside.strip_prefix(METADATA)?.strip_prefix('/')?.strip_suffix(".metadata")?;
        let metadata = fs::read_to_string(&path).ok()?;
        let mut lines = metadata.lines().skip(1);
        let etag = lines.next().unwrap_or_default();
        let downloaded = lines.next().and_then(|it| it.parse::<f64>().ok());
        let file = root.join(name);
        let algorithm = match etag.len() {
            64 => Algorithm::SHA256,
            40 => Algorithm::GIT_BLOB_SHA1,
            _ => return Some(Object::Skipped(file, "no digest in its metadata".into())),
        };
        if file.is_symlink() {
            return Some(Object::Wrong(file, LEADS_OUT.into()));
        }
        if !file.exists() {
            return Some(Object::Missing(file, "it was downloaded, and is not there".into()));
        }
        let is_newer = downloaded.is_some_and(|at| is_newer(&file, at));
        Some(match found(file, Kind::Regular, algorithm, etag) {
            Object::File(mut task) => {
                task.about.remark = is_newer.then(|| "changed since the download".into());
                Object::File(task)
            }
            other => other,
        })
    })
}

/// Whether a file was written to more than a second after this time.
fn is_newer(file: &Path, downloaded: f64) -> bool {
    let at = Duration::try_from_secs_f64(downloaded + 1.0).ok();
    let at = at.and_then(|it| UNIX_EPOCH.checked_add(it));
    let changed: Option<SystemTime> = file.metadata().and_then(|it| it.modified()).ok();
    changed.zip(at).is_some_and(|(changed, at)| changed > at)
}
