"""Tasks: all that an engine calls."""

import os
import time

from treewide._scale.buckets.shards import BucketJob, KeysTask, hash_shard
from treewide._scale.job import source_for, tuples
from treewide._scale.objects import Object
from treewide._scale.outcome import Row
from treewide._scale.part import Piece, hash_pieces
from treewide._scale.results import host, seal, unseal
from treewide._scale.work import Work
from treewide._treewide import __version__, digest


def run(task: bytes, work: str | None = None) -> bytes:
    """Do a task: all that an engine calls. Twice does no harm. With `work`, a folder, the result is kept there as well.

    What is raised here is a fault of the program, or of its installation: a store that fails is a result.
    """
    it = unseal(task)
    if it["version"] != __version__:
        raise OSError(
            f"{host()}: this worker has treewide {__version__}, and the run {it['version']}: install the same"
        )
    if it["here"] is not None and it["here"] != os.getcwd():
        raise OSError(f"{host()}: is in {os.getcwd()}, and the run began in {it['here']}: name absolute paths")
    folder = Work(work, it["job"]) if work is not None else None
    result: Row = {"task": digest(task).hex()[:32], "host": host(), "began": time.time()}
    result |= {name: it[name] for name in ("job", "run", "round")}
    if "keys" in it:
        job = BucketJob(**tuples(it["bucket"]))
        result |= hash_shard(job, KeysTask(*it["keys"]), source_for(job.root, it["option"]), it["seconds"])
    else:
        pieces = [Piece(Object(*object), *ends) for object, *ends in it["pieces"]]
        source = source_for(pieces[0].object.uri, it["option"])
        result |= {"pieces": hash_pieces(pieces, source, it["seconds"]), "is_second": it["is_second"]}
    sealed = seal({**result, "ended": time.time()})
    if folder is not None:
        folder.keep(sealed)
    return sealed
