"""The driver of a bucket: it deals key ranges, and knows for each of them which list has its objects.

It never has a key list. For 10 to the 9 objects it has some 100,000 ranges, each with two keys and a digest.
"""

import random
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from treewide.scale.buckets.lanes import Read
from treewide.scale.buckets.parts import Bucket, Fact, Part, Range
from treewide.scale.buckets.shards import Cut, Difference, Handed, Job, Old, Shard, ShardResult, judge
from treewide.scale.driver import Driver
from treewide.scale.journal import Journal
from treewide.scale.objects import Object
from treewide.scale.tasks import Result

__all__ = ["BucketDriver", "Records"]

#: Seconds after which a worker returns what it has. A guess: 10,000 small objects take about ten.
_SECONDS = 30.0
#: A range that is not back after twice its time, and this, is dealt to others too.
_GRACE = 60.0
#: A range is tried that often without any progress.
_ATTEMPTS = 10
#: If there are more ranges than this, small ones are joined. A guess: a thousand requests cost nothing.
_MANY = 1000
#: The most pieces of one cut. A guess.
_PIECES = 16


class Records(Protocol):
    """Where results are kept for a run that goes on."""

    def replay(self) -> Iterator[tuple[str, ShardResult]]:
        """Return where each range begins, and what became of it."""

    def append(self, after: str, result: ShardResult) -> None:
        """Keep what became of a range."""


@dataclass(slots=True, eq=False)
class _Span:
    """A key range that is not done."""

    after: str
    until: str | None
    attempt: int = 0
    #: Whether it cannot, or need not, be cut.
    is_leaf: bool = False
    is_settled: bool = False


@dataclass(slots=True, eq=False)
class _Dealt:
    span: _Span
    at: float
    is_cut: bool
    is_dealt_again: bool = False


@dataclass(slots=True, eq=False)
class _Done:
    """A key range that is done. Most of the memory is here."""

    after: str
    until: str | None
    part: Part | None


