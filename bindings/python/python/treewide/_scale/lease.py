"""A lease under way: a worker reads a range of an object by several requests at a time, and hashes it."""

import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from treewide._scale.objects import Object
from treewide._scale.reading import Changed, Retries, Source, cause_of, hash_range, head
from treewide._treewide import Parts

__all__ = ["Lease", "Status"]

Status: TypeAlias = Literal["ok", "failed", "changed"]
"""`ok`: what was read is in the parts, all of it or what the time allowed. `failed`: something could not be read.
`changed`: it is no longer the same object, so that nothing of it counts."""


class Lease:
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
