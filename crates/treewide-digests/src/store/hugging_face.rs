//! The stores of Hugging Face: names of files from snapshots, shared blobs, and folders with metadata.

use super::UNFINISHED;
use super::markers::{is_hugging_face_shared, read_small};
use super::object::{
    LEADS_OUT, NOT_AN_OBJECT, Object, Said, below, is_absent, object, outside, task,
};
use super::references::{MOST_OF_LIST, References};
use crate::algorithm::Algorithm;
use crate::expected::Expected;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use treewide_files::name::shown;
use treewide_files::walk::Found;
use treewide_files::{Error, ErrorKind, Kind};

/// The files of a commit. Only the first version of this form is known.
#[derive(Deserialize)]
struct Tree {
    format_version: Option<u64>,
    files: Option<HashMap<String, FileOfTree>>,
}

#[derive(Deserialize)]
struct FileOfTree {
    blob_id: Option<String>,
    lfs_sha256: Option<String>,
    lfs_size: Option<u64>,
    size: Option<u64>,
}

/// A file of a repository, as `trees/COMMIT.json` has it.
struct Listed {
    /// The blob has one of these names.
    blobs: Vec<String>,
    size: Option<u64>,
}

/// The files of all commits that have a tree: their paths in `snapshots`.
fn trees(root: &Path, references: &mut References) -> HashMap<String, Listed> {
    let mut files = HashMap::new();
    for (entry, inside) in below(root, "trees") {
        let commit = inside.strip_prefix("trees/").and_then(|it| it.strip_suffix(".json"));
        let is = commit.ok_or_else(|| Said::Other("not the files of a commit".into()));
        let Some(path) = references.record(entry, is.map(drop)) else { continue };
        let Some(tree) = references.json::<Tree>(&path, MOST_OF_LIST) else { continue };
        let (Some(1), Some(of_tree), Some(commit)) = (tree.format_version, tree.files, commit)
        else {
            references.not_understood(&path);
            continue;
        };
        for (name, file) in of_tree {
            let blobs = [file.lfs_sha256, file.blob_id].into_iter().flatten();
            let blobs = blobs.map(|it| it.to_ascii_lowercase()).collect();
            let size = file.lfs_size.or(file.size);
            files.insert(format!("snapshots/{commit}/{name}"), Listed { blobs, size });
        }
    }
    files
}

/// What snapshots say of blobs, and what is wrong in them, such as links that lead to nothing.
pub(super) fn snapshots(root: &Path) -> References {
    // The other repositories of the cache may have the same blob.
    let shared = root.join("../blobs");
    let is_shared = matches!(is_hugging_face_shared(&shared), Ok(true));
    let folders = [Some(root.join("blobs")), Some(shared).filter(|_| is_shared)];
    let mut references = References::of(&folders.into_iter().flatten().collect::<Vec<_>>());
    let mut listed = trees(root, &mut references);
    let mut commits = HashSet::new();
    let repository =
        root.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    for (entry, inside) in below(root, "snapshots") {
        let of = listed.remove(&inside);
        commits.extend(inside.split('/').nth(1).map(str::to_owned));
        let wrong = match (entry, of) {
            (Found::Link(path), of) => snapshot_link(root, &path, of, &mut references, || {
                let name = inside.splitn(3, '/').nth(2).unwrap_or(&inside);
                format!("{name} of {repository}")
            }),
            // Where there are no links, files are copies of blobs.
            (Found::File { path, identity, .. }, Some(Listed { blobs, size }))
                if !blobs.is_empty() =>
            {
                Some(match etag(&blobs[0]) {
                    Some(about) => task(path, Kind::Found(identity), about.size(size)),
                    None => Object::Unverified(path, "no digest in its tree".into()),
                })
            }
            (other, _) => {
                let why = "not a link to a blob, so that its digest is not known";
                object(other, Said::Other(why.into()), &[])
            }
        };
        references.wrong.extend(wrong);
    }
    let is_of = |it: &String| it.split('/').nth(1).is_some_and(|it| commits.contains(it));
    let absent = listed.keys().filter(|it| is_of(it));
    references.wrong.extend(absent.map(|_| Object::Passed("files that were not downloaded")));
    references
}

