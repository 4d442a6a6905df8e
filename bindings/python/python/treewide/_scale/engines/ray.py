"""Ray: one task for each lease, on the cluster that `ray.init` finds, or on this machine."""

from collections.abc import Collection
from typing import Any

from treewide._scale.optional import load
from treewide._scale.reading import Source
from treewide._scale.tasks import Result, Task, run

__all__ = ["Ray"]


class Ray:
    """Runs tasks on Ray. `options` are those of `ray.remote`, such as `num_cpus` or `resources`."""

    def __init__(self, source: Source, workers: int | None = None, **options: Any) -> None:
        """Connect, unless the program is connected already. `workers` is the most tasks at the same time."""
        self._ray = load("ray", "ray")
        self._is_own = not self._ray.is_initialized()
        if self._is_own:
            self._ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        self._most = workers
        self._each = float(options.get("num_cpus", 1)) or 1.0
        # The driver deals again what is lost, in smaller leases: Ray must not.
        self._run = self._ray.remote(**{"num_cpus": 1, "max_retries": 0, **options})(run)
        self._source = self._ray.put(source)

    def workers(self) -> int:
        """Return how many tasks the cluster can run, now."""
        there = max(1, int(self._ray.cluster_resources().get("CPU", 1) / self._each))
        return min(there, self._most) if self._most else there

    def slots(self) -> int:
        """Return some more, so that workers do not wait for the next task."""
        return self.workers() + -(-self.workers() // 8)

    def submit(self, task: Task) -> Any:
        """Start a task."""
        return self._run.remote(task, self._source)

    def wait(self, handles: Collection[Any], seconds: float) -> Collection[Any]:
        """Wait until one has ended."""
        if not handles:
            return []
        first, rest = self._ray.wait(list(handles), num_returns=1, timeout=seconds)
        # And whatever else has.
        more = self._ray.wait(rest, num_returns=len(rest), timeout=0)[0] if rest else []
        return [*first, *more]

    def result(self, handle: Any) -> Result:
        """Return what a task returned."""
        result: Result = self._ray.get(handle)
        return result

    def close(self) -> None:
        """Disconnect, if the program was not connected before. Leases end by their own time."""
        if self._is_own:
            self._ray.shutdown()
