//! The marks by which each kind of store is recognised. All of them must be there. A mark that cannot be looked at, or is damaged, is an
//! error: then it is not known whether there is a store.

use super::object::is_absent;
use std::fs::{self, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use treewide_files::{Error, ErrorKind, long_path};

/// Whether marks are there, or why that is not known.
pub(super) type Seen = Result<bool, Error>;

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::new(path, ErrorKind::open(error))
}

fn has(path: &Path, is: fn(&Metadata) -> bool) -> Seen {
    match path.metadata() {
        Ok(metadata) => Ok(is(&metadata)),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(failed(path, error)),
    }
}

fn has_file(dir: &Path, name: &str) -> Seen {
    has(&dir.join(name), Metadata::is_file)
}

fn has_dir(dir: &Path, name: &str) -> Seen {
    has(&dir.join(name), Metadata::is_dir)
}

fn has_dirs(dir: &Path, names: &[&str]) -> Seen {
    names.iter().try_fold(true, |all, name| Ok(all && has_dir(dir, name)?))
}

/// Whether a directory has an entry that is so. What cannot be looked at counts if there is no other.
fn has_entry(dir: &Path, is: impl Fn(&str) -> Seen) -> Seen {
    let entries = match fs::read_dir(dir) {
        Err(error) if is_absent(&error) => return Ok(false),
        entries => entries.map_err(|error| failed(dir, error))?,
    };
    let mut none = Ok(false);
    for entry in entries {
        let seen = match entry {
            // No mark has a name that is not text.
            Ok(entry) => entry.file_name().to_str().map_or(Ok(false), &is),
            Err(error) => Err(failed(dir, error)),
        };
        match seen {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => none = Err(error),
        }
    }
    none
}

/// The start of a small file; empty if there is none.
fn start(path: &Path) -> Result<Vec<u8>, Error> {
    if !has(path, Metadata::is_file)? {
        return Ok(Vec::new());
    }
    read_small(path)
}

/// The first 64 KiB of a file. Its access time stays as it is, where the system allows that.
pub(crate) fn read_small(path: &Path) -> Result<Vec<u8>, Error> {
    read_start(path, 64 << 10)
}

