"""Digests of the weights of a model: in files, in lists, and in memory, however it is sharded.

`digests` gives type, shape and digest of each full tensor, the same for a file, a directory, and a module on any number
of ranks. `verify` raises unless a model has the weights that are expected; `compare` says what differs. `parts` and
`merge` are for programs without a process group. `treewide.weights.dcp` hashes checkpoints while PyTorch writes them.

Digests are of bytes, not of values: NaNs with other bits differ, and so do 0.0 and -0.0. Weights that were cast,
quantised or repacked have other bytes. Ranks are believed.
"""

from collections.abc import Mapping as _Mapping
from typing import Any as _Any, Unpack as _Unpack

from treewide._tensors import models as _models, options as _options, pieces as _pieces
from treewide._tensors.lists import Finding, Report, TensorDigest, TensorDigests, Values, Verdict, VerifyError
from treewide._tensors.pieces import Different, Missing, Piece, merge

__all__ = [
    "Different",
    "Finding",
    "Missing",
    "Piece",
    "Report",
    "TensorDigest",
    "TensorDigests",
    "Values",
    "Verdict",
    "VerifyError",
    "compare",
    "digests",
    "merge",
    "parts",
    "verify",
]


def digests(x: _models.Model, /, **options: _Unpack[_options.Options]) -> TensorDigests:
    """Return type, shape and digest of each full tensor of a model, by its name.

    `x` is a path: of a file of safetensors or GGUF, an index, a directory as the Hub has it, or a list; or digests; or
    a module or a state dict of PyTorch 2.5 or newer. Nested states are flattened as `torch.distributed.checkpoint` does
    it. `rename` gives new names. `threads` are those of one process, by default as many as the input is worth; a rank
    has one. `progress` is called about 20 times a second with the bytes of files so far.

    With a process group, a module or a state dict makes this a collective: all ranks of `group` call it, with the same
    options, and all get the same. Tensors are DTensors (FSDP2, tensor parallel, HSDP), or plain ones. A plain tensor is
    there whole; ranks may have other ones, as in a pipeline. A module is taken by `get_model_state_dict`, so names have
    no prefixes of wrappers. Of FSDP1, pass its `SHARDED_STATE_DICT`. Tied weights are `aliases`.

    `replicas="check"` hashes all copies, and compares them; `"first"` hashes one. `rows` says what becomes of shards of
    other dimensions than the first. `"exchange"` sends the values and the ends of their runs; `"redistribute"` makes
    shards of rows first, by one all-to-all. `"auto"` exchanges on the CPU, if runs have 1 KiB or more.

    A change in place that PyTorch counts, or another time of a file, is an error; a write through `.data`, by a kernel
    of others or to an inference tensor is not noticed. `stable=True` hashes twice, and raises if the digests differ.

    Raises `OSError` that names a file that cannot be read; `ValueError` that names a file or a tensor that is not
    valid: with a group, on all ranks, with the texts of all. So it is for replicas that differ, tensors that are not
    here (meta, emptied, freed), `Partial` and sparse ones, and a model without a tensor that has bytes.
    """
    return _models.digests(x, options)[0]


def verify(x: _models.Model, expected: _models.Model, /, **options: _Unpack[_options.Options]) -> Report:
    """Check that a model has the weights that are expected. Returns the report, which has aliases at most.

    `x` and `expected` are what `digests` takes, and `expected` may be a fingerprint: 32 bytes, or 64 hexadecimal
    digits. `options` are those of `digests`, for both. With a process group, each rank reads what is expected, which
    must be the same. Raises `VerifyError` with the report if anything differs; and as `digests`.
    """
    return _models.verify(x, expected, options)


def compare(
    old: _models.Model, new: _models.Model, /, *, values: bool = False, **options: _Unpack[_options.Options]
) -> Report:
    """Return what differs between two models. The report is true if nothing does.

    `old` and `new` are what `digests` takes, and `options` are those of `digests`, for both. A tensor is `moved` only
    if it is there once in each model: norms of ones and biases of zeros are all alike. `values=True` reads tensors that
    were changed or retyped a second time, and says by how much they differ; both models are in files then. Raises as
    `digests`.
    """
    return _models.compare(old, new, values, options)


def parts(x: _Any, /, *, stream: _Any = None) -> bytes:
    """Hash what this process has of a model, where it lies, and return what `merge` takes. It needs no group.

    `x` is a module or a state dict, as for `digests`; or a mapping that has a `Piece`, or a list of them, by the name
    of each tensor. The answer has 48 bytes for each subtree of a run of bytes, and at most 1,023 bytes of weights at
    each end. Nothing is sent: use RPC, a file, or Ray. Pieces on CUDA devices are hashed there, in `stream` (see
    `treewide.gpu`), by one call for each device.

    Raises `TypeError` or `BufferError` that names a tensor if its bytes cannot be read; `ValueError` if a piece does
    not fit into the shape, or two pieces have the same bytes; `RuntimeError` if a device fails.
    """
    if isinstance(x, _Mapping) and _pieces.are_pieces(x):
        return _pieces.parts(x, stream=stream)
    from treewide._tensors import collective, local

    return collective.parts_of(local.state_of(x))