class BucketDriver:
    """Deals key ranges, then ranges of large objects, until it is known what became of all of them."""

    def __init__(
        self,
        job: Job,
        *,
        old: Bucket | None = None,
        old_large: Iterable[Fact] = (),
        journal: Records | None = None,
        large_journal: Callable[[], Journal] | None = None,
        is_there: Callable[[Part], bool] = lambda part: True,
        told: Callable[[Difference], object] = lambda difference: None,
        grace: float = _GRACE,
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin, or go on from what `journal` has.

        `old` is what the last run wrote, and `old_large` what is in its list of large objects. `told` is called with
        each difference, once, and again for those of the journal. A list of the journal counts if it `is_there`.
        """
        self.job, self._told, self._clock, self._grace, self._seconds = job, told, clock, grace, seconds
        self._old, self._journal, self._large_journal = old, journal, large_journal
        self._old_large = sorted(old_large, key=lambda it: it.key)
        self._old_large_keys = [it.key for it in self._old_large]
        self._old_ranges = old.ranges if old is not None else []
        self._afters = [it.after for it in self._old_ranges]
        # Lists that stay as they are need not be written, and their list keeps its digest. So they are joined only if
        # there are many small ones.
        many = len(self._old_ranges)
        self._joins = old is not None and many > _MANY and old.objects < many * job.limit // 4
        self._numbers = count()
        # So that ranges next to each other, which are of one prefix, are not dealt together.
        self._chance = random.Random(0)
        self._open: deque[_Span] = deque()
        #: Key ranges that are not done, whether they are dealt or not.
        self.ranges = 0
        self._dealt: dict[int, _Dealt] = {}
        self._done: list[_Done] = []
        self._inner: Driver | None = None
        self._settled: set[Object] = set()
        self._wanted: dict[Object, Handed] = {}
        self._handed: list[Handed] = []
        #: Facts of the large objects, when all is done.
        self.large: list[Fact] = []
        #: Ranges that could not be listed, and why.
        self.failures: list[str] = []
        self.counts: dict[str, int] = {}
        self.objects_read = self.bytes_read = self.requests = self.lost = self.failed = self.late = 0
        for after, result in journal.replay() if journal is not None else ():
            if result.part is None or is_there(result.part):
                self.requests += result.requests
                self._count(after, result)
        #: Objects that the journal had.
        self.resumed = self.objects
        # Parts that are cut must be written again, so only what is not known is cut, or what nobody writes.
        is_leaf = old is not None and job.output is not None
        self._add([_Span(*it, is_leaf=is_leaf) for gap in self._gaps() for it in self._pieces(*gap)])

    # ---- What engines ask ------------------------------------------------------------------------

    @property
    def objects(self) -> int:
        """Objects about which something is known."""
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """The same: what a rate is of."""
        return self.objects

    @property
    def inner(self) -> Driver | None:
        """The driver of the large objects, when it is their turn."""
        return self._inner

    @property
    def is_done(self) -> bool:
        """Whether it is known what became of everything."""
        if self._inner is None and not self.ranges:
            self._begin_large()
        return self._inner is not None and self._inner.is_done

    def next(self, workers: int) -> Any:
        """Return a task for one of so many workers; `None` if there is nothing to do now."""
        now = self._clock()
        if self._inner is not None:
            return self._inner.next(workers)
        while self._open and self._open[0].is_settled:
            self._open.popleft()
        if not self._open:
            self._deal_late(now)
            if not self._open:
                return None
        span = self._cuttable(workers)
        if span is not None:
            pieces = min(max(2 * workers - self.ranges, 1), _PIECES - 1)
            self._open.remove(span)
            return self._deal(Cut(self.job, next(self._numbers), span.after, span.until, pieces), span, now)
        span = self._open.popleft()
        old, large = self._known(span)
        task = Shard(self.job, next(self._numbers), span.after, span.until, old, large, self._seconds, span.attempt)
        return self._deal(task, span, now)

    def take(self, result: Any) -> None:
        """Take what a worker returned. It may come late or twice."""
        if isinstance(result, Result):
            if self._inner is not None:
                self._inner.take(result)
                self._settle_large()
            return
        dealt = self._dealt.pop(result.number, None)
        self.requests += result.requests
        if dealt is None or dealt.span.is_settled:
            return
        span = dealt.span
        self.failed += result.status == "failed"
        if dealt.is_cut:
            self._take_cuts(span, result)
        elif result.status == "failed":
            self._again(dealt, result.detail)
        else:
            reached: str | None = result.reached
            if not _is_within(span, reached):
                self._again(dealt, f"a worker went from {span.after!r} to {reached!r}, and not up to {span.until!r}")
                return
            self._settle(span)
            if self._journal is not None:
                self._journal.append(span.after, result)
            self._count(span.after, result)
            if reached != span.until and reached is not None:
                self._add([_Span(reached, span.until)])

    def lose(self, task: Any, reason: str) -> None:
        """Say that a worker died, or that its task cannot be found any more."""
        if self._inner is not None and not isinstance(task, (Shard, Cut)):
            self._inner.lose(task, reason)
            self._settle_large()
            return
        dealt = self._dealt.pop(task.number, None)
        self.lost += 1
        if dealt is not None and not dealt.span.is_settled:
            self._again(dealt, f"its worker was lost: {reason}")

    # ---- What is known at the end ----------------------------------------------------------------

    def all_ranges(self) -> list[Range]:
        """Return what is in which list, from the first key to the last."""
        self._done.sort(key=lambda it: it.after)
        ranges: list[Range] = []
        for it in self._done:
            end = ranges[-1].until if ranges else ""
            if it.after != end:
                raise AssertionError(f"the range from {end!r} to {it.after!r} was lost, or done twice")
            if ranges and (ranges[-1].part is None or it.part is None):
                # What has no objects needs no line.
                before = ranges.pop()
                ranges.append(Range(before.after, it.until, before.part or it.part))
            else:
                ranges.append(Range(it.after, it.until, it.part))
        if not ranges or ranges[-1].until is not None:
            raise AssertionError("the last range was lost")
        return ranges

    # ---- Ranges ----------------------------------------------------------------------------------

    def _gaps(self) -> list[tuple[str, str | None]]:
        """Return what the journal does not have."""
        self._done.sort(key=lambda it: it.after)
        gaps: list[tuple[str, str | None]] = []
        at: str | None = ""
        for it in self._done:
            if at is not None and it.after > at:
                gaps.append((at, it.after))
            at = it.until
        if at is not None:
            gaps.append((at, None))
        return gaps

    def _pieces(self, after: str, until: str | None) -> Iterator[tuple[str, str | None]]:
        """Return a range in pieces of about as many objects as a task takes, by what the last run found."""
        at, objects = after, 0
        for index in range(self._index(after), len(self._old_ranges) - 1):
            it, following = self._old_ranges[index : index + 2]
            if it.until is None or (until is not None and it.until >= until):
                break
            objects += _objects(it)
            if not self._joins or objects + _objects(following) > self.job.limit:
                yield at, it.until
                at, objects = it.until, 0
        yield at, until

    def _index(self, after: str) -> int:
        """Return which of the old ranges has the keys right after a key."""
        return max(bisect_right(self._afters, after) - 1, 0)

    def _known(self, span: _Span) -> tuple[tuple[Old, ...], tuple[Fact, ...]]:
        """Return the lists that have keys of a range, and its large objects."""
        old = []
        for index in range(self._index(span.after), len(self._old_ranges)):
            it = self._old_ranges[index]
            if span.until is not None and it.after >= span.until:
                break
            if it.part is not None:
                old.append(Old(it.part, it.after, it.until))
        keys = self._old_large_keys
        start = bisect_right(keys, span.after)
        stop = len(keys) if span.until is None else bisect_right(keys, span.until)
        return tuple(old), tuple(self._old_large[start:stop])

    def _add(self, spans: list[_Span]) -> None:
        self._chance.shuffle(spans)
        self.ranges += len(spans)
        self._open += spans

    def _settle(self, span: _Span) -> None:
        span.is_settled = True
        self.ranges -= 1

    def _cuttable(self, workers: int) -> _Span | None:
        """Return a range that should be cut, because there are fewer ranges than workers could do with."""
        if workers < 2 or self.ranges >= 2 * workers:
            return None
        return next((it for it in self._open if not it.is_leaf and not it.is_settled), None)

    def _take_cuts(self, span: _Span, result: ShardResult) -> None:
        places = [it for it in result.cuts if it > span.after and (span.until is None or it < span.until)]
        if not places:
            # It has one page at most; or what is wrong with it, listing it will show.
            span.is_leaf = True
            self._open.appendleft(span)
            return
        self._settle(span)
        starts = [span.after, *sorted(set(places))]
        self._add([_Span(*it) for it in zip(starts, [*starts[1:], span.until], strict=True)])

    def _deal(self, task: Shard | Cut, span: _Span, now: float) -> Shard | Cut:
        self._dealt[task.number] = _Dealt(span, now, isinstance(task, Cut))
        return task

    def _again(self, dealt: _Dealt, detail: str) -> None:
        if dealt.is_dealt_again:
            return
        span = dealt.span
        span.attempt += 1
        span.is_leaf = span.is_leaf or dealt.is_cut
        if span.attempt < _ATTEMPTS:
            self._open.append(span)
            return
        self._settle(span)
        end = "the last key" if span.until is None else repr(span.until)
        self.failures.append(f"{self.job.root}: the keys after {span.after!r} up to {end} are not done: {detail}")

    def _deal_late(self, now: float) -> None:
        for it in self._dealt.values():
            if not it.is_dealt_again and not it.span.is_settled and now - it.at > 2 * self._seconds + self._grace:
                it.is_dealt_again = True
                self.late += 1
                it.span.attempt += 1
                it.span.is_leaf = True
                self._open.append(it.span)

    def _count(self, after: str, result: ShardResult) -> None:
        self._done.append(_Done(after, result.reached, result.part))
        self.objects_read += result.objects_read
        self.bytes_read += result.bytes_read
        self._handed += result.large
        for verdict, number in result.counts.items():
            self.counts[verdict] = self.counts.get(verdict, 0) + number
        for it in result.differences:
            self._told(it)

    # ---- Large objects ---------------------------------------------------------------------------

    def _begin_large(self) -> None:
        wanted = self._wanted = {it.found.object(self.job.root): it for it in self._handed if not it.kept}
        for it in self._handed:
            if it.kept and it.old is not None:
                self.large.append(it.old._replace(found=it.found))
        if self.failures:
            # Nothing is written, so that nobody waits for it; the next run has the rest.
            wanted = {}
        refused = {object: it for object, it in wanted.items() if not object.is_pinned and not self.job.unpinned}
        for object, it in refused.items():
            text = "the store says neither ETag nor version; read it with --unpinned if nobody writes to it"
            self._judge_large(it, Read(object, None, "unreadable", text))
        objects = [it for it in wanted if it not in refused]
        make = self._large_journal
        self._inner = Driver(
            objects,
            journal=make() if make is not None and objects else None,
            grace=self._grace,
            clock=self._clock,
        )
        self._settle_large()

    def _settle_large(self) -> None:
        assert self._inner is not None
        if not self._inner.is_done:
            return
        for object, outcome in self._inner.outcomes.items():
            if object not in self._settled:
                self._settled.add(object)
                verdict = {"changed": "changing", "unreadable": "unreadable"}.get(outcome.status, "")
                if outcome.digest is not None:
                    self.objects_read += 1
                    self.bytes_read += object.size
                self._judge_large(self._wanted[object], Read(object, outcome.digest, verdict, outcome.detail))
        self.large.sort(key=lambda it: it.key)

    def _judge_large(self, handed: Handed, read: Read) -> None:
        verdict, detail, fact = judge(handed.found, handed.old, read, self.job.lists is None)
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        if fact is not None:
            self.large.append(fact)
        if verdict not in ("same", "hashed"):
            expected = handed.old.digest if handed.old else None
            self._told(Difference(verdict, handed.found.key, detail, expected, read.digest))


def _objects(range: Range) -> int:
    return range.part.objects if range.part is not None else 0


def _is_within(span: _Span, reached: str | None) -> bool:
    if reached is None:
        return span.until is None
    return reached > span.after and (span.until is None or reached <= span.until)
