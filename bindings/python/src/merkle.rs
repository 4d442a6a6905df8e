//! Merkle trees over digests, and proofs for single leaves.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use treewide::merkle::{fill_nodes, fill_nodes_parallel, node_count, verify};
use treewide::{Hash, OUT_LEN};

use crate::buffer::{self, Items};
use crate::digests::Digests;
use crate::threads::Threads;

type Node = [u8; OUT_LEN];

/// Trees of at least this many leaves let other Python threads run. A guess: they take many times as long as letting go of the
/// lock.
const DETACHED_LEAVES: usize = 256;

/// A binary tree over digests of 32 bytes.
#[pyclass(module = "treewide", frozen)]
pub(crate) struct MerkleTree {
    leaves: Vec<Node>,
    /// All levels above the leaves, one after the other.
    nodes: Vec<Node>,
}

#[pymethods]
impl MerkleTree {
    #[new]
    #[pyo3(signature = (leaves, /, *, max_threads=-1), text_signature = "(leaves, /, *, max_threads=-1)")]
    fn new(py: Python<'_>, leaves: &Bound<'_, PyAny>, max_threads: isize) -> PyResult<Self> {
        let threads = Threads::new(max_threads)?;
        if let Ok(digests) = leaves.cast::<Digests>()
            && digests.get().has_nulls()
        {
            let problem =
                "a leaf is null, and a null has no digest: hash the column without nulls=\"keep\"";
            return Err(PyValueError::new_err(problem));
        }
        // Copied: the tree keeps them.
        let leaves = buffer::with(leaves, Items::Any, |bytes| {
            let (leaves, rest) = bytes.as_chunks::<OUT_LEN>();
            if rest.is_empty() {
                return Ok(leaves.to_vec());
            }
            Err(PyValueError::new_err(format!(
                "leaves are digests of {OUT_LEN} bytes, and {} bytes are not a number of them",
                bytes.len()
            )))
        })?;
        let mut nodes = vec![[0; OUT_LEN]; node_count(leaves.len())];
        let mut fill = || {
            threads.run(|is_together| match is_together {
                true => fill_nodes_parallel(&leaves, &mut nodes),
                false => fill_nodes(&leaves, &mut nodes),
            });
        };
        if leaves.len() < DETACHED_LEAVES {
            fill()
        } else {
            py.detach(fill)
        }
        Ok(Self { leaves, nodes })
    }

    /// The root: the last node, the only leaf, or the digest of no bytes.
    #[getter]
    fn root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        match self.nodes.last().or(self.leaves.last()) {
            Some(node) => PyBytes::new(py, node),
            None => PyBytes::new(py, treewide::hash(b"").as_bytes()),
        }
    }

    fn __len__(&self) -> usize {
        self.leaves.len()
    }

    fn __repr__(&self) -> String {
        format!("<treewide.MerkleTree of {} leaves>", self.leaves.len())
    }

    /// Returns the nodes that prove the place of a leaf, from the leaves up.
    #[pyo3(signature = (index, /))]
    fn proof<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyTuple>> {
        let leaves = self.leaves.len();
        let wrong =
            || PyIndexError::new_err(format!("there is no leaf {index}: there are {leaves}"));
        let mut at = usize::try_from(index).ok().filter(|&at| at < leaves).ok_or_else(wrong)?;
        let (mut level, mut above) = (&self.leaves[..], &self.nodes[..]);
        let mut siblings = Vec::new();
        while level.len() > 1 {
            // The last of an odd number of nodes rises, and has no sibling.
            siblings.extend(level.get(at ^ 1).map(|node| PyBytes::new(py, node)));
            at /= 2;
            (level, above) = above.split_at(level.len().div_ceil(2));
        }
        PyTuple::new(py, siblings)
    }
}

/// Whether a leaf has its place under a root.
#[pyfunction]
#[pyo3(signature = (leaf, index, proof, /, *, root, leaves))]
pub(crate) fn verify_proof(
    leaf: &Bound<'_, PyAny>,
    index: u64,
    proof: &Bound<'_, PyAny>,
    root: &Bound<'_, PyAny>,
    leaves: u64,
) -> PyResult<bool> {
    // The leaf and the proof come from anyone: what has another length is not a proof.
    let node = |object: &Bound<'_, PyAny>| {
        buffer::with(object, Items::Any, |bytes| Ok(<Node>::try_from(bytes).ok()))
    };
    let Some(root) = node(root)? else {
        return Err(PyValueError::new_err(format!("a root has {OUT_LEN} bytes")));
    };
    let leaf = node(leaf)?;
    let siblings = proof.try_iter()?.map(|it| node(&it?)).collect::<PyResult<Option<Vec<_>>>>()?;
    Ok(match (leaf, siblings) {
        (Some(leaf), Some(siblings)) => {
            verify(&leaf, index, &siblings, &Hash::from_bytes(root), leaves)
        }
        _ => false,
    })
}
