"""What a worker does: the only function that an engine calls."""

import os
import socket
import threading
import time
from collections.abc import Callable

from treewide._treewide import Parts
from treewide.scale.reading import Changed, Retries, Source, hash_range
from treewide.scale.tasks import Result, Status, Task

__all__ = ["run"]


def run(task: Task, source: Source, *, retries: Retries | None = None, host: str | None = None) -> Result:
    """Hash the bytes of a task, with several requests at a time, and return what was found out.

    Nothing else is changed, so a task may run twice. What a worker raises here is a fault of the program: a store that
    fails is a result. Other tasks, such as those of buckets, know how to run themselves.
    """
    if not isinstance(task, Task):
        result: Result = task.run(source)
        return result
    lease = _Lease(task, source, retries or Retries())
    status, detail = lease.run()
    parts = Parts(task.object.size, object=task.object.identity) if status == "changed" else lease.parts
    if task.group is None:
        parts.compact()
    return Result(
        task,
        status,
        parts.to_bytes(),
        host or f"{socket.gethostname()}:{os.getpid()}",
        detail,
        time.monotonic() - lease.started,
        lease.retries.requests,
    )


class _Lease:
    """A task under way, shared by the threads that read for it."""

    def __init__(self, task: Task, source: Source, retries: Retries) -> None:
        self.task, self.source, self.retries = task, source, retries
        self.started = time.monotonic()
        self.parts = Parts(task.object.size, object=task.object.identity)
        self._at = task.start
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    def run(self) -> tuple[Status, str]:
        try:
            self._check_empty()
        except Exception as error:
            self._failure = error
        pieces = -(-(self.task.stop - self.task.start) // self.source.piece)
        _together(self._read_pieces, min(self.source.streams, pieces))
        match self._failure:
            case None:
                return "ok", ""
            case Changed() as change:
                return "changed", str(change)
            case failure:
                return "failed", str(failure).strip() or type(failure).__name__

    def _check_empty(self) -> None:
        # No byte can be asked for, and the object may have some by now.
        object = self.task.object
        if object.size == 0:
            self.retries.ask()
            found = self.source.head(object.uri)
            if object.is_pinned and (found.size, found.etag, found.version) != (0, object.etag, object.version):
                raise Changed(f"it has {found.size} bytes and ETag {found.etag}, and had 0 and {object.etag}")

    def _read_pieces(self) -> None:
        while (piece := self._next()) is not None:
            try:
                hash_range(self.source, self.parts, self.task.object, *piece, self.retries, self.task.group)
            except Exception as error:
                with self._lock:
                    # That it changed counts more than that something else failed too.
                    if self._failure is None or isinstance(error, Changed):
                        self._failure = error

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            at, seconds = self._at, self.task.seconds
            is_late = seconds is not None and at > self.task.start and time.monotonic() - self.started > seconds
            if self._failure is not None or at >= self.task.stop or is_late:
                return None
            self._at = min((at // self.source.piece + 1) * self.source.piece, self.task.stop)
            return at, self._at


def _together(work: Callable[[], None], threads: int) -> None:
    if threads <= 1:
        return work()
    all = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in all:
        thread.start()
    for thread in all:
        thread.join()
