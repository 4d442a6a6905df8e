//! The marks by which each kind of store is recognised. All of them must be there.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The names in a directory that are text.
fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

fn has_dir(dir: &Path, name: &str) -> bool {
    dir.join(name).is_dir()
}

fn has_dirs(dir: &Path, names: &[&str]) -> bool {
    names.iter().all(|name| has_dir(dir, name))
}

/// The start of a small file.
fn start(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if path.is_file()
        && let Ok(file) = fs::File::open(path)
    {
        let _ = file.take(4096).read_to_end(&mut start);
    }
    start
}

fn is_hex(name: &str, len: usize) -> bool {
    name.len() == len && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// The last part of the path of a directory, also if that is `.`.
fn name_of(dir: &Path) -> String {
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    name(dir).or_else(|| name(&dir.canonicalize().ok()?)).unwrap_or_default()
}

/// Whether this is a folder of a git directory.
fn is_in_git(dir: &Path) -> bool {
    let git = dir.join("..");
    has_dir(dir, "objects") && git.join("HEAD").is_file() && has_dir(&git, "refs")
}

pub(super) fn is_hugging_face(dir: &Path) -> bool {
    let name = name_of(dir);
    let is_named = name.split_once("--").is_some_and(|(kind, rest)| {
        matches!(kind, "models" | "datasets" | "spaces" | "kernels") && !rest.is_empty()
    });
    is_named && has_dir(dir, "blobs") && (has_dir(dir, "snapshots") || has_dir(dir, "refs"))
}

pub(super) fn is_hugging_face_shared(dir: &Path) -> bool {
    start(&dir.join(".huggingface-shared-blobs")) == b"1\n"
}

pub(super) fn is_hugging_face_folder(dir: &Path) -> bool {
    let cache = dir.join(".cache/huggingface");
    let is_tagged = start(&cache.join("CACHEDIR.TAG"))
        .starts_with(b"Signature: 8a477f597d28d172789f06886806bc55");
    has_dir(&cache, "download") && (is_tagged || cache.join(".gitignore").is_file())
}

pub(super) fn is_ollama(dir: &Path) -> bool {
    let is_blob = |name: String| {
        let digits = name.strip_prefix("sha256-").or(name.strip_prefix("sha256:"));
        digits.is_some_and(|it| is_hex(it, 64))
    };
    (has_dir(dir, "manifests") || has_dir(dir, "manifests-v2"))
        && names(&dir.join("blobs")).any(is_blob)
}

pub(super) fn is_oci(dir: &Path) -> bool {
    let layout = serde_json::from_slice::<serde_json::Value>(&start(&dir.join("oci-layout")));
    has_dir(dir, "blobs")
        && dir.join("index.json").is_file()
        && layout.is_ok_and(|it| it.get("imageLayoutVersion").is_some())
}

pub(super) fn is_containerd(dir: &Path) -> bool {
    has_dir(dir, "ingest") && (has_dir(dir, "blobs/sha256") || has_dir(dir, "blobs/sha512"))
}

pub(super) fn is_skopeo(dir: &Path) -> bool {
    start(&dir.join("version")).starts_with(b"Directory Transport Version: ")
        && dir.join("manifest.json").is_file()
}

pub(super) fn is_registry(dir: &Path) -> bool {
    dir.ends_with("docker/registry/v2") && has_dirs(dir, &["blobs"])
        || dir
            .canonicalize()
            .is_ok_and(|it| it.ends_with("docker/registry/v2") && has_dir(&it, "blobs"))
}

pub(super) fn is_git_lfs(dir: &Path) -> bool {
    name_of(dir) == "lfs" && is_in_git(dir)
}

pub(super) fn is_git_annex(dir: &Path) -> bool {
    name_of(dir) == "annex" && is_in_git(dir)
}

pub(super) fn is_dvc(dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    let is_object = |it: &str| is_hex(it.strip_suffix(".dir").unwrap_or(it), 30);
    dir.ends_with("files/md5")
        && names(&dir)
            .filter(|it| is_hex(it, 2))
            .any(|it| names(&dir.join(it)).any(|it| is_object(&it)))
}

pub(super) fn is_restic(dir: &Path) -> bool {
    has_dirs(dir, &["data", "index", "keys", "snapshots"])
        && dir.join("config").is_file()
        && names(&dir.join("keys")).any(|it| is_hex(&it, 64))
}

pub(super) fn is_cacache(dir: &Path) -> bool {
    has_dirs(dir, &["content-v2", "index-v5"])
}

fn has_cas(dir: &Path) -> bool {
    let is_blob = |folder: &str, name: &str| {
        [32, 40, 64].iter().any(|len| is_hex(name, *len)) && name.starts_with(folder)
    };
    let cas = dir.join("cas");
    has_dir(dir, "ac")
        && names(&cas)
            .filter(|it| is_hex(it, 2))
            .any(|folder| names(&cas.join(&folder)).any(|it| is_blob(&folder, &it)))
}

pub(super) fn is_bazel(dir: &Path) -> bool {
    has_dir(dir, "cas") && name_of(dir) != "blake3" && has_cas(dir)
}

pub(super) fn is_bazel_blake3(dir: &Path) -> bool {
    has_dir(dir, "cas") && name_of(dir) == "blake3" && has_cas(dir)
}

pub(super) fn is_flatfs(dir: &Path) -> bool {
    start(&dir.join("SHARDING")).starts_with(b"/repo/flatfs/shard/v1/")
}

pub(super) fn is_apt(dir: &Path) -> bool {
    has_dir(dir, "by-hash/SHA256")
}

pub(super) fn is_bag(dir: &Path) -> bool {
    start(&dir.join("bagit.txt")).starts_with(b"BagIt-Version:") && has_dir(dir, "data")
}
