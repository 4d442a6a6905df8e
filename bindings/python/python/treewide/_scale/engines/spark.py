"""Spark: one job of one partition for each lease, side by side."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from treewide._scale.engines.futures import Futures
from treewide._scale.optional import load
from treewide._scale.reading import Source
from treewide._scale.tasks import Result, Task, run

__all__ = ["spark"]


def spark(source: Source, workers: int | None = None, *, session: Any = None) -> Futures:
    """Run tasks on Spark: on `session`, the session of the program, or a new one.

    Each lease is a job, because Spark returns the results of a job all at once. `workers` is the number of them at the
    same time; without it, the cluster's default parallelism.
    """
    sql = load("pyspark.sql", "pyspark", extra="spark")
    own = session is None and sql.SparkSession.getActiveSession() is None
    if session is None:
        session = sql.SparkSession.builder.appName("treewide scale").getOrCreate()
    context = session.sparkContext
    count = workers or int(context.defaultParallelism)

    def job(task: Task, source: Source) -> Result:
        found: list[Result] = context.parallelize([task], 1).map(lambda it: run(it, source)).collect()
        return found[0]

    end = session.stop if own else lambda: None
    return Futures(source, lambda: ThreadPoolExecutor(count), count, work=job, end=end)
