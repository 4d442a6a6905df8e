"""The place where plan and results meet: what to do next, and what became of it.

It starts nothing, waits for nothing and reads no byte. An engine, or a simulation with a clock of its own, asks for
tasks and brings results. Nothing is lost: what was dealt and did not come back is dealt again, and what comes back
late is compared.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from treewide._scale.merge import Disagreement, Merge, Outcome, without
from treewide._scale.object_journal import Journal
from treewide._scale.objects import Object
from treewide._scale.outboards import Keeper, most_of_lease
from treewide._scale.plan import LARGEST, SMALLEST, Plan
from treewide._scale.tasks import Result, Task

__all__ = ["Driver"]

#: The seconds after which a worker returns what it has: a quarter of the time that is left, within these. The only
#: values that were tried: 1,000 workers are at 0.95 of linear then (results/zen4-2vcpu/scale.md#simulation).
_SHORTEST, _LONGEST = 1.0, 30.0
#: A lease that is not back after twice its time, and this, is dealt to others too. A guess: longer than a queue.
_GRACE = 30.0
#: A range is tried that often without any progress. A guess: machines that are lent for a while die often, and a task
#: that kills its workers must end.
_ATTEMPTS = 10


@dataclass
class _Worked:
    """Bytes that count, and the seconds that workers had for them."""

    bytes: int = 0
    seconds: float = 0.0


@dataclass
class _Dealt:
    task: Task
    at: float
    is_dealt_again: bool = False


class Driver:
    """Deals tasks and takes results until it is known what became of each object."""

    def __init__(
        self,
        objects: Iterable[Object],
        *,
        lease: int | str = "auto",
        smallest: int = SMALLEST,
        largest: int = LARGEST,
        journal: Journal | None = None,
        keeper: Keeper | None = None,
        grace: float = _GRACE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin, or continue with the results of `journal`. `keeper` takes the parts of objects, for outboards."""
        objects = list(dict.fromkeys(objects))
        self._clock, self._grace = clock, grace
        self._dealt: dict[int, _Dealt] = {}
        self._began: float | None = None
        self._worked = _Worked()
        #: Leases that workers lost, returned with an error, or did not return in time.
        self.lost = self.failed = self.late = 0
        self.requests = 0
        #: Objects that the journal had parts of.
        self.resumed_objects: set[Object] = set()
        self._merge = Merge(objects)
        if keeper is not None:
            self._merge.group, self._merge.hashed = keeper.group, keeper.take
            groups = [group for it in objects if (group := keeper.group(it)) is not None]
            # So that results stay small.
            largest = min([largest, *map(most_of_lease, groups)])
        self._plan = Plan([], lease=lease, smallest=smallest, largest=largest, wanted=self._merge.is_open)
        if journal is not None:
            self._replay(objects, journal)
        #: Bytes that the journal had.
        self.resumed = self._merge.done
        self._deal_missing()

    def _replay(self, objects: list[Object], journal: Journal) -> None:
        for entry in journal.replay(objects):
            if isinstance(entry, Task):
                self._merge.doubt(entry)
            else:
                try:
                    if self._merge.take(entry) or not entry.task.object.size:
                        self.resumed_objects.add(entry.task.object)
                except ValueError:
                    # Hashed for no outboard, and now one is wanted: it is hashed again.
                    journal.dropped += 1
        self._merge.record = journal.append

    def _deal_missing(self) -> None:
        for object in self._merge.awaited:
            # An empty one is looked at as well.
            for start, stop in self._merge.missing(object) or ([(0, 0)] if object.size == 0 else []):
                self._plan.add(object, start, stop)

    # ---- What engines ask ------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        """Whether it is known what became of each object."""
        return self._merge.is_done

    @property
    def outcomes(self) -> dict[Object, Outcome]:
        """The outcomes of the objects."""
        return self._merge.outcomes

    @property
    def disagreements(self) -> list[Disagreement]:
        """Ranges that hosts disagreed about, and who was wrong."""
        return self._merge.disagreements

    @property
    def done(self) -> int:
        """Bytes that are hashed."""
        return self._merge.done

    @property
    def left(self) -> int:
        """Bytes that are not hashed yet, of objects that are not given up."""
        return self._merge.left

    @property
    def dealt(self) -> int:
        """Tasks that are under way."""
        return len(self._dealt)

    def next(self, workers: int) -> Task | None:
        """Return a task for one of `workers` workers; `None` if there is nothing to do now.

        Ask again after a result, and from time to time: a task that is not back in time is dealt again.
        """
        now = self._clock()
        if self._began is None:
            self._began = now
        if not self._merge.thirds and not self._dealt:
            for object in self._merge.awaited:
                self._merge.ask_again(object)
        if self._merge.thirds:
            # Whole or not at all: so without a limit of time.
            return self._deal(replace(self._merge.thirds.pop(0), number=self._plan.number()), now)
        if not self._plan:
            self._deal_late(now)
        if not self._plan and not self._dealt:
            # No worker has the rest: one returned less than it said.
            self._deal_missing()
        task = self._plan.lease(workers, self._seconds(workers, now - self._began))
        return self._deal(task, now) if task else None

    def take(self, result: Result) -> None:
        """Take what a worker returned. It may come late, twice, or after its object is settled."""
        task = result.task
        dealt = self._dealt.pop(task.number, None)
        self.requests += result.requests
        counts: list[tuple[int, int]] = []
        try:
            counts = self._merge.take(result)
        except ValueError as error:
            result = replace(result, status="failed", detail=str(error))
        self.failed += result.status == "failed"
        if dealt is not None:
            self._worked.bytes += sum(stop - start for start, stop in counts)
            self._worked.seconds += self._clock() - dealt.at
        if self._merge.is_open(task.object) and dealt is not None and not dealt.is_dealt_again:
            gaps = without([(task.start, task.stop)], counts)
            is_stuck = result.status == "failed" and not counts
            self._again(task, gaps, result.detail, is_stuck=is_stuck)

    def lose(self, task: Task, reason: str) -> None:
        """Say that a worker died, or that its task cannot be found any more."""
        dealt = self._dealt.pop(task.number, None)
        self.lost += 1
        if dealt is not None and not dealt.is_dealt_again and self._merge.is_open(task.object):
            reason = f"its worker was lost: {reason}"
            self._again(task, [(task.start, task.stop)], reason, is_stuck=True)

    # ---- What is dealt again ---------------------------------------------------------------------

    def _deal(self, task: Task, now: float) -> Task:
        task = replace(task, group=self._merge.group(task.object))
        self._dealt[task.number] = _Dealt(task, now)
        return task

    def _again(self, task: Task, gaps: list[tuple[int, int]], detail: str, *, is_stuck: bool) -> None:
        object = task.object
        attempt = task.attempt + 1 if is_stuck else 0
        if attempt >= _ATTEMPTS:
            self._merge.settle(object, "unreadable", detail)
        elif task.avoid:
            if is_stuck:
                self._merge.thirds.append(replace(task, attempt=attempt))
        elif object.size == 0:
            self._plan.give_back(object, 0, 0, attempt)
        else:
            for start, stop in reversed(without(gaps, self._merge.disputed(object))):
                self._plan.give_back(object, start, stop, attempt)

    def _deal_late(self, now: float) -> None:
        """Deal what did not come back in time, so that no one waits for it."""
        for it in list(self._dealt.values()):
            task = it.task
            seconds = _LONGEST if task.seconds is None else task.seconds
            if not it.is_dealt_again and self._merge.is_open(task.object) and now - it.at > 2 * seconds + self._grace:
                it.is_dealt_again = True
                self.late += 1
                gaps = self._merge.missing(task.object, task.start, task.stop)
                self._again(task, gaps, "its workers did not answer", is_stuck=bool(task.avoid) or not task.object.size)

    def _seconds(self, workers: int, lasted: float) -> float:
        """Return after which time a worker should return what it has; the run lasts `lasted` seconds so far."""
        if not self._worked.bytes:
            return 2 * _SHORTEST
        # The speed of workers in their time, not of the run since the beginning: that is low as long as the
        # first leases are under way. The first that return may be the slowest, so no lease is longer than the run has
        # lasted.
        left = self._merge.left * self._worked.seconds / self._worked.bytes / max(1, workers)
        return min(max(left / 4, _SHORTEST), _LONGEST, max(lasted, 2 * _SHORTEST))
