"""Engines: what runs tasks. None of them decides anything; `Driver` does."""

from treewide._scale.engines.dask import Dask
from treewide._scale.engines.futures import Futures, processes, threads
from treewide._scale.engines.loop import Deals, drive
from treewide._scale.engines.ray import Ray
from treewide._scale.engines.spark import spark

__all__ = ["Dask", "Deals", "Futures", "Ray", "drive", "processes", "spark", "threads"]
