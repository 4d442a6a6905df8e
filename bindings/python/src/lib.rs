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
    use crate::gpu::_gpu_devices;
    #[pymodule_export]
    use crate::gpu_parts::_gpu_hash_blocks;
    #[pymodule_export]
    use crate::hasher::{Blake3, new};
    #[pymodule_export]
    use crate::history::{HistoryRecord, HistoryRun};
    #[pymodule_export]
    use crate::lists::{_list_entries, _replace_file};
    #[pymodule_export]
    use crate::manifest::{_size_of, Finding, Made, ManifestError, Report};
    #[pymodule_export]
    use crate::many::hash_many;
    #[pymodule_export]
    use crate::merkle::{_expected_bytes, MerkleTree, verify_proof};
    #[pymodule_export]
    use crate::oneshot::{digest, hexdigest};
    #[pymodule_export]
    use crate::outboard::{Damage, DamageError};
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
        // Their names in the modules that show them are those of others here.
        macro_rules! export {
            ($($of:literal: $($path:ident)::+),* $(,)?) => {$({
                let function = wrap_pyfunction!(crate::$($path)::+, module)?;
                // Where pickles find it.
                function.setattr("__module__", concat!("treewide.", $of))?;
                let name: String = function.getattr("__name__")?.extract()?;
                module.add(format!("_{}_{name}", $of).as_str(), function)?;
            })*};
        }
        export! {
            "gpu": gpu::digest,
            "gpu": gpu::hash_many,
            "gpu": gpu::hash_many_to,
            "gpu": gpu_parts::hash_parts,
            "manifest": manifest::diff,
            "manifest": manifest::digests,
            "manifest": contents::dupes,
            "manifest": history::history,
            "manifest": contents::missing,
            "manifest": manifest::scrub,
            "manifest": manifest::snapshot,
            "manifest": manifest::update,
            "manifest": manifest::verify,
            "outboard": outboard::create,
            "outboard": outboard::read,
            "outboard": outboard::verify,
        }
        // `match` takes a class for a sequence by this.
        let sequence = module.py().import("collections.abc")?.getattr("Sequence")?;
        sequence.call_method1("register", (module.py().get_type::<Digests>(),))?;
        Ok(())
    }
}
