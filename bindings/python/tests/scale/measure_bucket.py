"""Measures what a bucket needs: measure_bucket.py driver OBJECTS..., or measure_bucket.py run OBJECTS.

`driver` answers each task of the driver at once, as if a worker had hashed 10,000 objects with keys of 60 characters,
with a journal, and writes the list of lists. `run` lists and hashes objects of 100 bytes that a source in this process
makes; lists are written to memory.
"""

import os
import resource
import sys
import tempfile
import time
from collections import Counter

from treewide import digest
from treewide._scale.buckets.bucket_driver import BucketDriver
from treewide._scale.buckets.bucket_journal import BucketJournal
from treewide._scale.buckets.bucket_list import Bucket, write_bucket
from treewide._scale.buckets.list_files import ListFile
from treewide._scale.buckets.shards import Cut, Difference, Job, ShardResult
from treewide._scale.found import Found
from treewide._scale.objects import Object
from treewide._scale.reading import Reply
from treewide._scale.tasks import run

ROOT = "made://bucket/"
LIMIT = 10_000


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


def list_of(bucket: BucketDriver) -> Bucket:
    return Bucket(ROOT, bucket.all_ranges(), None, b"", None, LIMIT)


def driver(objects: int) -> None:
    before = resident()
    began = time.perf_counter()
    # All keys have the same prefix, and are dealt from 1,000 ranges that workers found.
    total, step = objects // LIMIT, max(1, objects // LIMIT // 1000)
    key = lambda shard: f"data/year=2026/run-0123456789abcdef/{shard:08}-0123456789abcdef"
    job, folder = Job(ROOT, output="kept"), Memory()
    with tempfile.TemporaryDirectory() as place:
        bucket = BucketDriver(job, journal=BucketJournal(f"{place}/journal", {}))
        number = {"": 0}
        tasks = 0
        while not bucket.is_done:
            task = bucket.next(500)
            tasks += 1
            if isinstance(task, Cut):
                places = [key(it) for it in range(step, total, step)] if task.after == "" and task.until is None else []
                number |= {it: (index + 1) * step for index, it in enumerate(places)}
                bucket.take(ShardResult(task.number, task.after, cuts=places))
                continue
            shard = number.pop(task.after) + 1
            reached = key(shard)
            if task.until is not None and reached >= task.until:
                reached = task.until
            elif shard >= total:
                reached = None
            else:
                number[reached] = shard
            name = digest(task.after.encode()).hex()
            part = ListFile(f"part-{name[:32]}", digest(name.encode()), LIMIT, LIMIT * 100)
            result = ShardResult(task.number, reached, part=part, counts={"hashed": LIMIT}, objects_read=LIMIT)
            bucket.take(result)
        journal = os.path.getsize(f"{place}/journal")
        done = resident()
        old = write_bucket(folder, list_of(bucket))
        say(f"{bucket.objects:,} objects, {tasks:,} tasks", before, done, began)
        print(f"    journal {journal / 1e6:.1f} MB, list of lists and index {folder.bytes / 1e6:.1f} MB")
        del bucket
        update(old, before)


def update(old: Bucket, before: int) -> None:
    """The next run, in which each 100th object changed."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        job = Job(ROOT, output="kept", lists="kept", reads_all=False)
        verdicts = Counter()
        bucket = BucketDriver(
            job, old=old, journal=BucketJournal(f"{place}/journal", {}), told=lambda it: verdicts.update([it.verdict])
        )
        while not bucket.is_done:
            task = bucket.next(500)
            differences = [Difference("changed", f"{task.after}{it}", "", bytes(32), bytes(32)) for it in range(100)]
            result = ShardResult(task.number, task.until, part=task.old[0].part, differences=differences)
            result.counts = {"same": LIMIT - 100, "changed": 100}
            bucket.take(result)
        journal = os.path.getsize(f"{place}/journal")
        done = resident()
        write_bucket(Memory(), list_of(bucket))
    say(f"update of {bucket.objects:,} objects, {verdicts['changed']:,} changed", before, done, began)
    print(f"    journal {journal / 1e6:.1f} MB", flush=True)


def say(what: str, before: int, done: int, began: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    text = f"{what}: {(done - before) / 1e6:.1f} MB, at most {(peak - before) / 1e6:.1f} MB with the list of lists"
    print(f"{text}, and {before / 1e6:.0f} MB of Python; {time.perf_counter() - began:.1f} s")


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
    treewide._scale.buckets.shards.folder_of = lambda url, source: folder
    began, before = time.perf_counter(), resident()
    bucket = BucketDriver(Job(ROOT, output="kept"))
    while not bucket.is_done:
        bucket.take(run(bucket.next(1), source))
    seconds = time.perf_counter() - began
    write_bucket(folder, list_of(bucket))
    print(
        f"{bucket.objects:,} objects in {len(bucket.all_ranges()):,} parts: {seconds:.1f} s, "
        f"{seconds / objects * 1e6:.1f} us an object; {(resident() - before) / 1e6:.1f} MB more than before, "
        f"worker and driver together; {folder.bytes / objects:.0f} bytes of lists an object",
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
