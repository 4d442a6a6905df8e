//! Merkle trees over digests, and proofs for single leaves.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use treewide::merkle::{fill_nodes, fill_nodes_parallel, node_count, verify};
use treewide::{Hash, OUT_LEN};

use crate::buffer::{self, Input, Items};
use crate::digests::Digests;
use crate::many::check_order;
use crate::threads::Threads;

type Node = [u8; OUT_LEN];

/// A copy of the leaves that a buffer has: rows of 32 bytes, or bytes one after the other.
///
/// # Errors
/// `ValueError` for anything that may be digests of another length: a tree over halves of them would prove nothing.
fn nodes_of(leaves: &Bound<'_, PyAny>) -> PyResult<Vec<Node>> {
    let input = Input::new(leaves)?;
    let len = match input.shape() {
        [_, row @ ..] if !row.is_empty() => {
            row.iter().product::<isize>() as usize * input.item_len()
        }
        _ if input.item_len() == 1 => OUT_LEN,
        _ => input.item_len(),
    };
    if len != OUT_LEN {
        return Err(PyValueError::new_err(format!(
            "leaves are digests of {OUT_LEN} bytes, and these have {len}"
        )));
    }
    let (leaves, rest) = input.bytes().as_chunks::<OUT_LEN>();
    if rest.is_empty() {
        return Ok(leaves.to_vec());
    }
    Err(PyValueError::new_err(format!(
        "leaves are digests of {OUT_LEN} bytes, and {} bytes are not a number of them",
        input.bytes().len()
    )))
}

/// Trees of at least this many leaves let other Python threads run. A guess: they take many times as long as letting go of the
/// lock.
const DETACHED_LEAVES: usize = 256;

#[doc = stub!("MerkleTree")]
#[pyclass(module = "treewide", frozen)]
pub(crate) struct MerkleTree {
    leaves: Vec<Node>,
    /// All levels above the leaves, one after the other.
    nodes: Vec<Node>,
}

#[pymethods]
impl MerkleTree {
    #[new]
    #[pyo3(signature = (leaves, /, *, threads=1), text_signature = "(leaves, /, *, threads=1)")]
    fn new(py: Python<'_>, leaves: &Bound<'_, PyAny>, threads: isize) -> PyResult<Self> {
        let threads = Threads::new(threads)?;
        if let Ok(digests) = leaves.cast::<Digests>()
            && digests.get().has_nulls()
        {
            let problem =
                "a leaf is null, and a null has no digest: hash the column without nulls=\"keep\"";
            return Err(PyValueError::new_err(problem));
        }
        let leaves = nodes_of(leaves)?;
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

    #[doc = stub!("MerkleTree.root")]
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

    /// For `pickle` and `copy`.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let leaves = PyBytes::new(this.py(), this.get().leaves.as_flattened());
        (this.get_type(), (leaves,)).into_pyobject(this.py())
    }

    #[doc = stub!("MerkleTree.proof")]
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

/// A digest that the caller trusts, in an argument with this name.
pub(crate) fn trusted(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Hash> {
    let found = match object.cast::<PyString>() {
        Ok(digits) => Hash::from_hex(digits.to_str()?).ok(),
        Err(_) => buffer::with(object, Items::Any, |bytes| Ok(Hash::from_slice(bytes).ok()))?,
    };
    found.ok_or_else(|| {
        let wanted = format!("{name} has {OUT_LEN} bytes or {} hexadecimal digits", 2 * OUT_LEN);
        PyValueError::new_err(wanted)
    })
}

#[pyfunction]
#[pyo3(signature = (expected, /))]
pub(crate) fn _expected_bytes<'py>(
    py: Python<'py>,
    expected: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, trusted(expected, "expected")?.as_bytes()))
}

#[doc = stub!("verify_proof")]
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
    let root = trusted(root, "root")?;
    let leaf = node(leaf)?;
    check_order(proof)?;
    let siblings = proof.try_iter()?.map(|it| node(&it?)).collect::<PyResult<Option<Vec<_>>>>()?;
    Ok(match (leaf, siblings) {
        (Some(leaf), Some(siblings)) => verify(&leaf, index, &siblings, &root, leaves),
        _ => false,
    })
}
