"""Digests of full tensors from pieces that lie in several processes. Nothing here needs PyTorch or a process group."""

import contextlib
import functools
import json
import math
import operator
import re
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from treewide._tensors.lists import TensorDigest, TensorDigests
from treewide._treewide import Clash, Parts, _gpu_hash_blocks, digest

#: The bytes of an item, the shape of the full tensor in items, and the indices that are here of each dimension.
Block: TypeAlias = tuple[int, Sequence[int], Sequence[Sequence[tuple[int, int]]]]

#: What `parts` returns: bytes, or another buffer of them.
Answer: TypeAlias = bytes | bytearray | memoryview

_MAGIC = b"tw-pieces\x01"

#: Names of types in safetensors and the bytes of their items, by the names of PyTorch and NumPy.
_DTYPES = {
    "bool": ("BOOL", 1),
    "uint8": ("U8", 1),
    "int8": ("I8", 1),
    "uint16": ("U16", 2),
    "int16": ("I16", 2),
    "uint32": ("U32", 4),
    "int32": ("I32", 4),
    "uint64": ("U64", 8),
    "int64": ("I64", 8),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "float32": ("F32", 4),
    "float64": ("F64", 8),
    "complex64": ("C64", 8),
    "float8_e4m3fn": ("F8_E4M3", 1),
    "float8_e5m2": ("F8_E5M2", 1),
    "float8_e4m3fnuz": ("F8_E4M3FNUZ", 1),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 1),
    "float8_e8m0fnu": ("F8_E8M0", 1),
    # Two values in a byte: a shape counts values.
    "float4_e2m1fn_x2": ("F4", 1),
    # Not types of safetensors.
    "complex128": ("C128", 16),
    "complex32": ("C32", 4),
}
_ITEMS = dict(_DTYPES.values())


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

    #: A buffer, an array, or a tensor of the CPU or of a CUDA device (DLPack).
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


@functools.lru_cache(4096)
def kind_of(dtype: str | None, own: Any, stored: tuple[int, ...], item: int) -> Kind:
    """Return the kind of a tensor of a type of safetensors, or of the library that it is `own` of.

    Raises `TypeError` if the type has no name in safetensors; `ValueError` for an impossible shape.
    """
    if dtype is None:
        name = str(own or ("uint8" if item == 1 else f"of {item} bytes")).rpartition(".")[2]
        if name not in _DTYPES:
            raise TypeError(f"the type {name} has no name in safetensors: give one, or pass a view of its bytes")
        dtype = _DTYPES[name][0]
    return _checked(dtype, stored, item)


def _checked(dtype: str, stored: tuple[int, ...], item: int) -> Kind:
    """Return the kind of a tensor. Raises `ValueError` for one that cannot be."""
    if not isinstance(dtype, str) or not re.fullmatch("[A-Za-z0-9_]+", dtype):
        raise ValueError(f"a type is made of letters, digits and _: {dtype!r}")
    if item != _ITEMS.get(dtype, item) or item < 1:
        raise ValueError(f"an item of {dtype} has not {item} bytes")
    # Before they are multiplied: numbers of an altered answer may be long.
    if wrong := [n for n in stored if n < 0 or n >> 64]:
        raise ValueError(f"a tensor has no dimension of {wrong[0]!s:.40} items")
    is_packed = dtype == "F4" and stored
    kind = Kind(dtype, (*stored[:-1], 2 * stored[-1]) if is_packed else stored, stored, item)
    if len(stored) > 64 or kind.nbytes >> 64:
        raise ValueError(f"a tensor of {kind} has more bytes than there can be")
    return kind


def _kind_of(it: Piece) -> Kind:
    size = it.tensor.element_size() if hasattr(it.tensor, "element_size") else _viewed(it.tensor).itemsize
    return kind_of(it.dtype, getattr(it.tensor, "dtype", None), tuple(map(operator.index, it.shape)), size)


def _viewed(tensor: Any) -> Any:
    return tensor if hasattr(tensor, "shape") else memoryview(tensor)


def are_pieces(x: Mapping[str, Any]) -> bool:
    """Return whether this is for `parts`, and not a state of PyTorch."""
    values = (one for it in x.values() for one in (it if isinstance(it, list) else [it]))
    return not any(isinstance(it, Mapping) or hasattr(it, "is_meta") for it in values)


