"""Parts of objects: what a worker hashes, and what comes of it.

A worker reads a range by several requests at a time. What it returns has a few hundred bytes, however long the range
is.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, TypeAlias

from treewide._scale.objects import Object
from treewide._scale.reading import Changed, Refused, Retries, Source, cause_of, hash_range, head
from treewide._treewide import Parts

Status: TypeAlias = Literal["ok", "failed", "refused", "changed"]
"""`ok`: what was read is in the parts, all of it or what the time allowed. `failed`: something could not be read.
`refused`: nor would it be, if it was asked for again. `changed`: it is no longer the same object, so that nothing of it
counts."""


class Piece(NamedTuple):
    """The bytes from `start` up to `stop` of an object; with `group`, the value of each group of this many bytes."""

    object: Object
    start: int
    stop: int
    group: int | None = None


def hash_pieces(pieces: list[Piece], source: Source, seconds: float | None) -> list[dict[str, Any]]:
    """Hash pieces. Small ones are read side by side; what is not begun in time is left out."""
    began = time.monotonic()

    def hashed(it: Piece) -> dict[str, Any] | None:
        left = None if seconds is None else seconds - (time.monotonic() - began)
        if left is not None and left <= 0 and it is not pieces[0]:
            return None
        retries = Retries()
        status, detail, parts = read_part(*it[:3], source, retries, group=it.group, seconds=left)
        found = {"object": it.object, "status": status, "detail": detail, "requests": retries.requests}
        return {**found, "range": [it.start, it.stop], "parts": parts.to_bytes()}

    if len(pieces) == 1 or source.streams == 1:
        return [it for it in map(hashed, pieces) if it is not None]
    with ThreadPoolExecutor(source.streams) as pool:
        return [it for it in pool.map(hashed, pieces) if it is not None]


def read_part(
    object: Object,
    start: int,
    stop: int,
    source: Source,
    retries: Retries,
    *,
    group: int | None = None,
    seconds: float | None = None,
) -> tuple[Status, str, Parts]:
    """Hash these bytes. Returns how it ended, why, and the parts."""
    reading = _Reading(object, start, stop, source, retries, seconds=seconds, group=group)
    status, detail = reading.run()
    parts = Parts(object.size, object=object.identity) if status == "changed" else reading.parts
    if group is None:
        parts.compact()
    return status, detail, parts


class _Reading:
    """A range that is being read, shared by the threads that read for it."""

    def __init__(
        self,
        object: Object,
        start: int,
        stop: int,
        source: Source,
        retries: Retries,
        *,
        seconds: float | None = None,
        group: int | None = None,
    ) -> None:
        """Hash these bytes; after `seconds` begin nothing more. With `group`, each group by itself."""
        self.parts = Parts(object.size, object=object.identity)
        self._object, self._start, self._stop, self._group = object, start, stop, group
        self._source, self._retries, self._seconds = source, retries, seconds
        self._began, self._at = time.monotonic(), start
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def run(self) -> tuple[Status, str]:
        """Hash what the time allows. Returns how it ended, and why."""
        try:
            self._check_empty()
        except Exception as error:
            self._failure = error
        pieces = -(-(self._stop - self._start) // self._source.piece)
        _together(self._read_pieces, min(self._source.streams, pieces))
        match self._failure:
            case None:
                return "ok", ""
            case Changed() as change:
                return "changed", str(change)
            case FileNotFoundError():
                return "changed", "it is gone"
            case Refused() | ModuleNotFoundError() as refusal:
                return "refused", cause_of(refusal)
            case failure:
                return "failed", cause_of(failure)

    def _check_empty(self) -> None:
        # No byte can be asked for, and the object may have some by now.
        object = self._object
        if object.size == 0:
            found = head(self._source, object.uri, self._retries)
            if object.is_pinned and (found.size, found.etag, found.version) != (0, object.etag, object.version):
                raise Changed(f"it has {found.size} bytes and ETag {found.etag}, and had 0 and {object.etag}")

    def _read_pieces(self) -> None:
        while (piece := self._next()) is not None:
            try:
                hash_range(self._source, self.parts, self._object, *piece, self._retries, self._group)
            except Exception as error:
                with self._lock:
                    # That it changed counts more than that something else failed too.
                    if self._failure is None or isinstance(error, Changed):
                        self._failure = error

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            at, seconds = self._at, self._seconds
            is_late = seconds is not None and at > self._start and time.monotonic() - self._began > seconds
            if self._failure is not None or at >= self._stop or is_late:
                return None
            self._at = min((at // self._source.piece + 1) * self._source.piece, self._stop)
            return at, self._at


def _together(work: Callable[[], None], threads: int) -> None:
    if threads <= 1:
        return work()
    all = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in all:
        thread.start()
    for thread in all:
        thread.join()
