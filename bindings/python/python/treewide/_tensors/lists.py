"""Lists of the tensors of a model, and comparisons of two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, cast

from treewide._arguments import BytesDone, Path
from treewide._treewide import (
    _replace_file,
    _tensor_compare,
    _tensor_list,
    _tensor_list_read,
    _tensors,
    digest as _digest,
)

__all__ = [
    "Finding",
    "Report",
    "TensorDigest",
    "Verdict",
    "compare",
    "fingerprint",
    "of_model",
    "read_list",
    "write_list",
]

Verdict: TypeAlias = Literal["changed", "retyped", "reshaped", "moved", "added", "removed"]
"""The way in which a tensor differs. `moved`: the same tensor under another name, where no other could be meant."""


class TensorDigest(NamedTuple):
    """Type, shape and digest of a tensor."""

    #: As safetensors names it, such as `BF16`; of GGUF as ggml does, such as `Q4_K`.
    dtype: str
    #: In row-major order, as PyTorch has it.
    shape: tuple[int, ...]
    #: BLAKE3 of its bytes, as `digest` has it.
    digest: bytes


@dataclass(frozen=True)
class Finding:
    """A tensor that differs."""

    #: In the old model, or of an added one in the new.
    name: str
    verdict: Verdict
    #: The new name of a moved tensor. Of one that was added or removed, the name of an equal one in the other model.
    other: str | None
    #: Type and shape for people, before and after, such as `F32[] -> F64[]`.
    detail: str


@dataclass(frozen=True)
class Report:
    """The differences between two models."""

    #: The tensors that differ, in the order of names.
    findings: tuple[Finding, ...]
    #: The number of tensors that are `same`, or have each verdict.
    counts: dict[str, int]
    #: A prefix in all names of one model, such as `_orig_mod.`, if nothing is the same for this reason.
    prefix: str | None

    def __bool__(self) -> bool:
        """Whether nothing differs."""
        return not self.findings

    def __str__(self) -> str:
        """Return a line for each tensor that differs, and one that counts."""
        lines = [f"{it.verdict.upper():<9} {it.name}  {it.detail}" for it in self.findings]
        counts = [f"{number} {word}" for word, number in self.counts.items() if number or word == "same"]
        return "\n".join([*lines, ", ".join(counts)])


def _rows(tensors: Mapping[str, TensorDigest]) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    return [(name, it.dtype, it.shape, it.digest) for name, it in tensors.items()]


def of_model(path: Path, *, threads: int = 1, progress: BytesDone | None = None) -> dict[str, TensorDigest]:
    """Return the tensors of a model: see `treewide.safetensors.tensors`."""
    found = _tensors(path, key=None, derive_key_context=None, length=32, threads=threads, progress=progress)
    return {name: TensorDigest(dtype, tuple(shape), digest) for name, dtype, shape, digest in found}


def read_list(path: Path, /) -> dict[str, TensorDigest]:
    """Return the tensors of a list `*.tensors.b3`, as `write_list` and `treewide tensors` write it.

    Raises `OSError` that names the file if it cannot be read; `ValueError` that names file and line if it is not such a
    list: lines that are not in order, line ends with CR, names that are there twice.
    """
    found = _tensor_list_read(path)
    return {name: TensorDigest(dtype, tuple(shape), digest) for name, dtype, shape, digest in found}


def write_list(path: Path, tensors: Mapping[str, TensorDigest], /) -> None:
    """Write the list of the tensors of a model. It appears when it is complete.

    Raises `OSError` that names the file if it cannot be written; `ValueError` for a type that is not made of letters,
    digits and `_`, or a digest that has not 32 bytes.
    """
    _replace_file(path, _tensor_list(_rows(tensors)).encode())


def fingerprint(tensors: Mapping[str, TensorDigest], /) -> bytes:
    """Return the fingerprint of a model: BLAKE3 of its list, as `b3sum model.tensors.b3` prints it.

    Names, types, shapes and bytes of tensors are covered, and nothing else. Raises `ValueError` as `write_list` does.
    """
    return _digest(_tensor_list(_rows(tensors)).encode())


def compare(old: Mapping[str, TensorDigest], new: Mapping[str, TensorDigest], /) -> Report:
    """Return what differs between two models. The report is true if nothing does.

    A tensor is `moved` only if it is there once in each model: norms of ones and biases of zeros are all alike.
    Raises `ValueError` as `write_list` does.
    """
    found, counts, prefix = _tensor_compare(_rows(old), _rows(new))
    findings = (Finding(name, cast(Verdict, verdict), other, detail) for name, verdict, other, detail in found)
    return Report(tuple(findings), dict(counts), prefix)