def parts(pieces: Mapping[str, Piece | Sequence[Piece]], /, *, stream: Any = None) -> bytes:
    """Hash the pieces of tensors that are in this process: see `treewide.weights.parts`."""
    found = []
    on_devices: dict[int, list[tuple[str, tuple[Parts, Any, Block]]]] = {}
    for name, given in pieces.items():
        with _named(name):
            several = [given] if isinstance(given, Piece) else list(given)
            if not several:
                raise ValueError("a list of pieces is empty")
            if not all(isinstance(it, Piece) for it in (several if isinstance(name, str) else [name])):
                raise TypeError("give a Piece, or a list of them, by the name of the tensor")
            kinds = set(map(_kind_of, several))
            if len(kinds) > 1:
                raise ValueError("its pieces have several types or shapes")
            kind = kinds.pop()
            known = Parts(kind.nbytes, object=kind.identity(name))
            for it in several:
                block = _block_of(it, kind)
                index = _cuda_device(it.tensor)
                if index is None:
                    known._hash_block(it.tensor, *block)
                    continue
                own = Parts(kind.nbytes, object=kind.identity(name))
                on_devices.setdefault(index, []).append((name, (own, it.tensor, block)))
        found.append((name, kind, known))
    whole = {name: known for name, _, known in found}
    for group in on_devices.values():
        _hash_there([piece for _, piece in group], [name for name, _ in group], stream)
        for name, (own, _, _) in group:
            with _named(name):
                whole[name].absorb(own)
    for name, known in whole.items():
        with _named(name):
            if twice := known.unchecked():
                start, stop = twice[0]
                raise ValueError(f"bytes {start}..{stop} are in two of its pieces: make an answer for each copy")
    return answer_of(found)


def _hash_there(pieces: list[tuple[Parts, Any, Block]], names: list[str], stream: Any) -> None:
    try:
        _gpu_hash_blocks(pieces, stream=stream)
    except (TypeError, ValueError, BufferError):
        # One by one, to name the tensor.
        for name, piece in zip(names, pieces, strict=True):
            with _named(name):
                _gpu_hash_blocks([piece], stream=stream)
        raise


def _block_of(piece: Piece, kind: Kind) -> Block:
    shape = tuple(_viewed(piece.tensor).shape)
    at = tuple(map(operator.index, piece.at))
    fits = len(at) == len(shape) == len(kind.stored)
    if not fits or any(not 0 <= place <= size for place, size in zip(at, kind.stored, strict=True)):
        raise ValueError(f"a piece of {shape} at {at} does not fit into {kind.stored}")
    return kind.item, kind.stored, [[place] for place in zip(at, shape, strict=True)]


