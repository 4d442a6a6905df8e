"""Engines: what runs tasks. None of them decides anything; `Driver` does."""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from treewide._scale.engines.dask import Dask
from treewide._scale.engines.futures import processes, threads
from treewide._scale.engines.loop import Engine, drive
from treewide._scale.engines.ray import Ray
from treewide._scale.engines.spark import spark
from treewide._scale.merge import Outcome
from treewide._scale.object_driver import Driver
from treewide._scale.object_journal import Journal
from treewide._scale.objects import Object
from treewide._scale.outboards import Keeper
from treewide._scale.reading import Source

__all__ = ["ENGINES", "Name", "hash_objects"]

Name: TypeAlias = Literal["local", "processes", "ray", "dask", "spark"]

#: Engines by name: each takes a source, and the most workers.
ENGINES: dict[str, Callable[[Source, int | None], Engine]] = {
    "local": threads,
    "processes": processes,
    "ray": Ray,
    "dask": Dask,
    "spark": spark,
}


def hash_objects(
    objects: Iterable[Object],
    source: Source,
    *,
    engine: Name | Engine = "local",
    workers: int | None = None,
    lease: int | str = "auto",
    journal: Journal | None = None,
    keeper: Keeper | None = None,
    progress: Callable[[Driver, int], object] | None = None,
) -> dict[Object, Outcome]:
    """Hash objects by many workers, and return what became of each.

    `engine` is a name, or an engine of your own that runs tasks with `source`. `journal` has what is hashed, so that a
    run that died can be resumed. `keeper`, such as `Outboards`, takes the parts of each object. `progress` is called
    about twice a second with the driver and the number of workers. A bad object raises nothing: its outcome says
    what is wrong with it.
    """
    driver = Driver(objects, lease=lease, journal=journal, keeper=keeper)
    drive(driver, ENGINES[engine](source, workers) if isinstance(engine, str) else engine, progress)
    return driver.outcomes
