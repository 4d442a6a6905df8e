"""Ranges of objects, verified by their outboards without reading the rest.

The pairs above a range are read first, and compared with the digest from the root down. They prove the value of each
group of the range. Then these groups are read and compared. So neither the store nor the outboard is trusted.
"""

import threading
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from typing import NamedTuple

from treewide._arguments import Bytes
from treewide._scale.objects import Object
from treewide._scale.outboards import named_group, place_of
from treewide._scale.reading import Changed, Retries, Source, cut, head, read
from treewide._treewide import Clash, DamageError, Parts, _expected_bytes, _outboard_places, _outboard_trusted, digest
from treewide.outboard import Damage

#: Groups whose pairs are read at once: 256 KiB of an outboard. A guess.
_WINDOW = 4096


class NoOutboard(ValueError):
    """An outboard that cannot be the one of the object."""


class _Group(NamedTuple):
    start: int
    stop: int
    value: bytes


class Verified:
    """An object with the digest that it must have, and the outboard between them."""

    def __init__(
        self,
        source: Source,
        object: Object,
        expected: Bytes | str,
        outboard: str | None = None,
        *,
        pairs: Source | None = None,
    ) -> None:
        """Look at the outboard, at its usual place if `outboard` is not named; `pairs` reads it, if `source` does not.

        `expected` is the digest that you trust, as bytes or hexadecimal digits. Raises `NoOutboard` if the outboard
        cannot be that of the object, `OSError` if it is not there. An object of one group needs none.
        """
        self.object, self.digest = object, _expected_bytes(expected)
        self._source, self._pairs = source, pairs or source
        name = place_of(object.uri, object.size, self.digest) if outboard is None else outboard
        self.group = named_group(name)
        #: The outboard as it is now; `None` if the object has one group.
        self.outboard: Object | None = None
        if object.size > self.group:
            found = head(self._pairs, name, Retries())
            wanted, _ = _outboard_places(object.size, self.group, 0, 0)
            if found.size != wanted:
                raise NoOutboard(
                    f"{name}: has {found.size} bytes, and the outboard of {object.size} bytes by groups of {self.group}"
                    f" has {wanted}: it is cut off, or of another object; make it again with sum --outboards"
                )
            self.outboard = found
        #: Bytes that were asked for, of the object and of the outboard.
        self.bytes_read = self.bytes_of_outboard = 0
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` up to `stop`, all of them verified; fewer, if the object ends before.

        Raises `DamageError` if one is not that of the digest, or the outboard is broken above it; `Changed` if it is
        another object now; `OSError` if it cannot be read.
        """
        data = bytearray()
        stop = min(stop, self.object.size)

        def keep(at: int, piece: memoryview) -> None:
            data.extend(piece[max(start - at, 0) : max(stop - at, 0)])

        for it in _joined(self._run(start, stop, keep)):
            raise DamageError(self.text(it))
        return bytes(data)

    def damage(self, start: int = 0, stop: int | None = None) -> Iterator[Damage]:
        """Return where bytes of a range are not verified: whole groups. It reads nothing else.

        Raises `Changed` and `OSError` as `read` does.
        """
        stop = self.object.size if stop is None else min(stop, self.object.size)
        return _joined(self._run(start, stop, lambda at, data: None))

    def text(self, damage: Damage) -> str:
        """Return what to say about damage."""
        place = f"{damage.start}..{damage.stop}"
        if damage.state == "bad":
            return f"{self.object.uri}: the bytes {place} are not those of the digest; restore them from a copy"
        outboard = self.outboard.uri if self.outboard else self.object.uri
        return (
            f"{outboard}: the outboard is broken above the bytes {place}, or does not belong to the digest "
            f"{self.digest.hex()}; make it again from data that you trust"
        )

    def _run(self, start: int, stop: int, keep: Callable[[int, memoryview], object]) -> Iterator[Damage]:
        if start < 0:
            raise ValueError(f"a range begins at byte 0 or later, and not at {start}")
        first = start // self.group * self.group
        windows = cut(first, stop, _WINDOW * self.group)
        with ThreadPoolExecutor(self._source.streams) as pool:
            for low, high in windows if self.object.size else [(0, 0)]:
                retries = Retries()
                groups, unknown = self._trusted(low, high, retries)
                found = [Damage(*it, "unknown") for it in unknown]
                # Neighbours that fall into the same piece are one request; a larger group is a job of its own.
                of = groupby(groups, key=lambda it: (it.start // self._source.piece, bisect(unknown, (it.start, 0))))
                jobs = [list(it) for _, it in of]
                # A few pieces at a time, in order, so that memory does not grow with the range.
                for at in range(0, len(jobs), self._source.streams):
                    some = jobs[at : at + self._source.streams]
                    for bad, place, data in pool.map(partial(self._job, retries), some):
                        found += [Damage(it.start, it.stop, "bad") for it in bad]
                        keep(place, memoryview(data))
                yield from sorted(found, key=lambda it: it.start)

    def _trusted(self, start: int, stop: int, retries: Retries) -> tuple[list[_Group], list[tuple[int, int]]]:
        """Return the groups of a range with the values that the outboard proves, and the ranges that it does not."""
        outboard = self.outboard
        if outboard is None:
            # All of it is one group, which has the digest itself.
            return [_Group(0, self.object.size, self.digest)], []
        _, places = _outboard_places(self.object.size, self.group, start, stop)
        self.bytes_of_outboard += sum(high - low for low, high in places)

        def asked(place: tuple[int, int]) -> tuple[int, bytes]:
            try:
                return place[0], bytes(read(self._pairs, outboard, *place, retries))
            except Changed as change:
                raise OSError(
                    f"{outboard.uri}: the outboard changed while it was read: {change}; try again"
                ) from change

        with ThreadPoolExecutor(self._pairs.streams) as pool:
            pairs = list(pool.map(asked, places))
        groups, unknown = _outboard_trusted(self.digest, self.object.size, self.group, start, stop, pairs)
        return [_Group(*it) for it in groups], unknown

    def _job(self, retries: Retries, groups: list[_Group]) -> tuple[list[_Group], int, bytearray]:
        """Read neighbouring groups. Returns the bad groups, where they begin, and the bytes."""
        first = groups[0].start
        data, bad = self._read(first, groups[-1].stop, retries), []
        for it in groups:
            own = memoryview(data)[it.start - first : it.stop - first]
            if not self._is_right(it, own):
                # A second time, as a bit may flip on the way.
                own[:] = self._read(it.start, it.stop, retries)
                bad += [] if self._is_right(it, own) else [it]
        return bad, first, data

    def _read(self, start: int, stop: int, retries: Retries) -> bytearray:
        with self._lock:
            self.bytes_read += stop - start
        ends = cut(start, stop, self._source.piece)
        return bytearray().join(read(self._source, self.object, *it, retries) for it in ends)

    def _is_right(self, group: _Group, data: memoryview) -> bool:
        if self.outboard is None:
            return digest(data) == self.digest
        check = Parts(self.object.size, object=self.object.identity)
        check.push(group.start, group.stop, group.value)
        try:
            check.hash(data, group.start)
        except Clash:
            return False
        # Nothing of it waits to be compared.
        return not check.unchecked()


def _joined(found: Iterable[Damage]) -> Iterator[Damage]:
    """Neighbours in the same state are one."""
    last: Damage | None = None
    for it in found:
        if last is not None and (last.stop, last.state) == (it.start, it.state):
            last = Damage(last.start, it.stop, it.state)
        else:
            if last is not None:
                yield last
            last = it
    if last is not None:
        yield last
