"""The driver of a bucket: it deals key ranges, and knows for each of them which list has its objects.

It never has a key list. For 10 to the 9 objects it has some 100,000 ranges, each with two keys and a digest.
"""

import random
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

from treewide._scale.buckets.bucket_list import Bucket, Range
from treewide._scale.buckets.list_files import Fact, ListFile
from treewide._scale.buckets.shards import Cut, Difference, Handed, Job, Old, Recheck, Shard, ShardResult, judge
from treewide._scale.buckets.whole_objects import Read
from treewide._scale.object_driver import Driver
from treewide._scale.object_journal import Journal
from treewide._scale.objects import Object, evidence_of
from treewide._scale.tasks import Result
from treewide._scale.verdicts import KEPT

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
    """Where results are kept for a run that is resumed."""

    def replay(self) -> Iterator[tuple[str, ShardResult]]:
        """Return where each range begins, and what became of it."""

    def append(self, after: str, result: ShardResult) -> None:
        """Keep what became of a range."""

    def forget(self, after: str) -> None:
        """Say that a range is not any more as it was when it was done."""


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
    #: What an earlier run found in this range. It is listed again.
    earlier: ShardResult | None = None
    is_dealt_again: bool = False


@dataclass(slots=True, eq=False)
class _Done:
    """A key range that is done. Most of the memory is here."""

    after: str
    until: str | None
    part: ListFile | None


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
        is_there: Callable[[ListFile], bool] = lambda part: True,
        told: Callable[[Difference], object] = lambda difference: None,
        grace: float = _GRACE,
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin, or continue with the results of `journal`.

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
        #: Objects by the evidence that they are as recorded.
        self.evidence: dict[str, int] = {}
        #: Objects that the old list says nothing of but their digests.
        self.unknown = 0
        self.objects_read = self.bytes_read = self.requests = self.lost = self.failed = self.late = 0
        #: Ranges that an earlier run did, to be listed again.
        self._earlier: deque[tuple[_Span, ShardResult]] = deque()
        for after, result in journal.replay() if journal is not None else ():
            if result.part is None or is_there(result.part):
                self._earlier.append((_Span(after, result.reached), result))
        self.ranges += len(self._earlier)
        #: Objects that the journal had.
        self.resumed = sum(sum(result.counts.values()) for _, result in self._earlier)
        #: Large objects that are read a second time, as a bit may flip on the way.
        self._doubted: set[Object] = set()
        # Lists that are cut must be written again, so only unknown ranges are cut, or all if no list is written.
        is_leaf = old is not None and job.output is not None
        self._add([_Span(*it, is_leaf=is_leaf) for gap in self._gaps() for it in self._pieces(*gap)])

    # ---- What engines ask ------------------------------------------------------------------------

    @property
    def objects(self) -> int:
        """Objects about which something is known."""
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """Objects again: the rate of a run counts them."""
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
        """Return a task for one of `workers` workers; `None` if there is nothing to do now."""
        now = self._clock()
        if self._inner is not None:
            return self._inner.next(workers)
        if self._earlier:
            done, earlier = self._earlier.popleft()
            recheck = Recheck(self.job, next(self._numbers), done.after, done.until, earlier.seen)
            self._dealt[recheck.number] = _Dealt(done, now, False, earlier)
            return recheck
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
        if dealt.earlier is not None:
            self._take_recheck(dealt, result)
        elif dealt.is_cut:
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
        if self._inner is not None and not isinstance(task, (Shard, Cut, Recheck)):
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
        gaps: list[tuple[str, str | None]] = []
        at: str | None = ""
        for span, _ in sorted(self._earlier, key=lambda it: it[0].after):
            if at is not None and span.after > at:
                gaps.append((at, span.after))
            at = span.until
        if at is not None:
            gaps.append((at, None))
        return gaps

    def _pieces(self, after: str, until: str | None) -> Iterator[tuple[str, str | None]]:
        """Return a range in pieces of about as many objects as a task takes. The last run knows how many there are."""
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

    def _take_recheck(self, dealt: _Dealt, result: ShardResult) -> None:
        span, earlier = dealt.span, dealt.earlier
        assert earlier is not None
        self._settle(span)
        if result.status == "ok" and result.seen == earlier.seen:
            # This run did not read them: what the listing says is as it was then.
            for found in earlier.differences:
                self._told(found)
            by = "metadata" if "://" not in self.job.root else "attested"
            self._tally(self.evidence, by, earlier.objects_read)
            self._count(span.after, replace(earlier, objects_read=0, bytes_read=0, differences=[]))
            return
        if self._journal is not None:
            self._journal.forget(span.after)
        self._add([_Span(span.after, span.until)])

    @staticmethod
    def _tally(counts: dict[str, int], word: str, number: int) -> None:
        if number:
            counts[word] = counts.get(word, 0) + number

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
        self.unknown += result.unknown
        self._handed += result.large
        self._tally(self.evidence, "read", result.objects_read)
        for word, number in result.unread.items():
            self._tally(self.evidence, word, number)
        for verdict, number in result.counts.items():
            self._tally(self.counts, verdict, number)
        for it in result.differences:
            self._told(it)

    # ---- Large objects ---------------------------------------------------------------------------

    def _begin_large(self) -> None:
        wanted = self._wanted = {it.found.object(self.job.root): it for it in self._handed if not it.kept}
        for it in self._handed:
            if it.kept and it.old is not None:
                self.large.append(it.old._replace(found=it.found))
        if self.failures:
            # Nothing is written, so there is nothing to wait for; the next run has the rest.
            wanted = {}
        refused = {object: it for object, it in wanted.items() if not object.is_pinned and not self.job.unpinned}
        for object, it in refused.items():
            text = "the store says neither ETag nor version; read it with --unpinned if no program writes to it"
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
        again: list[Object] = []
        for object, outcome in self._inner.outcomes.items():
            if object in self._settled:
                continue
            handed = self._wanted[object]
            verdict = {"changed": "changing", "unreadable": "unreadable"}.get(outcome.status, "")
            read = Read(object, outcome.digest, verdict, outcome.detail)
            is_read = object not in self._inner.resumed_objects
            self.bytes_read += object.size if outcome.digest is not None and is_read else 0
            if judge(self.job, handed.found, handed.old, read)[0] in KEPT and object not in self._doubted:
                self._doubted.add(object)
                again.append(object)
                continue
            self._settled.add(object)
            if outcome.digest is not None:
                self.objects_read += is_read
                self._tally(self.evidence, "read" if is_read else evidence_of(object.etag, object.version), 1)
            self._judge_large(handed, read)
        if again:
            self._inner = Driver(again, grace=self._grace, clock=self._clock)
            return
        self.large.sort(key=lambda it: it.key)

    def _judge_large(self, handed: Handed, read: Read) -> None:
        verdict, detail, fact = judge(self.job, handed.found, handed.old, read)
        self._tally(self.counts, verdict, 1)
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
