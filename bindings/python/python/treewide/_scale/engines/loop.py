"""The loop between a driver and an engine."""

import re
from collections.abc import Callable, Collection
from typing import Any, Protocol

from treewide._scale.tasks import Result, Task

__all__ = ["Deals", "Engine", "drive"]

#: Seconds between two looks at what is late, and two calls of `progress`. A guess.
_TICK = 0.5

#: The last line of a traceback.
_NAMED = re.compile(r"[\w.]+(Error|Exception|Interrupt): .")


class Engine(Protocol):
    """Something that runs tasks. A task under way is a handle, any object that can be in a set."""

    def workers(self) -> int:
        """Return how many tasks can run at the same time, now."""

    def slots(self) -> int:
        """Return how many tasks to have under way: more than `workers`, if starting one takes long."""

    def submit(self, task: Task) -> Any:
        """Start `run(task, source)` somewhere, and return a handle."""

    def wait(self, handles: Collection[Any], seconds: float) -> Collection[Any]:
        """Return the handles whose tasks have ended, after at most `seconds`."""

    def result(self, handle: Any) -> Result:
        """Return the result of a task that has ended. Raises anything if its worker was lost."""

    def close(self) -> None:
        """Stop what still runs."""


class Deals(Protocol):
    """Gives tasks and takes results: the driver of objects, or that of buckets."""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to do."""

    def next(self, workers: int) -> Any:
        """Return a task; `None` if there is nothing to do now."""

    def take(self, result: Any) -> None:
        """Take a result."""

    def lose(self, task: Any, reason: str) -> None:
        """Say that a worker died."""


def drive(driver: Deals, engine: Engine, progress: Callable[[Any, int], object] | None = None) -> None:
    """Run until it is known what became of each object. `progress` is called with the driver and the workers."""
    running: dict[Any, Task] = {}
    try:
        while not driver.is_done:
            workers = engine.workers()
            while len(running) < engine.slots() and (task := driver.next(workers)) is not None:
                running[engine.submit(task)] = task
            for handle in engine.wait(running.keys(), _TICK):
                task = running.pop(handle)
                try:
                    result = engine.result(handle)
                except Exception as error:
                    driver.lose(task, _text(error))
                else:
                    driver.take(result)
            if progress is not None:
                progress(driver, workers)
    finally:
        engine.close()


def _text(error: Exception) -> str:
    """Return the line of an error that says most: Ray and Spark put a traceback of the worker in front of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return next((line for line in reversed(lines) if _NAMED.match(line)), lines[0])
