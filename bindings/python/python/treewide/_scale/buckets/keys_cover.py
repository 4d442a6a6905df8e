"""Coverage of a bucket by results of key ranges, and the ranges of the next round.

It never has a list of keys. For 10 to the 9 objects it has some 122,000 lists, each with its last key and a digest.
"""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from treewide._scale.buckets.bucket_list import Range
from treewide._scale.buckets.list_files import ListFile
from treewide._scale.buckets.shards import BucketJob, Difference, Handed
from treewide._scale.results import bytes_of
from treewide._scale.verdicts import tally

#: Ranges for each worker in a round. With 16, rounds are up to 0.05 further from linear. With more than 32, the search
#: for places takes longer than it saves (`results/zen3-2vcpu/scale.md#share-of-linear`).
_SHARES = 32
#: Where places are known, they cost no request: times this number.
_KNOWN = 2
#: Places that are looked for in one range, at most; and ranges in which they are at the same time. A guess: most of the
#: time each has one request under way.
_CUTS, _GAPS = 1000, 32
#: Rounds that bring nothing new before what is left is given up.
_ROUNDS = 3


@dataclass(frozen=True)
class KeysTask:
    """A key range `(after, until]`, which continues to the end of its last group, but not past `stop`."""

    after: str
    until: str | None
    stop: str | None
    #: Whether a group begins there. Otherwise the first one that does is looked for.
    exact: bool = True
    #: What an earlier run saw there.
    seen: str | None = None


@dataclass(slots=True)
class _Span:
    """A key range that is covered. Most of the memory is here."""

    after: str
    until: str | None
    lists: list[tuple[str, ListFile | None]] = field(default_factory=list)


