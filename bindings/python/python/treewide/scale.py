"""Objects and buckets hashed by many workers: the digests that `b3sum` gives, whatever the cuts.

BLAKE3's tree can be cut at any multiple of 1 KiB, and a bucket between any keys. So a task is a range, its result is
small, and what no result covers is the next round. Any map does the tasks: threads, processes, Ray, Dask, Spark, MPI,
or a batch system.

```python
from treewide import scale

job = scale.Job("sum", urls=("s3://bucket/key",))
outcome = scale.hash_all(job)                                          # by threads
print(outcome.digests)
```

`docs/scale.md` has maps of engines, and says which one to use when, what it costs, and what is trusted. The libraries
of stores and engines are loaded when they are used.
"""

from treewide._scale.cover import Cover, hash_all
from treewide._scale.job import Job
from treewide._scale.outcome import Outcome
from treewide._scale.run import run
from treewide._scale.sources import source_of
from treewide._scale.verified import NoOutboard, Verified
from treewide._treewide import Clash, Parts

__all__ = [
    "Clash",
    "Cover",
    "Job",
    "NoOutboard",
    "Outcome",
    "Parts",
    "Verified",
    "hash_all",
    "run",
    "source_of",
]
