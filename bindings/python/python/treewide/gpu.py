"""Digests of tensors in the memory of CUDA devices, where they lie: standard BLAKE3, the same as `digest` of a copy.

Tensors come through DLPack, from PyTorch, CuPy, JAX and others, of any type, by their bytes; type and shape are not
part of a digest. Nothing but digests comes to the host, except for ends in `hash_parts`. NVIDIA's driver is looked for
when a function is called.

`stream` is the stream that the work goes to: the number of a `cudaStream_t`, or an object of PyTorch, CuPy or the
protocol `__cuda_stream__`; without it, the default stream. It must live as long as the work on it. What writes the
tensors, in whatever stream their library knows of, comes first.
"""

import operator as _operator
from collections.abc import Iterable as _Iterable, Mapping as _Mapping, Sequence as _Sequence
from dataclasses import dataclass as _dataclass
from typing import Any as _Any, Protocol as _Protocol, TypeAlias as _TypeAlias, overload as _overload

from typing_extensions import TypeVar as _TypeVar

from treewide._arguments import Bytes as _Bytes
from treewide._treewide import (
    Digests as _Digests,
    Parts as _Parts,
    _gpu_devices,
    _gpu_digest,
    _gpu_hash_many,
    _gpu_hash_many_to,
    _gpu_hash_parts,
)

__all__ = ["Device", "devices", "digest", "hash_many", "hash_many_to", "hash_parts"]

_Key = _TypeVar("_Key")

#: The number of the default stream in DLPack.
_DEFAULT = 1


class _Tensor(_Protocol):
    def __dlpack__(self, *args: _Any, **options: _Any) -> _Any: ...
    def __dlpack_device__(self) -> tuple[_Any, _Any]: ...


_Stream: _TypeAlias = _Any


@_dataclass(frozen=True)
class Device:
    """A CUDA device, or what is wrong with the driver."""

    index: int
    name: str
    #: Bytes of memory, if the driver says.
    memory: int | None
    #: Why it cannot be used. `None` if it can.
    problem: str | None


def devices() -> list[Device]:
    """Return the CUDA devices. Where the driver is missing or broken, one entry says so."""
    return [Device(*it) for it in _gpu_devices()]


def digest(
    tensor: _Tensor,
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    stream: _Stream | None = None,
) -> bytes:
    """Return the BLAKE3 digest of the bytes of a tensor on a CUDA device.

    Raises `TypeError` for an object that is not a tensor; `BytesError` for one that is not on a CUDA device, not
    contiguous, or requires a gradient; `RuntimeError` that names the device if there is no driver, or it fails;
    `MemoryError`.
    """
    return _gpu_digest(tensor, key=key, derive_key_context=derive_key_context, length=length, stream=_number(stream))


# A mapping is an iterable too; the first signature that fits counts.
@_overload
def hash_many(  # type: ignore[overload-overlap]
    tensors: _Mapping[_Key, _Tensor],
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    stream: _Stream | None = None,
) -> dict[_Key, bytes]: ...
@_overload
def hash_many(
    tensors: _Iterable[_Tensor],
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    stream: _Stream | None = None,
) -> _Digests: ...
def hash_many(
    tensors: _Any,
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    stream: _Stream | None = None,
) -> _Any:
    """Return the BLAKE3 digests of tensors on one CUDA device, in few launches.

    `tensors` is an iterable; or a mapping, such as `model.state_dict()`, for a `dict` with its keys; or one tensor of
    two or more dimensions, whose rows are the inputs. Raises what `digest` raises, with a note that names the item.
    """
    return _gpu_hash_many(tensors, key=key, derive_key_context=derive_key_context, stream=_number(stream))


def hash_many_to(
    tensors: _Mapping[_Any, _Tensor] | _Iterable[_Tensor],
    out: _Tensor,
    /,
    *,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    stream: _Stream | None = None,
) -> None:
    """Do what `hash_many` does, and leave the digests on the device: 32 bytes each, side by side in all of `out`.

    Does not wait for the device: what comes later in the stream finds the digests. Tensors are kept until the work is
    done, which a later call of a function of this module notices. A failure of the device is also raised then.

    Raises what `hash_many` raises; `ValueError` if `out` has another length, does not start at a multiple of 4 bytes,
    or is the same memory as an input; `BytesError` if it is read-only.
    """
    _gpu_hash_many_to(tensors, out, key=key, derive_key_context=derive_key_context, stream=_number(stream))


def hash_parts(
    pieces: _Iterable[tuple[_Parts, _Tensor, _Sequence[tuple[int, int, int]]]],
    /,
    *,
    stream: _Stream | None = None,
) -> None:
    """Hash ranges of tensors on one CUDA device as parts of longer inputs, in few launches, and add them to the parts.

    A piece is the `treewide.scale.Parts` of the whole input, a tensor, and its ranges `(at, start, stop)`. Bytes
    `start` up to `stop` of the tensor lie at byte `at` of the input. A range may begin and end anywhere. Each subtree
    of a range comes to the host as 32 bytes. The bytes of a chunk that a range cuts come as they are, by one copy for
    all tensors.

    Raises what `digest` raises, with a note that names the item; `ValueError` for ranges that do not fit, or parts with
    several keys; `Clash` if bytes that are there have another value. Then the pieces before that one are added.
    """
    given = [(parts, tensor, list(ranges)) for parts, tensor, ranges in pieces]
    _gpu_hash_parts(given, stream=_number(stream))


def _number(stream: _Any) -> int:
    """Return the number that DLPack has for a stream."""
    if stream is None:
        return _DEFAULT
    given = type(stream).__name__
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):
        stream = stream.cuda_stream
    elif hasattr(stream, "ptr"):
        stream = stream.ptr
    # Integers of other types, such as those of NumPy, are numbers too. A truth value is not meant as one.
    if isinstance(stream, bool) or not hasattr(stream, "__index__"):
        raise TypeError(f"stream is the number of a CUDA stream or an object of one, and not {given}")
    number = _operator.index(stream)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"stream is the number of a CUDA stream, and not {number}")
    # The default stream is 0 in CUDA, and 1 in DLPack.
    return number or _DEFAULT
