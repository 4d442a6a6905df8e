"""Parts of objects: what a worker hashes, and what comes of it.

A worker reads a range by several requests at a time. What it returns has a few hundred bytes, however long the range
is.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, TypeAlias

from treewide._scale.objects import Object
from treewide._scale.reading import REFUSALS, Changed, Retries, Source, cause_of, hash_range, head
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


def hash_pieces(pieces: list[Piece], source: Source, seconds: float) -> list[dict[str, Any]]:
    """Hash pieces. Small ones are read side by side; what is not begun in time is left out."""
    began = time.monotonic()

    def hashed(it: Piece) -> dict[str, Any] | None:
        left = seconds - (time.monotonic() - began)
        if left <= 0 and it is not pieces[0]:
            return None
        status, detail, parts = read_part(it, source, Retries(), left)
        return {"object": it.object, "status": status, "detail": detail, "parts": parts.to_bytes()}

    if len(pieces) == 1 or source.streams == 1:
        return [it for it in map(hashed, pieces) if it is not None]
    with ThreadPoolExecutor(source.streams) as pool:
        return [it for it in pool.map(hashed, pieces) if it is not None]


def read_part(
    piece: Piece, source: Source, retries: Retries, seconds: float | None = None
) -> tuple[Status, str, Parts]:
    """Hash these bytes; after `seconds` begin nothing more. Returns how it ended, why, and the parts."""
    reading = _Reading(piece, source, retries, seconds)
    status, detail = reading.run()
    parts = Parts(piece.object.size, object=piece.object.identity) if status == "changed" else reading.parts
    if piece.group is None:
        parts.compact()
    return status, detail, parts


class _Reading:
    """A range that is being read, shared by the threads that read for it."""

    def __init__(self, piece: Piece, source: Source, retries: Retries, seconds: float | None) -> None:
        self.parts = Parts(piece.object.size, object=piece.object.identity)
        self._piece, self._source, self._retries, self._seconds = piece, source, retries, seconds
        self._began, self._at = time.monotonic(), piece.start
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def run(self) -> tuple[Status, str]:
        """Hash what the time allows. Returns how it ended, and why."""
        try:
            self._check_empty()
        except Exception as error:
            self._failure = error
        requests = -(-(self._piece.stop - self._piece.start) // self._source.piece)
        threads = min(self._source.streams, requests)
        # This one reads too. An interrupt does not wait for the others.
        others = [threading.Thread(target=self._read, daemon=True) for _ in range(1, threads)]
        for it in others:
            it.start()
        self._read()
        for it in others:
            it.join()
        failure = self._failure
        if failure is None:
            return "ok", ""
        if isinstance(failure, (Changed, FileNotFoundError)):
            return "changed", str(failure) if isinstance(failure, Changed) else "it is gone"
        return "refused" if isinstance(failure, (ModuleNotFoundError, *REFUSALS)) else "failed", cause_of(failure)

    def _check_empty(self) -> None:
        # No byte can be asked for, and the object may have some by now.
        object = self._piece.object
        if object.size == 0:
            found = head(self._source, object.uri, self._retries)
            if object.is_pinned and (found.size, found.etag, found.version) != (0, object.etag, object.version):
                raise Changed(f"it has {found.size} bytes and ETag {found.etag}, and had 0 and {object.etag}")

    def _read(self) -> None:
        it = self._piece
        while (ends := self._next()) is not None:
            try:
                hash_range(self._source, self.parts, it.object, *ends, self._retries, it.group)
            except Exception as error:
                with self._lock:
                    # That it changed counts more than that something else failed too.
                    if self._failure is None or isinstance(error, Changed):
                        self._failure = error

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            at, seconds, it = self._at, self._seconds, self._piece
            is_late = seconds is not None and at > it.start and time.monotonic() - self._began > seconds
            if self._failure is not None or at >= it.stop or is_late:
                return None
            self._at = min((at // self._source.piece + 1) * self._source.piece, it.stop)
            return at, self._at
