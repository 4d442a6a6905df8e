//! Manifests and other records of a store, and the objects that they name: whether they are there, their lengths, and their uses.

use super::markers::read_limited;
use super::object::{LEADS_OUT, Object, Said, below, is_absent, object, outside};
use super::pattern;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use treewide_files::name::shown;
use treewide_files::walk::Found;

/// A record of more bytes is not read.
const MOST: u64 = 256 << 20;

/// What is known of objects, by their paths, and what is wrong.
#[derive(Default)]
pub(super) struct References {
    known: HashMap<PathBuf, (Option<String>, Option<u64>)>,
    missing: HashSet<PathBuf>,
    pub(super) wrong: Vec<Object>,
}

impl References {
    /// `by` names an object, which must be there.
    fn require(&mut self, path: PathBuf, about: (Option<String>, Option<u64>), by: &Path) {
        if !path.symlink_metadata().is_err_and(|error| is_absent(&error)) {
            self.know(path, about);
        } else if self.missing.insert(path.clone()) {
            let what = about.0.map(|it| format!("; {it}")).unwrap_or_default();
            self.wrong.push(Object::Missing(path, format!("{} names it{what}", shown(by))));
        }
    }

    /// An object that is there is for this, and has this length.
    pub(super) fn know(&mut self, path: PathBuf, about: (Option<String>, Option<u64>)) {
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
                if let Some((remark, size)) = self.known.remove(&task.path) {
                    task.about.remark = remark;
                    task.about = task.about.size(size);
                }
                Some(Object::File(task))
            }
            Object::Missing(path, _) if self.missing.contains(&path) => None,
            other => Some(other),
        }
    }

    /// A document of JSON. `is_object` says that its digest is verified, so that a damage is said there.
    pub(super) fn json(&mut self, path: &Path, is_object: bool) -> Option<Value> {
        let text = match read_limited(path, MOST) {
            Ok(text) => text,
            Err(error) => {
                self.wrong.push(match is_object {
                    // Where it is verified, it is an error.
                    true => {
                        let (path, cause) = error.into_parts();
                        Object::Skipped(
                            path,
                            format!("names objects that were not looked for: {cause}"),
                        )
                    }
                    false => Object::Unreadable(error),
                });
                return None;
            }
        };
        let json = serde_json::from_slice(&text).ok();
        if json.is_none() {
            self.not_followed(path, is_object);
        }
        json
    }

    /// A record names something that is not looked for.
    fn not_followed(&mut self, path: &Path, is_object: bool) {
        let why = "names objects that were not looked for, because it cannot be understood";
        let why = why.to_owned();
        self.wrong.push(match is_object {
            true => Object::Skipped(path.to_owned(), why),
            false => Object::Unverified(path.to_owned(), why),
        });
    }

    /// Follows a manifest or index of containers, and the manifests that it names. `place` is where the blob with a digest is.
    fn manifest(
        &mut self,
        (path, is_object): (&Path, bool),
        remark: Option<&str>,
        place: &dyn Fn(&str) -> Option<PathBuf>,
    ) {
        let (mut seen, mut next) = (HashSet::new(), vec![(path.to_owned(), is_object)]);
        while let Some((path, is_object)) = next.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let Some(manifest) = self.json(&path, is_object) else { continue };
            let Some(descriptors) = descriptors(&manifest) else {
                self.not_followed(&path, is_object);
                continue;
            };
            for (descriptor, is_manifest) in descriptors {
                // Such a layer is elsewhere, and seldom stored.
                if descriptor["urls"].as_array().is_some_and(|it| !it.is_empty()) {
                    continue;
                }
                match descriptor["digest"].as_str().and_then(place) {
                    Some(blob) => {
                        let about = (remark.map(str::to_owned), descriptor["size"].as_u64());
                        self.require(blob.clone(), about, &path);
                        next.extend((is_manifest && blob.is_file()).then_some((blob, true)));
                    }
                    None => self.not_followed(&path, is_object),
                }
            }
        }
    }
}

