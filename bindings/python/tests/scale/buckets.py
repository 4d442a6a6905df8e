"""A bucket in memory, and engines with faults for the driver of buckets."""

import random
from bisect import bisect_right
from functools import partial

from fake import Memory
from treewide import digest
from treewide._scale.buckets.bucket_driver import BucketDriver
from treewide._scale.buckets.bucket_list import Bucket as BucketList, read_bucket, write_bucket
from treewide._scale.buckets.list_files import read_list, write_list
from treewide._scale.buckets.shards import Job
from treewide._scale.found import Found
from treewide._scale.tasks import run

ROOT = "mem://bucket/"


class Bucket(Memory):
    """Objects by key below `ROOT`. Pages are short, so that few objects have many."""

    page = 7

    def __init__(self, objects, fault=None):
        super().__init__({ROOT + key: data for key, data in objects.items()}, fault)
        self.times = {}
        self.lists = 0
        self.before = lambda number: None

    def names(self):
        return sorted(it.removeprefix(ROOT) for it in self.objects)

    def put(self, key, data):
        self.objects[ROOT + key] = data

    def pages(self, root, after, most=None):
        while True:
            self.lists += 1
            self.before(self.lists)
            # Each request sees the objects of that moment.
            keys = self.names()
            start = bisect_right(keys, after)
            chosen = keys[start : start + (most or self.page)]
            yield [Found(it, *self.facts(it)) for it in chosen]
            if start + len(chosen) >= len(keys):
                return
            after = chosen[-1]

    def facts(self, key):
        object = self.head(ROOT + key)
        return object.size, object.etag, None, self.times.get(key, 0.0)


class Kept:
    """A folder in memory."""

    def __init__(self):
        self.files = {}
        self.writes = 0

    def put(self, name, data):
        assert self.files.setdefault(name, data) == data or name == "bucket.b3", "only the list of lists is replaced"
        self.files[name] = data
        self.writes += 1

    def get(self, name):
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name]


class Records:
    """A journal that survives its driver."""

    def __init__(self):
        self.entries = {}

    def replay(self):
        yield from self.entries.items()

    def append(self, after, result):
        self.entries[after] = result

    def forget(self, after):
        del self.entries[after]


def job(**fields):
    return Job(**{"root": ROOT, "output": "kept", "limit": 20, "small": 400, "large": 6000, **fields})


def run_with_faults(choice, source, job, *, old=None, old_large=(), chance=0.1, workers=4, kill=0.0):
    """Run a driver to its end, with workers that die, results that come late, twice and in any order.

    With `kill`, the driver also dies, and continues from its journal. Returns it, and the differences of its last life.
    """
    records = Records()
    while True:
        now = [0.0]
        told = []
        driver = BucketDriver(
            job,
            old=old,
            old_large=old_large,
            journal=records,
            told=told.append,
            clock=partial(now.__getitem__, 0),
            grace=10.0,
        )
        running, lives = [], choice.randrange(2, 25) if choice.random() < kill else None
        while not driver.is_done:
            if lives is not None and (lives := lives - 1) <= 0:
                break
            while len(running) < workers and (task := driver.next(workers)) is not None:
                running.append(task)
            if not running:
                now[0] += 40.0
                continue
            task = running.pop(choice.randrange(len(running)))
            if choice.random() < chance:
                # It died; sometimes without a word.
                if choice.random() < 0.7:
                    driver.lose(task, "it died")
                continue
            result = run(task, source)
            driver.take(result)
            if choice.random() < chance:
                driver.take(result)
            if choice.random() < chance:
                # It was dealt to others, and both come back.
                driver.take(run(task, source))
            now[0] += choice.random() * 5
        else:
            return driver, told


def written(folder, driver, job):
    """Write the list of lists, and return it as it is read."""
    assert not driver.failures, driver.failures
    large = write_list(folder, driver.large, "large")
    bucket = BucketList(job.root, driver.all_ranges(), large, b"", job.skip, job.limit)
    bucket = write_bucket(folder, bucket)
    assert read_bucket(folder) == bucket
    return bucket


def contents(folder, bucket):
    """Return all keys and their digests. Each is there once."""
    found = {}
    ranges = [(it.part, it.after, it.until) for it in bucket.ranges if it.part is not None]
    ranges += [(bucket.large, "", None)] if bucket.large else []
    for part, after, until in ranges:
        facts = read_list(folder, part, after, until)
        assert len(facts) == part.objects
        for fact in facts:
            assert fact.key not in found, fact.key
            found[fact.key] = fact.digest
    return found


def expected(source):
    return {key: digest(source.objects[ROOT + key]) for key in sorted(source.names())}


def some_keys(choice, count):
    """Keys as people and programs make them."""
    kind = choice.randrange(5)
    prefix = choice.choice(["", "a/", "common/" * 30, "data/year=2026/", "ü" * 10 + "/"])
    letters = choice.choice(["0123456789abcdef", "ab", "aé\U0001f600\uffee\n\\", " !~/", "\U0010ffff\x01"])
    keys = set()
    while len(keys) < count:
        if kind == 0:
            keys.add(f"{prefix}part-{len(keys):09}.parquet")
        elif kind == 1:
            keys.add(prefix + "".join(choice.choices(letters, k=12 if len(letters) > 2 else 40)))
        elif kind == 2:
            keys.add(prefix + f"{choice.randrange(10)}/{choice.getrandbits(60):x}")
        elif kind == 3:
            keys.add(prefix + "x" * (len(keys) + 1))
        else:
            keys.add(choice.choice(["a/", "b/c/", "z"]) + f"{choice.getrandbits(40):b}")
    return sorted(keys)


def some_data(choice):
    size = choice.choice((0, 1, choice.randrange(400), choice.randrange(400), choice.randrange(401, 6000)))
    return random.Random(choice.getrandbits(30)).randbytes(
        choice.randrange(6001, 30000) if choice.random() < 0.02 else size
    )
