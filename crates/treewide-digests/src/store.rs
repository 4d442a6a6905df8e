//! Stores whose files are named by the digests of their content: one table of kinds, and the objects in them.
//!
//! A store is recognised by its marker files, never by the number of digits in names: Homebrew, pip, ccache, Bazel's `ac/`, git and
//! others have names that look like digests of the content and are not.

mod annex;
mod bag;
mod hugging_face;
mod markers;
mod object;
mod objects;
mod pattern;
mod places;
mod references;

use crate::algorithm::Algorithm;
use markers::Seen;
use object::TEMPORARY;
use references::References;
use std::path::{Path, PathBuf};

pub(crate) use markers::read_small;
pub use object::Object;
pub use objects::Objects;
pub use places::{Place, find};

/// A kind of store.
#[derive(Debug)]
pub struct Kind {
    /// The name in options and JSON.
    pub name: &'static str,
    /// The name in messages.
    pub shown: &'static str,
    /// Advice about an object that is not as its name says.
    pub advice: &'static str,
    /// The records that name objects, so that it is known which are missing: "named in" these. Empty if there are none.
    pub followed: &'static str,
    /// Whether a directory is such a store.
    is: fn(&Path) -> Seen,
    layout: Layout,
}

/// Where objects are, and what their names say.
#[derive(Debug)]
enum Layout {
    /// Patterns of the paths of objects, and of other files in their places, which are passed over, with a word for each. An object that
    /// several patterns are of may have its digest by any of their algorithms.
    Names {
        objects: &'static [(Algorithm, &'static str)],
        passed: &'static [(&'static str, &'static str)],
        /// The folders of records, and what they say of objects.
        records: &'static [&'static str],
        references: fn(&Path) -> References,
    },
    HuggingFaceFolder,
    Annex,
    Bag,
}

/// Files of the store itself, which no message counts.
const MARK: &str = "";
const UNFINISHED: &str = "unfinished downloads";

