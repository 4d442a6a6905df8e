"""Objects and buckets hashed by many workers: the digests that `b3sum` gives, whatever the cuts.

BLAKE3's tree can be cut at any multiple of 1 KiB. So workers hash leases of an object, and `Driver` brings them
together: in any order, twice or late. Engines that people already run do the work: threads, processes, Ray, Dask,
Spark.

```python
from treewide import scale

source = scale.source_of("s3://bucket/key")
outcomes = scale.hash_objects([source.head("s3://bucket/key")], source, engine="ray")
```

`docs/scale.md` says which engine to use when, what it costs, and what is trusted. The libraries of stores and engines
are loaded when they are used.
"""

from treewide._treewide import Clash, Parts, subtrees
from treewide.scale.buckets.driver import BucketDriver
from treewide.scale.buckets.parts import Bucket, Fact, Part, read_bucket, read_part, write_bucket, write_part
from treewide.scale.buckets.shards import Difference, Job
from treewide.scale.buckets.sinks import Folder, folder_of
from treewide.scale.driver import Driver
from treewide.scale.engines import hash_objects
from treewide.scale.engines.loop import Engine, drive
from treewide.scale.found import Found, Lists
from treewide.scale.journal import Journal, JournalError
from treewide.scale.merge import Disagreement, Merge, Outcome, merge
from treewide.scale.objects import Object
from treewide.scale.outboards import Outboards
from treewide.scale.plan import Plan, plan
from treewide.scale.reading import Changed, Refused, Reply, Source
from treewide.scale.sources import Files, Fsspec, Obstore, source_of
from treewide.scale.tasks import Result, Task
from treewide.scale.verified import NoOutboard, Verified, read_verified
from treewide.scale.work import run

__all__ = [
    "Bucket",
    "BucketDriver",
    "Changed",
    "Clash",
    "Difference",
    "Disagreement",
    "Driver",
    "Engine",
    "Fact",
    "Files",
    "Folder",
    "Found",
    "Fsspec",
    "Job",
    "Journal",
    "JournalError",
    "Lists",
    "Merge",
    "NoOutboard",
    "Object",
    "Obstore",
    "Outboards",
    "Outcome",
    "Part",
    "Parts",
    "Plan",
    "Refused",
    "Reply",
    "Result",
    "Source",
    "Task",
    "Verified",
    "drive",
    "folder_of",
    "hash_objects",
    "merge",
    "plan",
    "read_bucket",
    "read_part",
    "read_verified",
    "run",
    "source_of",
    "subtrees",
    "write_bucket",
    "write_part",
]
