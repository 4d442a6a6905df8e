"""Measures what a bucket needs: measure_bucket.py driver OBJECTS..., or measure_bucket.py run OBJECTS.

`driver` takes results as if workers had hashed 100 groups of 8,192 objects each with keys of 60 characters, then
writes the list of lists, and does an update in which each 100th object changed. `run` lists and hashes objects of 100
bytes that a source in this process makes; lists are written to memory.
"""

import os
import resource
import sys
import time
from itertools import pairwise

from treewide import digest
from treewide._scale.buckets.bucket_list import Bucket, write_bucket
from treewide._scale.buckets.keys_cover import KeysCover
from treewide._scale.buckets.shards import BucketJob, hash_shard
from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.reading import Reply
from treewide._scale.results import seal, unseal

ROOT = "made://bucket/"
#: Objects of a list, and lists of a result.
GROUP, LISTS = 8192, 100


def key_of(number: int) -> str:
    return f"data/year=2026/month={number % 12:02}/run-0123456789abcdef/{number:016}"


class Memory:
    """A folder that keeps sizes only."""

    bytes = 0

    def put(self, name: str, data: bytes) -> None:
        self.bytes += len(data)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def list_of(cover: KeysCover) -> Bucket:
    return Bucket(ROOT, cover.all_ranges(), None, b"", None, GROUP)


def driver(objects: int) -> None:
    before, lists = resident(), max(1, objects // GROUP)
    ends = [f"data/year=2026/run-0123456789abcdef/{it:08}-0123456789abcdef" for it in range(0, lists, LISTS)]
    folder = Memory()
    places: list[str] = []
    for changed in (0, GROUP // 100):
        seconds, reported = 0.0, [0]

        def count(difference, reported=reported):
            reported[0] += 1

        cover = KeysCover(BucketJob(ROOT, output="kept"), lambda after, until, count: [], places=places, told=count)
        assert cover.missing(100)
        for after, until in pairwise(["", *ends[1:], None]):
            groups = range(min(LISTS, lists))
            parts = [[f"{after}{it:03}", digest(f"{after}{it}".encode())] for it in groups]
            result = {
                "status": "ok", "after": after, "until": until, "unknown": 0, "doubt": None, "large": [], "kept": [],
                "lists": [[last, [f"part-{it.hex()[:32]}", it, GROUP]] for last, it in parts],
                "counts": {"same": len(groups) * (GROUP - changed), "changed": len(groups) * changed},
                "differences": [["changed", f"{after}{it}", "", "0" * 64, "0" * 64] for it in [*groups] * changed],
                "read": {"attested": len(groups) * GROUP}, "bytes_read": 0, "unread": {}, "gone": [],
            }  # fmt: skip
            sealed = seal(result)
            # What made the result is the work of a worker.
            del parts, result
            began = time.perf_counter()
            cover.take(unseal(sealed))
            seconds += time.perf_counter() - began
        began = time.perf_counter()
        assert not cover.missing(100)
        done = resident()
        write_bucket(folder, list_of(cover))
        places = [it.until for it in cover.all_ranges() if it.until is not None]
        seconds += time.perf_counter() - began
        say(f"{sum(cover.counts.values()):,} objects, {reported[0]:,} changed", before, done, seconds)
    print(f"    list of lists and index {folder.bytes / 2e6:.1f} MB", flush=True)


def say(what: str, before: int, done: int, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    text = f"{what}: {(done - before) / 1e6:.1f} MB, at most {(peak - before) / 1e6:.1f} MB with the list of lists"
    print(f"{text}, and {before / 1e6:.0f} MB of Python; {seconds:.1f} s")


class Made:
    streams, piece = 1, 16 << 20
    data = bytes(100)

    def __init__(self, objects: int) -> None:
        self.objects = objects

    def head(self, uri: str) -> Object:
        return Object(uri, 100, '"1"')

    def get(self, object: Object, start: int, stop: int) -> Reply:
        return Reply(self.data[start:stop], start, 100, '"1"', None)

    def pages(self, root: str, after: str, most: int | None = None):
        at = int(after.rpartition("/")[2]) + 1 if after else 0
        while at < self.objects:
            numbers = range(at, min(at + (most or 1000), self.objects))
            yield [Found(f"{it:016}", 100, '"1"', None, 0.0) for it in numbers]
            at += len(numbers)


def whole(objects: int) -> None:
    import treewide._scale.buckets.shards

    folder, source = Memory(), Made(objects)
    treewide._scale.buckets.shards.Folder = lambda url, source: folder
    began, before = time.perf_counter(), resident()
    cover = KeysCover(job := BucketJob(ROOT, output="kept"), lambda after, until, count: [])
    while tasks := cover.missing(1):
        for it in tasks:
            result = hash_shard(job, it, source, 20)
            cover.take(unseal(seal(result)))
    seconds = time.perf_counter() - began
    write_bucket(folder, list_of(cover))
    print(
        f"{objects:,} objects in {len(cover.all_ranges()):,} lists: {seconds:.1f} s, {seconds / objects * 1e6:.1f} us"
        f" an object; {(resident() - before) / 1e6:.1f} MB more than before, worker and driver together; "
        f"{folder.bytes / objects:.0f} bytes of lists an object",
        flush=True,
    )


if __name__ == "__main__":
    for count in map(int, sys.argv[2:]):
        # Each in a process of its own, so that nothing is left of the last one.
        if pid := os.fork():
            os.waitpid(pid, 0)
            continue
        {"driver": driver, "run": whole}[sys.argv[1]](count)
        os._exit(0)
