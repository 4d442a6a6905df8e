//! Manifests and other records of a store, and the objects that they name: whether they are there, their lengths, and their uses.

use super::markers::{is_hex, read_limited};
use super::object::{Object, Said, below, file, is_absent, object, outside};
use super::pattern;
use crate::expected::Doubt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use treewide_files::name::{shown, shown_text};
use treewide_files::walk::Found;

/// A manifest of more bytes is not read. Programs for containers have the same limit.
const MOST_OF_MANIFEST: u64 = 4 << 20;
/// A list of the files of a folder may have an entry for each of some million files.
pub(super) const MOST_OF_LIST: u64 = 256 << 20;

/// What descriptors call a manifest or an index. Other blobs may be of any length, and are not JSON.
const MANIFESTS: &[&str] = &[
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.artifact.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// A manifest or index of containers. It has at least one of these lists, which may be null.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default, deserialize_with = "list")]
    manifests: Option<Vec<Descriptor>>,
    #[serde(default, deserialize_with = "list")]
    layers: Option<Vec<Descriptor>>,
    #[serde(default, deserialize_with = "list")]
    blobs: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    /// Of Docker's schema 1.
    #[serde(rename = "fsLayers")]
    fs_layers: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: Option<String>,
    digest: String,
    size: Option<u64>,
    urls: Option<Vec<String>>,
}

fn list<'a, D: Deserializer<'a>>(from: D) -> Result<Option<Vec<Descriptor>>, D::Error> {
    Ok(Some(Option::deserialize(from)?.unwrap_or_default()))
}

/// An entry of a list of DVC.
#[derive(Deserialize)]
struct FileOfDvc {
    md5: String,
    relpath: String,
}

/// What is known of objects, by their paths, and what is wrong.
#[derive(Default)]
pub(super) struct References {
    /// The folders that links in the store may lead to, without links in their paths.
    pub(super) bases: Vec<PathBuf>,
    known: HashMap<PathBuf, (Option<String>, Option<u64>)>,
    missing: HashSet<PathBuf>,
    /// Records that may name objects which were not looked for. Some are objects themselves.
    doubts: BTreeMap<PathBuf, Doubt>,
    pub(super) wrong: Vec<Object>,
}

impl References {
    /// Of a store in which objects are only in these folders.
    pub(super) fn of(folders: &[PathBuf]) -> Self {
        // What is not there holds nothing.
        let bases = folders.iter().filter_map(|it| it.canonicalize().ok()).collect();
        Self { bases, ..Self::default() }
    }

    pub(super) fn new(root: &Path) -> Self {
        Self::of(&[root.to_owned(), root.join("blobs")])
    }

    /// What is to be said of records when nothing more is known of objects.
    pub(super) fn next_doubt(&mut self) -> Option<Object> {
        let (path, Doubt { cause, is_usual }) = self.doubts.pop_first()?;
        Some(if is_usual { Object::Skipped(path, cause) } else { Object::Unknown(path, cause) })
    }

    /// `by` names an object, which must be there.
    fn require(&mut self, path: PathBuf, about: (Option<String>, Option<u64>), by: &Path) {
        if !path.symlink_metadata().is_err_and(|error| is_absent(&error)) {
            self.know(path, about, by);
        } else if self.missing.insert(path.clone()) {
            let what = about.0.map(|it| format!("; {it}")).unwrap_or_default();
            self.wrong.push(Object::Missing(path, format!("{} names it{what}", shown(by))));
        }
    }

    /// An object that is there is for this, and has this length, `by` a record.
    pub(super) fn know(&mut self, path: PathBuf, about: (Option<String>, Option<u64>), by: &Path) {
        if let (Some((_, Some(first))), Some(second)) = (self.known.get(&path), about.1)
            && *first != second
        {
            let object = shown(&path);
            let cause = format!("{object} has {second} bytes by it, and {first} by another record");
            self.wrong.push(Object::Wrong(by.to_owned(), cause));
        }
        let known = self.known.entry(path).or_default();
        known.0 = known.0.take().or(about.0);
        known.1 = known.1.or(about.1);
    }

    /// A file is missing because this object is, which then need not be said.
    pub(super) fn lacks(&mut self, path: PathBuf) {
        self.missing.insert(path);
    }

    /// An object, and everything that is known of it. `None` if it was said to be missing.
    pub(super) fn remark(&mut self, object: Object) -> Option<Object> {
        match object {
            Object::File(mut task) => {
                task.about.doubt = self.doubts.remove(&task.path);
                if let Some((remark, size)) = self.known.remove(&task.path) {
                    task.about.remark = remark;
                    task.about = task.about.size(size);
                }
                Some(Object::File(task))
            }
            Object::Missing(path, _) if self.missing.contains(&path) => None,
            // A record names it all the same.
            Object::Unknown(path, why) => {
                let what = self.known.remove(&path).and_then(|it| it.0);
                let what = what.map_or_else(String::new, |it| format!("; {it}"));
                Some(Object::Unknown(path, why + &what))
            }
            other => Some(other),
        }
    }

