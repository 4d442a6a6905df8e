"""Outboards: verify any range of a file by reading that range only.

An outboard is the tree of BLAKE3 over a file, stored apart from it: 0.4 % of its bytes with groups of 16 KiB. With it
and the digest of the file, which comes from where you trust, a range is verified without the rest. The files are those
of bao-tree and iroh (`.obao4`). `docs/outboards.md` says more.

`group` is the size of groups, a power of two from 1 KiB to 64 MiB, such as `16384` or `"16K"`. It must be the one with
which the outboard was made.
"""

from treewide._arguments import (
    Bytes as _Bytes,
    BytesDone as _BytesDone,
    Path as _Path,
    expected_bytes as _expected_bytes,
    size_of as _size_of,
)
from treewide._treewide import Damage, DamageError, _outboard_create, _outboard_read, _outboard_verify

__all__ = ["Damage", "DamageError", "create", "read", "verify"]

#: The bytes of a group in the files of iroh.
_IROH = 16384


def create(
    path: _Path,
    outboard: _Path,
    /,
    *,
    group: int | str = _IROH,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    threads: int = 1,
    progress: _BytesDone | None = None,
) -> bytes:
    """Write the outboard of a file, and return the digest of the file. It takes as long as `hash_file`.

    The outboard appears when it is complete. `progress` is that of `hash_file`.

    Raises `OSError` that names the file if it cannot be read, or the outboard cannot be written; `ValueError` if both
    are the same file, or for an invalid `group`.
    """
    return _outboard_create(
        path,
        outboard,
        group=_size_of(group),
        key=key,
        derive_key_context=derive_key_context,
        threads=threads,
        progress=progress,
    )


def verify(
    outboard: _Path,
    path: _Path,
    /,
    *,
    expected: _Bytes | str,
    start: int = 0,
    stop: int | None = None,
    size: int | None = None,
    group: int | str = _IROH,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
    threads: int = 1,
    progress: _BytesDone | None = None,
) -> list[Damage]:
    """Return where the bytes of `path` from `start` up to `stop` are not those of the digest: nothing, if all are.

    `expected` is the digest that you trust, as bytes or hexadecimal digits. Without `stop`, all is verified up to the
    end, and that it is the end. `size` is the size that the file had; without it, the one it has. Only the groups of
    the range are read, and the part of the outboard above them.

    Raises `OSError` that names the file if one cannot be read.
    """
    return _outboard_verify(
        outboard,
        path,
        _expected_bytes(expected),
        start=start,
        stop=stop,
        size=size,
        group=_size_of(group),
        key=key,
        derive_key_context=derive_key_context,
        threads=threads,
        progress=progress,
    )


def read(
    outboard: _Path,
    path: _Path,
    start: int,
    stop: int,
    /,
    *,
    expected: _Bytes | str,
    size: int | None = None,
    group: int | str = _IROH,
    key: _Bytes | None = None,
    derive_key_context: str | None = None,
) -> bytes:
    """Return the bytes from `start` up to `stop`, all of them verified; fewer, if the file ends before.

    Raises `DamageError` if one is not that of the digest, or the outboard is broken; `OSError` that names the file if
    one cannot be read. `expected` and `size` are those of `verify`.
    """
    return _outboard_read(
        outboard,
        path,
        _expected_bytes(expected),
        start=start,
        stop=stop,
        size=size,
        group=_size_of(group),
        key=key,
        derive_key_context=derive_key_context,
    )
