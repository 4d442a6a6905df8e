"""Digests of the tensors of a model, lists of them, and comparisons of two."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast

from treewide._arguments import BytesDone, Path
from treewide._treewide import DamageError, _replace_file, _tensor_compare, _tensor_list, _tensors, digest as _digest

Verdict: TypeAlias = Literal["changed", "retyped", "reshaped", "moved", "added", "removed", "alias"]
"""The way in which a tensor differs. `moved`: the same tensor under another name, where no other could be meant.
`alias`: a name that only one model has, of a tensor that both have under another name, which is not a difference."""

_T = TypeVar("_T")


class TensorDigest(NamedTuple):
    """Type, shape and digest of a tensor."""

    #: As safetensors names it, such as `BF16`; of GGUF as ggml does, such as `Q4_K`.
    dtype: str
    #: In row-major order, as PyTorch has it.
    shape: tuple[int, ...]
    #: BLAKE3 of its bytes, as `treewide.digest` has it.
    digest: bytes


class TensorDigests(dict[str, TensorDigest]):
    """Type, shape and digest of each tensor of a model, by its name.

    Raises `ValueError` if there is no tensor, or none has bytes: nothing can be compared with that.
    """

    #: Names of tied weights, each with the name that the list has. Fingerprint and list leave them out.
    aliases: dict[str, str]
    #: Files with weights that were not read, next to the others.
    not_read: tuple[Path, ...]

    def __init__(
        self,
        tensors: Mapping[str, TensorDigest] | Iterable[tuple[str, TensorDigest]] = (),
        /,
        aliases: Mapping[str, str] | None = None,
        not_read: Iterable[Path] = (),
    ) -> None:
        super().__init__(tensors)
        self.aliases, self.not_read = dict(aliases or {}), tuple(not_read)
        if not any(0 not in it.shape for it in self.values()):
            raise ValueError("there are no weights: there is no tensor, or none has bytes")

    @property
    def rows(self) -> tuple[list[tuple[str, str, tuple[int, ...], bytes]], dict[str, str]]:
        """The lines of the list, and the aliases."""
        return [(name, *it) for name, it in self.items() if name not in self.aliases], self.aliases

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint of the model: BLAKE3 of its list, as `b3sum model.tensors.b3` prints it.

        Names, types, shapes and bytes of tensors are covered, and nothing else. Of tied weights, the first name counts.
        Raises `ValueError` for a type that is not made of letters, digits and `_`, or a digest that has not 32 bytes.
        """
        return _digest(_tensor_list(self.rows).encode())

    def save(self, path: Path, /) -> None:
        """Write the list `*.tensors.b3`, as `treewide tensors` does. It appears when it is complete.

        Raises `OSError` that names the file if it cannot be written; `ValueError` as `fingerprint` does.
        """
        _replace_file(path, _tensor_list(self.rows).encode())


class Values(NamedTuple):
    """The difference of two tensors in their values. NaNs are equal, and infinitely far from numbers."""

    #: How many there are.
    all: int
    #: How many are equal.
    equal: int
    #: The largest difference of two.
    largest: float
    #: The norm of the differences, in norms of the old tensor.
    norm: float


@dataclass(frozen=True)
class Finding:
    """A tensor that differs, or another name of one."""

    #: In the old model, or of an added one in the new.
    name: str
    verdict: Verdict
    #: The new name of a moved tensor. Of one that was added or removed, the name of an equal one in the other model. Of
    #: an alias, a name that both have.
    other: str | None
    #: Type and shape for people, before and after, such as `F32[] -> F64[]`; with `values=True` also rows and values.
    detail: str
    #: With `values=True`, of a tensor that was changed or retyped, if `float` has all numbers of its types.
    values: Values | None = None


@dataclass(frozen=True)
class Report:
    """The differences between two models. It is true if nothing differs."""

    #: The tensors that differ and aliases, in the order of names.
    findings: tuple[Finding, ...]
    #: The number of names that are `same`, are without bytes in both (`empty`), or have each verdict.
    counts: dict[str, int]
    #: Parts of names, such as `model.`, without which one model has all names of the other.
    prefixes: tuple[str, ...]
    #: Files with weights, in either directory, that were not read.
    not_read: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        """Whether nothing differs."""
        return all(it.verdict == "alias" for it in self.findings)

    def __str__(self) -> str:
        """Return a line for each tensor that differs, and one that counts."""
        lines = [f"{it.verdict.upper():<9} {it.name}  {it.detail}" for it in self.findings]
        counts = [f"{number} {word}" for word, number in self.counts.items() if number or word == "same"]
        behind = f"; one has the names of the other behind {' and '.join(self.prefixes)}" if self.prefixes else ""
        unread = f"; not read: {', '.join(map(str, self.not_read))}" if self.not_read else ""
        return "\n".join([*lines, ", ".join(counts) + behind + unread])


class VerifyError(DamageError):
    """Weights that differ from the expected ones. `report` has the differences; `None` of fingerprints."""

    def __init__(self, text: str, report: Report | None = None) -> None:
        super().__init__(text)
        self.report = report


def renamed(items: Iterable[tuple[str, _T]], rename: Callable[[str], str] | None) -> dict[str, _T]:
    """Return the items by their new names. Raises `ValueError` if two have the same."""
    found: dict[str, _T] = {}
    for name, it in items:
        new = rename(name) if rename is not None else name
        if not isinstance(new, str):
            raise TypeError(f"the name of a tensor is a string: {new!r}")
        if new in found:
            raise ValueError(f"two tensors have the name {new}")
        found[new] = it
    return found


def of_path(path: Path, threads: int, progress: BytesDone | None) -> TensorDigests:
    """Return the tensors of a model or a list in files."""
    rows, aliases, not_read = _tensors(path, threads=threads, progress=progress)
    tensors = {name: TensorDigest(dtype, tuple(shape), digest) for name, dtype, shape, digest in rows}
    return TensorDigests(tensors, aliases, not_read)


def compared(
    old: TensorDigests,
    new: TensorDigests,
    paths: tuple[Path, ...] | None = None,
    rename: Callable[[str], str] | None = None,
) -> Report:
    """Return what differs between two models, also in their values if these are in files."""
    found, counts, prefixes, _ = _tensor_compare(old.rows, new.rows, paths=paths, rename=rename)
    findings = (
        Finding(name, cast(Verdict, verdict), other, detail, values and Values(*values))
        for name, verdict, other, detail, values in found
    )
    return Report(tuple(findings), dict(counts), tuple(prefixes), old.not_read + new.not_read)