    /// The file of a record, where one is. What else is there is said.
    pub(super) fn record(&mut self, found: Found, is: Result<(), Said>) -> Option<PathBuf> {
        let wrong = match is {
            Ok(()) => match file(found, &self.bases) {
                Ok((path, _)) => return Some(path),
                Err(wrong) => Some(wrong),
            },
            Err(said) => object(found, said, &[]),
        };
        self.wrong.extend(wrong);
        None
    }

    /// A record of at most this many bytes.
    fn text(&mut self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let why = match read_limited(path, most) {
            Ok(Some(text)) => return Some(text),
            Ok(None) => format!("it is longer than {} MiB", most >> 20),
            Err(error) => error.into_parts().1.to_string(),
        };
        self.not_followed(path, false, &why);
        None
    }

    /// A document of JSON.
    pub(super) fn json<T: DeserializeOwned>(&mut self, path: &Path, most: u64) -> Option<T> {
        let text = self.text(path, most)?;
        serde_json::from_slice(&text).inspect_err(|_| self.not_understood(path)).ok()
    }

    pub(super) fn not_understood(&mut self, path: &Path) {
        self.not_followed(path, false, "it cannot be understood");
    }

    fn not_followed(&mut self, path: &Path, is_usual: bool, why: &str) {
        let cause = format!("may name objects that were not looked for: {why}");
        // A doubt that is not usual stays.
        if self.doubts.get(path).is_none_or(|it| it.is_usual) {
            self.doubts.insert(path.to_owned(), Doubt { cause, is_usual });
        }
    }

    /// Follows a manifest or index of containers, and the manifests that it names. `place` is where the blob with a digest is, and a
    /// manifest.
    fn manifest(
        &mut self,
        path: &Path,
        remark: Option<&str>,
        place: &dyn Fn(&str, bool) -> Option<PathBuf>,
    ) {
        let (mut seen, mut next) = (HashSet::new(), vec![path.to_owned()]);
        while let Some(path) = next.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let manifest = self.json::<Manifest>(&path, MOST_OF_MANIFEST);
            let Some(manifest) = manifest else { continue };
            if manifest.fs_layers.is_some() {
                self.not_followed(&path, true, "it is one of Docker's schema 1");
                continue;
            }
            let Some(descriptors) = descriptors(manifest) else {
                self.not_understood(&path);
                continue;
            };
            let mut is_understood = true;
            for (descriptor, kind) in descriptors {
                let is_manifest = kind == Is::Manifest;
                let Some(blob) = place(&descriptor.digest, is_manifest) else {
                    is_understood = false;
                    continue;
                };
                // A layer with addresses is elsewhere, and seldom stored.
                let is_elsewhere = descriptor.urls.is_some_and(|it| !it.is_empty());
                if kind == Is::Other && is_elsewhere && !is_there(&blob) {
                    self.wrong.push(Object::Passed("layers that are kept elsewhere"));
                    continue;
                }
                if kind == Is::Unknown && is_there(&blob) {
                    let of_type = shown_text(descriptor.media_type.as_deref().unwrap_or_default());
                    let why = format!("its type is not known: {of_type}");
                    self.not_followed(&blob, true, &why);
                }
                let about = (remark.map(str::to_owned), descriptor.size);
                self.require(blob.clone(), about, &path);
                // What leads out is said where it is to be verified.
                if is_manifest && blob.is_file() && outside(&self.bases, &blob).is_none() {
                    next.push(blob);
                }
            }
            if !is_understood {
                self.not_understood(&path);
            }
        }
    }
}

/// What an object is that a manifest or index names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Manifest,
    Other,
    /// Its type is not known, so that it may name more objects.
    Unknown,
}

/// The objects that a manifest or index names, and what they are. `None` if it is neither.
fn descriptors(manifest: Manifest) -> Option<Vec<(Descriptor, Is)>> {
    let Manifest { manifests, layers, blobs, config, .. } = manifest;
    // A manifest has both or none.
    let is_known = manifests.is_some() || layers.is_some() || blobs.is_some();
    if !is_known || config.is_some() && layers.is_none() {
        return None;
    }
    let manifests = manifests.into_iter().flatten().map(|it| {
        let is = match it.media_type.as_deref() {
            None => Is::Manifest,
            Some(kind) if MANIFESTS.contains(&kind) => Is::Manifest,
            Some(kind) if kind.starts_with("application/vnd.oci.image.layer.") => Is::Other,
            Some(_) => Is::Unknown,
        };
        (it, is)
    });
    let others = layers.into_iter().chain(blobs).flatten().chain(config);
    Some(manifests.chain(others.map(|it| (it, Is::Other))).collect())
}

/// The parts of a digest such as `sha256:HEX`, in lower case, as names of objects are.
fn digest(text: &str) -> Option<(&str, String)> {
    let (algorithm, digits) = text.split_once(':')?;
    let len = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return None,
    };
    is_hex(digits, len).then(|| (algorithm, digits.to_ascii_lowercase()))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Of an OCI layout: `index.json`.
