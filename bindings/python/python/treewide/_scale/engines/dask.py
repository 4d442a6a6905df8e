"""Dask: one task for each lease, on the workers of a `distributed.Client`."""

from collections.abc import Collection
from typing import Any

from treewide._scale.optional import load
from treewide._scale.reading import Source
from treewide._scale.tasks import Result, Task, run

__all__ = ["Dask"]


class Dask:
    """Runs tasks on Dask."""

    def __init__(self, source: Source, workers: int | None = None, *, client: Any = None) -> None:
        """Use `client`, or the one of the program, or begin a cluster of `workers` processes on this machine."""
        self._distributed = load("distributed", "distributed", extra="dask")
        self._own: list[Any] = []
        if client is None:
            try:
                client = self._distributed.get_client()
            except ValueError:
                options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
                cluster = self._distributed.LocalCluster(**options)
                client = self._distributed.Client(cluster)
                self._own = [client, cluster]
        self._client, self._source, self._most = client, source, workers

    def workers(self) -> int:
        """Return how many tasks the cluster can run, now."""
        there: int = max(1, sum(self._client.nthreads().values()))
        return min(there, self._most) if self._most else there

    def slots(self) -> int:
        """Return some more, so that workers do not wait for the next task."""
        return self.workers() + -(-self.workers() // 8)

    def submit(self, task: Task) -> Any:
        """Start a task. Dask itself runs it again if a worker dies."""
        return self._client.submit(run, task, self._source, pure=False)

    def wait(self, handles: Collection[Any], seconds: float) -> Collection[Any]:
        """Wait until one has ended."""
        if handles:
            try:
                return list(self._distributed.wait(list(handles), seconds, "FIRST_COMPLETED").done)
            except (TimeoutError, self._distributed.TimeoutError):
                pass
        return []

    def result(self, handle: Any) -> Result:
        """Return what a task returned."""
        result: Result = handle.result()
        return result

    def close(self) -> None:
        """End the cluster, if it was begun here."""
        for it in self._own:
            it.close()
