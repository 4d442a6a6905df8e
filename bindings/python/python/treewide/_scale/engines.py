"""Maps of the engines that people run: each applies a function to tasks, and returns the results as they come.

None of them decides anything, and an engine of your own needs no more than this.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, TypeAlias

from treewide._scale.optional import load

_F: TypeAlias = Callable[[bytes], bytes]
Map: TypeAlias = Callable[[_F, list[bytes]], Iterable[bytes]]
"""Applies a function to tasks, anywhere, and returns the results in any order."""
_Engine: TypeAlias = Iterator[tuple[Map, int]]


@contextmanager
def _pool_of(make: Callable[[int], Executor], workers: int | None) -> _Engine:
    """A pool of this machine. Where a process dies the round ends, and the next one has another pool."""
    count = workers or os.cpu_count() or 1
    pools: list[Executor] = []

    def map(f: _F, tasks: list[bytes]) -> Iterator[bytes]:
        pools[:] = pools or [make(count)]
        futures: list[Future[bytes]] = []
        try:
            futures += (pools[0].submit(f, task) for task in tasks)
            for it in as_completed(futures):
                yield it.result()
        except Exception:
            pools.pop().shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            # A round that broke off is over: the next one has its tasks.
            for it in futures:
                it.cancel()

    try:
        yield map, count
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


def threads(workers: int | None = None) -> AbstractContextManager[tuple[Map, int]]:
    """Threads of this process: hashing lets go of the global lock."""
    return _pool_of(ThreadPoolExecutor, workers)


def processes(workers: int | None = None) -> AbstractContextManager[tuple[Map, int]]:
    """Processes of this machine."""
    # Not forked: a child of a process with threads may hang.
    return _pool_of(lambda count: ProcessPoolExecutor(count, get_context("spawn"), _end_with_parent), workers)


def _end_with_parent() -> None:
    """End this process when the one that began it is gone: otherwise it would wait for tasks for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def ray(workers: int | None = None) -> _Engine:
    """The cluster that `ray.init` finds, or this machine."""
    ray = load("ray", "ray")
    own = ExitStack()
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        own.callback(ray.shutdown)
    count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def map(f: _F, tasks: list[bytes]) -> Iterator[bytes]:
        remote = ray.remote(num_cpus=1, max_retries=10)(f)
        todo = iter(tasks)
        doing: list[Any] = []
        while True:
            # Not all at once: each is a message, and the cluster has other work.
            doing += [remote.remote(it) for _, it in zip(range(2 * count - len(doing)), todo, strict=False)]
            if not doing:
                return
            done, doing = ray.wait(doing)
            yield from ray.get(done)

    with own:
        yield map, count


@contextmanager
def dask(workers: int | None = None) -> _Engine:
    """The client of the program, or a cluster of this machine."""
    distributed = load("distributed", "distributed", extra="dask")
    own = ExitStack()
    try:
        client = distributed.get_client()
    except ValueError:
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        cluster = own.enter_context(distributed.LocalCluster(**options))
        client = own.enter_context(distributed.Client(cluster))

    def map(f: _F, tasks: list[bytes]) -> Iterator[bytes]:
        # Not pure: what was read before must be read again.
        futures = client.map(f, tasks, pure=False, retries=3)
        return (it for _, it in distributed.as_completed(futures, with_results=True))

    with own:
        yield map, workers or max(1, sum(client.nthreads().values()))


@contextmanager
def spark(workers: int | None = None) -> _Engine:
    """The session of the program, or a new one: a round is one job, whose results come at its end."""
    sql = load("pyspark.sql", "pyspark", extra="spark")
    own = ExitStack()
    is_own = sql.SparkSession.getActiveSession() is None
    session = sql.SparkSession.builder.appName("treewide scale").getOrCreate()
    context = session.sparkContext

    def map(f: _F, tasks: list[bytes]) -> Iterable[bytes]:
        results: list[bytes] = context.parallelize(tasks, len(tasks)).map(f).collect()
        return results

    if is_own:
        own.callback(session.stop)
    with own:
        yield map, workers or int(context.defaultParallelism)


#: Engines by name.
ENGINES: dict[str, Callable[[int | None], AbstractContextManager[tuple[Map, int]]]] = {
    "local": threads,
    "processes": processes,
    "ray": ray,
    "dask": dask,
    "spark": spark,
}