/// A whole file. `None` if it is longer than `most` bytes.
pub(super) fn read_limited(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let bytes = read_start(path, most + 1)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn read_start(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut start = Vec::new();
    let file = long_path::open(path, true).map_err(|error| Error::new(path, error))?;
    let read = file.take(most).read_to_end(&mut start);
    read.map_err(|error| Error::new(path, ErrorKind::read(error))).map(|_| start)
}

/// Whether the text of a mark is as it should be, which is an error if there is one that is not.
fn is_right(path: &Path, is: impl Fn(&[u8]) -> bool) -> Seen {
    match is(&start(path)?) {
        true => Ok(true),
        false if !has(path, Metadata::is_file)? => Ok(false),
        false => Err(Error::new(
            path,
            ErrorKind::Other(
                "the mark of a store, but damaged or of an unknown version; nothing was checked"
                    .into(),
            ),
        )),
    }
}

pub(super) fn is_hex(name: &str, len: usize) -> bool {
    name.len() == len && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// The path of a directory as it is given, and without links.
fn paths(dir: &Path) -> impl Iterator<Item = PathBuf> {
    [Some(dir.to_owned()), dir.canonicalize().ok()].into_iter().flatten()
}

fn is_named(dir: &Path, is: impl Fn(&str) -> bool) -> bool {
    paths(dir).any(|it| it.file_name().and_then(|it| it.to_str()).is_some_and(&is))
}

/// Whether this is a folder of a git directory, also if it is a link to a folder elsewhere.
fn is_in_git(dir: &Path) -> Seen {
    let git = [Some(dir.join("..")), dir.parent().map(Path::to_owned)];
    let is_git = |git: PathBuf| Ok(has_file(&git, "HEAD")? && has_dir(&git, "refs")?);
    Ok(has_dir(dir, "objects")?
        && git.into_iter().flatten().try_fold(false, |any, git| Ok(any || is_git(git)?))?)
}

pub(super) fn is_hugging_face(dir: &Path) -> Seen {
    let is_repository = |name: &str| {
        name.split_once("--").is_some_and(|(kind, rest)| {
            matches!(kind, "models" | "datasets" | "spaces" | "kernels") && !rest.is_empty()
        })
    };
    Ok(is_named(dir, is_repository)
        && (has_dir(dir, "snapshots")? || has_dir(dir, "blobs")? && has_dir(dir, "refs")?))
}

pub(super) fn is_hugging_face_shared(dir: &Path) -> Seen {
    is_right(&dir.join(".huggingface-shared-blobs"), |it| it == b"1\n")
}

pub(super) fn is_hugging_face_folder(dir: &Path) -> Seen {
    let cache = dir.join(".cache/huggingface");
    let tag = b"Signature: 8a477f597d28d172789f06886806bc55";
    Ok(has_dir(&cache, "download")?
        && (has_file(&cache, ".gitignore")?
            || is_right(&cache.join("CACHEDIR.TAG"), |it| it.starts_with(tag))?))
}

pub(super) fn is_ollama(dir: &Path) -> Seen {
    let is_blob = |name: &str| {
        let (kind, digits) = name.split_at_checked(7).unwrap_or_default();
        Ok(matches!(kind, "sha256-" | "sha256:") && is_hex(digits, 64))
    };
    // Without any blob, manifests say what is missing.
    Ok((has_dir(dir, "manifests")? || has_dir(dir, "manifests-v2")?)
        && (has_entry(&dir.join("blobs"), is_blob)?
            || has_dir(dir, "manifests/registry.ollama.ai")?))
}

pub(super) fn is_oci(dir: &Path) -> Seen {
    let has_version = |text: &[u8]| {
        serde_json::from_slice::<serde_json::Value>(text)
            .is_ok_and(|it| it.get("imageLayoutVersion").is_some())
    };
    Ok(has_dir(dir, "blobs")?
        && has_file(dir, "index.json")?
        && is_right(&dir.join("oci-layout"), has_version)?)
}

pub(super) fn is_containerd(dir: &Path) -> Seen {
    Ok(has_dir(dir, "ingest")? && (has_dir(dir, "blobs/sha256")? || has_dir(dir, "blobs/sha512")?))
}

pub(super) fn is_skopeo(dir: &Path) -> Seen {
    Ok(has_file(dir, "manifest.json")?
        && has_entry(dir, |name| Ok(is_hex(name, 64)))?
        && is_right(&dir.join("version"), |it| it.starts_with(b"Directory Transport Version: "))?)
}

pub(super) fn is_registry(dir: &Path) -> Seen {
    Ok(paths(dir).any(|it| it.ends_with("docker/registry/v2")) && has_dir(dir, "blobs")?)
}

pub(super) fn is_git_lfs(dir: &Path) -> Seen {
    Ok(is_named(dir, |it| it == "lfs") && is_in_git(dir)?)
}

pub(super) fn is_git_annex(dir: &Path) -> Seen {
    Ok(is_named(dir, |it| it == "annex") && is_in_git(dir)?)
}

/// Whether there is a folder with two digits that holds an object.
fn has_digits(dir: &Path, is_object: impl Fn(&str, &str) -> bool) -> Seen {
    has_entry(dir, |folder| {
        Ok(is_hex(folder, 2) && has_entry(&dir.join(folder), |name| Ok(is_object(folder, name)))?)
    })
}

pub(super) fn is_dvc(dir: &Path) -> Seen {
    let is_object = |_: &str, name: &str| is_hex(name.strip_suffix(".dir").unwrap_or(name), 30);
    Ok(paths(dir).any(|it| it.ends_with("files/md5")) && has_digits(dir, is_object)?)
}

pub(super) fn is_restic(dir: &Path) -> Seen {
    Ok(has_dirs(dir, &["data", "index", "keys", "snapshots"])?
        && has_file(dir, "config")?
        && has_entry(&dir.join("keys"), |it| Ok(is_hex(it, 64)))?)
}

pub(super) fn is_cacache(dir: &Path) -> Seen {
    has_dirs(dir, &["content-v2", "index-v5"])
}

pub(super) fn is_bazel(dir: &Path) -> Seen {
    let is_blob = |folder: &str, name: &str| {
        [32, 40, 64].iter().any(|len| is_hex(name, *len)) && name.starts_with(folder)
    };
    Ok(has_dirs(dir, &["ac", "cas"])? && has_digits(&dir.join("cas"), is_blob)?)
}

pub(super) fn is_apt(dir: &Path) -> Seen {
    has_dir(dir, "by-hash/SHA256")
}

pub(super) fn is_bag(dir: &Path) -> Seen {
    let is_declared =
        |it: &[u8]| it.strip_prefix(b"\xef\xbb\xbf").unwrap_or(it).starts_with(b"BagIt-Version:");
    Ok(has_dir(dir, "data")? && is_right(&dir.join("bagit.txt"), is_declared)?)
}
