//! The stores of Hugging Face: names of files from snapshots, shared blobs, and folders with metadata.

use super::markers::{is_hugging_face_shared, read_small};
use super::object::{
    DANGLES, LEADS_OUT, NOT_AN_OBJECT, Object, Said, below, is_absent, object, outside, task,
};
use crate::algorithm::Algorithm;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use treewide_files::walk::Found;
use treewide_files::{Error, ErrorKind, Kind};

/// The folders that links of a repository may lead to, without links in their paths.
pub(super) struct Cache {
    blobs: Option<PathBuf>,
    shared: Option<PathBuf>,
}

impl Cache {
    /// Of a repository.
    pub(super) fn of(repository: &Path) -> Self {
        // Without them, links lead out of the store, and are not followed.
        let shared = repository.join("../blobs").canonicalize().ok();
        Self {
            blobs: repository.join("blobs").canonicalize().ok(),
            shared: shared.filter(|it| matches!(is_hugging_face_shared(it), Ok(true))),
        }
    }

    /// Whether a link in the place of a blob leads to a shared blob of the same cache.
    pub(super) fn has_shared(&self, link: &Path) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|it| link.canonicalize().is_ok_and(|link| link.starts_with(it)))
    }

    fn has(&self, link: &Path) -> bool {
        let blobs = self.blobs.as_ref();
        blobs.is_some_and(|it| link.canonicalize().is_ok_and(|link| link.starts_with(it)))
            || self.has_shared(link)
    }
}

/// The files of snapshots, by the names of the blobs that they link to.
#[derive(Default)]
pub(super) struct Files {
    names: HashMap<OsString, String>,
    missing: HashSet<OsString>,
}

/// What is wrong in all snapshots, such as links that lead to nothing, and the names of the files.
pub(super) fn snapshots(root: &Path, cache: &Cache) -> (Vec<Object>, Files) {
    let (mut wrong, mut files) = (Vec::new(), Files::default());
    let repository =
        root.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    for (entry, inside) in below(root, "snapshots") {
        let path = match entry {
            Found::Link(path) => path,
            other => {
                let why = "not a link to a blob, so that its digest is not known";
                wrong.extend(object(other, Said::Other(why.into()), |_| false));
                continue;
            }
        };
        let blob = fs::read_link(&path).ok().and_then(|it| it.file_name().map(OsString::from));
        let blob = blob.unwrap_or_default();
        match path.metadata() {
            Err(error) if is_absent(&error) => {
                let cause = format!("its blob {} is not there", blob.to_string_lossy());
                wrong.push(Object::Missing(path, cause));
                files.missing.insert(blob);
            }
            Err(error) => wrong.push(Object::Unreadable(Error::new(path, ErrorKind::open(error)))),
            Ok(of) if of.is_file() && cache.has(&path) => {
                let name = inside.splitn(3, '/').nth(2).unwrap_or(&inside);
                files.names.entry(blob).or_insert_with(|| format!("{name} of {repository}"));
            }
            Ok(_) => wrong.push(Object::Wrong(path, LEADS_OUT.into())),
        }
    }
    (wrong, files)
}

impl Files {
    /// The object with the name of the file that has its content. `None` if that was said to be missing.
    pub(super) fn remark(&self, object: Object) -> Option<Object> {
        match object {
            Object::File(mut task) => {
                let blob = task.path.file_name();
                task.about.remark = blob.and_then(|it| self.names.get(it)).cloned();
                Some(Object::File(task))
            }
            Object::Missing(path, why) => {
                let is_known = path.file_name().is_some_and(|it| self.missing.contains(it));
                (!is_known || why != DANGLES).then_some(Object::Missing(path, why))
            }
            other => Some(other),
        }
    }
}

/// The files of a folder whose digests are in `.cache/huggingface/download`.
pub(super) fn folder(root: PathBuf) -> impl Iterator<Item = Object> {
    const METADATA: &str = ".cache/huggingface/download";
    let (download, base) = (root.join(METADATA), root.canonicalize());
    below(&root, METADATA).filter_map(move |(entry, inside)| {
        let path = match &entry {
            Found::File { path, .. } | Found::Special { path, .. } => path,
            Found::Link(path) | Found::Directory(path) => path,
            _ => return object(entry, Said::Other(NOT_AN_OBJECT.into()), |_| false),
        };
        let is_metadata = path.extension().is_some_and(|it| it == "metadata");
        let name = path.strip_prefix(&download).ok().filter(|_| is_metadata);
        let Some(file) = name.map(|it| root.join(it.with_extension(""))) else {
            let said = match inside.rsplit('.').next() {
                Some("incomplete") => Said::Passed("unfinished download"),
                Some("lock") => Said::Passed(""),
                _ if matches!(entry, Found::Link(_)) => Said::Folder,
                _ => Said::Other("not metadata of a download".into()),
            };
            return object(entry, said, |_| false);
        };
        match entry {
            Found::File { .. } => {}
            // A folder of the repository may have such a name.
            Found::Directory(_) if !file.is_file() => return None,
            _ => {
                return Some(Object::Unverified(file, "its metadata is not a regular file".into()));
            }
        }
        let metadata = match read_small(path) {
            Ok(metadata) => metadata,
            Err(error) => return Some(Object::Unreadable(error)),
        };
        let metadata = String::from_utf8_lossy(&metadata);
        let mut lines = metadata.lines().skip(1);
        let etag = lines.next().unwrap_or_default();
        let downloaded = lines.next().and_then(|it| it.parse::<f64>().ok());
        let algorithm = match etag.len() {
            40 => Algorithm::GIT_BLOB_SHA1,
            _ => Algorithm::SHA256,
        };
        let said = Said::object(etag, vec![algorithm]);
        let Said::Object(mut about) = said else { return Some(no_digest(file)) };
        if about.digest().len() != algorithm.digest_len() {
            return Some(no_digest(file));
        }
        let base = match &base {
            Ok(base) => std::slice::from_ref(base),
            Err(error) => {
                let error = ErrorKind::open(error.kind().into());
                return Some(Object::Unreadable(Error::new(&root, error)));
            }
        };
        match outside(base, &file) {
            Some(Object::Missing(file, _)) => {
                return Some(Object::Missing(file, "it was downloaded, and is not there".into()));
            }
            Some(wrong) => return Some(wrong),
            None => {}
        }
        let is_newer = downloaded.is_some_and(|at| is_newer(&file, at));
        about.remark = is_newer.then(|| "changed since the download".into());
        Some(task(file, Kind::Regular, about))
    })
}

fn no_digest(file: PathBuf) -> Object {
    Object::Unverified(file, "no digest in its metadata".into())
}

/// Whether a file was written to more than a second after this time.
fn is_newer(file: &Path, downloaded: f64) -> bool {
    let at = Duration::try_from_secs_f64(downloaded + 1.0).ok();
    let at = at.and_then(|it| UNIX_EPOCH.checked_add(it));
    let changed: Option<SystemTime> = file.metadata().and_then(|it| it.modified()).ok();
    changed.zip(at).is_some_and(|(changed, at)| changed > at)
}
