//! The extension module `treewide._treewide`: what the Python package `treewide` is made of.
//!
//! Python's memory is read in place: by the buffer protocol, Arrow's C interface and DLPack. Nothing is started at import:
//! threads begin with the first call that wants them.

/// The docstring of a function or class, which `build.rs` took from the stub.
macro_rules! stub {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

mod arrow;
mod block;
mod buffer;
mod check;
mod contents;
mod digests;
mod failure;
mod files;
mod freeze;
mod gpu;
mod gpu_parts;
mod hasher;
mod history;
mod lists;
mod manifest;
mod many;
mod merkle;
mod mode;
mod oneshot;
mod outboard;
mod parts;
mod paths;
mod program;
mod record;
mod rows;
mod scale_verified;
mod tensor;
mod tensors;
mod threads;
mod validity;

/// BLAKE3 of bytes, arrays, batches and files.
#[pyo3::pymodule(gil_used = false)]
mod _treewide {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::check::{CheckFinding, CheckReport, MalformedLine, check, digests};
    #[pymodule_export]
    use crate::contents::{Duplicates, Group, Member, Missing, MissingFile};
    #[pymodule_export]
    use crate::digests::Digests;
    #[pymodule_export]
    use crate::files::{hash_file, hash_files, hash_tree};
    #[pymodule_export]
    use crate::gpu::{_gpu_devices, _gpu_digest, _gpu_hash_many, _gpu_hash_many_to};
    #[pymodule_export]
    use crate::gpu_parts::{_gpu_hash_blocks, _gpu_hash_parts};
    #[pymodule_export]
    use crate::hasher::{Blake3, new};
    #[pymodule_export]
    use crate::history::{HistoryRecord, HistoryRun};
    #[pymodule_export]
    use crate::lists::{_list_entries, _replace_file};
    #[pymodule_export]
    use crate::manifest::{Finding, Made, ManifestError, Report};
    #[pymodule_export]
    use crate::many::hash_many;
    #[pymodule_export]
    use crate::merkle::{MerkleTree, verify_proof};
    #[pymodule_export]
    use crate::oneshot::{digest, hexdigest};
    #[pymodule_export]
    use crate::outboard::{
        _outboard_create, _outboard_read, _outboard_verify, Damage, DamageError,
    };
    #[pymodule_export]
    use crate::parts::{Clash, Parts, subtrees};
    #[pymodule_export]
    use crate::program::_run_program;
    #[pymodule_export]
    use crate::rows::hash_rows;
    #[pymodule_export]
    use crate::scale_verified::{_outboard_places, _outboard_trusted};
    #[pymodule_export]
    use crate::tensors::{_hash_memory, _tensor_compare, _tensor_list, _tensors};

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// As many threads as the input is worth.
    #[pymodule_export]
    const AUTO: isize = crate::threads::AUTO;

    #[pymodule_init]
    fn prepare(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::threads::watch_forks();
        // Their names in `treewide.manifest` are those of others here.
        for function in [
            wrap_pyfunction!(crate::manifest::snapshot, module)?,
            wrap_pyfunction!(crate::manifest::verify, module)?,
            wrap_pyfunction!(crate::manifest::update, module)?,
            wrap_pyfunction!(crate::manifest::scrub, module)?,
            wrap_pyfunction!(crate::manifest::diff, module)?,
            wrap_pyfunction!(crate::manifest::digests, module)?,
            wrap_pyfunction!(crate::history::history, module)?,
            wrap_pyfunction!(crate::contents::dupes, module)?,
            wrap_pyfunction!(crate::contents::missing, module)?,
        ] {
            let name = function.getattr("__name__")?;
            module.add(format!("_manifest_{name}").as_str(), function)?;
        }
        // `match` takes a class for a sequence by this, before it is frozen.
        let sequence = module.py().import("collections.abc")?.getattr("Sequence")?;
        sequence.call_method1("register", (module.py().get_type::<Digests>(),))?;
        crate::freeze::freeze::<Blake3>(module.py())?;
        crate::freeze::freeze::<Digests>(module.py())?;
        crate::freeze::freeze::<MerkleTree>(module.py())?;
        crate::freeze::freeze::<Parts>(module.py())
    }
}
