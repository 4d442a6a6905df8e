"""Objects and buckets hashed by many workers: the digests that `b3sum` gives, whatever the cuts.

BLAKE3's tree can be cut at any multiple of 1 KiB. So workers hash leases of an object, and `Driver` brings them
together: in any order, twice or late. Engines that people already run do the work: threads, processes, Ray, Dask,
Spark.

```python
from treewide import scale

source = scale.source_of("s3://bucket/key")
outcomes = scale.hash_objects([source.head("s3://bucket/key")], source, engine="ray")
```

`treewide.scale.stores` has objects and the stores they are in, `treewide.scale.engines` what runs tasks,
`treewide.scale.work` tasks and results, `treewide.scale.buckets` lists of whole buckets, and `treewide.scale.program`
the command. `docs/scale.md` says which engine to use when, what it costs, and what is trusted. The libraries of stores
and engines are loaded when they are used.
"""

from treewide._scale.buckets.bucket_list import read_bucket
from treewide._scale.engines import hash_objects
from treewide._scale.engines.loop import Engine
from treewide._scale.object_driver import Driver
from treewide._scale.outboards import Outboards
from treewide._scale.sources import source_of
from treewide._scale.verified import Verified, read_verified

__all__ = [
    "Driver",
    "Engine",
    "Outboards",
    "Verified",
    "hash_objects",
    "read_bucket",
    "read_verified",
    "source_of",
]
