"""Executors of `concurrent.futures`: threads and processes here, or those of anybody else."""

import os
import threading
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from multiprocessing import get_context, parent_process

from treewide._scale.reading import Source
from treewide._scale.tasks import Result, Task, run

__all__ = ["Futures", "processes", "threads"]


class Futures:
    """Runs tasks by an executor. One that broke, because a process died, is made again."""

    def __init__(
        self,
        source: Source,
        make: Callable[[], Executor],
        workers: int,
        *,
        work: Callable[[Task, Source], Result] = run,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        """Run tasks with the executor that `make` makes, `workers` of them at a time. `end` is called at the end."""
        self._end = end
        self._source, self._make, self._workers, self._work = source, make, workers, work
        self._executor = make()

    def workers(self) -> int:
        """Return how many tasks run at the same time."""
        return self._workers

    def slots(self) -> int:
        """Return the same: what a task takes to start is nothing."""
        return self._workers

    def submit(self, task: Task) -> "Future[Result]":
        """Start a task."""
        try:
            return self._executor.submit(self._work, task, self._source)
        except RuntimeError:
            self._executor.shutdown(wait=False)
            self._executor = self._make()
            return self._executor.submit(self._work, task, self._source)

    def wait(self, handles: Collection["Future[Result]"], seconds: float) -> Collection["Future[Result]"]:
        """Wait until one has ended."""
        return wait(handles, seconds, FIRST_COMPLETED).done

    def result(self, handle: "Future[Result]") -> Result:
        """Return what a task returned."""
        return handle.result()

    def close(self) -> None:
        """Start nothing more. A task that still runs ends by its own time."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._end()


def threads(source: Source, workers: int | None = None) -> Futures:
    """Run tasks on threads of this process: hashing lets go of the global lock."""
    count = workers or os.cpu_count() or 1
    return Futures(source, lambda: ThreadPoolExecutor(count), count)


def processes(source: Source, workers: int | None = None) -> Futures:
    """Run tasks in processes of this machine."""
    count = workers or os.cpu_count() or 1
    # Not forked: a child of a process with threads may hang.
    return Futures(source, lambda: ProcessPoolExecutor(count, get_context("spawn"), _end_with_parent), count)


def _end_with_parent() -> None:
    """End this process when the one that began it is gone: otherwise it would wait for tasks for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
