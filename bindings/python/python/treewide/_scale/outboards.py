"""Outboards of objects: made of the parts that workers return anyway, and written next to the objects or into a folder.

An outboard is the tree above groups (`docs/outboards.md`). With it and a digest that is trusted, `Verified` reads any
range without the rest. It is made when an object is hashed; threads write it.
"""

import contextlib
import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from treewide._scale.console import UsageError
from treewide._scale.objects import Object
from treewide._scale.sources import Store, write
from treewide._treewide import Parts, _size_of

#: What a range is verified by: reading less than this is not much faster.
_USUAL = 1 << 20
#: From this length on, groups are those of a request: the outboard of 10 TB has 38 MB instead of 610.
_LONG = 1 << 40
_OF_LONG = 16 << 20
#: The largest that the format has.
_LARGEST_GROUP = 64 << 20
#: Outboards that are written at the same time.
_WRITERS = 8

_NAME = re.compile(r"\.obao(\d{1,2})$")


def group_of(size: int) -> int:
    """Return the bytes of a group, if the caller asks for no other: 1 MiB, and 16 for objects of 1 TiB and more."""
    return _OF_LONG if size >= _LONG else _USUAL


def checked_group(size: int | str) -> int:
    """Return the bytes of a group. Raises `UsageError` if there are none of this size."""
    with contextlib.suppress(ValueError):
        group = _size_of(size)
        if not group & (group - 1) and 1024 <= group <= _LARGEST_GROUP:
            return group
    raise UsageError(f"the size of a group is a power of two from 1K to 64M, and not {size}")


def is_outboard(uri: str) -> bool:
    """Whether a name is that of an outboard, and not of a folder."""
    return _NAME.search(uri) is not None


def named_group(uri: str) -> int:
    """Return the bytes of a group, as the name of an outboard says. Raises `UsageError` that names it."""
    found = _NAME.search(uri)
    if found is None or int(found[1]) > 16:
        raise UsageError(f"{uri}: the name of an outboard ends with .obaoK, with groups of 2^K KiB, and K up to 16")
    return 1024 << int(found[1])


def place_of(uri: str, size: int, digest: bytes, folder: str | None = None, group: int | None = None) -> str:
    """Return where the outboard of an object is: next to it, or in a folder by its digest, as manifests have it."""
    suffix = f".obao{((group or group_of(size)) // 1024).bit_length() - 1}"
    return uri + suffix if folder is None else f"{folder.rstrip('/')}/{digest.hex()}{suffix}"


class Outboards:
    """Makes outboards of the hashed objects, and writes them while others are hashed."""

    def __init__(self, store: Store, folder: str | None = None, *, group: int | str | None = None) -> None:
        """Write next to the objects, or into `folder`.

        Groups have the size `group`, such as `"64K"`, or the one that `group_of` says.
        """
        self._store, self._folder = store, folder
        self._group = None if group is None else checked_group(group)
        self._pool = ThreadPoolExecutor(_WRITERS)
        #: So that not too many wait in memory.
        self._room = threading.BoundedSemaphore(2 * _WRITERS)
        self._written: dict[Object, Future[str]] = {}

    def group(self, object: Object) -> int | None:
        """Return the bytes of a group; `None` for an object of one group, whose outboard would be empty."""
        group = self._group or group_of(object.size)
        return group if object.size > group else None

    def take(self, object: Object, digest: bytes, parts: Parts) -> None:
        """Make the outboard of an object that is hashed, and begin to write it."""
        if (group := self.group(object)) is not None:
            data = parts.outboard(group)
            self._room.acquire()
            self._written[object] = self._pool.submit(self._write, object, digest, group, data)

    def _write(self, object: Object, digest: bytes, group: int, data: bytes) -> str:
        uri = place_of(object.uri, object.size, digest, self._folder, group)
        # ASCII: header fields of stores.
        notes = {"blake3": digest.hex(), "length": str(object.size)}
        try:
            write(self._store, uri, data, notes)
        finally:
            self._room.release()
        return uri

    def end(self) -> tuple[dict[Object, str], dict[Object, BaseException]]:
        """Wait until all is written. Returns where each outboard is, and why some are not there."""
        self._pool.shutdown(wait=True)
        failures = {it: why for it, written in self._written.items() if (why := written.exception()) is not None}
        return {it: written.result() for it, written in self._written.items() if it not in failures}, failures
