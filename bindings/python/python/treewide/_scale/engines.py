"""Maps of the engines that people run: each applies a function to tasks, and returns the results as they come.

None of them decides anything, and an engine of your own needs no more than this.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, TypeAlias

from treewide._scale.optional import load

_F: TypeAlias = Callable[[bytes], bytes]
Map: TypeAlias = Callable[[_F, list[bytes]], Iterable[bytes]]
"""Applies a function to tasks, anywhere, and returns the results in any order."""
_Engine: TypeAlias = Iterator[tuple[Map, int]]


def _as_done(pool: Executor, f: _F, tasks: list[bytes]) -> Iterator[bytes]:
    futures = [pool.submit(f, task) for task in tasks]
    try:
        for it in as_completed(futures):
            yield it.result()
    finally:
        # A round that broke off is over: the next one has its tasks.
        for it in futures:
            it.cancel()


@contextmanager
def threads(workers: int | None = None) -> _Engine:
    """Threads of this process: hashing lets go of the global lock."""
    count = workers or os.cpu_count() or 1
    pool = ThreadPoolExecutor(count)
    try:
        yield lambda f, tasks: _as_done(pool, f, tasks), count
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def processes(workers: int | None = None) -> _Engine:
    """Processes of this machine. Where one dies the round ends, and the next one has others."""
    count = workers or os.cpu_count() or 1
    pools: list[Executor] = []

    def map(f: _F, tasks: list[bytes]) -> Iterator[bytes]:
        if not pools:
            # Not forked: a child of a process with threads may hang.
            pools.append(ProcessPoolExecutor(count, get_context("spawn"), _end_with_parent))
        try:
            yield from _as_done(pools[0], f, tasks)
        except Exception:
            pools.pop().shutdown(wait=False, cancel_futures=True)
            raise

    try:
        yield map, count
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


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
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
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

    try:
        yield map, count
    finally:
        if is_own:
            ray.shutdown()


@contextmanager
def dask(workers: int | None = None) -> _Engine:
    """The client of the program, or a cluster of this machine."""
    distributed = load("distributed", "distributed", extra="dask")
    own = []
    try:
        client = distributed.get_client()
    except ValueError:
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        cluster = distributed.LocalCluster(**options)
        client = distributed.Client(cluster)
        own = [client, cluster]

    def map(f: _F, tasks: list[bytes]) -> Iterator[bytes]:
        # Not pure: what was read before must be read again.
        futures = client.map(f, tasks, pure=False, retries=3)
        return (it for _, it in distributed.as_completed(futures, with_results=True))

    try:
        yield map, workers or max(1, sum(client.nthreads().values()))
    finally:
        for it in own:
            it.close()


@contextmanager
def spark(workers: int | None = None) -> _Engine:
    """The session of the program, or a new one: a round is one job, whose results come at its end."""
    sql = load("pyspark.sql", "pyspark", extra="spark")
    is_own = sql.SparkSession.getActiveSession() is None
    session = sql.SparkSession.builder.appName("treewide scale").getOrCreate()
    context = session.sparkContext

    def map(f: _F, tasks: list[bytes]) -> Iterable[bytes]:
        results: list[bytes] = context.parallelize(tasks, len(tasks)).map(f).collect()
        return results

    try:
        yield map, workers or int(context.defaultParallelism)
    finally:
        if is_own:
            session.stop()


#: Engines by name.
ENGINES: dict[str, Callable[[int | None], AbstractContextManager[tuple[Map, int]]]] = {
    "local": threads,
    "processes": processes,
    "ray": ray,
    "dask": dask,
    "spark": spark,
}