pub(super) fn of_oci(root: &Path) -> References {
    let mut references = References::new(root);
    references.manifest(&root.join("index.json"), None, &|text, _| {
        let (algorithm, digits) = digest(text)?;
        Some(root.join("blobs").join(algorithm).join(digits))
    });
    references
}

/// Of a folder of skopeo: `manifest.json`. If that is a list, the manifests that it names have names of their own.
pub(super) fn of_skopeo(root: &Path) -> References {
    let mut references = References::new(root);
    let place = |text: &str, is_manifest| {
        let (_, digits) = digest(text)?;
        let end = if is_manifest { ".manifest.json" } else { "" };
        Some(root.join(digits + end))
    };
    references.manifest(&root.join("manifest.json"), None, &place);
    references
}

/// Of Ollama: `manifests/HOST/NAMESPACE/MODEL/TAG`, and in `manifests-v2` links to blobs.
pub(super) fn of_ollama(root: &Path) -> References {
    let mut references = References::new(root);
    let place = |text: &str, _| {
        let (_, digits) = digest(text).filter(|(algorithm, _)| *algorithm == "sha256")?;
        let [usual, other] =
            ["-", ":"].map(|it| root.join("blobs").join(format!("sha256{it}{digits}")));
        Some(if is_there(&other) { other } else { usual })
    };
    for top in ["manifests", "manifests-v2"] {
        for (entry, inside) in below(root, top) {
            let mut parts = inside.rsplit('/');
            let (tag, model) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let is = match parts.count() == 3 && !tag.starts_with('.') {
                true => Ok(()),
                false => Err(Said::Other("not the name of a manifest".into())),
            };
            if let Some(path) = references.record(entry, is) {
                // What a link names is an object.
                let blob = |it: PathBuf| Some(root.join("blobs").join(it.file_name()?));
                let blob = path.read_link().ok().and_then(blob).filter(|it| is_there(it));
                let path = blob.unwrap_or(path);
                references.manifest(&path, Some(&format!("{model}:{tag}")), &place);
            }
        }
    }
    references
}

/// Of DVC: `2x/<30>.dir`, which lists the files of a folder.
pub(super) fn of_dvc(root: &Path) -> References {
    let mut references = References::new(root);
    for (entry, inside) in below(root, "") {
        // The others are said where objects are looked for.
        let Found::File { path, .. } = entry else { continue };
        if pattern::digest("+2/+30.dir", &inside).is_none() {
            continue;
        }
        let files = references.json::<Vec<FileOfDvc>>(&path, MOST_OF_LIST);
        let (files, others): (Vec<_>, Vec<_>) =
            files.into_iter().flatten().partition(|it| is_hex(&it.md5, 32));
        if !others.is_empty() {
            references.not_understood(&path);
        }
        for FileOfDvc { md5, relpath } in files {
            let md5 = md5.to_ascii_lowercase();
            let object = root.join(&md5[..2]).join(&md5[2..]);
            references.require(object, (Some(relpath), None), &path);
        }
    }
    references
}

/// Of a registry: `repositories/NAME/_manifests/**/link`, which names a manifest. Links in `_layers` stay when a blob is removed.
pub(super) fn of_registry(root: &Path) -> References {
    let (mut references, mut seen) = (References::new(root), HashSet::new());
    let place = |text: &str, _| {
        let (algorithm, digits) = digest(text)?;
        let folder = root.join("blobs").join(algorithm).join(&digits[..2]);
        Some(folder.join(digits).join("data"))
    };
    for (entry, inside) in below(root, "repositories") {
        let of = inside
            .split_once("/_manifests/")
            .filter(|(_, it)| !it.starts_with("signatures/") && !it.contains("/signatures/"));
        let is = match of {
            Some((_, within)) if within.ends_with("/link") => Ok(()),
            // Of layers and uploads.
            None if inside.contains("/_") && matches!(entry, Found::File { .. }) => continue,
            _ if matches!(entry, Found::Link(_)) => Err(Said::Folder),
            _ => Err(Said::Other("not a record of a repository".into())),
        };
        let Some(path) = references.record(entry, is) else { continue };
        let Some(text) = references.text(&path, MOST_OF_MANIFEST) else { continue };
        let text = String::from_utf8_lossy(&text);
        let Some(manifest) = place(text.trim_end(), true) else {
            references.not_understood(&path);
            continue;
        };
        if seen.insert(manifest.clone()) {
            let repository = of.and_then(|(it, _)| it.strip_prefix("repositories/"));
            let repository = repository.map(str::to_owned);
            references.require(manifest.clone(), (repository.clone(), None), &path);
            if manifest.is_file() && outside(&references.bases, &manifest).is_none() {
                references.manifest(&manifest, repository.as_deref(), &place);
            }
        }
    }
    references
}
