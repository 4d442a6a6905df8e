"""Coverage of objects by results of their parts, and the bytes of the next round.

It starts nothing, waits for nothing and reads no byte. What no result covers is in the next round, so it does not
matter what was lost, came twice, or ended early.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from treewide._scale.objects import Object, Read
from treewide._scale.outboards import Outboards
from treewide._scale.part import Piece
from treewide._scale.results import bytes_of
from treewide._treewide import Clash, Parts

#: Below this, requests and messages would take more time than bytes. A guess: 64 MiB are half a second of 1 Gb/s.
_SMALLEST = 64 << 20
#: Above this size, too much is read again when a worker dies. A guess.
_LARGEST = 16 << 30
#: Parts in one result, at most: 48 KB.
_PARTS = 1024
#: Pieces for each worker that would make up the rest: they shrink, so there are about three times as many.
_SHARES = 8
#: The most objects of one task.
_MANY = 1000
#: A range fails in that many rounds without any progress before its object is unreadable.
_ROUNDS = 3


@dataclass
class _Open:
    parts: Parts
    #: Bytes that are not hashed yet. To ask the parts each time would take as long as there are results.
    left: int
    #: Who hashed which range, so that two who disagree can be named.
    hosts: list[tuple[int, int, str]] = field(default_factory=list)
    failures: int = 0
    cause: str = ""
    has_new: bool = False


class BytesCover:
    """Takes results until it is known what became of each object.

    Objects that are doubted then are read a second time, as a bit may have flipped on the way. That reading counts.
    """

    def __init__(
        self,
        objects: Iterable[Object],
        outboards: Outboards | None = None,
        doubts: Callable[[Read], bool] = lambda read: False,
    ) -> None:
        """Begin with nothing. With `outboards` objects are hashed by groups, and these are made in the end."""
        self._outboards, self._doubts = outboards, doubts
        #: When the first of all that counts was read, or may have been.
        self.began = time.time()
        self.found: dict[Object, Read] = {}
        #: Whether objects are read a second time, and what the first reading found of them.
        self.is_second, self.first = False, dict[Object, Read]()
        #: Objects that an earlier run read in part, and the bytes that it read.
        self.resumed: set[Object] = set()
        self.resumed_bytes = 0
        #: Bytes of results, and bytes that are not hashed yet of objects that are not given up.
        self.done = self.left = 0
        self._begin(objects)

    def _begin(self, objects: Iterable[Object]) -> None:
        self._open = {it: _Open(Parts(it.size, object=it.identity), it.size) for it in objects}
        self.left = sum(it.size for it in self._open)

    @property
    def bytes_read(self) -> int:
        """The bytes that this run read."""
        return self.done - self.resumed_bytes

    def missing(self, workers: int) -> list[dict[str, Any]]:
        """Return the tasks of the next round, as they are sealed; nothing if all is known."""
        tasks = self._tasks(workers)
        if not tasks and not self.is_second:
            self.is_second, self.first = True, {it: read for it, read in self.found.items() if self._doubts(read)}
            self.resumed -= self.first.keys()
            self._begin(self.first)
            tasks = self._tasks(workers)
        return [{"pieces": it, "is_second": self.is_second} for it in tasks]

    def _tasks(self, workers: int) -> list[list[Piece]]:
        for object, state in list(self._open.items()):
            state.failures = 0 if state.has_new or not state.cause else state.failures + 1
            if state.failures >= _ROUNDS:
                self._settle(Read(object, None, "unreadable", state.cause))
            state.has_new, state.cause = False, ""
        tasks: list[list[Piece]] = []
        small: list[Piece] = []
        size = 0
        rest = self.left
        for object, state in self._open.items():
            for start, stop in state.parts.missing() or [(0, 0)]:
                for piece in self._cut(object, start, stop, rest, workers):
                    length = piece.stop - piece.start
                    rest -= length
                    if length >= _SMALLEST:
                        tasks.append([piece])
                        continue
                    small.append(piece)
                    size += length
                    if len(small) >= min(_MANY, len(self._open) // (_SHARES * workers) + 1) or size >= _SMALLEST:
                        tasks.append(small)
                        small, size = [], 0
        return [*tasks, small] if small else tasks

    def _cut(self, object: Object, start: int, stop: int, rest: int, workers: int) -> Iterator[Piece]:
        group = self._outboards.group(object) if self._outboards is not None else None
        most = _LARGEST if group is None else min(_LARGEST, _PARTS * group)
        while True:
            share = rest // (_SHARES * max(1, workers))
            size = min(max(1 << max(0, share.bit_length() - 1), _SMALLEST), most)
            # At multiples of its length a piece is one node of the tree. A remainder before one is not worth a task.
            end = (start // size + 1) * size
            end = min(end + size if end - start < size // 2 else end, stop)
            yield Piece(object, start, end, group)
            rest -= end - start
            start = end
            if start >= stop:
                return

    def take(self, result: dict[str, Any], *, is_earlier: bool = False) -> None:
        """Take a result of pieces: late, twice, or of objects that are settled. `ValueError`: damaged.

        One that comes after the reading which it is of counts no more.
        """
        if result["is_second"] != self.is_second:
            return
        self.began, host = min(self.began, result["began"]), result["host"]
        for it in result["pieces"]:
            object = Object(*it["object"])
            state = self._open.get(object)
            if state is None:
                continue
            status, detail = it["status"], str(it["detail"])
            if is_earlier and status != "ok":
                continue
            if status in ("changed", "refused"):
                self._settle(Read(object, None, "changing" if status == "changed" else "unreadable", detail))
                continue
            self._absorb(object, state, Parts.from_bytes(bytes_of(it["parts"])), host, is_earlier)
            state.cause = detail or state.cause
            if object in self._open and status == "ok" and not state.left:
                read = Read(object, digest := state.parts.finish())
                if self._outboards is not None and not self._doubts(read):
                    self._outboards.take(object, digest, state.parts)
                self._settle(read)

    def _absorb(self, object: Object, state: _Open, parts: Parts, host: str, is_earlier: bool) -> None:
        try:
            new, _ = state.parts.absorb(parts)
        except Clash as clash:
            (start, stop), other = clash.here, clash.there
            hosts = [
                name for low, high, name in state.hosts if low < max(stop, other[1]) and high > min(start, other[0])
            ]
            who = " and ".join(dict.fromkeys([*hosts, host]))
            detail = f"{object.uri}: bytes {start}..{stop} have two values: {who} disagree; check their memory"
            self._settle(Read(object, None, "unreadable", detail))
            return
        state.has_new = state.has_new or new > 0
        if known := parts.parts():
            state.hosts.append((known[0][0], known[-1][1], host))
        self.done += new
        self.left -= new
        state.left -= new
        if is_earlier:
            self.resumed.add(object)
            self.resumed_bytes += new

    def _settle(self, read: Read) -> None:
        self.left -= self._open.pop(read.object).left
        self.found[read.object] = read