/// What is wrong with a link in a snapshot.
fn snapshot_link(
    root: &Path,
    path: &Path,
    listed: Option<Listed>,
    references: &mut References,
    remark: impl Fn() -> String,
) -> Option<Object> {
    let blob = fs::read_link(path).ok().and_then(|it| it.file_name().map(OsString::from));
    let blob = blob.unwrap_or_default();
    let object = root.join("blobs").join(&blob);
    match path.metadata() {
        Err(error) if is_absent(&error) => {
            let cause = format!("its blob {} is not there", shown(Path::new(&blob)));
            references.lacks(object);
            Some(Object::Missing(path.to_owned(), cause))
        }
        Err(error) => Some(Object::Unreadable(Error::new(path, ErrorKind::open(error)))),
        Ok(of) if of.is_file() && outside(&references.bases, path).is_none() => {
            // A program that ended early has left the link.
            let place = path.canonicalize().unwrap_or_default();
            if place.extension().is_some_and(|it| it == "incomplete" || it == "tmp") {
                let cause = "its blob is an unfinished download";
                return Some(Object::Missing(path.to_owned(), cause.into()));
            }
            let blobs = listed.as_ref().map(|it| &it.blobs[..]);
            if blobs.is_some_and(<[_]>::is_empty) {
                let why = "no digest in its tree";
                references.wrong.push(Object::Unverified(path.to_owned(), why.into()));
            } else if blobs.is_some_and(|it| !it.iter().any(|it| blob.eq_ignore_ascii_case(it))) {
                return Some(Object::Wrong(
                    path.to_owned(),
                    "leads to the content of another file".into(),
                ));
            }
            references.know(object, (Some(remark()), listed.and_then(|it| it.size)), path);
            None
        }
        Ok(_) => Some(Object::Wrong(path.to_owned(), LEADS_OUT.into())),
    }
}

/// What an etag says of a file.
fn etag(etag: &str) -> Option<Expected> {
    let algorithm = match etag.len() {
        40 => Algorithm::GIT_BLOB_SHA1,
        64 => Algorithm::SHA256,
        _ => return None,
    };
    match Said::object(etag, vec![algorithm]) {
        Said::Object(about) => Some(*about),
        _ => None,
    }
}

/// The files of a folder whose digests are in `.cache/huggingface/download`.
pub(super) fn folder(root: PathBuf) -> impl Iterator<Item = Object> {
    const METADATA: &str = ".cache/huggingface/download";
    let (download, bases) =
        (root.join(METADATA), References::of(std::slice::from_ref(&root)).bases);
    below(&root, METADATA).filter_map(move |(entry, inside)| {
        let path = match &entry {
            Found::File { path, .. } | Found::Special { path, .. } => path,
            Found::Link(path) | Found::Directory(path) => path,
            _ => return object(entry, Said::Other(NOT_AN_OBJECT.into()), &[]),
        };
        let is_metadata = path.extension().is_some_and(|it| it == "metadata");
        let name = path.strip_prefix(&download).ok().filter(|_| is_metadata);
        let Some(file) = name.map(|it| root.join(it.with_extension(""))) else {
            let said = match inside.rsplit('.').next() {
                Some("incomplete") => Said::Passed(UNFINISHED),
                Some("lock") => Said::Passed(""),
                _ if matches!(entry, Found::Link(_)) => Said::Folder,
                _ => Said::Other("not metadata of a download".into()),
            };
            return object(entry, said, &[]);
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
        let Some(about) = metadata.lines().nth(1).and_then(etag) else {
            return Some(Object::Unverified(file, "no digest in its metadata".into()));
        };
        match outside(&bases, &file) {
            Some(Object::Missing(file, _)) => {
                return Some(Object::Missing(file, "it was downloaded, and is not there".into()));
            }
            Some(wrong) => return Some(wrong),
            None => {}
        }
        Some(task(file, Kind::Regular, about))
    })
}
