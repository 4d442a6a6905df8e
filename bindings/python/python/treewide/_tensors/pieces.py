"""Digests of full tensors from pieces that lie in several processes. Nothing here needs PyTorch or a process group."""

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from treewide._tensors.lists import TensorDigest
from treewide._treewide import Clash, Parts, digest

__all__ = ["Different", "Joined", "Kind", "Missing", "Piece", "answer_of", "kind_of", "merge", "parts"]

_MAGIC = b"tw-pieces\x01"

#: Names of types in safetensors, by those of PyTorch and NumPy.
_DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    # Two values in a byte: a shape counts values.
    "float4_e2m1fn_x2": "F4",
    # Not types of safetensors.
    "complex128": "C128",
    "complex32": "C32",
}


class Different(ValueError):
    """Bytes of a tensor that two processes have, and that differ: `name`, and the bytes from `start` up to `stop`.

    `senders` are the two. A third copy says which of them is wrong.
    """

    def __init__(self, name: str, start: int, stop: int, senders: tuple[str, str]) -> None:
        super().__init__(f"{name}: bytes {start}..{stop} of {senders[0]} are not those of {senders[1]}")
        self.name, self.start, self.stop, self.senders = name, start, stop, senders


class Missing(ValueError):
    """Bytes of a tensor that no process has: `name`, and the first of them from `start` up to `stop`."""

    def __init__(self, name: str, start: int, stop: int, total: int) -> None:
        super().__init__(f"{name}: no process has bytes {start}..{stop} of {total}")
        self.name, self.start, self.stop = name, start, stop


class Piece(NamedTuple):
    """A block of a full tensor that is in this process, in row-major order."""

    #: A buffer, an array, or a tensor of the CPU (DLPack).
    tensor: Any
    #: The shape of the full tensor.
    shape: tuple[int, ...]
    #: The place of its first element in the full tensor.
    at: tuple[int, ...]
    #: The name of its type in safetensors. By default, it follows from the type of `tensor`.
    dtype: str | None = None


