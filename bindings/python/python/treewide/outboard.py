"""Outboards: verify any range of a file by reading that range only.

An outboard is the tree of BLAKE3 over a file, stored apart from it: 0.4 % of its bytes with groups of 16 KiB. With it
and the digest of the file, which comes from where you trust, a range is verified without the rest. The files are those
of bao-tree and iroh (`.obao4`). `docs/outboards.md` says more.

`group` is the size of groups in bytes, a power of two from 1 KiB to 64 MiB; `order` is `"pre"`, or `"post"` for files
that grow. Both must be those with which the outboard was made.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Literal, TypeAlias

from treewide._treewide import AUTO, DamageError, _outboard_create, _outboard_read, _outboard_verify

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

__all__ = ["Damage", "DamageError", "create", "read", "verify"]

_Path: TypeAlias = str | PathLike[str]
_Order: TypeAlias = Literal["pre", "post"]

#: The bytes of a group in the files of iroh.
_IROH = 16384


@dataclass(frozen=True)
class Damage:
    """Bytes of a file that are not verified: whole groups, from `start` up to `stop`."""

    start: int
    stop: int
    #: `bad`: they are not those of the digest. `unknown`: the outboard is broken above them, so nothing is known.
    #: `extra`: they are behind the end.
    state: Literal["bad", "unknown", "extra"]


def create(
    path: _Path,
    outboard: _Path,
    /,
    *,
    group: int = _IROH,
    order: _Order = "pre",
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = AUTO,
    progress: Callable[[int], object] | None = None,
) -> bytes:
    """Write the outboard of a file, and return the digest of the file. It takes as long as `hash_file`.

    The outboard appears when it is complete. `progress` is that of `hash_file`.

    Raises `OSError` that names the file if it cannot be read, or the outboard cannot be written; `ValueError` if both
    are the same file, or `group` or `order` makes no sense.
    """
    return _outboard_create(
        path,
        outboard,
        shape=(group, order),
        key=key,
        derive_key_context=derive_key_context,
        max_threads=max_threads,
        progress=progress,
    )


def verify(
    path: _Path,
    outboard: _Path,
    digest: Buffer | str,
    /,
    *,
    start: int = 0,
    stop: int | None = None,
    length: int | None = None,
    group: int = _IROH,
    order: _Order = "pre",
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = AUTO,
    progress: Callable[[int], object] | None = None,
) -> list[Damage]:
    """Return where the bytes from `start` up to `stop` are not those of the digest: nothing, if all are.

    `digest` is bytes, or hexadecimal digits. Without `stop`, all is verified up to the end, and that it is the end.
    `length` is the length that the file had; without it, the one it has. Only the groups of the range are read, and the
    part of the outboard above them.

    Raises `OSError` that names the file if one cannot be read.
    """
    found = _outboard_verify(
        path,
        outboard,
        _digest(digest),
        start=start,
        stop=stop,
        length=length,
        shape=(group, order),
        key=key,
        derive_key_context=derive_key_context,
        max_threads=max_threads,
        progress=progress,
    )
    return [Damage(*it) for it in found]


def read(
    path: _Path,
    outboard: _Path,
    digest: Buffer | str,
    start: int,
    stop: int,
    /,
    *,
    length: int | None = None,
    group: int = _IROH,
    order: _Order = "pre",
    key: Buffer | None = None,
    derive_key_context: str | None = None,
) -> bytes:
    """Return the bytes from `start` up to `stop`, all of them verified; fewer, if the file ends before.

    Raises `DamageError` if one is not that of the digest, or the outboard is broken; `OSError` that names the file if
    one cannot be read. `length` is that of `verify`.
    """
    return _outboard_read(
        path,
        outboard,
        _digest(digest),
        start=start,
        stop=stop,
        length=length,
        shape=(group, order),
        key=key,
        derive_key_context=derive_key_context,
    )


def _digest(digest: Buffer | str) -> bytes:
    raw = bytes.fromhex(digest) if isinstance(digest, str) else memoryview(digest).tobytes()
    if len(raw) != 32:
        raise ValueError(f"a digest has 32 bytes or 64 hexadecimal digits, and this has {len(raw)} bytes")
    return raw
