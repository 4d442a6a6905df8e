"""Coverage of a bucket by results of key ranges, and the ranges of the next round.

It never has a list of keys. For 10 to the 9 objects it has some 122,000 lists, each with its last key and a digest.
"""

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from treewide._scale.buckets.bucket_list import Range
from treewide._scale.buckets.list_files import ListFile
from treewide._scale.buckets.shards import BucketJob, KeysTask
from treewide._scale.found import Fact, Found, fact_of
from treewide._scale.outcome import Row
from treewide._scale.results import bytes_of

#: Ranges for each worker in a round, and places in a gap for which a search is worth its 20 requests: the gaps of a run
#: that is under way are many, and shared out as they are (`results/zen1-2vcpu/scale.md#share-of-linear`).
_SHARES, _WORTH = 64, 8
#: Where places are known, they cost no request: times this number.
_KNOWN = 2
#: Places that are looked for in one range, at most; and ranges in which they are at the same time. A guess: most of the
#: time each has one request under way.
_CUTS, _GAPS = 1000, 32
#: Rounds that bring nothing new before what is left is given up.
_ROUNDS = 3


class KeysCover:
    """Takes results until they cover all keys of a bucket."""

    def __init__(
        self,
        job: BucketJob,
        cuts: Callable[[str, str | None, int], list[str]],
        *,
        places: list[str] | None = None,
        told: Callable[[Row], object] = lambda row: None,
        removed: Callable[[str, str], Iterable[Row]] = lambda first, last: (),
    ) -> None:
        """Begin with nothing. `cuts` asks the store for places in a range; `places` are known, where equal shares end.

        `told` takes differences; `removed` reads those of a stretch of keys that are gone.
        """
        self.job, self._cuts, self._told, self._removed = job, cuts, told, removed
        self._places = places or []
        #: What no result covers, in order.
        self._gaps: list[tuple[str, str | None]] = [("", None)]
        #: Lists, by the last key of each. Most of the memory is here.
        self._lists: list[tuple[str, ListFile]] = []
        #: What an earlier run covered, and how its result is read. It counts once the range is listed again.
        self.earlier: dict[tuple[str, str | None], Callable[[], dict[str, Any] | None]] = {}
        self._is_new, self._is_refused, self._cause, self._rounds = True, False, "", 0
        # So that ranges next to each other, which are of one prefix, are not hashed together.
        self._chance = random.Random(0)
        #: What could not be done, and why.
        self.failures: list[str] = []
        #: Large objects to be shared out, with their old facts; and facts of large objects that need not be read.
        self.handed: list[tuple[Found, Fact | None]] = []
        self.large: list[Fact] = []
        self.counts = Counter[str]()
        #: Objects by the evidence that they are as recorded.
        self.evidence = Counter[str]()
        #: Objects that the old list says nothing of but their digests; the first whose digest may be that of rot.
        self.unknown = 0
        self.doubt: str | None = None
        self.bytes_read = self.resumed = self.ranges = 0

    def missing(self, workers: int) -> list[KeysTask]:
        """Return the tasks of the next round; nothing if all is covered, or given up."""
        self._rounds = 0 if self._is_new else self._rounds + 1
        if self._gaps and (self._rounds >= _ROUNDS or (self._is_refused and not self._is_new)):
            for after, until in self._gaps:
                end = "the last key" if until is None else repr(until)
                why = self._cause or "no worker returned a result"
                self.failures.append(f"{self.job.root}: the keys after {after!r} up to {end} are not done: {why}")
            return []
        self._is_new, self._is_refused, self._cause = False, False, ""
        tasks, gaps = [], [*self._gaps]
        for (after, until), read in [*self.earlier.items()]:
            if (found := read()) is not None and _fill(gaps, after, until):
                tasks.append(KeysTask(after, until, until, seen=found["seen"]))
            else:
                # It was listed by another task, or another run that ended removed its result.
                del self.earlier[after, until]
        count = _SHARES * workers // len(gaps) - 1 if gaps and workers > 1 else 0
        with ThreadPoolExecutor(_GAPS) as pool:
            shares = pool.map(lambda it: self._shares(it[0], it[1], count) if count > 0 else [], gaps)
        for (after, until), places in zip(gaps, shares, strict=True):
            for at, (low, high) in enumerate(pairwise([after, *places, until])):
                tasks.append(KeysTask(low or "", high, until, at == 0))
        self._chance.shuffle(tasks)
        self.ranges = len(tasks)
        return tasks

    def _shares(self, after: str, until: str | None, count: int) -> list[str]:
        end = None if until is None else bisect_left(self._places, until)
        known = self._places[bisect_right(self._places, after) : end]
        if len(known) < count and count >= _WORTH:
            # A bucket that has grown has most of its keys between few old ones.
            return self._cuts(after, until, min(count, _CUTS))
        step = max(1, len(known) // (_KNOWN * count + 1))
        return known[step::step]

    def take(self, result: dict[str, Any]) -> None:
        """Take a result: in any order, twice or late. What is covered already changes nothing."""
        if result["status"] != "ok":
            self._cause, self._is_refused = result["detail"], self._is_refused or result["status"] == "refused"
            return
        after, until, read = result["after"], result["until"], self.earlier.get((result["after"], result["until"]))
        found = read() if read is not None and "is_seen" in result else None
        if ("is_seen" in result and found is None) or not _fill(self._gaps, after, until):
            return
        if found is not None:
            self.resumed += sum(found["counts"].values())
            # This run did not read them: what the listing says is as it was then.
            result = found | {"unread": Counter(found["unread"]) + Counter(found["read"]), "read": {}, "bytes_read": 0}
        self._is_new = True
        self.earlier.pop((after, until), None)
        # What has no objects needs no line.
        self._lists += ((last, ListFile(it[0], bytes_of(it[1]), it[2])) for last, it in result["lists"] if it)
        self._count(result)

    def _count(self, result: dict[str, Any]) -> None:
        self.bytes_read += result["bytes_read"]
        self.unknown += result["unknown"]
        self.doubt = self.doubt or result["doubt"]
        self.handed += ((Found(*found), fact_of(old) if old else None) for found, old in result["large"])
        self.large += map(fact_of, result["kept"])
        # Entries of zero are left out.
        self.evidence += Counter({"read": sum(result["read"].values()), **result["unread"]})
        self.counts.update(result["counts"])
        for it in result["differences"]:
            self._told(it)
        for after, last in result["gone"]:
            for difference in self._removed(after, last):
                self._told(difference)

    def all_ranges(self) -> list[Range]:
        """Return which list has which keys. Raises `ValueError` that names what no result covers."""
        if self._gaps:
            after, until = self._gaps[0]
            raise ValueError(f"{self.job.root}: no result covers the keys after {after!r} up to {until!r}")
        # An end is the last key of a list, and no end of a task.
        known = sorted(self._lists)
        ends = [last for last, _ in known[:-1]]
        parts: list[ListFile | None] = [part for _, part in known]
        return [Range(*it) for it in zip(["", *ends], [*ends, None], parts or [None], strict=True)]


def _fill(gaps: list[tuple[str, str | None]], after: str, until: str | None) -> bool:
    """Take a range out of the gap that it is in. Returns whether there is one, and the range has keys."""
    at = bisect_right(gaps, after, key=lambda it: it[0]) - 1
    if at < 0 or (until is not None and until <= after):
        return False
    low, high = gaps[at]
    if high is not None and (until is None or until > high):
        return False
    gaps[at : at + 1] = [(low, after)] if low < after else []
    if until is not None and until != high:
        gaps.insert(at + (low < after), (until, high))
    return True