/// All kinds.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "huggingface",
        shown: "a Hugging Face repository",
        advice: "to fetch it again, remove the file and download the repository",
        followed: "its snapshots",
        is: markers::is_hugging_face,
        layout: Layout::Names {
            objects: &[(Algorithm::SHA256, "blobs/+64"), (Algorithm::GIT_BLOB_SHA1, "blobs/+40")],
            passed: &[("blobs/*.incomplete", UNFINISHED), ("blobs/.*.shared", MARK)],
            records: &["snapshots", "trees"],
            references: hugging_face::snapshots,
        },
    },
    Kind {
        name: "huggingface-shared",
        shown: "shared blobs of Hugging Face",
        advice: "to fetch it again, remove the file and download the repository",
        followed: "",
        is: markers::is_hugging_face_shared,
        layout: Layout::Names {
            objects: &[(Algorithm::XET, "=2/+64")],
            passed: &[
                (".huggingface-shared-blobs", MARK),
                ("*.refs", MARK),
                ("*.lock", MARK),
                ("*.tmp", TEMPORARY),
            ],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "huggingface-folder",
        shown: "a folder that Hugging Face has filled",
        advice: "to fetch it again, remove the file and download it",
        followed: "its metadata",
        is: markers::is_hugging_face_folder,
        layout: Layout::HuggingFaceFolder,
    },
    Kind {
        name: "ollama",
        shown: "an Ollama store",
        advice: "to fetch it again, remove the file and pull the model",
        followed: "its manifests",
        is: markers::is_ollama,
        layout: Layout::Names {
            objects: &[
                (Algorithm::SHA256, "blobs/sha256-+64"),
                (Algorithm::SHA256, "blobs/sha256:+64"),
            ],
            passed: &[("blobs/*-partial", UNFINISHED), ("blobs/*-partial-*", UNFINISHED)],
            records: &["manifests", "manifests-v2"],
            references: references::of_ollama,
        },
    },
    Kind {
        name: "oci",
        shown: "an OCI image layout",
        advice: "to fetch it again, copy the image to a new folder",
        followed: "index.json and in manifests",
        is: markers::is_oci,
        layout: Layout::Names {
            objects: BLOBS,
            passed: &[],
            records: &[],
            references: references::of_oci,
        },
    },
    Kind {
        name: "containerd",
        shown: "a content store of containerd",
        advice: "to fetch it again, remove the image and pull it",
        followed: "",
        is: markers::is_containerd,
        layout: Layout::Names {
            objects: BLOBS,
            passed: &[],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "skopeo",
        shown: "a folder of skopeo",
        advice: "to fetch it again, copy the image to a new folder",
        followed: "manifest.json",
        is: markers::is_skopeo,
        layout: Layout::Names {
            objects: &[(Algorithm::SHA256, "+64"), (Algorithm::SHA256, "+64.manifest.json")],
            passed: &[
                ("version", MARK),
                ("manifest.json", MARK),
                ("signature-*", MARK),
                ("*.signature-*", MARK),
            ],
            records: &[],
            references: references::of_skopeo,
        },
    },
    Kind {
        name: "registry",
        shown: "a container registry",
        advice: "to store it again, remove the folder of the blob and push the image",
        followed: "its links to manifests, and in these",
        is: markers::is_registry,
        layout: Layout::Names {
            objects: &[
                (Algorithm::SHA256, "blobs/sha256/=2/+64/data"),
                (Algorithm::SHA512, "blobs/sha512/=2/+128/data"),
            ],
            passed: &[],
            records: &["repositories"],
            references: references::of_registry,
        },
    },
    Kind {
        name: "git-lfs",
        shown: "objects of git-lfs",
        advice: "to fetch it again, remove the file and run git lfs fetch",
        followed: "",
        is: markers::is_git_lfs,
        layout: Layout::Names {
            objects: &[(Algorithm::SHA256, "objects/=2/=2/+64")],
            passed: &[],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "git-annex",
        shown: "objects of git-annex",
        advice: "git annex fsck moves it away, and git annex get fetches it again",
        followed: "",
        is: markers::is_git_annex,
        layout: Layout::Annex,
    },
    Kind {
        name: "dvc",
        shown: "a cache of DVC",
        advice: "to fetch it again, remove the file and run dvc fetch",
        followed: "its lists of folders",
        is: markers::is_dvc,
        layout: Layout::Names {
            objects: &[(Algorithm::MD5, "+2/+30"), (Algorithm::MD5, "+2/+30.dir")],
            passed: &[("*.tmp", TEMPORARY)],
            records: &[],
            references: references::of_dvc,
        },
    },
    Kind {
        name: "restic",
        shown: "a restic repository",
        advice: "the manual of restic says how to repair a repository",
        followed: "",
        is: markers::is_restic,
        layout: Layout::Names {
            objects: &[
                (Algorithm::SHA256, "data/=2/+64"),
                // As its server for REST has them.
                (Algorithm::SHA256, "data/+64"),
                (Algorithm::SHA256, "index/+64"),
                (Algorithm::SHA256, "keys/+64"),
                (Algorithm::SHA256, "snapshots/+64"),
            ],
            passed: &[("*-tmp-*", TEMPORARY)],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "cacache",
        shown: "a cache of npm",
        advice: "npm cache verify removes it, and npm fetches it again",
        followed: "",
        is: markers::is_cacache,
        layout: Layout::Names {
            objects: &[
                (Algorithm::SHA512, "content-v2/sha512/+2/+2/+124"),
                (Algorithm::SHA256, "content-v2/sha256/+2/+2/+60"),
                (Algorithm::SHA1, "content-v2/sha1/+2/+2/+36"),
            ],
            passed: &[],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "bazel",
        shown: "a disk cache of Bazel",
        advice: "Bazel makes it again if it is removed",
        followed: "",
        is: markers::is_bazel,
        layout: Layout::Names {
            objects: &[
                (Algorithm::BLAKE3, "cas/=2/+64"),
                (Algorithm::SHA256, "cas/=2/+64"),
                (Algorithm::SHA1, "cas/=2/+40"),
                (Algorithm::MD5, "cas/=2/+32"),
            ],
            passed: &[],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "apt",
        shown: "an index of apt by hash",
        advice: "to fetch it again, remove the file and mirror the archive",
        followed: "",
        is: markers::is_apt,
        layout: Layout::Names {
            objects: &[
                (Algorithm::SHA256, "by-hash/SHA256/+64"),
                (Algorithm::SHA512, "by-hash/SHA512/+128"),
                (Algorithm::SHA1, "by-hash/SHA1/+40"),
                (Algorithm::MD5, "by-hash/MD5Sum/+32"),
            ],
            passed: &[],
            records: &[],
            references: References::new,
        },
    },
    Kind {
        name: "bagit",
        shown: "a bag",
        advice: "to fetch it again, ask the sender of the bag",
        followed: "its manifests",
        is: markers::is_bag,
        layout: Layout::Bag,
    },
];

const BLOBS: &[(Algorithm, &str)] =
    &[(Algorithm::SHA256, "blobs/sha256/+64"), (Algorithm::SHA512, "blobs/sha512/+128")];

/// A store that was found.
#[derive(Clone, Debug)]
pub struct Store {
    /// Its kind.
    pub kind: &'static Kind,
    /// Its directory.
    pub root: PathBuf,
}

impl Kind {
    /// The kind with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|it| it.name == name)
    }

    /// Whether the files in it that no object names would be missed: only a bag says what belongs to it.
    pub fn is_complete(&self) -> bool {
        matches!(self.layout, Layout::Bag)
    }
}
