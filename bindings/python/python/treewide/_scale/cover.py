"""Runs: rounds of tasks that any map does, until what no result covers is nothing.

cover = Cover(job)
while tasks := cover.missing(workers):
    for result in map(run, tasks):
        cover.take(result)
outcome = cover.end()
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from secrets import token_hex

from treewide._scale.buckets.bucket_command import BucketCovering, bucket_of
from treewide._scale.engines import Map, threads
from treewide._scale.job import Job
from treewide._scale.object_command import ObjectCovering
from treewide._scale.outcome import Outcome, Row
from treewide._scale.results import Damaged, seal, unseal
from treewide._scale.run import run
from treewide._scale.work import Work
from treewide._treewide import __version__

#: Rounds in a row without any result before the run ends with the error of the map.
_ROUNDS = 2
#: Seconds after which a task returns what it has: a twentieth of the time since the beginning, within these.
_SHARE, _SHORTEST, LONGEST = 20, 20.0, 300.0


class Cover:
    """Coverage so far. It starts no task and deals nothing again; only `missing` asks the store."""

    def __init__(self, job: Job, told: Callable[[Row], object] = lambda row: None) -> None:
        """Look at what the job names. `told` gets a row for each object that differs, or each that was named.

        Raises `ValueError` for a job that makes no sense, or a list that is damaged; `OSError`.
        """
        self.job, self._told = job, told
        self._covering = covering_of(job, told)
        #: What runs have in common that do the same: a run continues only such a one.
        self.key = self._covering.key
        self._began, self._round = time.monotonic(), 0

    def missing(self, workers: int, seconds: float | None = None) -> list[bytes]:
        """Return tasks that no result covers, of a size for that many workers; nothing if all is known.

        A task returns what it has after `seconds`: 20, and up to 300 in a long run.
        """
        seconds = seconds or min(max((time.monotonic() - self._began) / _SHARE, _SHORTEST), LONGEST)
        self._round += 1
        common = {"job": self.key, "run": self.job.run, "round": self._round, "seconds": seconds}
        common |= {"option": dict(self.job.option), "version": __version__, "here": self._covering.here}
        return [seal({**common, **it}) for it in self._covering.missing(max(1, workers))]

    def take(self, result: bytes) -> None:
        """Take a result: in any order, twice, late. Raises `Damaged` if it is that, or of another run."""
        found = unseal(result)
        if (found.get("job"), found.get("run")) != (self.key, self.job.run):
            raise Damaged("this is the result of another run")
        self._covering.take(found)

    def end(self) -> Outcome:
        """Judge, write the lists, and count. Raises `ValueError` if something is not covered, and writes nothing."""
        if tasks := self.missing(1):
            raise ValueError(f"{len(tasks)} tasks or more are not done, and nothing was written")
        return self._covering.end()

    def continues(self, work: Work) -> None:
        """Take what is in a folder: what earlier runs of the same job left, as far as it counts now; and the results
        of this run, round by round, as they were taken or would have been."""
        earlier: list[Callable[[], Row | None]] = []
        rounds: dict[int, list[Callable[[], Row | None]]] = {}
        for read in work.results():
            if (found := read()) is not None:
                (earlier if found["run"] != self.job.run else rounds.setdefault(found["round"], [])).append(read)
        if resumed := self._covering.earlier(earlier):
            self._told({"note": f"{resumed}: continuing it from {work.path}"})
        for number, reads in sorted(rounds.items()):
            # Of some rounds there is nothing. The next one has a number that no result has.
            self._round = number - 1
            self.missing(1)
            for read in reads:
                if (found := read()) is not None:
                    self._covering.take(found)

    def progress(self) -> tuple[int, int | None, str]:
        """Return what is done, what is left if that is known, and what to say of it."""
        return self._covering.progress()


def covering_of(job: Job, told: Callable[[Row], object]) -> BucketCovering | ObjectCovering:
    """Return what knows the objects of a job."""
    found = None if job.command == "sum" or job.list is None else bucket_of(job)
    is_bucket = job.recursive or found is not None
    return BucketCovering(job, told, found) if is_bucket else ObjectCovering(job, told)


def _results(map: Map, tasks: list[bytes], errors: list[Exception]) -> Iterator[bytes]:
    """Return results until the map raises."""
    try:
        yield from map(run, tasks)
    except Exception as error:
        errors.append(error)


def hash_all(
    job: Job | Cover,
    map: Map | None = None,
    *,
    workers: int | None = None,
    work: str | PathLike[str] | Work | None = None,
    told: Callable[[Row], object] = lambda row: None,
    shown: Callable[[Cover, int], object] = lambda cover, workers: None,
) -> Outcome:
    """Run a job to its end. `map(f, tasks)` applies a function to tasks, and returns results in any order.

    Without it, threads do it. `workers` says how many there are, for the size of tasks. If the map raises, what it had
    not done is in the next round. `work` is a folder that keeps results, for a run that is killed. `told` gets rows,
    `shown` is called after each result.

    Raises what `Cover` raises; `RuntimeError` with the error of the map after two rounds in a row without a result.
    """
    if map is None:
        with threads(workers) as (map, workers):
            return hash_all(job, map, workers=workers, work=work, told=told, shown=shown)
    # A run of its own, also of a job that was run before.
    cover = job if isinstance(job, Cover) else Cover(replace(job, run=token_hex(8)), told)
    folder = Work(work, cover.key) if isinstance(work, (str, PathLike)) else work
    if folder is not None:
        folder.forget_old(cover.job.run, told)
        cover.continues(folder)
    count, failed, is_kept = workers or 1, 0, True
    errors: list[Exception] = []
    while tasks := cover.missing(count):
        shown(cover, count)
        results = 0
        for result in _results(map, tasks, errors):
            try:
                cover.take(result)
            except Damaged as problem:
                errors.append(problem)
                continue
            results += 1
            if folder is not None and is_kept:
                try:
                    folder.keep(result)
                except OSError as problem:
                    is_kept = False
                    told({"note": f"a run that is killed would begin anew: {folder.path}: {problem}"})
            shown(cover, count)
        failed = 0 if results else failed + 1
        if failed == _ROUNDS:
            why = errors[-1] if errors else None
            raise RuntimeError(f"no task was done in {_ROUNDS} rounds: {why or 'the map returned no result'}") from why
    outcome = cover.end()
    if folder is not None and outcome.is_over:
        folder.end(told)
    return outcome