/// The objects that a manifest or index names, and whether they are manifests. `None` if it is neither.
fn descriptors(manifest: &Value) -> Option<Vec<(&Value, bool)>> {
    let mut found = Vec::new();
    for key in ["manifests", "layers", "blobs"] {
        if let Some(list) = manifest.get(key) {
            found.extend(list.as_array()?.iter().map(|it| (it, key == "manifests")));
        } else if key == "layers" {
            // A manifest has both or none.
            manifest.get("config").is_none().then_some(())?;
        }
    }
    found.extend(manifest.get("config").map(|it| (it, false)));
    let is_known = ["manifests", "layers", "blobs"].iter().any(|it| manifest.get(it).is_some());
    is_known.then_some(found)
}

/// The parts of a digest such as `sha256:HEX`.
fn digest(text: &str) -> Option<(&str, String)> {
    let (algorithm, digits) = text.split_once(':')?;
    let len = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return None,
    };
    let is_hex = digits.len() == len && digits.bytes().all(|it| it.is_ascii_hexdigit());
    is_hex.then(|| (algorithm, digits.to_ascii_lowercase()))
}

/// Of an OCI layout: `index.json`.
pub(super) fn of_oci(root: &Path) -> References {
    let mut references = References::default();
    references.manifest((&root.join("index.json"), false), None, &|text| {
        let (algorithm, digits) = digest(text)?;
        Some(root.join("blobs").join(algorithm).join(digits))
    });
    references
}

/// Of a folder of skopeo: `manifest.json`.
pub(super) fn of_skopeo(root: &Path) -> References {
    let mut references = References::default();
    let place = |text: &str| Some(root.join(digest(text)?.1));
    references.manifest((&root.join("manifest.json"), false), None, &place);
    references
}

/// Of Ollama: `manifests/HOST/NAMESPACE/MODEL/TAG`, and in `manifests-v2` links to blobs.
pub(super) fn of_ollama(root: &Path) -> References {
    let mut references = References::default();
    let place = |text: &str| {
        let name = |mark| Some(root.join("blobs").join(format!("sha256{mark}{}", digest(text)?.1)));
        let old = name(':').filter(|it| it.symlink_metadata().is_ok());
        old.or_else(|| name('-'))
    };
    let bases: Vec<_> = [root.to_owned(), root.join("blobs")]
        .iter()
        // What is not there holds nothing.
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    for top in ["manifests", "manifests-v2"] {
        for (entry, inside) in below(root, top) {
            let mut parts = inside.rsplit('/');
            let (tag, model) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let is_manifest = parts.count() == 3 && !tag.starts_with('.');
            let path = match entry {
                Found::File { path, .. } | Found::Link(path) if is_manifest => path,
                other => {
                    let said = Said::Other("not the name of a manifest".into());
                    references.wrong.extend(object(other, said, |_| false));
                    continue;
                }
            };
            match outside(&bases, &path) {
                None if path.is_dir() => {
                    references.wrong.push(Object::Wrong(path, LEADS_OUT.into()));
                    continue;
                }
                None => {}
                Some(wrong) => {
                    references.wrong.push(wrong);
                    continue;
                }
            }
            let manifest = (&*path, path.is_symlink());
            references.manifest(manifest, Some(&format!("{model}:{tag}")), &place);
        }
    }
    references
}

/// Of DVC: `2x/<30>.dir`, which lists the files of a folder.
pub(super) fn of_dvc(root: &Path) -> References {
    let mut references = References::default();
    for (entry, inside) in below(root, "") {
        // The others are said where objects are looked for.
        let Found::File { path, .. } = entry else { continue };
        if pattern::digest("+2/+30.dir", &inside).is_none() {
            continue;
        }
        let Some(listed) = references.json(&path, true) else { continue };
        let Some(listed) = listed.as_array() else {
            references.not_followed(&path, true);
            continue;
        };
        for file in listed {
            let md5 = file["md5"]
                .as_str()
                .filter(|it| it.len() == 32 && it.bytes().all(|it| it.is_ascii_hexdigit()));
            match md5.map(str::to_ascii_lowercase) {
                Some(md5) => {
                    let object = root.join(&md5[..2]).join(&md5[2..]);
                    let name = file["relpath"].as_str().map(str::to_owned);
                    references.require(object, (name, None), &path);
                }
                None => references.not_followed(&path, true),
            }
        }
    }
    references
}
