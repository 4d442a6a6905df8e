"""Types of arguments of functions of several modules."""

import sys
from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias

if sys.version_info >= (3, 12):
    from collections.abc import Buffer as Buffer
else:
    from typing_extensions import Buffer as Buffer


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
