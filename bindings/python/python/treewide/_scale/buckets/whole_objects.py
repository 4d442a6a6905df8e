"""Whole objects, many at a time: read by a pool of threads, and hashed next to each other in vector registers."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from treewide._scale.objects import Object, Read
from treewide._scale.part import Piece, read_part
from treewide._scale.reading import Changed, Retries, Source, cause_of, head, read
from treewide._treewide import digest, hash_many

_T = TypeVar("_T")

#: Requests at the same time. A guess: a request for a small object takes about 30 ms, so that is 1,000 a second.
_THREADS = 32
#: Objects and bytes that are read or wait to be hashed. A guess: 64 MiB for a worker.
_WAITING, _BYTES = 8 * _THREADS, 64 << 20
#: Objects and bytes that are hashed by one call. A guess: some passes of the widest kernel.
_BATCH, _BATCH_BYTES = 128, 4 << 20
#: How often an object is looked at again that was replaced since it was listed.
_LOOKS = 3


class WholeObjects(Generic[_T]):
    """Reads objects whole. Each is handed to `done` with the value that it was added with, in the order of adding."""

    def __init__(self, source: Source, small: int, done: Callable[[_T, Read], object]) -> None:
        """Read objects up to `small` bytes side by side; larger ones in pieces, one after the other."""
        self._source, self._small, self._done = source, small, done
        self._pool = ThreadPoolExecutor(_THREADS)
        self._waiting: deque[tuple[_T, int, Future[tuple[Read, memoryview | None]]]] = deque()
        self._waiting_bytes = 0

    def add(self, token: _T, object: Object) -> None:
        """Read an object. This waits if there are too many."""
        is_small = object.size <= self._small
        size = object.size if is_small else 0
        while self._waiting and (len(self._waiting) >= _WAITING or self._waiting_bytes + size > _BYTES):
            self._hash()
        future: Future[tuple[Read, memoryview | None]] = Future()
        if is_small:
            future = self._pool.submit(self._look, object)
        else:
            # In this thread: it uses threads of its own.
            future.set_result(self._look(object))
        self._waiting.append((token, size, future))
        self._waiting_bytes += size

    def flush(self) -> None:
        """Wait for all of them."""
        while self._waiting:
            self._hash()

    def end(self) -> None:
        """Wait for all of them, and begin nothing more."""
        self.flush()
        self._pool.shutdown()

    def read_now(self, object: Object) -> Read:
        """Read and hash an object at once."""
        found, data = self._look(object)
        return found if data is None else found._replace(digest=digest(data))

    def abandon(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _hash(self) -> None:
        """Wait for the next ones, and hash them."""
        batch: list[tuple[_T, Read, memoryview | None]] = []
        size = 0
        while self._waiting and len(batch) < _BATCH and size < _BATCH_BYTES:
            token, waiting, future = self._waiting.popleft()
            batch.append((token, *future.result()))
            self._waiting_bytes -= waiting
            size += waiting
        # One thread: an engine gives a worker one, and a network is slower than it.
        digests = iter(hash_many([data for _, _, data in batch if data is not None], threads=1))
        for token, found, data in batch:
            self._done(token, found if data is None else found._replace(digest=next(digests)))

    def _look(self, object: Object) -> tuple[Read, memoryview | None]:
        """Read an object; if it was replaced since it was listed, the one that is there now."""
        retries = Retries()
        try:
            for _ in range(_LOOKS):
                try:
                    return self._whole(object, retries)
                except Changed as change:
                    detail = str(change)
                object = head(self._source, object.uri, retries)
            return Read(object, None, "changing", detail), None
        except FileNotFoundError:
            return Read(object, None, "changing", "it was removed after it was listed"), None
        except Exception as error:
            return Read(object, None, "unreadable", cause_of(error)), None

    def _whole(self, object: Object, retries: Retries) -> tuple[Read, memoryview | None]:
        if 0 < object.size <= self._small:
            return Read(object, None), read(self._source, object, 0, object.size, retries)
        # In pieces; and an empty one is only looked at.
        status, detail, parts = read_part(Piece(object, 0, object.size), self._source, retries)
        if status == "changed":
            raise Changed(detail)
        if status != "ok":
            raise OSError(detail)
        return Read(object, parts.finish()), None