def _cuda_device(tensor: Any) -> int | None:
    """Return the number of the CUDA device that has a tensor."""
    device, index = tensor.__dlpack_device__() if hasattr(tensor, "__dlpack_device__") else (1, 0)
    return index if device in (2, 13) else None


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Raise errors with the name of the tensor before the text."""
    try:
        yield
    except Clash as clash:
        start, stop = clash.here
        raise ValueError(f"{name}: two of its pieces have other bytes in {start}..{stop}") from None
    except (TypeError, ValueError, BufferError) as error:
        _rename(name, error)


def answer_of(found: Sequence[tuple[str, Kind, Parts]], tied: Mapping[str, str] | None = None) -> bytes:
    """Return the answer of `parts`: names, kinds, to which they are tied, and the parts that are known."""
    head = json.dumps([[name, *kind, (tied or {}).get(name)] for name, kind, _ in found]).encode()
    message = _MAGIC + struct.pack("<Q", len(head)) + head + Parts._pack([known for _, _, known in found])
    return message + digest(message)


def _rename(name: str, error: Exception) -> NoReturn:
    """Raise the same with the name of the tensor before the text."""
    if isinstance(error, Different | Missing):
        raise error
    kind = next((it for it in (TypeError, BufferError) if isinstance(error, it)), ValueError)
    raise kind(f"{name}: {error}") from error


def _body(answer: Answer) -> tuple[list[Any], bytes]:
    """Return the names and kinds of an answer as they are, and its packed parts."""
    try:
        data = bytes(memoryview(answer))
    except TypeError:
        raise TypeError(f"an answer is what `parts` returned, or a pair of a name and that: {answer!r:.60}") from None
    start = len(_MAGIC) + 8
    if data.startswith(_MAGIC) and len(data) >= start + 32 and digest(data[:-32]) == data[-32:]:
        stop = start + struct.unpack_from("<Q", data, len(_MAGIC))[0]
        try:
            head = json.loads(data[start:stop])
        except (ValueError, RecursionError):
            head = None
        if isinstance(head, list):
            return head, data[stop:-32]
    raise ValueError("an answer is damaged, or not one of `parts`: send it again")


def _entry(given: Any) -> tuple[str, Kind, str | None]:
    """Return a name, its kind, and the name that it is tied to. Raises `ValueError` for an entry of others."""
    match given:
        case [str(name), str(dtype), list(shape), list(stored), int(item), str() | None as tied] if all(
            type(n) is int for n in stored
        ):
            name.encode()
            kind = _checked(dtype, tuple(stored), item)
            if list(kind.shape) == shape:
                return name, kind, tied
    raise ValueError(f"an answer has a tensor that cannot be: {given!r:.80}")


def _read(answer: Answer) -> Iterable[tuple[str, Kind, str | None, Parts]]:
    head, packed = _body(answer)
    for given, known in zip(head, Parts._unpack(packed), strict=True):
        yield *_entry(given), known


def _again(answer: Answer, place: int) -> Parts:
    return Parts._unpack(_body(answer)[1])[place]


def agreed(tied: Mapping[str, set[str | None]], names: Container[str]) -> dict[str, str]:
    """Return names of tied tensors, if all processes that have one say the same."""
    return {name: of for name, (of, *others) in tied.items() if of is not None and of in names and not others}


class Joined:
    """The pieces of one tensor, in any order. Bytes that are there twice are compared."""

    def __init__(self, name: str, kind: Kind, identity: bytes) -> None:
        self.name, self.kind = name, kind
        self._parts = Parts(kind.nbytes, object=identity)
        self._parts._keep_cut_chunks()
        self._senders: list[tuple[str, Callable[[], Parts]]] = []

    def add(self, known: Parts, sender: str, again: Callable[[], Parts]) -> None:
        """Add what a process knows; `again` reads it once more. Raises `Different`, or `ValueError` for other parts."""
        try:
            self._parts.absorb(known)
        except Clash as clash:
            raise self._different(clash.here, known, sender) from None
        self._senders.append((sender, again))

    def _different(self, where: tuple[int, int], known: Parts, sender: str) -> Different:
        """Find who else has other bytes there."""
        for other, again in self._senders:
            try:
                again().absorb(known)
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


def merge(answers: Iterable[Answer | tuple[str, Answer]], /) -> TensorDigests:
    """Return the digest of each full tensor from the answers of `parts` of all processes, in any order.

    An answer may come with the name of its sender, for messages. Senders are believed: one who lies gives another
    digest, and only a process that has the same bytes would notice.

    Raises `Different` if two processes have other bytes of the same place; `Missing` if no process has some bytes;
    `ValueError` if they do not agree on a type or a shape, if an answer is damaged, or if a process has only a part of
    the bytes of another, so that they cannot be compared; or if no answer has a tensor with bytes.
    """
    joined: dict[str, Joined] = {}
    tied: dict[str, set[str | None]] = {}
    first: dict[str, str] = {}
    for number, answer in enumerate(answers):
        sender, data = answer if isinstance(answer, tuple) and len(answer) == 2 else (f"answer {number}", answer)
        for place, (name, kind, of, known) in enumerate(_read(data)):
            tied.setdefault(name, set()).add(of)
            if name not in joined:
                joined[name], first[name] = Joined(name, kind, kind.identity(name)), sender
            here = joined[name].kind
            if here != kind:
                raise ValueError(f"{name} is {here} of {first[name]}, and {kind} of {sender}")
            try:
                joined[name].add(known, sender, functools.partial(_again, data, place))
            except ValueError as error:
                _rename(name, error)
    return TensorDigests({name: it.finish() for name, it in joined.items()}, agreed(tied, joined))