class Kind(NamedTuple):
    """The type and the shape of a full tensor, and how its items are stored."""

    #: The name of the type in safetensors.
    dtype: str
    #: The shape in values.
    shape: tuple[int, ...]
    #: The shape in items, and the bytes of an item. Two values of four bits are one item.
    stored: tuple[int, ...]
    item: int

    def __str__(self) -> str:
        """Return the type and the shape, as in `F32[2,3]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def nbytes(self) -> int:
        """The bytes of the full tensor."""
        return math.prod(self.stored) * self.item

    def identity(self, name: str) -> bytes:
        """Return bytes that bind parts to their tensor, so that those of another one are refused."""
        return digest(json.dumps([name, self.dtype, self.shape]).encode())


def kind_of(tensor: Any, shape: Sequence[int], dtype: str | None = None) -> Kind:
    """Return the kind of the full tensor, of `shape` in items, that `tensor` is a piece of.

    Raises `TypeError` if the type has no name in safetensors, and none is given; `ValueError` for an impossible shape.
    """
    item = tensor.element_size() if hasattr(tensor, "element_size") else _viewed(tensor).itemsize
    stored = tuple(shape)
    if dtype is None:
        name = str(getattr(tensor, "dtype", "uint8")).rpartition(".")[2]
        if name not in _DTYPES:
            raise TypeError(f"the type {name} has no name in safetensors: give one")
        dtype = _DTYPES[name]
    is_packed = dtype == "F4" and stored
    kind = Kind(dtype, (*stored[:-1], 2 * stored[-1]) if is_packed else stored, stored, item)
    if kind.nbytes >> 64:
        raise ValueError(f"a tensor of {kind} has more bytes than there can be")
    return kind


def _viewed(tensor: Any) -> Any:
    return tensor if hasattr(tensor, "shape") else memoryview(tensor)


def parts(pieces: Mapping[str, Piece | Sequence[Piece]], /) -> bytes:
    """Hash the pieces of tensors that are in this process, where they lie, and return what `merge` takes.

    `pieces` has a piece, or a list of pieces, by the name of the tensor. The answer has 48 bytes for each subtree of a
    run of bytes, and at most 1,023 bytes of weights at each end. Nothing is sent: use RPC, a file, or Ray.

    Raises `TypeError` or `BufferError` that names a tensor if its bytes cannot be read; `ValueError` if a piece does
    not fit into the shape.
    """
    found = []
    for name, given in pieces.items():
        several = [given] if isinstance(given, Piece) else list(given)
        try:
            if not several:
                raise ValueError("a list of pieces is empty")
            kinds = {kind_of(it.tensor, it.shape, it.dtype) for it in several}
            if len(kinds) > 1:
                raise ValueError("its pieces have several types or shapes")
            kind = kinds.pop()
            known = Parts(kind.nbytes, object=kind.identity(name))
            for it in several:
                shape = tuple(_viewed(it.tensor).shape)
                if not len(it.at) == len(shape) == len(it.shape):
                    raise ValueError(f"a piece of {shape} at {it.at} does not fit into {it.shape}")
                indices = [[place] for place in zip(it.at, shape, strict=True)]
                known._hash_block(it.tensor, kind.item, kind.stored, indices)
        except (TypeError, ValueError, BufferError) as error:
            _rename(name, error)
        found.append((name, kind, known))
    return answer_of(found)


def answer_of(found: Sequence[tuple[str, Kind, Parts]]) -> bytes:
    """Return the answer of `parts`: names, kinds, and the parts that are known of each tensor."""
    head = json.dumps([[name, *kind] for name, kind, _ in found]).encode()
    message = _MAGIC + struct.pack("<Q", len(head)) + head + Parts._pack([known for _, _, known in found])
    return message + digest(message)


def _rename(name: str, error: Exception) -> NoReturn:
    """Raise the same with the name of the tensor before the text."""
    if isinstance(error, Different | Missing):
        raise error
    raise type(error)(f"{name}: {error}") from error


def _read(answer: bytes) -> Iterable[tuple[str, Kind, Parts]]:
    start = len(_MAGIC) + 8
    if not answer.startswith(_MAGIC) or len(answer) < start + 32 or digest(answer[:-32]) != answer[-32:]:
        raise ValueError("an answer is damaged, or not one of `parts`: send it again")
    stop = start + struct.unpack_from("<Q", answer, len(_MAGIC))[0]
    all_ = Parts._unpack(answer[stop:-32])
    for (name, dtype, shape, stored, item), known in zip(json.loads(answer[start:stop]), all_, strict=True):
        yield name, Kind(dtype, tuple(shape), tuple(stored), item), known


class Joined:
    """The pieces of one tensor, in any order. Bytes that are there twice are compared."""

    def __init__(self, name: str, kind: Kind, identity: bytes) -> None:
        self.name, self.kind = name, kind
        self._parts = Parts(kind.nbytes, object=identity)
        self._senders: list[tuple[str, Parts]] = []

    def add(self, known: Parts, sender: str) -> None:
        """Add what a process knows. Raises `Different`, or `ValueError` for parts of something else."""
        try:
            self._parts.absorb(known)
        except Clash as clash:
            raise self._different(clash.here, known, sender) from None
        self._senders.append((sender, known))

    def _different(self, where: tuple[int, int], known: Parts, sender: str) -> Different:
        """Find who else has other bytes there."""
        for other, theirs in self._senders:
            try:
                theirs.copy().absorb(known)
            except Clash as clash:
                return Different(self.name, *clash.here, (other, sender))
        return Different(self.name, *where, ("several processes", sender))

    def finish(self) -> TensorDigest:
        """Return the digest. Raises `Missing`; and `ValueError` if bytes that are there twice could not be compared."""
        if missing := self._parts.missing():
            raise Missing(self.name, *missing[0], self.kind.nbytes)
        if unchecked := self._parts.unchecked():
            start, stop = unchecked[0]
            raise ValueError(
                f"{self.name}: bytes {start}..{stop} are there twice, in pieces that cannot be compared: "
                "one process has only a part of the range of another; give one copy of these bytes"
            )
        return TensorDigest(self.kind.dtype, self.kind.shape, self._parts.finish())


def merge(answers: Iterable[bytes | tuple[str, bytes]], /) -> dict[str, TensorDigest]:
    """Return the digest of each full tensor from the answers of `parts` of all processes, in any order.

    An answer may come with the name of its sender, for messages. Senders are believed: one who lies gives another
    digest, and only a process that has the same bytes would notice.

    Raises `Different` if two processes have other bytes of the same place; `Missing` if no process has some bytes;
    `ValueError` if they do not agree on a type or a shape, or an answer is damaged.
    """
    joined: dict[str, Joined] = {}
    first: dict[str, str] = {}
    for number, answer in enumerate(answers):
        sender, data = answer if isinstance(answer, tuple) else (f"answer {number}", answer)
        for name, kind, known in _read(data):
            if name not in joined:
                joined[name], first[name] = Joined(name, kind, kind.identity(name)), sender
            here = joined[name].kind
            if here != kind:
                raise ValueError(f"{name} is {here} of {first[name]}, and {kind} of {sender}")
            try:
                joined[name].add(known, sender)
            except ValueError as error:
                _rename(name, error)
    return {name: it.finish() for name, it in joined.items()}
