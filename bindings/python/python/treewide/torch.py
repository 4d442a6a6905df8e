"""Digests of the weights of a model in PyTorch, the same on one laptop and on many GPUs, whatever the sharding.

`digests(model)` gives the digest of each *full* tensor, as `treewide.safetensors.tensors` gives it of the saved model.
Each rank hashes what it has, and sends some kilobytes. It needs PyTorch 2.5 or newer.

Digests are of bytes, not of values: NaNs with other bits differ, and so do 0.0 and -0.0. Weights that were cast,
quantised or repacked have other bytes. Ranks are believed.
"""

from collections.abc import Mapping as _Mapping
from os import PathLike as _PathLike
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any, Literal as _Literal

from treewide._tensors.lists import (
    Report as _Report,
    TensorDigest as _TensorDigest,
    compare as _compare,
    read_list as _read_list,
)

if _TYPE_CHECKING:
    import torch

__all__ = ["digests", "parts", "verify"]


def digests(
    model: "torch.nn.Module | _Mapping[str, torch.Tensor]",
    /,
    *,
    group: _Any = None,
    replicas: _Literal["check", "first"] = "check",
    rows: _Literal["auto", "exchange", "redistribute"] = "auto",
) -> dict[str, _TensorDigest]:
    """Return the digest of each full tensor of a model or a state dict, by its name.

    With a process group this is a collective: all ranks of `group` call it, and all get the same. Tensors are DTensors
    (FSDP2, tensor parallel, HSDP, both), or plain ones. A plain tensor is there whole; ranks may have other ones, as in
    a pipeline. A module is taken by `get_model_state_dict`, so names have no prefixes of wrappers. Pass a dict to have
    names as they are: of FSDP1, its `SHARDED_STATE_DICT`.

    `replicas="check"` hashes all copies, and compares them; `"first"` hashes one. `rows` says what becomes of shards of
    other dimensions than the first. `"exchange"` sends the values and the ends of their runs, some percent of the
    bytes; `"redistribute"` makes shards of rows first, by one all-to-all. `"auto"` exchanges on the CPU.

    Tensors of an NVIDIA GPU are hashed where they lie, in the current stream, by a call for each 1 GiB or so. Those of
    other devices are copied to the host, one at a time. Raises `ValueError` with the texts of all ranks, on all of
    them: replicas that differ, with their range and ranks; types or shapes on which ranks do not agree; `Partial`,
    meta and sparse tensors; subclasses of libraries; a tensor that changed while it was hashed.
    """
    from treewide._tensors import collective, local

    return collective.digests_of(lambda: local.state_of(model), group, replicas, rows)


def parts(model: "torch.nn.Module | _Mapping[str, torch.Tensor]", /) -> bytes:
    """Hash the shards of this rank, and return the answer for `treewide.tensors.merge`. It needs no group.

    Raises as `digests`.
    """
    from treewide._tensors import collective, local

    return collective.parts_of(local.state_of(model))


def verify(
    model: "torch.nn.Module | _Mapping[str, torch.Tensor]",
    expected: "_Mapping[str, _TensorDigest] | str | _PathLike[str]",
    /,
    *,
    group: _Any = None,
    replicas: _Literal["check", "first"] = "check",
    rows: _Literal["auto", "exchange", "redistribute"] = "auto",
) -> _Report:
    """Compare a model with the digests that are expected: a mapping, or the path of a `.tensors.b3`.

    All ranks of `group` call it. The report is true if nothing differs. Raises as `digests`. A list that a rank cannot
    read is a `ValueError` on all ranks, which names the list; without a group, it is `OSError` or `ValueError`.
    """
    from treewide._tensors import collective, local

    wanted: _Mapping[str, _TensorDigest] = {}

    def state() -> "dict[str, torch.Tensor]":
        nonlocal wanted
        wanted = expected if isinstance(expected, _Mapping) else _read_list(expected)
        return local.state_of(model)

    found = collective.digests_of(state, group, replicas, rows)
    return _compare(wanted, found)