class KeysCover:
    """Takes results until they cover all keys of a bucket."""

    def __init__(
        self,
        job: BucketJob,
        cuts: Callable[[str, str | None, int], list[str]],
        *,
        places: list[str] | None = None,
        told: Callable[[Difference], object] = lambda difference: None,
        removed: Callable[[str, str], Iterable[Difference]] = lambda first, last: (),
    ) -> None:
        """Begin with nothing. `cuts` asks the store for places in a range; `places` are known, where equal shares end.

        `told` takes differences; `removed` reads those of a stretch of keys that are gone.
        """
        self.job, self._cuts, self._told, self._removed = job, cuts, told, removed
        self._places = places or []
        self._spans: list[_Span] = []
        #: What an earlier run covered, and how its result is read. It counts once the range is listed again.
        self.earlier: dict[tuple[str, str | None], Callable[[], dict[str, Any] | None]] = {}
        self._is_new, self._is_refused, self._cause, self._rounds = True, False, "", 0
        # So that ranges next to each other, which are of one prefix, are not hashed together.
        self._chance = random.Random(0)
        #: What could not be done, and why.
        self.failures: list[str] = []
        self.large: list[Handed] = []
        self.counts: dict[str, int] = {}
        #: Objects by the evidence that they are as recorded.
        self.evidence: dict[str, int] = {}
        #: Objects that the old list says nothing of but their digests; the first whose digest may be that of rot.
        self.unknown = 0
        self.doubt: str | None = None
        self.objects_read = self.bytes_read = self.requests = self.resumed = self.ranges = 0

    def missing(self, workers: int) -> list[KeysTask]:
        """Return the tasks of the next round; nothing if all is covered, or given up."""
        self._rounds = 0 if self._is_new else self._rounds + 1
        gaps = self._gaps()
        if gaps and (self._rounds >= _ROUNDS or (self._is_refused and not self._is_new)):
            for after, until in gaps:
                end = "the last key" if until is None else repr(until)
                why = self._cause or "no worker returned a result"
                self.failures.append(f"{self.job.root}: the keys after {after!r} up to {end} are not done: {why}")
            return []
        self._is_new, self._is_refused, self._cause = False, False, ""
        tasks = []
        for (after, until), read in [*self.earlier.items()]:
            found = read() if self._place(after, until) is not None else None
            if found is not None:
                tasks.append(KeysTask(after, until, until, seen=found["seen"]))
            else:
                # It was listed by another task, or another run that ended removed its result.
                del self.earlier[after, until]
        gaps = self._gaps([(it.after, it.until) for it in tasks])
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
        if len(known) < count:
            # A bucket that has grown has most of its keys between few old ones.
            return self._cuts(after, until, min(count, _CUTS))
        step = max(1, len(known) // (_KNOWN * count + 1))
        return known[step::step]

    def take(self, result: dict[str, Any]) -> None:
        """Take a result: in any order, twice or late. What is covered already changes nothing."""
        self.requests += result.get("requests", 0)
        if result["status"] != "ok":
            self._cause, self._is_refused = result["detail"], self._is_refused or result["status"] == "refused"
            return
        after, until, is_seen = result["after"], result["until"], result.get("is_seen", False)
        if (at := self._place(after, until)) is None:
            return
        if is_seen:
            found = self.earlier[after, until]() if (after, until) in self.earlier else None
            if found is None:
                return
            self.resumed += sum(found["counts"].values())
            # This run did not read them: what the listing says is as it was then.
            tally(found["unread"], found["read"])
            result = found | {"read": {}, "bytes_read": 0}
        self._is_new = True
        self.earlier.pop((after, until), None)
        lists = [(last, _part_of(part)) for last, part in result["lists"]]
        self._spans.insert(at, _Span(after, until, lists))
        self._count(result)

    def _place(self, after: str, until: str | None) -> int | None:
        """Return the place of a range among the covered ones; `None` if it has no keys, or they have some of them."""
        if until is not None and until <= after:
            return None
        at = bisect_left(self._spans, after, key=lambda it: it.after)
        before = self._spans[at - 1] if at else None
        behind = self._spans[at] if at < len(self._spans) else None
        is_free = before is None or (before.until is not None and before.until <= after)
        return at if is_free and (behind is None or (until is not None and until <= behind.after)) else None

    def _gaps(self, also: list[tuple[str, str | None]] | None = None) -> list[tuple[str, str | None]]:
        """Return what nothing covers."""
        gaps: list[tuple[str, str | None]] = []
        at: str | None = ""
        for after, until in sorted(
            [*((it.after, it.until) for it in self._spans), *(also or [])], key=lambda it: it[0]
        ):
            if at is not None and after > at:
                gaps.append((at, after))
            at = None if at is None or until is None else max(at, until)
        return [*gaps, (at, None)] if at is not None else gaps

    def _count(self, result: dict[str, Any]) -> None:
        read = sum(result["read"].values())
        self.objects_read += read
        self.bytes_read += result["bytes_read"]
        self.unknown += result["unknown"]
        self.doubt = self.doubt or result["doubt"]
        self.large += map(Handed.of, result["large"])
        tally(self.evidence, {"read": read, **result["unread"]})
        tally(self.counts, result["counts"])
        for it in result["differences"]:
            self._told(Difference(*it[:3], *(None if digest is None else bytes_of(digest) for digest in it[3:])))
        try:
            for after, last in result["gone"]:
                for difference in self._removed(after, last):
                    self._told(difference)
        except ValueError as why:
            # The result is taken already: what it lacks ends the run.
            raise OSError(str(why)) from why

    def all_ranges(self) -> list[Range]:
        """Return which list has which keys. Raises `ValueError` that names what no result covers."""
        if gaps := self._gaps():
            raise ValueError(f"{self.job.root}: no result covers the keys after {gaps[0][0]!r} up to {gaps[0][1]!r}")
        # What has no objects needs no line. An end is the last key of a list, and no end of a task.
        known = [it for span in self._spans for it in span.lists if it[1] is not None]
        ends = [last for last, _ in known[:-1]]
        parts = [part for _, part in known] or [None]
        return [Range(*it) for it in zip(["", *ends], [*ends, None], parts, strict=True)]


def _part_of(fields: Any) -> ListFile | None:
    return ListFile(fields[0], bytes_of(fields[1]), *fields[2:]) if fields else None
