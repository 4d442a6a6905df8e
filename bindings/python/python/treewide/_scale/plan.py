"""Which bytes to hash next: leases that shrink towards the end.

A lease is a power of two of bytes, at most half of each worker's share of the rest. So there are few leases, and
the last ones end at about the same time. Leases end at multiples of their length: then a lease is one node of the
tree.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from typing import NamedTuple

from treewide._arguments import size_of
from treewide._scale.objects import Object
from treewide._scale.tasks import Task

__all__ = ["LARGEST", "SMALLEST", "Plan"]

#: Below this, requests and messages would take more time than bytes. A guess: 64 MiB are half a second of 1 Gb/s.
SMALLEST = 64 << 20
#: Above this size, too much is read again when a worker dies. A guess.
LARGEST = 16 << 30


class _Gap(NamedTuple):
    object: Object
    start: int
    stop: int
    attempt: int


class Plan:
    """Deals leases of objects. What was not finished is given back, and dealt first."""

    def __init__(
        self,
        objects: Iterable[Object],
        *,
        lease: int | str = "auto",
        smallest: int = SMALLEST,
        largest: int = LARGEST,
        wanted: Callable[[Object], bool] = lambda object: True,
    ) -> None:
        """Plan to hash `objects`, with leases of the size `lease` (`"64M"`), or of `smallest` to `largest` bytes.

        `wanted` says whether an object should be dealt at all, when it is its turn.
        """
        sizes = (smallest, largest) if lease == "auto" else (size_of(lease),) * 2
        if any(it < 1024 or it & (it - 1) for it in sizes):
            raise ValueError(f"the size of a lease is a power of two, at least 1K, and not {min(sizes)}")
        self._smallest, self._largest = sizes
        self._wanted = wanted
        self._numbers = count()
        self._gaps: deque[_Gap] = deque()
        #: Bytes that are not dealt.
        self.rest = 0
        for object in objects:
            self.add(object, 0, object.size)

    def __bool__(self) -> bool:
        """Whether there is something to deal."""
        while self._gaps and not self._wanted(self._gaps[0].object):
            gap = self._gaps.popleft()
            self.rest -= gap.stop - gap.start
        return bool(self._gaps)

    def add(self, object: Object, start: int, stop: int) -> None:
        """Deal this range too, after all others."""
        self._gaps.append(_Gap(object, start, stop, 0))
        self.rest += stop - start

    def give_back(self, object: Object, start: int, stop: int, attempt: int = 0) -> None:
        """Deal this range again, before all others."""
        self._gaps.appendleft(_Gap(object, start, stop, attempt))
        self.rest += stop - start

    def number(self) -> int:
        """Return a number for a task."""
        return next(self._numbers)

    def lease(self, workers: int, seconds: float | None = None) -> Task | None:
        """Return the next lease; `None` if all is dealt."""
        if not self:
            return None
        gap = self._gaps.popleft()
        size = self._size(workers)
        stop = (gap.start // size + 1) * size
        # A remainder in front of the next multiple is not worth a lease.
        if stop - gap.start < size // 2:
            stop += size
        stop = min(stop, gap.stop)
        if stop < gap.stop:
            self._gaps.appendleft(gap._replace(start=stop))
        self.rest -= stop - gap.start
        return Task(gap.object, gap.start, stop, self.number(), seconds, gap.attempt)

    def _size(self, workers: int) -> int:
        # Half, as leases also end by the clock. With a quarter there are 1.4 to 1.6 times as many
        # (`results/zen4-2vcpu/scale.md#simulation`).
        half = self.rest // (2 * max(1, workers))
        return min(max(1 << max(0, half.bit_length() - 1), self._smallest), self._largest)
