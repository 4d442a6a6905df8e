"""Arguments of functions of several modules: types, sizes and digests."""

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from os import PathLike
from typing import Any, BinaryIO, Literal, Protocol, TypeAlias

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer

__all__ = [
    "Buffer",
    "Bytes",
    "BytesDone",
    "Evidence",
    "FilesDone",
    "Path",
    "Verdict",
    "expected_bytes",
    "handle_of",
    "size_of",
]

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}


class _Array(Protocol):
    """An array of NumPy. Its stubs have a buffer from Python 3.12 on only."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


Bytes: TypeAlias = Buffer | _Array
"""An object with the buffer protocol."""

Path: TypeAlias = str | PathLike[str]
"""The name of a file."""

BytesDone: TypeAlias = Callable[[int], object]
"""Called with the number of bytes so far."""

FilesDone: TypeAlias = Callable[[int, int], object]
"""Called with the numbers of files and bytes so far."""

Verdict: TypeAlias = Literal[
    "same",
    "touched",
    "changed",
    "rot",
    "suspect",
    "accepted",
    "replaced-type",
    "moved",
    "renamed",
    "copied",
    "added",
    "removed",
    "changing",
    "unreadable",
    "not-checkable",
]
"""The verdict on a path. `suspect`: other content with the same size and mtime, though ctime moved."""

Evidence: TypeAlias = Literal["read", "metadata", "attested", "claimed"]
"""How something is known. `read`: its content was read in this run. `metadata`: size, times and inode say so.
`attested`: a store says so. `claimed`: a manifest says so."""


def size_of(size: int | str) -> int:
    """Return a number of bytes, also of text such as `16K`, `1.5M` or `2TB`. Raises `ValueError` that names it."""
    if not isinstance(size, str):
        return size
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", size.strip(), re.ASCII)
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(
            f"{size!r} is not a size: pass bytes, with K, M, G or T for powers of 1,024, or KB to TB of 1,000"
        )
    return int(Fraction(found[1]) * _UNITS[found[2].upper()])


def expected_bytes(expected: Bytes | str) -> bytes:
    """Return the bytes of a digest that is trusted. Raises `ValueError` that says what it is instead."""
    wanted = "expected has 32 bytes or 64 hexadecimal digits"
    try:
        found = bytes.fromhex(expected) if isinstance(expected, str) else memoryview(expected).tobytes()  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"{wanted}, and this is {expected!r}") from None
    if len(found) != 32:
        raise ValueError(f"{wanted}, and this has {len(found)} bytes")
    return found


def handle_of(file: BinaryIO) -> int:
    """Return what the system calls an open file."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.get_osfhandle(file.fileno())
    return file.fileno()
