"""Maps of the engines that people run.

Each is a context: `with ray() as (map, workers): hash_all(job, map, workers=workers)`.
"""

from treewide._scale.engines import dask, processes, ray, spark, threads

__all__ = ["dask", "processes", "ray", "spark", "threads"]
